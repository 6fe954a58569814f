//! A backend that fails where it is told to, and a sweep over every place where it can.
//!
//! [`FaultyBackend`] wraps any backend, and befalls one operation with a [`Fault`]. [`sweep`] runs
//! a scenario again and again, with the fault at the first operation, the second and so on, until
//! a run meets none: so no place is left out.
//!
//! ```
//! use std::io::ErrorKind;
//! use std::sync::Arc;
//! use toolstub_store::fault::{self, Fault, FaultyBackend};
//! use toolstub_store::{Backend, BackendError, Created, Key, MemoryBackend};
//!
//! /// Makes an object, and does not mind if the answer is lost.
//! async fn make(backend: &dyn Backend, key: &Key) -> Result<(), BackendError> {
//!     match backend.create(key, "body".into()).await {
//!         Ok(Created::New | Created::Existed) => Ok(()),
//!         Err(_) => backend.head(key).await.map(|_| ()),
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let key = Key::new("a/b").unwrap();
//! let places = fault::sweep(
//!     Fault::ErrorAfter(ErrorKind::ConnectionReset),
//!     || Arc::new(MemoryBackend::new()),
//!     async |backend| backend,
//!     async |backend: &Arc<FaultyBackend>| make(&**backend, &key).await,
//!     async |backend, run| {
//!         assert!(run.outcome.unwrap().is_ok(), "{:?}", run.met);
//!         assert!(backend.head(&key).await.is_ok());
//!     },
//! )
//! .await;
//! assert_eq!(places, 1);
//! # });
//! ```

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, Ranged, SpoolWriter,
};

/// What befalls an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing is done, and an error answers.
    ErrorBefore(io::ErrorKind),
    /// It is done, and an error answers, as where the answer is lost on its way.
    ErrorAfter(io::ErrorKind),
    /// A creation is done, and answered as if there had been an object before, as where a request
    /// was sent twice.
    ExistedDone,
    /// A creation is not done, and answered as if there were an object, as where one was removed at
    /// that moment.
    ExistedUndone,
    /// Half of the bytes that are read are missing; a listing holds half of its page, and says that
    /// there is more.
    Truncated,
    /// One bit of the bytes that are read is wrong.
    Flipped,
    /// Whoever waits goes away before anything is done. See [`FaultyBackend::run`].
    DropBefore,
    /// Whoever waits goes away while it is being done.
    DropDuring,
    /// Whoever waits goes away when it is done, before the answer is seen.
    DropAfter,
    /// It is done as it should, after some time.
    Delay(Duration),
}

impl Fault {
    /// Every fault, with errors that pass and errors that last.
    pub const ALL: [Self; 12] = [
        Self::ErrorBefore(io::ErrorKind::ConnectionReset),
        Self::ErrorBefore(io::ErrorKind::StorageFull),
        Self::ErrorBefore(io::ErrorKind::PermissionDenied),
        Self::ErrorAfter(io::ErrorKind::ConnectionReset),
        Self::ExistedDone,
        Self::ExistedUndone,
        Self::Truncated,
        Self::Flipped,
        Self::DropBefore,
        Self::DropDuring,
        Self::DropAfter,
        Self::Delay(Duration::from_millis(1)),
    ];

    /// Whether the fault can befall an operation.
    pub fn concerns(self, operation: Operation) -> bool {
        use Operation::{Create, Get, GetRange, List};
        match self {
            Self::ExistedDone | Self::ExistedUndone => operation == Create,
            Self::Truncated => matches!(operation, Get | GetRange | List),
            Self::Flipped => matches!(operation, Get | GetRange),
            _ => true,
        }
    }
}

/// The operations of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`Backend::put`].
    Put,
    /// [`Backend::spool`].
    Spool,
    /// [`Backend::create`].
    Create,
    /// [`Backend::get`].
    Get,
    /// [`Backend::get_range`].
    GetRange,
    /// [`Backend::head`].
    Head,
    /// [`Backend::list`].
    List,
    /// [`Backend::delete`].
    Delete,
    /// [`Backend::prune`].
    Prune,
    /// [`Backend::flush`].
    Flush,
}

