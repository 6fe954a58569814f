//! A connection to one client, on which nothing that was asked goes without its answer.
//!
//! The library's own transport reads on while answers wait for a client that reads slowly, and gives them up
//! soon after the client has closed its side. Here, a client that leaves answers unread is not read from
//! either, and its end is told only once it has all of them. What a client says before it has begun, such
//! as that a question is called off which it gave up, ends nothing. A line that is no message is answered with
//! what is wrong with it, and a batch with one line for all that it asked.

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
use super::lines::Lines;
use super::unknown_method;

/// How many requests may be without an answer before no further one is read.
const MOST: usize = 64;
/// How long an answer is waited for once the client has closed its side, while nothing is written.
const PATIENCE: Duration = Duration::from_secs(60);

/// A transport of frames in lines.
pub(super) struct Connection<R> {
    lines: Lines<R>,
    /// What came in a line and was not handed on yet.
    heard: VecDeque<RxJsonRpcMessage<RoleServer>>,
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
    /// The batches of requests that came in one.
    batches: HashMap<RequestId, Arc<Mutex<Batch>>>,
    /// The frames that are being written.
    writing: usize,
    /// Those of them that answer no request that could be understood.
    owed: usize,
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
    fn begin(
        &mut self,
        messages: Vec<RxJsonRpcMessage<RoleServer>>,
        batch: Batch,
    ) -> Option<Vec<u8>> {
        let batch = Arc::new(Mutex::new(batch));
        let mut state = self.open.state();
        let mut all = batch.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages {
            if let JsonRpcMessage::Request(request) = &message {
                let id = &request.id;
                if state.requests.contains(id) || state.batches.contains_key(id) {
                    let id = serde_json::to_string(id).ok();
                    let answer = refused(id.as_deref(), "there is another request of this id");
                    all.answers.push(answer.into_bytes());
                    continue;
                }
                state.batches.insert(id.clone(), Arc::clone(&batch));
                all.missing += 1;
            }
            self.heard.push_back(message);
        }
        all.whole()
    }

    /// Writes what answers no request. It counts as one that is open until it is written.
    fn owe(&self, frame: Vec<u8>) {
        let Some(writer) = self.writer.clone() else { return };
        let open = Arc::clone(&self.open);
        {
            let mut state = open.state();
            state.owed += 1;
            state.writing += 1;
        }
        tokio::spawn(async move {
            // A client that is gone is noticed by whoever reads.
            let _ = writer.write(frame).await;
            {
                let mut state = open.state();
                state.owed -= 1;
                state.writing -= 1;
            }
            open.changed.notify_waiters();
        });
    }
}

impl State {
    fn open(&self) -> usize {
        self.requests.len() + self.owed
    }
}

impl Open {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once fewer requests are open than that, or nothing has come of them for a time.
    async fn fewer_than(&self, most: usize, patience: Option<Duration>) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.state().open() < most {
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

    fn answered(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            self.state().requests.remove(id);
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
            let sent = match (frame, writer) {
                (Some(frame), Some(writer)) => {
                    open.state().writing += 1;
                    let sent = writer.write(frame).await;
                    open.state().writing -= 1;
                    sent
                }
                (Some(_), None) => Err(io::ErrorKind::NotConnected.into()),
                (None, _) => Ok(()),
            };
            open.answered(id.as_ref());
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.open.fewer_than(MOST, None).await;
            let Some(message) = self.heard.pop_front() else {
                let Some(line) = self.lines.next().await else {
                    self.open.fewer_than(1, Some(PATIENCE)).await;
                    return None;
                };
                self.hear(line);
                continue;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    self.is_begun |= begins(&request.request);
                    self.open.state().requests.insert(request.id.clone());
                }
                _ if !self.is_begun => continue,
                JsonRpcMessage::Notification(notification) => {
                    // What is called off has no answer.
                    let notification = &notification.notification;
                    if let ClientNotification::CancelledNotification(off) = notification {
                        let id = off.params.request_id.as_ref();
                        if let Some(rest) = self.open.collected(id, None) {
                            self.owe(rest);
                        }
                        self.open.answered(id);
                    }
                }
                _ => {}
            }
            return Some(message);
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
