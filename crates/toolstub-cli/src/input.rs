//! Reading a tool result whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

/// Inputs of at least so many bytes, or of unknown length, show how far they are.
const LONG: u64 = 16 << 20;

/// Reads a file, or standard input where it is `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let (name, content) = if path == Path::new("-") {
        ("standard input".to_owned(), read_all(io::stdin().lock(), None))
    } else {
        let file = File::open(path);
        let content = file.and_then(|file| {
            let metadata = file.metadata()?;
            let length = metadata.is_file().then_some(metadata.len());
            read_all(file, length)
        });
        (path.display().to_string(), content)
    };
    content.with_context(|| format!("cannot read {name}")).map_err(Failure::input)
}

fn read_all(source: impl Read, length: Option<u64>) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // Room for one byte more lets the end be seen without the buffer growing.
    let room = usize::try_from(length.unwrap_or(0)).unwrap_or(0).saturating_add(1);
    content.try_reserve_exact(room)?;
    let bar = progress(length);
    bar.wrap_read(source).read_to_end(&mut content)?;
    bar.finish_and_clear();
    Ok(content)
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
