//! The `toolstub` program: oversized tool results out of the context, and within reach.

use std::process::ExitCode;

use clap::Parser;

mod args;
mod commands;
mod failure;
mod input;
mod output;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let json = args.json;
    match commands::run(args) {
        Ok(outcome) => outcome.into(),
        Err(failure) => failure::report(&failure, json),
    }
}
