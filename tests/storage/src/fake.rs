//! A small S3 in the process of the test.

mod answer;
mod bucket;
mod content;
mod fault;
mod listing;
mod log;
mod request;
mod serve;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use tokio::sync::oneshot;

use bucket::Bucket;
use content::Content;
use fault::Script;
use log::Log;

pub use fault::{Fault, Rule};
pub use log::{Count, Recorded};
pub use request::Operation;

/// What a server does otherwise than S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether a write `If-None-Match: *` fails where there is an object.
    ///
    /// Some servers ignore the condition and write.
    pub conditional_writes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { conditional_writes: true }
    }
}

/// A small S3 on a free port of loopback, which ends with its value.
///
/// It runs on a thread of its own, so any kind of runtime can talk to it. It has one bucket, takes
/// path-style requests, and looks at no signature; a checksum that comes with a body is checked.
#[derive(Debug)]
pub struct FakeS3 {
    state: Arc<State>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the server's connections share.
#[derive(Debug)]
struct State {
    options: Options,
    bucket: Mutex<Bucket>,
    script: Mutex<Script>,
    log: Log,
}

/// Nothing panics half-way through a change, so what a poisoned lock guards is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeS3 {
    /// The name of the bucket.
    pub const BUCKET: &'static str = "fake-bucket";

    /// Starts a server that does as S3 does.
    pub fn start() -> Self {
        Self::with(Options::default())
    }

    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If the machine has no port left on loopback.
    pub fn with(options: Options) -> Self {
        let state = Arc::new(State {
            options,
            bucket: Mutex::default(),
            script: Mutex::default(),
            log: Log::default(),
        });
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .expect("a port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || serve::run(listener, &shared, stopped));
        Self { state, address, stop: Some(stop), thread: Some(thread) }
    }

    /// The URL of the server.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts an object straight into the bucket: no request, no count.
    pub fn insert(&self, key: &str, body: Bytes) {
        lock(&self.state.bucket).insert(key, Content::Plain(body));
    }

    /// Puts an object straight into the bucket that is a unit so many times, then a tail.
    ///
    /// # Panics
    ///
    /// If the unit is empty.
    pub fn insert_repeated(&self, key: &str, unit: Bytes, times: usize, tail: Bytes) {
        assert!(!unit.is_empty(), "there is something to repeat");
        lock(&self.state.bucket).insert(key, Content::Repeated { unit, times, tail });
    }

    /// Removes an object, straight from the bucket.
    pub fn remove(&self, key: &str) {
        lock(&self.state.bucket).remove(key);
    }

    /// The keys of the bucket's objects, in order.
    pub fn keys(&self) -> Vec<String> {
        lock(&self.state.bucket).keys()
    }

    /// The bytes of an object.
    pub fn object(&self, key: &str) -> Option<Bytes> {
        lock(&self.state.bucket).object(key).map(|object| object.body.slice(0..object.body.len()))
    }

    /// How many multipart uploads were begun and neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        lock(&self.state.bucket).open_uploads()
    }

    /// Takes another rule by which requests fail.
    pub fn script(&self, rule: Rule) {
        lock(&self.state.script).add(rule);
    }

    /// Forgets every rule, and says how many requests were made to fail by them.
    pub fn heal(&self) -> usize {
        lock(&self.state.script).clear()
    }

    /// The requests since the last [`forget`](Self::forget), in the order in which they came.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.log.requests()
    }

    /// The requests since the last [`forget`](Self::forget), counted.
    pub fn count(&self) -> Count {
        self.requests().iter().collect()
    }

    /// Begins to count anew.
    pub fn forget(&self) {
        self.state.log.clear();
    }
}

impl Drop for FakeS3 {
    fn drop(&mut self) {
        // The thread ends when it hears of it, or because nobody can tell it any more.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
