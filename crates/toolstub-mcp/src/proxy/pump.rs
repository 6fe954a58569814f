//! Moving frames from one side to the other.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::Proxy;
use super::asked::Number;
use super::child::LOOK;
use super::client::{Forward, FromClient, LOOKING, Local};
use super::frames::{Frames, Parts, Piece, Sink};
use super::overlong::Overlong;

/// How much of results may be on its way into the store at once, in units of `UNIT` bytes.
const ROOM: u32 = 128;
const UNIT: usize = 1 << 20;
/// How many frames are answered here at once.
const MAX_ANSWERS: usize = 32;
/// How much of those that are, and of those that wait for it, is held, in bytes.
const MAX_HELD: usize = 16 << 20;
/// How much a call counts at least: so many thousands may wait.
const LEAST: usize = 4 << 10;
/// How long nothing may have been answered where more than that waits.
const STALLED: Duration = Duration::from_secs(1);
/// How much of what a client says may wait for the server, in bytes: more than a pipe holds.
const AHEAD: usize = 4 << 20;
/// How long a server has to end once it does not read any more.
const ENDING: Duration = Duration::from_secs(1);
/// How long a client has to be silent to have said all for now.
const SILENCE: Duration = Duration::from_millis(50);

/// Where a call goes that is not answered here after all.
pub(super) trait Onward: Clone + Send + Sync + 'static {
    fn pass_on(&self, message: String, number: Option<Number>) -> impl Future<Output = ()> + Send;
}

/// Answers of ours on their way to the client.
#[derive(Debug)]
pub(super) struct Answers {
    tasks: JoinSet<()>,
    /// For those that are answered.
    turns: Arc<Semaphore>,
    /// For those of which the store has to say whose they are.
    looks: Arc<Semaphore>,
    /// For all that is held.
    room: Arc<Semaphore>,
    /// When the last was given, or when there were none.
    moved: Instant,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            turns: Arc::new(Semaphore::new(MAX_ANSWERS)),
            looks: Arc::new(Semaphore::new(MAX_ANSWERS)),
            room: Arc::new(Semaphore::new(MAX_HELD)),
            moved: Instant::now(),
        }
    }

    /// Answers what is answered here of a frame of so many bytes, and passes on what is the server's after
    /// all.
    ///
    /// Frames behind it do not wait for the store, but a client that does not read is not listened to.
    pub(super) async fn give<W>(
        &mut self,
        proxy: &Arc<Proxy>,
        mut from: FromClient,
        bytes: usize,
        client: &Sink<W>,
        onward: &impl Onward,
    ) where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        if from.answers.is_empty() {
            return;
        }
        while self.tasks.try_join_next().is_some() {
            self.moved = Instant::now();
        }
        if self.tasks.is_empty() {
            self.moved = Instant::now();
        }
        if self.tasks.len() >= MAX_ANSWERS {
            // Those before it have begun to write, if they can.
            yield_now().await;
            while self.tasks.len() >= MAX_ANSWERS && client.is_writing() {
                if let Ok(Some(_)) = timeout(LOOK, self.tasks.join_next()).await {
                    self.moved = Instant::now();
                }
            }
        }
        let Some(room) = self.make_room(bytes.max(from.answers.len() * LEAST)).await else {
            let why = "too many calls wait for the store; try again later";
            let errors: Vec<_> = from.answers.iter().map(|local| local.error(why)).collect();
            let errors = errors.join(",");
            let errors = if from.is_batch { format!("[{errors}]") } else { errors };
            let _ = client.write(errors.as_bytes()).await;
            return;
        };
        let (proxy, client, turns) = (Arc::clone(proxy), client.clone(), Arc::clone(&self.turns));
        let is_doubtful = from.answers.iter().any(Local::is_doubtful);
        let doubtful = is_doubtful.then(|| (onward.clone(), Arc::clone(&self.looks)));
        self.tasks.spawn(async move {
            let theirs = async {
                let (onward, looks) = doubtful?;
                let theirs = take_theirs(&proxy, &mut from, &looks).await;
                Some((onward, theirs))
            };
            let theirs = theirs.await;
            let passes = async {
                if let Some((onward, theirs)) = theirs {
                    let onward = &onward;
                    let passes = theirs.into_iter().map(|message| async {
                        let number = proxy.client_asks(&message);
                        onward.pass_on(message, number).await;
                    });
                    join_all(passes).await;
                }
            };
            let answers = async {
                let _room = room;
                if from.answers.is_empty() {
                    return;
                }
                let turn = turn(&turns, proxy.patience, || client.is_writing()).await;
                // A client that has gone away wants no answer.
                let _ = answer(&proxy, &from, turn.is_none(), &client).await;
            };
            tokio::join!(passes, answers);
        });
    }

    /// Room for a frame; `None` where there is none, and none to be had soon.
    async fn make_room(&mut self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.min(MAX_HELD)).ok()?;
        loop {
            if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(units) {
                return Some(room);
            }
            timeout_at(self.moved + STALLED, self.tasks.join_next()).await.ok()?;
            self.moved = Instant::now();
        }
    }

    /// Waits until all are given.
    pub(super) async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Waits for a turn, but for no longer than the store may take. Time in which something else holds it
