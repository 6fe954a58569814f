//! The closed set of kinds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a tool result is. The set is closed: hosts match on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One JSON value, JSON Lines or concatenated JSON values.
    Json,
    /// A table delimited by commas or semicolons.
    Csv,
    /// A table delimited by tabs.
    Tsv,
    /// One or more YAML documents.
    Yaml,
    /// One well-formed XML document.
    Xml,
    /// Source code.
    Code,
    /// Anything else that people read: logs, listings, prose, diffs.
    Text,
    /// Nothing that can be told apart: empty, binary, or not what its media type declares.
    Unknown,
}

impl Kind {
    /// Every kind, in the order in which they are documented.
    pub const ALL: [Self; 8] = [
        Self::Json,
        Self::Csv,
        Self::Tsv,
        Self::Yaml,
        Self::Xml,
        Self::Code,
        Self::Text,
        Self::Unknown,
    ];

    /// The kind's name as it stands in stubs and metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Yaml => "yaml",
            Self::Xml => "xml",
            Self::Code => "code",
            Self::Text => "text",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind; the kinds are json, csv, tsv, yaml, xml, code, text, unknown")]
pub struct UnknownKind(pub String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| UnknownKind(crate::text::clean(word, 80)))
    }
}
