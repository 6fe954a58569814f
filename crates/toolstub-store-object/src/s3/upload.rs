//! Large objects, in parts.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::AmazonS3;
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use toolstub_store::{Backend as _, BackendError, Body, Key};

use super::S3Backend;
use crate::error::{classify, is_given_up};
use crate::object::PART;

/// How many parts are held at once.
const AT_ONCE: usize = 2;
/// How long giving up may take: whoever waits for it has waited for the server before.
const GIVING_UP: Duration = Duration::from_secs(10);
/// How often an upload is begun that somebody else gives up.
const TRIES: usize = 2;
/// The first line of a marker.
const MARK: &str = "toolstub upload\n";
/// The longest marker, in bytes.
const MAX_MARKER: u64 = 8 << 10;

/// Why an upload came to no end.
#[derive(Debug)]
enum Failure {
    /// The content could not be read.
    Content(BackendError),
    /// The server did not take it.
    Server(object_store::Error),
}

impl<E: Into<object_store::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Server(error.into())
    }
}

impl S3Backend {
    /// Writes an object in parts.
    pub(super) async fn upload(&self, key: &Key, body: &Body) -> Result<(), BackendError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.upload_once(key, body).await {
                Err(Failure::Server(error)) if tries < TRIES && is_given_up(&error) => {}
                Err(Failure::Server(error)) => return Err(classify(key.as_str(), error)),
                Err(Failure::Content(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
    }

    async fn upload_once(&self, key: &Key, body: &Body) -> Result<(), Failure> {
        let upload = Upload::begin(self, key).await?;
        match upload.send(body).await {
            Ok(parts) => upload.complete(parts).await,
            Err(error) => {
                upload.abort().await;
                Err(error)
            }
        }
    }

    /// Gives up the upload that a key is the marker of; other keys are none.
    pub(super) async fn give_up(&self, key: &Key) -> Result<(), BackendError> {
        let Some(target) = target_of(key.as_str()) else { return Ok(()) };
        let id = match self.objects.get(key, MAX_MARKER).await {
            Ok(marker) => id_in(&marker),
            Err(BackendError::TooLarge { .. }) => None,
            Err(BackendError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let number = number_in(key.as_str());
        let Some(id) = id.filter(|id| number == Some(number_of(id))) else {
            // A stray has a small number. What has a marker's is the only word of an upload, and
            // stays where it cannot be read.
            return if number.is_some_and(|number| number > u64::from(u32::MAX)) {
                let (found, expected) = ("something else", "the id of an unfinished upload");
                Err(BackendError::Misplaced { key: key.to_string(), found, expected })
            } else {
                Ok(())
            };
        };
        let abort = async {
            let path = Path::parse(self.in_bucket(target))?;
            self.bucket.abort_multipart(&path, &id).await
        };
        match abort.await {
            // It came to its end, or somebody else was faster.
            Err(error) if is_given_up(&error) => Ok(()),
            other => other.map_err(|error| classify(key.as_str(), error)),
        }
    }
}

/// An upload under way. One that is dropped is given up, as far as that can still be done.
struct Upload {
    bucket: AmazonS3,
    path: Path,
    id: String,
    /// Where word of it stands, if it does.
    marker: Option<Path>,
    is_over: bool,
}

impl Upload {
    /// Begins an upload and leaves word of it for whoever comes after a crash.
    async fn begin(backend: &S3Backend, key: &Key) -> Result<Self, Failure> {
        let path = backend.path(key)?;
        let bucket = backend.bucket.clone();
        let id = bucket.create_multipart(&path).await?;
        let marker = format!("{path}#{}", number_of(&id));
        let mut upload = Self { bucket, path, id, marker: None, is_over: false };
        match upload.leave_word(marker).await {
            Ok(()) => Ok(upload),
            Err(error) => {
                upload.abort().await;
                Err(error.into())
            }
        }
    }

    async fn leave_word(&mut self, marker: String) -> object_store::Result<()> {
        let marker = &*self.marker.insert(Path::parse(marker)?);
        self.bucket.put(marker, PutPayload::from(format!("{MARK}{}\n", self.id))).await?;
        Ok(())
    }

    async fn send(&self, body: &Body) -> Result<Vec<PartId>, Failure> {
        let parts = (0..body.size().div_ceil(PART)).map(|number| async move {
            let start = number * PART;
            let range = start..body.size().min(start + PART);
            let part = body.read(range).await.map_err(Failure::Content)?;
            let sent = self.bucket.put_part(&self.path, &self.id, number as usize, part.into());
            Ok(sent.await?)
        });
        stream::iter(parts).buffered(AT_ONCE).try_collect().await
    }

    async fn complete(mut self, parts: Vec<PartId>) -> Result<(), Failure> {
        if let Err(error) = self.bucket.complete_multipart(&self.path, &self.id, parts).await {
            self.abort().await;
            return Err(error.into());
        }
        self.is_over = true;
        if let Some(marker) = &self.marker {
            // One that stays is left to a clean-up.
            let _ = self.bucket.delete(marker).await;
        }
        Ok(())
    }

    async fn abort(mut self) {
        self.is_over = true;
        clean_up(&self.bucket, &self.path, &self.id, self.marker.as_ref()).await;
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (bucket, path) = (self.bucket.clone(), self.path.clone());
            let (id, marker) = (self.id.clone(), self.marker.clone());
            runtime.spawn(async move { clean_up(&bucket, &path, &id, marker.as_ref()).await });
        }
    }
}

/// Gives an upload up, and only then its marker: where the server does not say that the upload is
/// gone, or not in time, the marker leads whoever clears away to it.
async fn clean_up(bucket: &AmazonS3, path: &Path, id: &String, marker: Option<&Path>) {
    let clean = async {
        let aborted = bucket.abort_multipart(path, id).await;
        let is_gone = aborted.as_ref().err().is_none_or(is_given_up);
        if let (true, Some(marker)) = (is_gone, marker) {
            let _ = bucket.delete(marker).await;
        }
    };
    let _ = tokio::time::timeout(GIVING_UP, clean).await;
}

/// A number that tells an upload from every other one of the same key: FNV-1a over its id.
fn number_of(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The number at the end of a marker's key.
fn number_in(marker: &str) -> Option<u64> {
    marker.rsplit_once('#')?.1.parse().ok()
}

/// The key that a marker stands beside.
fn target_of(marker: &str) -> Option<&str> {
    let (target, number) = marker.rsplit_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_key = !target.is_empty() && !target.ends_with('/');
    (is_number && is_key).then_some(target)
}

/// The id of the upload that a marker holds.
fn id_in(marker: &[u8]) -> Option<String> {
    let id = std::str::from_utf8(marker).ok()?.strip_prefix(MARK)?.strip_suffix('\n')?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
    is_id.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_lead_to_uploads() {
        assert_eq!(target_of("a/output.txt#12"), Some("a/output.txt"));
        for other in ["a/output.txt", "a#", "a#1x", "#1", "a/#1", "a#1/b"] {
            assert_eq!(target_of(other), None, "{other}");
        }
        assert_eq!(id_in(b"toolstub upload\nid-1\n"), Some("id-1".to_owned()));
        for other in
            [&b""[..], b"id-1\n", b"toolstub upload\n\n", b"toolstub upload\na b\n", b"\xff"]
        {
            assert_eq!(id_in(other), None, "{other:?}");
        }
        assert_ne!(number_of("id-1"), number_of("id-2"));
        assert_eq!(number_in(&format!("a#{}", number_of("id-1"))), Some(number_of("id-1")));
    }
}
