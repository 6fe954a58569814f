//! The corpus: real tool results, what must be said of each, and what toolstub says of it.
//!
//! A case is a directory `fixtures/corpus/<kind>/<case>/` that holds an input and a `case.toml`.
//! What toolstub says of it stands, reviewed, in `tests/corpus/snapshots/<kind>__<case>.snap`, and
//! its size in `tests/corpus/ledger.csv`.
//!
//! This crate reads the corpus and judges it; it never writes into the tree. Cases are added and
//! changes accepted by `cargo xtask corpus`; `docs/reviewing-wording.md` says how.

mod audit;
mod case;
mod generator;
mod ledger;
mod outcome;
mod snapshot;

use std::path::{Path, PathBuf};

use sha2::Digest as _;
use toolstub_core::Sha256;

pub use audit::audit;
pub use case::{Case, CorpusError, Described, MAX_INPUT, Profile, is_case_name};
pub use generator::Generator;
pub use ledger::{Ledger, LedgerRow};
pub use outcome::Outcome;
pub use snapshot::Snapshot;

/// Where the corpus and its snapshots are.
#[derive(Debug, Clone)]
pub struct Corpus {
    root: PathBuf,
}

impl Corpus {
    /// The corpus of this workspace.
    pub fn of_workspace() -> Self {
        // This package lies two levels below the workspace.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        Self::at(root.unwrap_or(Path::new("/")))
    }

    /// The corpus of the workspace at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory that has one directory per kind.
    pub fn cases_dir(&self) -> PathBuf {
        self.root.join("fixtures/corpus")
    }

    /// The directory of the snapshots.
    pub fn snapshots_dir(&self) -> PathBuf {
        self.root.join("tests/corpus/snapshots")
    }

    /// The table of sizes.
    pub fn ledger_path(&self) -> PathBuf {
        self.root.join("tests/corpus/ledger.csv")
    }

    /// The snapshot of a case, by the case's id `<kind>/<case>`.
    pub fn snapshot_path(&self, id: &str) -> PathBuf {
        self.snapshots_dir().join(format!("{}.snap", snapshot_name(id)))
    }

    /// Every case, by id.
    pub fn cases(&self) -> Result<Vec<Case>, CorpusError> {
        let mut cases = Vec::new();
        for kind in case::subdirectories(&self.cases_dir())? {
            for dir in case::subdirectories(&kind)? {
                cases.push(Case::read(dir)?);
            }
        }
        cases.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(cases)
    }
}

/// The digest of a content.
pub fn sha256(content: &[u8]) -> Sha256 {
    Sha256::from_bytes(sha2::Sha256::digest(content).into())
}

/// The snapshot's name for a case's id: `csv/long-table` is `csv__long-table`.
pub fn snapshot_name(id: &str) -> String {
    id.replace('/', "__")
}
