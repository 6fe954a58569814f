//! Reading a tool result.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use toolstub_store::{Intake, Original};

use crate::failure::Failure;
use crate::interrupt::Reader;

/// Inputs of at least so many bytes, or of unknown length, show how far they are.
const LONG: u64 = 16 << 20;

/// How much is read at once, in bytes.
const PIECE: usize = 256 << 10;

/// A tool result that is read piece by piece.
pub(crate) struct Input {
    name: String,
    bar: ProgressBar,
    source: Box<dyn Read>,
    buffer: Vec<u8>,
}

impl Input {
    /// Opens a file, or standard input where the path is `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let is_stdin = path == Path::new("-");
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let opened = || -> io::Result<(Option<u64>, Box<dyn Read>)> {
            if is_stdin {
                return Ok((None, Box::new(Reader::new(io::stdin())?)));
            }
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            Ok((metadata.is_file().then_some(metadata.len()), Box::new(Reader::new(file)?)))
        };
        let (length, source) = opened().map_err(|error| unreadable(&name, error))?;
        let bar = progress(length);
        let source = Box::new(bar.wrap_read(source));
        Ok(Self { name, bar, source, buffer: Vec::new() })
    }

    /// The next piece; an empty one is the end.
    pub(crate) fn piece(&mut self) -> Result<&[u8], Failure> {
        self.buffer.resize(PIECE, 0);
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(length) => {
                    if length == 0 {
                        self.bar.finish_and_clear();
                    }
                    return Ok(&self.buffer[..length]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    /// Gives all that is left to an intake.
    pub(crate) async fn pour_into(&mut self, mut intake: Intake) -> Result<Original, Failure> {
        loop {
            match self.piece()? {
                [] => return Ok(intake.finish().await?),
                piece => intake.push(piece).await?,
            }
        }
    }

    fn failure(&self, error: io::Error) -> Failure {
        unreadable(&self.name, error)
    }
}

fn unreadable(name: &str, error: io::Error) -> Failure {
    Failure::input(anyhow::Error::new(error).context(format!("cannot read {name}")))
}

/// A bar on standard error, only where that is a terminal and the input is long.
fn progress(length: Option<u64>) -> ProgressBar {
    if length.is_some_and(|length| length < LONG) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(5));
    let template = "reading {bytes} of {total_bytes} [{wide_bar}] {bytes_per_sec}";
    let template = if length.is_some() { template } else { "reading {bytes} {bytes_per_sec}" };
    bar.with_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}
