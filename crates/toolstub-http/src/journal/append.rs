//! Appending.

use std::time::{Duration, Instant};

use bytes::Bytes;
use toolstub_core::SessionId;
use toolstub_store::{Body, Created, StoreError};

use crate::message::lines_of;

use super::name::{Name, Unique};
use super::tail::{LATE, View};
use super::{
    Batch, Journal, Look, MAX_MESSAGES, SessionRecord, Sums, TRIES, anew, busy, lock, message_key,
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
    ) -> Result<Option<Sums>, StoreError> {
        let Begun { id, record, mut view, mut began_micros } = begun;
        if batch.lines.is_empty() {
            return Ok(Some(view.sums()));
        }
        if view.began.elapsed() >= FRESH {
            let look = self.look(&id, false).await?;
            began_micros = look.began_micros;
            view = self.learn(&id, &record, look).await?;
        }
        let sums = view.sums();
        let unique = match &batch.idempotency {
            Some(key) => Unique::of_key(digest(&[record.incarnation.as_bytes(), key])),
            None => Unique::of_chance(digest(&[super::chance().as_bytes()])),
        };
        if batch.idempotency.is_some() && view.holds(unique) {
            // The first attempt came through, and its answer did not. What it refers to was just
            // stored once more, if it was gone.
            if let Some(name) = view.found(unique)
                && let Some(kept) = self.read(&id, &name).await?
                && !are_same(&kept, &batch.lines)
            {
                return Err(StoreError::Conflict { reference: "this Idempotency-Key".to_owned() });
            }
            return Ok(self.is_still(&id, &record).await?.then_some(sums));
        }

        let count = batch.lines.len() as u64;
        let mut body = batch.lines.join("\n");
        body.push('\n');
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
        lock(&self.tail(&id)).add(&record.incarnation, name);
        self.bodies.insert((id.encoded().to_owned(), name), body);
        Ok(Some(Sums {
            count: sums.count + count,
            tokens: sums.tokens + batch.tokens,
            last_micros: Some(micros),
        }))
    }

    /// Whether a session is the one that it was.
    async fn is_still(&self, id: &SessionId, was: &SessionRecord) -> Result<bool, StoreError> {
        let is = self.record(id).await?;
        Ok(is.is_some_and(|is| is.incarnation == was.incarnation))
    }
}

/// Whether kept messages are the ones that came again: their ids and times are others.
fn are_same(kept: &[u8], lines: &[String]) -> bool {
    let of_kept = lines_of(kept).map(|line| std::str::from_utf8(line).ok().and_then(content));
    of_kept.eq(lines.iter().map(|line| content(line)))
}

/// What a message says, without its id.
fn content(line: &str) -> Option<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Message<'a> {
        id: String,
        role: String,
        #[serde(borrow)]
        parts: &'a serde_json::value::RawValue,
    }
    let message: Message<'_> = serde_json::from_str(line).ok()?;
    Some((message.role, message.parts.get().replace(&message.id, "")))
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
