//! `toolstub man`: the manual pages, as `man` takes them.

use anyhow::anyhow;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man as Page;

use super::Outcome;
use crate::args::{Args, Man};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Man) -> Result<Outcome, Failure> {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    let command = match &args.command {
        None => &program,
        Some(name) => program.find_subcommand(name).ok_or_else(|| {
            let names: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
            Failure::input(anyhow!("there is no command `{name}`; there are {}", names.join(", ")))
        })?,
    };
    let mut page = Vec::new();
    Page::new(command.clone()).render(&mut page).map_err(Failure::storage)?;
    output::write(&page)?;
    Ok(Outcome::Done)
}
