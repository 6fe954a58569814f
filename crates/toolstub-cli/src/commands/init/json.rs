//! A JSON file of a host, changed where it stands: what is not ours stays as it is written, down to comments
//! and white space.

use std::ops::Range;

use anyhow::{anyhow, bail};
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::document::{Document, Kind, Node};

/// The text of a file that holds nothing yet.
const NOTHING: &str = "{}\n";

/// Puts a value behind the items of the array that `path` leads to.
pub(super) fn append(text: &str, path: &[&str], value: &Value) -> anyhow::Result<String> {
    insert(text, path, None, value)
}

/// Puts a value under a new name into the object that `path` leads to.
pub(super) fn add(text: &str, path: &[&str], name: &str, value: &Value) -> anyhow::Result<String> {
    insert(text, path, Some(name), value)
}

fn insert(text: &str, path: &[&str], name: Option<&str>, value: &Value) -> anyhow::Result<String> {
    let text = if text.trim_matches('\u{feff}').trim().is_empty() { NOTHING } else { text };
    let document = Document::parse(text)?;
    let mut at = document.root();
    for (depth, step) in path.iter().enumerate() {
        let Kind::Object(_) = at.kind else { return Err(not_a(&path[..depth], "an object")) };
        let Some(next) = document.member(at, step) else {
            // What is not there yet is made with the value in it.
            let mut made = match name {
                Some(name) => Value::from_iter([(name, value.clone())]),
                None => Value::from(vec![value.clone()]),
            };
            for step in path[depth + 1..].iter().rev() {
                made = Value::from_iter([(*step, made)]);
            }
            return Ok(insert_into(&document, at, Some(step), &made));
        };
        at = next;
    }
    match (&at.kind, name) {
        (Kind::Object(_), Some(_)) | (Kind::Array(_), None) => {
            Ok(insert_into(&document, at, name, value))
        }
        (_, Some(_)) => Err(not_a(path, "an object")),
        (_, None) => Err(not_a(path, "a list")),
    }
}

fn not_a(path: &[&str], wanted: &str) -> anyhow::Error {
    match path {
        [] => anyhow!("what it holds is not {wanted}"),
        path => anyhow!("`{}` in it is not {wanted}", path.join(".")),
    }
}

/// Writes a value behind the last of a container's, in the manner of the file.
fn insert_into(document: &Document<'_>, at: &Node, name: Option<&str>, value: &Value) -> String {
    let text = document.text;
    let children = document.children(at);
    let unit = document.indent();
    // Behind comments that stand behind the last value; its comma goes before them.
    let close = at.span.end - 1;
    let begin = children.last().map_or(at.span.start + 1, |last| last.end);
    let behind = text[..close].trim_end().len().max(begin);
    let in_lines = match children.first() {
        Some(first) => text[at.span.start..first.start].contains('\n'),
        None => document.children(document.root()).is_empty() || text.trim_end().contains('\n'),
    };
    let in_lines = in_lines || ends_in_comment(&text[begin..behind]);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let outer = document.line_indent(at.span.start);
    let inner = match children.last() {
        Some(last) if text[document.line_start(last.start)..last.start].trim().is_empty() => {
            document.line_indent(last.start).to_owned()
        }
        _ => format!("{outer}{unit}"),
    };
    let mut written = String::new();
    if let Some(name) = name {
        written.push_str(&Value::from(name).to_string());
        written.push(':');
    }
    if in_lines {
        let spaced = if name.is_some() { " " } else { "" };
        written.push_str(spaced);
        written.push_str(&pretty(value, unit).replace('\n', &format!("{line_end}{inner}")));
    } else {
        written.push_str(&value.to_string());
    }

    let mut changed = String::with_capacity(text.len() + written.len() + 64);
    match children.last() {
        Some(last) if document.comma(last.end..close).is_none() => {
            changed.push_str(&text[..last.end]);
            changed.push(',');
            changed.push_str(&text[last.end..behind]);
        }
        _ => changed.push_str(&text[..behind]),
    }
    if in_lines {
        changed.push_str(line_end);
        changed.push_str(&inner);
    }
    changed.push_str(&written);
    if in_lines && !text[behind..close].contains('\n') {
        changed.push_str(line_end);
        changed.push_str(outer);
    }
    changed.push_str(&text[behind..]);
    changed
}

