//! Results of the retrieval tools: what they read is stored already.

use serde_json::{Map, Value};
use toolstub_core::{EventId, OffsetUnit, Ref, SessionId, ToolResultId};
use toolstub_render::ReadBack;

use crate::events::{MAX_EVENT_READ, ToolResultHandle};
use crate::turn::Call;

const READ: &str = "tool_result_read";
const SEARCH: &str = "tool_result_search";
const LIST: &str = "tool_result_list";
const STUB: &str = "tool_result_stub";
const READ_EVENT: &str = "toolresult_read";

/// Whether a tool is one of those that read, search or list what is stored, whatever stands before its
/// name: what it returned must not be stored again.
///
/// ```
/// use toolstub_session::is_retrieval;
/// assert!(is_retrieval("mcp__files__openviking_tool_result_search"));
/// assert!(!is_retrieval("mcp__files__read_text_file"));
/// ```
pub fn is_retrieval(tool_name: &str) -> bool {
    [READ, SEARCH, LIST, STUB, READ_EVENT].iter().any(|name| tool_name.ends_with(name))
}

/// What a retrieval tool was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadBackCall {
    pub(crate) target: Target,
    pub(crate) part: ReadBack,
}

/// What a retrieval tool's input names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Reference(Ref),
    Handle(ToolResultHandle),
}

/// Reads a call of a retrieval tool, whatever stands before its name; `None` for any other, and
/// where no result of this session is named.
pub(crate) fn read_back(
    call: &Call,
    session: &SessionId,
    default_limit: u64,
) -> Option<ReadBackCall> {
    let is = |name: &str| call.name.ends_with(name);
    if !(is(READ) || is(SEARCH) || is(READ_EVENT)) {
        return None;
    }
    let input = object(call.input.as_deref()?)?;
    if is(READ) || is(SEARCH) {
        let given = ["tool_output_ref", "ref", "uri"].into_iter();
        let mut given = given.filter_map(|name| input.get(name)?.as_str());
        let reference = given.find_map(|given| parse_ref(given, session))?;
        let part = if is(READ) { range(&input, default_limit) } else { ReadBack::Part };
        return Some(ReadBackCall { target: Target::Reference(reference), part });
    }
    let event = EventId::new(input.get("event_id")?.as_str()?).ok()?;
    let index = input.get("index").and_then(integer).unwrap_or(0);
    let handle = ToolResultHandle::Event { event_id: event, index: u64::try_from(index).ok()? };
    let offset = input.get("offset").and_then(integer).unwrap_or(0);
    let limit = input.get("limit").and_then(integer).unwrap_or(0);
    let limit = if limit <= 0 { MAX_EVENT_READ } else { limit.min(MAX_EVENT_READ) };
    let part = ReadBack::Range { offset, limit, unit: OffsetUnit::Byte };
    Some(ReadBackCall { target: Target::Handle(handle), part })
}

/// Takes what somebody gives for a ref of a session; `None` for a ref of another.
///
/// Beside refs in every form that [`Ref`] reads, a bare result id is understood.
pub fn parse_ref(given: &str, session: &SessionId) -> Option<Ref> {
    let given = given.trim();
    if given.contains('/') {
        let reference = given.parse::<Ref>().ok()?;
        return (reference.session() == session).then_some(reference);
    }
    let id = ToolResultId::new(given).ok().filter(|id| id.as_str().starts_with("tr_"))?;
    Some(Ref::new(session.clone(), id))
}

fn range(input: &Map<String, Value>, default_limit: u64) -> ReadBack {
    let whole = ["pointer", "rows", "lines"]
        .iter()
        .all(|selector| input.get(*selector).is_none_or(|value| value.is_null() || value == ""));
    let unit = ["unit", "offset_unit"].into_iter().find_map(|name| input.get(name)?.as_str());
    let unit = unit.map_or(Ok(OffsetUnit::default()), str::parse);
    match unit {
        Ok(unit) if whole => ReadBack::Range {
            offset: input.get("offset").and_then(integer).unwrap_or(0),
            limit: input.get("limit").and_then(integer).unwrap_or(i128::from(default_limit)),
            unit,
        },
        _ => ReadBack::Part,
    }
}

/// An integer as models write it: a number, a whole number with a fraction, or either in a string.
fn integer(value: &Value) -> Option<i128> {
    let digits = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    digits.strip_suffix(".0").unwrap_or(&digits).parse().ok()
}

