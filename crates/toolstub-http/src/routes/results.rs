//! The originals of tool results: listed, read, searched, removed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use hyper::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
};
use serde::Serialize;
use serde_json::{Value, json};
use toolstub_core::{Kind, OffsetUnit, Ref, SessionId};
use toolstub_store::{
    DEFAULT_READ_LIMIT, ListRequest, Located, Piece, ReadRequest, SearchMode, SearchRequest,
    Selection, Selector, StoreError,
};

use super::context::streamed;
use super::{Answer, Asked, At, Shared, sessions};
use crate::ask::Query;
use crate::envelope;
use crate::problem::{Code, Problem};
use crate::service::Service;

/// How many characters are read at once; more are sent as they are read.
const AT_ONCE: i128 = 256 << 10;
/// How many bytes of a long answer are held.
const PART: u64 = 1 << 20;

/// Lists the results of a session, by id.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}/tool-results", operation_id = "list_results", tag = "tool results",
    params(
        ("session_id" = String, Path),
        ("tool_name" = Option<String>, Query, description = "only results of this tool"),
        ("kind" = Option<String>, Query, description = "only results of this kind"),
        ("event_id" = Option<String>, Query, description = "only results of this event"),
        ("limit" = Option<i64>, Query, description = "at most so many, 50 if not given, 1000 at most"),
        ("cursor" = Option<String>, Query, description = "the `next_cursor` of the page before"),
    ),
    responses((status = 200, description = "`{tool_results: [metadata …], next_cursor?}`"), (status = 404))
)]
pub(super) async fn list(
    State(service): Shared,
    At(given): At<String>,
    Asked(mut query): Asked,
) -> Answer {
    let request = ListRequest {
        tool_name: query.text("tool_name").filter(|name| !name.is_empty()),
        kind: query.word("kind", |kind| kind.parse::<Kind>().ok(), "a kind of content"),
        event: None,
        limit: query.integer("limit", 50, Some(1)),
        cursor: query.text("cursor").filter(|cursor| !cursor.is_empty()),
    };
    let event = query.text("event_id").filter(|event| !event.is_empty());
    query.check()?;
    let id = Service::session_id(&given)?;
    let event = event.map(toolstub_core::EventId::new).transpose()?;
    let listed = service.results(&id).list(&ListRequest { event, ..request }).await?;
    if listed.records.is_empty() && !service.journal.exists(&id).await? {
        return Err(sessions::not_found(&id));
    }
    let records: Vec<_> = listed.records.into_iter().map(|record| service.told(record)).collect();
    let mut answer = json!({ "tool_results": records });
    if let Some(cursor) = listed.next_cursor {
        answer["next_cursor"] = json!(cursor);
    }
    Ok(envelope::ok(&answer))
}

