//! What a client says to a server over HTTP: a request each, many of them at once.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};

use super::asked::Number;
use super::child::{ANSWERING, within};
use super::client::{Forward, error};
use super::frames::{Frames, MAX_FRAME, Piece, Sink};
use super::http::{CONNECTING, Remote};
use super::message::{Frame, Id, Message, id};
use super::overlong::Overlong;
use super::pump::{Answers, Onward};
use super::{Proxy, headers};

/// How many requests may be on their way at once.
const MAX_EXCHANGES: usize = 1000;
/// How many requests on their way are too few to look for those that have ended.
const FEW: usize = 100;
/// With what a client says that it has begun.
pub(super) const BEGUN: &str = "notifications/initialized";
/// How much of what the client says may wait for the server, in bytes.
const ROOM: usize = 64 << 20;
/// How much a frame counts at least of that.
const LEAST: usize = 1 << 10;
/// How long the rest is waited for once the client has said all and the server has answered all: the
/// store most of all.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it is waited for once the store is waited for no longer.
const GRACE: Duration = Duration::from_secs(1);
/// How long it is where the proxy is told to stop.
const HASTE: Duration = Duration::from_millis(200);

/// What a frame is, as far as HTTP has to know.
#[derive(Debug, Default)]
pub(super) struct Letter {
    pub(super) body: Vec<u8>,
    pub(super) headers: HeaderMap,
    /// The requests in it.
    pub(super) requests: Vec<Number>,
    /// Their ids.
    ids: Vec<Id>,
    pub(super) is_initialize: bool,
    /// The request that it calls off.
    calls_off: Option<Id>,
    /// What it tells, if it is a notification.
    pub(super) tells: Option<String>,
    /// Given up once it is sent.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

impl Letter {
    /// Whether it is an answer, or calls a request off: neither waits behind what was said before.
    fn waits_for_begun_alone(&self) -> bool {
        let tells = self.tells.as_deref();
        self.requests.is_empty() && matches!(tells, None | Some("notifications/cancelled"))
    }
}

/// Something that is done in time, or given up.
#[derive(Debug, Clone, Default)]
struct Done(Option<watch::Receiver<()>>);

impl Done {
    /// What is to be dropped once it is done.
    fn new() -> (watch::Sender<()>, Self) {
        let (sender, receiver) = watch::channel(());
        (sender, Self(Some(receiver)))
    }

