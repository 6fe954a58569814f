//! What is known of a stored original.

use serde::{Deserialize, Serialize};

use crate::{Kind, OffsetUnit, Ref, RefForm, Sha256, Synopsis};

/// The version of the metadata's schema that this crate writes.
pub const SCHEMA_VERSION: u32 = 1;

/// The record kept beside an original. The field names are the wire names.
///
/// Counts describe what is kept; `not_stored_bytes` counts what a hard cap left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The version of this record's schema.
    pub schema_version: u32,
    /// The id of the tool result, unique within its session or event.
    pub tool_result_id: String,
    /// The session, as the host names it.
    pub session_id: String,
    /// The message that held the result; empty if the host gave none.
    #[serde(default)]
    pub message_id: String,
    /// The event that the result belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// The result's number among those of its event, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_index: Option<u64>,
    /// The id of the tool call; empty if the host gave none.
    #[serde(default)]
    pub tool_id: String,
    /// The tool's name; empty if the host gave none.
    #[serde(default)]
    pub tool_name: String,
    /// The agent on whose behalf the tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The user on whose behalf the tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The peer in a conversation of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_id: Option<String>,
    /// When the record was made: RFC 3339, UTC.
    pub created_at: String,
    /// The original's length in code points.
    pub original_chars: u64,
    /// The original's length in bytes.
    pub original_bytes: u64,
    /// The original's lines.
    pub line_count: u64,
    /// The preview's cap in force when the stub was made, at most `original_chars`.
    pub preview_chars: u64,
    /// The SHA-256 of the original.
    pub sha256: Sha256,
    /// The media type that the tool declared, or `text/plain`.
    pub mime_type: String,
    /// The synopsis' kind, for filters.
    pub synopsis_kind: Kind,
    /// The synopsis.
    pub synopsis: Synopsis,
    /// The ref.
    pub storage_uri: String,
    /// The ref of the output's bytes: `storage_uri` followed by `/output.txt`.
    pub output_uri: String,
    /// The unit in which `original_chars` counts.
    pub offset_unit: OffsetUnit,
    /// How many bytes over the hard cap were not kept.
    #[serde(default)]
    pub not_stored_bytes: u64,
}

impl Metadata {
    /// The record with its refs in another form, to be shown; what is stored keeps its own.
    ///
    /// ```
    /// # use toolstub_core::{Metadata, RefForm, UserId};
    /// # fn show(metadata: Metadata) -> Result<(), Box<dyn std::error::Error>> {
    /// let refs = RefForm::Viking { user: UserId::new("ann")? };
    /// let shown = metadata.with_refs(&refs);
    /// assert!(shown.output_uri.starts_with("viking://user/ann/sessions/"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_refs(mut self, refs: &RefForm) -> Self {
        if let Ok(reference) = self.storage_uri.parse::<Ref>() {
            let uri = refs.uri(&reference);
            if let Some(output) = self.output_uri.strip_prefix(&self.storage_uri) {
                self.output_uri = format!("{uri}{output}");
            }
            self.storage_uri = uri;
        }
        self
    }
}
