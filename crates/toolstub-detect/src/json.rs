//! JSON: one value, JSON Lines, or values one after another.

use crate::census::Census;
use crate::distinct::Count;
use crate::media_type::MediaType;

/// The evidence of JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Json {
    /// The outline of the first value.
    pub root: Node,
    /// The first scalars below the root in source order: path (`a.b[0].c`) and value as written.
    pub scalars: Vec<(String, String)>,
    /// Characters after the first value, white space at their ends removed.
    pub trailing_chars: u64,
    /// How many whole values there are, if the content is several values and nothing else.
    pub values: Option<u64>,
    /// Whether the last of several values is cut off.
    pub cut_off: bool,
    /// Top-level keys beyond the distinct ones.
    pub duplicate_keys: u64,
}

/// The outline of a value, two levels deep.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An object: its distinct keys, and the first of them with their values.
    Object(Count, Vec<(String, Node)>),
    /// An array: its length, and the first items.
    Array(u64, Vec<Node>),
    /// A string.
    String,
    /// A number; `NaN` and `Infinity` too.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

pub(crate) fn scan(_content: &[u8], _census: &Census, _declared: MediaType) -> Option<Json> {
    None
}