    async fn wait(self) {
        if let Some(mut receiver) = self.0 {
            while receiver.changed().await.is_ok() {}
        }
    }
}

/// A request that is on its way.
struct UnderWay {
    exchange: AbortHandle,
    /// It states its version itself: dropping it is how it is called off.
    is_droppable: bool,
}

/// How a request goes to the server that has been found to be its own.
struct By<W> {
    proxy: Arc<Proxy>,
    remote: Arc<Remote>,
    client: Sink<W>,
    turns: Arc<Semaphore>,
    begun: Done,
}

impl<W> Clone for By<W> {
    fn clone(&self) -> Self {
        Self {
            proxy: Arc::clone(&self.proxy),
            remote: Arc::clone(&self.remote),
            client: self.client.clone(),
            turns: Arc::clone(&self.turns),
            begun: self.begun.clone(),
        }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Onward for By<W> {
    async fn pass_on(&self, message: String, number: Option<Number>) {
        self.begun.clone().wait().await;
        let _turn = self.turns.acquire().await;
        let requests = number.into_iter().collect();
        if let Some(letter) = letter(&self.proxy, &self.remote, &message, requests) {
            self.remote.exchange(&self.proxy, letter, &self.client).await;
        }
    }
}

/// Requests on their way to a server over HTTP.
pub(super) struct Exchanges<W> {
    proxy: Arc<Proxy>,
    remote: Arc<Remote>,
    client: Sink<W>,
    tasks: JoinSet<()>,
    answers: Answers,
    /// For requests that are under way: others wait.
    turns: Arc<Semaphore>,
    /// For what waits for the server.
    room: Arc<Semaphore>,
    /// For what does not wait behind requests: it may be what ends one.
    replies: Arc<Semaphore>,
    /// The client's word that it has begun has arrived.
    begun: Done,
    /// What the client told last has arrived.
    told: Done,
    under_way: BTreeMap<Id, UnderWay>,
    /// How many those may be before the ones that have ended are looked for.
    many: usize,
    listening: Option<AbortHandle>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Exchanges<W> {
    pub(super) fn new(proxy: Arc<Proxy>, remote: Arc<Remote>, client: Sink<W>) -> Self {
        Self {
            proxy,
            remote,
            client,
            tasks: JoinSet::new(),
            answers: Answers::new(),
            turns: Arc::new(Semaphore::new(MAX_EXCHANGES)),
            room: Arc::new(Semaphore::new(ROOM)),
            replies: Arc::new(Semaphore::new(ROOM)),
            begun: Done::default(),
            told: Done::default(),
            under_way: BTreeMap::new(),
            many: FEW,
            listening: None,
        }
    }

    /// Takes what the client says, until it has said all.
    pub(super) async fn run<R: AsyncRead + Unpin>(&mut self, mut frames: Frames<R>) {
        let mut overlong: Option<Overlong> = None;
        // A stream that fails has ended.
        while let Ok(Some(piece)) = frames.next().await {
            match piece {
                Piece::Line(line) => {
                    if let Ok(text) = std::str::from_utf8(&line) {
                        self.take(text).await;
                    }
                }
                Piece::Part { bytes, is_last } => {
                    overlong.get_or_insert_default().take(&bytes);
                    if let Some(overlong) = overlong.take_if(|_| is_last) {
                        self.refuse(overlong).await;
                    }
                }
            }
        }
    }

    /// Says that a frame is too long to be sent.
    async fn refuse(&self, overlong: Overlong) {
        let why = format!(
            "the message is longer than {} MiB, the most that the proxy sends over HTTP",
            MAX_FRAME >> 20
        );
        tracing::warn!("a message of the client is not sent: {why}");
        for raw_id in overlong.ids() {
            // A client that has gone away wants no answer.
            let _ = self.client.write(error(&raw_id, &why).as_bytes()).await;
        }
    }

    async fn take(&mut self, text: &str) {
        while self.tasks.try_join_next().is_some() {}
        if self.under_way.len() > self.many {
            self.under_way.retain(|_, request| !request.exchange.is_finished());
            self.many = FEW.max(2 * self.under_way.len());
        }
        if self.call_off(text) {
            // Forgotten, so that no answer is expected.
            self.proxy.client_says(text);
            return;
        }
        let from = self.proxy.client_says(text);
        let body = match &from.forward {
            Forward::Unchanged => text,
            Forward::Text(left) => left,
            Forward::Nothing => "",
        };
        let letter = letter(&self.proxy, &self.remote, body, from.asked.clone());
        let onward = By {
            proxy: Arc::clone(&self.proxy),
            remote: Arc::clone(&self.remote),
            client: self.client.clone(),
            turns: Arc::clone(&self.turns),
            begun: self.begun.clone(),
        };
        self.answers.give(&self.proxy, from, text.len(), &self.client, &onward).await;
        let Some(mut letter) = letter else { return };
        let room = if letter.waits_for_begun_alone() { &self.replies } else { &self.room };
        let units = u32::try_from(letter.body.len().clamp(LEAST, ROOM)).unwrap_or(0);
        letter.room = Arc::clone(room).acquire_many_owned(units).await.ok();
        self.send(letter);
    }

    /// Sends a letter, without waiting for what comes of it.
    ///
    /// Nothing arrives before the client's word that it has begun, and what it tells arrives in the
    /// order in which it was told. Requests, answers and what calls a request off wait for nothing else.
    fn send(&mut self, mut letter: Letter) {
        let (proxy, remote, client) =
            (Arc::clone(&self.proxy), Arc::clone(&self.remote), self.client.clone());
        let begun = self.begun.clone();
        if !letter.requests.is_empty() {
            let ids = std::mem::take(&mut letter.ids);
            let is_droppable = letter.headers.contains_key("mcp-method");
            let turns = Arc::clone(&self.turns);
            let exchange = self.tasks.spawn(async move {
                begun.wait().await;
                let _turn = turns.acquire().await;
                remote.exchange(&proxy, letter, &client).await;
            });
            // What stands in a batch is not called off alone.
            if let (1, Some(id)) = (ids.len(), ids.into_iter().next()) {
                self.under_way.insert(id, UnderWay { exchange, is_droppable });
            }
            return;
        }
        let called_off = letter.calls_off.take().and_then(|id| self.under_way.remove(&id));
        let (sent, arrives) = Done::new();
        let begins = letter.tells.as_deref() == Some(BEGUN);
        let before = if letter.waits_for_begun_alone() {
            begun
        } else {
            std::mem::replace(&mut self.told, arrives.clone())
        };
        if begins {
            self.begun = arrives;
            self.listen();
        }
        self.tasks.spawn(async move {
            before.wait().await;
            if timeout(CONNECTING, remote.exchange(&proxy, letter, &client)).await.is_err() {
                tracing::warn!("the MCP server does not take a notification");
            }
            // The server knows: what it says to that all the same is not wanted.
            if let Some(called_off) = called_off {
                called_off.exchange.abort();
            }
            drop(sent);
        });
    }

    /// Listens to what the server says without being asked, once the client has begun.
    fn listen(&mut self) {
        if self.listening.is_some() {
            return;
        }
        let (proxy, remote, client) =
            (Arc::clone(&self.proxy), Arc::clone(&self.remote), self.client.clone());
        let begun = self.begun.clone();
        self.listening = Some(self.tasks.spawn(async move {
            begun.wait().await;
            remote.listen(&proxy, &client).await;
        }));
    }

    /// Calls a request off where that is done by dropping it.
    fn call_off(&mut self, text: &str) -> bool {
        let Some(called_off) = Message::parse(text).as_ref().and_then(called_off) else {
            return false;
        };
        let request = self.under_way.get(&called_off);
        let Some(request) = request.filter(|request| request.is_droppable) else { return false };
        request.exchange.abort();
        self.under_way.remove(&called_off);
        true
    }

    /// Lets what is on its way arrive until `stop` ends, and ends the rest: whoever has no answer is
    /// told. Says whether all had one.
    pub(super) async fn end(mut self, stop: impl Future<Output = ()>) -> bool {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        let wait = {
            let (proxy, client) = (&self.proxy, &self.client);
            let rest = async {
                while self.tasks.join_next().await.is_some() {}
                self.answers.finish().await;
            };
            let mut rest = pin!(rest);
            let until = Instant::now() + ANSWERING;
            let come = async {
                // A client that reads slowly gets all the same.
                let may_answer = || proxy.is_owed() && Instant::now() < until;
                let is_held_up = || client.is_writing() || may_answer();
                if within(PATIENCE, is_held_up, &mut rest).await.is_none() {
                    proxy.hurry();
                    within(GRACE, || client.is_writing(), &mut rest).await;
                }
            };
            let wait = tokio::select! {
                biased;
                () = stop => false,
                () = come => true,
            };
            if !wait {
                // What has come already passes as it is.
                proxy.hurry();
                within(HASTE, || false, rest).await;
            }
            wait
        };
        self.tasks.shutdown().await;
        let errors = self.proxy.give_up(if wait {
            "the client closed its side before the MCP server answered"
        } else {
            "the proxy was told to stop before the MCP server answered"
        });
        let tell = async {
            for error in &errors {
                if self.client.write(error.as_bytes()).await.is_err() {
                    break;
                }
            }
        };
        within(GRACE, || wait && self.client.is_writing(), tell).await;
        errors.is_empty()
    }
}

/// What is to be sent; nothing of what is no frame: a server over HTTP takes nothing else.
fn letter(proxy: &Proxy, remote: &Remote, body: &str, requests: Vec<Number>) -> Option<Letter> {
    let frame = Frame::parse(body)?;
    let negotiated = remote.version();
    let body = body.trim().as_bytes().to_vec();
    let mut letter = Letter { body, requests, ..Letter::default() };
    for message in &frame.messages {
        if message.method.is_some() {
            letter.ids.extend(message.id());
        }
        let is_initialize = message.method.as_deref() == Some("initialize");
        letter.is_initialize |= is_initialize;
        letter.calls_off = letter.calls_off.or_else(|| called_off(message));
        let tells = message.method.clone().filter(|_| message.raw_id().is_none());
        if letter.tells.as_deref() != Some(BEGUN) {
            letter.tells = tells;
        }
        let called = message.object("params").and_then(|params| params.text("name"));
        let marked = called.map(|tool| proxy.asked().marked(&tool)).unwrap_or_default();
        // What is settled anew is not settled yet.
        let negotiated = negotiated.as_deref().filter(|_| !is_initialize);
        letter.headers.extend(headers::of_message(message, negotiated, &marked));
    }
    (!frame.messages.is_empty()).then_some(letter)
}

/// The request that a message calls off.
fn called_off(message: &Message<'_>) -> Option<Id> {
    let is_so = message.method.as_deref() == Some("notifications/cancelled");
    is_so.then(|| id(message.object("params")?.given("requestId")?))?
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::net::TcpListener;
    use toolstub_core::SessionId;
    use toolstub_session::Config;
    use toolstub_store::{MemoryBackend, ResultStore};

    use super::super::{ProxyOptions, UpstreamUrl};
    use super::*;

    /// A server that answers nothing, what it has been told, and exchanges with it.
    async fn silent() -> (Exchanges<DuplexStream>, DuplexStream, Arc<Mutex<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let told = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&told);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let heard = Arc::clone(&heard);
                tokio::spawn(async move {
                    let mut some = [0; 4096];
                    while let Ok(length @ 1..) = stream.read(&mut some).await {
                        heard
                            .lock()
                            .unwrap()
                            .push_str(std::str::from_utf8(&some[..length]).unwrap());
                    }
                });
            }
        });
        let store = ResultStore::new(Arc::new(MemoryBackend::new()));
        let (session, config) = (SessionId::new("p").unwrap(), Config::default());
        let proxy = Arc::new(Proxy::new(store, session, config, ProxyOptions::default()));
        let remote = Arc::new(Remote::new(UpstreamUrl::new(&url, []).unwrap()).unwrap());
        let (client, at_client) = tokio::io::duplex(1 << 16);
        (Exchanges::new(proxy, remote, Sink::new(client)), at_client, told)
    }

