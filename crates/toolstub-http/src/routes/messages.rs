//! Messages: taken in, shortened, appended.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use serde_json::json;
use toolstub_core::SessionId;
use toolstub_session::{Outcome, Owner, Part, ToolPart};

use super::{Answer, At, Shared};
use crate::ask::{self, Faults};
use crate::envelope;
use crate::journal::{Batch, Sums, chance};
use crate::message::{Incoming, turn_parts};
use crate::problem::{Code, Problem};
use crate::service::Service;
use crate::times;

/// The most messages of one batch.
const MAX_BATCH: usize = 100;
/// How many turns of a batch are shortened at once.
const CONCURRENCY: usize = 8;
/// How far back the steps of a turn are looked for, in requests.
const LOOK_BACK: usize = 64;

/// Appends a message; a session that is not there is made.
///
/// Tool parts whose output is oversized are kept with a stub in its place. With the header
/// `Idempotency-Key`, a request that is sent again within ten minutes is appended once.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session_id}/messages", tag = "messages",
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
    let fields = service.take_object(&parts, body).await?;
    let mut faults = Faults::default();
    let message = match &fields {
        Some(fields) => Incoming::read(fields, &["body"], &mut faults),
        None => {
            faults.add(&["body"], "Field required", "missing");
            None
        }
    };
    faults.check()?;
    let id = Service::session_id(&given)?;
    let sums = service.append(&id, message.into_iter().collect(), &parts.headers).await?;
    Ok(envelope::ok(&json!({
        "session_id": id.as_str(),
        "message_count": sums.count,
        "pending_tokens": sums.tokens,
    })))
}

/// Appends up to 100 messages, all or none.
#[utoipa::path(
    post, path = "/api/v1/sessions/{session_id}/messages/batch", tag = "messages",
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
    let fields = service.take_object(&parts, body).await?;
    let mut faults = Faults::default();
    let mut messages = Vec::new();
    if let Some(fields) = &fields {
        let at = &["body", "messages"];
        match fields.get("messages") {
            None => faults.add(at, "Field required", "missing"),
            Some(value) if value.get() == "null" => {
                faults.add(at, "Input should be a valid list", "list_type");
            }
            Some(_) => {
                let listed = ask::list(fields, "messages", &["body"], &mut faults);
                let listed = listed.unwrap_or_default();
                if listed.len() > MAX_BATCH {
                    let message = format!(
                        "List should have at most {MAX_BATCH} items after validation, not {}",
                        listed.len()
                    );
                    faults.add(at, message, "too_long");
                } else {
                    for (nth, message) in listed.iter().enumerate() {
                        let at = ["body", "messages", &nth.to_string()];
                        match ask::fields(message) {
                            Ok(fields) => {
                                messages.extend(Incoming::read(&fields, &at, &mut faults))
                            }
                            Err(_) => ask::not_an_object(&mut faults, &at),
                        }
                    }
                }
            }
        }
    } else {
        faults.add(&["body"], "Field required", "missing");
    }
    faults.check()?;
    let id = Service::session_id(&given)?;
    let added = messages.len();
    let sums = service.append(&id, messages, &parts.headers).await?;
    Ok(envelope::ok(&json!({
        "session_id": id.as_str(),
        "message_count": sums.count,
        "added": added,
        "pending_tokens": sums.tokens,
    })))
}

impl Service {
    /// Shortens messages and appends them, all or none.
    async fn append(
        self: &Arc<Self>,
        id: &SessionId,
        mut messages: Vec<Incoming>,
        headers: &HeaderMap,
    ) -> Result<Sums, Problem> {
        let idempotency = headers
            .get("idempotency-key")
            .map(|key| format!("{id}\n{}", String::from_utf8_lossy(key.as_bytes())));
        messages.iter().try_for_each(Incoming::check)?;
        let now = times::micros(self.journal.clock().now());
        let ids: Vec<_> =
            messages.iter().map(|_| format!("msg_{}{}", chance(), chance())).collect();

        // The messages of one turn come after each other; turns do not know of each other.
        let mut turns: Vec<Vec<(&mut Incoming, &str)>> = Vec::new();
        for (message, message_id) in messages.iter_mut().zip(&ids) {
            let is_same = |turn: &&mut Vec<(&mut Incoming, &str)>| {
                turn[0].0.turn().is_some_and(|turn| Some(turn) == message.turn())
            };
            match turns.iter_mut().find(is_same) {
                Some(turn) => turn.push((message, message_id)),
                None => turns.push(vec![(message, message_id)]),
            }
        }
        let mut work = Vec::with_capacity(turns.len());
        for turn in turns {
            work.push(self.shorten(id, turn, &now).boxed());
        }
        futures::stream::iter(work).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;

        let mut lines = Vec::with_capacity(messages.len());
        let mut tokens = 0;
        for (message, message_id) in messages.iter().zip(&ids) {
            tokens += message.tokens();
            lines.push(message.to_line(message_id, &now).map_err(|error| {
                Problem::short(Code::Internal, format!("the message cannot be written: {error}"))
            })?);
        }
        let count = lines.len() as u64;
        let record = self.record(id);
        let batch = Batch { lines, tokens, idempotency };
        let sums = self.journal.append(id, &record, batch).await?;
        self.metrics.messages_appended.inc_by(count);
        Ok(sums)
    }

    /// Puts stubs in place of what is oversized in the messages of one turn.
    async fn shorten(
        &self,
        id: &SessionId,
        turn: Vec<(&mut Incoming, &str)>,
        now: &str,
    ) -> Result<(), Problem> {
        let mut earlier = match turn.first() {
            Some((message, _)) if message.has_output() => match message.turn() {
                Some(turn) => self.earlier(id, turn).await?,
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        for (message, message_id) in turn {
            let session = self.session(id, message.peer_id.clone(), message.time(now));
            let (mut parts, places) = message.take_tool_parts();
            let done =
                session.externalize_parts(message_id, &earlier, &mut parts, Owner::Session).await;
            earlier.extend(parts.iter().cloned());
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

    /// The tool parts of the earlier steps of a turn.
    async fn earlier(&self, id: &SessionId, turn: &str) -> Result<Vec<ToolPart>, Problem> {
        let names = self.journal.names(id).await?.unwrap_or_default();
        let recent = names.len().saturating_sub(LOOK_BACK);
        let mut work = Vec::new();
        for name in &names[recent..] {
            work.push(self.journal.read(id, name).boxed());
        }
        let read = futures::stream::iter(work).buffered(CONCURRENCY);
        let objects: Vec<_> = read.try_collect().await?;
        let parts = objects.iter().flatten().flat_map(|object| turn_parts(object, turn));
        let tools = parts.filter_map(|part| match part {
            Part::Tool(part) => Some(part),
            Part::Other(_) => None,
        });
        Ok(tools.collect())
    }
}
