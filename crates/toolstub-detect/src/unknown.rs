//! Content that cannot be told apart.

use crate::census::Census;

/// The evidence of `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// What stood in the way of a kind.
    pub why: Why,
}

/// Why a content is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// There are no bytes.
    Empty,
    /// A NUL stands in it.
    Nul,
    /// More than 5 % of the first characters are control characters.
    ControlCharacters,
    /// More than 10 % of its bytes are not UTF-8.
    NotUtf8,
    /// It was declared as JSON, but no JSON value stands at its start.
    DeclaredJson,
    /// It was declared as XML, but is not one well-formed document.
    DeclaredXml,
}

impl Unknown {
    /// Whether the content is unknown before any kind is tried: empty or binary-like.
    pub fn before_any_scan(census: &Census) -> Option<Self> {
        let (controls, seen) = census.controls;
        let why = if census.bytes == 0 {
            Why::Empty
        } else if census.has_nul {
            Why::Nul
        } else if controls * 20 > seen {
            Why::ControlCharacters
        } else if census.ill_formed_bytes * 10 > census.bytes {
            Why::NotUtf8
        } else {
            return None;
        };
        Some(Self { why })
    }
}
