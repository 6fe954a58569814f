//! Moving frames from one side to the other.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use super::Proxy;
use super::client::{Forward, FromClient};
use super::frames::{Frames, Parts, Piece, Sink};

/// How much of results may be on its way into the store at once, in units of `UNIT` bytes.
const ROOM: u32 = 128;
const UNIT: usize = 1 << 20;

/// Answers of ours on their way to the client.
#[derive(Debug, Default)]
pub(super) struct Answers(JoinSet<()>);

impl Answers {
    /// Answers what is answered here, and passes nothing on.
    pub(super) fn give<W>(&mut self, proxy: &Arc<Proxy>, from: FromClient, client: &Sink<W>)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        while self.0.try_join_next().is_some() {}
        if from.answers.is_empty() {
            return;
        }
        let (proxy, client) = (Arc::clone(proxy), client.clone());
        self.0.spawn(async move {
            let mut answers = Vec::with_capacity(from.answers.len());
            for local in &from.answers {
                answers.push(proxy.answer(local).await);
            }
            let frame = match answers.as_slice() {
                [answer] if !from.is_batch => answer.clone(),
                _ => format!("[{}]", answers.join(",")),
            };
            // A client that has gone away wants no answer.
            let _ = client.write(frame.as_bytes()).await;
        });
    }

    /// Waits until all are given.
    pub(super) async fn finish(mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

/// Moves what a client says to a server that reads lines, until the client has said all.
pub(super) async fn to_upstream<R, W, U>(
    proxy: Arc<Proxy>,
    mut frames: Frames<R>,
    upstream: Sink<U>,
    client: Sink<W>,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
    U: AsyncWrite + Unpin,
{
    let mut answers = Answers::default();
    let mut parts = None;
    while let Some(piece) = frames.next().await? {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Part { bytes, is_last } => {
                // Where the server does not read any more, its end is told elsewhere.
                let _ = pass(&upstream, &mut parts, &bytes, is_last).await;
                continue;
            }
        };
        let from = match std::str::from_utf8(&line) {
            Ok(text) => proxy.client_says(text),
            Err(_) => FromClient::unchanged(),
        };
        let _ = match &from.forward {
            Forward::Unchanged => upstream.write(&line).await,
            Forward::Text(text) => upstream.write(text.as_bytes()).await,
            Forward::Nothing => Ok(()),
        };
        answers.give(&proxy, from, &client);
    }
    upstream.close().await;
    answers.finish().await;
    Ok(())
}

/// Moves what a server says in lines to the client, until the server has said all or is not to be
/// listened to any more.
///
/// What is being stored holds nothing else up; how much that is at once is bounded.
pub(super) async fn to_client<R, W>(
    proxy: Arc<Proxy>,
    mut frames: Frames<R>,
    client: Sink<W>,
    hang_up: Arc<Notify>,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let room = Arc::new(Semaphore::new(ROOM as usize));
    let mut storing = JoinSet::new();
    let mut parts = None;
    loop {
        let piece = tokio::select! {
            piece = frames.next() => piece?,
            () = hang_up.notified() => None,
        };
        let Some(piece) = piece else { break };
        while storing.try_join_next().is_some() {}
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Part { bytes, is_last } => {
                pass(&client, &mut parts, &bytes, is_last).await?;
                continue;
            }
        };
        let Ok(text) = std::str::from_utf8(&line) else {
            client.write(&line).await?;
            continue;
        };
        let rewrites = proxy.upstream_says(text);
        if !rewrites.iter().any(super::upstream::Rewrite::takes_time) {
            match proxy.rewritten(text, rewrites).await {
                Some(text) => client.write(text.as_bytes()).await?,
                None => client.write(&line).await?,
            }
            continue;
        }
        let units = u32::try_from(line.len() / UNIT + 1).unwrap_or(ROOM).min(ROOM);
        let Ok(permit) = Arc::clone(&room).acquire_many_owned(units).await else { break };
        let (proxy, client) = (Arc::clone(&proxy), client.clone());
        storing.spawn(async move {
            let _permit = permit;
            let text = String::from_utf8(line).unwrap_or_default();
            let with = proxy.rewritten(&text, rewrites).await;
            // A client that has gone away wants no answer.
            let _ = client.write(with.unwrap_or(text).as_bytes()).await;
        });
    }
    while storing.join_next().await.is_some() {}
    Ok(())
}

/// Passes a part of a frame on; nothing comes between it and the next.
async fn pass<W: AsyncWrite + Unpin>(
    sink: &Sink<W>,
    parts: &mut Option<Parts<W>>,
    bytes: &[u8],
    is_last: bool,
) -> io::Result<()> {
    let mut open = match parts.take() {
        Some(open) => open,
        None => sink.begin().await,
    };
    open.write(bytes).await?;
    if !is_last {
        *parts = Some(open);
    }
    Ok(())
}
