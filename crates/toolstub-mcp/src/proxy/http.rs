//! A server over streamable HTTP, for a client that speaks over streams.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::FusedFuture as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::asked::Number;
use super::exchanges::{BEGUN, Exchanges, Letter};
use super::frames::{Frames, Sink};
use super::hello::{Hello, settled};
use super::message::{Frame, Message};
use super::sse::Events;
use super::{Exit, Proxy};
use crate::McpError;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// The longest answer that is held, in bytes.
const MAX_BODY: usize = 256 << 20;
/// How much of an answer is held without asking for room, in bytes.
const SMALL: usize = 1 << 20;
/// How many answers may be longer than that at once: the others wait.
const MAX_LARGE: usize = 4;
/// How long an answer has such room at once, where others wait for it.
const TERM: Duration = Duration::from_secs(4);
/// How long nothing more may come of an answer of which that much is held.
const STALLED: Duration = Duration::from_secs(60);
/// How much of an answer that is no frame is told, in characters.
const MAX_TOLD: usize = 300;
/// How long a connection may take.
pub(super) const CONNECTING: Duration = Duration::from_secs(30);
/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);
const HASTY_GOODBYE: Duration = Duration::from_millis(300);
/// How often a server may send on to another place of its own.
const MAX_REDIRECTS: usize = 5;
/// How often a stream that broke off is taken up again in vain.
const MAX_RETRIES: u32 = 5;
/// How long a stream that says nothing stays open that is not in vain: somebody between may end it.
const LASTING: Duration = Duration::from_secs(10);

/// An MCP server over streamable HTTP.
#[derive(Clone)]
pub struct UpstreamUrl {
    url: Url,
    headers: HeaderMap,
}

impl std::fmt::Debug for UpstreamUrl {
    /// Headers may hold secrets, and so may a URL: only the host is told.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamUrl").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl UpstreamUrl {
    /// Takes an `http:` or `https:` URL and headers that go with each request.
    pub fn new<'a>(
        url: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, McpError> {
        let refused = |reason: String| McpError::Upstream { url: shown(url), reason };
        let parsed = Url::parse(url).map_err(|error| refused(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(refused("it is no http: or https: URL".to_owned()));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let header = name.parse::<HeaderName>().ok().zip(HeaderValue::from_str(value).ok());
            let (header, mut value) =
                header.ok_or_else(|| refused(format!("the header `{name}` cannot be sent")))?;
            value.set_sensitive(true);
            map.append(header, value);
        }
        Ok(Self { url: parsed, headers: map })
    }
}

/// The server, with what it has said of the connection.
#[derive(Debug)]
pub(super) struct Remote {
    client: Client,
    upstream: UpstreamUrl,
    said: Mutex<Said>,
    /// Held by whoever begins a session in the place of one that has ended.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// How many have been begun so.
    pub(super) sessions: watch::Sender<u64>,
    /// Room for answers that are not small.
    large: Semaphore,
}

/// What has been said of the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<String>,
    pub(super) hello: Hello,
}

