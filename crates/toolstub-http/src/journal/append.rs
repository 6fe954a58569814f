//! Appending.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use toolstub_core::SessionId;
use toolstub_store::{Body, Created, StoreError};

use super::name::{Name, Unique};
use super::tail::{LATE, View};
use super::{
    Batch, Idempotency, Journal, Look, MAX_MESSAGES, SessionRecord, Sums, TRIES, anew, busy, lock,
    message_key,
};

/// After how long it is looked anew at what there is before something is appended.
const FRESH: Duration = Duration::from_secs(1);

/// A session that something is to be appended to, as it was found before anything was stored.
#[derive(Debug)]
pub(crate) struct Begun {
    id: SessionId,
    record: SessionRecord,
    view: View,
    /// When it was looked at what there is, by the clock.
    began_micros: u64,
}

/// What came of appending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Appended {
    /// What all messages come to.
    pub(crate) sums: Sums,
    /// Whether the same request had been there before.
    pub(crate) is_repeat: bool,
}

impl Begun {
    /// The last names in the session, at most so many, in order.
    pub(crate) fn last(&self, most: usize) -> Vec<Name> {
        self.view.last(most)
    }
}

impl Journal {
    /// Begins to append, before any results of the messages are stored.
    ///
    /// A session that is not there is made, of `record`.
    pub(crate) async fn begin(
        &self,
        id: &SessionId,
        record: &SessionRecord,
    ) -> Result<Begun, StoreError> {
        for _ in 0..TRIES {
            // The record comes first: what is seen after it belongs to that session, or to a later one
            // that nothing is learnt of.
            if let Some(found) = self.record(id).await? {
                let look = self.look(id, false).await?;
                let began_micros = look.began_micros;
                let view = self.learn(id, &found, look).await?;
                return Ok(Begun { id: id.clone(), record: found, view, began_micros });
            }
            // What there is before there is no record belongs to no session any more.
            let look = self.look_from_start(id).await?;
            let began_micros = look.began_micros;
            if self.record(id).await?.is_some() {
                continue;
            }
            let (plan, ended) = (super::Plan::from_start(Instant::now()), look.ended);
            let record = anew(record);
            if self.make(id, &record, look).await? == Created::New {
                let nothing = Look { plan, names: Vec::new(), began_micros, ended };
                let view = self.learn(id, &record, nothing).await?;
                return Ok(Begun { id: id.clone(), record, view, began_micros });
            }
        }
        Err(busy(id))
    }

