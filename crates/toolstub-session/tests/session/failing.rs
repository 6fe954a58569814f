//! A backend that keeps everything in memory and fails when it is told to.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use toolstub_store::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, MemoryBackend, Ranged,
    SpoolWriter,
};

/// Fails every write once so many were let through; reads go on.
#[derive(Debug, Clone)]
pub(crate) struct Failing {
    inner: Arc<MemoryBackend>,
    allowed: Arc<AtomicUsize>,
}

impl Failing {
    pub(crate) fn after(writes: usize) -> Self {
        Self { inner: Arc::default(), allowed: Arc::new(AtomicUsize::new(writes)) }
    }

    pub(crate) fn allow(&self, writes: usize) {
        self.allowed.store(writes, Ordering::SeqCst);
    }

    fn check(&self, key: &Key) -> Result<(), BackendError> {
        let take = |allowed: usize| allowed.checked_sub(1);
        let taken = self.allowed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        taken.map(drop).map_err(|_| BackendError::classify(key, full))
    }
}

#[async_trait]
impl Backend for Failing {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        self.check(key)?;
        self.inner.put(key, body).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.inner.spool().await
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        self.check(key)?;
        self.inner.create(key, body).await
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.inner.get(key, max_bytes).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        self.inner.get_range(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.inner.head(key).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        self.inner.list(options).await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.inner.delete(key).await
    }

    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        self.inner.prune(folder).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        self.inner.flush(folder).await
    }
}
