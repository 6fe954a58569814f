//! Arguments as models write them.

use serde_json::{Map, Value};
use toolstub_core::text::clean;

use super::Problem;

/// The names of an argument; case and underscores make no difference.
type Names = &'static [&'static str];

pub(super) const REF: Names =
    &["tool_output_ref", "ref", "uri", "reference", "tool_result_id", "id"];
pub(super) const OFFSET: Names = &["offset"];
pub(super) const LIMIT: Names = &["limit"];
pub(super) const UNIT: Names = &["unit", "offset_unit"];
pub(super) const LINES: Names = &["lines"];
pub(super) const ROWS: Names = &["rows"];
pub(super) const POINTER: Names = &["pointer"];
pub(super) const QUERY: Names = &["query", "q", "pattern"];
pub(super) const REGEX: Names = &["regex"];
pub(super) const IGNORE_CASE: Names = &["ignore_case"];
pub(super) const CONTEXT_CHARS: Names = &["context_chars", "context"];
pub(super) const TOOL_NAME: Names = &["tool_name"];
pub(super) const SESSION: Names = &["session", "session_id"];
pub(super) const CURSOR: Names = &["cursor", "next_cursor"];

/// The arguments of a call. What no tool has is ignored.
#[derive(Debug, Default)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Takes an object, nothing at all, or a string that holds an object.
    pub(super) fn new(given: &Value) -> Result<Self, Problem> {
        let object = match given {
            Value::Null => Map::new(),
            Value::Object(object) => object.clone(),
            Value::String(text) if text.trim().is_empty() => Map::new(),
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Object(object)) => object,
                _ => return Err(not_an_object()),
            },
            _ => return Err(not_an_object()),
        };
        Ok(Self(object.into_iter().map(|(name, value)| (folded(&name), value)).collect()))
    }

    /// What is given under the first name that has anything.
    fn get(&self, names: Names) -> Option<&Value> {
        let mut given = names.iter().filter_map(|name| self.0.get(&folded(name)));
        given.find(|value| !value.is_null())
    }

    /// What is given where a word that says nothing is nothing.
    fn get_unless_nothing(&self, names: Names) -> Option<&Value> {
        self.get(names).filter(|value| !value.as_str().is_some_and(is_nothing))
    }

    /// A text; an empty one is none.
    pub(super) fn text(&self, names: Names) -> Result<Option<String>, Problem> {
        Ok(self.raw_text(names)?.filter(|text| !text.trim().is_empty()))
    }

    /// A text that is never such a word as `null`.
    pub(super) fn word(&self, names: Names) -> Result<Option<String>, Problem> {
        Ok(self.raw_text(names)?.filter(|text| !is_nothing(text)))
    }

    /// A text as it is given. A number or a truth value is what it is written as.
    pub(super) fn raw_text(&self, names: Names) -> Result<Option<String>, Problem> {
        match self.get(names) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(scalar @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(scalar.to_string())),
            Some(other) => Err(bad(names, other, "a text")),
        }
    }

    /// An integer: a number, a whole number with a fraction, or either in a string.
    pub(super) fn integer(&self, names: Names, default: i128) -> Result<i128, Problem> {
        let Some(given) = self.get_unless_nothing(names) else { return Ok(default) };
        let integer = match given {
            Value::Number(number) => whole(&number.to_string()),
            Value::String(text) => whole(text.trim()),
            _ => None,
        };
        integer.ok_or_else(|| bad(names, given, "a whole number"))
    }

    /// Yes or no.
    pub(super) fn flag(&self, names: Names) -> Result<bool, Problem> {
        let Some(given) = self.get_unless_nothing(names) else { return Ok(false) };
        let word = match given {
            Value::Bool(flag) => return Ok(*flag),
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            _ => return Err(bad(names, given, "true or false")),
        };
        match word.as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(bad(names, given, "true or false")),
        }
    }
}

