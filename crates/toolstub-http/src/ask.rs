//! Reading what a request asks for, and telling all that is wrong with it at once.

use std::collections::HashMap;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::json;
use serde_json::value::RawValue;

use crate::problem::{Code, Problem};

/// How deep values may be nested.
const MAX_DEPTH: usize = 500;
/// How many digits a number may have.
const MAX_DIGITS: usize = 4000;

/// How many faults are told.
const MAX_FAULTS: usize = 100;
/// The longest name or id, in bytes: it comes back in every list.
const LONGEST: usize = 4096;
/// How many fields an object may have, and how many items a list, where they are read one by one.
const MAX_ITEMS: usize = 10_000;

/// The fields of a JSON object, each as it is written. Of a field that comes twice the last counts.
pub(crate) type Fields = HashMap<String, Box<RawValue>>;

/// What is wrong with a request, in order.
///
/// Only the first are kept: a request that is wrong in a million places gets no answer of a million
/// places.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    first: Vec<Fault>,
    more: usize,
}

#[derive(Debug)]
struct Fault {
    at: Vec<String>,
    message: String,
    kind: &'static str,
}

impl Faults {
    /// Takes note that something is wrong at a place.
    pub(crate) fn add(&mut self, at: &[&str], message: impl Into<String>, kind: &'static str) {
        if self.first.len() == MAX_FAULTS {
            self.more += 1;
            return;
        }
        let at = at.iter().map(|&part| part.to_owned()).collect();
        self.first.push(Fault { at, message: message.into(), kind });
    }

    /// Takes over what else is wrong.
    pub(crate) fn append(&mut self, others: Self) {
        self.more += others.more;
        for fault in others.first {
            if self.first.len() < MAX_FAULTS {
                self.first.push(fault);
            } else {
                self.more += 1;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether no more is kept, so that looking for more is of no use.
    pub(crate) fn is_full(&self) -> bool {
        self.first.len() == MAX_FAULTS
    }

    /// Goes on with what was read if nothing is wrong.
    pub(crate) fn check(self) -> Result<(), Problem> {
        if self.is_empty() { Ok(()) } else { Err(self.into_problem()) }
    }

    pub(crate) fn into_problem(self) -> Problem {
        // The message is for a line of a log; the details have all of them.
        let first =
            self.first.first().map(|fault| format!("{}: {}", fault.at.join("."), fault.message));
        let errors: Vec<_> = self
            .first
            .iter()
            .map(|Fault { at, message, kind }| json!({"loc": at, "message": message, "type": kind}))
            .collect();
        let message = format!("Invalid request parameters: {}", first.unwrap_or_default());
        let mut details = json!({ "validation_errors": errors });
        if self.more > 0 {
            details["more"] = json!(self.more);
        }
        Problem { details: Some(details), ..Problem::short(Code::InvalidArgument, message) }
    }
}

/// The parameters behind the `?` of an address.
#[derive(Debug)]
pub(crate) struct Query {
    given: HashMap<String, String>,
    pub(crate) faults: Faults,
}

impl Query {
    /// Reads the parameters. Of one that comes twice the last counts.
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self { given: pairs.into_owned().collect(), faults: Faults::default() }
    }

    /// A text, as it is.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.given.get(name).cloned()
    }

    /// A text that must be there and not be empty.
    pub(crate) fn required(&mut self, name: &str) -> String {
        match self.given.get(name) {
            Some(text) if text.is_empty() => {
                let message = "String should have at least 1 character";
                self.faults.add(&["query", name], message, "string_too_short");
                String::new()
            }
            Some(text) => text.clone(),
            None => {
                self.faults.add(&["query", name], "Field required", "missing");
                String::new()
            }
        }
    }

    /// A whole number, at least so large if a least one is given.
    pub(crate) fn integer(&mut self, name: &str, default: i128, least: Option<i128>) -> i128 {
        let Some(text) = self.given.get(name) else { return default };
        let Some(number) = integer(text) else {
            let message = "Input should be a valid integer, unable to parse string as an integer";
            self.faults.add(&["query", name], message, "int_parsing");
            return default;
        };
        match least {
            Some(least) if number < least => {
                let message = format!("Input should be greater than or equal to {least}");
                self.faults.add(&["query", name], message, "greater_than_equal");
                default
            }
            _ => number,
        }
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self, name: &str, default: bool) -> bool {
        let Some(text) = self.given.get(name) else { return default };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "y" | "on" | "t" => true,
            "false" | "0" | "no" | "n" | "off" | "f" => false,
            _ => {
                let message = "Input should be a valid boolean, unable to interpret input";
                self.faults.add(&["query", name], message, "bool_parsing");
                default
            }
        }
    }

