//! `toolstub init`: has a host run the hook and offer the retrieval tools, by a change of its configuration.
//!
//! What a host's files hold beside that stays as it is written. All new contents are made before the first
//! file is touched, each is put in place whole, and a backup keeps what a file was before anything of ours
//! was in it.

mod document;
mod entry;
mod file;
mod json;
mod plan;
mod toml;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Serialize;

use self::file::{backup_of, read, write};
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
    let mut files = Vec::new();
    for step in steps {
        let action = step.action();
        if !args.show {
            step.carry_out()
                .with_context(|| format!("cannot change {}", step.path.display()))
                .map_err(Failure::storage)?;
        }
        let shown = if args.show { step.after } else { None };
        files.push(Done { path: step.path, action, content: shown });
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
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// What the backup is to hold; `None` leaves it as it is.
    backup: Option<String>,
    /// Whether the backup has no more use.
    drop_backup: bool,
}

impl Step {
    fn new(change: Change, uninstall: bool) -> anyhow::Result<Self> {
        let Change { path, edit } = change;
        let before = read(&path)?;
        let backup = read(&backup_of(&path))?;
        if !uninstall {
            let after = edit.install(before.as_deref())?;
            // The backup is what the file was before anything of ours was in it.
            let is_first = before.as_deref().is_some_and(|before| !edit.is_in(before));
            let keep = is_first && before.as_ref() != Some(&after);
            let backup = if keep { before.clone() } else { None };
            return Ok(Self { path, before, after: Some(after), backup, drop_backup: false });
        }
        let Some(text) = before.as_deref() else {
            return Ok(Self { path, before: None, after: None, backup: None, drop_backup: false });
        };
        let gives = |from: Option<&str>| edit.install(from).is_ok_and(|made| made == text);
        let is_in = edit.is_in(text);
        let (after, drop_backup) = match backup {
            // Nothing was changed since: what was there comes back to the letter.
            Some(backup) if is_in && !edit.is_in(&backup) && gives(Some(&backup)) => {
                (Some(backup), true)
            }
            _ if is_in && gives(None) => (None, false),
            _ => (edit.uninstall(text)?, false),
        };
        Ok(Self { path, before, after, backup: None, drop_backup })
    }

    fn action(&self) -> Action {
        match (&self.before, &self.after) {
            (None, Some(_)) => Action::Created,
            (Some(_), None) => Action::Removed,
            (before, after) if before == after => Action::Unchanged,
            _ => Action::Changed,
        }
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        if self.action() == Action::Unchanged {
            return Ok(());
        }
        if let Some(backup) = &self.backup {
            write(&backup_of(&self.path), backup, Some(&self.path))?;
        }
        match &self.after {
            Some(after) => write(&self.path, after, None)?,
            None => std::fs::remove_file(&self.path)?,
        }
        if self.drop_backup {
            std::fs::remove_file(backup_of(&self.path))?;
        }
        Ok(())
    }
}
