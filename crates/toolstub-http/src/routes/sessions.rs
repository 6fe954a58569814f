//! Sessions: made, listed, looked at, removed.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolstub_core::SessionId;
use toolstub_store::Created;

use super::{Answer, Asked, At, Shared};
use crate::ask::{self, Faults};
use crate::envelope;
use crate::journal::{Opened, SessionRecord, chance};
use crate::policies::Policies;
use crate::problem::{Code, Problem};
use crate::service::{Service, to_its_end};
use crate::times;

/// Makes a session.
///
/// The body is optional; without `session_id` an id is made.
#[utoipa::path(
    post, path = "/api/v1/sessions", operation_id = "create_session", tag = "sessions",
    request_body(content = Option<Value>, description = "`{session_id?, memory_policy?, auto_commit_policy?, memory_extraction_config?}`"),
    responses((status = 200, description = "`{session_id, uri, user}`"), (status = 400), (status = 409, description = "there is a session with this id"))
)]
pub(super) async fn create(State(service): Shared, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let fields = service.take_object(&parts, body).await?.fields.unwrap_or_default();
    let mut faults = Faults::default();
    let at = &["body"];
    let id = ask::string(&fields, "session_id", at, &mut faults).filter(|id| !id.is_empty());
    let policies = Policies::read(&fields, &mut faults);
    ask::telemetry(&fields, at, &mut faults);
    faults.check()?;
    policies.check()?;

    let now = service.journal.clock().now();
    let id = id.unwrap_or_else(|| format!("{}-{}", times::compact(now), chance()));
    let id = Service::session_id(&id)?;
    let record = SessionRecord {
        memory_policy: policies.memory,
        auto_commit_policy: policies.auto_commit,
        memory_extraction_config: policies.extraction,
        ..service.record(&id)
    };
    if service.journal.create(&id, &record).await? == Created::Existed {
        let resource = format!("Session '{id}' already exists");
        let message = format!("Resource already exists: {resource}");
        let details = json!({"resource": resource, "type": "resource"});
        return Err(Problem::whole(Code::AlreadyExists, message, details));
    }
    service.metrics.sessions_created.inc();
    Ok(envelope::ok(&Made {
        session_id: id.as_str(),
        uri: service.refs.session_uri(&id),
        user: json!({"account_id": record.account_id, "user_id": record.user_id}),
        auto_commit_policy: record.auto_commit_policy.as_deref(),
        memory_extraction_config: extraction(),
    }))
}

/// A session that was made.
#[derive(Debug, Serialize)]
struct Made<'a> {
    session_id: &'a str,
    uri: String,
    user: Value,
    auto_commit_policy: Option<&'a RawValue>,
    memory_extraction_config: Value,
}

/// Lists all sessions, the newest first.
#[utoipa::path(
    get, path = "/api/v1/sessions", operation_id = "list_sessions", tag = "sessions",
    responses((status = 200, description = "`[{session_id, uri, is_dir, mod_time}]`"))
)]
pub(super) async fn list(State(service): Shared) -> Answer {
    let mut sessions: Vec<_> = service
        .journal
        .sessions()
        .await?
        .into_iter()
        .map(|session| (session.modified_micros, session.id))
        .collect();
    sessions.sort_by(|(one, id), (other, other_id)| {
        (other / 1_000_000).cmp(&(one / 1_000_000)).then_with(|| id.as_str().cmp(other_id.as_str()))
    });
    let listed: Vec<_> = sessions
        .into_iter()
        .map(|(modified, id)| {
            json!({
                "session_id": id.as_str(),
                "uri": service.refs.session_uri(&id),
                "is_dir": true,
                "mod_time": times::seconds(modified),
            })
        })
        .collect();
    Ok(envelope::ok(&listed))
}

/// What is known of a session.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}", operation_id = "get_session", tag = "sessions",
    params(
        ("session_id" = String, Path),
        ("auto_create" = Option<bool>, Query, description = "make the session if there is none"),
    ),
    responses((status = 200, description = "the session's times, counts and policies"), (status = 404))
)]
pub(super) async fn get(
    State(service): Shared,
    At(given): At<String>,
    Asked(mut query): Asked,
) -> Answer {
    let auto_create = query.flag("auto_create", false);
    query.check()?;
    let id = Service::session_id(&given)?;
    let mut opened = service.journal.open(&id).await?;
    if opened.is_none() && auto_create {
        service.journal.create(&id, &service.record(&id)).await?;
        opened = service.journal.open(&id).await?;
    }
    let opened = opened.ok_or_else(|| Problem::no_session(&given))?;
    Ok(envelope::ok(&Told::of(&service, &id, &opened)))
}

