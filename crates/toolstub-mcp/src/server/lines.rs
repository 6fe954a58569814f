//! What a client says, line by line.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::frames::{Heard, heard, refused};

/// The longest line that is taken, in bytes.
pub(super) const LONGEST: usize = 16 << 20;
/// The lines of an input. The last needs no end.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the line was too long already, so that nothing of it is kept.
    is_over: bool,
    length: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), is_over: false, length: 0 }
    }

    /// How long the last line was.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The next line; `None` at the end of the input. Nothing is lost where this is given up.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::error!("cannot read what the client says: {error}");
                    return None;
                }
            };
            let end = memchr::memchr(b'\n', available);
            let is_end = available.is_empty();
            if is_end && self.line.is_empty() && !self.is_over {
                return None;
            }
            let piece = &available[..end.unwrap_or(available.len())];
            if self.line.len() + piece.len() > LONGEST {
                self.is_over = true;
                self.line = Vec::new();
            } else if !self.is_over {
                self.line.extend_from_slice(piece);
            }
            let taken = end.map_or(available.len(), |end| end + 1);
            self.input.consume(taken);
            if end.is_none() && !is_end {
                continue;
            }
            if std::mem::take(&mut self.is_over) {
                let text =
                    format!("a message of over {LONGEST} bytes is not read; send less at a time");
                return Some(Heard::Wrong(refused(None, &text)));
            }
            self.length = self.line.len();
            return Some(heard(&std::mem::take(&mut self.line)));
        }
    }
}
