//! What happens around each request: who may ask, for how long, and what is noted of it.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, HOST, HeaderName, HeaderValue, ORIGIN, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method};
use serde_json::json;
use tracing::Instrument as _;

use crate::journal::chance;
use crate::keys::Holder;
use crate::problem::{Code, Problem};
use crate::service::Service;

/// The header of a request's id.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of the time that an answer took, in seconds.
const PROCESS_TIME: HeaderName = HeaderName::from_static("x-process-time");
/// The longest id of a request that is taken over.
const MAX_REQUEST_ID: usize = 128;
/// What needs no key: whether the service runs, what it can do, and the page, which asks for a key.
const OPEN: [&str; 3] = ["/health", "/ready", "/openapi.json"];

/// Lets a request through, and takes note of it.
pub(crate) async fn around(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = request_id(request.headers());
    let method = name(request.method());
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or("none", MatchedPath::as_str).to_owned();
    service.metrics.in_flight.inc();
    let in_flight = InFlight(&service);
    let answer = match admit(&service, &request, &route) {
        Ok(()) => {
            // What is logged on the way names the request.
            let span = tracing::error_span!("request", id = id.to_str().unwrap_or_default());
            let answer = next.run(request).instrument(span);
            match tokio::time::timeout(service.options.timeout, answer).await {
                Ok(response) => response,
                Err(_) => overdue(&service).into_response(),
            }
        }
        Err(problem) => problem.into_response(),
    };
    drop(in_flight);
    let mut response = answer;
    let seconds = begun.elapsed().as_secs_f64();
    let status = response.status();
    service.metrics.answered(method, &route, status.as_u16(), seconds);
    tracing::info!(
        method,
        route,
        status = status.as_u16(),
        millis = seconds * 1000.0,
        request_id = id.to_str().unwrap_or_default(),
        "answered"
    );
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    if let Ok(seconds) = seconds.to_string().parse() {
        headers.insert(PROCESS_TIME, seconds);
    }
    if !crate::page::is_page(&route) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Counts down when a request is over, however it ends.
struct InFlight<'a>(&'a Service);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.metrics.in_flight.dec();
    }
}

/// Whether a request may be answered at all.
fn admit(service: &Service, request: &Request, route: &str) -> Result<(), Problem> {
    let headers = request.headers();
    check_host(service, request)?;
    check_origin(service, headers)?;
    if !crate::page::is_page(route) {
        check_site(headers)?;
    }
    check_encoding(headers)?;
    if OPEN.contains(&route) || crate::page::is_page(route) {
        return Ok(());
    }
    match service.options.keys.holder(headers)? {
        Some(Holder::Operator) if route != "/metrics" => {
            let message = "this key opens the metrics alone; sessions need a user's key";
            Err(Problem::whole(Code::PermissionDenied, message, json!({})))
        }
        _ => Ok(()),
    }
}

/// Where no key is needed, a page of another site must not reach the service by a name of its own
/// that it has made to lead here.
fn check_host(service: &Service, request: &Request) -> Result<(), Problem> {
    if !service.options.keys.is_empty() {
        return Ok(());
    }
    // Browsers always say by which name they came, once.
    let named =
        request.headers().get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let mut authorities = named.chain(request.uri().host());
    let is_known = |name: &str| {
        let name = without_port(name);
        is_local(name) || service.options.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    let Some(host) = authorities.find(|name| !is_known(name)) else { return Ok(()) };
    let message = format!(
        "the service does not go by the name `{host}`; have it started with --allow-host {host}"
    );
    Err(Problem::whole(Code::PermissionDenied, message, json!({})))
}

/// A page of another site has no business here.
fn check_origin(service: &Service, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(origin) = headers.get_all(ORIGIN).iter().next_back() else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let from = origin.split_once("://").map_or("", |(_, authority)| authority);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let known = |name: &String| name.eq_ignore_ascii_case(without_port(from));
    if !from.is_empty()
        && (from.eq_ignore_ascii_case(host) || service.options.hosts.iter().any(known))
    {
        return Ok(());
    }
    let message = "requests from pages of other sites are not answered";
    Err(Problem::whole(Code::PermissionDenied, message, json!({ "origin": origin })))
}

/// Nor has anything else that a browser fetches for another site, such as an image.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get("sec-fetch-site").map_or(&b""[..], HeaderValue::as_bytes);
    if site != b"cross-site" && site != b"same-site" {
        return Ok(());
    }
    let message = "requests from pages of other sites are not answered";
    Err(Problem::whole(Code::PermissionDenied, message, json!({})))
}

/// A body comes as it is, or packed.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let Some(encoding) = encodings.next_back() else { return Ok(()) };
    let is = |known: &[u8]| encoding.as_bytes().eq_ignore_ascii_case(known);
    let is_known = is(b"gzip") || is(b"identity");
    if is_known && encodings.next().is_none() {
        return Ok(());
    }
    let encoding = String::from_utf8_lossy(encoding.as_bytes());
    let message =
        format!("the content encoding `{encoding}` is not known; send the body as it is, or gzip");
    Err(Problem::short(Code::InvalidArgument, message))
}

/// `localhost`, or an address of this machine alone.
fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') =>
        {
            name
        }
        _ => host,
    }
}

fn overdue(service: &Service) -> Problem {
    let seconds = service.options.timeout.as_secs();
    let message =
        format!("no answer within {seconds} seconds; what was asked may still take effect");
    Problem::short(Code::DeadlineExceeded, message)
}

/// The answer where a handler panicked.
pub(crate) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a request's handler panicked");
    Problem::short(Code::Internal, "Internal server error").into_response()
}

/// The request's own id if it is one, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_id = |id: &&HeaderValue| {
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        (1..=MAX_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(fits)
    };
    if let Some(id) = headers.get(REQUEST_ID).filter(is_id) {
        return id.clone();
    }
    let (one, two) = (chance(), chance());
    let id = format!("{}-{}-4{}-a{}-{}", &one[..8], &one[8..12], &one[13..], &two[1..4], &two[4..]);
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
}

/// The name of a method, of few.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_are_told_from_others() {
        for (host, local) in [
            ("localhost", true),
            ("LOCALHOST:80", true),
            ("127.0.0.1:8931", true),
            ("127.8.9.1", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("::1", true),
            ("evil.example", false),
            ("localhost.evil.example:80", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_local(without_port(host)), local, "{host}");
        }
    }

    #[test]
    fn ids_of_requests_are_taken_over_if_they_are_ids() {
        let echoed = |id: &str| {
            let headers = [(REQUEST_ID, HeaderValue::from_str(id).unwrap())].into_iter().collect();
            request_id(&headers) == id
        };
        assert!(echoed("my-id-1"));
        for bad in ["", "a b", "a;b", &"x".repeat(129)] {
            assert!(!echoed(bad), "{bad}");
        }
        let made = request_id(&HeaderMap::new());
        assert_eq!((made.len(), made.as_bytes()[14]), (36, b'4'), "{made:?}");
    }
}
