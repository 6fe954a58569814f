//! What a request over HTTP says in its headers too, from the version 2026-07-28 on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use toolstub_session::splice::{Object, text};

use super::message::Message;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";
/// What marks a parameter in a tool's input schema.
const MARK: &str = "x-mcp-header";
/// How deep marked parameters are looked for.
const MAX_DEPTH: usize = 8;

/// A parameter of a tool that its server wants to see in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marked {
    path: Vec<String>,
    header: HeaderName,
}

/// The headers of a message that states its version itself, or of one that follows a handshake.
pub(super) fn of_message(
    message: &Message<'_>,
    negotiated: Option<&str>,
    marked: &[Marked],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(&written(text)) {
            headers.insert(name, value);
        }
    };
    let Some(version) = message.version() else {
        if let Some(version) = negotiated {
            put(VERSION, version);
        }
        return headers;
    };
    put(VERSION, &version);
    let Some(method) = message.method.as_deref() else { return headers };
    put(METHOD, method);
    let Some(params) = message.object("params") else { return headers };
    let named = match method {
        "tools/call" | "prompts/get" => params.text("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => params.text("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.text("taskId"),
        _ => None,
    };
    if let Some(named) = named {
        put(NAME, &named);
    }
    if let (false, Some(arguments)) = (marked.is_empty(), params.get("arguments")) {
        for Marked { path, header } in marked {
            if let Some(value) = value_at(arguments, path) {
                put(header.clone(), &value);
            }
        }
    }
    headers
}

/// The parameters that a tool's definition marks.
pub(super) fn marked(tool: &Object<'_>) -> Vec<Marked> {
    let mut found = Vec::new();
    let Some(schema) = tool.object("inputSchema").filter(|schema| schema.raw().contains(MARK))
    else {
        return found;
    };
    let mut open = vec![(schema, Vec::new())];
    while let Some((schema, path)) = open.pop() {
        let Some(properties) = schema.object("properties") else { continue };
        for (name, property) in properties.fields() {
            let Some(property) = Object::parse(property) else { continue };
            let path: Vec<String> = path.iter().cloned().chain([name.to_owned()]).collect();
            let header = property.text(MARK).map(|header| format!("{PARAM}{header}"));
            if let Some(header) = header.and_then(|header| header.parse().ok()) {
                found.push(Marked { path: path.clone(), header });
            }
            if path.len() < MAX_DEPTH {
                open.push((property, path));
            }
        }
    }
    found
}

/// A text, number or truth value inside of arguments, as a header says it.
fn value_at(arguments: &str, path: &[String]) -> Option<String> {
    let mut raw = arguments;
    for name in path {
        raw = Object::parse(raw)?.get(name)?;
    }
    match raw.as_bytes().first()? {
        b'"' => text(raw),
        b't' | b'f' | b'-' | b'0'..=b'9' => Some(raw.to_owned()),
        _ => None,
    }
}

/// A text as it can stand in a header.
fn written(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches(' ') == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(frame: &str, tool: &str, expected: &[(&str, &str)]) {
        let marked = marked(&Object::parse(tool).unwrap());
        let headers = of_message(&Message::parse(frame).unwrap(), Some("2025-06-18"), &marked);
        let mut said: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        said.sort_unstable();
        assert_eq!(said, expected);
    }

    #[test]
    fn headers_say_what_the_frame_says() {
        says(
            r#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#,
            "{}",
            &[("mcp-protocol-version", "2025-06-18")],
        );
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let tool = r#"{"inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"bad":{"x-mcp-header":"a b"}}}}"#;
        says(
            &format!(
                r#"{{"id":1,"method":"tools/call","params":{{"name":"é","arguments":{{"region":"eu","deep":{{"n":12345678901234567890123}}}},{meta}}}}}"#
            ),
            tool,
            &[
                ("mcp-method", "tools/call"),
                ("mcp-name", "=?base64?w6k=?="),
                ("mcp-param-n", "12345678901234567890123"),
                ("mcp-param-region", "eu"),
                ("mcp-protocol-version", "2026-07-28"),
            ],
        );
        says(
            &format!(
                r#"{{"id":1,"method":"resources/read","params":{{"uri":"a:b","name":"no",{meta}}}}}"#
            ),
            "{}",
            &[
                ("mcp-method", "resources/read"),
                ("mcp-name", "a:b"),
                ("mcp-protocol-version", "2026-07-28"),
            ],
        );
    }
}