impl Proxy {
    /// Runs between a client and a server over HTTP until the client goes away, or until `stop` ends.
    pub async fn run_url<R, W>(
        self,
        upstream: UpstreamUrl,
        input: R,
        output: W,
        stop: impl Future<Output = ()>,
    ) -> Result<Exit, McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let remote = Arc::new(Remote::new(upstream)?);
        let (proxy, client) = (Arc::new(self), Sink::new(output));
        let mut exchanges = Exchanges::new(Arc::clone(&proxy), Arc::clone(&remote), client.clone());
        let mut stop = pin!(stop.fuse());
        let exit = tokio::select! {
            () = exchanges.run(Frames::new(input)) => Exit::Client,
            () = &mut stop => Exit::Stopped,
        };
        let stopped = async {
            if !stop.is_terminated() {
                stop.await;
            }
        };
        let all_answered = exchanges.end(stopped).await;
        client.close().await;
        // A server that is slow to answer is not waited for once more.
        remote.say_goodbye(if all_answered { GOODBYE } else { HASTY_GOODBYE }).await;
        Ok(exit)
    }

    /// Passes on what a server says, changed where it has to be.
    async fn deliver<W: AsyncWrite + Unpin>(
        &self,
        mut frame: Vec<u8>,
        among: &[Number],
        client: &Sink<W>,
    ) {
        // A frame is a line; in JSON a line ends between values only.
        for byte in &mut frame {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        let text = std::str::from_utf8(&frame).ok();
        let said = text.and_then(|text| Some((text, self.upstream_says(text, among)?)));
        let Some((text, rewrites)) = said else {
            let said = toolstub_core::text::clean_bytes(&frame, MAX_TOLD);
            tracing::warn!(said, "what the MCP server says is no message");
            return;
        };
        let with = self.rewritten(text, rewrites).await;
        // A client that has gone away wants no answer.
        let _ = client.write(with.as_deref().unwrap_or(text).as_bytes()).await;
    }

    /// Answers a request with an error, unless it is answered or called off.
    pub(super) async fn fail<W: AsyncWrite + Unpin>(
        &self,
        number: Number,
        reason: &str,
        client: &Sink<W>,
    ) {
        let request = self.asked().forget(number);
        if let Some(request) = request {
            let error = super::client::error(&request.raw_id, reason);
            let _ = client.write(error.as_bytes()).await;
        }
    }

    fn waits_for(&self, number: Number) -> bool {
        self.asked().waits_for(number)
    }
}

