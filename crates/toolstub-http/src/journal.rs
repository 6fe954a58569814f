//! Sessions and their messages, kept in the store beside the results.
//!
//! `sessions/{id}/session.json` says what a session is, and never changes. What one request appends
//! is one object below `sessions/{id}/messages/`, written once: several servers append to one session
//! and nothing is lost, since nobody ever writes what another one wrote. A name sorts behind all
//! names that its request had seen, whatever the clocks of the servers say: who sends one message
//! after the other finds them in that order.

mod name;
mod tail;

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolstub_core::SessionId;
use toolstub_store::{
    BackendError, Body, Created, Depth, Entry, Key, ListOptions, ResultStore, StoreError,
};

pub(crate) use self::name::Name;
use self::tail::{Settled, Tail};

/// How many keys are asked for at once.
const PAGE: usize = 1000;
/// How many objects are read at once.
const CONCURRENCY: usize = 16;
/// The longest record of a session, in bytes.
const MAX_RECORD: u64 = 16 << 20;
/// The largest object of messages, in bytes.
pub(crate) const MAX_MESSAGES: u64 = 1 << 30;
/// Of how many sessions something is remembered.
const TAILS: usize = 10_000;
/// How many bytes of messages are remembered.
const REMEMBERED: u64 = 64 << 20;

/// What a session is. It is written once, and never changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    pub(crate) schema_version: u32,
    pub(crate) session_id: String,
    /// Chance: tells a session from an earlier one of the same id.
    pub(crate) incarnation: String,
    /// Microseconds since 1970.
    pub(crate) created_micros: u64,
    pub(crate) account_id: String,
    pub(crate) user_id: String,
    /// What the client gave for it, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_policy: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auto_commit_policy: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_extraction_config: Option<Box<RawValue>>,
}

/// A session, and what its messages come to.
#[derive(Debug)]
pub(crate) struct Opened {
    /// `None` for a session that has results and was never made here.
    pub(crate) record: Option<SessionRecord>,
    pub(crate) sums: Sums,
}

/// What the messages of a session come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) count: u64,
    pub(crate) tokens: u64,
    /// When the last one came, in microseconds since 1970.
    pub(crate) last_micros: Option<u64>,
}

/// A session in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: SessionId,
    /// When the last message came, or the session was made; 0 if neither is known.
    pub(crate) modified_micros: u64,
}

/// The messages of one request, as they are to be kept.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// JSON texts without line feeds.
    pub(crate) lines: Vec<String>,
    pub(crate) tokens: u64,
    /// The same for each attempt to send the same, if the client sees to it.
    pub(crate) idempotency: Option<String>,
}

/// Sessions and messages in a store.
#[derive(Debug)]
pub(crate) struct Journal {
    store: ResultStore,
    clock: Clock,
    /// The time of the last name that was given here.
    last_micros: AtomicU64,
    tails: Cache<SessionId, Arc<Mutex<Tail>>>,
    bodies: Cache<(String, Name), Bytes, ByBytes>,
}

