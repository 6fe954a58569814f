//! The typed synopsis.

use serde::{Deserialize, Serialize};

use crate::Kind;

/// What a stub says about its original. The field names are the wire names.
///
/// Every string is one line of cleaned text, except `sample`, whose lines are separated by LF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Synopsis {
    /// The kind that was detected.
    pub kind: Kind,
    /// A heading of a few words.
    pub title: String,
    /// The most important facts.
    pub summary: Vec<String>,
    /// How the content is built: keys, columns, counts.
    pub structure: Vec<String>,
    /// Single things worth a line: scalars, symbols.
    pub notable_items: Vec<String>,
    /// An excerpt of content that could not be typed; empty for every other kind.
    pub sample: String,
}
