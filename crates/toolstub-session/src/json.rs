//! JSON as it stands in a text: found without a tree, changed without touching the rest.
//!
//! Messages come from hosts that may write numbers, escapes and white space their own way, and
//! fields that nobody here knows. So values are found where they stand, and a change replaces
//! their text and nothing else.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// A JSON value, where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    raw: &'a RawValue,
    path: Vec<Step>,
}

impl<'a> Node<'a> {
    /// Takes a text that is one JSON value.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        Ok(Self { raw: serde_json::from_str(text)?, path: Vec::new() })
    }

    /// The value's text.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw.get()
    }

    /// The fields of an object, in order; nothing of any other value.
    ///
    /// Where a name stands twice, both are there, and [`Object::get`] takes the last.
    pub(crate) fn object(&self) -> Object<'a> {
        let fields = if self.raw().starts_with('{') {
            serde_json::from_str::<Fields<'a>>(self.raw()).map(|fields| fields.0)
        } else {
            Ok(Vec::new())
        };
        let field = |(name, raw): (String, &'a RawValue)| {
            let mut path = self.path.clone();
            path.push(Step::Key(name.clone()));
            (name, Node { raw, path })
        };
        Object { fields: fields.unwrap_or_default().into_iter().map(field).collect() }
    }

    /// The items of an array; nothing of any other value.
    pub(crate) fn items(&self) -> Vec<Self> {
        let items = if self.raw().starts_with('[') {
            serde_json::from_str::<Vec<&'a RawValue>>(self.raw())
        } else {
            Ok(Vec::new())
        };
        let item = |(index, raw)| {
            let mut path = self.path.clone();
            path.push(Step::Index(index));
            Node { raw, path }
        };
        items.unwrap_or_default().into_iter().enumerate().map(item).collect()
    }

    /// The string that the value is.
    pub(crate) fn text(&self) -> Option<String> {
        self.raw().starts_with('"').then(|| serde_json::from_str(self.raw()).ok()).flatten()
    }

    /// Where the value stands in `text`, of which it is a part.
    fn span(&self, text: &str) -> Range<usize> {
        let start = self.raw().as_ptr() as usize - text.as_ptr() as usize;
        start..start + self.raw().len()
    }
}

/// The fields of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    pub(crate) fields: Vec<(String, Node<'a>)>,
}

impl<'a> Object<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.fields.iter().rev().find(|(field, _)| field == name).map(|(_, node)| node)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.text()
    }

    pub(crate) fn is(&self, name: &str, word: &str) -> bool {
        self.text(name).is_some_and(|text| text == word)
    }
}

/// A change of one field of an object.
#[derive(Debug, Clone)]
pub(crate) struct Edit<'a> {
    pub(crate) object: Node<'a>,
    pub(crate) name: String,
    /// What the field is to be; `None` takes it away.
    pub(crate) value: Option<Value>,
}

