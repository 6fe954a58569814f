//! `cargo xtask prove …`: the long harnesses, on the program as it is shipped.
//!
//! Each builds the program with optimisations, runs it on real or hostile contents or in hostile
//! surroundings, prints a line for what failed and a line of totals, and fails if anything did.

mod content;
mod determinism;
mod disk;
mod holdings;
mod hostile;
mod kill;
mod layout;
mod memory;
mod mount;
mod power_cut;
mod race;
mod random;
mod round_trip;
mod serve;
mod subject;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::root;
use holdings::Place;
use random::Random;

pub(crate) use mount::NotHere;

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
    /// SIGKILL at any moment of a put: what was acknowledged stays, and nothing else is seen.
    Kill {
        /// How many contents are put, by one process each or by two at once.
        #[arg(long, default_value_t = 300)]
        rounds: u64,
        /// What the numbers are drawn from [default: another one each time]
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        tried: Tried,
    },
    /// Power cuts under writers, on a file system of the proof's own (root, loop devices, ext4).
    PowerCut {
        /// How often the power is cut; the control, which must lose, takes a fifth of that.
        #[arg(long, default_value_t = 50)]
        rounds: u64,
        /// What the numbers are drawn from [default: another one each time]
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Disks that are full, read-only, limited or tampered with (root, for mounts of its own).
    Disk {
        /// Try fewer of the many amounts of room.
        #[arg(long)]
        short: bool,
    },
    /// Many processes on the same ids: one record each.
    Race {
        /// How many processes run at once.
        #[arg(long, default_value_t = 8)]
        processes: u64,
        /// How many contents each of them puts.
        #[arg(long, default_value_t = 1000)]
        puts: u64,
        /// What the numbers are drawn from [default: another one each time]
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        tried: Tried,
    },
    /// Two servers on one store, one killed again and again: each acknowledged message once, and whole.
    Serve {
        #[command(flatten)]
        work: serve::Work,
        /// What the numbers are drawn from [default: another one each time]
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        tried: Tried,
    },
    /// The largest results in little memory: put, read and searched.
    Memory {
        /// How large the results are, in MiB.
        #[arg(long, default_value_t = 1023)]
        mib: u64,
    },
    /// Exactly the documented keys; and a root that is moved keeps every ref.
    Layout {
        #[command(flatten)]
        tried: Tried,
    },
}

/// What a proof is tried on.
#[derive(Debug, clap::Args)]
pub(crate) struct Tried {
    /// An empty store: a path or `s3://bucket/prefix` with the AWS_* variables [default: a folder]
    #[arg(long)]
    store: Option<String>,
    /// A Python with boto3, which looks into a bucket past the program [default: the servers' own]
    #[arg(long, env = "TOOLSTUB_PYTHON")]
    python: Option<PathBuf>,
}

/// Runs a harness; whether everything held.
pub(crate) fn run(harness: &Harness) -> anyhow::Result<bool> {
    let program = program()?;
    let seed = |given: &Option<u64>| given.unwrap_or_else(Random::fresh_seed);
    match harness {
        Harness::Hostile { shrink } => hostile::run(&program, (*shrink).max(1)),
        Harness::RoundTrip { dirs } => round_trip::run(&files(dirs)?),
        Harness::Determinism { dirs } => determinism::run(&program, &files(dirs)?),
        Harness::Kill { rounds, seed: given, tried } => {
            let seed = seed(given);
            tried.on(|location, place| kill::run(&program, location, place, *rounds, seed))
        }
        Harness::PowerCut { rounds, seed: given } => power_cut::run(&program, *rounds, seed(given)),
        Harness::Disk { short } => disk::run(&program, !short),
        Harness::Race { processes, puts, seed: given, tried } => {
            let (counts, seed) = ((*processes, *puts), seed(given));
            tried.on(|location, place| race::run(&program, location, place, counts, seed))
        }
        Harness::Serve { work, seed: given, tried } => {
            let seed = seed(given);
            tried.on(|location, place| serve::run(&program, location, place, *work, seed))
        }
        Harness::Memory { mib } => memory::run(&program, *mib),
        Harness::Layout { tried } => {
            tried.on(|location, place| layout::run(&program, location, place))
        }
    }
}

impl Tried {
    /// Runs a proof on the store that was given, or on one in a folder that goes with it.
    fn on(&self, proof: impl FnOnce(&str, &Place) -> anyhow::Result<bool>) -> anyhow::Result<bool> {
        let folder = tempfile::Builder::new().prefix("crash-").tempdir()?;
        let location = self
            .store
            .clone()
            .unwrap_or_else(|| folder.path().join("store").to_string_lossy().into_owned());
        let servers = target()?.join("servers/venv/bin/python");
        let found = if servers.is_file() { servers } else { PathBuf::from("python3") };
        proof(&location, &Place::of(&location, self.python.as_ref().unwrap_or(&found)))
    }
}

/// Builds the program with optimisations, unless `TOOLSTUB_PROGRAM` names one; where it is.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    if let Some(program) = std::env::var_os("TOOLSTUB_PROGRAM") {
        return Ok(std::path::absolute(program)?);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = root()?.join("Cargo.toml");
    let args = ["build", "--quiet", "--release", "--package", "toolstub-cli", "--manifest-path"];
    let built = Command::new(cargo).args(args).arg(&manifest).status()?;
    ensure!(built.success(), "the program does not build");
    let program = target()?.join("release/toolstub");
    ensure!(program.is_file(), "there is no {}", program.display());
    Ok(program)
}

/// The folder that things are built in.
fn target() -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.map_or_else(|| Ok(root()?.join("target")), Ok)
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
