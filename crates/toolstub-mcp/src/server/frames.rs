//! What a client says, and what is to be told where that cannot be taken.
//!
//! JSON may hold what parsers refuse: half of a surrogate pair, numbers beyond all measure, any depth. Whoever
//! sent such waits for an answer all the same, under the id as it is written.

use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::RxJsonRpcMessage;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use toolstub_session::splice::{Object, Patches, items};

/// The most messages of a batch.
const MOST: usize = 100;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

type Message = RxJsonRpcMessage<RoleServer>;

/// What a line is.
#[derive(Debug)]
pub(super) enum Heard {
    /// Nothing that is to be answered.
    Nothing,
    One(Box<Message>),
    /// Messages whose answers belong together, and the answers to what in it is none.
    Batch(Vec<Message>, Vec<String>),
    /// What has to be answered with this.
    Wrong(String),
}

/// What a line says.
pub(super) fn heard(line: &[u8]) -> Heard {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Heard::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Heard::One(Box::new(message));
    }
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(problem) => {
            return Heard::Wrong(no_json(&String::from_utf8_lossy(line), &problem.to_string()));
        }
    };
    if let Err(problem) = serde_json::from_str::<IgnoredAny>(text) {
        return Heard::Wrong(no_json(text, &problem.to_string()));
    }
    if let Some(items) = items(text) {
        return batch(&items);
    }
    match message(text) {
        Ok(message) => Heard::One(Box::new(message)),
        Err(answer) => answer.map_or(Heard::Nothing, Heard::Wrong),
    }
}

fn batch(items: &[&str]) -> Heard {
    if items.is_empty() || items.len() > MOST {
        return Heard::Wrong(refused(None, &format!("a batch holds 1 to {MOST} messages")));
    }
    let (mut messages, mut answers) = (Vec::new(), Vec::new());
    for item in items {
        match message(item) {
            Ok(message) => messages.push(message),
            Err(answer) => answers.extend(answer),
        }
    }
    Heard::Batch(messages, answers)
}

/// The message that a JSON text is, or the answer to what is none, unless it is about something that wants
/// none.
fn message(text: &str) -> Result<Message, Option<String>> {
    if let Ok(message) = serde_json::from_str(text) {
        return Ok(message);
    }
    let wrong = "that is no JSON-RPC message; a request has jsonrpc (\"2.0\"), id and method";
    let Some(object) = Object::parse(text) else { return Err(Some(refused(None, wrong))) };
    if let Some(message) = without_halves(text, &object) {
        return Ok(message);
    }
    let has_method = object.get("method").is_some_and(|method| method.starts_with('"'));
    let is_answer = ["result", "error"].iter().any(|name| object.get(name).is_some());
    let wants_none = if has_method { object.get("id").is_none() } else { is_answer };
    if wants_none {
        return Err(None);
    }
    let id = id(&object);
    if !has_method {
        return Err(Some(refused(id, wrong)));
    }
    let params = object.get("params").map(serde_json::from_str::<Value>);
    Err(Some(match params {
        Some(Err(problem)) => {
            let text = format!("params cannot be read ({problem}); send them without that");
            error(id, INVALID_PARAMS, &text)
        }
        _ if id.is_none_or(|id| serde_json::from_str::<RequestId>(id).is_err()) => {
            refused(id, "the id of a request is a text, or a whole number of 64 bits")
        }
        _ => refused(id, wrong),
    }))
}

/// The message with U+FFFD for each half of a surrogate pair in its parameters whose other half is missing:
/// clients and models that cut by units of UTF-16 leave such.
fn without_halves(text: &str, object: &Object<'_>) -> Option<Message> {
    let params = object.get("params")?;
    let unit = |at: usize| {
        let digits = params.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut mended, mut at, mut kept) = (String::new(), 0, 0);
    while let Some(found) = memchr::memchr(b'\\', &params.as_bytes()[at..]) {
        at += found;
        match unit(at) {
            Some(0xD800..0xDC00) if matches!(unit(at + 6), Some(0xDC00..0xE000)) => at += 12,
            Some(0xD800..0xE000) => {
                mended.push_str(&params[kept..at]);
                mended.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            // An escape and what it escapes, which is ASCII in JSON.
            _ => at += 2,
        }
    }
    if kept == 0 {
        return None;
    }
    mended.push_str(&params[kept..]);
    let mut patches = Patches::new(text);
    patches.replace(params, mended);
    serde_json::from_str(&patches.apply()?).ok()
}

/// The id as it is written.
fn id<'a>(object: &Object<'a>) -> Option<&'a str> {
    object.get("id").filter(|id| id.starts_with(|c: char| matches!(c, '"' | '-' | '0'..='9')))
}

fn no_json(text: &str, problem: &str) -> String {
    let id = Object::parse(text).as_ref().and_then(id);
    error(id, PARSE_ERROR, &format!("that is no JSON ({problem}); send a JSON-RPC message"))
}

/// The answer to what is no request, or is one that cannot be taken now.
pub(super) fn refused(id: Option<&str>, why: &str) -> String {
    error(id, INVALID_REQUEST, why)
}

fn error(id: Option<&str>, code: i64, message: &str) -> String {
    let id = id.unwrap_or("null");
    let error = json!({"code": code, "message": message});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// Whether an answer is one to a request whose id could be read.
pub(super) fn has_id(answer: &str) -> bool {
    Object::parse(answer).is_some_and(|answer| answer.given("id").is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn anything_may_be_said(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "\\ud83d", "\\udd80", "\\\\", "\\\"", "\\u00e9", "\\u", "é", "a", "\"", "\\", "1e999", "{", "[", "]",
                ]),
                0..12,
            ),
        ) {
            let said = pieces.concat();
            for line in [
                said.clone(),
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{said}"}}}}"#),
                format!(r#"{{"jsonrpc":"2.0","id":"{said}","method":"ping"}}"#),
                format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"{said}"}}]"#),
            ] {
                match heard(line.as_bytes()) {
                    Heard::Wrong(answer) => prop_assert!(Object::parse(&answer).is_some()),
                    Heard::Batch(_, answers) => {
                        prop_assert!(answers.iter().all(|answer| Object::parse(answer).is_some()));
                    }
                    Heard::One(message) => prop_assert!(serde_json::to_string(&message).is_ok()),
                    Heard::Nothing => {}
                }
            }
        }
    }
}
