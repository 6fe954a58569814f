//! The record kept beside an original, as it stands in `metadata.json`.
//!
//! Outputs are checked by the checksums of their blocks, and the record by its own: a CRC-32C of what
//! it says, so that one wrong bit in a count, a name or the index is damage and not an answer.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use toolstub_core::{Metadata, Ref, SCHEMA_VERSION};

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
    /// The checksum, in eight hexadecimal digits; `None` in records of versions that had none.
    #[serde(rename = "record_crc32c", default, skip_serializing_if = "Option::is_none")]
    crc32c: Option<String>,
    #[serde(flatten)]
    unknown: serde_json::Map<String, serde_json::Value>,
}

/// What the checksum covers: the fields of [`Metadata`] in their order, then the blocks, as compact
/// JSON. Fields that are not known are not covered, so that another version may add some.
#[derive(Serialize)]
struct Covered<'a> {
    #[serde(flatten)]
    metadata: &'a Metadata,
    blocks: &'a str,
}

impl Record {
    pub(crate) fn new(metadata: Metadata, index: &BlockIndex) -> Self {
        let mut record =
            Self { metadata, blocks: index.pack(), crc32c: None, unknown: serde_json::Map::new() };
        record.crc32c = record.checksum();
        record
    }

    fn checksum(&self) -> Option<String> {
        let covered = Covered { metadata: &self.metadata, blocks: &self.blocks };
        // Strings and numbers always serialize.
        let json = serde_json::to_vec(&covered).ok()?;
        Some(format!("{:08x}", crc32c::crc32c(&json)))
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
    pub(crate) fn from_bytes(reference: &Ref, json: &[u8]) -> Result<Self, Unreadable> {
        let damaged = |damage: &str| Unreadable {
            error: StoreError::corrupt(reference, damage),
            is_worthless: true,
        };
        let mut record: Self = serde_json::from_slice(json).map_err(|error| Unreadable {
            is_worthless: !is_of_a_later_version(json),
            ..damaged(&format!("metadata.json does not parse ({error})"))
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
        }
        if record.crc32c.is_some() && record.crc32c != record.checksum() {
            // A later version may cover what this one does not know.
            let version = record.metadata.schema_version;
            if version > SCHEMA_VERSION {
                let later = format!(
                    "metadata.json is of schema version {version}, later than {SCHEMA_VERSION}, or damaged"
                );
                return Err(Unreadable { is_worthless: false, ..damaged(&later) });
            }
            return Err(damaged("the checksum of metadata.json is wrong"));
        }
        if !same {
            let another = damaged("metadata.json is that of another result");
            return Err(Unreadable { is_worthless: false, ..another });
        }
        Ok(record)
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

/// A record that cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// What is wrong with it.
    pub(crate) error: StoreError,
    /// Whether it says nothing that anybody could still read, so that a write of the content may
    /// put a good one in its place.
    pub(crate) is_worthless: bool,
}

/// Whether what does not parse is the record of a version to come.
fn is_of_a_later_version(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let version = serde_json::from_slice::<Version>(json);
    version.is_ok_and(|record| record.schema_version > SCHEMA_VERSION)
}