/// A value in lines.
fn pretty(value: &Value, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    match (written, String::from_utf8(bytes)) {
        (Ok(()), Ok(text)) => text,
        _ => value.to_string(),
    }
}

/// Puts a value in the place of one that stands there.
pub(super) fn replace(text: &str, span: Range<usize>, value: &Value) -> anyhow::Result<String> {
    let document = Document::parse(text)?;
    let in_lines = text[span.clone()].contains('\n');
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let outer = document.line_indent(span.start);
    let value = if in_lines {
        pretty(value, document.indent()).replace('\n', &format!("{line_end}{outer}"))
    } else {
        value.to_string()
    };
    Ok(format!("{}{value}{}", &text[..span.start], &text[span.end..]))
}

/// Takes a value out, with its name if it has one, and the comma that it leaves over. Containers that hold
/// nothing after that go too.
pub(super) fn remove(text: &str, span: Range<usize>) -> anyhow::Result<String> {
    let (mut text, mut span) = (text.to_owned(), span);
    loop {
        let document = Document::parse(&text)?;
        let Some((parent, index)) = document.parent(&span) else { return Ok(text) };
        let children = document.children(parent);
        let Some(child) = children.get(index).cloned() else { bail!("nothing stands there") };
        let parent = parent.span.clone();
        let source = document.text;
        let begin = index.checked_sub(1).and_then(|previous| children.get(previous));
        let begin = begin.map_or(parent.start + 1, |previous| previous.end);
        let mut before = source[..child.start].trim_end().len().max(begin);
        let behind = source[child.end..].trim_start_matches([' ', '\t', ',']);
        if ends_in_comment(&source[begin..before]) && !behind.starts_with(['\r', '\n']) {
            // The comment's line ends before the value.
            before += source[before..child.start].find('\n').map_or(0, |end| end + 1);
        }
        let after = children.get(index + 1).map_or(parent.end - 1, |next| next.start);
        let comma = document.comma(child.end..after).or_else(|| {
            let previous = children.get(index.checked_sub(1)?)?;
            document.comma(previous.end..child.start)
        });
        let mut cuts: Vec<Range<usize>> = comma.map(|at| at..at + 1).into_iter().collect();
        cuts.push(before..child.end);
        cuts.sort_by_key(|cut| cut.start);
        let mut changed = String::with_capacity(source.len());
        let mut at = 0;
        for cut in cuts {
            if at < cut.start {
                changed.push_str(&source[at..cut.start]);
            }
            at = at.max(cut.end);
        }
        changed.push_str(&source[at..]);
        let removed = source.len() - changed.len();
        let end = parent.end - removed;
        let is_empty = children.len() == 1;
        if is_empty && changed[parent.start + 1..end - 1].trim().is_empty() {
            changed.replace_range(parent.start + 1..end - 1, "");
            text = changed;
            span = parent.start..parent.start + 2;
            if Document::parse(&text)?.root().span == span {
                return Ok(text);
            }
            continue;
        }
        return Ok(changed);
    }
}

