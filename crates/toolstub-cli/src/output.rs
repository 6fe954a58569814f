//! Data on standard output, remarks on standard error.

use std::io::{self, Write as _};

use anyhow::Error;

use crate::failure::Failure;

/// Writes bytes as they are. A reader that has gone away is no failure.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    write_piece(bytes).map(|_| ())
}

/// Writes bytes as they are, and says whether there is still a reader.
pub(crate) fn write_piece(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Failure::storage(Error::new(error).context("cannot write to standard output")))
        }
    }
}

/// Writes a value as one line of JSON.
pub(crate) fn write_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(value).map_err(Failure::storage)?;
    line.push(b'\n');
    write(&line)
}

/// Says something that is not data, such as how to go on.
pub(crate) fn remark(text: &str) {
    // Whoever does not listen to remarks cannot be told otherwise.
    let _ = writeln!(io::stderr(), "toolstub: {text}");
}
