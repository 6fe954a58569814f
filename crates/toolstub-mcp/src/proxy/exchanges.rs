//! What a client says to a server over HTTP: a request each, many of them at once.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::asked::Number;
use super::child::within;
use super::client::Forward;
use super::frames::{Frames, Piece, Sink};
use super::http::{CONNECTING, Remote};
use super::message::{Frame, Id, Message, id};
use super::pump::Answers;
use super::{Proxy, headers};

/// How many requests may be on their way at once.
const MAX_EXCHANGES: usize = 1000;
/// With what a client says that it has begun.
const BEGUN: &str = "notifications/initialized";
/// How much of what the client says may wait for the server, in bytes.
const ROOM: usize = 64 << 20;
/// How long answers are waited for once the client has said all.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long they are waited for once the store is waited for no longer.
const GRACE: Duration = Duration::from_secs(1);

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
    /// What it tells, if it is a notification.
    tells: Option<String>,
    /// Given up once it is sent.
    pub(super) room: Option<OwnedSemaphorePermit>,
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

/// Requests on their way to a server over HTTP.
pub(super) struct Exchanges<W> {
    proxy: Arc<Proxy>,
    remote: Arc<Remote>,
    client: Sink<W>,
    tasks: JoinSet<()>,
    answers: Answers,
    room: Arc<Semaphore>,
    /// The client's word that it has begun has arrived.
    begun: Done,
    /// What the client told last has arrived.
    told: Done,
    /// Requests that state their version themselves: dropping one is how it is called off.
    droppable: BTreeMap<Id, AbortHandle>,
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
            room: Arc::new(Semaphore::new(ROOM)),
            begun: Done::default(),
            told: Done::default(),
            droppable: BTreeMap::new(),
            listening: None,
        }
    }

    /// Takes what the client says, until it has said all.
    pub(super) async fn run<R: AsyncRead + Unpin>(&mut self, mut frames: Frames<R>) {
        // A stream that fails has ended.
        while let Ok(Some(piece)) = frames.next().await {
            match piece {
                Piece::Line(line) => {
                    if let Ok(text) = std::str::from_utf8(&line) {
                        self.take(text).await;
                    }
                }
                Piece::Part { is_last: true, .. } => {
                    tracing::warn!("a frame of the client is too long to be sent over HTTP");
                }
                Piece::Part { .. } => {}
            }
        }
    }

    async fn take(&mut self, text: &str) {
        while self.tasks.try_join_next().is_some() {}
        self.droppable.retain(|_, exchange| !exchange.is_finished());
        if self.call_off(text) {
            // Forgotten, so that no answer is expected.
            self.proxy.client_says(text).await;
            return;
        }
        let from = self.proxy.client_says(text).await;
        let body = match &from.forward {
            Forward::Unchanged => text,
            Forward::Text(left) => left,
            Forward::Nothing => "",
        };
        let letter = self.letter(body, from.asked.clone());
        self.answers.give(&self.proxy, from, text.len(), &self.client).await;
        let Some(mut letter) = letter else { return };
        while self.tasks.len() >= MAX_EXCHANGES {
            self.tasks.join_next().await;
        }
        let units = u32::try_from(letter.body.len().min(ROOM)).unwrap_or(0);
        letter.room = Arc::clone(&self.room).acquire_many_owned(units).await.ok();
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
            let exchange = self.tasks.spawn(async move {
                begun.wait().await;
                remote.exchange(&proxy, letter, &client).await;
            });
            if is_droppable {
                self.droppable.extend(ids.into_iter().map(|id| (id, exchange.clone())));
            }
            return;
        }
        let (sent, arrives) = Done::new();
        let begins = letter.tells.as_deref() == Some(BEGUN);
        let before = match letter.tells.as_deref() {
            None | Some("notifications/cancelled") => begun,
            Some(_) => std::mem::replace(&mut self.told, arrives.clone()),
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
        if self.droppable.is_empty() {
            return false;
        }
        let called_off = Message::parse(text)
            .filter(|message| message.method.as_deref() == Some("notifications/cancelled"))
            .and_then(|message| id(message.object("params")?.given("requestId")?));
        let exchange = called_off.and_then(|called_off| self.droppable.remove(&called_off));
        exchange.map(|exchange| exchange.abort()).is_some()
    }

    /// What is to be sent; nothing of what is no frame: a server over HTTP takes nothing else.
    fn letter(&self, body: &str, requests: Vec<Number>) -> Option<Letter> {
        let frame = Frame::parse(body)?;
        let negotiated = self.remote.version();
        let body = body.trim().as_bytes().to_vec();
        let mut letter = Letter { body, requests, ..Letter::default() };
        for message in &frame.messages {
            if message.method.is_some() {
                letter.ids.extend(message.id());
            }
            letter.is_initialize |= message.method.as_deref() == Some("initialize");
            let tells = message.method.clone().filter(|_| message.raw_id().is_none());
            if letter.tells.as_deref() != Some(BEGUN) {
                letter.tells = tells;
            }
            let called = message.object("params").and_then(|params| params.text("name"));
            let marked = called.map(|tool| self.proxy.asked().marked(&tool)).unwrap_or_default();
            letter.headers.extend(headers::of_message(message, negotiated.as_deref(), &marked));
        }
        (!frame.messages.is_empty()).then_some(letter)
    }

    /// Lets what is on its way arrive, if the client still listens, and ends the rest.
    pub(super) async fn end(mut self, wait: bool) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        if wait {
            let rest = async {
                while self.tasks.join_next().await.is_some() {}
                self.answers.finish().await;
            };
            let mut rest = pin!(rest);
            // A client that reads slowly gets all the same.
            if within(PATIENCE, || self.client.is_writing(), &mut rest).await.is_none() {
                self.proxy.hurry();
                within(GRACE, || self.client.is_writing(), rest).await;
            }
        }
        self.tasks.abort_all();
    }
}
