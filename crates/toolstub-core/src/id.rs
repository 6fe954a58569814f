//! Ids of sessions, events, users and tool results, and how they become parts of a key.

use std::fmt;

use crate::Sha256;

/// The longest encoded form of a session or event id, in bytes.
const MAX_ENCODED: usize = 200;
/// The longest id of a tool result, in bytes.
const MAX_RESULT_ID: usize = 128;
/// How much of a tool call's id goes into the id of its result, in bytes.
const MAX_TOOL_ID: usize = 64;

/// An id, ref or digest that cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// An id is empty.
    #[error("the {what} id is empty; give at least one character")]
    Empty {
        /// Which id.
        what: &'static str,
    },
    /// An id holds a control character.
    #[error("the {what} id holds the control character U+{code_point:04X}; leave it out")]
    ControlCharacter {
        /// Which id.
        what: &'static str,
        /// The character.
        code_point: u32,
    },
    /// An id is too long once it is percent-encoded.
    #[error("the {what} id takes {bytes} bytes once percent-encoded; at most {max} are accepted")]
    TooLong {
        /// Which id.
        what: &'static str,
        /// Its encoded length.
        bytes: usize,
        /// The longest accepted length.
        max: usize,
    },
    /// A tool result's id has a form that no store hands out.
    #[error(
        "`{given}` is not a tool result id; it holds 1 to 128 of A-Z a-z 0-9 _ . - and is neither `.` nor `..`"
    )]
    ToolResult {
        /// The start of what was given, without control characters.
        given: String,
    },
    /// A string is not a ref.
    #[error(
        "`{given}` is not a ref; a ref reads toolstub://session/SESSION/tool-results/ID or toolstub://session/SESSION/events/EVENT/tool-results/ID"
    )]
    Reference {
        /// The start of what was given, without control characters.
        given: String,
    },
    /// A string is not a SHA-256 digest.
    #[error("`{given}` is not a SHA-256 digest of 64 lower-case hexadecimal digits")]
    Digest {
        /// The start of what was given.
        given: String,
    },
}

/// The start of a bad value, fit for an error message.
pub(crate) fn shown(given: &str) -> String {
    crate::text::clean(given, 80)
}

fn encode(what: &'static str, raw: &str) -> Result<String, IdError> {
    if raw.is_empty() {
        return Err(IdError::Empty { what });
    }
    if let Some(control) = raw.chars().find(|c| c.is_control()) {
        return Err(IdError::ControlCharacter { what, code_point: u32::from(control) });
    }
    let last = raw.len() - 1;
    let mut encoded = String::with_capacity(raw.len());
    for (index, byte) in raw.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-')
            || (byte == b'.' && index != 0 && index != last);
        if plain {
            encoded.push(char::from(byte));
        } else {
            const HEX: &[u8; 16] = b"0123456789ABCDEF";
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    if encoded.len() > MAX_ENCODED {
        return Err(IdError::TooLong { what, bytes: encoded.len(), max: MAX_ENCODED });
    }
    Ok(encoded)
}

/// Undoes [`encode`]; `None` for anything that [`encode`] does not write.
fn decode(what: &'static str, encoded: &str) -> Option<String> {
    let hex = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            other => other,
        });
    }
    let raw = String::from_utf8(bytes).ok()?;
    (encode(what, &raw).ok()? == encoded).then_some(raw)
}

macro_rules! host_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            raw: String,
            encoded: String,
        }

        impl $name {
            /// Takes an id as the host writes it.
            ///
            /// Refused are empty ids, control characters, and ids over 200 bytes once encoded.
            pub fn new(raw: impl Into<String>) -> Result<Self, IdError> {
                let raw = raw.into();
                let encoded = encode($what, &raw)?;
                Ok(Self { raw, encoded })
            }

            /// Reads the percent-encoded form back; `None` unless it is exactly what
            /// [`encoded`](Self::encoded) writes, so that one id has one form.
            pub fn from_encoded(encoded: &str) -> Option<Self> {
                let raw = decode($what, encoded)?;
                Some(Self { raw, encoded: encoded.to_owned() })
            }

            /// The id as the host writes it.
            pub fn as_str(&self) -> &str {
                &self.raw
            }

            /// The percent-encoded form that stands in keys and refs.
            pub fn encoded(&self) -> &str {
                &self.encoded
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.raw)
            }
        }
    };
}

