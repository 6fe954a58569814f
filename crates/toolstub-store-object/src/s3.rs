//! The backend in a bucket, over S3's interface.
//!
//! Objects are read and small ones written as in any object store. What is done here is what a
//! bucket is different in: large objects go up in parts that a crash leaves behind, and listings
//! come by the page.

mod listing;
mod location;
mod settings;
mod upload;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::ObjectStore;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use toolstub_store::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, Ranged, SpoolWriter,
};

use crate::error::classify;
use crate::object::{PART, create_in_steps};
use crate::{ObjectBackend, OpenError, Variables};
use location::Location;

/// Keeps objects in a bucket of S3, or of a server that speaks its language.
///
/// An object of over 8 MiB goes up in parts. While it does, a marker `{key}#{digits}` stands beside it
/// and holds the upload's id: to delete the marker gives the upload up, so that nothing a crash
/// left behind is out of reach.
///
/// No write waits for a disk: how safe an object is once the server has acknowledged it, who may
/// read it, and whether it is encrypted, is the bucket's business.
#[derive(Clone)]
pub struct S3Backend {
    bucket: AmazonS3,
    location: Location,
    objects: ObjectBackend,
}

impl S3Backend {
    /// Opens `s3://bucket/prefix`. Nothing is asked of the server yet.
    ///
    /// The variables say where it is and who asks, by the names that S3's own tools have for
    /// that: `docs/storage-backends.md` has them all. The process itself is not asked. If it has no
    /// default provider of `rustls` yet, `ring` becomes that, for the whole process.
    pub fn open(location: &str, variables: &Variables) -> Result<Self, OpenError> {
        let rest = location.strip_prefix("s3:").ok_or("it does not begin with `s3:`");
        let location =
            rest.and_then(Location::read).map_err(|problem| OpenError::S3Url { problem })?;
        let builder = settings::builder(&location.bucket, variables)?;
        install_tls();
        let bucket = builder.build().map_err(|source| OpenError::S3 { source: source.into() })?;
        let store: Arc<dyn ObjectStore> = match &location.prefix {
            Some(prefix) => {
                let prefix = Path::parse(prefix.as_str());
                let prefix = prefix.map_err(|source| OpenError::S3 { source: source.into() })?;
                Arc::new(PrefixStore::new(bucket.clone(), prefix))
            }
            None => Arc::new(bucket.clone()),
        };
        Ok(Self { bucket, location, objects: ObjectBackend::new(store) })
    }

    /// A key as it stands in the bucket.
    fn in_bucket(&self, key: &str) -> String {
        match &self.location.prefix {
            Some(prefix) => format!("{prefix}/{key}"),
            None => key.to_owned(),
        }
    }

    fn path(&self, key: &Key) -> object_store::Result<Path> {
        Ok(Path::parse(self.in_bucket(key.as_str()))?)
    }
}

impl fmt::Debug for S3Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Backend").field("location", &self.location).finish_non_exhaustive()
    }
}

/// Has TLS done by `ring`, unless the process has chosen for itself already.
fn install_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may be faster: then theirs is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[async_trait]
impl Backend for S3Backend {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        if body.size() <= PART {
            return self.objects.put(key, body).await;
        }
        self.upload(key, &body).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        SpoolWriter::in_temp_folder()
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        if body.len() as u64 <= PART {
            return self.objects.create(key, body).await;
        }
        // There is no way to say it for what comes in parts.
        create_in_steps(self, key, body).await
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.objects.get(key, max_bytes).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        self.objects.get_range(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.objects.head(key).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let shown = options.folder.as_ref().map_or_else(|| "/".to_owned(), ToString::to_string);
        self.page(options).await.map_err(|error| classify(&shown, error))
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.give_up(key).await?;
        self.objects.delete(key).await
    }

    async fn prune(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }

    async fn flush(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }
}