/// Reads a range of an original.
///
/// Offsets count code points unless `unit` says otherwise. With a selector (`pointer`, `rows` or
/// `lines`) they count within what it selects.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}/tool-results/{tool_result_id}", operation_id = "read_result", tag = "tool results",
    params(
        ("session_id" = String, Path),
        ("tool_result_id" = String, Path),
        ("offset" = Option<i64>, Query, description = "where to begin, 0 if not given"),
        ("limit" = Option<i64>, Query, description = "how much to read, 20000 if not given; -1 for the rest"),
        ("include_metadata" = Option<bool>, Query, description = "true if not given"),
        ("unit" = Option<String>, Query, description = "unicode_code_point, byte or line"),
        ("pointer" = Option<String>, Query, description = "a JSON Pointer, such as /items/3"),
        ("rows" = Option<String>, Query, description = "rows of a table, such as 100-120"),
        ("lines" = Option<String>, Query, description = "lines, such as 40-80"),
        ("event_id" = Option<String>, Query, description = "the event that the result belongs to"),
    ),
    responses((status = 200, description = "`{tool_result_id, content, offset, limit, offset_unit, total_chars, has_more, next_offset, metadata?}`"), (status = 400), (status = 404))
)]
pub(super) async fn read(
    State(service): Shared,
    At((session, result)): At<(String, String)>,
    Asked(mut query): Asked,
) -> Answer {
    let request = ReadRequest {
        offset: query.integer("offset", 0, Some(0)),
        limit: query.integer("limit", DEFAULT_READ_LIMIT, None),
        unit: unit(&mut query),
        include_metadata: query.flag("include_metadata", true),
    };
    let selectors = (query.text("pointer"), query.text("rows"), query.text("lines"));
    let event = query.text("event_id").filter(|event| !event.is_empty());
    query.check()?;
    if request.limit < -1 {
        let message = "limit must be -1 or greater than or equal to 0";
        let value = i64::try_from(request.limit).unwrap_or(i64::MIN);
        let details = Some(json!({"field": "limit", "value": value}));
        return Err(Problem { details, ..Problem::short(Code::InvalidArgument, message) });
    }
    let selector = match selectors {
        (Some(pointer), None, None) => Some(Selector::pointer(&pointer)?),
        (None, Some(rows), None) => Some(Selector::rows(&rows)?),
        (None, None, Some(lines)) => Some(Selector::lines(&lines)?),
        (None, None, None) => None,
        _ => {
            let message = "give one of pointer, rows and lines";
            return Err(Problem::short(Code::InvalidArgument, message));
        }
    };
    let id = Service::session_id(&session)?;
    let reference = service.named(&id, &result, event.as_deref()).await?;
    let read = service.read(&reference, selector.as_ref(), &request).await;
    service.metrics.reads.inc();
    service.explained(&reference, read).await
}

/// Finds where a text stands in an original.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}/tool-results/{tool_result_id}/search", operation_id = "search_result", tag = "tool results",
    params(
        ("session_id" = String, Path),
        ("tool_result_id" = String, Path),
        ("q" = String, Query, description = "what to find"),
        ("limit" = Option<i64>, Query, description = "the most matches, 20 if not given"),
        ("context_chars" = Option<i64>, Query, description = "characters around a match, 300 if not given"),
        ("regex" = Option<bool>, Query, description = "take q for a regular expression"),
        ("ignore_case" = Option<bool>, Query),
        ("count" = Option<bool>, Query, description = "count all matches"),
        ("from" = Option<i64>, Query, description = "the code point at which to begin"),
        ("event_id" = Option<String>, Query),
    ),
    responses((status = 200, description = "`{tool_result_id, matches: [{offset, offset_unit, line, snippet}], has_more, next_offset, scanned_bytes, complete}`"), (status = 400), (status = 404))
)]
pub(super) async fn search(
    State(service): Shared,
    At((session, result)): At<(String, String)>,
    Asked(mut query): Asked,
) -> Answer {
    let text = query.required("q");
    let request = SearchRequest {
        limit: query.integer("limit", 20, Some(1)),
        context_chars: query.integer("context_chars", 300, Some(0)),
        mode: if query.flag("regex", false) { SearchMode::Regex } else { SearchMode::Literal },
        ignore_case: query.flag("ignore_case", false),
        count: query.flag("count", false),
        offset: query.integer("from", 0, Some(0)),
        ..SearchRequest::new(text)
    };
    let event = query.text("event_id").filter(|event| !event.is_empty());
    query.check()?;
    let id = Service::session_id(&session)?;
    let reference = service.named(&id, &result, event.as_deref()).await?;
    let found = service.results(&id).search(&reference, &request).await;
    service.metrics.searches.inc();
    service.explained(&reference, found.map(|found| envelope::ok(&found))).await
}

