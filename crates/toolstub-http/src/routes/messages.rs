//! Messages: taken in, shortened, appended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{Request, State};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use serde_json::json;
use serde_json::value::RawValue;
use toolstub_core::SessionId;
use toolstub_session::{Outcome, Owner, Part, ToolPart};
use toolstub_store::{ResultStore, StoreError};

use super::{Answer, At, Shared};
use crate::ask::{self, Faults, Fields};
use crate::body::at_length;
use crate::envelope;
use crate::journal::{Appended, Batch, Begun, Idempotency, Sums, TRIES, chance};
use crate::message::{Incoming, steps, tool_parts};
use crate::problem::{Code, Problem};
use crate::service::{Service, to_its_end};
use crate::times;

/// The most messages of one batch.
const MAX_BATCH: usize = 100;
/// The most parts of all messages of one request.
const MAX_PARTS: usize = 10_000;
/// How many turns of a batch are shortened at once.
const CONCURRENCY: usize = 8;
/// How far back the steps of a turn are looked for, in requests.
const LOOK_BACK: usize = 256;
/// How far back in bytes of messages, about.
const LOOK_BACK_BYTES: usize = 64 << 20;

/// Appends a message; a session that is not there is made.
///
/// Tool parts whose output is oversized are kept with a stub in its place. With the header
/// `Idempotency-Key`, a request that is sent again is appended once.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session_id}/messages", operation_id = "append_message", tag = "messages",
    params(("session_id" = String, Path)),
    request_body(content = serde_json::Value, description = "`{role, content? | parts?, created_at?, peer_id?, turn_id?, message_kind?, source_message_ids?}`"),
    responses((status = 200, description = "`{session_id, message_count, pending_tokens}`"), (status = 400), (status = 412, description = "an original could not be stored, and the failure mode is to reject"))
)]
pub(super) async fn append(
    State(service): Shared,
    At(given): At<String>,
    request: Request,
) -> Answer {
    let (parts, body) = request.into_parts();
    let taken = service.take_object(&parts, body).await?;
    let fields = taken.fields.as_ref();
    let mut faults = Faults::default();
    let messages = at_length(taken.size, || one(fields, &mut faults));
    faults.check()?;
    let id = Service::session_id(&given)?;
    let again = || one(fields, &mut Faults::default());
    let sums = service.append(&id, messages, again, taken.idempotency.as_ref()).await?;
    Ok(envelope::ok(&json!({
        "session_id": id.as_str(),
        "message_count": sums.count,
        "pending_tokens": sums.tokens,
    })))
}

/// Appends up to 100 messages, all or none.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session_id}/messages/batch", operation_id = "append_messages", tag = "messages",
    params(("session_id" = String, Path)),
    request_body(content = serde_json::Value, description = "`{messages: […]}`, each as for a single one"),
    responses((status = 200, description = "`{session_id, message_count, added, pending_tokens}`"), (status = 400))
)]
pub(super) async fn append_batch(
    State(service): Shared,
    At(given): At<String>,
    request: Request,
) -> Answer {
    let (parts, body) = request.into_parts();
    let taken = service.take_object(&parts, body).await?;
    let fields = taken.fields.as_ref();
    let mut faults = Faults::default();
    let messages = at_length(taken.size, || several(fields, &mut faults));
    faults.check()?;
    let id = Service::session_id(&given)?;
    let added = messages.len();
    let again = || several(fields, &mut Faults::default());
    let sums = service.append(&id, messages, again, taken.idempotency.as_ref()).await?;
    Ok(envelope::ok(&json!({
        "session_id": id.as_str(),
        "message_count": sums.count,
        "added": added,
        "pending_tokens": sums.tokens,
    })))
}

/// The message of a body.
fn one(fields: Option<&Fields>, faults: &mut Faults) -> Vec<Incoming> {
    if let Some(fields) = fields {
        return Incoming::read(fields, &["body"], faults).into_iter().collect();
    }
    faults.add(&["body"], "Field required", "missing");
    Vec::new()
}

