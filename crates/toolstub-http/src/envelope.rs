//! The form of answers.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use serde_json::Value;

use crate::problem::{Code, Problem};

/// What comes before an answer's result.
pub(crate) const OPENING: &str = r#"{"status":"ok","result":"#;
/// What comes after it.
pub(crate) const CLOSING: &str = r#","error":null,"telemetry":null,"profile":null}"#;

/// An answer with a result.
pub(crate) fn ok(result: &impl Serialize) -> Response {
    let mut body = OPENING.as_bytes().to_vec();
    if let Err(failed) = serde_json::to_writer(&mut body, result) {
        let message = format!("the answer cannot be written: {failed}");
        return error(&Problem::short(Code::Internal, message));
    }
    body.extend_from_slice(CLOSING.as_bytes());
    json(body)
}

/// An answer that is JSON.
pub(crate) fn json(body: impl Into<Body>) -> Response {
    let mut response = body.into().into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// An answer that is an error.
pub(crate) fn error(problem: &Problem) -> Response {
    let Problem { code, message, details, is_whole } = problem;
    let error = Told { code: *code, message, details: details.as_ref() };
    let body = if *is_whole {
        serde_json::to_vec(&Whole {
            status: "error",
            result: (),
            error,
            telemetry: (),
            profile: (),
        })
    } else {
        serde_json::to_vec(&Short { status: "error", error })
    };
    // Text and values always have a form as JSON.
    let mut response = json(body.unwrap_or_default());
    *response.status_mut() = code.status();
    response
}

#[derive(Debug, Serialize)]
struct Short<'a> {
    status: &'static str,
    error: Told<'a>,
}

#[derive(Debug, Serialize)]
struct Whole<'a> {
    status: &'static str,
    result: (),
    error: Told<'a>,
    telemetry: (),
    profile: (),
}

#[derive(Debug, Serialize)]
struct Told<'a> {
    code: Code,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Value>,
}