    /// One of several words.
    pub(crate) fn word<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        words: &str,
    ) -> Option<T> {
        let text = self.given.get(name)?;
        let word = read(text);
        if word.is_none() {
            self.faults.add(&["query", name], format!("Input should be {words}"), "enum");
        }
        word
    }

    pub(crate) fn check(self) -> Result<(), Problem> {
        self.faults.check()
    }
}

/// A whole number as people write it: `20`, `-1`, `+3`, ` 4 `, `5.0`; far too large ones are clamped.
fn integer(text: &str) -> Option<i128> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let groups_are_whole = digits
        .split('_')
        .all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()));
    if !groups_are_whole {
        return None;
    }
    let clamped = if whole.starts_with('-') { i128::MIN } else { i128::MAX };
    Some(whole.replace('_', "").parse().unwrap_or(clamped))
}

/// A request's body: a JSON object. `None` if there is no body.
pub(crate) fn object(body: &[u8], is_json: bool) -> Result<Option<Fields>, Problem> {
    if body.is_empty() {
        return Ok(None);
    }
    let Ok(text) = std::str::from_utf8(body) else {
        let message = "There was an error parsing the body";
        return Err(Problem::short(Code::InvalidArgument, message));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A body that nobody can read would come back in every context.
    if let Some(message) = unreadable(text).filter(|_| is_json) {
        return Err(Problem::short(Code::InvalidArgument, message));
    }
    let mut faults = Faults::default();
    if is_json {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(value) if value.get().starts_with('{') => match fields(value) {
                Ok(fields) => return Ok(Some(fields)),
                Err(error) => faults.add(&["body"], error.to_string(), "json_invalid"),
            },
            Ok(_) => not_an_object(&mut faults, &["body"]),
            Err(error) => {
                let at = match error.classify() {
                    Category::Eof => text.chars().count(),
                    _ => offset(text, error.line(), error.column()),
                };
                let at = at.to_string();
                faults.add(&["body", &at], "JSON decode error", "json_invalid");
            }
        }
    } else {
        not_an_object(&mut faults, &["body"]);
    }
    Err(faults.into_problem())
}

/// What of a JSON text clients' parsers do not read, though it is well-formed.
fn unreadable(json: &str) -> Option<&'static str> {
    let bytes = json.as_bytes();
    let (mut depth, mut digits, mut at) = (0_usize, 0_usize, 0);
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if in_string {
            match byte {
                b'"' => in_string = false,
                b'\\' => {
                    let escape = bytes.get(at..).unwrap_or_default();
                    match surrogate(escape) {
                        Some(0xDC00..) => return Some(UNPAIRED),
                        Some(_) if escape.get(5) != Some(&b'\\') => return Some(UNPAIRED),
                        Some(_) if !matches!(surrogate(&escape[6..]), Some(0xDC00..)) => {
                            return Some(UNPAIRED);
                        }
                        Some(_) => at += 11,
                        None => at += 1,
                    }
                }
                _ => {}
            }
            continue;
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some("There was an error parsing the body");
        }
        if digits > MAX_DIGITS {
            return Some("a number of the body has more digits than parsers read");
        }
    }
    None
}

/// Said of a text that is none.
const UNPAIRED: &str = "the body has a surrogate without the other one of its pair";

/// The surrogate that an escape stands for, without its backslash.
fn surrogate(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"u")?.get(..4)?;
    let unit = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