/// The messages of a batch.
fn several(fields: Option<&Fields>, faults: &mut Faults) -> Vec<Incoming> {
    let Some(fields) = fields else {
        faults.add(&["body"], "Field required", "missing");
        return Vec::new();
    };
    let at = ["body", "messages"];
    match fields.get("messages") {
        None => faults.add(&at, "Field required", "missing"),
        Some(value) if value.get() == "null" => {
            faults.add(&at, "Input should be a valid list", "list_type");
        }
        Some(_) => {}
    }
    let listed = ask::list(fields, "messages", &["body"], faults).unwrap_or_default();
    if listed.len() > MAX_BATCH {
        let message = format!(
            "List should have at most {MAX_BATCH} items after validation, not {}",
            listed.len()
        );
        faults.add(&at, message, "too_long");
        return Vec::new();
    }
    let mut parts = 0;
    let mut messages = Vec::with_capacity(listed.len());
    for (nth, message) in listed.iter().enumerate() {
        let nth = nth.to_string();
        let at = [at[0], at[1], &nth];
        if let Ok(fields) = ask::fields(message) {
            let message = Incoming::read(&fields, &at, faults);
            parts += message.as_ref().map_or(0, |message| message.parts.len());
            if parts > MAX_PARTS {
                let message =
                    format!("the messages should have at most {MAX_PARTS} parts together");
                faults.add(&at, message, "too_long");
                return Vec::new();
            }
            messages.extend(message);
        } else {
            ask::not_an_object(faults, &at);
        }
    }
    messages
}

/// Whether messages of several turns have the same output for the same tool id.
fn repeats(turns: &[Vec<(&mut Incoming, &str)>]) -> bool {
    let mut known = HashSet::new();
    turns.iter().flatten().any(|(message, _)| {
        message.parts.iter().any(|part| match part {
            Part::Tool(part) => {
                let raw = |name| part.field(name).map(RawValue::get);
                let output = raw("tool_output");
                output.is_some() && !known.insert((raw("tool_id"), output))
            }
            Part::Other(_) => false,
        })
    })
}

impl Service {
    /// Shortens messages and appends them, all or none.
    ///
    /// Where the session is removed meanwhile, what it comes to was stored for nothing. Then the
    /// messages are read `again`, and appended to a new session.
    async fn append(
        self: &Arc<Self>,
        id: &SessionId,
        mut messages: Vec<Incoming>,
        again: impl Fn() -> Vec<Incoming>,
        idempotency: Option<&Idempotency>,
    ) -> Result<Sums, Problem> {
        messages.iter().try_for_each(Incoming::check)?;
        let now = times::micros(self.journal.clock().now());
        let ids: Vec<_> =
            messages.iter().map(|_| format!("msg_{}{}", chance(), chance())).collect();
        for _ in 0..TRIES {
            let begun = self.journal.begin(id, &self.record(id)).await?;
            let mut batch = self.shortened(id, &begun, messages, &ids, &now).await?;
            batch.idempotency = idempotency.cloned();
            let count = batch.lines.len() as u64;
            let service = Arc::clone(self);
            let work = async move { service.journal.append(begun, batch).await };
            if let Some(Appended { sums, is_repeat }) = to_its_end(work).await? {
                self.metrics.messages_appended.inc_by(if is_repeat { 0 } else { count });
                return Ok(sums);
            }
            tracing::warn!(session = id.as_str(), "removed while it was appended to; once more");
            messages = again();
        }
        let folder = ResultStore::session_folder(id).to_string();
        Err(StoreError::Busy { folder }.into())
    }

