//! Stores that nobody would want.

use std::convert::Infallible;
use std::future::pending;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use toolstub_store::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, Ranged, ResultStore,
    SpoolWriter,
};

/// What befalls whoever asks anything.
#[derive(Debug, Clone, Copy)]
enum Odd {
    Silence,
    Panic,
}

/// A store that never answers anything.
pub(super) fn silent_store() -> ResultStore {
    ResultStore::new(Arc::new(Odd::Silence))
}

/// A store with a fault.
pub(super) fn panicking_store() -> ResultStore {
    ResultStore::new(Arc::new(Odd::Panic))
}

impl Odd {
    async fn befall(self) -> Infallible {
        match self {
            Self::Silence => pending().await,
            Self::Panic => panic!("a fault"),
        }
    }
}

#[async_trait::async_trait]
impl Backend for Odd {
    async fn put(&self, _: &Key, _: Body) -> Result<(), BackendError> {
        match self.befall().await {}
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        match self.befall().await {}
    }

    async fn create(&self, _: &Key, _: Bytes) -> Result<Created, BackendError> {
        match self.befall().await {}
    }

    async fn get(&self, _: &Key, _: u64) -> Result<Bytes, BackendError> {
        match self.befall().await {}
    }

    async fn get_range(&self, _: &Key, _: Range<u64>) -> Result<Ranged, BackendError> {
        match self.befall().await {}
    }

    async fn head(&self, _: &Key) -> Result<Head, BackendError> {
        match self.befall().await {}
    }

    async fn list(&self, _: ListOptions) -> Result<ListPage, BackendError> {
        match self.befall().await {}
    }

    async fn delete(&self, _: &Key) -> Result<(), BackendError> {
        match self.befall().await {}
    }

    async fn prune(&self, _: &Key) -> Result<(), BackendError> {
        match self.befall().await {}
    }

    async fn flush(&self, _: &Key) -> Result<(), BackendError> {
        match self.befall().await {}
    }
}
