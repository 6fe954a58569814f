//! `toolstub init`: has a host run the hook and offer the retrieval tools, by a change of its configuration.
//!
//! What a host's files hold beside that stays as it is written. All new contents are made before the first
//! file is touched, each is put in place whole, and a backup keeps what a file was before it was changed.

mod document;
mod entry;
mod file;
mod json;
mod own;
mod plan;
mod toml;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use self::file::{backup, keep, read, stays_inside, write};
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
            output::remark(&format!("{}: {other}; it stays as it is", step.path.display()));
        }
    }
    if !args.show {
        carry_out(&steps)?;
    }
    let mut files = Vec::new();
    for step in steps {
        let action = step.action();
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

/// Makes all changes or none: a hook without its server leaves stubs that nobody can read.
fn carry_out(steps: &[Step]) -> Result<(), Failure> {
    for (done, step) in steps.iter().enumerate() {
        let Err(error) = step.carry_out() else { continue };
        for step in &steps[..done] {
            if let Err(error) = step.undo() {
                output::remark(&format!("{} stays changed: {error:#}", step.path.display()));
            }
        }
        let error = error.context(format!("cannot change {}", step.path.display()));
        return Err(Failure::storage(error));
    }
    for step in steps {
        if let Some(spent) = &step.spent
            && let Err(error) = std::fs::remove_file(spent)
        {
            output::remark(&format!("{} stays: {error}", spent.display()));
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
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// Whether what the file was is to be kept.
    keep: bool,
    /// The backup that has no more use after.
    spent: Option<PathBuf>,
    /// What could be taken for ours, and is not.
    others: Vec<String>,
}

impl Step {
    fn new(change: Change, uninstall: bool) -> anyhow::Result<Self> {
        let Change { path, edit, within } = change;
        if let Some(project) = within {
            stays_inside(&project, &path)?;
        }
        let before = read(&path)?;
        let Some(text) = before.as_deref() else {
            let after = if uninstall { None } else { Some(edit.install(None)?) };
            return Ok(Self { path, before, after, keep: false, spent: None, others: Vec::new() });
        };
        let others = edit.others(text);
        if !uninstall {
            let after = Some(edit.install(Some(text))?);
            return Ok(Self { path, before, after, keep: true, spent: None, others });
        }
        let made_by = edit.as_in(text);
        let gives = |from: Option<&str>| made_by.install(from).is_ok_and(|made| made == text);
        if edit.is_in(text) {
            // Nothing was changed since: what was there comes back to the letter.
            let was = backup(&path, |was| !edit.is_in(was) && gives(Some(was)));
            if let Some((spent, was)) = was {
                let spent = Some(spent);
                return Ok(Self { path, before, after: Some(was), keep: false, spent, others });
            }
            if gives(None) {
                return Ok(Self { path, before, after: None, keep: false, spent: None, others });
            }
        }
        let after = edit.uninstall(text)?;
        Ok(Self { path, before, after, keep: true, spent: None, others })
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
        if let Some(before) = self.before.as_deref().filter(|_| self.keep) {
            keep(&self.path, before)?;
        }
        put(&self.path, self.after.as_deref())
    }

    fn undo(&self) -> anyhow::Result<()> {
        if self.action() == Action::Unchanged {
            return Ok(());
        }
        put(&self.path, self.before.as_deref())
    }
}

fn put(path: &Path, text: Option<&str>) -> anyhow::Result<()> {
    match text {
        Some(text) => write(path, text),
        None => Ok(std::fs::remove_file(path)?),
    }
}