/// A fault that befell an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Met {
    /// The fault.
    pub fault: Fault,
    /// The operation.
    pub operation: Operation,
    /// The key or folder that it was for; `/` for the root, and for a spool.
    pub key: String,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?} of {}", self.fault, self.operation, self.key)
    }
}

/// Wraps a backend, and befalls one of its operations with a fault.
///
/// Without a fault, and after it, every operation is the inner backend's.
#[derive(Debug)]
pub struct FaultyBackend {
    inner: Arc<dyn Backend>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    armed: Option<Armed>,
    met: Option<Met>,
    operations: usize,
    /// Whether whoever waits is to go away, and how it is woken.
    abandoned: bool,
    runner: Option<Waker>,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    only: Option<Operation>,
    /// How many operations are to be spared.
    spared: usize,
}

impl FaultyBackend {
    /// Wraps a backend. Nothing fails yet.
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, state: Mutex::default() }
    }

    /// The backend inside.
    pub fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    /// Lets a fault befall the `nth` operation from now, counted from 1 among those that the fault
    /// can befall. It takes the place of an earlier order.
    pub fn fail(&self, fault: Fault, nth: usize) {
        self.arm(Armed { fault, only: None, spared: nth.saturating_sub(1) });
    }

    /// The same, counted among the operations of one kind.
    pub fn fail_at(&self, fault: Fault, operation: Operation, nth: usize) {
        self.arm(Armed { fault, only: Some(operation), spared: nth.saturating_sub(1) });
    }

    fn arm(&self, armed: Armed) {
        let mut state = self.state();
        state.armed = Some(armed);
        state.met = None;
        state.abandoned = false;
    }

    /// Ends what was ordered; says what was met, if anything.
    pub fn heal(&self) -> Option<Met> {
        let mut state = self.state();
        state.armed = None;
        state.abandoned = false;
        state.met.take()
    }

    /// How many operations were begun so far.
    pub fn operations(&self) -> usize {
        self.state().operations
    }

    /// Runs what works on this backend; `None` if it was dropped by one of the `Drop…` faults.
    ///
    /// Outside of a run, such a fault is an operation that never ends.
    pub async fn run<T>(&self, scenario: impl Future<Output = T>) -> Option<T> {
        let mut scenario = pin!(scenario);
        poll_fn(|context| {
            self.state().runner = Some(context.waker().clone());
            match scenario.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                Poll::Pending if self.state().abandoned => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    // Nothing can panic while the lock is held, so what a poisoned lock guards is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault that befalls the operation that begins now.
    fn meet(&self, operation: Operation, key: &str) -> Option<Fault> {
        let mut state = self.state();
        state.operations += 1;
        let armed = state.armed.as_mut()?;
        let counts =
            armed.fault.concerns(operation) && armed.only.is_none_or(|only| only == operation);
        if !counts {
            return None;
        }
        if armed.spared > 0 {
            armed.spared -= 1;
            return None;
        }
        let fault = armed.fault;
        state.armed = None;
        state.met = Some(Met { fault, operation, key: key.to_owned() });
        Some(fault)
    }

    /// Has whoever waits go away.
    async fn abandon(&self) -> Infallible {
        let runner = {
            let mut state = self.state();
            state.abandoned = true;
            state.runner.take()
        };
        if let Some(runner) = runner {
            runner.wake();
        }
        std::future::pending().await
    }

    /// Does an operation, or what befalls it. `spoil` makes the answer wrong.
    async fn operate<T: Send>(
        &self,
        operation: Operation,
        key: &str,
        done: impl Future<Output = Result<T, BackendError>> + Send,
        spoil: impl FnOnce(Fault, T) -> T + Send,
    ) -> Result<T, BackendError> {
        let Some(fault) = self.meet(operation, key) else { return done.await };
        match fault {
            Fault::ErrorBefore(kind) => Err(failure(key, kind)),
            Fault::ErrorAfter(kind) => {
                done.await?;
                Err(failure(key, kind))
            }
            Fault::ExistedDone | Fault::ExistedUndone | Fault::Truncated | Fault::Flipped => {
                done.await.map(|answer| spoil(fault, answer))
            }
            Fault::DropBefore => match self.abandon().await {},
            Fault::DropDuring => {
                let mut done = pin!(done);
                let _ = futures::poll!(done.as_mut());
                match self.abandon().await {}
            }
            Fault::DropAfter => {
                let _ = done.await;
                match self.abandon().await {}
            }
            Fault::Delay(time) => {
                wait(time).await;
                done.await
            }
        }
    }
}

fn failure(key: &str, kind: io::ErrorKind) -> BackendError {
    let source = io::Error::from(kind);
    match Key::new(key) {
        Ok(key) => BackendError::classify(&key, source),
        Err(_) => BackendError::Other { key: key.to_owned(), source: source.into() },
    }
}

/// Waits without a runtime's help.
async fn wait(time: Duration) {
    let (over, waiting) = futures::channel::oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(time);
        let _ = over.send(());
    });
    let _ = waiting.await;
}

