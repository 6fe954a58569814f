//! Reading a stub back.

use toolstub_core::{Kind, Ref, RefForm};

use crate::frame;

/// The header of a stub, as read from its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stub {
    /// The tool's name as shown.
    pub tool_name: String,
    /// The kind.
    pub kind: Kind,
    /// The original's length in code points.
    pub original_chars: u64,
    /// The cap of the preview.
    pub preview_chars: u64,
    /// The ref, if the original can be read.
    pub reference: Option<Ref>,
    /// The form that the ref is written in, if it is one that stubs have.
    pub refs: Option<RefForm>,
    /// The first 16 hexadecimal digits of the original's SHA-256.
    pub sha256: Option<String>,
    /// Why the stub was made, with its suffix where storing failed.
    pub reason: Option<String>,
    /// How many bytes of the original were not kept.
    pub not_stored_bytes: u64,
}

/// A text that does not begin with a stub's header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAStub {
    /// The first line is not a stub's.
    #[error("the text does not begin with a stub's first line")]
    FirstLine,
    /// A field is missing, out of order or has no valid value.
    #[error("the header has no valid `{field}` where it should stand")]
    Field {
        /// The field's name.
        field: &'static str,
    },
}

impl Stub {
    /// Reads the header of a stub.
    ///
    /// Whether a message *is* a stub is a matter of the message's fields, never of its text: any
    /// tool can return a text that reads like a stub.
    pub fn parse(text: &str) -> Result<Self, NotAStub> {
        let mut lines = text.split('\n').peekable();
        if !lines.next().is_some_and(frame::is_first_line) {
            return Err(NotAStub::FirstLine);
        }
        let mut optional = |field: &'static str| {
            let value = lines.peek()?.strip_prefix(field)?.strip_prefix(": ")?;
            lines.next();
            Some(value)
        };
        let required = |field, value: Option<&str>| match value {
            Some(value) => Ok(value.to_owned()),
            None => Err(NotAStub::Field { field }),
        };
        let tool_name = required(frame::TOOL_NAME, optional(frame::TOOL_NAME))?;
        let kind = required(frame::KIND, optional(frame::KIND))?;
        let original_chars = required(frame::ORIGINAL_CHARS, optional(frame::ORIGINAL_CHARS))?;
        let preview_chars = required(frame::PREVIEW_CHARS, optional(frame::PREVIEW_CHARS))?;
        let reference = optional(frame::REF).map(str::to_owned);
        let sha256 = optional(frame::SHA256).map(str::to_owned);
        let reason = optional(frame::REASON).map(str::to_owned);
        let not_stored_bytes = optional(frame::NOT_STORED_BYTES).unwrap_or("0").to_owned();
        let number = |field, value: &str| value.parse().map_err(|_| NotAStub::Field { field });
        Ok(Self {
            tool_name,
            kind: kind.parse().map_err(|_| NotAStub::Field { field: frame::KIND })?,
            original_chars: number(frame::ORIGINAL_CHARS, &original_chars)?,
            preview_chars: number(frame::PREVIEW_CHARS, &preview_chars)?,
            refs: reference.as_deref().and_then(RefForm::of),
            reference: reference
                .map(|uri| uri.parse().map_err(|_| NotAStub::Field { field: frame::REF }))
                .transpose()?,
            sha256,
            reason,
            not_stored_bytes: number(frame::NOT_STORED_BYTES, &not_stored_bytes)?,
        })
    }
}
