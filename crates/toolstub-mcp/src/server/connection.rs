//! A connection to one client, on which nothing that was asked goes without its answer.
//!
//! The library's own transport reads on while answers wait for a client that reads slowly, and gives them up
//! soon after the client has closed its side. Here, a client that leaves answers unread is not read from
//! either, and its end is told only once it has all of them. What a client says before it has begun, such
//! as that a question is called off which it gave up, ends nothing. A line that is no message is answered with
//! what is wrong with it, and a batch with one line for all that it asked.
//!
//! Calls may wait for a store. So many of them are under way, further ones are held, and all that is said
//! meanwhile is heard: that one of them is called off, or the question whether anybody is there.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::frames::{Heard, refused};
use super::lines::{LONGEST, Lines};
use super::unknown_method;

/// How many calls may be under way.
const MOST_CALLS: usize = 64;
/// How many messages are held that wait for one of them to end.
const MOST_HELD: usize = 1000;
/// How much is read at most, in bytes, while messages are held.
const MOST_AHEAD: usize = LONGEST;
/// How many requests may be without an answer before nothing more is read, whatever it is.
const MOST: usize = 2 * MOST_CALLS;
/// How long an answer is waited for once the client has closed its side, while nothing is written.
const PATIENCE: Duration = Duration::from_secs(60);

type Message = RxJsonRpcMessage<RoleServer>;

/// A transport of frames in lines.
pub(super) struct Connection<R> {
    lines: Lines<R>,
    /// What came in a line and was not handed on yet.
    heard: VecDeque<Message>,
    /// Calls that wait for others to end.
    held: VecDeque<Message>,
    /// What was read while calls are held, in bytes.
    ahead: usize,
    /// Whether the client has said all that it will.
    is_over: bool,
    writer: Option<Writer>,
    open: Arc<Open>,
    /// Whether the client has said in which era it speaks.
    is_begun: bool,
}

/// What has no answer yet.
#[derive(Debug, Default)]
struct Open {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    requests: HashSet<RequestId>,
    /// Those of them that are calls.
    calls: HashSet<RequestId>,
    /// The batches of requests that came in one.
    batches: HashMap<RequestId, Arc<Mutex<Batch>>>,
    /// The frames that are being written.
    writing: usize,
    /// Whether the client takes nothing any more.
    is_gone: bool,
}

/// Answers that belong together.
#[derive(Debug, Default)]
struct Batch {
    /// How many are missing.
    missing: usize,
    answers: Vec<Vec<u8>>,
}

impl Batch {
    /// Takes an answer, or that there will be none; all of them once none is missing any more.
    fn add(&mut self, answer: Option<Vec<u8>>) -> Option<Vec<u8>> {
        self.missing = self.missing.saturating_sub(1);
        self.answers.extend(answer);
        self.whole()
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        if self.missing > 0 || self.answers.is_empty() {
            return None;
        }
        let mut whole = b"[".to_vec();
        whole.extend(std::mem::take(&mut self.answers).join(&b','));
        whole.push(b']');
        Some(whole)
    }
}

/// Writes whole frames, one after the other, though whoever asked for it waits no longer.
#[derive(Debug, Clone)]
struct Writer(mpsc::Sender<(Vec<u8>, oneshot::Sender<io::Result<()>>)>);

impl Writer {
    fn new(mut output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (frames, mut asked) = mpsc::channel::<(Vec<u8>, oneshot::Sender<io::Result<()>>)>(1);
        tokio::spawn(async move {
            while let Some((mut frame, done)) = asked.recv().await {
                frame.push(b'\n');
                let written = match output.write_all(&frame).await {
                    Ok(()) => output.flush().await,
                    failed => failed,
                };
                // Nobody may want to know.
                let _ = done.send(written);
            }
        });
        Self(frames)
    }

    async fn write(&self, frame: Vec<u8>) -> io::Result<()> {
        let (done, written) = oneshot::channel();
        let gone = |()| io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.send((frame, done)).await.map_err(|_| gone(()))?;
        written.await.map_err(|_| gone(()))?
    }
}

