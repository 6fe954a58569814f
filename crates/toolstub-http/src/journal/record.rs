//! What a session is: its record.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolstub_core::SessionId;
use toolstub_store::{BackendError, Created, Key, ResultStore, StoreError};

use super::Journal;

/// The longest record of a session, in bytes.
const MAX_RECORD: u64 = 16 << 20;

/// What a session is. It is written once, and never changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    pub(crate) schema_version: u32,
    pub(crate) session_id: String,
    /// Chance: tells a session from an earlier one of the same id.
    pub(crate) incarnation: String,
    /// Microseconds since 1970.
    pub(crate) created_micros: u64,
    pub(crate) account_id: String,
    pub(crate) user_id: String,
    /// What the client gave for it, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_policy: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auto_commit_policy: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_extraction_config: Option<Box<RawValue>>,
}

impl Journal {
    /// The record of a session; without one there is none, or one that only has results.
    pub(super) async fn record(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let json = match self.store.backend().get(&record_key(id), MAX_RECORD).await {
            Ok(json) => json,
            Err(BackendError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let record = serde_json::from_slice(&json).map_err(|error| StoreError::Corrupt {
            reference: record_key(id).to_string(),
            damage: error.to_string(),
        })?;
        Ok(Some(record))
    }

    pub(super) async fn write_record(
        &self,
        id: &SessionId,
        record: &SessionRecord,
    ) -> Result<Created, StoreError> {
        let json = serde_json::to_vec(record).map_err(|error| StoreError::Invalid {
            field: "session",
            given: error.to_string(),
            expected: "give JSON",
        })?;
        Ok(self.store.backend().create(&record_key(id), json.into()).await?)
    }
}

pub(super) fn record_key(id: &SessionId) -> Key {
    below(id, "session.json")
}

/// The folder of a session's messages.
pub(super) fn messages(id: &SessionId) -> Key {
    below(id, "messages")
}

fn below(id: &SessionId, name: &str) -> Key {
    ResultStore::session_folder(id)
        .join(name)
        .expect("an encoded id is far shorter than a key may be")
}
