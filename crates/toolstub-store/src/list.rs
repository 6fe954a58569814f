//! Listing the results of a session.

use futures::StreamExt as _;
use serde::Serialize;
use toolstub_core::{EventId, Kind, Metadata, Ref, SessionId, ToolResultId};

use crate::read::at_least;
use crate::record::Record;
use crate::walk::Walk;
use crate::{BackendError, ResultStore, StoreError};

/// How many records are read at once.
pub(crate) const CONCURRENCY: usize = 16;
/// The most records of one page.
const MAX_LIMIT: u64 = 1000;

/// Which results to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// Only results of the tool with exactly this name.
    pub tool_name: Option<String>,
    /// Only results of this kind.
    pub kind: Option<Kind>,
    /// Only results of this event.
    pub event: Option<EventId>,
    /// The most records to return; more than 1,000 are not.
    pub limit: i128,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self { tool_name: None, kind: None, event: None, limit: 50, cursor: None }
    }
}

/// A page of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The records: the session's by id, then those of its events, event by event.
    pub records: Vec<Metadata>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
    /// How many folders were left out because their record could not be read.
    pub unreadable: u64,
}

impl Listed {
    /// The answer for an interface.
    pub fn into_answer(self) -> ListAnswer {
        ListAnswer { tool_results: self.records, next_cursor: self.next_cursor }
    }
}

/// A listing's answer on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListAnswer {
    /// The records.
    pub tool_results: Vec<Metadata>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

impl ListRequest {
    fn accepts(&self, metadata: &Metadata) -> bool {
        self.tool_name.as_ref().is_none_or(|name| *name == metadata.tool_name)
            && self.kind.is_none_or(|kind| kind == metadata.synopsis_kind)
    }
}

impl ResultStore {
    /// Lists the results of a session, those of its events included.
    ///
    /// Filters come before the limit. A folder whose record cannot be read is left out.
    pub async fn list(
        &self,
        session: &SessionId,
        request: &ListRequest,
    ) -> Result<Listed, StoreError> {
        let limit = at_least(1, "limit", request.limit, "give 1 to 1000")?.min(MAX_LIMIT) as usize;
        let mut walk = match &request.event {
            Some(event) => Walk::event(self, session.clone(), event.clone()),
            None => Walk::session(self, session.clone()),
        };
        if let Some(cursor) = &request.cursor {
            let (event, id) = read_cursor(cursor, request.event.as_ref())?;
            walk.resume(event, &id);
        }

        let mut listed = Listed::default();
        let mut last = None;
        while let Some(page) = walk.next().await? {
            let mut records = futures::stream::iter(page)
                .map(|reference| self.record_of(reference))
                .buffered(CONCURRENCY);
            while let Some((reference, record)) = records.next().await {
                match record {
                    Ok(Some(record)) if request.accepts(&record.metadata) => {
                        if listed.records.len() == limit {
                            listed.next_cursor = last.as_ref().map(cursor_behind);
                            return Ok(listed);
                        }
                        listed.records.push(record.metadata);
                        last = Some(reference);
                    }
                    Ok(_) => {}
                    Err(error) if concerns_one_result(&error) => listed.unreadable += 1,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(listed)
    }

    /// Whether a session has any result that can be read.
    pub async fn has_results(&self, session: &SessionId) -> Result<bool, StoreError> {
        let request = ListRequest { limit: 1, ..ListRequest::default() };
        Ok(!self.list(session, &request).await?.records.is_empty())
    }

    pub(crate) async fn record_of(
        &self,
        reference: Ref,
    ) -> (Ref, Result<Option<Record>, StoreError>) {
        let record = self.record(&reference).await;
        (reference, record)
    }
}

/// Whether an error says that one result is damaged, and nothing of the others.
pub(crate) fn concerns_one_result(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt { .. }
            | StoreError::Backend(
                BackendError::Misplaced { .. } | BackendError::PermissionDenied { .. }
            )
    )
}

fn cursor_behind(reference: &Ref) -> String {
    match reference.event() {
        Some(event) => format!("{}/{}", event.encoded(), reference.id()),
        None => reference.id().to_string(),
    }
}

fn read_cursor(
    cursor: &str,
    only: Option<&EventId>,
) -> Result<(Option<EventId>, ToolResultId), StoreError> {
    let (event, id) = match cursor.split_once('/') {
        Some((event, id)) => (Some(EventId::from_encoded(event)), id),
        None => (None, cursor),
    };
    let read = match (event, ToolResultId::new(id)) {
        (None, Ok(id)) if only.is_none() => Some((None, id)),
        (Some(Some(event)), Ok(id)) if only.is_none_or(|only| *only == event) => {
            Some((Some(event), id))
        }
        _ => None,
    };
    read.ok_or_else(|| StoreError::Invalid {
        field: "cursor",
        given: format!("`{}`", toolstub_core::text::clean(cursor, 80)),
        expected: "give the next_cursor of an earlier page of the same listing",
    })
}