/// The time, in microseconds since 1970.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The system's.
    pub(crate) fn of_system() -> Self {
        Self(Arc::new(|| micros_of(SystemTime::now())))
    }

    pub(crate) fn now(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Microseconds since 1970; 0 before.
pub(crate) fn micros_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<(String, Name), Bytes> for ByBytes {
    fn weight(&self, _: &(String, Name), body: &Bytes) -> u64 {
        body.len() as u64 + 256
    }
}

impl Journal {
    pub(crate) fn new(store: ResultStore, clock: Clock) -> Self {
        let remembered = REMEMBERED;
        Self {
            store,
            clock,
            last_micros: AtomicU64::new(0),
            tails: Cache::new(TAILS),
            bodies: Cache::with_weighter(10_000, remembered, ByBytes),
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Makes a session, unless there is one with this id.
    pub(crate) async fn create(
        &self,
        id: &SessionId,
        record: &SessionRecord,
    ) -> Result<Created, StoreError> {
        if self.record(id).await?.is_some() || self.has_content(id).await? {
            return Ok(Created::Existed);
        }
        if self.write_record(id, record).await? == Created::Existed {
            return Ok(Created::Existed);
        }
        // A server that ignores conditions lets two of us write; the one who is read has made it.
        let made = self.record(id).await?;
        let ours = made.is_some_and(|made| made.incarnation == record.incarnation);
        Ok(if ours { Created::New } else { Created::Existed })
    }

    /// A session with what its messages come to; `None` if there is none.
    pub(crate) async fn open(&self, id: &SessionId) -> Result<Option<Opened>, StoreError> {
        let record = self.record(id).await?;
        if record.is_none() && !self.has_content(id).await? {
            return Ok(None);
        }
        let known = self.settled(id, record.as_ref());
        let (sums, _) = self.look(id, record.as_ref(), &known).await?;
        Ok(Some(Opened { record, sums }))
    }

    /// Whether there is a session: one that was made, or one that has something.
    pub(crate) async fn exists(&self, id: &SessionId) -> Result<bool, StoreError> {
        Ok(self.record(id).await?.is_some() || self.has_content(id).await?)
    }

    /// Appends what one request brings, wholly or not at all; says what all messages come to then.
    ///
    /// A session that is not there is made, of `record`.
    pub(crate) async fn append(
        &self,
        id: &SessionId,
        record: &SessionRecord,
        batch: Batch,
    ) -> Result<Sums, StoreError> {
        let found = self.record(id).await?;
        let is_new = found.is_none();
        if is_new {
            self.write_record(id, record).await?;
        }
        let record = found.as_ref().unwrap_or(record);
        let known = self.settled(id, Some(record));
        let (sums, recent) = self.look(id, Some(record), &known).await?;
        if batch.lines.is_empty() {
            return Ok(sums);
        }
        let unique = match &batch.idempotency {
            Some(key) => digest(key),
            None => chance(),
        };
        // The first attempt came through, and its answer did not.
        if batch.idempotency.is_some() && recent.iter().any(|name| name.unique == unique) {
            return Ok(sums);
        }
        let micros = self.next_micros(sums.last_micros);
        let count = batch.lines.len() as u64;
        let name = Name { micros, unique, count, tokens: batch.tokens };
        let key = messages(id).join(&name.to_string()).map_err(unusable)?;
        let mut body = batch.lines.join("\n");
        body.push('\n');
        let body = Bytes::from(body);
        self.store.backend().put(&key, Body::Bytes(body.clone())).await?;
        // Who deleted the session meanwhile has not seen this message: it begins the session anew.
        self.write_record(id, record).await?;
        self.bodies.insert((id.encoded().to_owned(), name), body);
        Ok(Sums {
            count: sums.count + count,
            tokens: sums.tokens + batch.tokens,
            last_micros: Some(micros),
        })
    }

    /// The names of all that was appended to a session, in order; `None` if there is no session.
    pub(crate) async fn names(&self, id: &SessionId) -> Result<Option<Vec<Name>>, StoreError> {
        let names = self.list(id, None).await?;
        if names.is_empty() && !self.exists(id).await? {
            return Ok(None);
        }
        Ok(Some(names))
    }

    /// The messages under a name, as JSON texts; `None` if they are gone.
    pub(crate) async fn read(
        &self,
        id: &SessionId,
        name: &Name,
    ) -> Result<Option<Bytes>, StoreError> {
        let at = (id.encoded().to_owned(), name.clone());
        if let Some(body) = self.bodies.get(&at) {
            return Ok(Some(body));
        }
        let key = messages(id).join(&name.to_string()).map_err(unusable)?;
        match self.store.backend().get(&key, MAX_MESSAGES).await {
            Ok(body) => {
                self.bodies.insert(at, body.clone());
                Ok(Some(body))
            }
            Err(BackendError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// All sessions, by id.
    pub(crate) async fn sessions(&self) -> Result<Vec<Listed>, StoreError> {
        let mut ids = Vec::new();
        let mut after = None;
        loop {
            let folder = Some(ResultStore::sessions_folder());
            let options = ListOptions { folder, depth: Depth::Children, after, limit: PAGE };
            let page = self.store.backend().list(options).await?;
            for entry in &page.entries {
                if let Entry::Folder { name } = entry {
                    ids.extend(SessionId::from_encoded(name));
                }
            }
            match page.entries.last() {
                Some(last) if page.more => after = Some(last.marker()),
                _ => break,
            }
        }
        let mut work = Vec::with_capacity(ids.len());
        for id in ids {
            work.push(self.listed(id).boxed());
        }
        let listed: Vec<_> =
            futures::stream::iter(work).buffered(CONCURRENCY).try_collect().await?;
        Ok(listed.into_iter().flatten().collect())
    }

    /// Removes a session with all that it has; says whether there was one.
    pub(crate) async fn remove(&self, id: &SessionId) -> Result<bool, StoreError> {
        if !self.exists(id).await? {
            return Ok(false);
        }
        self.store.purge(id).await?;
        self.tails.remove(id);
        Ok(true)
    }

    async fn listed(&self, id: SessionId) -> Result<Option<Listed>, StoreError> {
        match self.open(&id).await? {
            Some(Opened { record, sums }) => {
                let created = record.map(|record| record.created_micros);
                let modified_micros = sums.last_micros.or(created).unwrap_or_default();
                Ok(Some(Listed { id, modified_micros }))
            }
            None => Ok(None),
        }
    }

    async fn record(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let json = match self.store.backend().get(&record_key(id), MAX_RECORD).await {
            Ok(json) => json,
            Err(BackendError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let record = serde_json::from_slice(&json).map_err(|error| StoreError::Corrupt {
            reference: record_key(id).to_string(),
            damage: error.to_string(),
        })?;
        Ok(Some(record))
    }

    async fn write_record(
        &self,
        id: &SessionId,
        record: &SessionRecord,
    ) -> Result<Created, StoreError> {
        let json = serde_json::to_vec(record).map_err(|error| StoreError::Invalid {
            field: "session",
            given: error.to_string(),
            expected: "give JSON",
        })?;
        Ok(self.store.backend().create(&record_key(id), json.into()).await?)
    }

    /// Whether there is a result or a message, of a session that was never made or half removed.
    async fn has_content(&self, id: &SessionId) -> Result<bool, StoreError> {
        if self.store.has_results(id).await? {
            return Ok(true);
        }
        let folder = Some(messages(id));
        let options = ListOptions { folder, depth: Depth::All, after: None, limit: 1 };
        Ok(!self.store.backend().list(options).await?.entries.is_empty())
    }

    fn tail(&self, id: &SessionId) -> Arc<Mutex<Tail>> {
        let make = || Ok::<_, std::convert::Infallible>(Arc::default());
        match self.tails.get_or_insert_with(id, make) {
            Ok(tail) => tail,
            Err(never) => match never {},
        }
    }

    fn settled(&self, id: &SessionId, record: Option<&SessionRecord>) -> Settled {
        let tail = self.tail(id);
        let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.settled(incarnation(record))
    }

    /// Lists what comes behind what is settled, and sums up.
    async fn look(
        &self,
        id: &SessionId,
        record: Option<&SessionRecord>,
        known: &Settled,
    ) -> Result<(Sums, Vec<Name>), StoreError> {
        let recent = self.list(id, known.upto.as_ref()).await?;
        let tail = self.tail(id);
        tail.lock().unwrap_or_else(PoisonError::into_inner).learn(
            incarnation(record),
            known,
            &recent,
            Instant::now(),
        );
        let last = recent.last().or(known.upto.as_ref());
        let sums = Sums {
            count: known.count + recent.iter().map(|name| name.count).sum::<u64>(),
            tokens: known.tokens + recent.iter().map(|name| name.tokens).sum::<u64>(),
            last_micros: last.map(|name| name.micros),
        };
        Ok((sums, recent))
    }

    /// The names behind another one, in order. Of what was sent twice, the first counts.
    async fn list(&self, id: &SessionId, upto: Option<&Name>) -> Result<Vec<Name>, StoreError> {
        let mut names: Vec<Name> = Vec::new();
        let mut after = upto.map(ToString::to_string);
        loop {
            let folder = Some(messages(id));
            let options = ListOptions { folder, depth: Depth::Children, after, limit: PAGE };
            let page = self.store.backend().list(options).await?;
            for entry in &page.entries {
                if let Entry::Object { name, .. } = entry {
                    names.extend(Name::parse(name));
                }
            }
            match page.entries.last() {
                Some(last) if page.more => after = Some(last.marker()),
                _ => break,
            }
        }
        let mut uniques = HashSet::new();
        let first: Vec<bool> = names.iter().map(|name| uniques.insert(&name.unique)).collect();
        let mut first = first.into_iter();
        names.retain(|_| first.next().unwrap_or(true));
        Ok(names)
    }

    /// A time later than all that was seen and all that was given here.
    fn next_micros(&self, seen: Option<u64>) -> u64 {
        let least = self.clock.now().max(seen.map_or(0, |seen| seen + 1));
        let last = self
            .last_micros
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(least.max(last + 1)));
        last.map_or(least, |last| least.max(last + 1))
    }
}

fn incarnation(record: Option<&SessionRecord>) -> &str {
    record.map_or("", |record| &record.incarnation)
}

fn record_key(id: &SessionId) -> Key {
    below(id, "session.json")
}

fn messages(id: &SessionId) -> Key {
    below(id, "messages")
}

fn below(id: &SessionId, name: &str) -> Key {
    ResultStore::session_folder(id)
        .join(name)
        .expect("an encoded id is far shorter than a key may be")
}

fn unusable(error: toolstub_store::InvalidKey) -> StoreError {
    StoreError::Backend(BackendError::Other { key: error.given.clone(), source: error.into() })
}

/// 16 hexadecimal digits of chance.
pub(crate) fn chance() -> String {
    let mut bytes = [0; 8];
    // Without chance there is still the time, which differs between all requests of a server.
    if getrandom::fill(&mut bytes).is_err() {
        bytes = micros_of(SystemTime::now()).to_be_bytes();
    }
    format!("{:016x}", u64::from_be_bytes(bytes))
}

/// 16 hexadecimal digits that are the same for the same key.
fn digest(key: &str) -> String {
    use sha2::Digest as _;

    let digest = sha2::Sha256::digest(key.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
