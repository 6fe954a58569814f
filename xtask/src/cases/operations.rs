//! The operations that a step can ask for, a file for each family.

pub(super) mod describe;
pub(super) mod disk;
pub(super) mod fresh;
pub(super) mod retrieve;
pub(super) mod turn;

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toolstub_store::{Piece, Searched, StoreError};

use super::run::State;
use super::subject::Said;

/// Fields that every step may have.
const EVERYWHERE: [&str; 5] = ["op", "expect", "should", "seed", "note"];

/// How an operation ended.
pub(super) enum Outcome {
    /// It was carried out, or refused with an error.
    Done(Done),
    /// It is not to be carried out, as an earlier put was refused.
    Skipped,
    /// The step is not in the vocabulary, or does not fit the case.
    Misread(String),
}

/// What came of an operation.
pub(super) struct Done {
    pub(super) answer: Result<Answer, Failure>,
    /// What must always hold and did not.
    pub(super) broken: Vec<String>,
    pub(super) seconds: f64,
    pub(super) peak_mib: Option<u64>,
}

impl Done {
    fn new(answer: Result<Answer, Failure>) -> Self {
        Self { answer, broken: Vec::new(), seconds: 0.0, peak_mib: None }
    }
}

/// What an operation answered.
pub(super) enum Answer {
    /// Of a content that was described, and stored unless it was only to be described.
    Said { said: Box<Said>, content: Vec<u8>, kept: Kept },
    /// Of a read.
    Piece(Box<Piece>, Box<Option<Piece>>),
    /// Of a read of everything, piece by piece.
    Whole { sha256: String, reads: usize },
    /// Of a search, with what stands at each match in characters, and in bytes.
    Found { searched: Searched, query: String, content: Vec<u8> },
    /// Of a list.
    Listed(usize),
    /// Of a deletion: how many bytes and files of the session are left.
    Deleted { bytes_left: u64, files_left: usize },
    /// Of a look at the disk.
    Disk { outside_root: Vec<String>, longest_name: usize },
    /// Of a repetition: whether all stubs are the same.
    Repeated { alike: bool },
    /// Of a turn, or of the policy going over a conversation again.
    Turned(Box<turn::Turned>),
    /// Of something that has no answer.
    Nothing,
}

/// How a content was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Byte for byte.
    pub(super) identical: bool,
    /// A read as text says that it is not exact.
    pub(super) lossy_reported: bool,
}

/// Why an operation was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) text: String,
    /// It is damage that was noticed.
    pub(super) damage: bool,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let damage = matches!(error, StoreError::Corrupt { .. });
        Self { text: format!("{:#}", anyhow::Error::new(error)), damage }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, damage: false }
    }
}

/// Carries out a step.
pub(super) fn run(
    step: &Map<String, Value>,
    expect: &Map<String, Value>,
    state: &mut State,
) -> Outcome {
    let fields = Fields::new(step);
    let operation = match fields.text("op") {
        Ok(operation) => operation,
        Err(error) => return Outcome::Misread(error),
    };
    let outcome = match operation {
        "summarize" => describe::summarize(&fields, step, state),
        "put" => describe::put(&fields, step, state),
        "read" => retrieve::read(&fields, expect, state),
        "read_all" => retrieve::read_all(&fields, expect, state),
        "search" => retrieve::search(&fields, expect, state),
        "list" => retrieve::list(&fields, state),
        "delete_session" => disk::delete_session(&fields, state),
        "reopen" => disk::reopen(&fields, state),
        "files" => disk::files(&fields, state),
        "fs_fault" => disk::fs_fault(&fields, state),
        "repeat_fresh" => fresh::repeat(&fields, state),
        "turn" => turn::turn(&fields, state),
        "reapply" => turn::reapply(&fields, state),
        name => return Outcome::Misread(format!("unknown operation `{name}`")),
    };
    outcome.unwrap_or_else(Outcome::Misread)
}

/// A step's fields; what nobody asked for is not known.
pub(super) struct Fields<'a> {
    step: &'a Map<String, Value>,
    taken: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(step: &'a Map<String, Value>) -> Self {
        Self { step, taken: RefCell::default() }
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        let (name, value) = self.step.get_key_value(name)?;
        self.taken.borrow_mut().insert(name);
        Some(value)
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.optional_text(name)?.ok_or(format!("`{name}` is missing"))
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.value(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{name}` is {other}, not a string")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("`{name}` is {other}, not true or false")),
        }
    }

    pub(super) fn integer(&self, name: &str) -> Result<i128, String> {
        let value = self.value(name).ok_or(format!("`{name}` is missing"))?;
        super::integer::integer(value)
    }

    /// An integer, or the interface's default.
    pub(super) fn integer_or(&self, name: &str, default: i128) -> Result<i128, String> {
        self.value(name).map_or(Ok(default), super::integer::integer)
    }

    /// Ends the reading: a field that was not asked for is an error.
    pub(super) fn finish(&self) -> Result<(), String> {
        let taken = self.taken.borrow();
        let known = |name: &str| taken.contains(name) || EVERYWHERE.contains(&name);
        let unknown = self.step.keys().find(|name| !known(name));
        unknown.map_or(Ok(()), |name| Err(format!("unknown field `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn field_that_nobody_asked_for_is_not_known() {
        let step = json!({"op": "read", "note": "n", "limit": 5, "unit": "byte"});
        let fields = Fields::new(step.as_object().unwrap());
        assert_eq!(fields.integer("limit"), Ok(5));
        assert_eq!(fields.finish(), Err("unknown field `unit`".to_owned()));
        fields.value("unit");
        assert_eq!(fields.finish(), Ok(()));
    }
}
