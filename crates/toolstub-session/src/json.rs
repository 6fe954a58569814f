//! Messages as JSON, in a text or as a value: where something stands in them, and changes that do for both.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::splice::{self, Fields, Patches, span};

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
            serde_json::from_str::<Fields<&'a RawValue>>(self.raw()).map(|fields| fields.0)
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

    /// The items of an array that has not too many; nothing of any other value.
    pub(crate) fn blocks(&self) -> Vec<Self> {
        if splice::blocks(self.raw()).is_some() { self.items() } else { Vec::new() }
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
        let start = span(text, edit.object.raw()).start;
        objects.entry(start).or_default().push(edit);
    }
    let mut patches = Patches::new(text);
    for edits in objects.values() {
        let object = edits.first().and_then(|edit| splice::Object::parse(edit.object.raw()));
        let change = |edit: &&Edit<'_>| {
            let with = edit.value.as_ref().map(Value::to_string);
            (edit.name.clone(), with)
        };
        let changes: Vec<_> = edits.iter().map(change).collect();
        let changes: Vec<_> =
            changes.iter().map(|(name, with)| (name.as_str(), with.clone())).collect();
        if let Some(object) = object {
            patches.edit(&object, &changes);
        }
    }
    patches.apply().unwrap_or_else(|| text.to_owned())
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
