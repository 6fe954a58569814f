//! What is said of JSON.

use toolstub_core::text::clean;
use toolstub_detect::json::{Json, Node};

use crate::draft::{Draft, Items, Line, List, MAX_NAME, more, name};

/// How many keys of an object inside the root are named.
const INNER_KEYS: usize = 5;

pub(crate) fn draft(json: &Json) -> Draft {
    let type_name = type_name(&json.root);
    let mut draft = Draft {
        title: format!("JSON {type_name}"),
        summary: vec![format!("top-level type: {type_name}").into()],
        structure: vec![format!("shape: {}", shape(&json.root, 2)).into()],
        ..Draft::default()
    };
    match &json.root {
        Node::Object(count, members) => {
            draft.summary.push(keys("top-level keys", members, members.len(), count.at_least));
            let lines = members.iter().map(|(key, value)| member(key, value)).collect();
            draft.parts = Items::new(lines, count.at_least);
        }
        Node::Array(length, items) => {
            draft.summary.push(format!("array length: {length}").into());
            if let Some(first) = items.first() {
                draft.structure.push(format!("first item type: {}", self::type_name(first)).into());
            }
        }
        _ => {}
    }
    let scalar = |(path, value): &(String, String)| -> Line {
        format!("{}: {}", name(path), clean(value, MAX_NAME)).into()
    };
    draft.notable = Items::new(json.scalars.iter().map(scalar).collect(), 0);
    if json.trailing_chars > 0 {
        let line = format!("trailing_chars_after_first_json_value: {}", json.trailing_chars);
        draft.remarks.push(line.into());
    }
    if let Some(values) = json.values {
        draft.remarks.push(format!("json_values: {values}").into());
    }
    if json.cut_off {
        draft.remarks.push("last_json_value: cut off, not counted".into());
    }
    if json.duplicate_keys > 0 {
        draft.remarks.push(format!("duplicate_keys: {}", json.duplicate_keys).into());
    }
    draft
}

fn member(key: &str, value: &Node) -> Line {
    let key = name(key);
    match value {
        Node::Object(count, members) => {
            keys(&format!("{key}: object keys"), members, INNER_KEYS, count.at_least)
        }
        Node::Array(length, _) => format!("{key}: array length: {length}").into(),
        scalar => format!("{key}: {}", type_name(scalar)).into(),
    }
}

fn keys(label: &str, members: &[(String, Node)], cap: usize, total: u64) -> Line {
    let names = members.iter().take(cap).map(|(key, _)| name(key)).collect();
    Line::List(List::new(label, names, total))
}

fn type_name(node: &Node) -> &'static str {
    match node {
        Node::Object(..) => "object",
        Node::Array(..) => "array",
        Node::String => "string",
        Node::Number => "number",
        Node::Boolean => "boolean",
        Node::Null => "null",
    }
}

/// The shape of a value, `depth` levels of it; deeper ones are their type's name.
fn shape(node: &Node, depth: usize) -> String {
    match node {
        Node::Object(count, members) if depth > 0 => {
            let names: Vec<_> = members.iter().map(|(key, _)| name(key)).collect();
            let left_out = count.at_least.saturating_sub(names.len() as u64);
            let mut list = names.join(", ");
            if left_out > 0 {
                list = format!("{list} {}", more(left_out));
            }
            let gap = if list.is_empty() { "" } else { ": " };
            format!("object(keys={count}{gap}{list})")
        }
        Node::Array(length, items) if depth > 0 => {
            let shapes: Vec<_> = items.iter().map(|item| shape(item, depth - 1)).collect();
            format!("array(len={length}, sample=[{}])", shapes.join(", "))
        }
        other => type_name(other).to_owned(),
    }
}
