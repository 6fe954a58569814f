//! A snapshot file: a header that names its test, then the body.

use std::path::Path;

/// What stands above every snapshot's body; it is not compared.
const HEADER: &str = "---\nsource: tests/corpus/tests/corpus.rs\n---\n";

/// The contents of a snapshot file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    body: String,
}

impl Snapshot {
    /// A snapshot with this body.
    pub fn new(body: &str) -> Self {
        Self { body: normal(body) }
    }

    /// Reads a snapshot's file; `None` where there is none.
    pub fn read(path: &Path) -> std::io::Result<Option<Self>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a snapshot's text.
    pub fn parse(text: &str) -> Self {
        let body = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        Self::new(body.map_or(text, |(_, body)| body))
    }

    /// The body, without outer blank lines.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        format!("{HEADER}{}\n", self.body)
    }
}

/// The body as it is compared: line feeds alone, no outer blank lines.
fn normal(body: &str) -> String {
    let body = body.replace("\r\n", "\n");
    body.trim_start_matches('\n').trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_read_as_it_is_written() {
        let snapshot = Snapshot::new("kind: csv\n\n---\n| a\n\n");
        assert_eq!(snapshot.body(), "kind: csv\n\n---\n| a");
        assert_eq!(Snapshot::parse(&snapshot.to_text()), snapshot);
    }

    #[test]
    fn the_header_is_not_compared() {
        assert_eq!(Snapshot::parse("---\nsource: x\nexpression: y\n---\nb\n"), Snapshot::new("b"));
    }
}
