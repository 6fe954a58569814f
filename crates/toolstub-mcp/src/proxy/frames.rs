//! Frames on a stream: a line each, whatever its length.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The longest frame that is looked into, in bytes; a longer one goes through in parts.
pub(super) const MAX_FRAME: usize = 256 << 20;
/// How much is read at once.
const PIECE: usize = 64 << 10;

/// What a stream has next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A whole line, its end included.
    Line(Vec<u8>),
    /// A part of a line that is too long to be held.
    Part { bytes: Vec<u8>, is_last: bool },
}

impl Piece {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Line(bytes) | Self::Part { bytes, .. } => bytes,
        }
    }
}

/// The frames that come in.
#[derive(Debug)]
pub(super) struct Frames<R> {
    reader: BufReader<R>,
    pub(super) max: usize,
    /// The start of the line was given out as a part.
    is_inside: bool,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(PIECE, reader), max: MAX_FRAME, is_inside: false }
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Piece>> {
        let mut line = Vec::new();
        loop {
            let available = self.reader.fill_buf().await?;
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            let is_last = end.is_some() || available.is_empty();
            line.extend_from_slice(&available[..taken]);
            self.reader.consume(taken);
            if is_last {
                let was_inside = std::mem::take(&mut self.is_inside);
                return Ok(match (was_inside, line.is_empty()) {
                    (true, _) => Some(Piece::Part { bytes: line, is_last: true }),
                    (false, true) => None,
                    (false, false) => Some(Piece::Line(line)),
                });
            }
            if line.len() >= self.max || self.is_inside {
                self.is_inside = true;
                return Ok(Some(Piece::Part { bytes: line, is_last: false }));
            }
        }
    }
}

/// Where frames go, one whole after the other: one that was begun is ended before another begins,
/// though whoever wrote it has given up.
#[derive(Debug)]
pub(super) struct Sink<W> {
    line: Arc<Mutex<Line<W>>>,
    flow: Arc<Flow>,
}

/// A stream, and how far its last line is.
#[derive(Debug)]
struct Line<W> {
    /// None once it is closed.
    writer: Option<W>,
    /// What was written has not ended a line.
    is_open: bool,
    /// What is left of a write that was given up.
    rest: Vec<u8>,
}

/// What can be seen of a stream without waiting for it.
#[derive(Debug, Default)]
struct Flow {
    is_writing: AtomicBool,
    /// How many bytes whoever reads has taken.
    taken: AtomicU64,
}

impl<W> Clone for Sink<W> {
    fn clone(&self) -> Self {
        Self { line: Arc::clone(&self.line), flow: Arc::clone(&self.flow) }
    }
}

impl<W> Sink<W> {
    /// Whether a write waits for whoever reads.
    pub(super) fn is_writing(&self) -> bool {
        self.flow.is_writing.load(Ordering::Relaxed)
    }

    /// How many bytes were taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.flow.taken.load(Ordering::Relaxed)
    }
}

impl<W: AsyncWrite + Unpin> Sink<W> {
    pub(super) fn new(writer: W) -> Self {
        let line = Line { writer: Some(writer), is_open: false, rest: Vec::new() };
        Self { line: Arc::new(Mutex::new(line)), flow: Arc::default() }
    }

    /// Writes a frame, with the end of its line if it has none.
    pub(super) async fn write(&self, frame: &[u8]) -> io::Result<()> {
        let mut line = self.line.lock().await;
        line.end(&self.flow).await?;
        line.write(&self.flow, frame).await?;
        line.end(&self.flow).await?;
        line.flush(&self.flow).await
    }

    /// Begins a frame that comes in parts: nothing else is written before it ends.
    pub(super) async fn begin(&self) -> io::Result<Parts<W>> {
        let mut line = Arc::clone(&self.line).lock_owned().await;
        line.end(&self.flow).await?;
        Ok(Parts { line, flow: Arc::clone(&self.flow) })
    }

    /// Ends the stream once what is being written is.
    pub(super) async fn close(&self) {
        if let Some(mut writer) = self.line.lock().await.writer.take() {
            // Whoever does not read any more has ended it already.
            let _ = writer.shutdown().await;
        }
    }
}

/// A frame that is being written.
#[derive(Debug)]
pub(super) struct Parts<W> {
    line: OwnedMutexGuard<Line<W>>,
    flow: Arc<Flow>,
}

impl<W: AsyncWrite + Unpin> Parts<W> {
    pub(super) async fn write(&mut self, part: &[u8]) -> io::Result<()> {
        self.line.write(&self.flow, part).await?;
        self.line.flush(&self.flow).await
    }

    /// Ends the line, if the frame has not.
    pub(super) async fn end(mut self) -> io::Result<()> {
        self.line.end(&self.flow).await?;
        self.line.flush(&self.flow).await
    }
}