/// Whether what stands between two values ends in a comment that goes to the end of its line.
fn ends_in_comment(between: &str) -> bool {
    let mut rest = between;
    while let Some(start) = rest.find('/') {
        rest = &rest[start..];
        let (end, length) = if rest.starts_with("//") { ("\n", 1) } else { ("*/", 2) };
        let Some(at) = rest.get(2..).and_then(|comment| comment.find(end)) else {
            return end == "\n";
        };
        rest = &rest[2 + at + length..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn appends(text: &str, expected: &str) {
        let made = append(text, &["a", "b"], &json!({"n": 1})).unwrap();
        assert_eq!(made, expected);
        let document = Document::parse(&made).unwrap();
        let list = document.find(&["a", "b"]).unwrap();
        let span = document.items(list).pop().unwrap().span.clone();
        let left = remove(&made, span).unwrap();
        // Containers that were empty before go with what was in them.
        let hollow = |text: &str| {
            matches!(text.trim(), "" | "{}") || text.contains("{}") || text.contains("[]")
        };
        assert!(left == text || hollow(text), "{left:?}");
    }

    #[test]
    fn item_is_written_in_the_manner_of_the_file() {
        appends(
            "",
            "{\n  \"a\": {\n    \"b\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}\n",
        );
        appends(r#"{"x":1}"#, r#"{"x":1,"a":{"b":[{"n":1}]}}"#);
        appends(r#"{"a":{"b":[2]}}"#, r#"{"a":{"b":[2,{"n":1}]}}"#);
        appends(
            "{\n\t\"a\": {\n\t\t\"b\": [\n\t\t\t2 // two\n\t\t]\n\t}\n}",
            "{\n\t\"a\": {\n\t\t\"b\": [\n\t\t\t2, // two\n\t\t\t{\n\t\t\t\t\"n\": 1\n\t\t\t}\n\t\t]\n\t}\n}",
        );
        appends(
            "{\"a\": {\"b\": [2 // two\n]}}",
            "{\"a\": {\"b\": [2, // two\n  {\n    \"n\": 1\n  }\n]}}",
        );
        appends(
            "{\r\n  \"a\": { \"b\": [] }\r\n}\r\n",
            "{\r\n  \"a\": { \"b\": [\r\n    {\r\n      \"n\": 1\r\n    }\r\n  ] }\r\n}\r\n",
        );
    }

    #[track_caller]
    fn removes(text: &str, path: &[&str], expected: &str) {
        let span = Document::parse(text).unwrap().find(path).unwrap().span.clone();
        assert_eq!(remove(text, span).unwrap(), expected);
    }

    #[test]
    fn value_goes_with_its_comma_and_leaves_nothing_hollow() {
        removes(r#"{"a": 1, "b": 2, "c": 3}"#, &["a"], r#"{ "b": 2, "c": 3}"#);
        removes(r#"{"a": 1, "b": 2, "c": 3}"#, &["b"], r#"{"a": 1, "c": 3}"#);
        removes(r#"{"a": 1, "b": 2, "c": 3}"#, &["c"], r#"{"a": 1, "b": 2}"#);
        removes(r#"{"x": 1, "a": {"b": {"c": 2}}}"#, &["a", "b", "c"], r#"{"x": 1}"#);
        removes(r#"{"a": {"b": 1}}"#, &["a", "b"], "{}");
        removes("{\n  \"a\": 1, // one\n  \"b\": 2,\n}", &["b"], "{\n  \"a\": 1, // one\n}");
        removes("{ // all\n\"b\": 2 }", &["b"], "{ // all\n }");
        removes("{ \"a\": 1, // one\n\"b\": 2 }", &["b"], "{ \"a\": 1 // one\n }");
        removes("{ \"a\": 1 /* // */,\n\"b\": 2 }", &["b"], "{ \"a\": 1 /* // */ }");
        removes("{\n  \"a\": /* , */ 1,\n  \"b\": 2\n}", &["b"], "{\n  \"a\": /* , */ 1\n}");
    }

    #[track_caller]
    fn refuses(text: &str, told: &str) {
        assert_eq!(Document::parse(text).unwrap_err().to_string(), told, "{text}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        refuses("{", "in line 1 `\"` is wanted");
        refuses("{\n\"a\" 1}", "in line 2 `:` is wanted");
        refuses("[1\n2]", "in line 2 `,` is wanted");
        refuses("[,]", "in line 1 a value is wanted");
        refuses("{\"a\": 01}", "in line 1 a value is wanted");
        refuses("\n\n\"a", "in line 3 the end of the string is wanted");
        refuses("{} x", "in line 1 the end is wanted");
        refuses("{} /*", "a comment is not closed");
        refuses("", "in line 1 a value is wanted");
        let deep = "[".repeat(100_000);
        refuses(&deep, "in line 1 a value is wanted");
    }
}