impl Remote {
    pub(super) fn new(upstream: UpstreamUrl) -> Result<Self, McpError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Somebody else may be faster: then theirs is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let builder = Client::builder().connect_timeout(CONNECTING);
        let client = builder.redirect(redirects()).referer(false).build().map_err(|error| {
            let (url, reason) = (shown(upstream.url.as_str()), told(&error));
            McpError::Upstream { url, reason }
        })?;
        let (said, large) = (Mutex::default(), Semaphore::new(MAX_LARGE));
        let (renewing, sessions) = (tokio::sync::Mutex::default(), watch::Sender::default());
        Ok(Self { client, upstream, said, renewing, sessions, large })
    }

    /// The version that a handshake has settled.
    pub(super) fn version(&self) -> Option<String> {
        self.said().version
    }

    pub(super) fn said(&self) -> Said {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note(&self, what: impl FnOnce(&mut Said)) {
        what(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn request(&self, method: Method, session: Option<&HeaderValue>) -> RequestBuilder {
        let request = self.client.request(method, self.upstream.url.clone());
        let request = request.headers(self.upstream.headers.clone());
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    /// Sends a frame.
    pub(super) async fn post(
        &self,
        session: Option<&HeaderValue>,
        headers: HeaderMap,
        body: Bytes,
    ) -> reqwest::Result<Response> {
        let request = self.request(Method::POST, session).header(CONTENT_TYPE, JSON);
        let request = request.header(ACCEPT, format!("{JSON}, {EVENTS}"));
        request.headers(headers).body(body).send().await
    }

    /// States the version that is settled now.
    pub(super) fn state_version(&self, headers: &mut HeaderMap) {
        let version = self.version().and_then(|version| HeaderValue::from_str(&version).ok());
        match version {
            Some(version) => drop(headers.insert(VERSION, version)),
            None => drop(headers.remove(VERSION)),
        }
    }

    /// Sends a frame of the client's; once more where the session has ended and another can be begun.
    async fn send(
        &self,
        body: Bytes,
        mut headers: HeaderMap,
        is_initialize: bool,
    ) -> reqwest::Result<Response> {
        let session = self.said().session.filter(|_| !is_initialize);
        let again = session.as_ref().map(|_| body.clone());
        let response = self.post(session.as_ref(), headers.clone(), body).await?;
        let Some((session, body)) = session.zip(again) else { return Ok(response) };
        if response.status() != StatusCode::NOT_FOUND || !self.renew(&session).await {
            return Ok(response);
        }
        if !headers.contains_key("mcp-method") {
            self.state_version(&mut headers);
        }
        self.post(self.said().session.as_ref(), headers, body).await
    }

    /// Sends a frame and passes on all that is answered.
    pub(super) async fn exchange<W: AsyncWrite + Unpin>(
        &self,
        proxy: &Proxy,
        letter: Letter,
        client: &Sink<W>,
    ) {
        let Letter { body, headers, requests, is_initialize, tells, room, .. } = letter;
        let body = Bytes::from(body);
        let initialize = is_initialize.then(|| body.clone());
        if tells.as_deref() == Some(BEGUN) {
            self.note(|said| said.hello.initialized = Some(body.clone()));
        }
        let sent = self.send(body, headers, is_initialize).await;
        drop(room);
        let failure = match sent {
            Ok(response) => {
                if let Some(initialize) = initialize.filter(|_| response.status().is_success()) {
                    let session = response.headers().get(SESSION).cloned();
                    self.note(|said| {
                        said.hello.initialize = Some(initialize);
                        (said.session, said.version) = (session, None);
                    });
                }
                self.answered(proxy, response, &requests, is_initialize, client).await
            }
            Err(error) => Some(format!("cannot reach the MCP server: {}", told(&error))),
        };
        if requests.is_empty()
            && let Some(failure) = &failure
        {
            tracing::warn!(failure, "a notification did not arrive");
        }
        let failure = failure.unwrap_or_else(|| "the MCP server did not answer".to_owned());
        for number in requests {
            proxy.fail(number, &failure, client).await;
        }
    }

    /// Passes on an answer; says why it is none, if it is none.
    async fn answered<W: AsyncWrite + Unpin>(
        &self,
        proxy: &Proxy,
        response: Response,
        requests: &[Number],
        is_initialize: bool,
        client: &Sink<W>,
    ) -> Option<String> {
        let status = response.status();
        if status.is_success() && is(&response, EVENTS) {
            let mut events = Events::default();
            let mut broken =
                self.pass_on(proxy, response, &mut events, requests, is_initialize, client).await;
            let mut tries = 0;
            while requests.iter().any(|number| proxy.waits_for(*number)) && tries < MAX_RETRIES {
                let Some(last) = events.last_id.clone() else { break };
                tokio::time::sleep(events.wait()).await;
                match self.resume(Some(&last)).await {
                    Ok(response) if response.status().is_success() && is(&response, EVENTS) => {
                        broken = self
                            .pass_on(proxy, response, &mut events, requests, false, client)
                            .await;
                        tries = if events.last_id.as_ref() == Some(&last) { tries + 1 } else { 0 };
                    }
                    _ => tries += 1,
                }
            }
            return broken;
        }
        if let Some(to) = redirected(&response) {
            return Some(format!(
                "the MCP server answered {status} and sends on to {to}, which is not followed: \
                 if that is where it is, give that URL"
            ));
        }
        let is_json = is(&response, JSON);
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .map(|kind| toolstub_core::text::clean_bytes(kind.as_bytes(), MAX_TOLD));
        let (body, _room) = match self.whole(response).await {
            Ok(whole) => whole,
            Err(reason) => return Some(format!("the MCP server's answer broke off: {reason}")),
        };
        let frame = std::str::from_utf8(&body).ok().filter(|_| is_json).and_then(Frame::parse);
        let answers = frame.is_some_and(|frame| frame.messages.iter().any(Message::is_response));
        if answers {
            if is_initialize {
                self.note_version(&body);
            }
            proxy.deliver(body, requests, client).await;
            None
        } else if status.is_success() {
            // That a message was taken is said without a word.
            let text = toolstub_core::text::clean_bytes(&body, MAX_TOLD);
            let what = if text.is_empty() { "nothing" } else { "what is no answer" };
            let kind = kind.map(|kind| format!(" of the type {kind}")).unwrap_or_default();
            let separator = if text.is_empty() { "" } else { ": " };
            (!requests.is_empty()).then(|| {
                format!("the MCP server answered {status} with {what}{kind}{separator}{text}")
            })
        } else {
            let text = toolstub_core::text::clean_bytes(&body, MAX_TOLD);
            let what = if status == StatusCode::NOT_FOUND && self.said().session.is_some() {
                "; the session may have ended there, connect again"
            } else {
                ""
            };
            Some(format!("the MCP server answered {status}: {text}{what}"))
        }
    }

    /// The whole of an answer, within bounds, and the room that it takes.
    async fn whole(&self, mut response: Response) -> Result<(Vec<u8>, Option<Room<'_>>), String> {
        let (mut body, mut room) = (Vec::new(), None);
        while let Some(chunk) = chunk(&mut response, body.len(), &mut room).await? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err("it is too long".to_owned());
            }
            body.extend_from_slice(&chunk);
            self.make_room(body.len(), &mut room).await;
        }
        Ok((body, room))
    }

    /// Waits for room for an answer that is so long so far; gives up the room of one that is small, and,
    /// for others that wait, of one that has had it for its time.
    async fn make_room<'a>(&'a self, length: usize, room: &mut Option<Room<'a>>) {
        let is_over = room.as_ref().is_some_and(|room| room.since.elapsed() > TERM);
        if length <= SMALL || is_over {
            *room = None;
        }
        if length > SMALL && room.is_none() {
            let permit = self.large.acquire().await.ok();
            *room = permit.map(|permit| Room { _permit: permit, since: Instant::now() });
        }
    }

    /// Passes on the frames of a stream; says why it broke off, if it did.
    async fn pass_on<W: AsyncWrite + Unpin>(
        &self,
        proxy: &Proxy,
        mut response: Response,
        events: &mut Events,
        requests: &[Number],
        is_initialize: bool,
        client: &Sink<W>,
    ) -> Option<String> {
        let mut room = None;
        events.begin();
        loop {
            match chunk(&mut response, events.held(), &mut room).await {
                Ok(Some(chunk)) => {
                    let Ok(frames) = events.take(&chunk) else {
                        return Some("the MCP server's answer is too long".to_owned());
                    };
                    for frame in frames {
                        if is_initialize {
                            self.note_version(&frame);
                        }
                        proxy.deliver(frame, requests, client).await;
                    }
                    self.make_room(events.held(), &mut room).await;
                }
                Ok(None) => return None,
                Err(reason) => {
                    return Some(format!("the MCP server's answer broke off: {reason}"));
                }
            }
        }
    }

    /// Remembers the version that a handshake has settled.
    fn note_version(&self, frame: &[u8]) {
        if let Some(version) = settled(frame) {
            self.note(|said| said.version = Some(version));
        }
    }

    async fn resume(&self, last: Option<&str>) -> reqwest::Result<Response> {
        let Said { session, version, .. } = self.said();
        let mut request = self.request(Method::GET, session.as_ref()).header(ACCEPT, EVENTS);
        if let Some(version) = version {
            request = request.header(VERSION, version);
        }
        if let Some(last) = last {
            request = request.header(LAST_EVENT, last);
        }
        request.send().await
    }

    /// Listens to what the server says without being asked, for as long as it offers that.
    pub(super) async fn listen<W: AsyncWrite + Unpin>(&self, proxy: &Proxy, client: &Sink<W>) {
        let mut events = Events::default();
        let mut tries = 0;
        let mut sessions = self.sessions.subscribe();
        while tries < MAX_RETRIES {
            sessions.mark_unchanged();
            let last = events.last_id.clone();
            match self.resume(last.as_deref()).await {
                Ok(response) if response.status().is_success() && is(&response, EVENTS) => {
                    let (begun, frames) = (Instant::now(), events.count);
                    self.pass_on(proxy, response, &mut events, &[], false, client).await;
                    let has_said = events.count > frames || events.last_id != last;
                    tries = if has_said || begun.elapsed() > LASTING { 0 } else { tries + 1 };
                }
                // Its session has ended, or it offers nothing of the kind: that is known once there is
                // another session.
                Ok(response)
                    if response.status() == StatusCode::NOT_FOUND
                        && self.said().session.is_some() =>
                {
                    if sessions.changed().await.is_err() {
                        return;
                    }
                    (events, tries) = (Events::default(), tries + 1);
                    continue;
                }
                // It offers nothing of the kind.
                Ok(response) if response.status().is_client_error() => return,
                _ => tries += 1,
            }
            tokio::time::sleep(events.wait()).await;
        }
    }

    /// Ends the session, if there is one. A server may refuse.
    async fn say_goodbye(&self, limit: Duration) {
        if let Some(session) = self.said().session {
            let _ = timeout(limit, self.request(Method::DELETE, Some(&session)).send()).await;
        }
    }
}

