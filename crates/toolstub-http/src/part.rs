//! Parts of a message, as clients send them.

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use toolstub_session::{Part, ToolPart};

use crate::ask::{self, Faults, Fields};
use crate::problem::{Code, Problem};
use crate::tokens::Weight;

/// The order of a tool part's fields; others come behind them.
const TOOL_FIELDS: [&str; 11] = [
    "type",
    "tool_id",
    "tool_name",
    "tool_uri",
    "skill_uri",
    "tool_status",
    "tool_input",
    "tool_output",
    "duration_ms",
    "prompt_tokens",
    "completion_tokens",
];
/// The fields of a tool part that are texts.
const TOOL_TEXTS: [&str; 12] = [
    "tool_id",
    "tool_name",
    "tool_uri",
    "skill_uri",
    "tool_output",
    "tool_output_ref",
    "tool_output_storage_uri",
    "tool_output_sha256",
    "tool_output_mime_type",
    "tool_output_source_ref",
    "tool_output_externalized_reason",
    "tool_output_group_id",
];
/// The first parts of the addresses that a part may name.
const SCOPES: [&str; 8] =
    ["agent", "queue", "resources", "session", "system", "temp", "upload", "user"];

/// Reads a part. What it lacks is added; what is not known stays as it is.
pub(crate) fn read(part: &RawValue, at: &[&str], faults: &mut Faults) -> Option<Part> {
    if !part.get().starts_with('{') {
        faults.add(at, "Input should be a valid dictionary", "dict_type");
        return None;
    }
    let fields = match ask::fields(part) {
        Ok(fields) => fields,
        Err(error) => {
            faults.add(at, error.to_string(), "json_invalid");
            return None;
        }
    };
    let mut found = Faults::default();
    let kind = fields.get("type").map(|kind| serde_json::from_str::<String>(kind.get()));
    let part = match kind {
        Some(Ok(kind)) if kind == "tool" => tool(part, &fields, at, &mut found),
        Some(Ok(kind)) if kind == "context" => context(part, &fields, at, &mut found),
        Some(Ok(kind)) if kind == "image_url" => image(part),
        None => text(part, &fields, at, &mut found),
        Some(Ok(kind)) if kind == "text" => text(part, &fields, at, &mut found),
        Some(_) => Some(Part::Other(part.to_owned())),
    };
    let is_sound = found.is_empty();
    faults.append(found);
    part.filter(|_| is_sound)
}

/// A part that is a text.
pub(crate) fn of_text(text: &str) -> Part {
    let part = to_raw_value(&json!({"type": "text", "text": text}));
    Part::Other(part.expect("two strings always have a form as JSON"))
}

/// Refuses a part that is sound and still makes no sense.
pub(crate) fn check(part: &Part) -> Result<(), Problem> {
    match part {
        Part::Tool(part) => {
            for name in ["tool_uri", "skill_uri"] {
                check_uri(&part.text(name).unwrap_or_default())?;
            }
            Ok(())
        }
        Part::Other(part) => {
            let fields = ask::fields(part).unwrap_or_default();
            let text = |name: &str| {
                fields.get(name).and_then(|value| serde_json::from_str::<String>(value.get()).ok())
            };
            match text("type").as_deref() {
                Some("context") => check_uri(&text("uri").unwrap_or_default()),
                Some("image_url") => check_image(&fields),
                _ => Ok(()),
            }
        }
    }
}

/// Adds what a part weighs that is no tool's: its text, and all of what is not known.
pub(crate) fn weigh(part: &RawValue, weight: &mut Weight) {
    let fields = ask::fields(part).unwrap_or_default();
    let text = |name: &str| {
        fields.get(name).and_then(|value| serde_json::from_str::<String>(value.get()).ok())
    };
    match text("type").as_deref() {
        Some("text") => weight.add(&text("text").unwrap_or_default()),
        Some("context") => weight.add(&text("abstract").unwrap_or_default()),
        // What an image weighs is not told by its address.
        Some("image_url") => {}
        _ => weight.add_json(part.get()),
    }
}

