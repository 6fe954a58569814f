//! The record kept beside an original, as it stands in `metadata.json`.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use toolstub_core::{Metadata, Ref};

use crate::index::BlockIndex;
use crate::{StoreError, layout};

/// The largest record that is read, in bytes.
pub(crate) const MAX_RECORD: u64 = 4 << 20;

/// The metadata with the block index, and what another version may have written besides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    #[serde(flatten)]
    pub(crate) metadata: Metadata,
    #[serde(default)]
    blocks: String,
    #[serde(flatten)]
    unknown: serde_json::Map<String, serde_json::Value>,
}

impl Record {
    pub(crate) fn new(metadata: Metadata, index: &BlockIndex) -> Self {
        Self { metadata, blocks: index.pack(), unknown: serde_json::Map::new() }
    }

    /// The record's bytes.
    pub(crate) fn to_bytes(&self, reference: &Ref) -> Result<Bytes, StoreError> {
        // A map with string keys always serializes.
        let json = serde_json::to_vec(self)
            .map_err(|error| StoreError::corrupt(reference, error.to_string()))?;
        let bytes = json.len() as u64;
        if bytes > MAX_RECORD {
            let reference = reference.to_string();
            return Err(StoreError::RecordTooLarge { reference, bytes, max_bytes: MAX_RECORD });
        }
        Ok(json.into())
    }

    /// Reads a record and checks that it is that of `reference`.
    pub(crate) fn from_bytes(reference: &Ref, json: &[u8]) -> Result<Self, StoreError> {
        let mut record: Self = serde_json::from_slice(json).map_err(|error| {
            StoreError::corrupt(reference, format!("metadata.json does not parse ({error})"))
        })?;
        let metadata = &record.metadata;
        let event = reference.event().map(toolstub_core::EventId::as_str);
        let same = metadata.tool_result_id == reference.id().as_str()
            && metadata.session_id == reference.session().as_str()
            && metadata.event_id.as_deref() == event;
        if same {
            // Where a result lies follows from its ref, whatever its record says.
            record.metadata.storage_uri = reference.to_string();
            record.metadata.output_uri = layout::output_uri(reference);
            Ok(record)
        } else {
            Err(StoreError::corrupt(reference, "metadata.json is that of another result"))
        }
    }

    /// The index, checked against the counts.
    pub(crate) fn index(&self, reference: &Ref) -> Result<BlockIndex, StoreError> {
        let Metadata { original_bytes, original_chars, line_count, .. } = self.metadata;
        BlockIndex::unpack(&self.blocks, original_bytes, original_chars)
            .filter(|index| {
                let line_feeds = index.line_feeds();
                let open_line = line_count.checked_sub(line_feeds);
                matches!(open_line, Some(0 | 1)) && line_count <= original_bytes
            })
            .ok_or_else(|| {
                StoreError::corrupt(reference, "the counts and blocks of metadata.json disagree")
            })
    }
}
