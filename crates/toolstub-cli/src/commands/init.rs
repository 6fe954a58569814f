//! `toolstub init`: has a host run the hook and offer the retrieval tools, by a change of its configuration.
//!
//! What a host's files hold beside that stays as it is written. All new contents are made before the first
//! file is touched, each is put in place whole, and a backup keeps what a file was before it was changed.

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
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Serialize;

use self::file::Place;
use self::plan::{Change, plan};
use super::Outcome;
use crate::args::{Host, Init};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// What becomes of a file.
#[derive(Debug, Serialize)]
struct Done {
    path: PathBuf,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Created,
    Changed,
    Removed,
    Unchanged,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    files: &'a [Done],
}

pub(crate) fn run(args: &Init, context: &Context) -> Result<Outcome, Failure> {
    let mut steps = Vec::new();
    for change in plan(args, context)? {
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
    if !args.show {
        carry_out(&steps)?;
    }
    let mut files = Vec::new();
    for step in steps {
        let action = step.action();
        let shown = if args.show { step.after } else { None };
        files.push(Done { path: step.place.path, action, content: shown });
    }
    tell(&files, context.json)?;
    if args.host == Host::Codex && !args.uninstall {
        output::remark(
            "Codex asks whether it may run a new hook: agree when it starts, or in /hooks. It cuts what \
             commands put out to about 10,000 characters first; see docs/hooks.md for how to see more",
        );
    }
    Ok(Outcome::Done)
}

/// Makes all changes or none: a hook without its server leaves stubs that nobody can read.
fn carry_out(steps: &[Step]) -> Result<(), Failure> {
    let mut done = Vec::new();
    for step in steps {
        match step.carry_out() {
            Ok(kept) => done.push((step, kept)),
            Err(error) => {
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
    Ok(())
}

fn tell(files: &[Done], json: bool) -> Result<(), Failure> {
    if json {
        return output::write_json(&Answer { files });
    }
    let mut told = String::new();
    for Done { path, action, content } in files {
        let action = match action {
            Action::Created => "created",
            Action::Changed => "changed",
            Action::Removed => "removed",
            Action::Unchanged => "unchanged",
        };
        let _ = writeln!(told, "{action} {}", path.display());
        if let Some(content) = content {
            told.push_str(content);
            told.push_str(if content.ends_with('\n') { "\n" } else { "\n\n" });
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
}

impl Step {
    fn new(change: Change, uninstall: bool) -> anyhow::Result<Self> {
        let Change { path, edit, within } = change;
        let place = Place::new(path, within.as_deref())?;
        let before = place.read()?;
        let Some(text) = before.as_deref() else {
            let after = if uninstall { None } else { Some(edit.install(None)?) };
            return Ok(Self {
                place,
                before,
                after,
                keep: false,
                spent: Vec::new(),
                others: Vec::new(),
            });
        };
        let others = edit.others(text);
        if !uninstall {
            let after = Some(edit.install(Some(text))?);
            return Ok(Self { place, before, after, keep: true, spent: Vec::new(), others });
        }
        // Whether a text is another with what is ours in it, whatever options that was made with.
        let is_made = |text: &str, from: Option<&str>| {
            edit.is_in(text) && edit.as_in(text).install(from).is_ok_and(|made| made == text)
        };
        let is_before = |was: &str| !edit.is_in(was) && is_made(text, Some(was));
        // Nothing was changed since: what was there comes back to the letter.
        let was = place.backups_that(is_before).pop();
        // What somebody has but ended with a line end since was not made by us for that.
        let is_about =
            |was: &str| !edit.is_in(was) && is_made(text.trim_end(), Some(was.trim_end()));
        let is_ours = || is_made(text, None) && place.backups_that(is_about).is_empty();
        if was.is_some() || is_ours() {
            let (name, after) = was.unzip();
            let mut spent: Vec<_> = name.into_iter().collect();
            let between = place.backups_that(|text| is_made(text, after.as_deref()));
            spent.extend(between.into_iter().map(|(name, _)| name));
            return Ok(Self { place, before, after, keep: false, spent, others });
        }
        let after = edit.uninstall(text)?;
        Ok(Self { place, before, after, keep: true, spent: Vec::new(), others })
    }

    fn action(&self) -> Action {
        match (&self.before, &self.after) {
            (None, Some(_)) => Action::Created,
            (Some(_), None) => Action::Removed,
            (before, after) if before == after => Action::Unchanged,
            _ => Action::Changed,
        }
    }

    /// Makes the change, or leaves all as it was. What comes back is the name of the backup.
    fn carry_out(&self) -> anyhow::Result<Option<OsString>> {
        if self.action() == Action::Unchanged {
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
        if self.action() == Action::Unchanged {
            return;
        }
        match self.put(self.before.as_deref()) {
            Ok(()) => kept.into_iter().for_each(|kept| self.drop_backup(kept)),
            Err(error) => {
                let path = self.place.path.display();
                output::remark(&format!("{path} stays changed: {error:#}"));
            }
        }
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