impl<R: AsyncRead + Send + Unpin> Connection<R> {
    pub(super) fn new(input: R, output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self {
            lines: Lines::new(input),
            heard: VecDeque::new(),
            held: VecDeque::new(),
            ahead: 0,
            is_over: false,
            writer: Some(Writer::new(output)),
            open: Arc::default(),
            is_begun: false,
        }
    }

    /// Takes a line in.
    fn hear(&mut self, line: Heard) {
        match line {
            Heard::Nothing => {}
            Heard::One(message) => self.heard.push_back(*message),
            Heard::Wrong(answer) => self.owe(answer.into_bytes()),
            Heard::Batch(..) if !self.is_begun => {
                let answer = refused(None, "a batch cannot come before `initialize`");
                self.owe(answer.into_bytes());
            }
            Heard::Batch(messages, answers) => {
                let answers = answers.into_iter().map(String::into_bytes).collect();
                let batch = Batch { missing: 0, answers };
                if let Some(whole) = self.begin(messages, batch) {
                    self.owe(whole);
                }
            }
        }
    }

    /// Begins a batch; where it needs no answers of anybody else, all that it has come back.
    fn begin(&mut self, messages: Vec<Message>, batch: Batch) -> Option<Vec<u8>> {
        let batch = Arc::new(Mutex::new(batch));
        let mut state = self.open.state();
        let mut all = batch.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages {
            if let JsonRpcMessage::Request(request) = &message {
                let id = &request.id;
                let is_held = self.held.iter().any(|held| is_request(held, id));
                if is_held || state.requests.contains(id) || state.batches.contains_key(id) {
                    all.answers.push(refused_twice(id));
                    continue;
                }
                state.batches.insert(id.clone(), Arc::clone(&batch));
                all.missing += 1;
            }
            self.heard.push_back(message);
        }
        all.whole()
    }

    /// The next message that is to be handed on now.
    fn next_in_turn(&mut self) -> Option<Message> {
        let has_room = |open: &Open| open.state().calls.len() < MOST_CALLS;
        if has_room(&self.open)
            && let Some(message) = self.held.pop_front()
        {
            return Some(self.handed_on(message));
        }
        while let Some(message) = self.heard.pop_front() {
            match &message {
                JsonRpcMessage::Request(request) => {
                    let id = &request.id;
                    let is_held = self.held.iter().any(|held| is_request(held, id));
                    if is_held || self.open.state().requests.contains(id) {
                        self.owe(refused_twice(id));
                        continue;
                    }
                    self.is_begun |= begins(&request.request);
                    if !is_call(&request.request) || has_room(&self.open) {
                        return Some(self.handed_on(message));
                    }
                    self.held.push_back(message);
                }
                _ if !self.is_begun => {}
                JsonRpcMessage::Notification(notification) => {
                    let notification = &notification.notification;
                    if let ClientNotification::CancelledNotification(off) = notification
                        && let Some(id) = &off.params.request_id
                    {
                        self.call_off(id);
                    }
                    return Some(message);
                }
                _ => return Some(message),
            }
        }
        None
    }

    /// What is handed on is open from then on.
    fn handed_on(&self, message: Message) -> Message {
        if let JsonRpcMessage::Request(request) = &message {
            let mut state = self.open.state();
            if is_call(&request.request) {
                state.calls.insert(request.id.clone());
            }
            state.requests.insert(request.id.clone());
        }
        message
    }

    /// What is called off has no answer.
    fn call_off(&mut self, id: &RequestId) {
        self.held.retain(|held| !is_request(held, id));
        if let Some(rest) = self.open.collected(Some(id), None) {
            self.owe(rest);
        }
        self.open.answered(Some(id));
    }

    /// Writes what answers no request. It counts as one that is open until it is written.
    fn owe(&self, frame: Vec<u8>) {
        let Some(writer) = self.writer.clone() else { return };
        let open = Arc::clone(&self.open);
        open.state().writing += 1;
        tokio::spawn(async move {
            // What fails is told where an answer is sent.
            let _ = open.written(writer.write(frame).await);
        });
    }
}

impl State {
    fn open(&self) -> usize {
        self.requests.len() + self.writing
    }
}