/// The object that a call's input is, or that the string holds that it is.
fn object(input: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(input).ok()? {
        Value::Object(object) => Some(object),
        Value::String(inner) => serde_json::from_str(&inner).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REF: &str = "toolstub://session/s%3A1/tool-results/tr_1";

    fn session() -> SessionId {
        SessionId::new("s:1").unwrap()
    }

    #[track_caller]
    fn reads(name: &str, input: &str, expected: Option<ReadBack>) {
        let call = Call { id: String::new(), name: name.to_owned(), input: Some(input.to_owned()) };
        assert_eq!(read_back(&call, &session(), 19_000).map(|call| call.part), expected);
    }

    fn chars(offset: i128, limit: i128) -> ReadBack {
        ReadBack::Range { offset, limit, unit: OffsetUnit::UnicodeCodePoint }
    }

    #[test]
    fn retrieval_tool_is_known_by_the_end_of_its_name() {
        let input = format!(r#"{{"ref": "{REF}", "offset": "5", "limit": 7.0}}"#);
        reads("tool_result_read", &input, Some(chars(5, 7)));
        reads("mcp__store__openviking_tool_result_read", &input, Some(chars(5, 7)));
        reads("openviking_tool_result_search", &input, Some(ReadBack::Part));
        reads("openviking_tool_result_list", &input, None);
        reads("read_file", &input, None);
    }

    #[test]
    fn input_names_a_ref_of_the_session() {
        reads("tool_result_read", &format!(r#"{{"uri": "{REF}"}}"#), Some(chars(0, 19_000)));
        reads("tool_result_read", r#"{"tool_output_ref": "tr_1"}"#, Some(chars(0, 19_000)));
        let other = REF.replace("s%3A1", "s2");
        reads("tool_result_read", &format!(r#"{{"ref": "{other}"}}"#), None);
        reads("tool_result_read", r#"{"path": "x"}"#, None);
        reads("tool_result_read", "not json", None);
        let in_string = serde_json::to_string(&format!(r#"{{"ref": "{REF}"}}"#)).unwrap();
        reads("tool_result_read", &in_string, Some(chars(0, 19_000)));
    }

    #[test]
    fn part_that_offset_and_limit_do_not_tell_is_told_as_a_part() {
        let input = |more: &str| format!(r#"{{"ref": "{REF}", {more}}}"#);
        reads("tool_result_read", &input(r#""pointer": "/a""#), Some(ReadBack::Part));
        reads("tool_result_read", &input(r#""unit": "furlong""#), Some(ReadBack::Part));
        let lines = ReadBack::Range { offset: 2, limit: 19_000, unit: OffsetUnit::Line };
        reads("tool_result_read", &input(r#""unit": "line", "offset": 2"#), Some(lines));
    }

    #[test]
    fn event_is_read_in_bytes() {
        let bytes = |offset, limit| ReadBack::Range { offset, limit, unit: OffsetUnit::Byte };
        reads("toolresult_read", r#"{"event_id": "e1"}"#, Some(bytes(0, MAX_EVENT_READ)));
        let input = r#"{"event_id": "e1", "index": 2, "offset": 9, "limit": 100}"#;
        reads("toolresult_read", input, Some(bytes(9, 100)));
        reads("toolresult_read", r#"{"event_id": ""}"#, None);
        reads("toolresult_read", r#"{"event_id": "e1", "index": -1}"#, None);
    }

    #[track_caller]
    fn parses(given: &str, expected: Option<&str>) {
        let parsed = parse_ref(given, &session()).map(|reference| reference.to_string());
        assert_eq!(parsed.as_deref(), expected, "{given}");
    }

    #[test]
    fn refs_of_hosts_are_understood() {
        parses(REF, Some(REF));
        parses(" tr_1\n", Some(REF));
        parses("viking://session/s:1/tool-results/tr_1", Some(REF));
        parses("viking://user/u/sessions/s%3A1/tool-results/tr_1", Some(REF));
        parses("viking://~/sessions/s:1/tool-results/tr_1", Some(REF));
        let event = "toolstub://session/s%3A1/events/e/tool-results/tr_1";
        parses(event, Some(event));
        for other in [
            "toolstub://session/s2/tool-results/tr_1",
            "viking://session/s2/tool-results/tr_1",
            "viking://user/u/sessions/s2/tool-results/tr_1",
            "viking://session/s:1/tool-results/..",
            "viking://session/s:1/tool-results/tr_1/output.txt",
            "readme",
            "",
        ] {
            parses(other, None);
        }
    }
}