impl<W: AsyncWrite + Unpin> Line<W> {
    /// Ends a line that is open.
    async fn end(&mut self, flow: &Flow) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        self.write(flow, &rest).await?;
        if self.is_open { self.write(flow, b"\n").await } else { Ok(()) }
    }

    async fn write(&mut self, flow: &Flow, bytes: &[u8]) -> io::Result<()> {
        let mut writing = Writing::begin(self, flow, bytes);
        while let [_, ..] = writing.left {
            let taken = match &mut writing.line.writer {
                Some(writer) => writer.write(writing.left).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            };
            let taken = match taken {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                taken => taken,
            };
            // Nobody takes what is left.
            let taken = taken.inspect_err(|_| writing.left = &[])?;
            let (written, left) = writing.left.split_at(taken);
            writing.left = left;
            writing.line.is_open = !written.ends_with(b"\n");
            flow.taken.fetch_add(taken as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn flush(&mut self, flow: &Flow) -> io::Result<()> {
        let writing = Writing::begin(self, flow, b"");
        writing.line.writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.flush().await
    }
}

/// A write that is under way, until it ends or is given up.
struct Writing<'a, W> {
    line: &'a mut Line<W>,
    flow: &'a Flow,
    left: &'a [u8],
}

impl<'a, W> Writing<'a, W> {
    fn begin(line: &'a mut Line<W>, flow: &'a Flow, left: &'a [u8]) -> Self {
        flow.is_writing.store(true, Ordering::Relaxed);
        Self { line, flow, left }
    }
}

impl<W> Drop for Writing<'_, W> {
    fn drop(&mut self) {
        self.flow.is_writing.store(false, Ordering::Relaxed);
        // What has not begun is not owed to anybody.
        if self.line.is_open {
            self.line.rest = self.left.to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pieces(text: &str, max: usize) -> Vec<Piece> {
        let mut frames = Frames::new(text.as_bytes());
        frames.max = max;
        let mut pieces = Vec::new();
        while let Some(piece) = frames.next().await.unwrap() {
            pieces.push(piece);
        }
        pieces
    }

    fn line(text: &str) -> Piece {
        Piece::Line(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn frame_is_a_line() {
        let expected = vec![line("{}\r\n"), line("\n"), line("[]")];
        assert_eq!(pieces("{}\r\n\n[]", 100).await, expected);
        assert_eq!(pieces("", 100).await, vec![]);
    }

    #[tokio::test]
    async fn frame_that_is_too_long_comes_in_parts() {
        let text = format!("a\n{}\nb\n", "x".repeat(200_000));
        let pieces = pieces(&text, 100_000).await;
        assert_eq!(pieces.first(), Some(&line("a\n")));
        assert_eq!(pieces.last(), Some(&line("b\n")));
        let parts = &pieces[1..pieces.len() - 1];
        let mut joined = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let Piece::Part { bytes, is_last } = part else { panic!("{part:?}") };
            assert_eq!(*is_last, at + 1 == parts.len());
            joined.extend_from_slice(bytes);
        }
        assert_eq!(joined.len(), 200_001);
    }

    #[tokio::test]
    async fn frames_are_written_whole() {
        let (writer, reader) = tokio::io::duplex(1 << 20);
        let sink = Sink::new(writer);
        let mut parts = sink.begin().await.unwrap();
        parts.write(b"a").await.unwrap();
        let other = tokio::spawn({
            let sink = sink.clone();
            async move { sink.write(b"{}").await.unwrap() }
        });
        tokio::task::yield_now().await;
        parts.write(b"b\n").await.unwrap();
        drop(parts);
        other.await.unwrap();
        sink.close().await;
        assert!(sink.write(b"x").await.is_err());
        let mut frames = Frames::new(reader);
        assert_eq!(frames.next().await.unwrap(), Some(line("ab\n")));
        assert_eq!(frames.next().await.unwrap(), Some(line("{}\n")));
        assert_eq!(frames.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn frame_that_was_begun_is_ended_though_its_writer_gives_up() {
        let (writer, reader) = tokio::io::duplex(16);
        let sink = Sink::new(writer);
        let frame = format!("{}\n", "x".repeat(100));
        let given_up = std::time::Duration::from_millis(20);
        tokio::time::timeout(given_up, sink.write(frame.as_bytes())).await.unwrap_err();
        // This one never begins.
        tokio::time::timeout(given_up, sink.write(b"y")).await.unwrap_err();
        let heard = tokio::spawn(async move {
            let (mut frames, mut heard) = (Frames::new(reader), Vec::new());
            while let Some(piece) = frames.next().await.unwrap() {
                heard.push(piece);
            }
            heard
        });
        sink.write(b"{}").await.unwrap();
        let mut parts = sink.begin().await.unwrap();
        parts.write(b"cut off").await.unwrap();
        drop(parts);
        sink.write(b"[]").await.unwrap();
        sink.close().await;
        let expected = vec![line(&frame), line("{}\n"), line("cut off\n"), line("[]\n")];
        assert_eq!(heard.await.unwrap(), expected);
    }
}
