//! The subcommands, one module each.

mod completions;
mod demo;
mod doctor;
mod gc;
pub(crate) mod hook;
mod init;
mod list;
mod man;
mod mcp;
mod proxy;
mod purge;
mod put;
mod read;
mod rm;
mod search;
mod serve;
mod stats;
mod stub;
mod verify;

use std::process::ExitCode;

use anyhow::anyhow;

use crate::args::{Args, Command};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, NOT_FOUND, STORAGE};

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Nothing was found.
    Nothing,
    /// The store is damaged or does not do what it must.
    Damaged,
    /// Another program ended with this code.
    Code(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Nothing => Self::from(NOT_FOUND),
            Outcome::Damaged => Self::from(STORAGE),
            Outcome::Code(code) => Self::from(code),
        }
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    let Args { json, store, session, event, fsync, command } = args;
    if event.is_some() && !takes_event(&command) {
        return Err(Failure::input(anyhow!(
            "--event says nothing here; put, read, search, list, rm, purge, hook and init take it"
        )));
    }
    let context = || Ok(Context { json, config: Config::load()?, store, session, event, fsync });
    match command {
        Command::Stub(args) => stub::run(&args, &context()?),
        Command::Put(args) => put::run(&args, &context()?),
        Command::Read(args) => read::run(&args, &context()?),
        Command::Search(args) => search::run(&args, &context()?),
        Command::List(args) => list::run(args, &context()?),
        Command::Rm(args) => rm::run(&args, &context()?),
        Command::Purge(args) => purge::run(&args, &context()?),
        Command::Verify(args) => verify::run(args, &context()?),
        Command::Gc(args) => gc::run(&args, &context()?),
        Command::Stats => stats::run(&context()?),
        Command::Mcp(args) => mcp::run(&args, &context()?),
        Command::Proxy(args) => proxy::run(args, &context()?),
        Command::Serve(args) => serve::run(&args, &context()?),
        // A hook says nothing of a configuration that cannot be read where it needs none.
        Command::Hook(args) => Ok(hook::run(&args, context)),
        Command::Init(args) => init::run(&args, &context()?),
        Command::Doctor => doctor::run(&context()?),
        Command::Demo => demo::run(&context()?),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// Whether a command is about what belongs to an event, or puts something into one.
fn takes_event(command: &Command) -> bool {
    match command {
        Command::Put(_)
        | Command::Read(_)
        | Command::Search(_)
        | Command::Rm(_)
        | Command::Purge(_)
        | Command::Hook(_)
        | Command::Init(_)
        | Command::Demo => true,
        Command::List(args) => !args.sessions,
        Command::Verify(args) => args.reference.is_some(),
        Command::Stub(_)
        | Command::Gc(_)
        | Command::Stats
        | Command::Mcp(_)
        | Command::Proxy(_)
        | Command::Serve(_)
        | Command::Doctor
        | Command::Completions(_)
        | Command::Man(_) => false,
    }
}