/// up does not count.
async fn turn(
    turns: &Semaphore,
    patience: Duration,
    is_held_up: impl Fn() -> bool,
) -> Option<SemaphorePermit<'_>> {
    loop {
        match timeout(patience, turns.acquire()).await {
            Ok(turn) => return turn.ok(),
            Err(_) if is_held_up() => {}
            Err(_) => return None,
        }
    }
}

/// Takes those out that are the server's: what they name is not in the store. Where that has not answered
/// once, it is not asked again.
async fn take_theirs(proxy: &Proxy, from: &mut FromClient, looks: &Semaphore) -> Vec<String> {
    let turn = turn(looks, LOOKING, || false).await;
    let (mut is_late, mut theirs) = (turn.is_none(), Vec::new());
    for local in std::mem::take(&mut from.answers) {
        let is_asked = local.is_doubtful() && !is_late;
        let keeps = if is_asked { proxy.keeps(&local).await } else { Some(true) };
        is_late |= keeps.is_none();
        if keeps == Some(false) {
            theirs.extend(local.into_message());
        } else {
            from.answers.push(local);
        }
    }
    theirs
}

/// Answers what is answered here of a frame. Where the store has not answered once, it is not asked again.
async fn answer<W>(
    proxy: &Proxy,
    from: &FromClient,
    mut is_late: bool,
    client: &Sink<W>,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut parts = None;
    let mut text = if from.is_batch { "[".to_owned() } else { String::new() };
    let count = from.answers.len();
    for (at, local) in from.answers.iter().enumerate() {
        let answer = if is_late { None } else { proxy.answer(local).await };
        is_late = answer.is_none();
        text.push_str(
            &answer.unwrap_or_else(|| {
                local.error("the store does not answer in time; try again later")
            }),
        );
        if !from.is_batch {
            client.write(text.as_bytes()).await?;
            text.clear();
            continue;
        }
        let is_last = at + 1 == count;
        text.push_str(if is_last { "]\n" } else { "," });
        // Many answers are not held until all are there.
        if is_last || text.len() >= UNIT {
            pass(client, &mut parts, text.as_bytes(), is_last).await?;
            text.clear();
        }
    }
    Ok(())
}

/// A piece of what a client has said, and the requests in it.
struct Ordered {
    piece: Piece,
    requests: Vec<Number>,
    _room: OwnedSemaphorePermit,
}

/// What a client has said that a server is still to take, piece by piece.
pub(super) struct Queue(UnboundedReceiver<Ordered>);

/// What a client has said beyond what the server has taken.
#[derive(Clone)]
pub(super) struct Ahead {
    queue: UnboundedSender<Ordered>,
    room: Arc<Semaphore>,
}

/// Room for what a client says before the server takes it: so the client's end is seen, however long
/// the server takes.
pub(super) fn ahead() -> (Ahead, Queue) {
    let (queue, pieces) = mpsc::unbounded_channel();
    (Ahead { queue, room: Arc::new(Semaphore::new(AHEAD)) }, Queue(pieces))
}

impl Onward for Ahead {
    async fn pass_on(&self, message: String, number: Option<Number>) {
        self.say(Piece::Line(message.into_bytes()), number.into_iter().collect()).await;
    }
}

impl Ahead {
    /// Says a piece once there is room; nothing where nobody takes it any more.
    async fn say(&self, piece: Piece, requests: Vec<Number>) {
        let units = u32::try_from(piece.bytes().len().clamp(1, AHEAD)).unwrap_or(1);
        if let Ok(room) = Arc::clone(&self.room).acquire_many_owned(units).await {
            let _ = self.queue.send(Ordered { piece, requests, _room: room });
        }
    }
}

/// What one side says.
struct Said<R> {
    frames: Frames<R>,
    hang_up: Arc<Notify>,
    /// How much is still listened to, in bytes, once it is not to be listened to any more.
    left: Option<usize>,
}

impl<R: AsyncRead + Unpin> Said<R> {
    fn new(frames: Frames<R>, hang_up: Arc<Notify>) -> Self {
        Self { frames, hang_up, left: None }
    }

    /// The next piece; once it is to be the end, of what has been said already.
    async fn next(&mut self) -> io::Result<Option<Piece>> {
        let mut next = pin!(self.frames.next());
        if self.left.is_none() {
            tokio::select! {
                piece = &mut next => return piece,
                () = self.hang_up.notified() => self.left = Some(AHEAD),
            }
        }
        let Some(left) = self.left.filter(|left| *left > 0) else { return Ok(None) };
        let Ok(piece) = timeout(SILENCE, next).await else { return Ok(None) };
        let taken = piece.as_ref().ok().and_then(|piece| Some(piece.as_ref()?.bytes().len()));
        self.left = Some(left.saturating_sub(taken.unwrap_or(left)));
        piece
    }
}

