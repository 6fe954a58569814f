//! Data on standard output, remarks on standard error.

use std::io::{self, Write as _};

use anyhow::Error;
use toolstub_core::text::sample_escape;

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

/// Says something that is not data, such as how to go on. Whatever it names, and wherever that comes from,
/// nothing in it moves the terminal's cursor, and no line of it is taken for another remark.
pub(crate) fn remark(text: &str) {
    let text = shown(text).replace('\n', "\n  ");
    // Whoever does not listen to remarks cannot be told otherwise.
    let _ = writeln!(io::stderr(), "toolstub: {text}");
}

/// A text as a terminal may show it, line by line.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c => match sample_escape(c) {
                Some(escaped) => shown.push_str(&escaped),
                None => shown.push(c),
            },
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_moves_the_cursor() {
        for (text, expected) in [
            ("a\n\tb é", "a\n\tb é"),
            ("\u{1b}]0;title\u{7}", "\\x1b]0;title\\x07"),
            ("a\rb\u{9b}2J\u{202e}", "a\\rb\\u{9b}2J\\u{202e}"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
