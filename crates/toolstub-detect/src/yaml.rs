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

use crate::census::Census;
use crate::content::{Content, window};
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

/// Up to which size a content is read as YAML, in bytes: the parser needs it whole, and about as much
/// again.
const MAX_BYTES: u64 = 16 << 20;
/// In how much of its start the first line must stand that says something.
const HEAD_BYTES: usize = 64 << 10;

/// Reads `content` as YAML if it looks like YAML and every document is a mapping or a sequence.
pub(crate) fn scan<C: Content>(content: &mut C, census: &Census) -> Result<Option<Yaml>, C::Error> {
    let bom = b"\xEF\xBB\xBF";
    let start = if census.head.starts_with(bom) { bom.len() } else { 0 };
    if census.bytes > MAX_BYTES
        || !first_line::may_begin(&window(content, start as u64, HEAD_BYTES)?)
    {
        return Ok(None);
    }
    let bytes = window(content, start as u64, census.bytes as usize)?;
    Ok(outline::read(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests;
