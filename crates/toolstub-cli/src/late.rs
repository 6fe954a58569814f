//! A store that cannot be opened yet: it is tried again when it is asked for something.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use toolstub_store::{
    Backend, BackendError, Body, BoxError, Created, Head, Key, ListOptions, ListPage, Ranged,
    ResultStore, SpoolWriter,
};
use toolstub_store_object::OpenError;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// How long a store is left alone that could not be opened.
const AGAIN: Duration = Duration::from_secs(10);

/// Opens a store. That may block.
type Open = dyn Fn() -> Result<Arc<dyn Backend>, OpenError> + Send + Sync;

/// The store; where it cannot be opened though it may be later, one that tries again: what a host starts
/// once for a whole day must not be gone for the day because a store is not there in that moment.
///
/// Until it can be opened, `meanwhile` is what is told.
pub(crate) fn open(context: &Context, meanwhile: &str) -> Result<ResultStore, Failure> {
    let open = context.opening()?;
    match open() {
        Ok(backend) => Ok(ResultStore::new(backend)),
        Err(
            error @ (OpenError::Folder { .. } | OpenError::Store { .. } | OpenError::S3 { .. }),
        ) => Ok(ResultStore::new(Arc::new(Late::new(error, meanwhile, open)))),
        Err(error) => Err(error.into()),
    }
}

/// A store that could not be opened. Until it can, it fails at whatever it is asked.
#[derive(Clone)]
struct Late {
    open: Arc<Open>,
    again: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    /// It could not be opened, and is not tried before then.
    Closed {
        why: Arc<str>,
        until: Instant,
    },
    /// Somebody tries, however long that takes.
    Opening {
        why: Arc<str>,
    },
    Open(Arc<dyn Backend>),
}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Late").field("state", &self.state()).finish_non_exhaustive()
    }
}

impl Late {
    /// A store that could not be opened just now, which is said, and how to try again.
    fn new(
        error: OpenError,
        meanwhile: &str,
        open: impl Fn() -> Result<Arc<dyn Backend>, OpenError> + Send + Sync + 'static,
    ) -> Self {
        let why = told(error);
        output::remark(&format!("{why}; until it can be opened, {meanwhile}"));
        let state = State::Closed { why, until: Instant::now() + AGAIN };
        Self { open: Arc::new(open), again: AGAIN, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, once it can be opened.
    async fn store(&self) -> Result<Arc<dyn Backend>, Arc<str>> {
        {
            let mut state = self.state();
            match &*state {
                State::Open(store) => return Ok(Arc::clone(store)),
                State::Opening { why } => return Err(Arc::clone(why)),
                State::Closed { why, until } if Instant::now() < *until => {
                    return Err(Arc::clone(why));
                }
                State::Closed { why, .. } => *state = State::Opening { why: Arc::clone(why) },
            }
        }
        let late = self.clone();
        // It goes on though whoever asked does not wait for it.
        let opening = tokio::task::spawn_blocking(move || {
            let opened = (late.open)();
            let mut state = late.state();
            match opened {
                Ok(store) => {
                    output::remark("the store can be opened now");
                    *state = State::Open(Arc::clone(&store));
                    Ok(store)
                }
                Err(error) => {
                    let why = told(error);
                    let until = Instant::now() + late.again;
                    *state = State::Closed { why: Arc::clone(&why), until };
                    Err(why)
                }
            }
        });
        opening.await.unwrap_or_else(|error| Err(error.to_string().into()))
    }

    async fn at(&self, key: impl fmt::Display) -> Result<Arc<dyn Backend>, BackendError> {
        self.store().await.map_err(|why| {
            let source: BoxError = format!(
                "it could not be opened, which is tried again after {} seconds: {why}",
                self.again.as_secs()
            )
            .into();
            BackendError::Other { key: key.to_string(), source }
        })
    }
}

/// An error with what caused it.
fn told(error: OpenError) -> Arc<str> {
    format!("{:#}", anyhow::Error::new(error)).into()
}

#[async_trait]
impl Backend for Late {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        self.at(key).await?.put(key, body).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.at("").await?.spool().await
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        self.at(key).await?.create(key, body).await
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.at(key).await?.get(key, max_bytes).await
    }

    async fn get_range(
        &self,
        key: &Key,
        range: std::ops::Range<u64>,
    ) -> Result<Ranged, BackendError> {
        self.at(key).await?.get_range(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.at(key).await?.head(key).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let folder = options.folder.as_ref().map(ToString::to_string).unwrap_or_default();
        self.at(folder).await?.list(options).await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.at(key).await?.delete(key).await
    }

    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        self.at(folder).await?.prune(folder).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        self.at(folder).await?.flush(folder).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use toolstub_store::MemoryBackend;

    use super::*;

    fn failure() -> OpenError {
        OpenError::Folder { path: "/x".into(), source: std::io::ErrorKind::NotADirectory.into() }
    }

    /// A store that can be opened at the third try, each of which takes some time.
    fn late(again: Duration) -> (Late, Arc<AtomicUsize>) {
        let tries = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&tries);
        let mut late = Late::new(failure(), "nothing works", move || {
            std::thread::sleep(Duration::from_millis(100));
            match counted.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => Err(failure()),
                _ => Ok(Arc::new(MemoryBackend::new()) as _),
            }
        });
        late.again = again;
        (late, tries)
    }

    fn block_on(work: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
    }

    #[test]
    fn store_is_opened_once_it_can_be() {
        block_on(async {
            let (late, tries) = late(Duration::ZERO);
            let key = Key::new("a").unwrap();
            // It was tried just now.
            let error = late.create(&key, Bytes::new()).await.unwrap_err();
            let error = format!("{:#}", anyhow::Error::new(error));
            assert!(error.contains("cannot open the folder `/x`"), "{error}");
            assert_eq!(tries.load(Ordering::Relaxed), 0);
            if let State::Closed { until, .. } = &mut *late.state() {
                *until = Instant::now();
            }
            assert!(late.create(&key, Bytes::new()).await.is_err());
            assert!(late.create(&key, Bytes::new()).await.is_err());
            assert_eq!(late.create(&key, Bytes::new()).await.unwrap(), Created::New);
            assert_eq!(late.create(&key, Bytes::new()).await.unwrap(), Created::Existed);
            assert_eq!(tries.load(Ordering::Relaxed), 3);
        });
    }

    #[test]
    fn nobody_waits_for_another_to_open_it() {
        block_on(async {
            let (late, tries) = late(Duration::from_secs(1000));
            if let State::Closed { until, .. } = &mut *late.state() {
                *until = Instant::now();
            }
            let key = Key::new("a").unwrap();
            // Whoever tries gives up, and the try goes on.
            let limit = Duration::from_millis(20);
            assert!(tokio::time::timeout(limit, late.head(&key)).await.is_err());
            assert!(tokio::time::timeout(limit, late.head(&key)).await.unwrap().is_err());
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert!(late.head(&key).await.is_err());
            assert_eq!(tries.load(Ordering::Relaxed), 1);
        });
    }
}