/// Room for an answer that is not small.
struct Room<'a> {
    _permit: SemaphorePermit<'a>,
    since: Instant,
}

/// The next piece of an answer of which so much is held. One that stalls keeps its room from others for
/// a while only, and is given up in the end.
async fn chunk(
    response: &mut Response,
    held: usize,
    room: &mut Option<Room<'_>>,
) -> Result<Option<Bytes>, String> {
    let mut next = pin!(response.chunk());
    if held > SMALL {
        let (until, stalled) = (Instant::now() + STALLED, "nothing more came for a minute");
        if let Ok(chunk) = timeout(TERM, &mut next).await {
            return chunk.map_err(|error| told(&error));
        }
        *room = None;
        let chunk = timeout_at(until, next).await.map_err(|_| stalled.to_owned())?;
        return chunk.map_err(|error| told(&error));
    }
    next.await.map_err(|error| told(&error))
}

/// Where a server may send on to: nowhere but to itself, as what is sent holds secrets. As it is sent:
/// other redirects would make another request of it.
fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let is_whole = matches!(attempt.status().as_u16(), 307 | 308);
        let previous = attempt.previous();
        let is_same = previous.iter().all(|url| url.origin() == attempt.url().origin());
        if is_whole && is_same && previous.len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Where an answer sends on to, without what may be a secret.
