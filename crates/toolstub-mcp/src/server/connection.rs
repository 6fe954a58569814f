//! A connection to one client, on which nothing that was asked goes without its answer.
//!
//! The transport below reads on while answers wait for a client that reads slowly, and gives them up soon
//! after the client has closed its side. Here, a client that leaves answers unread is not read from
//! either, and its end is told only once it has all of them. What a client says before it has begun, such
//! as that a question is called off which it gave up, ends nothing.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::timeout;

/// How many requests may be without an answer before no further one is read.
const MOST: usize = 64;
/// How long an answer is waited for once the client has closed its side, while nothing is written.
const PATIENCE: Duration = Duration::from_secs(60);

/// A transport of frames in lines.
pub(super) struct Connection<R: AsyncRead + Unpin, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, WholeLines<R>, W>,
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
    /// The frames that are being written.
    writing: usize,
}

impl<R, W> Connection<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(input: R, output: W) -> Self {
        let input = WholeLines { input, is_open: false };
        Self {
            inner: AsyncRwTransport::new_server(input, output),
            open: Arc::default(),
            is_begun: false,
        }
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
            if self.state().requests.len() < most {
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

    fn answered(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            self.state().requests.remove(id);
        }
        self.changed.notify_waiters();
    }
}

impl<R, W> Transport<RoleServer> for Connection<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let open = Arc::clone(&self.open);
        let sending = self.inner.send(item);
        async move {
            open.state().writing += 1;
            let sent = sending.await;
            open.state().writing -= 1;
            open.answered(id.as_ref());
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.open.fewer_than(MOST, None).await;
            let Some(message) = self.inner.receive().await else {
                self.open.fewer_than(1, Some(PATIENCE)).await;
                return None;
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
                        self.open.answered(off.params.request_id.as_ref());
                    }
                }
                _ => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
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

/// An input whose last line has its end too.
struct WholeLines<R> {
    input: R,
    /// Whether a line is begun.
    is_open: bool,
}

impl<R: AsyncRead + Unpin> AsyncRead for WholeLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.input).poll_read(context, buffer))?;
        match buffer.filled()[before..].last() {
            Some(last) => self.is_open = *last != b'\n',
            None if self.is_open => {
                buffer.put_slice(b"\n");
                self.is_open = false;
            }
            None => {}
        }
        Poll::Ready(Ok(()))
    }
}
