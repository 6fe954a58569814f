//! Frames on a stream: a line each, whatever its length.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The longest frame that is looked into, in bytes; a longer one goes through in parts.
const MAX_FRAME: usize = 256 << 20;
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

/// The frames that come in.
#[derive(Debug)]
pub(super) struct Frames<R> {
    reader: BufReader<R>,
    max: usize,
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

/// Where frames go, one whole after the other.
#[derive(Debug)]
pub(super) struct Sink<W> {
    writer: Arc<Mutex<Option<W>>>,
    flow: Arc<Flow>,
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
        Self { writer: Arc::clone(&self.writer), flow: Arc::clone(&self.flow) }
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
        Self { writer: Arc::new(Mutex::new(Some(writer))), flow: Arc::default() }
    }

    /// Writes a frame, with the end of its line if it has none.
    pub(super) async fn write(&self, frame: &[u8]) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        write(&mut writer, &self.flow, frame, !frame.ends_with(b"\n")).await
    }

    /// Begins a frame that comes in parts: nothing else is written before it ends.
    pub(super) async fn begin(&self) -> Parts<W> {
        Parts { writer: Arc::clone(&self.writer).lock_owned().await, flow: Arc::clone(&self.flow) }
    }

    /// Ends the stream once what is being written is.
    pub(super) async fn close(&self) {
        if let Some(mut writer) = self.writer.lock().await.take() {
            // Whoever does not read any more has ended it already.
            let _ = writer.shutdown().await;
        }
    }
}

/// A frame that is being written.
#[derive(Debug)]
pub(super) struct Parts<W> {
    writer: OwnedMutexGuard<Option<W>>,
    flow: Arc<Flow>,
}

impl<W: AsyncWrite + Unpin> Parts<W> {
    pub(super) async fn write(&mut self, part: &[u8]) -> io::Result<()> {
        write(&mut self.writer, &self.flow, part, false).await
    }
}

/// A write that is under way, until it ends or is given up.
struct Writing<'a>(&'a Flow);

impl<'a> Writing<'a> {
    fn begin(flow: &'a Flow) -> Self {
        flow.is_writing.store(true, Ordering::Relaxed);
        Self(flow)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.is_writing.store(false, Ordering::Relaxed);
    }
}

async fn write<W>(
    writer: &mut Option<W>,
    flow: &Flow,
    frame: &[u8],
    ends_line: bool,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    let _writing = Writing::begin(flow);
    for mut rest in [frame, if ends_line { b"\n" } else { b"" }] {
        while !rest.is_empty() {
            let taken = writer.write(rest).await?;
            if taken == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            flow.taken.fetch_add(taken as u64, Ordering::Relaxed);
            rest = &rest[taken..];
        }
    }
    writer.flush().await
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
        let mut parts = sink.begin().await;
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
}