/// Bytes that are cut in half, or have one wrong bit in their middle.
fn spoil_bytes(fault: Fault, bytes: Bytes) -> Bytes {
    let middle = bytes.len() / 2;
    match fault {
        Fault::Truncated => bytes.slice(..middle),
        Fault::Flipped if !bytes.is_empty() => {
            let mut wrong = bytes.to_vec();
            wrong[middle] ^= 1;
            wrong.into()
        }
        _ => bytes,
    }
}

#[async_trait]
impl Backend for FaultyBackend {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        let done = self.inner.put(key, body);
        self.operate(Operation::Put, key.as_str(), done, |_, ()| ()).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.operate(Operation::Spool, "/", self.inner.spool(), |_, writer| writer).await
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        let undone = self.state().armed.as_ref().is_some_and(|armed| {
            let for_creations = armed.only.is_none_or(|only| only == Operation::Create);
            armed.fault == Fault::ExistedUndone && for_creations && armed.spared == 0
        });
        let done = async {
            if undone { Ok(Created::Existed) } else { self.inner.create(key, body).await }
        };
        let spoil = |_, _| Created::Existed;
        self.operate(Operation::Create, key.as_str(), done, spoil).await
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        let done = self.inner.get(key, max_bytes);
        self.operate(Operation::Get, key.as_str(), done, spoil_bytes).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        let done = self.inner.get_range(key, range);
        let spoil = |fault, ranged: Ranged| Ranged {
            bytes: spoil_bytes(fault, ranged.bytes),
            size: ranged.size,
        };
        self.operate(Operation::GetRange, key.as_str(), done, spoil).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        let done = self.inner.head(key);
        self.operate(Operation::Head, key.as_str(), done, |_, head| head).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let shown = options.folder.as_ref().map_or_else(|| "/".to_owned(), ToString::to_string);
        let done = self.inner.list(options);
        let spoil = |_, mut page: ListPage| {
            let half = page.entries.len().div_ceil(2);
            page.more |= half < page.entries.len();
            page.entries.truncate(half);
            page
        };
        self.operate(Operation::List, &shown, done, spoil).await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        let done = self.inner.delete(key);
        self.operate(Operation::Delete, key.as_str(), done, |_, ()| ()).await
    }

    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        let done = self.inner.prune(folder);
        self.operate(Operation::Prune, folder.as_str(), done, |_, ()| ()).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        let done = self.inner.flush(folder);
        self.operate(Operation::Flush, folder.as_str(), done, |_, ()| ()).await
    }
}

/// A run of a [`sweep`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Run<T> {
    /// What the scenario returned; `None` if it was dropped.
    pub outcome: Option<T>,
    /// The fault that it met; `None` for the last run.
    pub met: Option<Met>,
}

