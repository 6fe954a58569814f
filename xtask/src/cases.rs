//! `cargo xtask cases DIR`: runs cases of wanted behaviour, straight on the crates.
//!
//! A case is steps with expectations, in a closed vocabulary: a word, a field or an operation that
//! is not known fails the step, so that nothing passes unseen. Every case runs in a process and a
//! temporary folder of its own: what hangs or crashes is that case's failure.

mod case;
mod content;
mod expect;
mod integer;
mod limit;
mod operations;
mod rss;
mod run;
mod subject;
mod verdict;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::{root, say};
use case::Case;
use verdict::{Verdict, Verdicts};

/// What a case may take beside what its steps may, before it counts as hung.
const SPARE_TIME: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder with `cases.jsonl` and the cases' inputs; it is not written to.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Run the cases with these ids only.
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,
}

/// Runs the cases; whether nothing that must hold failed.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    if cfg!(debug_assertions) {
        return run_optimised(args);
    }
    let file = args.dir.join("cases.jsonl");
    let lines = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let mut totals = verdict::Totals::default();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let id = Case::id_of(line);
        if !args.only.is_empty() && !args.only.contains(&id) {
            continue;
        }
        let verdicts = run_apart(&args.dir, line);
        say(verdicts.line(&id));
        totals.count(&verdicts);
    }
    if totals.is_empty() {
        bail!("{} has no such case", file.display());
    }
    say(&totals);
    Ok(!totals.must_failed())
}

/// Runs the same command in a build with optimisations, for which the cases' limits are meant.
fn run_optimised(args: &Args) -> anyhow::Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = root()?.join("Cargo.toml");
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--manifest-path"]);
    command.arg(manifest).args(["--", "cases"]).arg(&args.dir);
    if !args.only.is_empty() {
        command.arg("--only").args(&args.only);
    }
    Ok(command.status().context("cannot run cargo")?.success())
}

/// Runs one case on a copy of its folder, in a process of its own.
fn run_apart(dir: &Path, line: &str) -> Verdicts {
    match Case::parse(line) {
        Ok(case) => run_process(dir, line, &case).unwrap_or_else(|error| {
            let failed = || Some(Verdict::Failed(format!("{error:#}")));
            if case.is_should() {
                Verdicts { must: None, should: failed() }
            } else {
                Verdicts { must: failed(), should: None }
            }
        }),
        Err(error) => Verdicts { must: Some(Verdict::Failed(error)), should: None },
    }
}

fn run_process(dir: &Path, line: &str, case: &Case) -> anyhow::Result<Verdicts> {
    let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = temporary.path().join("case");
    std::fs::create_dir_all(&folder)?;
    for source in case.folders(dir) {
        copy(&source, &folder.join(source.file_name().unwrap_or_default()))?;
    }
    let output = temporary.path().join("verdicts");
    let mut child = Command::new(std::env::current_exe()?)
        .arg("case")
        .arg(&folder)
        .current_dir(temporary.path())
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&output)?)
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a process")?;
    // Both pipes are small, but a case's line can be longer than a pipe holds.
    let (mut stdin, mut stderr) = (child.stdin.take(), child.stderr.take());
    let complaints = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = String::new();
            let _ = stderr.as_mut().map(|stderr| stderr.read_to_string(&mut text));
            text
        });
        scope.spawn(move || stdin.take().map(|mut stdin| stdin.write_all(line.as_bytes())));
        let deadline = Instant::now() + case.limit() + SPARE_TIME;
        loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(3));
                }
                Ok(Some(_)) => break,
                _ => {
                    let _ = child.kill();
                    break;
                }
            }
        }
        reader.join().unwrap_or_default()
    });
    let status = child.wait()?;
    let said = std::fs::read_to_string(&output)?;
    match serde_json::from_str(&said) {
        Ok(verdicts) if status.success() => Ok(verdicts),
        _ => {
            let last = complaints.lines().rev().find(|line| !line.trim().is_empty());
            bail!("the case hung or crashed ({status}): {}", last.unwrap_or("no word of why"))
        }
    }
}

/// The hidden command behind [`run_apart`]: a case's line comes on standard input.
pub(crate) fn run_one(folder: &Path) -> anyhow::Result<bool> {
    let mut line = String::new();
    std::io::stdin().read_to_string(&mut line)?;
    let case = Case::parse(&line).map_err(anyhow::Error::msg)?;
    let verdicts = run::run(&case, folder)?;
    say(serde_json::to_string(&verdicts)?);
    Ok(true)
}

/// The hidden command behind `repeat_fresh`: what to describe comes on standard input.
pub(crate) fn print_stub() -> anyhow::Result<bool> {
    let mut request = String::new();
    std::io::stdin().read_to_string(&mut request)?;
    let stub = operations::fresh::stub(&request)?;
    std::io::stdout().write_all(stub.as_bytes())?;
    Ok(true)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut open = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = open.pop() {
        std::fs::create_dir_all(&to)?;
        let entries =
            std::fs::read_dir(&from).with_context(|| format!("cannot read {}", from.display()))?;
        for entry in entries {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push((entry.path(), target));
            } else {
                // Not `fs::copy`: the copy is to be writable though the original is not.
                std::fs::write(target, std::fs::read(entry.path())?)?;
            }
        }
    }
    Ok(())
}
