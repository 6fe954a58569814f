//! The backend in a folder of this machine.
//!
//! Objects are read by `object_store`. They are written here: into a private file at the root, put on
//! the disk, then moved into place, so that neither a crash nor whoever cleans up beside a writer
//! can leave half an object. So are symbolic links and special files, listings in order and
//! by the page, and empty folders.

mod folder;
mod listing;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::local::LocalFileSystem;
use toolstub_store::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, Ranged, SpoolWriter,
};

use crate::object::create_in_steps;
use crate::{ObjectBackend, OpenError, OpenOptions};
use folder::{Folder, How};

/// How often a write is tried while somebody else removes the folder that it goes to.
const TRIES: usize = 10;

/// Keeps objects as files below a folder: folders 0700, files 0600, nothing else.
#[derive(Debug, Clone)]
pub struct LocalBackend {
    objects: ObjectBackend,
    folder: Arc<Folder>,
}

impl LocalBackend {
    /// Opens a folder, made if it is not there and the options do not forbid it.
    pub fn open(root: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        let is_missing = || matches!(root.try_exists(), Ok(false));
        if !options.create && is_missing() {
            return Err(OpenError::Missing { path: root.to_owned() });
        }
        let folder = Folder::open(root, options.fsync)
            .map_err(|source| OpenError::Folder { path: root.to_owned(), source })?;
        let files = LocalFileSystem::new_with_prefix(folder.root())
            .map_err(|source| OpenError::Store { path: root.to_owned(), source: source.into() })?;
        Ok(Self { objects: ObjectBackend::new(Arc::new(files)), folder: Arc::new(folder) })
    }

    /// Runs file operations where they block nobody.
    async fn blocking<T: Send + 'static>(
        &self,
        key: &Key,
        operation: impl FnOnce(&Folder, &Key) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let (folder, key) = (Arc::clone(&self.folder), key.clone());
        let shown = key.to_string();
        let run = tokio::task::spawn_blocking(move || operation(&folder, &key));
        run.await
            .unwrap_or_else(|error| Err(BackendError::Other { key: shown, source: error.into() }))
    }

    /// Writes into a folder that is made first.
    async fn write(&self, key: &Key, body: Body, how: How) -> Result<Created, BackendError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let body = body.clone();
            let written = self
                .blocking(key, move |folder, key| {
                    folder.prepare(key)?;
                    folder.write(key, &body, how)
                })
                .await;
            match written {
                Err(BackendError::NotFound { .. }) if tries < TRIES => {}
                Err(error) => {
                    // The folder was made for nothing; the error that matters is the first.
                    let _ = self.blocking(key, Folder::prune_above).await;
                    return Err(error);
                }
                done => return done,
            }
        }
    }
}

/// Whether an error may say that a file system cannot rename or link without replacing.
fn cannot_create(error: &BackendError) -> bool {
    const EPERM: i32 = 1;
    let io = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    io.is_some_and(|io| {
        matches!(io.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
            || io.raw_os_error() == Some(EPERM)
    })
}

#[async_trait]
impl Backend for LocalBackend {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        self.write(key, body, How::Put).await.map(|_| ())
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        let folder = Arc::clone(&self.folder);
        let run = tokio::task::spawn_blocking(move || folder.spool()).await;
        run.unwrap_or_else(|error| {
            Err(BackendError::Other { key: "/".to_owned(), source: error.into() })
        })
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        match self.write(key, body.clone().into(), How::Create).await {
            Err(error) if cannot_create(&error) => create_in_steps(self, key, body).await,
            done => done,
        }
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.blocking(key, Folder::check_file).await?;
        self.objects.get(key, max_bytes).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        self.blocking(key, Folder::check_file).await?;
        self.objects.get_range(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.blocking(key, Folder::check_file).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let folder = Arc::clone(&self.folder);
        let shown = options.folder.as_ref().map_or_else(|| "/".to_owned(), ToString::to_string);
        let run = tokio::task::spawn_blocking(move || folder.list(&options));
        run.await
            .unwrap_or_else(|error| Err(BackendError::Other { key: shown, source: error.into() }))
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.blocking(key, Folder::delete).await
    }

    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        self.blocking(folder, Folder::prune).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        self.blocking(folder, Folder::flush).await
    }
}
