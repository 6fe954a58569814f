//! Results that belong to an event: numbered, and readable before the event itself is saved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolstub_core::text::clean;
use toolstub_core::{EventId, Metadata, OffsetUnit, Ref};
use toolstub_store::{ListRequest, Piece, ReadRequest, Removed};

use crate::{Session, SessionError};

/// How much one read of an event's result returns at most, in bytes.
pub(crate) const MAX_EVENT_READ: i128 = 64 << 10;
/// The longest tool name in a line of state, in characters.
const MAX_TOOL_NAME: usize = 200;

/// What leads back to a result without a ref.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolResultHandle {
    /// A result by its event and its number among the event's results.
    Event {
        /// The event.
        event_id: EventId,
        /// The number, from 0.
        index: u64,
    },
}

/// A handle on the wire.
#[derive(Debug, Serialize, Deserialize)]
struct EventHandle {
    event_id: String,
    #[serde(default)]
    index: u64,
}

impl Serialize for ToolResultHandle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self::Event { event_id, index } = self;
        EventHandle { event_id: event_id.to_string(), index: *index }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolResultHandle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EventHandle { event_id, index } = EventHandle::deserialize(deserializer)?;
        let event_id = EventId::new(event_id).map_err(serde::de::Error::custom)?;
        Ok(Self::Event { event_id, index })
    }
}

/// A piece of an event's result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventPiece {
    /// The ref of the result.
    pub reference: Ref,
    /// What was read, in bytes.
    pub piece: Piece,
    /// The line that states the tool, the range, the total, and whether that was the end.
    pub state: String,
}

impl EventPiece {
    /// The answer for a model: the line of state, then the content.
    pub fn to_text(&self) -> String {
        format!("{}\n{}", self.state, self.piece.content())
    }
}

impl Session {
    /// Reads a piece of an event's result, in bytes: at most 64 KiB, which a limit of 0 or less means
    /// too. A character is never cut.
    pub async fn read_event(
        &self,
        handle: &ToolResultHandle,
        offset: i128,
        limit: i128,
    ) -> Result<EventPiece, SessionError> {
        let metadata = self.find(handle).await?;
        let reference: Ref =
            metadata.storage_uri.parse().map_err(toolstub_store::StoreError::from)?;
        let limit = if limit <= 0 { MAX_EVENT_READ } else { limit.min(MAX_EVENT_READ) };
        let request =
            ReadRequest { offset, limit, unit: OffsetUnit::Byte, ..ReadRequest::default() };
        let piece = self.store().read(&reference, &request).await?;
        let state = state(&metadata.tool_name, &piece);
        Ok(EventPiece { reference, piece, state })
    }

    /// The ref that a handle stands for.
    pub async fn resolve(&self, handle: &ToolResultHandle) -> Result<Ref, SessionError> {
        let metadata = self.find(handle).await?;
        Ok(metadata.storage_uri.parse().map_err(toolstub_store::StoreError::from)?)
    }

    /// Removes what is stored for an event. One that has nothing is success.
    pub async fn purge_event(&self, event: &EventId) -> Result<Removed, SessionError> {
        Ok(self.store().purge_event(self.id(), event).await?)
    }

    async fn find(&self, handle: &ToolResultHandle) -> Result<Metadata, SessionError> {
        let ToolResultHandle::Event { event_id, index } = handle;
        let mut numbered = self.numbered(event_id).await?;
        let count = numbered.len();
        numbered.remove(index).ok_or_else(|| SessionError::NoSuchIndex {
            event_id: event_id.clone(),
            index: *index,
            count,
        })
    }

    /// The results of an event by their numbers.
    pub(crate) async fn numbered(
        &self,
        event: &EventId,
    ) -> Result<BTreeMap<u64, Metadata>, SessionError> {
        let mut request =
            ListRequest { event: Some(event.clone()), limit: 1000, ..ListRequest::default() };
        let mut records = Vec::new();
        loop {
            let page = self.store().list(self.id(), &request).await?;
            records.extend(page.records);
            match page.next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => return Ok(number(records)),
            }
        }
    }
}

/// Gives each result the number that is recorded for it. One that has none, or one that another
/// process gave away at the same time, gets the first that is free; older ones come first.
fn number(mut records: Vec<Metadata>) -> BTreeMap<u64, Metadata> {
    records.sort_by(|a, b| {
        (&a.created_at, &a.tool_result_id).cmp(&(&b.created_at, &b.tool_result_id))
    });
    let mut numbered = BTreeMap::new();
    let mut rest = Vec::new();
    for record in records {
        match record.event_index {
            Some(index) if !numbered.contains_key(&index) => {
                numbered.insert(index, record);
            }
            _ => rest.push(record),
        }
    }
    let mut free = 0;
    for record in rest {
        while numbered.contains_key(&free) {
            free += 1;
        }
        numbered.insert(free, record);
    }
    numbered
}

fn state(tool_name: &str, piece: &Piece) -> String {
    let tool_name = clean(tool_name, MAX_TOOL_NAME);
    let tool_name = if tool_name.is_empty() { "tool" } else { &tool_name };
    let (start, end, total) = (piece.offset, piece.next_offset, piece.total_bytes);
    let rest = if piece.has_more {
        format!("more follows, go on at offset {end}")
    } else {
        "that was the end".to_owned()
    };
    format!("[tool result of {tool_name}: bytes {start}-{end} of {total}; {rest}]")
}