impl Open {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once that is so, or nothing has come of what is open for a time.
    async fn until(&self, is_so: impl Fn(&State) -> bool, patience: Option<Duration>) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if is_so(&self.state()) {
                return;
            }
            let Some(patience) = patience else {
                changed.await;
                continue;
            };
            // A client that reads slowly has all the time it wants.
            if timeout(patience, changed).await.is_err() && self.state().writing == 0 {
                return;
            }
        }
    }

    /// An answer as it is to be written: none where others of its batch are missing. No answer at all is
    /// one too.
    fn collected(&self, id: Option<&RequestId>, answer: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let batch = id.and_then(|id| self.state().batches.remove(id));
        match batch {
            Some(batch) => batch.lock().unwrap_or_else(PoisonError::into_inner).add(answer),
            None => answer,
        }
    }

    /// Takes note of what came of a frame. That a client is gone is no failure: it ends the connection.
    fn written(&self, outcome: io::Result<()>) -> io::Result<()> {
        let is_gone = outcome.as_ref().is_err_and(|error| {
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
        });
        {
            let mut state = self.state();
            state.writing -= 1;
            state.is_gone |= is_gone;
        }
        self.changed.notify_waiters();
        if is_gone { Ok(()) } else { outcome }
    }

    fn answered(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            let mut state = self.state();
            state.requests.remove(id);
            state.calls.remove(id);
        }
        self.changed.notify_waiters();
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Connection<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &mut item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(answer) => {
                let error = &mut answer.error;
                if error.code == ErrorCode::METHOD_NOT_FOUND && !error.message.contains(' ') {
                    error.message = unknown_method(&error.message).into();
                }
                answer.id.clone()
            }
            _ => None,
        };
        let (open, writer) = (Arc::clone(&self.open), self.writer.clone());
        let frame = serde_json::to_vec(&item).map_err(io::Error::from);
        async move {
            let frame = open.collected(id.as_ref(), Some(frame?));
            match (frame, writer) {
                (Some(frame), Some(writer)) => {
                    open.state().writing += 1;
                    // The client may use the id again as soon as it has this.
                    open.answered(id.as_ref());
                    open.written(writer.write(frame).await)
                }
                (frame, _) => {
                    open.answered(id.as_ref());
                    frame.map_or(Ok(()), |_| Err(io::ErrorKind::NotConnected.into()))
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            // A client that does not read its answers is not read from either.
            self.open.until(|state| state.is_gone || state.open() < MOST, None).await;
            if self.open.state().is_gone {
                return None;
            }
            if let Some(message) = self.next_in_turn() {
                return Some(message);
            }
            let is_held = !self.held.is_empty();
            let has_news =
                |state: &State| state.is_gone || (is_held && state.calls.len() < MOST_CALLS);
            if !is_held {
                self.ahead = 0;
            }
            if self.is_over && !is_held {
                let is_done = |state: &State| state.is_gone || state.open() == 0;
                self.open.until(is_done, Some(PATIENCE)).await;
                return None;
            }
            if self.is_over || self.held.len() >= MOST_HELD || self.ahead >= MOST_AHEAD {
                self.open.until(has_news, None).await;
                continue;
            }
            tokio::select! {
                line = self.lines.next() => {
                    self.ahead += self.lines.length();
                    match line {
                        Some(line) => self.hear(line),
                        None => self.is_over = true,
                    }
                }
                () = self.open.until(has_news, None) => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer = None;
        Ok(())
    }
}

/// Whether a request is the first of a conversation: the handshake, or one that needs none.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

/// Whether a request is a call of a tool, which may have to wait for a store.
fn is_call(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::CallToolRequest(_) => true,
        ClientRequest::CustomRequest(request) => request.method == "tools/call",
        _ => false,
    }
}

fn is_request(message: &Message, id: &RequestId) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if request.id == *id)
}

/// The answer to a request whose id another has that is open.
fn refused_twice(id: &RequestId) -> Vec<u8> {
    let id = serde_json::to_string(id).ok();
    refused(id.as_deref(), "there is another request of this id").into_bytes()
}
