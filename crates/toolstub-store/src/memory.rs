//! A backend that keeps everything in memory.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Backend, BackendError, Body, Created, Depth, Entry, Head, Key, ListOptions, ListPage, Ranged,
    SpoolWriter,
};

/// Keeps objects in memory, as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryBackend {
    objects: RwLock<BTreeMap<String, Object>>,
}

#[derive(Debug, Clone)]
struct Object {
    body: Bytes,
    modified: SystemTime,
}

impl Object {
    fn new(body: Bytes) -> Self {
        Self { body, modified: SystemTime::now() }
    }

    fn head(&self) -> Head {
        Head { size: self.body.len() as u64, modified: self.modified }
    }
}

impl MemoryBackend {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    // No panic can happen while the lock is held, so what a poisoned lock guards is whole.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Object>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Object>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self, key: &Key) -> Result<Object, BackendError> {
        let object = self.read().get(key.as_str()).cloned();
        object.ok_or_else(|| BackendError::NotFound { key: key.as_str().to_owned() })
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        let body = body.bytes().await?;
        self.write().insert(key.as_str().to_owned(), Object::new(body));
        Ok(())
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        Ok(SpoolWriter::in_memory())
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        let mut objects = self.write();
        if objects.contains_key(key.as_str()) {
            return Ok(Created::Existed);
        }
        objects.insert(key.as_str().to_owned(), Object::new(body));
        Ok(Created::New)
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        let body = self.object(key)?.body;
        let size = body.len() as u64;
        if size > max_bytes {
            return Err(BackendError::TooLarge { key: key.to_string(), size, max_bytes });
        }
        Ok(body)
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        let body = self.object(key)?.body;
        let size = body.len() as u64;
        if range.end > size || range.start > range.end {
            return Err(BackendError::OutOfRange { key: key.to_string(), size, end: range.end });
        }
        Ok(Ranged { bytes: body.slice(range.start as usize..range.end as usize), size })
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        Ok(self.object(key)?.head())
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let folder = options.folder.map_or_else(String::new, |folder| format!("{folder}/"));
        let mut after = options.after.unwrap_or_default();
        let mut page = ListPage::default();
        let objects = self.read();
        loop {
            // Behind a folder's marker, the next key is the first that is not in the folder.
            let from = match after.strip_suffix('/') {
                Some(name) => Bound::Included(format!("{folder}{name}0")),
                None if after.is_empty() => Bound::Included(folder.clone()),
                None => Bound::Excluded(format!("{folder}{after}")),
            };
            let next = objects.range((from, Bound::Unbounded)).next();
            let Some((name, object)) =
                next.and_then(|(key, object)| Some((key.strip_prefix(&folder)?, object)))
            else {
                return Ok(page);
            };
            if page.entries.len() >= options.limit {
                page.more = true;
                return Ok(page);
            }
            let entry = match name.split_once('/') {
                Some((child, _)) if options.depth == Depth::Children => {
                    Entry::Folder { name: child.to_owned() }
                }
                _ => Entry::Object { name: name.to_owned(), head: object.head() },
            };
            after = entry.marker();
            page.entries.push(entry);
        }
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.write().remove(key.as_str());
        Ok(())
    }

    async fn prune(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }

    async fn flush(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn the_memory_backend_keeps_the_contract() {
        crate::contract::check(|| Arc::new(MemoryBackend::new())).await;
    }
}