/// Removes a result.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{session_id}/tool-results/{tool_result_id}", operation_id = "delete_result", tag = "tool results",
    params(
        ("session_id" = String, Path),
        ("tool_result_id" = String, Path),
        ("event_id" = Option<String>, Query),
    ),
    responses((status = 200, description = "`{session_id, tool_result_id}`"), (status = 404))
)]
pub(super) async fn delete(
    State(service): Shared,
    At((session, result)): At<(String, String)>,
    Asked(query): Asked,
) -> Answer {
    let event = query.text("event_id").filter(|event| !event.is_empty());
    let id = Service::session_id(&session)?;
    let reference = service.named(&id, &result, event.as_deref()).await?;
    let deleted = service.results(&id).delete(&reference).await;
    let answer = json!({"session_id": id.as_str(), "tool_result_id": reference.id().as_str()});
    service.explained(&reference, deleted.map(|()| envelope::ok(&answer))).await
}

/// The whole original, byte for byte.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session_id}/tool-results/{tool_result_id}/output.txt", operation_id = "download_result", tag = "tool results",
    params(
        ("session_id" = String, Path),
        ("tool_result_id" = String, Path),
        ("event_id" = Option<String>, Query),
    ),
    responses((status = 200, description = "the bytes"), (status = 404))
)]
pub(super) async fn download(
    State(service): Shared,
    At((session, result)): At<(String, String)>,
    Asked(query): Asked,
) -> Answer {
    let event = query.text("event_id").filter(|event| !event.is_empty());
    let id = Service::session_id(&session)?;
    let reference = service.named(&id, &result, event.as_deref()).await?;
    let located = match service.results(&id).locate(&reference, None, &everything()).await {
        Ok(located) => located,
        Err(error) => return service.explained(&reference, Err(error)).await,
    };
    let size = located.bytes.end - located.bytes.start;
    let parts = parts(Arc::clone(&service), reference.clone(), located.bytes);
    let parts = parts.map_err(|problem| {
        tracing::error!(message = problem.message, "a download broke off");
        std::io::Error::other(problem.message)
    });
    let mut response = Body::from_stream(parts).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    // What a tool returned is nothing that a browser should run.
    if let Ok(value) = format!("attachment; filename=\"{}.txt\"", reference.id()).parse() {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// What comes before the content of an answer to a read.
fn opening(reference: &Ref) -> String {
    // An id has no character that JSON would escape.
    let id = reference.id().as_str();
    format!(r#"{}{{"tool_result_id":"{id}","content":"#, envelope::OPENING)
}

/// What comes behind the content of an answer to a read.
#[derive(Debug, Serialize)]
struct Rest<'a> {
    offset: u64,
    limit: i128,
    offset_unit: OffsetUnit,
    total_chars: u64,
    total_bytes: u64,
    total_lines: u64,
    has_more: bool,
    next_offset: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<&'a Selection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

impl Service {
    /// The result that an address names. That the session is unknown is told first.
    async fn named(
        &self,
        id: &SessionId,
        result: &str,
        event: Option<&str>,
    ) -> Result<Ref, Problem> {
        match Self::reference(id.clone(), result, event) {
            Ok(reference) => Ok(reference),
            Err(_) if !self.journal.exists(id).await? => Err(sessions::not_found(id)),
            Err(problem) => Err(problem),
        }
    }

    /// An answer; where there is no such result, whether there is such a session.
    async fn explained(&self, reference: &Ref, answer: Result<Response, StoreError>) -> Answer {
        match answer {
            Ok(response) => Ok(response),
            Err(StoreError::NotFound { .. }) => {
                if !self.journal.exists(reference.session()).await? {
                    return Err(sessions::not_found(reference.session()));
                }
                let resource = self.refs.uri(reference);
                let message = format!(
                    "not found: no tool result has the ref {resource}; it may be mistyped, it may \
                     have been removed, or it was never stored"
                );
                let details = json!({"type": "file", "resource": resource});
                Err(Problem::whole(Code::NotFound, message, details))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read(
        self: &Arc<Self>,
        reference: &Ref,
        selector: Option<&Selector>,
        request: &ReadRequest,
    ) -> Result<Response, StoreError> {
        let results = self.results(reference.session());
        let is_small = (0..=AT_ONCE).contains(&request.limit) && request.unit != OffsetUnit::Line;
        if is_small {
            let piece = match selector {
                Some(selector) => results.read_selected(reference, selector, request).await?,
                None => results.read(reference, request).await?,
            };
            self.metrics.bytes_read.inc_by(piece.bytes.len() as u64);
            let text = piece.content();
            let is_lossy = matches!(text, Cow::Owned(_));
            let content = serde_json::to_string(&text).unwrap_or_default();
            let closing = self.closing(&piece, is_lossy);
            return Ok(envelope::json([&opening(reference), content.as_str(), &closing].concat()));
        }
        let located = results.locate(reference, selector, request).await?;
        let Located { piece, bytes, .. } = located;
        self.metrics.bytes_read.inc_by(bytes.end - bytes.start);
        Ok(self.sent_as_read(reference, bytes, piece))
    }

    /// What comes behind the content of an answer.
    fn closing(&self, piece: &Piece, is_lossy: bool) -> String {
        let metadata = piece.metadata.clone().map(|metadata| self.told(metadata));
        let rest = Rest {
            offset: piece.offset,
            limit: piece.limit,
            offset_unit: piece.unit,
            total_chars: piece.total_chars,
            total_bytes: piece.total_bytes,
            total_lines: piece.total_lines,
            has_more: piece.has_more,
            next_offset: piece.next_offset,
            lossy: is_lossy,
            selection: piece.selection.as_ref(),
            metadata,
        };
        let rest = serde_json::to_string(&rest).unwrap_or_default();
        format!(",{}{}", rest.strip_prefix('{').unwrap_or_default(), envelope::CLOSING)
    }

    /// An answer whose content is sent as it is read.
    fn sent_as_read(
        self: &Arc<Self>,
        reference: &Ref,
        bytes: Range<u64>,
        piece: Piece,
    ) -> Response {
        let lossy = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&lossy);
        let pieces = parts(Arc::clone(self), reference.clone(), bytes).map_ok(move |piece| {
            let text = String::from_utf8_lossy(&piece);
            if matches!(text, Cow::Owned(_)) {
                seen.store(true, Ordering::Relaxed);
            }
            let quoted = serde_json::to_string(&text).unwrap_or_default();
            // The quotes around all pieces are the answer's.
            let inner = 1..quoted.len().saturating_sub(1).max(1);
            Bytes::from(quoted).slice(inner)
        });
        let begin = format!("{}\"", opening(reference));
        let begin = futures::stream::once(async move { Ok(Bytes::from(begin)) });
        let service = Arc::clone(self);
        let end = futures::stream::once(async move {
            let closing = service.closing(&piece, lossy.load(Ordering::Relaxed));
            Ok(Bytes::from(["\"", &closing].concat()))
        });
        streamed(begin.chain(pieces).chain(end))
    }
}

/// The bytes of a range of an original, in parts that cut no character.
fn parts(
    service: Arc<Service>,
    reference: Ref,
    bytes: Range<u64>,
) -> impl futures::Stream<Item = Result<Bytes, Problem>> + Send + 'static {
    let begin = (service, reference, bytes.start);
    futures::stream::try_unfold(begin, move |(service, reference, at)| async move {
        if at >= bytes.end {
            return Ok(None);
        }
        let left = bytes.end - at;
        // What is left for the last part is never so short that a character is longer.
        let limit = if left <= 2 * PART { left } else { PART };
        let request = ReadRequest {
            offset: i128::from(at),
            limit: i128::from(limit),
            unit: OffsetUnit::Byte,
            include_metadata: false,
        };
        let piece = service.results(reference.session()).read(&reference, &request).await?;
        let next = piece.next_offset;
        Ok::<_, Problem>(Some((piece.bytes, (service, reference, next))))
    })
}

fn everything() -> ReadRequest {
    ReadRequest { limit: -1, ..ReadRequest::default() }
}

fn unit(query: &mut Query) -> OffsetUnit {
    let words = "'unicode_code_point', 'byte' or 'line'";
    query.word("unit", |unit| unit.parse().ok(), words).unwrap_or_default()
}
