//! Sessions and their messages, kept in the store beside the results.
//!
//! `sessions/{id}/session.json` says what a session is, and never changes. What one request appends
//! is one object below `sessions/{id}/messages/`, written once: several servers append to one session
//! and nothing is lost, since nobody ever writes what another one wrote. A name sorts behind all
//! names that its request had seen, whatever the clocks of the servers say: who sends one message
//! after the other finds them in that order.
//!
//! A session goes with its record: that is removed first, and messages without one are not seen.
//! Whoever appends looks at the record before anything is stored and once more when all is: where it
//! is another one by then, the session was removed in between, and it all begins anew.

mod append;
mod name;
mod record;
mod tail;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use toolstub_core::SessionId;
use toolstub_store::{
    BackendError, Created, Depth, Entry, Key, ListOptions, ResultStore, StoreError,
};

pub(crate) use self::append::{Appended, Begun};
pub(crate) use self::name::Name;
pub(crate) use self::record::SessionRecord;
use self::record::{messages, record_key};
use self::tail::{Plan, Tail, View};

/// How many keys are asked for at once.
const PAGE: usize = 1000;
/// How many objects are read at once.
const CONCURRENCY: usize = 16;
/// The largest object of messages, in bytes.
pub(crate) const MAX_MESSAGES: u64 = 256 << 20;
/// How many bytes of messages' names are remembered.
const TAILS: u64 = 64 << 20;
/// How many bytes of messages are remembered.
const BODIES: u64 = 64 << 20;
/// How often something is begun anew where others are in the way.
pub(crate) const TRIES: usize = 4;
/// How often an object is read whose bytes are wrong.
const READS: usize = 2;

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
    pub(crate) idempotency: Option<Idempotency>,
}

/// By what a request is known if it is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Idempotency {
    pub(crate) key: Vec<u8>,
    /// The digest of the request: another one must not come with the same key.
    pub(crate) request: [u8; 32],
}

/// Sessions and messages in a store.
#[derive(Debug)]
pub(crate) struct Journal {
    store: ResultStore,
    clock: Clock,
    tails: Cache<SessionId, Weighed, ByBytes>,
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

/// What is known of a session, and what that weighed when it was last looked at.
#[derive(Debug, Clone, Default)]
struct Weighed {
    weight: u64,
    tail: Arc<Mutex<Tail>>,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<SessionId, Weighed> for ByBytes {
    fn weight(&self, _: &SessionId, held: &Weighed) -> u64 {
        held.weight + 512
    }
}

impl Weighter<(String, Name), Bytes> for ByBytes {
    fn weight(&self, _: &(String, Name), body: &Bytes) -> u64 {
        body.len() as u64 + 256
    }
}

impl Journal {
    pub(crate) fn new(store: ResultStore, clock: Clock) -> Self {
        Self { store, clock, tails: cache(TAILS), bodies: cache(BODIES) }
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
        for _ in 0..TRIES {
            let look = self.look_from_start(id).await?;
            if self.exists(id).await? {
                return Ok(Created::Existed);
            }
            let record = anew(record);
            self.make(id, &record, look).await?;
            // What counts is the record that is read: an answer may tell of an earlier try of the same
            // request, and a server that ignores conditions lets two of us write.
            match self.record(id).await? {
                Some(made) if made.incarnation == record.incarnation => return Ok(Created::New),
                Some(_) => return Ok(Created::Existed),
                None => {}
            }
        }
        Err(busy(id))
    }

    /// A session with what its messages come to; `None` if there is none.
    pub(crate) async fn open(&self, id: &SessionId) -> Result<Option<Opened>, StoreError> {
        Ok(match self.view(id).await? {
            Some((record, view)) => Some(Opened { sums: view.sums(), record: Some(record) }),
            None if self.store.has_results(id).await? => {
                Some(Opened { record: None, sums: Sums::default() })
            }
            None => None,
        })
    }

    /// Whether there is a session: one that was made, or one that has results.
    pub(crate) async fn exists(&self, id: &SessionId) -> Result<bool, StoreError> {
        Ok(self.record(id).await?.is_some() || self.store.has_results(id).await?)
    }

    /// The names of all that was appended to a session, in order; `None` if there is no session.
    pub(crate) async fn names(&self, id: &SessionId) -> Result<Option<Vec<Name>>, StoreError> {
        Ok(match self.view(id).await? {
            Some((_, view)) => Some(view.names()),
            None => self.store.has_results(id).await?.then(Vec::new),
        })
    }