    #[tokio::test]
    async fn answers_and_what_calls_off_do_not_wait_for_requests() {
        let (mut exchanges, _heard, told) = silent().await;
        exchanges.turns = Arc::new(Semaphore::new(1));
        exchanges.room = Arc::new(Semaphore::new(2 * LEAST));
        for frame in [
            r#"{"id":1,"method":"x"}"#,
            r#"{"id":2,"method":"y"}"#,
            r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"{"id":9,"result":{}}"#,
        ] {
            timeout(Duration::from_secs(5), exchanges.take(frame)).await.unwrap();
        }
        let has = |what: &str| told.lock().unwrap().contains(what);
        let arrived = async {
            while !(has("cancelled") && has("result") && has(r#""id":1"#)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(10), arrived).await.unwrap();
        assert!(!has(r#""id":2"#));
    }

    #[tokio::test]
    async fn request_that_is_too_long_is_answered() {
        let (mut exchanges, mut heard, told) = silent().await;
        let (mut said, input) = tokio::io::duplex(2 << 20);
        let mut frames = Frames::new(input);
        frames.max = 100_000;
        let long = "x".repeat(500_000);
        for frame in [
            format!(
                r#"{{"method":"x","params":{{"id":1,"a":"{long}"}},"jsonrpc":"2.0","id":"a"}}"#
            ),
            format!(r#"{{"id":3,"result":"{long}"}}"#),
        ] {
            said.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
        }
        drop(said);
        exchanges.run(frames).await;
        drop(exchanges);
        let mut text = String::new();
        heard.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"#), "{text}");
        assert!(text.contains("256 MiB") && text.lines().count() == 1, "{text}");
        assert_eq!(*told.lock().unwrap(), "");
    }
}
