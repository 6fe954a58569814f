//! JSON as it stands in a text: read without a tree, changed without touching the rest.
//!
//! Hosts and servers write numbers, escapes, white space and fields that nobody here knows. What is not to be
//! changed is not even read: values are slices of the text, and a change replaces slices.
//!
//! ```
//! use toolstub_session::splice::{Object, Patches};
//!
//! let text = r#"{"n": 1.10, "text": "long", "more": [1, 2]}"#;
//! let object = Object::parse(text).ok_or("it is an object")?;
//! let mut patches = Patches::new(text);
//! patches.edit(&object, &[("text", Some("\"short\"".to_owned())), ("more", None)]);
//! assert_eq!(patches.apply().as_deref(), Some(r#"{"n": 1.10, "text": "short"}"#));
//! # Ok::<(), &str>(())
//! ```

use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The fields of an object, in order, as slices of its text.
#[derive(Debug)]
pub struct Object<'a> {
    raw: &'a str,
    fields: Vec<(String, &'a str)>,
}

impl<'a> Object<'a> {
    /// Reads a text that is one object; `None` for any other.
    pub fn parse(text: &'a str) -> Option<Self> {
        let raw = text.trim_matches([' ', '\t', '\r', '\n']);
        if !raw.starts_with('{') {
            return None;
        }
        let Fields::<&RawValue>(fields) = serde_json::from_str(raw).ok()?;
        let fields = fields.into_iter().map(|(name, value)| (name, value.get())).collect();
        Some(Self { raw, fields })
    }

    /// The object's own text.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// The value of a field; where a name stands twice, the last, as parsers have it.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| *value)
    }

    /// The value of a field, unless it is null.
    pub fn given(&self, name: &str) -> Option<&'a str> {
        self.get(name).filter(|value| *value != "null")
    }

    /// The object that a field is.
    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        Object::parse(self.get(name)?)
    }

    /// The string that a field is.
    pub fn text(&self, name: &str) -> Option<String> {
        text(self.get(name)?)
    }

    /// Whether a field is this string.
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.text(name).is_some_and(|text| text == word)
    }

    /// The names and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The value of the only field.
    pub fn only(&self) -> Option<&'a str> {
        match self.fields.as_slice() {
            [(_, value)] => Some(value),
            _ => None,
        }
    }
}

/// The items of an array, as slices of its text; `None` of any other value.
pub fn items(raw: &str) -> Option<Vec<&str>> {
    if !raw.starts_with('[') {
        return None;
    }
    let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// The items of an array of at most [`MAX_BLOCKS`]; `None` of a longer one, and of any other value.
///
/// What is longer is not taken apart: small items take many times their own room.
pub fn blocks(raw: &str) -> Option<Vec<&str>> {
    if !raw.starts_with('[') {
        return None;
    }
    let AtMost(items) = serde_json::from_str(raw).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// The most content blocks of a result that are looked at one by one.
pub const MAX_BLOCKS: usize = 10_000;

/// The items of an array that has no more than that.
struct AtMost<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for AtMost<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = AtMost<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = array.next_element()? {
                    if items.len() == MAX_BLOCKS {
                        return Err(A::Error::invalid_length(items.len() + 1, &self));
                    }
                    items.push(item);
                }
                Ok(AtMost(items))
            }
        }
        deserializer.deserialize_seq(Reader)
    }
}

/// The string that a value is.
pub fn text(raw: &str) -> Option<String> {
    raw.starts_with('"').then(|| serde_json::from_str(raw).ok()).flatten()
}

/// Where a slice stands in the text that it is one of.
pub fn span(text: &str, slice: &str) -> Range<usize> {
    let start = (slice.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + slice.len()
}

/// Changes of a text, each of a part that no other touches.
#[derive(Debug)]
pub struct Patches<'a> {
    text: &'a str,
    patches: Vec<(Range<usize>, String)>,
}

impl<'a> Patches<'a> {
    /// No changes yet.
    pub fn new(text: &'a str) -> Self {
        Self { text, patches: Vec::new() }
    }

    /// Puts a value's text in the place of a slice.
    pub fn replace(&mut self, slice: &str, with: String) {
        self.patches.push((span(self.text, slice), with));
    }

