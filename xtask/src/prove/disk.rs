//! Disks that are full, read-only, limited or tampered with: a clear error, nothing half-visible,
//! what was stored stays readable, and what failed succeeds once there is room.

mod trials;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::Content;
use super::holdings::Place;
use super::mount::{folder, require};
use super::subject::{Ended, Running, Subject};
use crate::say;

const SESSION: &str = "disk";
/// The programs that the trials are made with.
const TOOLS: [&str; 9] =
    ["chmod", "chown", "kill", "mkfifo", "mount", "prlimit", "setpriv", "timeout", "umount"];

pub(super) fn run(program: &Path, thorough: bool) -> anyhow::Result<bool> {
    require(&TOOLS)?;
    let folder = folder()?;
    // Where another user can run it.
    let copy = folder.path().join("toolstub");
    std::fs::copy(program, &copy)?;
    let (mut passed, mut failed) = (0, 0);
    for (number, (name, trial)) in trials::TRIALS.iter().enumerate() {
        let place = folder.path().join(format!("trial-{number}"));
        std::fs::create_dir(&place)?;
        let mut bench = Bench::new(&copy, &place, thorough);
        trial(&mut bench)?;
        let (faults, tries) = (bench.faults, bench.tries);
        if faults.is_empty() {
            passed += 1;
            say(format_args!("{name:<55} {tries:>4} tries  pass"));
        } else {
            failed += 1;
            say(format_args!("{name:<55} {tries:>4} tries  FAIL: {}", faults.join("; ")));
        }
    }
    say(format_args!("{passed} passed, {failed} failed"));
    Ok(failed == 0)
}

/// Where a trial is made.
pub(super) struct Bench {
    program: PathBuf,
    /// A folder of the trial's own.
    place: PathBuf,
    thorough: bool,
    tries: usize,
    faults: Vec<String>,
    seed: u64,
}

/// A store with a result in it, and what else is known of it.
pub(super) struct Kept {
    pub(super) subject: Subject,
    root: PathBuf,
    result: Arc<Content>,
}

/// How a try must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Must<'a> {
    /// With exit code 3 and these words.
    Fail(&'a str),
    /// In that way or well.
    FailOrPass,
}

impl Bench {
    fn new(program: &Path, place: &Path, thorough: bool) -> Self {
        let (program, place) = (program.to_owned(), place.to_owned());
        Self { program, place, thorough, tries: 0, faults: Vec::new(), seed: 1 }
    }

    /// A content that is not there yet.
    pub(super) fn content(&mut self, size: usize) -> Arc<Content> {
        self.seed += 1;
        Arc::new(Content::new(self.seed, size))
    }

    /// A store in a folder with a result that must stay readable, put there by way of a command.
    pub(super) fn store(&mut self, root: &Path, by: &[&str]) -> anyhow::Result<Kept> {
        let subject = Subject::in_folder(&self.program, root, SESSION);
        let result = self.content(300_000);
        let put = subject.command(by, &["--json", "put", "-"]);
        let ended = Running::start(put, Some(Arc::clone(&result)))?.end()?;
        if ended.acknowledged().is_none() {
            anyhow::bail!("the first put failed: {}", ended.told());
        }
        Ok(Kept { subject, root: root.to_owned(), result })
    }

    pub(super) fn fault(&mut self, told: impl Into<String>) {
        let told = told.into();
        if !self.faults.contains(&told) {
            self.faults.push(told);
        }
    }

    /// Tries to store a content while something is wrong; whether it is stored.
    pub(super) fn try_put(
        &mut self,
        kept: &Kept,
        content: &Arc<Content>,
        by: &[&str],
        must: Must<'_>,
    ) -> anyhow::Result<bool> {
        self.tries += 1;
        let put = kept.subject.command(&[&["timeout", "60"], by].concat(), &["put", "-"]);
        let ended = Running::start(put, Some(Arc::clone(content)))?.end()?;
        let stored = ended.status.success();
        if stored && must != Must::FailOrPass {
            self.fault("the put was not refused");
        }
        if !stored {
            self.is_clear(&ended, 3, must);
        }
        let reference = content.reference(SESSION);
        if stored {
            self.reads(kept, content);
        } else {
            // Nothing may be seen of it: not found is the only answer.
            let read = kept.subject.run(&["read", &reference])?;
            if read.status.code() != Some(1) {
                self.fault(format!("after a failure it reads: {}", read.told()));
            }
            if kept.subject.list()?.contains_key(&reference) {
                self.fault("after a failure it is listed");
            }
        }
        self.reads(kept, &Arc::clone(&kept.result));
        Ok(stored)
    }

    /// Checks that an error is told in one clear line.
    pub(super) fn is_clear(&mut self, ended: &Ended, code: i32, must: Must<'_>) {
        let lines = ended.err.trim().lines().count();
        let says = match must {
            Must::Fail(words) => words,
            Must::FailOrPass => "toolstub: ",
        };
        if ended.status.code() != Some(code)
            || lines != 1
            || !ended.err.starts_with("toolstub: ")
            || !ended.err.contains(says)
            || !ended.out.is_empty()
        {
            self.fault(format!("not a clear error with `{says}`: {}", ended.told()));
        }
    }

    /// Checks that a result reads back as it was.
    pub(super) fn reads(&mut self, kept: &Kept, content: &Arc<Content>) {
        match kept.subject.fault(&content.reference(SESSION), &content.sha256) {
            Ok(None) => {}
            Ok(Some(told)) => self.fault(told),
            Err(error) => self.fault(format!("{error:#}")),
        }
    }

    /// Checks that all is well once nothing is wrong any more: what failed succeeds, and `gc` leaves
    /// results alone.
    pub(super) fn recovers(
        &mut self,
        kept: &Kept,
        contents: &[Arc<Content>],
        by: &[&str],
    ) -> anyhow::Result<()> {
        for content in contents {
            let put = kept.subject.command(by, &["--json", "put", "-"]);
            let ended = Running::start(put, Some(Arc::clone(content)))?.end()?;
            if ended.acknowledged().is_none() {
                self.fault(format!("it is not stored afterwards: {}", ended.told()));
            }
            self.reads(kept, content);
        }
        let (whole, damaged) = kept.subject.verify()?;
        for told in damaged {
            self.fault(told);
        }
        kept.subject.gc()?;
        let holdings = Place::Folder(kept.root.clone()).holdings()?;
        for told in holdings.strays() {
            self.fault(format!("left: {told}"));
        }
        if holdings.results.len() as u64 != whole {
            self.fault(format!("{} results are there, {whole} are whole", holdings.results.len()));
        }
        Ok(())
    }
}

impl Kept {
    /// The folder that a content's result has or would have.
    pub(super) fn folder(&self, content: &Content) -> PathBuf {
        self.root.join("sessions").join(SESSION).join("tool-results").join(content.id())
    }

    /// The content that was stored first.
    pub(super) fn result(&self) -> Arc<Content> {
        Arc::clone(&self.result)
    }
}
