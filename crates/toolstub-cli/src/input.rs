//! Reading a tool result whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt::Reader;

/// Inputs of at least so many bytes, or of unknown length, show how far they are.
const LONG: u64 = 16 << 20;

/// A tool result, as much of it as was asked for.
pub(crate) struct Input {
    pub(crate) content: Vec<u8>,
    /// How many bytes followed.
    pub(crate) unread: u64,
}

/// Reads at most `cap` bytes of a file, or of standard input where it is `-`, and counts the rest.
pub(crate) fn read(path: &Path, cap: u64) -> Result<Input, Failure> {
    let (name, input) = if path == Path::new("-") {
        ("standard input".to_owned(), read_all(io::stdin(), None, cap))
    } else {
        let file = File::open(path);
        let input = file.and_then(|file| {
            let metadata = file.metadata()?;
            let length = metadata.is_file().then_some(metadata.len());
            read_all(file, length, cap)
        });
        (path.display().to_string(), input)
    };
    input.with_context(|| format!("cannot read {name}")).map_err(Failure::input)
}

fn read_all(
    source: impl Read + Send + 'static,
    length: Option<u64>,
    cap: u64,
) -> io::Result<Input> {
    let mut content = Vec::new();
    // Room for one byte more lets the end be seen without the buffer growing.
    let room = length.unwrap_or(0).min(cap).saturating_add(1);
    content.try_reserve_exact(usize::try_from(room).unwrap_or(usize::MAX))?;
    let bar = progress(length);
    let mut source = bar.wrap_read(Reader::new(source)?);
    source.by_ref().take(cap).read_to_end(&mut content)?;
    let unread = io::copy(&mut source, &mut io::sink())?;
    bar.finish_and_clear();
    Ok(Input { content, unread })
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