fn tool(part: &RawValue, fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<Part> {
    for name in TOOL_TEXTS {
        let read = if name == "tool_output" { ask::string } else { ask::name };
        read(fields, name, at, faults);
    }
    let given: ToolPart = match serde_json::from_str(part.get()) {
        Ok(part) => part,
        Err(error) => {
            faults.add(at, error.to_string(), "json_invalid");
            return None;
        }
    };
    let mut whole = Vec::new();
    for name in TOOL_FIELDS {
        let value = given.field(name).map(RawValue::get).filter(|value| *value != "null");
        let value = match (name, value) {
            ("tool_output", Some("\"\"")) => None,
            ("tool_id" | "tool_name" | "tool_uri" | "skill_uri", None) => Some("\"\""),
            ("tool_status", None) if given.field(name).is_none() => Some("\"pending\""),
            ("tool_status", None) => Some("null"),
            (_, value) => value,
        };
        whole.extend(value.map(|value| format!("\"{name}\":{value}")));
    }
    for (name, value) in given.fields() {
        let is_told = name == "tool_output_mime_type" && value.get() == "\"text/plain\"";
        if !TOOL_FIELDS.contains(&name) && !is_told {
            let name = serde_json::to_string(name).ok()?;
            whole.push(format!("{name}:{}", value.get()));
        }
    }
    let whole = format!("{{{}}}", whole.join(","));
    serde_json::from_str(&whole).ok().map(Part::Tool)
}

fn context(part: &RawValue, fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<Part> {
    for name in ["uri", "context_type", "abstract"] {
        ask::string(fields, name, at, faults);
    }
    let defaults = [("uri", ""), ("context_type", "memory"), ("abstract", "")];
    Some(Part::Other(with(part, fields, &defaults)?))
}

/// An image; where its address stands by itself, it is put where addresses stand.
fn image(part: &RawValue) -> Option<Part> {
    let mut whole: ToolPart = serde_json::from_str(part.get()).ok()?;
    let Some(url) = whole.text("image_url") else {
        return Some(Part::Other(part.to_owned()));
    };
    whole.set("image_url", json!({ "url": url }));
    to_raw_value(&whole).ok().map(Part::Other)
}

fn text(part: &RawValue, fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<Part> {
    if fields.get("text").is_some_and(|text| text.get() == "null") {
        let place = [at, &["text"]].concat();
        faults.add(&place, "Input should be a valid string", "string_type");
    }
    ask::string(fields, "text", at, faults);
    Some(Part::Other(with(part, fields, &[("type", "text"), ("text", "")])?))
}

/// A part with what it lacks behind what it has; the type comes first.
fn with(part: &RawValue, fields: &Fields, defaults: &[(&str, &str)]) -> Option<Box<RawValue>> {
    let quoted = |(name, value): &(&str, &str)| format!("\"{name}\":\"{value}\"");
    let (first, last): (Vec<_>, Vec<_>) = defaults
        .iter()
        .filter(|(name, _)| !fields.contains_key(*name))
        .partition(|(name, _)| *name == "type");
    if first.is_empty() && last.is_empty() {
        return Some(part.to_owned());
    }
    let inner = part.get().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut whole: Vec<String> = first.into_iter().map(quoted).collect();
    if !inner.is_empty() {
        whole.push(inner.to_owned());
    }
    whole.extend(last.into_iter().map(quoted));
    RawValue::from_string(format!("{{{}}}", whole.join(","))).ok()
}

fn check_uri(uri: &str) -> Result<(), Problem> {
    if uri.is_empty() {
        return Ok(());
    }
    let reason = match uri.strip_prefix("viking://") {
        None => "URI must start with 'viking://'".to_owned(),
        Some(path) => {
            let scope = path.split('/').next().unwrap_or_default();
            if SCOPES.contains(&scope) || scope == "~" {
                return Ok(());
            }
            format!("Invalid scope '{scope}'. Must be one of: {}", SCOPES.join(", "))
        }
    };
    let message = format!("Invalid URI: {uri} ({reason})");
    Err(Problem::whole(Code::InvalidUri, message, json!({"uri": uri, "reason": reason})))
}

fn check_image(fields: &Fields) -> Result<(), Problem> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Image {
        Address(String),
        Object { url: String },
    }
    let image = fields.get("image_url").map(|image| serde_json::from_str::<Image>(image.get()));
    match image {
        Some(Ok(Image::Address(url) | Image::Object { url })) if !url.is_empty() => Ok(()),
        _ => {
            let message = "image_url part requires a non-empty URL";
            Err(Problem::short(Code::InvalidArgument, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(given: &str, kept: &str) {
        let mut faults = Faults::default();
        let part = read(&RawValue::from_string(given.to_owned()).unwrap(), &["p"], &mut faults);
        let part = part.unwrap_or_else(|| panic!("{given}: {faults:?}"));
        assert_eq!(serde_json::to_string(&part).unwrap(), kept);
    }

    #[test]
    fn what_a_part_lacks_is_added() {
        becomes("{}", r#"{"type":"text","text":""}"#);
        becomes(r#"{"text":"a"}"#, r#"{"type":"text","text":"a"}"#);
        becomes(r#"{ "type":"text" }"#, r#"{"type":"text","text":""}"#);
        becomes(r#"{"type":"text","text":"a","x":1.10}"#, r#"{"type":"text","text":"a","x":1.10}"#);
        becomes(
            r#"{"type":"context","abstract":"x"}"#,
            r#"{"type":"context","abstract":"x","uri":"","context_type":"memory"}"#,
        );
        becomes(
            r#"{"type":"image_url","image_url":"http://x","n":1.10}"#,
            r#"{"type":"image_url","image_url":{"url":"http://x"},"n":1.10}"#,
        );
        becomes(r#"{"type":"video","x":[1e400]}"#, r#"{"type":"video","x":[1e400]}"#);
        becomes(
            r#"{"x":1.0,"tool_output":"o","tool_status":"error","tool_id":null,"type":"tool","tool_input":null}"#,
            r#"{"type":"tool","tool_id":"","tool_name":"","tool_uri":"","skill_uri":"","tool_status":"error","tool_output":"o","x":1.0}"#,
        );
        becomes(
            r#"{"type":"tool","tool_output":"","duration_ms":0}"#,
            r#"{"type":"tool","tool_id":"","tool_name":"","tool_uri":"","skill_uri":"","tool_status":"pending","duration_ms":0}"#,
        );
    }

    #[test]
    fn parts_of_wrong_types_are_refused() {
        for given in [
            "5",
            r#"{"type":"text","text":5}"#,
            r#"{"type":"text","text":null}"#,
            r#"{"text":"\ud800"}"#,
            r#"{"type":"tool","tool_output":{"a":1}}"#,
            r#"{"type":"tool","tool_id":5}"#,
            r#"{"type":"context","uri":5}"#,
        ] {
            let mut faults = Faults::default();
            let part = read(&RawValue::from_string(given.to_owned()).unwrap(), &["p"], &mut faults);
            assert!(part.is_none() && !faults.is_empty(), "{given}");
        }
    }

    #[test]
    fn addresses_are_checked() {
        for (given, sound) in [
            (r#"{"type":"context","uri":"viking://user/u/x"}"#, true),
            (r#"{"type":"context","uri":"http://x"}"#, false),
            (r#"{"type":"context","uri":"viking://nowhere"}"#, false),
            (r#"{"type":"tool","tool_uri":"x"}"#, false),
            (r#"{"type":"image_url","image_url":"http://x"}"#, true),
            (r#"{"type":"image_url","image_url":{"url":"http://x","detail":"low"}}"#, true),
            (r#"{"type":"image_url","image_url":{"url":""}}"#, false),
            (r#"{"type":"image_url"}"#, false),
            (r#"{"type":"other","uri":"http://x"}"#, true),
        ] {
            let mut faults = Faults::default();
            let part = read(&RawValue::from_string(given.to_owned()).unwrap(), &["p"], &mut faults);
            assert_eq!(check(&part.unwrap()).is_ok(), sound, "{given}");
        }
    }
}
