//! Writing: the output first, the metadata last.

use bytes::Bytes;
use toolstub_core::{
    EventId, Metadata, OffsetUnit, Receipt, Ref, SCHEMA_VERSION, SessionId, Synopsis,
};

use crate::record::Record;
use crate::store::Found;
use crate::{BackendError, Body, Created, Key, Original, ResultStore, StoreError, layout};

/// How often a commit is tried where the backend's answers make no sense.
const COMMIT_TRIES: usize = 3;

/// How much of what is stored is compared at a time, in bytes.
const COMPARED: u64 = 8 << 20;

/// What is to be known of an original, beside what its bytes tell.
///
/// Strings are as the host writes them; empty where it gives none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// The session that the result belongs to.
    pub session: SessionId,
    /// The event that the result belongs to, if it lives with one.
    pub event: Option<EventId>,
    /// The result's number among those of its event, from 0, if the host numbers them.
    pub event_index: Option<u64>,
    /// The id of the tool call.
    pub tool_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The message that holds the result.
    pub message_id: String,
    /// The agent on whose behalf the tool ran.
    pub agent_id: Option<String>,
    /// The user on whose behalf the tool ran.
    pub user_id: Option<String>,
    /// The peer in a conversation of several.
    pub peer_id: Option<String>,
    /// The media type that the tool declared; `text/plain` is recorded where there is none.
    pub mime_type: Option<String>,
    /// The time: RFC 3339, UTC.
    pub created_at: String,
    /// The preview's cap in force, in characters.
    pub preview_chars: u64,
    /// The synopsis of what is kept.
    pub synopsis: Synopsis,
}

impl WriteRequest {
    /// A request with nothing but what every record has.
    pub fn new(session: SessionId, synopsis: Synopsis, created_at: impl Into<String>) -> Self {
        Self {
            session,
            event: None,
            event_index: None,
            tool_id: String::new(),
            tool_name: String::new(),
            message_id: String::new(),
            agent_id: None,
            user_id: None,
            peer_id: None,
            mime_type: None,
            created_at: created_at.into(),
            preview_chars: 0,
            synopsis,
        }
    }

    fn into_metadata(self, original: &Original, reference: &Ref) -> Metadata {
        Metadata {
            schema_version: SCHEMA_VERSION,
            tool_result_id: reference.id().to_string(),
            session_id: self.session.to_string(),
            message_id: self.message_id,
            event_id: self.event.map(|event| event.to_string()),
            event_index: self.event_index,
            tool_id: self.tool_id,
            tool_name: self.tool_name,
            agent_id: self.agent_id,
            user_id: self.user_id,
            peer_id: self.peer_id,
            created_at: self.created_at,
            original_chars: original.chars(),
            original_bytes: original.size(),
            line_count: original.lines(),
            preview_chars: self.preview_chars.min(original.chars()),
            sha256: original.sha256(),
            mime_type: self.mime_type.unwrap_or_else(|| "text/plain".to_owned()),
            synopsis_kind: self.synopsis.kind,
            synopsis: self.synopsis,
            storage_uri: reference.to_string(),
            output_uri: layout::output_uri(reference),
            offset_unit: OffsetUnit::UnicodeCodePoint,
            not_stored_bytes: original.not_stored_bytes(),
        }
    }
}

impl ResultStore {
    /// Keeps an original and hands out the proof that it can be read back.
    ///
    /// The same content for the same tool call is kept once: a second write answers with the
    /// first's record and [`Receipt::existed`]. Other content under the same id is a
    /// [`StoreError::Conflict`]. An error leaves a complete result, or one that nobody sees.
    /// Any number of writers may race.
    pub async fn write(
        &self,
        original: &Original,
        request: WriteRequest,
    ) -> Result<Receipt, StoreError> {
        let id = original.id(&request.tool_id);
        let reference = Ref::in_event(request.session.clone(), request.event.clone(), id);
        let folder = layout::result(&reference);
        let output = folder.child(layout::OUTPUT);

        let found = self.look_up(&reference).await?;
        let is_ruined = !matches!(found, Found::Nothing);
        if let Some(first) = readable(found, original, &reference)? {
            if !self.holds(&output, original).await? {
                self.backend.put(&output, original.body().clone()).await?;
            }
            // The first writer may have died between making the record visible and durable.
            self.backend.flush(&folder).await?;
            return Ok(receipt(reference, first, original, true));
        }

        let metadata = request.into_metadata(original, &reference);
        let record = Record::new(metadata, original.index());
        let json = record.to_bytes(&reference)?;
        self.put_output(&output, original).await?;
        let (committed, fresh) =
            self.commit(&reference, &record, json, original, is_ruined).await?;
        // A clean-up may have taken the output for a leftover just before the commit.
        self.ensure_output(&output, original).await?;
        if !fresh {
            // Somebody else made the record visible, perhaps a moment ago: it counts once it is
            // durable.
            self.backend.flush(&folder).await?;
        }
        let existed = committed != record;
        Ok(receipt(reference, committed, original, existed))
    }