/// Takes what a client says until it has said all, or is not to be listened to any more: what it has
/// said until then is taken all the same. Returns what is still being answered here.
pub(super) async fn from_client<R, W>(
    proxy: Arc<Proxy>,
    frames: Frames<R>,
    ahead: Ahead,
    client: Sink<W>,
    hang_up: Arc<Notify>,
) -> Answers
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let mut answers = Answers::new();
    let mut said = Said::new(frames, hang_up);
    // A stream that fails has ended.
    while let Ok(Some(piece)) = said.next().await {
        let Piece::Line(line) = &piece else {
            ahead.say(piece, Vec::new()).await;
            continue;
        };
        let bytes = line.len();
        let from = match std::str::from_utf8(line) {
            Ok(text) => proxy.client_says(text),
            Err(_) => FromClient::unchanged(),
        };
        let left = match &from.forward {
            Forward::Unchanged => Some(piece),
            Forward::Text(text) => Some(Piece::Line(text.clone().into_bytes())),
            Forward::Nothing => None,
        };
        let requests = from.asked.clone();
        answers.give(&proxy, from, bytes, &client, &ahead).await;
        if let Some(left) = left {
            ahead.say(left, requests).await;
        }
    }
    answers
}

/// Moves what a client has said to a server that reads lines, and ends its stream. What a server does
/// not read any more that lives on is answered with an error.
pub(super) async fn to_upstream<U: AsyncWrite + Unpin, W: AsyncWrite + Unpin>(
    proxy: Arc<Proxy>,
    mut queue: Queue,
    upstream: Sink<U>,
    client: Sink<W>,
) {
    let (mut parts, mut is_deaf) = (None, false);
    while let Some(Ordered { piece, requests, _room }) = queue.0.recv().await {
        let taken = match piece {
            Piece::Line(line) => upstream.write(&line).await,
            Piece::Part { bytes, is_last } => pass(&upstream, &mut parts, &bytes, is_last).await,
        };
        if taken.is_err() && !std::mem::replace(&mut is_deaf, true) {
            // The end of one that is ending is told elsewhere, with its code.
            sleep(ENDING).await;
            tracing::warn!("the MCP server does not read any more");
        }
        if taken.is_err() {
            for number in requests {
                proxy.fail(number, "the MCP server does not read any more", &client).await;
            }
        }
    }
    drop(parts);
    upstream.close().await;
}

/// Moves what a server says in lines to the client, until the server has said all or is not to be
/// listened to any more: what it has said until then is passed on all the same. It is an error where
/// the client does not listen.
///
/// What is being stored holds nothing else up; how much that is at once is bounded.
pub(super) async fn to_client<R, W>(
    proxy: Arc<Proxy>,
    frames: Frames<R>,
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
    let mut overlong: Option<Overlong> = None;
    let mut said = Said::new(frames, hang_up);
    loop {
        let piece = said.next().await.unwrap_or_else(|error| {
            // A stream that fails has ended; what is being stored is passed on.
            tracing::warn!(%error, "cannot read what the MCP server says");
            None
        });
        let Some(piece) = piece else { break };
        while storing.try_join_next().is_some() {}
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Part { bytes, is_last } => {
                overlong.get_or_insert_default().take(&bytes);
                pass(&client, &mut parts, &bytes, is_last).await?;
                if let Some(overlong) = overlong.take_if(|_| is_last) {
                    proxy.upstream_said(overlong);
                }
                continue;
            }
        };
        let text = std::str::from_utf8(&line).ok();
        let said = text.and_then(|text| Some((text, proxy.upstream_says(text, &[])?)));
        let Some((text, rewrites)) = said else {
            let mut unread = Overlong::default();
            unread.take(&line);
            proxy.upstream_said(unread);
            client.write(&line).await?;
            continue;
        };
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
        None => sink.begin().await?,
    };
    open.write(bytes).await?;
    if is_last {
        // Whoever wrote it may have died inside of it.
        return open.end().await;
    }
    *parts = Some(open);
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn frame_in_parts_that_breaks_off_ends_its_line() {
        let (writer, mut reader) = tokio::io::duplex(1 << 10);
        let (sink, mut parts) = (Sink::new(writer), None);
        pass(&sink, &mut parts, b"{\"id\":", false).await.unwrap();
        pass(&sink, &mut parts, b"", true).await.unwrap();
        sink.write(b"{}").await.unwrap();
        pass(&sink, &mut parts, b"whole", false).await.unwrap();
        pass(&sink, &mut parts, b"\n", true).await.unwrap();
        sink.close().await;
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "{\"id\":\n{}\nwhole\n");
    }
}
