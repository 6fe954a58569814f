//! Going over the results of a session in a fixed order, a page at a time.

use std::collections::VecDeque;

use toolstub_core::{EventId, Ref, SessionId, ToolResultId};

use crate::{Depth, Entry, Key, ListOptions, ResultStore, StoreError, layout};

/// How many folders are asked for at once.
const PAGE: usize = 256;

/// The folders of a session's results: those of the session by id, then event by event.
///
/// A folder is here whether or not a result is committed in it.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    store: &'a ResultStore,
    session: SessionId,
    /// The scopes to go over, the first of them under way.
    scopes: VecDeque<Option<EventId>>,
    /// The last folder seen in the scope under way.
    after: Option<String>,
    /// Whether more events are to be asked for, and the last one seen.
    more_events: bool,
    events_after: Option<String>,
}

impl<'a> Walk<'a> {
    /// Over a whole session.
    pub(crate) fn session(store: &'a ResultStore, session: SessionId) -> Self {
        let scopes = VecDeque::from([None]);
        Self { store, session, scopes, after: None, more_events: true, events_after: None }
    }

    /// Over the results of one event.
    pub(crate) fn event(store: &'a ResultStore, session: SessionId, event: EventId) -> Self {
        let scopes = VecDeque::from([Some(event)]);
        Self { store, session, scopes, after: None, more_events: false, events_after: None }
    }

    /// Goes on behind a result of an earlier walk.
    pub(crate) fn resume(&mut self, event: Option<EventId>, id: &ToolResultId) {
        if let Some(event) = &event {
            self.events_after = Some(format!("{}/", event.encoded()));
        }
        self.scopes = VecDeque::from([event]);
        self.after = Some(format!("{id}/"));
    }

    /// The next folders; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Ref>>, StoreError> {
        loop {
            let Some(event) = self.scopes.front().cloned() else {
                if !self.next_events().await? {
                    return Ok(None);
                }
                continue;
            };
            let folder = layout::results(&self.session, event.as_ref());
            let (names, more) = self.store.folders(folder, &mut self.after).await?;
            if !more {
                self.scopes.pop_front();
                self.after = None;
            }
            let ids = names.iter().filter_map(|name| ToolResultId::new(name).ok());
            let refs: Vec<_> =
                ids.map(|id| Ref::in_event(self.session.clone(), event.clone(), id)).collect();
            if !refs.is_empty() {
                return Ok(Some(refs));
            }
        }
    }

    /// Asks for more events; says whether there may be any.
    async fn next_events(&mut self) -> Result<bool, StoreError> {
        if !self.more_events {
            return Ok(false);
        }
        let folder = layout::events(&self.session);
        let (names, more) = self.store.folders(folder, &mut self.events_after).await?;
        self.scopes.extend(names.iter().filter_map(|name| EventId::from_encoded(name)).map(Some));
        self.more_events = more;
        Ok(more || !self.scopes.is_empty())
    }
}

impl ResultStore {
    /// A page of the folders in a folder, and whether more may come. `after` moves on.
    pub(crate) async fn folders(
        &self,
        folder: Key,
        after: &mut Option<String>,
    ) -> Result<(Vec<String>, bool), StoreError> {
        let options = ListOptions {
            folder: Some(folder),
            depth: Depth::Children,
            after: after.clone(),
            limit: PAGE,
        };
        let page = self.backend.list(options).await?;
        let more = page.more && !page.entries.is_empty();
        if let Some(last) = page.entries.last() {
            *after = Some(last.marker());
        }
        let folders = page.entries.into_iter().filter_map(|entry| match entry {
            Entry::Folder { name } => Some(name),
            Entry::Object { .. } => None,
        });
        Ok((folders.collect(), more))
    }
}
