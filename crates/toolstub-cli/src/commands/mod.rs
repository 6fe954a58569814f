//! The subcommands, one module each.

mod stub;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::failure::{Failure, NOT_FOUND};

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Nothing was found.
    #[expect(dead_code, reason = "placeholder")]
    Nothing,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Nothing => Self::from(NOT_FOUND),
        }
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    match args.command {
        Command::Stub(stub) => stub::run(&stub, args.json),
    }
}
