//! The backend over any object store.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
};
use toolstub_store::{
    Backend, BackendError, Body, Created, Depth, Entry, Head, Key, ListOptions, ListPage, Ranged,
    SpoolWriter,
};

use crate::error::{classify, cut_short, is_unreachable};

/// The size of the parts in which a large spool is written, and of the largest that is not.
pub(crate) const PART: u64 = 8 << 20;

/// Keeps objects in an object store whose writes are durable and whose listings are in order.
///
/// A folder of this machine is neither: use [`open`](crate::open) for one. To list the children of
/// a folder, the store is asked for all of them at once.
///
/// A spool of over 8 MiB is written in parts, so that no more of it is held in memory. A crash, or
/// a write that is dropped half-way, can leave such parts behind, for the store itself to clear away.
#[derive(Debug, Clone)]
pub struct ObjectBackend {
    store: Arc<dyn ObjectStore>,
}

impl ObjectBackend {
    /// A backend over an object store. Keys stand in it as they are.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    async fn write(&self, key: &Key, body: Bytes, mode: PutMode) -> object_store::Result<()> {
        let options = PutOptions { mode, ..PutOptions::default() };
        self.store.put_opts(&path(key)?, body.into(), options).await?;
        Ok(())
    }

    /// Writes a body in parts, of which one is held at a time.
    async fn write_parts(&self, key: &Key, body: &Body) -> Result<(), BackendError> {
        let failed = |error| classify(key.as_str(), error);
        let path = path(key).map_err(failed)?;
        let mut upload = match self.store.put_multipart(&path).await {
            Err(object_store::Error::NotImplemented { .. }) => {
                let body = body.bytes().await?;
                return self.write(key, body, PutMode::Overwrite).await.map_err(failed);
            }
            upload => upload.map_err(failed)?,
        };
        let written = async {
            let mut start = 0;
            while start < body.size() {
                let end = body.size().min(start + PART);
                let part = body.read(start..end).await?;
                upload.put_part(part.into()).await.map_err(failed)?;
                start = end;
            }
            upload.complete().await.map_err(failed)?;
            Ok(())
        };
        let written = written.await;
        if written.is_err() {
            // The error that matters is the first.
            let _ = upload.abort().await;
        }
        written
    }
}

/// Creates an object by two steps, for want of a way to say it in one.
pub(crate) async fn create_in_steps(
    backend: &impl Backend,
    key: &Key,
    body: Bytes,
) -> Result<Created, BackendError> {
    match backend.head(key).await {
        Ok(_) => Ok(Created::Existed),
        Err(BackendError::NotFound { .. }) => {
            backend.put(key, body.into()).await.map(|()| Created::New)
        }
        Err(error) => Err(error),
    }
}

/// A key as it is: the percent signs in it are its own, and not to be encoded once more.
fn path(key: &Key) -> object_store::Result<Path> {
    Ok(Path::parse(key.as_str())?)
}

fn head(meta: &ObjectMeta) -> Head {
    Head { size: meta.size, modified: meta.last_modified.into() }
}

#[async_trait]
impl Backend for ObjectBackend {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        if matches!(body, Body::Spool(_)) && body.size() > PART {
            return self.write_parts(key, &body).await;
        }
        let body = body.bytes().await?;
        self.write(key, body, PutMode::Overwrite)
            .await
            .map_err(|error| classify(key.as_str(), error))
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        SpoolWriter::in_temp_folder()
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        match self.write(key, body.clone(), PutMode::Create).await {
            Ok(()) => Ok(Created::New),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(Created::Existed),
            Err(object_store::Error::NotImplemented { .. }) => {
                create_in_steps(self, key, body).await
            }
            Err(error) => Err(classify(key.as_str(), error)),
        }
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        let whole = async || {
            let found = self.store.get(&path(key)?).await?;
            let size = found.meta.size;
            let body = if size > max_bytes { None } else { Some(found.bytes().await?) };
            Ok((size, body))
        };
        let (size, body) = whole().await.map_err(|error| classify(key.as_str(), error))?;
        if let Some(body) = body.as_ref().filter(|body| body.len() as u64 != size) {
            return Err(cut_short(key.as_str(), body.len(), size));
        }
        body.ok_or_else(|| BackendError::TooLarge { key: key.to_string(), size, max_bytes })
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        let ranged = async || {
            let range = Some(GetRange::Bounded(range.clone()));
            let options = GetOptions { range, ..GetOptions::default() };
            let found = self.store.get_opts(&path(key)?, options).await?;
            let size = found.meta.size;
            Ok(Ranged { bytes: found.bytes().await?, size })
        };
        let out_of_range =
            |size| BackendError::OutOfRange { key: key.to_string(), size, end: range.end };
        match ranged().await {
            Ok(ranged) if ranged.bytes.len() as u64 == range.end - range.start => Ok(ranged),
            Ok(ranged) => Err(out_of_range(ranged.size)),
            Err(error) if is_unreachable(&error) => Err(classify(key.as_str(), error)),
            // Stores say in many ways that a range lies past the end.
            Err(error) => match self.head(key).await {
                Ok(head) if head.size < range.end => Err(out_of_range(head.size)),
                _ => Err(classify(key.as_str(), error)),
            },
        }
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        let found = async || self.store.head(&path(key)?).await;
        found().await.map(|meta| head(&meta)).map_err(|error| classify(key.as_str(), error))
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let ListOptions { folder, depth, after, limit } = options;
        let shown = folder.clone().map_or_else(|| "/".to_owned(), |key| key.to_string());
        let prefix = folder.as_ref().map_or_else(String::new, |key| format!("{key}/"));
        let entries = async || {
            let folder = folder.as_ref().map(path).transpose()?;
            let name = |path: &Path| path.as_ref().strip_prefix(&prefix).map(str::to_owned);
            let object = |meta: ObjectMeta| {
                Some(Entry::Object { name: name(&meta.location)?, head: head(&meta) })
            };
            let mut entries = Vec::new();
            if depth == Depth::Children {
                let found = self.store.list_with_delimiter(folder.as_ref()).await?;
                let folders = found.common_prefixes.iter().filter_map(name);
                entries.extend(folders.map(|name| Entry::Folder { name }));
                entries.extend(found.objects.into_iter().filter_map(object));
                entries.sort_by_cached_key(Entry::marker);
                entries.retain(|entry| after.as_ref().is_none_or(|after| entry.marker() > *after));
            } else {
                let mut found = match &after {
                    Some(after) => {
                        let offset = Path::parse(format!("{prefix}{after}"))?;
                        self.store.list_with_offset(folder.as_ref(), &offset)
                    }
                    None => self.store.list(folder.as_ref()),
                };
                while let Some(meta) = found.try_next().await? {
                    entries.extend(object(meta));
                    if entries.len() > limit {
                        break;
                    }
                }
            }
            Ok(entries)
        };
        let mut entries = entries().await.map_err(|error| classify(&shown, error))?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        Ok(ListPage { entries, more })
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        let gone = async || self.store.delete(&path(key)?).await;
        match gone().await.map_err(|error| classify(key.as_str(), error)) {
            Err(BackendError::NotFound { .. }) => Ok(()),
            other => other,
        }
    }

    async fn prune(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }

    async fn flush(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }
}