    /// The messages under a name, as JSON texts; `None` if they are gone.
    pub(crate) async fn read(
        &self,
        id: &SessionId,
        name: &Name,
    ) -> Result<Option<Bytes>, StoreError> {
        let at = (id.encoded().to_owned(), *name);
        if let Some(body) = self.bodies.get(&at) {
            return Ok(Some(body));
        }
        let key = message_key(id, name)?;
        for _ in 0..READS {
            match self.store.backend().get(&key, MAX_MESSAGES).await {
                Ok(body) if crc32c::crc32c(&body) == name.crc32c => {
                    self.bodies.insert(at, body.clone());
                    return Ok(Some(body));
                }
                // It may have been a wrong bit on the way.
                Ok(_) => {}
                Err(BackendError::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        let damage = "its bytes do not add up to the checksum in its name".to_owned();
        Err(StoreError::Corrupt { reference: key.to_string(), damage })
    }

    /// All sessions, by id.
    pub(crate) async fn sessions(&self) -> Result<Vec<Listed>, StoreError> {
        let (ids, _) = self.store.sessions(usize::MAX).await?;
        let mut work = Vec::with_capacity(ids.len());
        for id in ids {
            work.push(self.listed(id).boxed());
        }
        let listed: Vec<_> =
            futures::stream::iter(work).buffered(CONCURRENCY).try_collect().await?;
        Ok(listed.into_iter().flatten().collect())
    }

    /// Removes a session with all that it has; says whether there was one.
    ///
    /// When the record is gone, so is the session; what else there was then goes, the messages before
    /// what they refer to. What breaks off can be done again.
    pub(crate) async fn remove(&self, id: &SessionId) -> Result<bool, StoreError> {
        let has_record = match self.record(id).await {
            Ok(record) => record.is_some(),
            // A damaged record is no reason to keep it.
            Err(error) if concerns_one_session(&error) => true,
            Err(error) => return Err(error),
        };
        if !has_record
            && !self.store.has_results(id).await?
            && self.look_from_start(id).await?.names.is_empty()
        {
            return Ok(false);
        }
        for _ in 0..TRIES {
            self.store.backend().delete(&record_key(id)).await?;
            self.tails.remove(id);
            let look = self.look_from_start(id).await?;
            self.remove_messages(id, &look.names).await?;
            match self.store.purge(id).await {
                // Somebody begins the session anew while it goes.
                Err(StoreError::Busy { .. }) => {}
                purged => return purged.map(|_| true),
            }
        }
        // What was begun anew has lost results; so it must not be seen.
        self.store.backend().delete(&record_key(id)).await?;
        Err(busy(id))
    }

    async fn listed(&self, id: SessionId) -> Result<Option<Listed>, StoreError> {
        match self.open(&id).await {
            Ok(Some(Opened { record, sums })) => {
                let created = record.map(|record| record.created_micros);
                let modified_micros = match sums.last_micros.or(created) {
                    Some(micros) => micros,
                    None => self.last_write(&id).await?,
                };
                Ok(Some(Listed { id, modified_micros }))
            }
            Ok(None) => Ok(None),
            Err(error) if concerns_one_session(&error) => {
                // Others are not to blame; whoever asks for this one is told.
                tracing::error!(session = id.as_str(), %error, "a session cannot be read");
                Ok(Some(Listed { id, modified_micros: 0 }))
            }
            Err(error) => Err(error),
        }
    }

    /// When the last of the first objects of a session was written.
    async fn last_write(&self, id: &SessionId) -> Result<u64, StoreError> {
        let folder = Some(ResultStore::session_folder(id));
        let options = ListOptions { folder, depth: Depth::All, after: None, limit: PAGE };
        let page = self.store.backend().list(options).await?;
        let times = page.entries.iter().filter_map(|entry| match entry {
            Entry::Object { head, .. } => Some(micros_of(head.modified)),
            Entry::Folder { .. } => None,
        });
        Ok(times.max().unwrap_or_default())
    }

    /// A session's record with all of its messages; `None` without a record.
    async fn view(&self, id: &SessionId) -> Result<Option<(SessionRecord, View)>, StoreError> {
        // In this order: see `begin`.
        let Some(record) = self.record(id).await? else { return Ok(None) };
        let look = self.look(id, true).await?;
        let view = self.learn(id, &record, look).await?;
        Ok(Some((record, view)))
    }

    /// Writes a session's record, if there is none.
    ///
    /// What was seen before there was no record belongs to no session any more; it must not come
    /// to belong to the new one.
    async fn make(
        &self,
        id: &SessionId,
        record: &SessionRecord,
        look: Look,
    ) -> Result<Created, StoreError> {
        let look = if look.plan.from.is_none() {
            look
        } else {
            let look = self.look_from_start(id).await?;
            if self.record(id).await?.is_some() {
                return Ok(Created::Existed);
            }
            look
        };
        self.remove_messages(id, &look.names).await?;
        self.write_record(id, record).await
    }

    async fn remove_messages(&self, id: &SessionId, names: &[Name]) -> Result<(), StoreError> {
        let mut work = Vec::with_capacity(names.len());
        for name in names {
            let key = message_key(id, name)?;
            work.push(async move { self.store.backend().delete(&key).await }.boxed());
        }
        let work = futures::stream::iter(work).buffer_unordered(CONCURRENCY);
        work.try_collect::<()>().await?;
        Ok(())
    }

    fn tail(&self, id: &SessionId) -> Arc<Mutex<Tail>> {
        let make = || Ok::<_, std::convert::Infallible>(Weighed::default());
        match self.tails.get_or_insert_with(id, make) {
            Ok(Weighed { tail, .. }) => tail,
            Err(never) => match never {},
        }
    }

    /// Lists the messages, `exactly` all that are not settled, or the end.
    async fn look(&self, id: &SessionId, exactly: bool) -> Result<Look, StoreError> {
        let plan = lock(&self.tail(id)).plan(exactly, Instant::now());
        self.look_by(id, plan).await
    }

    async fn look_from_start(&self, id: &SessionId) -> Result<Look, StoreError> {
        self.look_by(id, Plan::from_start(Instant::now())).await
    }

    async fn look_by(&self, id: &SessionId, plan: Plan) -> Result<Look, StoreError> {
        let began_micros = self.clock.now();
        let names = self.list(id, plan.from).await?;
        Ok(Look { plan, names, began_micros, ended: Instant::now() })
    }

    /// Takes note of what was listed of a session; what is known of it then.
    async fn learn(
        &self,
        id: &SessionId,
        record: &SessionRecord,
        look: Look,
    ) -> Result<View, StoreError> {
        if let Some(view) = self.note(id, record, &look) {
            return Ok(view);
        }
        let look = self.look_from_start(id).await?;
        let view = self.note(id, record, &look);
        Ok(view.unwrap_or_else(|| View::of(look.names, look.ended)))
    }

    fn note(&self, id: &SessionId, record: &SessionRecord, look: &Look) -> Option<View> {
        let tail = self.tail(id);
        let (view, weight) = {
            let mut tail = lock(&tail);
            let names = look.names.clone();
            let view = tail.learn(&record.incarnation, &look.plan, names, look.ended)?;
            (view, tail.weight())
        };
        if self.tails.peek(id).is_none_or(|held| weight > 2 * held.weight) {
            self.tails.insert(id.clone(), Weighed { weight, tail });
        }
        Some(view)
    }

    /// The names of a time and later, in order, as they are.
    async fn list(&self, id: &SessionId, from: Option<u64>) -> Result<Vec<Name>, StoreError> {
        let mut names: Vec<Name> = Vec::new();
        // A server of S3 is asked more than once for what a marker with a dash or a dot may hide.
        let mut after = from.map(Name::marker);
        loop {
            let folder = Some(messages(id));
            let options =
                ListOptions { folder, depth: Depth::Children, after: after.clone(), limit: PAGE };
            let page = self.store.backend().list(options).await?;
            let first = names.len();
            for entry in &page.entries {
                if let Entry::Object { name, .. } = entry {
                    names.extend(Name::parse(name));
                }
            }
            let Some(last) = page.entries.last().filter(|_| page.more) else { break };
            // The names of the last time come once more, unless there is nothing else.
            let next = names[first..].last().map(|name| Name::marker(name.micros));
            match next.filter(|next| after.as_ref().is_none_or(|after| next > after)) {
                Some(next) => {
                    let micros = names.last().map_or(0, |name| name.micros);
                    names.truncate(names.partition_point(|name| name.micros < micros));
                    after = Some(next);
                }
                None => after = Some(last.marker()),
            }
        }
        Ok(names)
    }
}

/// The record of another session of the same id.
///
/// Each attempt has one of its own: the one before may have been seen, appended to, and removed.
fn anew(record: &SessionRecord) -> SessionRecord {
    SessionRecord { incarnation: chance(), ..record.clone() }
}

/// What was listed.
#[derive(Debug)]
struct Look {
    plan: Plan,
    names: Vec<Name>,
    began_micros: u64,
    ended: Instant,
}

/// A cache of so many bytes, of which one entry may take as much as all together.
fn cache<K: std::hash::Hash + Eq, V: Clone>(bytes: u64) -> Cache<K, V, ByBytes>
where
    ByBytes: Weighter<K, V>,
{
    let mut options = OptionsBuilder::new();
    options.shards(1).estimated_items_capacity(10_000).weight_capacity(bytes);
    let options = options.build().expect("all that has to be given is given");
    Cache::with_options(
        options,
        ByBytes,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

/// Whether an error is about what one session has in the store.
fn concerns_one_session(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt { .. }
            | StoreError::Backend(BackendError::TooLarge { .. } | BackendError::Misplaced { .. })
    )
}

// Nothing can panic while the lock is held, so what a poisoned lock guards is whole.
fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message_key(id: &SessionId, name: &Name) -> Result<Key, StoreError> {
    messages(id).join(&name.to_string()).map_err(|error| {
        BackendError::Other { key: error.given.clone(), source: error.into() }.into()
    })
}

fn busy(id: &SessionId) -> StoreError {
    StoreError::Busy { folder: ResultStore::session_folder(id).to_string() }
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