/// The text with the changes made.
pub(crate) fn edit_text(text: &str, edits: &[Edit<'_>]) -> String {
    let mut objects: BTreeMap<usize, Vec<&Edit<'_>>> = BTreeMap::new();
    for edit in edits {
        objects.entry(edit.object.span(text).start).or_default().push(edit);
    }
    let mut patches = Vec::new();
    for edits in objects.values() {
        patch_object(text, edits, &mut patches);
    }
    patches.sort_by_key(|(range, _)| range.start);
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    for (range, replacement) in patches {
        edited.push_str(&text[at..range.start]);
        edited.push_str(&replacement);
        at = range.end;
    }
    edited.push_str(&text[at..]);
    edited
}

/// A field, where it stands: its name begins at `start`, its value ends at `end`.
struct Place {
    start: usize,
    end: usize,
    removed: bool,
}

/// Notes what the changes of one object are in its text.
fn patch_object(text: &str, edits: &[&Edit<'_>], patches: &mut Vec<(Range<usize>, String)>) {
    let Some(Edit { object, .. }) = edits.first() else { return };
    let fields = object.object().fields;
    let begin = object.span(text).start + 1;
    let mut places: Vec<Place> = Vec::with_capacity(fields.len());
    for (name, value) in &fields {
        let span = value.span(text);
        // Between one value and the next stand white space, a comma, the name and a colon.
        let from = places.last().map_or(begin, |place| place.end);
        let start = from + text[from..span.start].find('"').unwrap_or(0);
        let removed = edits.iter().any(|edit| edit.value.is_none() && edit.name == *name);
        places.push(Place { start, end: span.end, removed });
    }
    let mut added = String::new();
    let empty = places.iter().all(|place| place.removed);
    for edit in edits {
        let Some(value) = &edit.value else { continue };
        if let Some((_, old)) = fields.iter().rev().find(|(name, _)| *name == edit.name) {
            patches.push((old.span(text), value.to_string()));
            continue;
        }
        let comma = if empty && added.is_empty() { "" } else { "," };
        let _ = write!(added, "{comma}{}:{value}", Value::from(edit.name.as_str()));
    }
    // A comma goes with the field behind it; with the fields in front of the first that stays, it
    // is the one behind them.
    let first = places.iter().position(|place| !place.removed);
    let front = match first {
        Some(0) => None,
        Some(first) => Some(places[0].start..places[first].start),
        None => places.first().zip(places.last()).map(|(first, last)| first.start..last.end),
    };
    patches.extend(front.map(|range| (range, String::new())));
    for pair in places.windows(2).skip(first.unwrap_or(places.len())) {
        if pair[1].removed {
            patches.push((pair[0].end..pair[1].end, String::new()));
        }
    }
    if !added.is_empty() {
        let end = places.last().map_or(begin, |place| place.end);
        patches.push((end..end, added));
    }
}

/// The value with the changes made.
pub(crate) fn edit_value(value: &mut Value, edits: &[Edit<'_>]) {
    for edit in edits {
        let mut at = Some(&mut *value);
        for step in &edit.object.path {
            at = at.and_then(|value| match step {
                Step::Key(name) => value.get_mut(name),
                Step::Index(index) => value.get_mut(*index),
            });
        }
        let Some(Value::Object(object)) = at else { continue };
        match &edit.value {
            Some(new) => drop(object.insert(edit.name.clone(), new.clone())),
            None => drop(object.shift_remove(&edit.name)),
        }
    }
}

struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn edits(text: &str, changes: &[(&str, Option<Value>)], expected: &str) {
        let object = Node::parse(text).unwrap();
        let edits: Vec<_> = changes
            .iter()
            .map(|(name, value)| Edit {
                object: object.clone(),
                name: (*name).to_owned(),
                value: value.clone(),
            })
            .collect();
        let edited = edit_text(text, &edits);
        assert_eq!(edited, expected);
        let mut value: Value = serde_json::from_str(text).unwrap();
        edit_value(&mut value, &edits);
        assert_eq!(serde_json::from_str::<Value>(&edited).unwrap(), value);
    }

    #[test]
    fn change_touches_nothing_but_its_value() {
        let text = r#" { "a" : 1.10, "b":"x\u00e9" ,"c": 123456789012345678901234567890 } "#;
        edits(text, &[("b", Some(json!("y\n")))], &text.replace(r#""x\u00e9""#, r#""y\n""#));
        let other = text.replace("890 }", r#"890,"d":[1] }"#);
        edits(text, &[("d", Some(json!([1])))], &other);
        edits("{ }", &[("a", Some(json!(1))), ("b", Some(json!(2)))], r#"{"a":1,"b":2 }"#);
    }

    #[test]
    fn field_goes_with_its_comma() {
        let text = r#"{"a":1, "b":2, "c":3}"#;
        edits(text, &[("a", None)], r#"{"b":2, "c":3}"#);
        edits(text, &[("b", None)], r#"{"a":1, "c":3}"#);
        edits(text, &[("c", None)], r#"{"a":1, "b":2}"#);
        edits(text, &[("a", None), ("b", None)], r#"{"c":3}"#);
        edits(text, &[("b", None), ("c", None)], r#"{"a":1}"#);
        edits(text, &[("a", None), ("b", None), ("c", None)], "{}");
        edits(text, &[("a", None), ("b", None), ("c", None), ("d", Some(json!(4)))], r#"{"d":4}"#);
        edits(text, &[("c", None), ("d", Some(json!(4)))], r#"{"a":1, "b":2,"d":4}"#);
        edits(text, &[("b", Some(json!(9))), ("c", None), ("x", None)], r#"{"a":1, "b":9}"#);
    }

    proptest! {
        /// Changing the text is changing the value, order of fields included.
        #[test]
        fn text_and_value_change_alike(
            before in prop::collection::vec(0..9u8, 0..7),
            changes in prop::collection::vec((0..9u8, prop::option::of(0..3u8)), 0..7),
            space in prop::sample::select(vec!["", " ", "\n\t"]),
        ) {
            let mut seen = Vec::new();
            let mut new = |name: &u8| (!seen.contains(name)).then(|| seen.push(*name)).is_some();
            let fields = before.iter().filter(|name| new(name)).map(|name| {
                format!("{space}\"{name}\"{space}:{space}[\"{name}\\\"\"]{space}")
            });
            let text = format!("[0,{{{}}}]", fields.collect::<Vec<_>>().join(","));
            let root = Node::parse(&text).unwrap();
            let object = root.items()[1].clone();
            let mut seen = Vec::new();
            let mut new = |name: u8| (!seen.contains(&name)).then(|| seen.push(name)).is_some();
            let edits: Vec<_> = changes
                .iter()
                .filter(|(name, _)| new(*name))
                .map(|(name, value)| Edit {
                    object: object.clone(),
                    name: name.to_string(),
                    value: value.map(Value::from),
                })
                .collect();
            let edited: Value = serde_json::from_str(&edit_text(&text, &edits)).unwrap();
            let mut value = serde_json::from_str(&text).unwrap();
            edit_value(&mut value, &edits);
            prop_assert_eq!(edited.to_string(), value.to_string());
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"a":{}1{},"b":"x"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let object = Node::parse(&deep).unwrap();
        assert_eq!(object.object().text("b").as_deref(), Some("x"));
        let edit = Edit { object, name: "b".to_owned(), value: Some(json!("y")) };
        assert!(edit_text(&deep, &[edit]).ends_with(r#","b":"y"}"#));
    }
}
