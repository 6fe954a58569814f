//! What is tried: the program on a store, as a user runs it.

use std::collections::BTreeMap;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::content::Content;

/// A folder that is not there.
const NOWHERE: &str = "/nonexistent";

/// The program, the store that it works on, and the session unless that is empty.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    program: PathBuf,
    location: String,
    session: &'static str,
}

impl Subject {
    pub(super) fn new(program: &Path, location: impl Into<String>, session: &'static str) -> Self {
        Self { program: program.to_owned(), location: location.into(), session }
    }

    /// The same program in a folder.
    pub(super) fn in_folder(program: &Path, root: &Path, session: &'static str) -> Self {
        Self::new(program, root.to_string_lossy(), session)
    }

    pub(super) fn session(&self) -> &'static str {
        self.session
    }

    /// What the program is called with, whatever it is called by.
    pub(super) fn args(&self, args: &[&str]) -> Vec<String> {
        let program = self.program.to_string_lossy();
        let session = ["--session", self.session];
        let session = if self.session.is_empty() { &[] } else { &session[..] };
        let words = [&[&*program, "--store", &self.location], session, args].concat();
        words.into_iter().map(str::to_owned).collect()
    }

    /// The program with these arguments, started by way of another where `by` is not empty.
    pub(super) fn command(&self, by: &[&str], args: &[&str]) -> Command {
        let by = by.iter().map(|word| (*word).to_owned());
        let mut words = by.chain(self.args(args));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Nobody's configuration has a say.
        command.env("HOME", NOWHERE).env("XDG_CONFIG_HOME", NOWHERE);
        command
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, args: &[&str]) -> anyhow::Result<Ended> {
        Running::start(self.command(&[], args), None)?.end()
    }

    /// Begins to store a content that comes through a pipe.
    pub(super) fn begin_put(&self, content: &Arc<Content>) -> anyhow::Result<Running> {
        Running::start(self.command(&[], &["--json", "put", "-"]), Some(Arc::clone(content)))
    }

    /// Stores a content that comes through a pipe.
    pub(super) fn put(&self, content: &Arc<Content>) -> anyhow::Result<Ended> {
        self.begin_put(content)?.end()
    }

    /// Stores a content that must be stored.
    pub(super) fn must_put(&self, content: &Arc<Content>) -> anyhow::Result<String> {
        let ended = self.put(content)?;
        let acknowledged = ended.acknowledged();
        acknowledged.with_context(|| format!("a put failed: {}", ended.told()))
    }

    /// What a result holds, as a whole; or how the program ended.
    pub(super) fn read(&self, reference: &str) -> anyhow::Result<Result<Vec<u8>, Ended>> {
        let ended = self.run(&["read", reference, "--limit", "-1"])?;
        Ok(if ended.status.success() { Ok(ended.out) } else { Err(ended) })
    }

    /// What is wrong with a result that must hold a content; `None` if nothing is.
    pub(super) fn fault(&self, reference: &str, sha256: &str) -> anyhow::Result<Option<String>> {
        Ok(match self.read(reference)? {
            Ok(bytes) if toolstub_corpus_tests::sha256(&bytes).to_string() == sha256 => None,
            Ok(bytes) => Some(format!("{reference}: {} other bytes", bytes.len())),
            Err(ended) => Some(format!("{reference}: {}", ended.told())),
        })
    }

    /// Every record of the session by its ref, page by page.
    pub(super) fn list(&self) -> anyhow::Result<BTreeMap<String, Value>> {
        let mut records = BTreeMap::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut args = vec!["--json", "list", "--limit", "500"];
            if let Some(cursor) = &cursor {
                args.extend(["--cursor", cursor]);
            }
            let answer = self.run(&args)?.answer()?;
            let page = answer["tool_results"].as_array().context("a list has results")?;
            for record in page {
                let reference = text(record, "storage_uri")?;
                ensure!(
                    records.insert(reference.clone(), record.clone()).is_none(),
                    "{reference} is listed twice"
                );
            }
            cursor = answer["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                return Ok(records);
            }
        }
    }

    /// How many results are whole, and what is damaged.
    pub(super) fn verify(&self) -> anyhow::Result<(u64, Vec<String>)> {
        let ended = self.run(&["--json", "verify"])?;
        let answer: Value = serde_json::from_slice(&ended.out)
            .with_context(|| format!("verify did not end well: {}", ended.told()))?;
        let damaged = answer["damaged"].as_array().context("verify names what is damaged")?;
        let damaged: Vec<_> = damaged.iter().map(ToString::to_string).collect();
        let whole = answer["whole"].as_u64().context("verify counts what is whole")?;
        ensure!(ended.status.success() == damaged.is_empty(), "verify: {}", ended.status);
        Ok((whole, damaged))
    }

    /// Removes all leftovers; says how many there were, and of how many bytes.
    pub(super) fn gc(&self) -> anyhow::Result<(u64, u64)> {
        let answer = self.run(&["--json", "gc", "--older-than", "0s"])?.answer()?;
        let count = |name: &str| answer[name].as_u64().context("gc counts what it removes");
        Ok((count("objects")?, count("bytes")?))
    }
}

/// A string in an object of an answer.
pub(super) fn text(object: &Value, name: &str) -> anyhow::Result<String> {
    let text = object[name].as_str().with_context(|| format!("there is no `{name}`"))?;
    Ok(text.to_owned())
}

/// A process at work. What it prints is read and what it reads is written meanwhile.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    out: JoinHandle<Vec<u8>>,
    err: JoinHandle<Vec<u8>>,
}

impl Running {
    pub(super) fn start(mut command: Command, input: Option<Arc<Content>>) -> anyhow::Result<Self> {
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        if let (Some(mut stdin), Some(content)) = (child.stdin.take(), input) {
            // Whoever has ended reads no more.
            spawn(move || stdin.write_all(&content.bytes).ok());
        }
        let out = child.stdout.take().context("it has an output")?;
        let err = child.stderr.take().context("it has an output for errors")?;
        Ok(Self { child, out: spawn(move || all(out)), err: spawn(move || all(err)) })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Ends it by SIGKILL.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill()?)
    }

    pub(super) fn end(mut self) -> anyhow::Result<Ended> {
        let status = self.child.wait()?;
        let join = |thread: JoinHandle<Vec<u8>>| thread.join().ok().context("a reader failed");
        let (out, err) = (join(self.out)?, join(self.err)?);
        Ok(Ended { status, out, err: String::from_utf8_lossy(&err).into_owned() })
    }
}

/// What can be read of an output that may break off.
fn all(mut source: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = source.read_to_end(&mut bytes);
    bytes
}

/// A process that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) out: Vec<u8>,
    pub(super) err: String,
}

impl Ended {
    /// The ref that it handed out: its answer came whole.
    pub(super) fn acknowledged(&self) -> Option<String> {
        let answer: Value = serde_json::from_slice(&self.out).ok()?;
        answer["ref"].as_str().map(str::to_owned)
    }

    pub(super) fn answer(&self) -> anyhow::Result<Value> {
        if !self.status.success() {
            bail!("the program failed: {}", self.told());
        }
        Ok(serde_json::from_slice(&self.out)?)
    }

    /// How it ended, in a line.
    pub(super) fn told(&self) -> String {
        let err = self.err.trim();
        let err = if err.is_empty() { String::from_utf8_lossy(&self.out) } else { err.into() };
        let shown: String = err.trim().chars().take(500).collect();
        format!("{}: {shown}", self.status).replace('\n', " / ")
    }
}