/// Runs a scenario with a fault at its first operation, its second and so on, until a run meets
/// none; returns how many did.
///
/// Each run has a backend of its own from `fresh`, on which `prepare` sets the scene without a
/// fault. `check` looks at what came of it, without a fault again; also after the last run.
pub async fn sweep<P, T>(
    fault: Fault,
    fresh: impl Fn() -> Arc<dyn Backend>,
    prepare: impl AsyncFn(Arc<FaultyBackend>) -> P,
    scenario: impl AsyncFn(&P) -> T,
    check: impl AsyncFn(P, Run<T>),
) -> usize {
    let mut nth = 0;
    loop {
        nth += 1;
        let backend = Arc::new(FaultyBackend::new(fresh()));
        let scene = prepare(Arc::clone(&backend)).await;
        backend.fail(fault, nth);
        let outcome = backend.run(scenario(&scene)).await;
        let met = backend.heal();
        let last = met.is_none();
        check(scene, Run { outcome, met }).await;
        if last {
            return nth - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Depth, Entry, MemoryBackend};

    fn key(name: &str) -> Key {
        Key::new(name).unwrap()
    }

    async fn holding(names: &[&str]) -> FaultyBackend {
        let backend = FaultyBackend::new(Arc::new(MemoryBackend::new()));
        for name in names {
            backend.put(&key(name), "body".into()).await.unwrap();
        }
        backend
    }

    #[tokio::test]
    async fn without_a_fault_it_keeps_the_contract() {
        crate::contract::check(|| Arc::new(FaultyBackend::new(Arc::new(MemoryBackend::new()))))
            .await;
    }

    #[tokio::test]
    async fn an_error_comes_before_or_after() {
        for (fault, done) in [
            (Fault::ErrorBefore(io::ErrorKind::StorageFull), false),
            (Fault::ErrorAfter(io::ErrorKind::StorageFull), true),
        ] {
            let backend = holding(&[]).await;
            backend.fail(fault, 2);
            backend.head(&key("a")).await.unwrap_err();
            let failed = backend.put(&key("a"), "body".into()).await;
            assert!(matches!(failed, Err(BackendError::StorageFull { .. })), "{failed:?}");
            assert_eq!(backend.head(&key("a")).await.is_ok(), done);
            let met = Met { fault, operation: Operation::Put, key: "a".to_owned() };
            assert_eq!(backend.heal(), Some(met));
        }
    }

    #[tokio::test]
    async fn operations_are_counted_by_their_kind() {
        let backend = holding(&["a"]).await;
        let fault = Fault::ErrorBefore(io::ErrorKind::TimedOut);
        backend.fail_at(fault, Operation::Head, 2);
        backend.get(&key("a"), 9).await.unwrap();
        backend.head(&key("a")).await.unwrap();
        backend.get(&key("a"), 9).await.unwrap();
        backend.head(&key("a")).await.unwrap_err();
        backend.head(&key("a")).await.unwrap();
        assert_eq!(backend.operations(), 6);
    }

    #[tokio::test]
    async fn answers_are_spoilt() {
        let backend = holding(&["f/a", "f/b", "f/c"]).await;
        backend.fail(Fault::Truncated, 1);
        assert_eq!(backend.get(&key("f/a"), 9).await.unwrap(), "bo");
        backend.fail(Fault::Flipped, 1);
        assert_eq!(backend.get_range(&key("f/a"), 1..4).await.unwrap().bytes, "oey");
        backend.fail(Fault::Truncated, 1);
        let options =
            ListOptions { folder: Some(key("f")), depth: Depth::All, after: None, limit: 9 };
        let page = backend.list(options).await.unwrap();
        let names: Vec<_> = page.entries.iter().map(Entry::marker).collect();
        assert_eq!((names, page.more), (vec!["a".to_owned(), "b".to_owned()], true));
        for (fault, name, done) in
            [(Fault::ExistedDone, "f/d", true), (Fault::ExistedUndone, "f/e", false)]
        {
            backend.fail(fault, 1);
            let created = backend.create(&key(name), "body".into()).await.unwrap();
            assert_eq!(created, Created::Existed);
            assert_eq!(backend.head(&key(name)).await.is_ok(), done);
        }
    }

    #[tokio::test]
    async fn whoever_waits_goes_away() {
        for (fault, done) in
            [(Fault::DropBefore, false), (Fault::DropDuring, true), (Fault::DropAfter, true)]
        {
            let backend = holding(&[]).await;
            backend.fail(fault, 1);
            let ran = backend.run(backend.put(&key("a"), "body".into())).await;
            assert!(ran.is_none());
            backend.heal();
            assert_eq!(backend.run(backend.head(&key("a"))).await.unwrap().is_ok(), done);
        }
    }
}
