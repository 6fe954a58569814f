//! The keys of objects.

use std::fmt;

/// The longest key, in bytes.
const MAX_KEY: usize = 1024;

/// The key of an object or a folder: parts separated by `/`.
///
/// No part is empty, `.` or `..`, and none holds a control character or a backslash, so that a
/// key is safe as a relative path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

/// A string that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a key; a key is at most 1024 bytes of parts separated by `/`, none of them empty, `.` or `..`, without control characters and backslashes"
)]
pub struct InvalidKey {
    /// The start of what was given, without control characters.
    pub given: String,
}

impl Key {
    /// Takes a string that is a key.
    pub fn new(key: impl Into<String>) -> Result<Self, InvalidKey> {
        let key = key.into();
        let safe = key.len() <= MAX_KEY && key.split('/').all(is_part);
        if safe {
            Ok(Self(key))
        } else {
            Err(InvalidKey { given: toolstub_core::text::clean(&key, 80) })
        }
    }

    /// The key as it is.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key below this one, by a name relative to it.
    pub fn join(&self, name: &str) -> Result<Self, InvalidKey> {
        Self::new(format!("{self}/{name}"))
    }

    /// The key below this one, by a name that is known to be parts of a key.
    pub(crate) fn child(&self, name: &str) -> Self {
        debug_assert!(name.split('/').all(is_part), "{name}");
        Self(format!("{self}/{name}"))
    }

    /// The key of a folder at the root, by a name that is known to be a part of a key.
    pub(crate) fn top(name: &'static str) -> Self {
        debug_assert!(is_part(name), "{name}");
        Self(name.to_owned())
    }
}

fn is_part(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.chars().any(|c| c.is_control() || c == '\\')
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_safe_relative_paths() {
        for good in ["a", "a/b", "agent%3Amain", "output.txt#1", "a b", "é", "..."] {
            assert!(Key::new(good).is_ok(), "{good}");
        }
        let long = "x".repeat(MAX_KEY + 1);
        for bad in ["", "/a", "a/", "a//b", ".", "a/../b", "a\\b", "a\nb", "a\0", &long] {
            assert!(Key::new(bad).is_err(), "{bad}");
        }
    }
}
