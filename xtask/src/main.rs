//! The project's own chores, run as `cargo xtask …`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

mod cases;
mod corpus;
mod e2e;
mod prove;
mod servers;
mod tidy;

/// The exit code where this machine cannot run what was asked for: neither passed nor failed.
const NOT_HERE: u8 = 77;

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Check what the compiler does not: layers, purity, lengths, manifests.
    Tidy,
    /// Check the corpus, add cases to it, review what changed.
    #[command(subcommand)]
    Corpus(corpus::Command),
    /// Run cases of wanted behaviour, straight on the crates, in a build with optimisations.
    Cases(cases::Args),
    /// Run a long harness on the program as it is shipped.
    #[command(subcommand)]
    Prove(prove::Harness),
    /// Run the program with clients of others.
    E2e(e2e::Args),
    /// Start and stop real S3 servers for the tests of the store.
    #[command(subcommand)]
    Servers(servers::Command),
    /// Run one case, whose line comes on standard input.
    #[command(hide = true)]
    Case {
        /// The folder with the case's inputs.
        folder: PathBuf,
    },
    /// Print a stub, for a case that repeats it in fresh processes.
    #[command(hide = true)]
    Stub,
}

fn main() -> ExitCode {
    let done = match Args::parse().chore {
        Chore::Tidy => tidy::run(),
        Chore::Corpus(command) => corpus::run(command),
        Chore::Cases(args) => cases::run(&args),
        Chore::Prove(harness) => prove::run(&harness),
        Chore::E2e(args) => e2e::run(&args),
        Chore::Servers(command) => servers::run(&command),
        Chore::Case { folder } => cases::run_one(&folder),
        Chore::Stub => cases::print_stub(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.is::<prove::NotHere>() => {
            complain(format_args!("cargo xtask: not run: {error:#}"));
            ExitCode::from(NOT_HERE)
        }
        Err(error) => {
            complain(format_args!("cargo xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root.
fn root() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")
}

/// Prints a line of what was asked for.
#[expect(clippy::print_stdout, reason = "the chores answer on standard output")]
fn say(line: impl Display) {
    println!("{line}");
}

/// Prints a line about what went wrong.
#[expect(clippy::print_stderr, reason = "the chores complain on standard error")]
fn complain(line: impl Display) {
    eprintln!("{line}");
}
