//! `cargo xtask prove …`: the long harnesses, on the program as it is shipped.
//!
//! Each builds the program with optimisations, runs it on real or hostile contents, prints a line
//! for what failed and a line of totals, and fails if anything did.

mod determinism;
mod hostile;
mod round_trip;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::root;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Harness {
    /// Contents made to break: each within its time, memory and length, and without forgery.
    Hostile {
        /// Make the large contents so many times smaller.
        #[arg(long, default_value_t = 1)]
        shrink: usize,
    },
    /// Every file below a folder, stored and read back in pieces, in every unit.
    RoundTrip {
        /// The folders.
        #[arg(required = true)]
        dirs: Vec<PathBuf>,
    },
    /// The stub of every file below a folder, in fresh processes with other surroundings.
    Determinism {
        /// The folders.
        #[arg(required = true)]
        dirs: Vec<PathBuf>,
    },
}

/// Runs a harness; whether everything held.
pub(crate) fn run(harness: &Harness) -> anyhow::Result<bool> {
    match harness {
        Harness::Hostile { shrink } => hostile::run(&program()?, (*shrink).max(1)),
        Harness::RoundTrip { dirs } => round_trip::run(&files(dirs)?),
        Harness::Determinism { dirs } => determinism::run(&program()?, &files(dirs)?),
    }
}

/// Builds the program with optimisations, and returns where it is.
fn program() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = root()?.join("Cargo.toml");
    let args = ["build", "--quiet", "--release", "--package", "toolstub-cli", "--manifest-path"];
    let built = Command::new(cargo).args(args).arg(&manifest).status()?;
    ensure!(built.success(), "the program does not build");
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.map_or_else(|| Ok::<_, anyhow::Error>(root()?.join("target")), Ok)?;
    let program = target.join("release/toolstub");
    ensure!(program.is_file(), "there is no {}", program.display());
    Ok(program)
}

/// The files below folders, sorted.
fn files(dirs: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
        let entries =
            std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                collect(&entry.path(), files)?;
            } else {
                files.push(entry.path());
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    for dir in dirs {
        collect(dir, &mut files)?;
    }
    ensure!(!files.is_empty(), "there are no files to prove anything on");
    files.sort();
    Ok(files)
}
