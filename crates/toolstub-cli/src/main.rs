//! The `toolstub` program: oversized tool results out of the context, and within reach.

mod args;
mod commands;
mod config;
mod context;
mod describe;
mod failure;
mod input;
mod interrupt;
mod late;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    interrupt::run(run)
}

fn run() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) if commands::hook::is_called(std::env::args_os()) => {
            // A host takes the code of bad usage for a word on the tool, and an answer for one of its own.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return failure::report_usage(&error),
    };
    let json = args.json;
    match commands::run(args) {
        Ok(outcome) => outcome.into(),
        Err(failure) => failure.unless_interrupted().report(json),
    }
}