/// The fields of a value that is an object.
pub(crate) fn fields(value: &RawValue) -> Result<Fields, serde_json::Error> {
    struct Bounded;

    impl<'de> Visitor<'de> for Bounded {
        type Value = Fields;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object of at most {MAX_ITEMS} fields")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
            let mut fields = Fields::new();
            let mut count = 0;
            while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                count += 1;
                if count > MAX_ITEMS {
                    return Err(de::Error::custom(format!(
                        "Input should have at most {MAX_ITEMS} fields"
                    )));
                }
                fields.insert(name, value);
            }
            Ok(fields)
        }
    }

    serde_json::Deserializer::from_str(value.get()).deserialize_map(Bounded)
}

/// The items of a value that is a list: as many as are read one by one, and one more.
fn items(value: &RawValue) -> Result<Vec<Box<RawValue>>, serde_json::Error> {
    struct Bounded;

    impl<'de> Visitor<'de> for Bounded {
        type Value = Vec<Box<RawValue>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while items.len() <= MAX_ITEMS {
                let Some(item) = seq.next_element()? else { return Ok(items) };
                items.push(item);
            }
            // What is left over is well-formed, or the body would not have been read.
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(items)
        }
    }

    serde_json::Deserializer::from_str(value.get()).deserialize_seq(Bounded)
}

pub(crate) fn not_an_object(faults: &mut Faults, at: &[&str]) {
    let message = "Input should be a valid dictionary or object to extract fields from";
    faults.add(at, message, "model_attributes_type");
}

/// Where a line and a column are, in characters from the beginning.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(|line| line.chars().count())
        .sum();
    before + column.saturating_sub(1)
}

/// A field that is a string, or `null`, or not there.
pub(crate) fn string(
    fields: &Fields,
    name: &str,
    at: &[&str],
    faults: &mut Faults,
) -> Option<String> {
    let value = fields.get(name).filter(|value| value.get() != "null")?;
    if let Ok(text) = serde_json::from_str(value.get()) {
        return Some(text);
    }
    let place = [at, &[name]].concat();
    if value.get().starts_with('"') {
        let message = "Input should be text without unpaired surrogates";
        faults.add(&place, message, "string_unicode");
    } else {
        faults.add(&place, "Input should be a valid string", "string_type");
    }
    None
}

/// A field that is a name, an id or a time: a text that is not long.
pub(crate) fn name(
    fields: &Fields,
    name: &str,
    at: &[&str],
    faults: &mut Faults,
) -> Option<String> {
    let text = string(fields, name, at, faults)?;
    if text.len() <= LONGEST {
        return Some(text);
    }
    let message = format!("String should have at most {LONGEST} bytes");
    faults.add(&[at, &[name]].concat(), message, "string_too_long");
    None
}

/// A field that is an object, or `null`, or not there.
pub(crate) fn dictionary(
    fields: &Fields,
    name: &str,
    at: &[&str],
    faults: &mut Faults,
) -> Option<Box<RawValue>> {
    let value = fields.get(name).filter(|value| value.get() != "null")?;
    if value.get().starts_with('{') {
        return Some(value.clone());
    }
    faults.add(&[at, &[name]].concat(), "Input should be a valid dictionary", "dict_type");
    None
}

/// A field that is a list, or `null`, or not there.
pub(crate) fn list(
    fields: &Fields,
    name: &str,
    at: &[&str],
    faults: &mut Faults,
) -> Option<Vec<Box<RawValue>>> {
    let value = fields.get(name).filter(|value| value.get() != "null")?;
    let place = [at, &[name]].concat();
    match items(value) {
        Ok(list) if list.len() > MAX_ITEMS => {
            let message = format!("List should have at most {MAX_ITEMS} items after validation");
            faults.add(&place, message, "too_long");
            None
        }
        Ok(list) => Some(list),
        Err(_) => {
            faults.add(&place, "Input should be a valid list", "list_type");
            None
        }
    }
}