/// Removes a session with its messages and its results.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{session_id}", operation_id = "delete_session", tag = "sessions",
    params(("session_id" = String, Path)),
    responses((status = 200, description = "`{session_id}`"), (status = 404))
)]
pub(super) async fn delete(State(service): Shared, At(given): At<String>) -> Answer {
    let id = Service::session_id(&given)?;
    let (whose, of) = (Arc::clone(&service), id.clone());
    if !to_its_end(async move { whose.journal.remove(&of).await }).await? {
        return Err(not_found(&id));
    }
    Ok(envelope::ok(&json!({ "session_id": id.as_str() })))
}

/// There is no such session: the form that all routes but one give.
pub(super) fn not_found(id: &SessionId) -> Problem {
    let details = json!({"type": "session", "resource": id.as_str()});
    Problem::whole(Code::NotFound, format!("Session not found: {id}"), details)
}

/// What is known of a session, with all the fields that clients look for.
#[derive(Debug, Serialize)]
struct Told<'a> {
    session_id: &'a str,
    created_at: String,
    updated_at: String,
    created_by_account_id: &'a str,
    created_by_user_id: &'a str,
    message_count: u64,
    commit_count: u64,
    memories_extracted: Value,
    last_commit_at: &'a str,
    llm_token_usage: Value,
    embedding_token_usage: Value,
    pending_tokens: u64,
    keep_recent_count: u64,
    retention_mode: &'a str,
    keep_recent_turn_count: u64,
    retained_message_token_budget: u64,
    min_raw_tail_steps: u64,
    memory_policy: Option<&'a RawValue>,
    auto_commit_policy: Option<&'a RawValue>,
    last_message_at: String,
    last_auto_commit_at: &'a str,
    last_idle_commit_accepted_at: &'a str,
    total_message_count: u64,
    uri: String,
    user: Value,
    memory_extraction_config: Value,
}

impl<'a> Told<'a> {
    fn of(service: &'a Service, id: &'a SessionId, opened: &'a Opened) -> Self {
        let record = opened.record.as_ref();
        let sums = &opened.sums;
        let created = record.map(|record| record.created_micros);
        let time = |micros: Option<u64>| micros.map_or(String::new(), times::millis);
        let account = record.map_or(service.options.account.as_str(), |record| &record.account_id);
        let user = record.map_or(service.options.user.as_str(), |record| &record.user_id);
        Self {
            session_id: id.as_str(),
            created_at: time(created),
            updated_at: time(sums.last_micros.or(created)),
            created_by_account_id: account,
            created_by_user_id: user,
            message_count: sums.count,
            commit_count: 0,
            memories_extracted: json!({"total": 0}),
            last_commit_at: "",
            llm_token_usage: json!({
                "prompt_tokens": 0,
                "completion_tokens": 0,
                "total_tokens": 0,
                "cached_tokens": 0,
                "reasoning_tokens": 0,
            }),
            embedding_token_usage: json!({"total_tokens": 0}),
            pending_tokens: sums.tokens,
            keep_recent_count: 0,
            retention_mode: "",
            keep_recent_turn_count: 0,
            retained_message_token_budget: 0,
            min_raw_tail_steps: 1,
            memory_policy: record.and_then(|record| record.memory_policy.as_deref()),
            auto_commit_policy: record.and_then(|record| record.auto_commit_policy.as_deref()),
            last_message_at: time(sums.last_micros),
            last_auto_commit_at: "",
            last_idle_commit_accepted_at: "",
            total_message_count: sums.count,
            uri: service.refs.session_uri(id),
            user: json!({"account_id": account, "user_id": user}),
            memory_extraction_config: extraction(),
        }
    }
}

/// Nothing is extracted here; clients look for the field.
fn extraction() -> Value {
    json!({"events": {"tags": []}})
}
