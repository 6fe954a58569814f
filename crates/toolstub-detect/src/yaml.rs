//! YAML: a mapping or a sequence, in one or several documents.
//!
//! Three steps, each cheaper than the next: the first line that says something must be able to
//! begin YAML; one pass of granit-parser's events must reach the end without a fault; and what the
//! events showed must look like data rather than like a report with colons, which is YAML by the
//! letter. The events are counted as they come: no tree is built and no alias is followed, so that
//! neither depth nor an alias bomb costs anything. Scalars are borrowed, a key that never ends is
//! given up after 1,024 characters, and nesting is bounded: memory stays below the input's length.
//!
//! Tried before: `serde_yaml` and every other loader builds the tree; `saphyr-parser` refuses a
//! closing bracket at its key's indentation, which people write, and holds a whole flow collection
//! that might be a key; `libyaml-safer` panics on some malformed input.

mod evidence;
mod first_line;
mod outline;
mod schema;

use std::borrow::Cow;

use crate::census::Census;
use crate::distinct::Count;

/// The evidence of YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Yaml {
    /// How many documents there are that are not empty.
    pub documents: u64,
    /// The first document that is not empty.
    pub root: Root,
}

/// The top level of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// A mapping: its distinct keys, and the first 30 as written, with the kind of their values.
    Mapping(Count, Vec<(String, ValueKind)>),
    /// A sequence of so many items.
    Sequence(u64),
}

/// The kind of a YAML value, by the core schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A mapping.
    Object,
    /// A sequence.
    Array,
    /// A string.
    String,
    /// An integer or a float.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`, `~` or nothing.
    Null,
}

/// Reads `content` as YAML if it looks like YAML and every document is a mapping or a sequence.
pub(crate) fn scan(content: &[u8], census: &Census) -> Option<Yaml> {
    let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
    if !first_line::may_begin(content) {
        return None;
    }
    let text = match std::str::from_utf8(content) {
        Ok(text) if census.is_utf8() => Cow::Borrowed(text),
        _ => String::from_utf8_lossy(content),
    };
    outline::read(&text)
}

#[cfg(test)]
mod tests;
