//! Removing results, events and sessions.

use futures::{StreamExt as _, TryStreamExt as _};
use toolstub_core::{EventId, Ref, SessionId};

use crate::list::CONCURRENCY;
use crate::{Depth, Entry, Key, ListOptions, ResultStore, StoreError, layout};

/// How many keys are asked for at once.
const PAGE: usize = 1000;
/// How often a folder is gone over, should writers add to it meanwhile.
const PASSES: usize = 3;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// Results that could be read until then.
    pub results: u64,
    /// Objects, whatever they were.
    pub objects: u64,
    /// The objects' bytes.
    pub bytes: u64,
}

impl ResultStore {
    /// Removes a result.
    pub async fn delete(&self, reference: &Ref) -> Result<(), StoreError> {
        match self.record(reference).await {
            Ok(None) => return Err(StoreError::not_found(reference)),
            // A damaged record is no reason to keep it.
            Ok(Some(_)) | Err(StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        let folder = layout::result(reference);
        self.backend.delete(&folder.child(layout::METADATA)).await?;
        self.erase(&folder).await?;
        Ok(())
    }

    /// Removes everything of a session. A session that has nothing is no error.
    pub async fn purge(&self, session: &SessionId) -> Result<Removed, StoreError> {
        self.erase(&layout::session(session)).await
    }

    /// Removes everything of an event. An event that has nothing is no error.
    pub async fn purge_event(
        &self,
        session: &SessionId,
        event: &EventId,
    ) -> Result<Removed, StoreError> {
        self.erase(&layout::event(session, event)).await
    }

    /// Removes whatever a folder holds, records first, and the folder.
    async fn erase(&self, folder: &Key) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        for pass in 0..=PASSES {
            // A writer may have committed what was just taken for a leftover. Where it is not to be
            // gone over again, at least no record may stay whose output is gone.
            let records_only = pass == PASSES;
            if !self.erase_once(folder, records_only, &mut removed).await? {
                self.backend.prune(folder).await?;
                return Ok(removed);
            }
        }
        Err(StoreError::Busy { folder: folder.to_string() })
    }

    /// Goes over a folder once; says whether there was anything.
    async fn erase_once(
        &self,
        folder: &Key,
        records_only: bool,
        removed: &mut Removed,
    ) -> Result<bool, StoreError> {
        let mut after = None;
        let mut found = false;
        loop {
            let options = ListOptions {
                folder: Some(folder.clone()),
                depth: Depth::All,
                after: after.clone(),
                limit: PAGE,
            };
            let page = self.backend.list(options).await?;
            let Some(last) = page.entries.last() else { return Ok(found) };
            found = true;
            after = Some(last.marker());

            let (mut records, mut others) = (Vec::new(), Vec::new());
            for entry in page.entries {
                let Entry::Object { name, head } = entry else { continue };
                let is_record = name.rsplit('/').next() == Some(layout::METADATA);
                if records_only && !is_record {
                    continue;
                }
                removed.objects += 1;
                removed.bytes += head.size;
                removed.results += u64::from(is_record);
                if let Ok(key) = folder.join(&name) {
                    if is_record { records.push(key) } else { others.push(key) }
                }
            }
            // Nobody may see a record whose output is gone.
            self.delete_all(records).await?;
            self.delete_all(others).await?;
            if !page.more {
                return Ok(found);
            }
        }
    }

    pub(crate) async fn delete_all(&self, keys: Vec<Key>) -> Result<(), StoreError> {
        futures::stream::iter(keys)
            .map(|key| async move { self.backend.delete(&key).await })
            .buffer_unordered(CONCURRENCY)
            .try_collect::<()>()
            .await?;
        Ok(())
    }
}