fn redirected(response: &Response) -> Option<String> {
    let location =
        response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    let url = response.url().join(location.to_str().ok()?).ok()?;
    Some(shown(url.as_str()))
}

/// A URL, which need not be one, without what may be a secret: who asks, the query and the fragment.
fn shown(url: &str) -> String {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = place.split_once("://").unwrap_or(("", place));
    // Where it is none, nobody can say where its parts end.
    let is_url = Url::parse(url).is_ok();
    let end = if is_url { rest.find(['/', '\\']).unwrap_or(rest.len()) } else { rest.len() };
    let begin = rest[..end].rfind('@').map_or(0, |at| at + 1);
    let separator = if scheme.is_empty() { "" } else { "://" };
    toolstub_core::text::clean(&format!("{scheme}{separator}{}", &rest[begin..]), MAX_TOLD)
}

/// Whether an answer is of a media type.
pub(super) fn is(response: &Response, media_type: &str) -> bool {
    let given = response.headers().get(CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let given = given.unwrap_or_default().split(';').next().unwrap_or_default();
    given.trim().eq_ignore_ascii_case(media_type)
}

/// An error and what caused it, without the URL: it may hold a secret.
fn told(error: &reqwest::Error) -> String {
    let mut told = String::new();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let separator = if told.is_empty() { "" } else { ": " };
        told.push_str(separator);
        told.push_str(&error.to_string());
        source = error.source();
    }
    if told.is_empty() { "the request failed".to_owned() } else { told }
}