host_id!(
    /// A session: the conversation that a tool result belongs to.
    SessionId,
    "session"
);
host_id!(
    /// An event: a unit of the host's memory; what is stored for it goes with it.
    EventId,
    "event"
);
host_id!(
    /// A user: whose session it is, where a host's refs say so.
    UserId,
    "user"
);

/// The id of a tool result, unique within its session or event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolResultId(String);

impl ToolResultId {
    /// Makes the id of a content: `tr_{tool call id}_{32 hex}`, or `tr_{32 hex}` without a call id.
    ///
    /// The same content for the same call has the same id.
    pub fn for_content(tool_id: Option<&str>, sha256: &Sha256) -> Self {
        let hex = sha256.hex_prefix(32);
        match tool_id {
            Some(tool_id) if !tool_id.is_empty() => {
                let safe: String = tool_id
                    .bytes()
                    .take(MAX_TOOL_ID)
                    .map(|byte| if is_result_id_byte(byte) { char::from(byte) } else { '_' })
                    .collect();
                Self(format!("tr_{safe}_{hex}"))
            }
            _ => Self(format!("tr_{hex}")),
        }
    }

    /// Takes an id that somebody hands in; refused unless a key can safely be built from it.
    pub fn new(id: &str) -> Result<Self, IdError> {
        let safe = !id.is_empty()
            && id.len() <= MAX_RESULT_ID
            && id.bytes().all(is_result_id_byte)
            && id != "."
            && id != "..";
        if safe { Ok(Self(id.to_owned())) } else { Err(IdError::ToolResult { given: shown(id) }) }
    }

    /// The id as it stands in keys and refs.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn is_result_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn encodes(raw: &str, encoded: &str) {
        let id = SessionId::new(raw).unwrap();
        assert_eq!(id.encoded(), encoded);
        assert_eq!(SessionId::from_encoded(encoded), Some(id));
    }

    #[test]
    fn host_ids_are_percent_encoded_per_byte() {
        encodes("s1", "s1");
        encodes("agent:main:7", "agent%3Amain%3A7");
        encodes("a.b", "a.b");
        encodes(".", "%2E");
        encodes("..", "%2E%2E");
        encodes("../x", "%2E.%2Fx");
        encodes("a.", "a%2E");
        encodes("é", "%C3%A9");
        encodes("%3A", "%253A");
    }

    #[test]
    fn only_the_canonical_encoding_is_read_back() {
        for other in ["%2e", "%3a", ".", "a%62", "%zz", "%", "a b", "%C3", ""] {
            assert_eq!(SessionId::from_encoded(other), None, "{other}");
        }
    }

    #[test]
    fn unusable_host_ids_are_refused() {
        assert_eq!(SessionId::new(""), Err(IdError::Empty { what: "session" }));
        assert_eq!(
            EventId::new("a\nb"),
            Err(IdError::ControlCharacter { what: "event", code_point: 10 })
        );
        assert!(SessionId::new("x".repeat(200)).is_ok());
        assert!(matches!(SessionId::new("x".repeat(201)), Err(IdError::TooLong { .. })));
        assert!(matches!(SessionId::new("é".repeat(34)), Err(IdError::TooLong { .. })));
    }

    #[test]
    fn result_ids_come_from_the_call_and_the_content() {
        let sha256 = Sha256::from_bytes([0x01; 32]);
        let hex = "01".repeat(16);
        let id = |tool_id: Option<&str>| ToolResultId::for_content(tool_id, &sha256).to_string();
        assert_eq!(id(None), format!("tr_{hex}"));
        assert_eq!(id(Some("")), format!("tr_{hex}"));
        assert_eq!(id(Some("../é x")), format!("tr_..____x_{hex}"));
        assert_eq!(id(Some(&"a".repeat(99))), format!("tr_{}_{hex}", "a".repeat(64)));
        assert!(ToolResultId::new(&id(Some(&"a".repeat(99)))).is_ok());
    }

    #[test]
    fn unsafe_result_ids_are_refused() {
        for bad in ["", ".", "..", "a/b", "a\\b", "a#1", "a%2e", "é", "a\0", &"a".repeat(129)] {
            assert!(ToolResultId::new(bad).is_err(), "{bad}");
        }
    }
}