    /// The messages as they are kept, with stubs in place of what is oversized.
    async fn shortened(
        &self,
        id: &SessionId,
        begun: &Begun,
        mut messages: Vec<Incoming>,
        ids: &[String],
        now: &str,
    ) -> Result<Batch, Problem> {
        // The messages of one turn come after each other; turns do not know of each other.
        let mut turns: Vec<Vec<(&mut Incoming, &str)>> = Vec::new();
        for (message, message_id) in messages.iter_mut().zip(ids) {
            let is_same = |turn: &&mut Vec<(&mut Incoming, &str)>| {
                turn[0].0.turn().is_some_and(|turn| Some(turn) == message.turn())
            };
            match turns.iter_mut().find(is_same) {
                Some(turn) => turn.push((message, message_id)),
                None => turns.push(vec![(message, message_id)]),
            }
        }
        let has_output = |turn: &Vec<(&mut Incoming, &str)>| {
            turn.iter().any(|(message, _)| message.has_output())
        };
        let named = turns.iter().filter(|turn| has_output(turn));
        let named = named.filter_map(|turn| Some((turn[0].0.turn()?.to_owned(), Vec::new())));
        let mut earlier = self.earlier(id, begun, named.collect()).await?;
        // Where the same comes twice, its record is the first one's: not of whoever is faster.
        let concurrency = if repeats(&turns) { 1 } else { CONCURRENCY };
        let mut work = Vec::with_capacity(turns.len());
        for turn in turns {
            let earlier = turn[0].0.turn().and_then(|turn| earlier.remove(turn));
            work.push(self.shorten(id, turn, earlier.unwrap_or_default(), now).boxed());
        }
        futures::stream::iter(work).buffer_unordered(concurrency).try_collect::<()>().await?;

        let mut lines = Vec::with_capacity(messages.len());
        let mut tokens = 0;
        for (message, message_id) in messages.iter().zip(ids) {
            tokens += message.tokens();
            lines.push(message.to_line(message_id, now).map_err(|error| {
                Problem::short(Code::Internal, format!("the message cannot be written: {error}"))
            })?);
        }
        Ok(Batch { lines, tokens, idempotency: None })
    }

    /// Puts stubs in place of what is oversized in the messages of one turn.
    async fn shorten(
        &self,
        id: &SessionId,
        turn: Vec<(&mut Incoming, &str)>,
        mut earlier: Vec<ToolPart>,
        now: &str,
    ) -> Result<(), Problem> {
        let mut left = turn.len();
        for (message, message_id) in turn {
            let session = self.session(id, message.peer_id.clone(), message.time(now));
            let (mut parts, places) = message.take_tool_parts();
            let done =
                session.externalize_parts(message_id, &earlier, &mut parts, Owner::Session).await;
            left -= 1;
            if left > 0 {
                earlier.extend(parts.iter().cloned());
            }
            message.put_tool_parts(parts, places);
            for outcome in &done?.outcomes {
                match outcome {
                    Outcome::Replaced(stub) => self.metrics.externalized(stub),
                    Outcome::Kept { error: Some(_) } => {
                        self.metrics.failures.inc();
                    }
                    Outcome::Kept { .. } => {}
                }
            }
        }
        Ok(())
    }

    /// The tool parts of the earlier steps of some turns, of each in order.
    ///
    /// It is looked back once for all of them, and only so far: the steps of a turn come soon after
    /// each other.
    async fn earlier(
        &self,
        id: &SessionId,
        begun: &Begun,
        mut turns: HashMap<String, Vec<ToolPart>>,
    ) -> Result<HashMap<String, Vec<ToolPart>>, Problem> {
        if turns.is_empty() {
            return Ok(turns);
        }
        let names = begun.last(LOOK_BACK);
        let mut work = Vec::with_capacity(names.len());
        for name in names.iter().rev() {
            work.push(self.journal.read(id, name).boxed());
        }
        let mut objects = futures::stream::iter(work).buffered(CONCURRENCY);
        let (mut latest_first, mut bytes) = (Vec::new(), 0);
        while let Some(object) = objects.next().await {
            let object = object?.unwrap_or_default();
            let mut found = Vec::new();
            steps(&object, |turn, parts| {
                if turns.contains_key(turn) {
                    found.push((turn.to_owned(), tool_parts(parts)));
                }
            });
            latest_first.push(found);
            bytes += object.len();
            if bytes >= LOOK_BACK_BYTES {
                break;
            }
        }
        for (turn, parts) in latest_first.into_iter().rev().flatten() {
            if let Some(earlier) = turns.get_mut(&turn) {
                earlier.extend(parts);
            }
        }
        Ok(turns)
    }
}