/// The field that asks for telemetry: yes, no, or a choice. There is none, whatever is asked.
pub(crate) fn telemetry(fields: &Fields, at: &[&str], faults: &mut Faults) {
    let Some(value) = fields.get("telemetry").map(|value| value.get()) else { return };
    if matches!(value, "true" | "false") || value.starts_with('{') {
        return;
    }
    let (message, kind) = match value {
        "null" => ("Input should be a valid boolean", "bool_type"),
        _ => ("Input should be a valid boolean, unable to interpret input", "bool_parsing"),
    };
    faults.add(&[at, &["telemetry", "bool"]].concat(), message, kind);
    let message = "Input should be a valid dictionary";
    faults.add(&[at, &["telemetry", "dict[str,bool]"]].concat(), message, "dict_type");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let most = i128::MAX;
        for (text, number) in [
            ("20", Some(20)),
            (" -1 ", Some(-1)),
            ("+3", Some(3)),
            ("5.0", Some(5)),
            ("007", Some(7)),
            ("1_000", Some(1000)),
            ("1__0", None),
            ("_1", None),
            ("99999999999999999999999999999999999999999999", Some(most)),
            ("-99999999999999999999999999999999999999999999", Some(i128::MIN)),
            ("", None),
            ("1.5", None),
            ("1.", None),
            ("1e3", None),
            ("0x10", None),
            ("-", None),
            ("abc", None),
        ] {
            assert_eq!(integer(text), number, "{text}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let mut query = Query::parse(Some("limit=0&include_metadata=maybe"));
        query.required("q");
        query.integer("limit", 20, Some(1));
        query.flag("include_metadata", true);
        let problem = query.check().unwrap_err();
        assert_eq!(problem.message, "Invalid request parameters: query.q: Field required");
        assert_eq!(problem.details.unwrap()["validation_errors"][1]["type"], "greater_than_equal");
    }

    #[test]
    fn what_parsers_do_not_read_is_refused() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(object(nested(MAX_DEPTH - 1).as_bytes(), true).is_ok());
        let problem = object(nested(MAX_DEPTH).as_bytes(), true).unwrap_err();
        assert_eq!(problem.message, "There was an error parsing the body");
        for (body, is_read) in [
            (r#"{"a":"\ud83d\ude00"}"#, true),
            (r#"{"a":"\\ud83d"}"#, true),
            (r#"{"a":"\ud83d"}"#, false),
            (r#"{"a":"\ude00"}"#, false),
            (r#"{"a":"\ud83d\ud83d"}"#, false),
            (r#"{"a":"\ud83dx\ude00"}"#, false),
            (r#"{"a":"\ud8"}"#, false),
        ] {
            assert_eq!(object(body.as_bytes(), true).is_ok(), is_read, "{body}");
        }
        let number = |digits: usize| format!("{{\"a\":{}}}", "9".repeat(digits));
        assert!(object(number(MAX_DIGITS).as_bytes(), true).is_ok());
        assert!(object(number(MAX_DIGITS + 1).as_bytes(), true).is_err());
        // Brackets in a text are text.
        let text = format!(r#"{{"a":"{}\\","b":"\"["}}"#, "[".repeat(1000));
        assert!(object(text.as_bytes(), true).is_ok());
    }

    #[track_caller]
    fn refused(body: &str, message: &str) {
        let problem = object(body.as_bytes(), true).unwrap_err();
        assert_eq!(problem.message, format!("Invalid request parameters: {message}"));
    }

    #[test]
    fn a_body_is_an_object() {
        assert!(object(b"", true).unwrap().is_none());
        assert_eq!(object(br#" {"a":1,"a":1.10} "#, true).unwrap().unwrap()["a"].get(), "1.10");
        let form = "body: Input should be a valid dictionary or object to extract fields from";
        refused("[]", form);
        refused("null", form);
        refused("{", "body.1: JSON decode error");
        refused("{}\n{", "body.3: JSON decode error");
        assert!(object("\u{feff}{}".as_bytes(), true).is_ok());
        assert!(object(b"{}", false).is_err());
        assert!(object(b"{\"a\":\"\xff\"}", true).is_err());
    }
}
