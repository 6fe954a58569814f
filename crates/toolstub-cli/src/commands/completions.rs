//! `toolstub completions`: what a shell needs to complete a command line.

use clap::CommandFactory as _;

use super::Outcome;
use crate::args::{Args, Completions};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "toolstub", &mut script);
    output::write(&script)?;
    Ok(Outcome::Done)
}