    async fn put_output(&self, key: &Key, original: &Original) -> Result<(), BackendError> {
        if let Body::Bytes(bytes) = original.body() {
            match self.backend.create(key, bytes.clone()).await {
                Ok(Created::New) => return Ok(()),
                Err(error) if error.is_lasting() => return Err(error),
                // What is there may be the leftover of a crash. The bytes are the same by the id;
                // to write them again makes them whole, and young enough for a clean-up to spare.
                Ok(Created::Existed) | Err(_) => {}
            }
        }
        self.backend.put(key, original.body().clone()).await
    }

    /// Whether what is stored is the content, byte for byte: a promise is not renewed over damage
    /// while the good bytes are at hand.
    async fn holds(&self, key: &Key, original: &Original) -> Result<bool, BackendError> {
        let size = original.size();
        match self.backend.head(key).await {
            Ok(head) if head.size == size => {}
            Ok(_) | Err(BackendError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        let mut start = 0;
        while start < size {
            let end = size.min(start + COMPARED);
            let part = original.body().read(start..end).await?;
            match self.backend.get_range(key, start..end).await {
                Ok(stored) if stored.bytes == part => start = end,
                Ok(_) | Err(BackendError::NotFound { .. } | BackendError::OutOfRange { .. }) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Puts the output again unless it is there in its full length.
    async fn ensure_output(&self, key: &Key, original: &Original) -> Result<(), BackendError> {
        for _ in 0..COMMIT_TRIES {
            match self.backend.head(key).await {
                Ok(head) if head.size == original.size() => return Ok(()),
                Ok(_) | Err(BackendError::NotFound { .. }) => {
                    self.backend.put(key, original.body().clone()).await?;
                }
                Err(error) => return Err(error),
            }
        }
        let source = "what is written there does not come back".into();
        Err(BackendError::Other { key: key.to_string(), source })
    }

    /// Makes the record visible, and returns the one that is, and whether this call certainly made
    /// it so.
    ///
    /// No answer of `create` is trusted but success: it may say that there is a record where the
    /// first of two tries of a request made it, or fail after having made it. `is_ruined` says that
    /// there was one already, which nobody could read.
    async fn commit(
        &self,
        reference: &Ref,
        record: &Record,
        json: Bytes,
        original: &Original,
        is_ruined: bool,
    ) -> Result<(Record, bool), StoreError> {
        let key = layout::result(reference).child(layout::METADATA);
        let mut failure = None;
        // How many looks in a row found a record that nobody can read. It is written again after
        // two, so that no good one is lost for one wrong answer of the backend's.
        let mut ruins = u32::from(is_ruined);
        for _ in 0..COMMIT_TRIES {
            let made = if ruins > 1 {
                self.backend.put(&key, json.clone().into()).await.map(|()| Created::New)
            } else {
                self.backend.create(&key, json.clone()).await
            };
            match made {
                Ok(Created::New) => return Ok((record.clone(), true)),
                Ok(Created::Existed) => {}
                Err(error) if error.is_lasting() => return Err(error.into()),
                Err(error) => failure = Some(error),
            }
            let found = self.look_up(reference).await?;
            ruins = if matches!(found, Found::Nothing) { 0 } else { ruins + 1 };
            if let Some(visible) = readable(found, original, reference)? {
                return Ok((visible, false));
            }
        }
        Err(failure.map_or_else(
            || StoreError::corrupt(reference, "metadata.json is there and cannot be found"),
            StoreError::from,
        ))
    }
}

/// The record that the original can be read by; `None` where there is none, or nothing that anybody
/// could read.
fn readable(
    found: Found,
    original: &Original,
    reference: &Ref,
) -> Result<Option<Record>, StoreError> {
    match found {
        Found::Record(record) => {
            check_same(&record, original, reference)?;
            // What is promised must be readable.
            Ok(record.index(reference).is_ok().then_some(*record))
        }
        Found::Nothing | Found::Worthless(_) => Ok(None),
    }
}

fn check_same(record: &Record, original: &Original, reference: &Ref) -> Result<(), StoreError> {
    if record.metadata.sha256 == original.sha256() {
        Ok(())
    } else {
        Err(StoreError::Conflict { reference: reference.to_string() })
    }
}

fn receipt(reference: Ref, record: Record, original: &Original, existed: bool) -> Receipt {
    let mut metadata = record.metadata;
    // What was left out is this content's own, even where what is kept is shared.
    metadata.not_stored_bytes = original.not_stored_bytes();
    Receipt::committed(reference, metadata, existed)
}
