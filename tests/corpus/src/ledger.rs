//! The sizes of every case's stubs, one row a case, so that drift is one line in a diff.

use std::fmt::Write as _;

use toolstub_core::Kind;

use crate::Corpus;
use crate::case::{CorpusError, Profile, unreadable};

const HEADER: &str = "case,kind,input_bytes,typed_chars,head_chars";

/// The sizes of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The case's id.
    pub id: String,
    /// The kind that was detected.
    pub kind: Kind,
    /// The input's size in bytes.
    pub input_bytes: u64,
    /// The stub's length in characters, by [`Profile::ALL`].
    pub stub_chars: [Option<u64>; Profile::ALL.len()],
}

/// The table of sizes, by case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The rows, by id.
    pub rows: Vec<LedgerRow>,
}

impl Ledger {
    /// The recorded ledger of a corpus; empty where there is none.
    pub fn read(corpus: &Corpus) -> Result<Self, CorpusError> {
        let path = corpus.ledger_path();
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(unreadable(&path, source)),
        }
    }

    /// Reads a ledger's text. A row that is none is left out, which makes the ledger differ.
    pub fn parse(text: &str) -> Self {
        Self { rows: text.lines().skip(1).filter_map(row).collect() }
    }
}

impl std::fmt::Display for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = format!("{HEADER}\n");
        for row in &self.rows {
            let _ = write!(text, "{},{},{}", row.id, row.kind, row.input_bytes);
            for chars in row.stub_chars {
                text.push(',');
                if let Some(chars) = chars {
                    let _ = write!(text, "{chars}");
                }
            }
            text.push('\n');
        }
        f.write_str(&text)
    }
}

fn row(line: &str) -> Option<LedgerRow> {
    let cells: Vec<&str> = line.split(',').collect();
    let [id, kind, input_bytes, typed, head] = cells[..] else { return None };
    let chars = |cell: &str| match cell {
        "" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some(LedgerRow {
        id: id.to_owned(),
        kind: kind.parse().ok()?,
        input_bytes: input_bytes.parse().ok()?,
        stub_chars: [chars(typed)?, chars(head)?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_read_as_it_is_written() {
        let row = |id: &str, head| LedgerRow {
            id: id.to_owned(),
            kind: Kind::Csv,
            input_bytes: 120,
            stub_chars: [Some(300), head],
        };
        let ledger = Ledger { rows: vec![row("csv/a", None), row("csv/b", Some(7))] };
        let text = ledger.to_string();
        assert_eq!(text, format!("{HEADER}\ncsv/a,csv,120,300,\ncsv/b,csv,120,300,7\n"));
        assert_eq!(Ledger::parse(&text), ledger);
    }

    #[test]
    fn a_row_that_is_none_makes_the_ledger_differ() {
        assert_eq!(Ledger::parse(&format!("{HEADER}\ncsv/a,csv,many,300,\n")).rows, []);
    }
}