    /// Takes a field out of an object, each time that it stands there.
    pub fn remove(&mut self, object: &Object<'a>, name: &str) {
        self.edit(object, &[(name, None)]);
    }

    /// Takes several fields out of an object, each time that they stand there.
    pub fn remove_all(&mut self, object: &Object<'a>, names: &[&str]) {
        let changes: Vec<_> = names.iter().map(|name| (*name, None)).collect();
        self.edit(object, &changes);
    }

    /// Gives a field of an object this value, a JSON text.
    pub fn insert(&mut self, object: &Object<'a>, name: &str, value: &str) {
        self.edit(object, &[(name, Some(value.to_owned()))]);
    }

    /// Gives fields of an object other values, each a JSON text, or takes them out.
    ///
    /// A field that is not there comes behind the others, in the order of the changes, which name each
    /// field once. What is changed of one object is to be said at once: two fields beside each other
    /// share a comma.
    pub fn edit(&mut self, object: &Object<'a>, changes: &[(&str, Option<String>)]) {
        // Between one value and the next stand white space, a comma, the name and a colon.
        let begin = span(self.text, object.raw).start + 1;
        let mut from = begin;
        let mut places = Vec::with_capacity(object.fields.len());
        for (field, value) in &object.fields {
            let value = span(self.text, value);
            let start = from + self.text[from..value.start].find('"').unwrap_or(0);
            let is_removed = changes.iter().any(|(name, with)| name == field && with.is_none());
            places.push((is_removed, start..value.end));
            from = value.end;
        }
        // A comma goes with the field behind it; in front of the first that stays, with the one before.
        let mut kept_before = None;
        for (index, (is_removed, place)) in places.iter().enumerate() {
            if !is_removed {
                kept_before = Some(place.end);
                continue;
            }
            let range = match (kept_before, places.get(index + 1)) {
                (Some(end), _) => {
                    kept_before = Some(place.end);
                    end..place.end
                }
                (None, Some((_, next))) => place.start..next.start,
                (None, None) => place.clone(),
            };
            self.patches.push((range, String::new()));
        }
        let (mut added, mut is_empty) = (String::new(), kept_before.is_none());
        for (name, with) in changes {
            let Some(with) = with else { continue };
            if let Some(old) = object.get(name) {
                self.replace(old, with.clone());
                continue;
            }
            let comma = if is_empty { "" } else { "," };
            let _ = write!(added, "{comma}{}:{with}", Value::from(*name));
            is_empty = false;
        }
        if !added.is_empty() {
            let end = places.last().map_or(begin, |(_, place)| place.end);
            self.patches.push((end..end, added));
        }
    }

    /// Adds items, written one behind the other, to the end of an array that has these.
    pub fn append(&mut self, array: &str, items: &[&str], added: &str) {
        let (at, comma) = match items.last() {
            Some(last) => (span(self.text, last).end, ","),
            None => (span(self.text, array).start + 1, ""),
        };
        self.patches.push((at..at, format!("{comma}{added}")));
    }

    /// The text with the changes made; `None` where there are none.
    pub fn apply(mut self) -> Option<String> {
        if self.patches.is_empty() {
            return None;
        }
        self.patches.sort_by_key(|(range, _)| range.start);
        let added: usize = self.patches.iter().map(|(_, with)| with.len()).sum();
        let taken: usize = self.patches.iter().map(|(range, _)| range.len()).sum();
        let mut patched =
            String::with_capacity(self.text.len() + added - taken.min(self.text.len()));
        let mut at = 0;
        for (range, with) in self.patches {
            patched.push_str(&self.text[at..range.start]);
            patched.push_str(&with);
            at = range.end;
        }
        patched.push_str(&self.text[at..]);
        Some(patched)
    }
}

