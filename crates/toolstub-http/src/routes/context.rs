//! The messages of a session, as they go into a model's context.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{json, value::RawValue};
use toolstub_core::SessionId;

use super::{Answer, Asked, At, Shared, sessions};
use crate::budget::{Place, Weighed, choose};
use crate::envelope;
use crate::journal::Name;
use crate::message::lines_of;
use crate::problem::{Code, Problem};
use crate::service::Service;

/// How many objects are read at once.
const CONCURRENCY: usize = 8;
/// How much is read before an answer begins, in bytes; an error until then is told as one.
const EAGER: usize = 4 << 20;
/// How many objects behind what fits are looked at for the beginning of their turn.
const LOOK_BACK: usize = 1000;

/// The newest turns of a session that fit a budget of tokens, in order, with stubs in them.
///
/// Of a turn that does not fit, its first message and its last steps come. No message is cut; the
/// newest comes whatever it weighs, unless the budget is 0.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}/context", operation_id = "get_context", tag = "messages",
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
        return Err(Problem {
            details: Some(details),
            ..Problem::short(Code::InvalidArgument, message)
        });
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
    /// The objects, in order, with their messages that are shown; all, where nothing is said.
    objects: Vec<(Name, Option<Vec<bool>>)>,
    tokens: u64,
    /// How many messages are left out.
    dropped: u64,
}

impl Service {
    /// The newest messages that fit.
    async fn choose(
        &self,
        id: &SessionId,
        names: Vec<Name>,
        budget: u128,
    ) -> Result<Chosen, Problem> {
        let all: u64 = names.iter().map(|name| name.tokens).sum();
        if u128::from(all) <= budget && budget > 0 {
            let objects = names.into_iter().map(|name| (name, None)).collect();
            return Ok(Chosen { objects, tokens: all, dropped: 0 });
        }
        let count: u64 = names.iter().map(|name| name.count).sum();
        if budget == 0 {
            return Ok(Chosen { objects: Vec::new(), tokens: 0, dropped: count });
        }
        // Looked at are the newest, until more than fits has come, and a turn has begun.
        let mut weighed: Vec<(usize, Weighed)> = Vec::new();
        let (mut sum, mut has_begun, mut too_many) = (0_u128, false, 0);
        let newest: Vec<_> = names.iter().copied().enumerate().rev().collect();
        let mut objects = futures::stream::iter(newest)
            .map(|(place, name)| async move { (place, self.journal.read(id, &name).await) })
            .buffered(CONCURRENCY)
            .boxed();
        while let Some((place, object)) = objects.next().await {
            let object = object?.unwrap_or_default();
            for line in lines_of(&object).rev() {
                let message = Weighed::of(line);
                sum += u128::from(message.tokens);
                has_begun |= message.place == Place::Turn;
                weighed.push((place, message));
            }
            too_many += usize::from(sum > budget);
            if sum > budget && has_begun || too_many > LOOK_BACK {
                break;
            }
        }
        drop(objects);
        weighed.reverse();
        let messages: Vec<Weighed> = weighed.iter().map(|(_, message)| *message).collect();
        let chosen = choose(&messages, budget);
        let mut objects: Vec<(Name, Option<Vec<bool>>)> = Vec::new();
        let (mut tokens, mut shown, mut last) = (0, 0, None);
        for ((place, message), is_shown) in weighed.into_iter().zip(chosen) {
            if last != Some(place) {
                objects.push((names[place], Some(Vec::new())));
                last = Some(place);
            }
            if let Some((_, Some(lines))) = objects.last_mut() {
                lines.push(is_shown);
            }
            if is_shown {
                tokens += message.tokens;
                shown += 1;
            }
        }
        objects.retain(|(_, lines)| lines.as_ref().is_none_or(|lines| lines.contains(&true)));
        Ok(Chosen { objects, tokens, dropped: count.saturating_sub(shown) })
    }

    async fn answer(self: &Arc<Self>, id: &SessionId, chosen: Chosen) -> Answer {
        let Chosen { objects, tokens, dropped } = chosen;
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

        let (service, id) = (Arc::clone(self), id.clone());
        let mut is_first = true;
        let mut pieces = futures::stream::iter(objects)
            .map(move |(name, shown)| Arc::clone(&service).read_messages(id.clone(), name, shown))
            .buffered(CONCURRENCY)
            .map(move |messages| {
                let mut piece = Vec::new();
                add(&mut piece, &messages?, &mut is_first)?;
                Ok(Bytes::from(piece))
            })
            .boxed();
        let mut body = opening.into_bytes();
        while body.len() < EAGER {
            let Some(piece) = pieces.next().await else {
                body.extend_from_slice(closing.as_bytes());
                return Ok(envelope::json(body));
            };
            body.extend_from_slice(&piece?);
        }
        let begin = futures::stream::once(async move { Ok(Bytes::from(body)) });
        let end = futures::stream::once(async move { Ok(Bytes::from(closing)) });
        Ok(streamed(begin.chain(pieces).chain(end)))
    }

    /// The messages of an object, with those alone that are shown.
    async fn read_messages(
        self: Arc<Self>,
        id: SessionId,
        name: Name,
        shown: Option<Vec<bool>>,
    ) -> Result<Shown, Problem> {
        match self.journal.read(&id, &name).await? {
            Some(object) => Ok(Shown { object, shown }),
            // Removed since it was listed: what is left is no context.
            None => Err(sessions::not_found(&id)),
        }
    }
}

/// An object of messages, and which of them are shown.
struct Shown {
    object: Bytes,
    shown: Option<Vec<bool>>,
}

/// Adds messages to a list.
fn add(body: &mut Vec<u8>, messages: &Shown, is_first: &mut bool) -> Result<(), Problem> {
    for (nth, line) in lines_of(&messages.object).enumerate() {
        if messages.shown.as_ref().is_some_and(|shown| shown.get(nth) == Some(&false)) {
            continue;
        }
        // What is no JSON can come from a hand other than ours only.
        if serde_json::from_slice::<&RawValue>(line).is_err() {
            let message = "corrupt: a message in the store is no JSON";
            return Err(Problem::whole(Code::Corrupt, message, json!({})));
        }
        if !std::mem::take(is_first) {
            body.push(b',');
        }
        body.extend_from_slice(line);
    }
    Ok(())
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
