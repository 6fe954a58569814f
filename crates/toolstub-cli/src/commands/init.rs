//! `toolstub init`: has a host run the hook and offer the retrieval tools, by a change of its configuration.
//!
//! What a host's files hold beside that stays as it is written. All new contents are made before the first
//! file is touched, each is put in place whole, and a backup keeps what a file was before it was changed.

mod diff;
mod document;
mod entry;
mod file;
mod folder;
mod json;
mod own;
mod plan;
mod toml;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Serialize;

use self::diff::diff;
use self::entry::Edit;
use self::file::Place;
use self::plan::{Change, Plan, plan};
use super::Outcome;
use crate::args::{Host, Init};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// What becomes of a file.
#[derive(Debug, Serialize)]
struct Done {
    path: PathBuf,
    action: &'static str,
    /// With `--show`: all of a file that would be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// With `--show`: what would change in a file that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Create,
    Change,
    Remove,
    Leave,
}

impl Action {
    /// What is told of it: that it was done, or that it would be.
    fn told(self, is_done: bool) -> &'static str {
        match (self, is_done) {
            (Self::Create, true) => "created",
            (Self::Change, true) => "changed",
            (Self::Remove, true) => "removed",
            (Self::Create, false) => "would create",
            (Self::Change, false) => "would change",
            (Self::Remove, false) => "would remove",
            (Self::Leave, _) => "unchanged",
        }
    }
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    files: &'a [Done],
}

pub(crate) fn run(args: &Init, context: &Context) -> Result<Outcome, Failure> {
    let Plan { changes, notes } = plan(args, context)?;
    let mut steps = Vec::new();
    for change in changes {
        let path = change.path.clone();
        let step = Step::new(change, args.uninstall)
            .with_context(|| format!("{} is not changed", path.display()))
            .map_err(Failure::input)?;
        steps.push(step);
    }
    for step in &steps {
        for other in &step.others {
            output::remark(&format!("{}: {other}; it stays as it is", step.place.path.display()));
        }
    }
    if !args.uninstall {
        notes.iter().for_each(|note| output::remark(note));
    }
    if !args.show {
        carry_out(&steps)?;
    }
    let files: Vec<_> = steps.into_iter().map(|step| step.told(args.show)).collect();
    tell(&files, context.json)?;
    if !args.show && !args.uninstall && files.iter().any(|file| file.action != "unchanged") {
        output::remark(next_step(args.host));
    }
    Ok(Outcome::Done)
}

/// What is left for a person to do.
fn next_step(host: Host) -> &'static str {
    match host {
        Host::Claude => {
            "start Claude Code anew; it asks before the first use of the retrieval tools, unless \
             mcp__toolstub is among the permissions.allow of its settings"
        }
        Host::Codex => {
            "start Codex anew; it asks whether it may run a new hook: agree then, or in /hooks"
        }
        Host::Cursor => "start Cursor anew",
        Host::Gemini => "start Gemini CLI anew",
        Host::Opencode => "start opencode anew",
    }
}

/// Makes all changes or none: a hook without its server leaves stubs that nobody can read.
fn carry_out(steps: &[Step]) -> Result<(), Failure> {
    let mut done = Vec::new();
    for step in steps {
        match step.carry_out() {
            Ok(kept) => done.push((step, kept)),
            Err(error) => {
                step.drop_made();
                for (step, kept) in done {
                    step.undo(kept.as_ref());
                }
                let error = error.context(format!("cannot change {}", step.place.path.display()));
                return Err(Failure::storage(error));
            }
        }
    }
    for step in steps {
        for spent in &step.spent {
            step.drop_backup(spent);
        }
    }
    for step in steps.iter().filter(|step| step.action() == Action::Remove) {
        drop_empty(&step.folders);
    }
    Ok(())
}

fn tell(files: &[Done], json: bool) -> Result<(), Failure> {
    if json {
        return output::write_json(&Answer { files });
    }
    let mut told = String::new();
    for Done { path, action, content, diff } in files {
        let path = path.to_string_lossy().replace('\n', "\\n");
        let _ = writeln!(told, "{action} {}", output::shown(&path));
        for text in [content, diff].into_iter().flatten() {
            told.push_str(&output::shown(text));
            told.push_str(if text.ends_with('\n') || text.is_empty() { "\n" } else { "\n\n" });
        }
    }
    output::write(told.as_bytes())
}

/// A change of one file, worked out.
#[derive(Debug)]
struct Step {
    place: Place,
    before: Option<String>,
    after: Option<String>,
    /// Whether what the file was is to be kept.
    keep: bool,
    /// The backups that have no more use after.
    spent: Vec<OsString>,
    /// What could be taken for ours, and is not.
    others: Vec<String>,
    /// The folders that are not there yet, the innermost first.
    made: Vec<PathBuf>,
    /// The folders that go with the file where they are empty then, the innermost first.
    folders: Vec<PathBuf>,
}

