//! A backend that lets others go first at each operation, and counts them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use toolstub_store::fault::Operation;
use toolstub_store::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, MemoryBackend, Ranged,
    SpoolWriter,
};

#[derive(Debug, Default)]
pub(super) struct Shared {
    inner: MemoryBackend,
    /// Whether a creation overwrites, as where a server ignores the condition.
    creates_blindly: bool,
    operations: Mutex<Vec<Operation>>,
}

impl Shared {
    pub(super) fn creating_blindly() -> Self {
        Self { creates_blindly: true, ..Self::default() }
    }

    /// The operations since this was last asked.
    pub(super) fn take_operations(&self) -> Vec<Operation> {
        std::mem::take(&mut self.operations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets others go first.
    async fn turn(&self, operation: Operation) {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
        let mut passed = false;
        std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut passed, true) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }
}

#[async_trait]
impl Backend for Shared {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        self.turn(Operation::Put).await;
        self.inner.put(key, body).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.inner.spool().await
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        self.turn(Operation::Create).await;
        if self.creates_blindly {
            self.inner.put(key, body.into()).await?;
            return Ok(Created::New);
        }
        self.inner.create(key, body).await
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.turn(Operation::Get).await;
        self.inner.get(key, max_bytes).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        self.turn(Operation::GetRange).await;
        self.inner.get_range(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.turn(Operation::Head).await;
        self.inner.head(key).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        self.turn(Operation::List).await;
        self.inner.list(options).await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.turn(Operation::Delete).await;
        self.inner.delete(key).await
    }

    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        self.turn(Operation::Prune).await;
        self.inner.prune(folder).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        self.inner.flush(folder).await
    }
}