/// The fields of an object, in order, whatever their values are read as.
pub(crate) struct Fields<V>(pub(crate) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Fields<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
            type Value = Fields<V>;

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
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn removes(text: &str, name: &str, expected: &str) {
        let object = Object::parse(text).unwrap();
        let mut patches = Patches::new(text);
        patches.remove(&object, name);
        assert_eq!(patches.apply().as_deref().unwrap_or(text), expected);
        serde_json::from_str::<Value>(expected).unwrap();
    }

    #[test]
    fn field_goes_with_its_comma() {
        removes(r#"{"a":1, "b":1.10, "c":3}"#, "a", r#"{"b":1.10, "c":3}"#);
        removes(r#"{"a":1, "b":1.10, "c":3}"#, "b", r#"{"a":1, "c":3}"#);
        removes(r#"{"a":1, "b":1.10, "c":3}"#, "c", r#"{"a":1, "b":1.10}"#);
        removes(r#"{ "a" : 1 }"#, "a", "{  }");
        removes(r#"{"a":1,"a":2,"b":3,"a":4}"#, "a", r#"{"b":3}"#);
        removes(r#"{"b":3,"a":1,"a":2}"#, "a", r#"{"b":3}"#);
        removes(r#"{"a":1,"a":2}"#, "a", "{}");
        removes(r#"{"b":3}"#, "a", r#"{"b":3}"#);
    }

    #[test]
    fn fields_come_and_go_at_once() {
        let text = r#"{"a":1, "b":2, "c":3}"#;
        for (changes, expected) in [
            (&[("a", None), ("b", None), ("c", None), ("d", Some("4"))][..], r#"{"d":4}"#),
            (&[("c", None), ("d", Some("4"))], r#"{"a":1, "b":2,"d":4}"#),
            (&[("b", Some("9")), ("c", None), ("x", None)], r#"{"a":1, "b":9}"#),
            (&[("d", Some("4")), ("é\"", Some("5"))], r#"{"a":1, "b":2, "c":3,"d":4,"é\"":5}"#),
        ] {
            let mut patches = Patches::new(text);
            let changes: Vec<_> =
                changes.iter().map(|(name, with)| (*name, with.map(str::to_owned))).collect();
            patches.edit(&Object::parse(text).unwrap(), &changes);
            assert_eq!(patches.apply().unwrap(), expected);
        }
    }

    #[test]
    fn fields_beside_each_other_go_together() {
        let fields = ["\"a\":1", "\"b\":2", "\"c\":3", "\"d\":4"];
        for taken in 0..16_usize {
            let is_taken = |nth: usize| taken & (1 << nth) != 0;
            let names: Vec<_> =
                (0..4).filter(|nth| is_taken(*nth)).map(|nth| &fields[nth][1..2]).collect();
            let left: Vec<_> =
                (0..4).filter(|nth| !is_taken(*nth)).map(|nth| fields[nth]).collect();
            let text = format!("{{{}}}", fields.join(","));
            let object = Object::parse(&text).unwrap();
            let mut patches = Patches::new(&text);
            patches.remove_all(&object, &names);
            let changed = patches.apply().unwrap_or_else(|| text.clone());
            assert_eq!(changed, format!("{{{}}}", left.join(",")), "{names:?}");
        }
    }

    #[test]
    fn rest_of_a_text_stays_as_it_is() {
        let text = r#" {"n":123456789012345678901234567890, "list" : [ 1.10 ],"o":{ },"e":[]} "#;
        let object = Object::parse(text).unwrap();
        let mut patches = Patches::new(text);
        let list = object.get("list").unwrap();
        patches.append(list, &items(list).unwrap(), "2,3");
        let empty = object.get("e").unwrap();
        patches.append(empty, &items(empty).unwrap(), "4");
        patches.edit(&object.object("o").unwrap(), &[("x", Some("{}".to_owned()))]);
        patches.edit(&object, &[("y", Some("5".to_owned()))]);
        let expected = r#" {"n":123456789012345678901234567890, "list" : [ 1.10,2,3 ],"o":{"x":{} },"e":[4],"y":5} "#;
        assert_eq!(patches.apply().unwrap(), expected);
    }

    #[test]
    fn blocks_are_not_counted_without_end() {
        let array = |count: usize| format!("[{}]", vec!["{}"; count].join(", "));
        assert_eq!(blocks(&array(MAX_BLOCKS)).unwrap().len(), MAX_BLOCKS);
        assert!(blocks(&array(MAX_BLOCKS + 1)).is_none());
        assert!(blocks("{}").is_none() && blocks("[1").is_none());
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"a":{}1{},"b":"x"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Object::parse(&deep).unwrap().text("b").as_deref(), Some("x"));
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for text in ["", "[]", "1", "{", r#"{"a":1} x"#, "null"] {
            assert!(Object::parse(text).is_none(), "{text}");
        }
    }
}
