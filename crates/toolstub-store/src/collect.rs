//! Clearing away what was never committed.

use std::time::{Duration, SystemTime};

use crate::{
    BackendError, Depth, Entry, Head, Key, ListOptions, Removed, ResultStore, StoreError, layout,
};

/// How many keys are asked for at once.
const PAGE: usize = 1000;

/// What to clear away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectRequest {
    /// The time by which ages are told.
    pub now: SystemTime,
    /// How long a leftover is spared, since a write may be under way.
    pub older_than: Duration,
    /// Whether to say only what would be removed.
    pub dry_run: bool,
}

impl CollectRequest {
    /// Removes what is older than a day.
    pub fn new(now: SystemTime) -> Self {
        Self { now, older_than: Duration::from_secs(24 * 60 * 60), dry_run: false }
    }

    fn is_due(&self, head: Head) -> bool {
        self.now.duration_since(head.modified).is_ok_and(|age| age >= self.older_than)
    }
}

impl ResultStore {
    /// Removes the leftovers of writes that never came to their end, in the whole store.
    ///
    /// These are outputs without a record, temporary files, and whatever else stands among the
    /// results; then empty folders. What is committed, or stands elsewhere, is not touched.
    /// A write may run at the same time: it puts back what it finds missing.
    pub async fn gc(&self, request: &CollectRequest) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        let mut after = None;
        let mut committed = String::new();
        let mut in_the_way = None;
        loop {
            let options = ListOptions {
                folder: Some(layout::sessions()),
                depth: Depth::All,
                after: after.take(),
                limit: PAGE,
            };
            let page = self.backend.list(options).await?;
            let mut due = Vec::new();
            for entry in &page.entries {
                let Entry::Object { name, head } = entry else { continue };
                match layout::role(name) {
                    // A record comes before its output.
                    layout::Role::Record { folder } => folder.clone_into(&mut committed),
                    layout::Role::Output { folder } if folder == committed => {}
                    layout::Role::Output { .. } | layout::Role::Leftover
                        if request.is_due(*head) =>
                    {
                        due.push((name, head));
                    }
                    _ => {}
                }
            }
            for (name, head) in due {
                match self.collect(name, request).await {
                    Ok(true) => {
                        removed.objects += 1;
                        removed.bytes += head.size;
                    }
                    Ok(false) => {}
                    // What is in the way of one is told when all others are done.
                    Err(StoreError::Backend(error @ BackendError::Misplaced { .. })) => {
                        in_the_way = in_the_way.or(Some(error));
                    }
                    Err(error) => return Err(error),
                }
            }
            match page.entries.last() {
                Some(last) if page.more => after = Some(last.marker()),
                _ => break,
            }
        }
        if !request.dry_run {
            self.backend.prune(&layout::sessions()).await?;
        }
        self.remove_spools(request, &mut removed).await?;
        in_the_way.map_or(Ok(removed), |error| Err(error.into()))
    }

    /// Removes a leftover, unless it is none any more; says whether it is gone, or would be.
    async fn collect(&self, name: &str, request: &CollectRequest) -> Result<bool, StoreError> {
        let Ok(key) = layout::sessions().join(name) else { return Ok(false) };
        if self.is_committed_by_now(name).await? {
            return Ok(false);
        }
        if !request.dry_run {
            if !self.is_still_due(&key, request).await? {
                return Ok(false);
            }
            self.backend.delete(&key).await?;
        }
        Ok(true)
    }

    /// Removes the spools of processes that died; they stand at the root.
    async fn remove_spools(
        &self,
        request: &CollectRequest,
        removed: &mut Removed,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let options = ListOptions { folder: None, depth: Depth::Children, after, limit: PAGE };
            let page = self.backend.list(options).await?;
            for entry in &page.entries {
                let Entry::Object { name, head } = entry else { continue };
                let Ok(key) = Key::new(name) else { continue };
                if !layout::is_temporary(name) || !request.is_due(*head) {
                    continue;
                }
                if !request.dry_run {
                    self.backend.delete(&key).await?;
                }
                removed.objects += 1;
                removed.bytes += head.size;
            }
            match page.entries.last() {
                Some(last) if page.more => after = Some(last.marker()),
                _ => return Ok(()),
            }
        }
    }

    /// Whether an object is still as old as it was listed: a writer may have written it again.
    async fn is_still_due(&self, key: &Key, request: &CollectRequest) -> Result<bool, StoreError> {
        match self.backend.head(key).await {
            Ok(head) => Ok(request.is_due(head)),
            // It is to be removed whatever it is, or is gone.
            Err(BackendError::NotFound { .. } | BackendError::Misplaced { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether an output has got its record since it was listed.
    async fn is_committed_by_now(&self, name: &str) -> Result<bool, StoreError> {
        let layout::Role::Output { folder } = layout::role(name) else { return Ok(false) };
        let Ok(record) = layout::sessions().join(&format!("{folder}/{}", layout::METADATA)) else {
            return Ok(false);
        };
        match self.backend.head(&record).await {
            Ok(_) => Ok(true),
            Err(BackendError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
