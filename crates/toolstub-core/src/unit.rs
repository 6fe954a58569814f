//! What an offset counts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The unit of an offset and a limit. Offsets are 0-based in every unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffsetUnit {
    /// Unicode code points; a maximal ill-formed sequence of bytes counts as one.
    #[default]
    UnicodeCodePoint,
    /// Bytes of the original.
    Byte,
    /// Lines: each ends at LF, and a last one without LF counts.
    Line,
}

impl OffsetUnit {
    /// The unit's name as it stands in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnicodeCodePoint => "unicode_code_point",
            Self::Byte => "byte",
            Self::Line => "line",
        }
    }
}

impl fmt::Display for OffsetUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no offset unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an offset unit; the units are code-point (unicode_code_point), byte, line")]
pub struct UnknownUnit(pub String);

impl FromStr for OffsetUnit {
    type Err = UnknownUnit;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "unicode_code_point" | "code-point" | "code_point" => Ok(Self::UnicodeCodePoint),
            "byte" => Ok(Self::Byte),
            "line" => Ok(Self::Line),
            other => Err(UnknownUnit(crate::text::clean(other, 80))),
        }
    }
}