/// Takes away the folders that are empty. One that is not stays, and so do those around it.
fn drop_empty(folders: &[PathBuf]) {
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

impl Step {
    fn new(change: Change, uninstall: bool) -> anyhow::Result<Self> {
        let Change { path, edit, within, folders } = change;
        let place = Place::new(path, within.as_deref())?;
        let before = place.read()?;
        let around = place.path.ancestors().skip(1);
        let made = around.take_while(|folder| !folder.exists()).map(Into::into).collect();
        let mut step = Self {
            place,
            before,
            after: None,
            keep: false,
            spent: Vec::new(),
            others: Vec::new(),
            made,
            folders,
        };
        step.work_out(&edit, uninstall)?;
        if step.before.is_some() && step.action() != Action::Leave {
            step.place.check_writable()?;
        }
        Ok(step)
    }

    fn work_out(&mut self, edit: &Edit, uninstall: bool) -> anyhow::Result<()> {
        let Some(text) = self.before.as_deref() else {
            self.after = if uninstall { None } else { Some(edit.install(None)?) };
            return Ok(());
        };
        self.others = edit.others(text);
        if !uninstall {
            self.after = Some(edit.install(Some(text))?);
            self.keep = true;
            return Ok(());
        }
        // Whether a text is another with what is ours in it, whatever options that was made with.
        let is_made = |text: &str, from: Option<&str>| {
            edit.is_in(text) && edit.as_in(text).install(from).is_ok_and(|made| made == text)
        };
        let is_before = |was: &str| !edit.is_in(was) && is_made(text, Some(was));
        // Nothing was changed since: what was there comes back to the letter.
        let was = self.place.backups_that(is_before).pop();
        // What somebody has but ended with a line end since was not made by us for that.
        let is_about =
            |was: &str| !edit.is_in(was) && is_made(text.trim_end(), Some(was.trim_end()));
        let is_ours = || is_made(text, None) && self.place.backups_that(is_about).is_empty();
        if was.is_some() || is_ours() {
            let (name, after) = was.unzip();
            let mut spent: Vec<_> = name.into_iter().collect();
            let between = self.place.backups_that(|text| is_made(text, after.as_deref()));
            spent.extend(between.into_iter().map(|(name, _)| name));
            (self.after, self.spent) = (after, spent);
            return Ok(());
        }
        self.after = edit.uninstall(text)?;
        self.keep = true;
        Ok(())
    }

    /// What is told of it, once it is done or where it is only to be shown.
    fn told(self, is_shown: bool) -> Done {
        let action = self.action();
        let (mut content, mut changes) = (None, None);
        match (self.before, self.after) {
            (None, after) if is_shown => content = after,
            (Some(before), Some(after)) if is_shown && action == Action::Change => {
                changes = Some(diff(&before, &after));
            }
            _ => {}
        }
        Done { path: self.place.path, action: action.told(!is_shown), content, diff: changes }
    }

    fn action(&self) -> Action {
        match (&self.before, &self.after) {
            (None, Some(_)) => Action::Create,
            (Some(_), None) => Action::Remove,
            (before, after) if before == after => Action::Leave,
            _ => Action::Change,
        }
    }

    /// Makes the change, or leaves all as it was. What comes back is the name of the backup.
    fn carry_out(&self) -> anyhow::Result<Option<OsString>> {
        if self.action() == Action::Leave {
            return Ok(None);
        }
        // The host writes its files too, and so does another one of us.
        let now = self.place.read()?;
        if now == self.after {
            return Ok(None);
        }
        if now != self.before {
            bail!("somebody else has changed it at the same time; try again");
        }
        let kept = match &self.before {
            Some(before) if self.keep => Some(self.place.keep(before)?),
            _ => None,
        };
        if let Err(error) = self.put(self.after.as_deref()) {
            if let Some(kept) = &kept {
                self.drop_backup(kept);
            }
            return Err(error);
        }
        Ok(kept)
    }

    fn undo(&self, kept: Option<&OsString>) {
        if self.action() == Action::Leave {
            return;
        }
        match self.put(self.before.as_deref()) {
            Ok(()) => {
                kept.into_iter().for_each(|kept| self.drop_backup(kept));
                self.drop_made();
            }
            Err(error) => {
                let path = self.place.path.display();
                output::remark(&format!("{path} stays changed: {error:#}"));
            }
        }
    }

    /// Takes away the folders that were made for the file.
    fn drop_made(&self) {
        drop_empty(&self.made);
    }

    fn drop_backup(&self, name: &OsString) {
        if let Err(error) = self.place.remove_beside(name) {
            let path = self.place.path.with_file_name(name);
            output::remark(&format!("{} stays: {error}", path.display()));
        }
    }

    fn put(&self, text: Option<&str>) -> anyhow::Result<()> {
        match text {
            Some(text) => self.place.write(text),
            None => Ok(self.place.remove()?),
        }
    }
}
