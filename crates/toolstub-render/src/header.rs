//! The header: what a host needs to know of an original, one field a line.

use toolstub_core::text::clean;
use toolstub_core::{Kind, Reason, Receipt, Ref, Sha256};

use crate::frame::{self, Style};

/// The longest tool name that a header shows, in characters.
const MAX_TOOL_NAME: usize = 200;

/// The header of a stub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    tool_name: String,
    kind: Kind,
    original_chars: u64,
    preview_chars: u64,
    reference: Option<Ref>,
    sha256: Option<Sha256>,
    reason: Option<Reason>,
    failed: bool,
    not_stored_bytes: u64,
}

impl Header {
    /// The header of a stub whose original is not stored, because nobody asked for it.
    ///
    /// `preview_chars` is shown as at most `original_chars` and at least 0.
    pub fn unstored(tool_name: &str, kind: Kind, original_chars: u64, preview_chars: i64) -> Self {
        Self {
            tool_name: tool_name.to_owned(),
            kind,
            original_chars,
            preview_chars: original_chars.min(preview_chars.max(0).unsigned_abs()),
            reference: None,
            sha256: None,
            reason: None,
            failed: false,
            not_stored_bytes: 0,
        }
    }

    /// The header of a stub whose original is stored.
    pub fn stored(receipt: &Receipt, reason: Reason) -> Self {
        let metadata = receipt.metadata();
        Self {
            tool_name: metadata.tool_name.clone(),
            kind: metadata.synopsis_kind,
            original_chars: metadata.original_chars,
            preview_chars: metadata.preview_chars.min(metadata.original_chars),
            reference: Some(receipt.reference().clone()),
            sha256: Some(metadata.sha256),
            reason: Some(reason),
            failed: false,
            not_stored_bytes: metadata.not_stored_bytes,
        }
    }

    /// Adds the digest of the original.
    #[must_use]
    pub fn with_sha256(mut self, sha256: Sha256) -> Self {
        self.sha256 = Some(sha256);
        self
    }

    /// States how many bytes of the original a hard cap will leave out.
    #[must_use]
    pub fn with_not_stored_bytes(mut self, bytes: u64) -> Self {
        self.not_stored_bytes = bytes;
        self
    }

    /// The header as it will be once the original is stored: to be measured, never to be shown.
    pub(crate) fn once_stored(&self, reference: &Ref, reason: Reason) -> Self {
        let mut header = self.clone();
        header.reference = Some(reference.clone());
        header.sha256 = Some(Sha256::from_bytes([0; 32]));
        header.reason = Some(reason);
        header
    }

    /// States that the original should have been stored for `reason`, and could not be.
    ///
    /// There is no ref from then on.
    #[must_use]
    pub fn failed(mut self, reason: Reason) -> Self {
        self.reference = None;
        self.reason = Some(reason);
        self.failed = true;
        self
    }

    /// The ref, if there is one.
    pub fn reference(&self) -> Option<&Ref> {
        self.reference.as_ref()
    }

    pub(crate) fn original_chars(&self) -> u64 {
        self.original_chars
    }

    /// Writes the header; `uri` is the ref, if there is one.
    pub(crate) fn write(&self, text: &mut String, style: Style, uri: Option<&str>) {
        text.push_str(&frame::first_line(style, self.failed, self.not_stored_bytes));
        let mut field = |name: &str, value: &str| {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push('\n');
        };
        let tool_name = clean(&self.tool_name, MAX_TOOL_NAME);
        let tool_name = if tool_name.is_empty() { frame::NAMELESS_TOOL } else { &tool_name };
        field(frame::TOOL_NAME, tool_name);
        field(frame::KIND, self.kind.as_str());
        field(frame::ORIGINAL_CHARS, &self.original_chars.to_string());
        field(frame::PREVIEW_CHARS, &self.preview_chars.to_string());
        if let Some(uri) = uri {
            field(frame::REF, uri);
        }
        if let Some(sha256) = &self.sha256 {
            field(frame::SHA256, &sha256.hex_prefix(16));
        }
        if let Some(reason) = self.reason {
            let suffix = if self.failed { frame::FAILED_SUFFIX } else { "" };
            field(frame::REASON, &format!("{reason}{suffix}"));
        }
        if self.not_stored_bytes > 0 {
            field(frame::NOT_STORED_BYTES, &self.not_stored_bytes.to_string());
        }
    }
}
