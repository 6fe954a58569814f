//! YAML: a mapping or a sequence, in one or several documents.

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

pub(crate) fn scan(_content: &[u8], _census: &Census) -> Option<Yaml> {
    None
}
