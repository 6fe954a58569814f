//! The messages of a session, as they go into a model's context.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use serde_json::{json, value::RawValue};
use toolstub_core::SessionId;

use super::{Answer, Asked, At, Shared, sessions};
use crate::envelope;
use crate::journal::Name;
use crate::message::{lines_of, tokens_of};
use crate::problem::{Code, Problem};
use crate::service::Service;

/// How many objects are read at once.
const CONCURRENCY: usize = 16;
/// How many objects are read before an answer begins.
const EAGER: usize = 64;

/// The newest messages of a session that fit a budget of tokens, in order, with stubs in them.
///
/// A message is never cut. The newest one comes whatever it weighs, unless the budget is 0.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}/context", tag = "messages",
    params(
        ("session_id" = String, Path),
        ("token_budget" = Option<i64>, Query, description = "the most tokens, 128000 if not given"),
    ),
    responses((status = 200, description = "`{messages: [{id, role, parts, created_at, …}], estimatedTokens, stats}`"), (status = 404))
)]
pub(super) async fn get(
    State(service): Shared,
    At(given): At<String>,
    Asked(mut query): Asked,
) -> Answer {
    let budget = query.integer("token_budget", 128_000, None);
    query.check()?;
    if budget < 0 {
        let message = "token_budget must be greater than or equal to 0";
        let details = json!({"field": "token_budget", "value": clamped(budget)});
        return Err(Problem { details: Some(details), ..Problem::short(Code::InvalidArgument, message) });
    }
    let id = Service::session_id(&given)?;
    let Some(names) = service.journal.names(&id).await? else {
        return Err(sessions::not_found(&id));
    };
    let chosen = service.choose(&id, names, budget.unsigned_abs()).await?;
    service.answer(&id, chosen).await
}

/// What goes into the context.
struct Chosen {
    /// The objects, in order.
    names: Vec<Name>,
    /// How many messages of the first object are left out.
    skipped: usize,
    tokens: u64,
    /// How many messages are left out.
    dropped: u64,
}

impl Service {
    /// The newest messages that fit.
    async fn choose(
        &self,
        id: &SessionId,
        mut names: Vec<Name>,
        budget: u128,
    ) -> Result<Chosen, Problem> {
        let fits = |tokens: u64| u128::from(tokens) <= budget;
        let all: u64 = names.iter().map(|name| name.count).sum();
        let (mut tokens, mut count, mut first, mut skipped) = (0_u64, 0_u64, names.len(), 0);
        for (place, name) in names.iter().enumerate().rev() {
            if fits(tokens.saturating_add(name.tokens)) && budget > 0 {
                tokens += name.tokens;
                count += name.count;
                first = place;
                continue;
            }
            // Of messages that came together, the last may fit.
            let Some(object) = self.journal.read(id, name).await? else { continue };
            let lines: Vec<_> = lines_of(&object).collect();
            let mut taken = 0;
            for line in lines.iter().rev() {
                let weight = tokens_of(line);
                let is_newest = count == 0 && budget > 0;
                if !(is_newest || fits(tokens.saturating_add(weight)) && budget > 0) {
                    break;
                }
                tokens += weight;
                count += 1;
                taken += 1;
            }
            if taken > 0 {
                first = place;
                skipped = lines.len() - taken;
            }
            break;
        }
        names.drain(..first);
        Ok(Chosen { names, skipped, tokens, dropped: all - count })
    }

    async fn answer(self: &Arc<Self>, id: &SessionId, chosen: Chosen) -> Answer {
        let Chosen { mut names, skipped, tokens, dropped } = chosen;
        let opening = format!(
            r#"{}{{"latest_archive_overview":"","pre_archive_abstracts":[],"messages":["#,
            envelope::OPENING
        );
        let mut stats = json!({
            "totalArchives": 0,
            "includedArchives": 0,
            "droppedArchives": 0,
            "failedArchives": 0,
            "activeTokens": tokens,
            "archiveTokens": 0,
        });
        if dropped > 0 {
            stats["droppedMessages"] = json!(dropped);
        }
        let closing =
            format!(r#"],"estimatedTokens":{tokens},"stats":{stats}}}{}"#, envelope::CLOSING);

        let rest = names.split_off(names.len().min(EAGER));
        let begun = names.len();
        let mut body = opening.into_bytes();
        let mut is_first = true;
        let mut work = Vec::with_capacity(names.len());
        for name in names {
            work.push(Arc::clone(self).read_messages(id.clone(), name).boxed());
        }
        let mut objects = futures::stream::iter(work).buffered(CONCURRENCY);
        let mut nth = 0;
        while let Some(object) = objects.next().await {
            add(&mut body, &object?, if nth == 0 { skipped } else { 0 }, &mut is_first);
            nth += 1;
        }
        drop(objects);
        if rest.is_empty() {
            body.extend_from_slice(closing.as_bytes());
            return Ok(envelope::json(body));
        }
        tracing::debug!(begun, rest = rest.len(), "the context is sent as it is read");
        let (service, id) = (Arc::clone(self), id.clone());
        let more = futures::stream::iter(rest)
            .map(move |name| Arc::clone(&service).read_messages(id.clone(), name))
            .buffered(CONCURRENCY)
            .map_ok(move |object| {
                let mut piece = Vec::new();
                add(&mut piece, &object, 0, &mut is_first);
                Bytes::from(piece)
            });
        let begin = futures::stream::once(async move { Ok(Bytes::from(body)) });
        let end = futures::stream::once(async move { Ok(Bytes::from(closing)) });
        Ok(streamed(begin.chain(more).chain(end)))
    }

    async fn read_messages(self: Arc<Self>, id: SessionId, name: Name) -> Result<Bytes, Problem> {
        // A session that is deleted meanwhile has no messages any more.
        Ok(self.journal.read(&id, &name).await?.unwrap_or_default())
    }
}

/// Adds the messages of an object.
fn add(body: &mut Vec<u8>, object: &[u8], skipped: usize, is_first: &mut bool) {
    for line in lines_of(object).skip(skipped) {
        // Half a line can come from a hand other than ours only.
        if serde_json::from_slice::<&RawValue>(line).is_err() {
            tracing::error!("a message in the store is no JSON; it is left out");
            continue;
        }
        if !std::mem::take(is_first) {
            body.push(b',');
        }
        body.extend_from_slice(line);
    }
}

/// An answer whose pieces come as they are read. Where one fails, the connection breaks: whoever
/// reads half an answer must know.
pub(super) fn streamed(
    pieces: impl futures::Stream<Item = Result<Bytes, Problem>> + Send + 'static,
) -> Response {
    let pieces = pieces.map_err(|problem| {
        tracing::error!(message = problem.message, "an answer broke off");
        std::io::Error::other(problem.message)
    });
    envelope::json(Body::from_stream(pieces))
}

fn clamped(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MIN)
}
