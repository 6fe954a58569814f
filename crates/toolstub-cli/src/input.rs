//! Reading a tool result whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;

use crate::failure::Failure;

/// Reads a file, or standard input where it is `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let stdin = path == Path::new("-");
    let mut content = Vec::new();
    let done = if stdin {
        io::stdin().lock().read_to_end(&mut content)
    } else {
        File::open(path).and_then(|mut file| {
            // Room for one byte more lets the end be seen without the buffer growing.
            let size = file.metadata().map_or(0, |metadata| metadata.len());
            content.reserve_exact(usize::try_from(size).unwrap_or(0).saturating_add(1));
            file.read_to_end(&mut content)
        })
    };
    let name = if stdin { "standard input".into() } else { path.display().to_string() };
    done.with_context(|| format!("cannot read {name}")).map_err(Failure::input)?;
    Ok(content)
}