/// The value of digits that may be followed by a fraction of nothing, or of a float however large.
fn whole(digits: &str) -> Option<i128> {
    if let Ok(integer) = digits.strip_suffix(".0").unwrap_or(digits).parse() {
        return Some(integer);
    }
    let float: f64 = digits.parse().ok()?;
    // The cast takes what no integer reaches for the largest.
    (float.is_infinite() || float.fract() == 0.0).then_some(float as i128)
}

/// Whether a text says that there is nothing, in the words in which models write that.
fn is_nothing(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "" | "null" | "none" | "undefined")
}

/// A name without what models write in other ways: `toolName` is `tool_name`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

fn not_an_object() -> Problem {
    let text = "the arguments are not an object; give them by name, such as \
        {\"tool_output_ref\": \"toolstub://…\", \"offset\": 0}";
    Problem(text.to_owned())
}

fn bad(names: Names, given: &Value, expected: &str) -> Problem {
    let given = clean(&given.to_string(), 80);
    Problem(format!("{} is {given}; give {expected}", names[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn integer(given: &Value, expected: Option<i128>) {
        let arguments = Arguments::new(&json!({ "limit": given })).unwrap();
        assert_eq!(arguments.integer(LIMIT, 7).ok(), expected, "{given}");
    }

    #[test]
    fn integer_comes_in_many_ways() {
        integer(&json!(2), Some(2));
        integer(&json!("2"), Some(2));
        integer(&json!(2.0), Some(2));
        integer(&json!(" 2.0 "), Some(2));
        integer(&json!(-1), Some(-1));
        integer(&json!("-1"), Some(-1));
        integer(&json!(null), Some(7));
        integer(&json!(""), Some(7));
        integer(&json!("null"), Some(7));
        integer(&json!(" None "), Some(7));
        integer(&json!("1_000"), None);
        integer(&json!(1e30), Some(1e30 as i128));
        integer(&json!("1e400"), Some(i128::MAX));
        integer(&json!(u64::MAX), Some(u64::MAX.into()));
        integer(&json!(2.5), None);
        integer(&json!("two"), None);
        integer(&json!([2]), None);
        integer(&json!("nan"), None);
    }

    #[test]
    fn flag_comes_in_many_ways() {
        let flag =
            |given: Value| Arguments::new(&json!({"ignoreCase": given})).unwrap().flag(IGNORE_CASE);
        for yes in [json!(true), json!("true"), json!("True"), json!(1)] {
            assert!(flag(yes).unwrap());
        }
        for no in [json!(false), json!("no"), json!(null), json!(""), json!("null")] {
            assert!(!flag(no).unwrap());
        }
        assert!(flag(json!("perhaps")).is_err());
    }

    #[test]
    fn names_are_taken_in_any_spelling() {
        for name in ["tool_output_ref", "toolOutputRef", "ref", "URI", "tool-result-id"] {
            let arguments = Arguments::new(&json!({ name: "tr_1" })).unwrap();
            assert_eq!(arguments.text(REF).unwrap().as_deref(), Some("tr_1"), "{name}");
        }
        let arguments = Arguments::new(&json!({"tool_output_ref": null, "ref": "tr_1"})).unwrap();
        assert_eq!(arguments.text(REF).unwrap().as_deref(), Some("tr_1"));
        let arguments = Arguments::new(&json!(r#"{"contextChars": 5}"#)).unwrap();
        assert_eq!(arguments.integer(CONTEXT_CHARS, 0).unwrap(), 5);
        assert_eq!(
            Arguments::new(&json!({"query": 404})).unwrap().text(QUERY).unwrap().unwrap(),
            "404"
        );
    }

    #[test]
    fn what_is_no_object_is_told() {
        assert!(Arguments::new(&Value::Null).is_ok());
        for given in [json!([1]), json!("[1]"), json!("tr_1"), json!(1)] {
            assert!(Arguments::new(&given).is_err());
        }
    }
}
