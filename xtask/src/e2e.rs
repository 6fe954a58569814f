//! `cargo xtask e2e …`: the program as it is shipped, with clients of others.
//!
//! Each test is a folder of `tests/e2e` with an executable `run`, which takes the program as its
//! argument, installs what it needs of others below the target folder, and says what it found.
//! Those that install more than a gigabyte run only where they are named.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::{NOT_HERE, prove, root, say};

/// Real hosts of agents: 1.5 GB of programs.
const BY_NAME: [&str; 1] = ["hosts"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tests to run, by their folders; all but `hosts`, where none is named.
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let folder = root()?.join("tests/e2e");
    let mut names = args.names.clone();
    if names.is_empty() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().join("run").is_file() && !BY_NAME.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names.sort();
    }
    let program = prove::program()?;
    let (mut failed, mut not_here) = (Vec::new(), Vec::new());
    for name in &names {
        let script = folder.join(name).join("run");
        if !script.is_file() {
            bail!("there is no test `{name}` in tests/e2e");
        }
        say(format_args!("== {name}"));
        let status = Command::new(&script)
            .arg(&program)
            .current_dir(root()?)
            .status()
            .with_context(|| format!("cannot run {}", script.display()))?;
        match status.code() {
            Some(0) => {}
            Some(code) if code == i32::from(NOT_HERE) => not_here.push(name.as_str()),
            _ => failed.push(name.as_str()),
        }
    }
    if !failed.is_empty() {
        say(format_args!("failed: {}", failed.join(", ")));
        return Ok(false);
    }
    if !not_here.is_empty() {
        return Err(prove::NotHere::because(format!("not wholly: {}", not_here.join(", "))));
    }
    Ok(true)
}