    /// Appends what one request brings, wholly or not at all; says what all messages come to then.
    ///
    /// `None` if the session was removed since it was begun, or too much time went by: the results of
    /// the messages may be gone, and it is all to be done anew.
    pub(crate) async fn append(
        &self,
        begun: Begun,
        batch: Batch,
    ) -> Result<Option<Appended>, StoreError> {
        let Begun { id, record, mut view, mut began_micros } = begun;
        if batch.lines.is_empty() {
            return Ok(Some(Appended { sums: view.sums(), is_repeat: false }));
        }
        if view.began.elapsed() >= FRESH {
            let look = self.look(&id, false).await?;
            began_micros = look.began_micros;
            view = self.learn(&id, &record, look).await?;
        }
        let mut sums = view.sums();
        let unique = match &batch.idempotency {
            Some(given) => Unique::of_key(digest(&[record.incarnation.as_bytes(), &given.key])),
            None => Unique::of_chance(digest(&[super::chance().as_bytes()])),
        };
        let count = batch.lines.len() as u64;
        let mut is_repeat = false;
        if let Some(given) = &batch.idempotency
            && let Some(name) = view.found(unique)
        {
            match self.other(&id, &name, given).await? {
                // The first attempt came through, and its answer did not. What it refers to was just
                // stored once more, if it was gone.
                Other::Same if view.has_settled(unique) => {
                    let is_there = self.is_still(&id, &record).await?;
                    return Ok(is_there.then_some(Appended { sums, is_repeat: true }));
                }
                // It may still be taken back: this one then counts in its place.
                Other::Same => is_repeat = true,
                Other::Gone => {
                    sums.count = sums.count.saturating_sub(name.count);
                    sums.tokens = sums.tokens.saturating_sub(name.tokens);
                }
                Other::Different => return Err(key_in_use()),
            }
        }
        let mut body = batch.lines.join("\n");
        body.push('\n');
        if let Some(Idempotency { request, .. }) = &batch.idempotency {
            // With chance in it no two requests come to one name, of which one could take back both.
            let _ = writeln!(body, "{} {}", note_of(request), super::chance());
        }
        if body.len() as u64 > MAX_MESSAGES {
            return Err(StoreError::Invalid {
                field: "messages",
                given: format!("of {} bytes as they are kept", body.len()),
                expected: "send less at once",
            });
        }
        let body = Bytes::from(body);
        let micros = lock(&self.tail(&id)).give(self.clock.now(), sums.last_micros);
        let crc32c = crc32c::crc32c(&body);
        let name = Name { micros, unique, count, tokens: batch.tokens, crc32c };
        let key = message_key(&id, &name)?;
        self.store.backend().put(&key, Body::Bytes(body.clone())).await?;
        let micros_gone = self.clock.now().saturating_sub(began_micros);
        let is_late = view.began.elapsed().max(Duration::from_micros(micros_gone)) >= LATE;
        if is_late || !self.is_still(&id, &record).await? {
            self.store.backend().delete(&key).await?;
            return Ok(None);
        }
        if let Some(given) = &batch.idempotency {
            // Another request may have come with the same key at this very moment. Which of the two
            // was acknowledged nobody knows, so neither is: each takes itself back.
            let look = self.look(&id, true).await?;
            let others = look.names.iter().filter(|other| other.unique == unique);
            for other in others.filter(|other| **other != name) {
                if self.other(&id, other, given).await? == Other::Different {
                    self.store.backend().delete(&key).await?;
                    return Err(key_in_use());
                }
            }
        }
        lock(&self.tail(&id)).add(&record.incarnation, name);
        self.bodies.insert((id.encoded().to_owned(), name), body);
        if !is_repeat {
            sums.count += count;
            sums.tokens += batch.tokens;
        }
        sums.last_micros = Some(micros);
        Ok(Some(Appended { sums, is_repeat }))
    }

    /// What another request with the same key was.
    async fn other(
        &self,
        id: &SessionId,
        name: &Name,
        given: &Idempotency,
    ) -> Result<Other, StoreError> {
        Ok(match self.read(id, name).await? {
            None => Other::Gone,
            Some(kept) if is_noted(&kept, &given.request) => Other::Same,
            Some(_) => Other::Different,
        })
    }

    /// Whether a session is the one that it was.
    async fn is_still(&self, id: &SessionId, was: &SessionRecord) -> Result<bool, StoreError> {
        let is = self.record(id).await?;
        Ok(is.is_some_and(|is| is.incarnation == was.incarnation))
    }
}

/// A request whose key is that of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    /// It asked for the same.
    Same,
    Different,
    /// It was taken back.
    Gone,
}

fn key_in_use() -> StoreError {
    StoreError::Conflict { reference: "this Idempotency-Key".to_owned() }
}

/// What is noted behind the messages of a request with a key: a line that is no message.
fn note_of(request: &[u8; 32]) -> String {
    let mut note = String::from("#request ");
    for byte in request {
        let _ = write!(note, "{byte:02x}");
    }
    note
}

/// Whether the last line of what is kept notes this request.
fn is_noted(kept: &[u8], request: &[u8; 32]) -> bool {
    let kept = kept.strip_suffix(b"\n").unwrap_or(kept);
    let last = kept.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    last.starts_with(note_of(request).as_bytes())
}

/// 64 bits that are the same for the same texts.
fn digest(texts: &[&[u8]]) -> u64 {
    use sha2::Digest as _;

    let mut digest = sha2::Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    let digest = digest.finalize();
    digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}
