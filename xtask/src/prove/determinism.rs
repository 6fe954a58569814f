//! The same bytes give the same stub, whatever surrounds the process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;

use crate::say;

/// Environments that must not matter, each a fresh process.
const SURROUNDINGS: [&[(&str, &str)]; 5] = [
    &[],
    &[("LC_ALL", "C"), ("TZ", "UTC")],
    &[("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8"), ("TZ", "Asia/Kathmandu")],
    &[("LC_ALL", "de_DE.ISO-8859-1"), ("COLUMNS", "20"), ("TERM", "dumb"), ("NO_COLOR", "1")],
    &[("TZ", "Pacific/Chatham"), ("RUST_BACKTRACE", "full"), ("HOME", "/nonexistent")],
];

pub(super) fn run(program: &Path, files: &[PathBuf]) -> anyhow::Result<bool> {
    let elsewhere = tempfile::tempdir()?;
    let mut failed = 0;
    for file in files {
        let file = std::path::absolute(file)?;
        let mut stubs = Vec::new();
        for (index, surroundings) in SURROUNDINGS.iter().enumerate() {
            let mut command = Command::new(program);
            command
                .args(["stub", "-", "--tool-name", "read"])
                .stdin(Stdio::from(File::open(&file)?));
            command.envs(surroundings.iter().copied());
            if index % 2 == 1 {
                command.current_dir(elsewhere.path());
            }
            let output = command.output()?;
            ensure!(output.status.success(), "{}: {}", file.display(), output.status);
            stubs.push(output.stdout);
        }
        if stubs.iter().any(|stub| *stub != stubs[0]) {
            failed += 1;
            say(format_args!("{}: the stub changes with its surroundings", file.display()));
        }
    }
    let runs = SURROUNDINGS.len();
    say(format_args!("{} files, {runs} fresh processes each, {failed} failed", files.len()));
    Ok(failed == 0)
}
