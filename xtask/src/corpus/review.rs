//! Reviewing what is said otherwise than the snapshots have it.
//!
//! What is pending is computed afresh from the code as it is, so that a `.snap.new` of an earlier
//! run can neither hide a change nor bring an old one in.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use similar::TextDiff;
use toolstub_corpus_tests::{Case, Corpus, Outcome, Snapshot};

use super::changes::{Edit, Group, edits, group};
use super::{outcomes, write_ledger};
use crate::say;

/// What to accept; nothing without a flag.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Accept everything.
    #[arg(long)]
    accept_all: bool,
    /// Accept the cases of a group, by the number that the review shows; repeat it.
    #[arg(long, value_name = "N")]
    accept_group: Vec<usize>,
    /// Accept these cases.
    #[arg(long, value_name = "CASE", num_args = 1..)]
    accept: Vec<String>,
    /// Leave these cases as they are, whatever else is accepted.
    #[arg(long, value_name = "CASE", num_args = 1..)]
    reject: Vec<String>,
    /// Show the whole difference of every case, not only of each group's first.
    #[arg(long)]
    full: bool,
}

/// A case whose snapshot is not what is said now.
struct Pending {
    id: String,
    path: PathBuf,
    old: Option<Snapshot>,
    new: Snapshot,
}

pub(super) fn run(corpus: &Corpus, args: &Args) -> anyhow::Result<bool> {
    let outcomes = outcomes(corpus)?;
    let pending = pending(corpus, &outcomes)?;
    let orphans = orphans(corpus, &outcomes)?;
    let changes: Vec<(String, BTreeSet<Edit>)> = pending
        .iter()
        .map(|pending| {
            let old = pending.old.as_ref();
            let edits = old.map_or_else(BTreeSet::new, |old| edits(old.body(), pending.new.body()));
            (pending.id.clone(), edits)
        })
        .collect();
    let groups = group(&changes);
    let accepted = accepted(args, &groups)?;
    if accepted.is_empty() {
        show(&groups, &pending, args.full);
        for orphan in &orphans {
            say(format_args!("{} has no case; --accept-all removes it", orphan.display()));
        }
        return Ok(pending.is_empty() && orphans.is_empty());
    }
    std::fs::create_dir_all(corpus.snapshots_dir())?;
    for pending in &pending {
        if accepted.contains(pending.id.as_str()) {
            std::fs::write(&pending.path, pending.new.to_text())?;
        }
        // What insta wrote of an earlier run is no longer the question.
        remove(&pending.path.with_extension("snap.new"))?;
    }
    if args.accept_all {
        for orphan in &orphans {
            remove(orphan)?;
        }
    }
    write_ledger(corpus, &outcomes)?;
    let left = pending.len() - accepted.len();
    say(format_args!("accepted {} cases, {left} left; the ledger is written", accepted.len()));
    Ok(left == 0)
}

fn pending(corpus: &Corpus, outcomes: &[(Case, Outcome)]) -> anyhow::Result<Vec<Pending>> {
    let mut pending = Vec::new();
    for (case, outcome) in outcomes {
        let path = corpus.snapshot_path(&case.id);
        let old =
            Snapshot::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let new = Snapshot::new(&outcome.body(case));
        if old.as_ref() != Some(&new) {
            pending.push(Pending { id: case.id.clone(), path, old, new });
        }
    }
    Ok(pending)
}

/// Snapshots, and pending ones, of cases that are not there, and pending ones that are no longer.
fn orphans(corpus: &Corpus, outcomes: &[(Case, Outcome)]) -> anyhow::Result<Vec<PathBuf>> {
    let known: BTreeSet<PathBuf> =
        outcomes.iter().map(|(case, _)| corpus.snapshot_path(&case.id)).collect();
    let dir = corpus.snapshots_dir();
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut orphans = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if !known.contains(&path) {
            orphans.push(path);
        }
    }
    orphans.sort();
    Ok(orphans)
}

/// The cases that the arguments accept.
fn accepted<'a>(args: &Args, groups: &'a [Group]) -> anyhow::Result<BTreeSet<&'a str>> {
    let mut accepted = BTreeSet::new();
    for number in &args.accept_group {
        let index = number.checked_sub(1).and_then(|index| groups.get(index));
        let group = index.with_context(|| {
            format!("there is no group {number}; the groups are 1 to {}", groups.len())
        })?;
        accepted.extend(group.cases.iter().map(String::as_str));
    }
    let all: Vec<&str> = groups.iter().flat_map(|group| &group.cases).map(String::as_str).collect();
    if args.accept_all {
        accepted.extend(&all);
    }
    for case in args.accept.iter().chain(&args.reject) {
        ensure!(all.contains(&case.as_str()), "{case} is not pending");
    }
    accepted.extend(all.iter().filter(|case| args.accept.iter().any(|name| name == *case)));
    accepted.retain(|case| !args.reject.iter().any(|name| name == case));
    Ok(accepted)
}

fn show(groups: &[Group], pending: &[Pending], full: bool) {
    if pending.is_empty() {
        say("nothing is pending");
        return;
    }
    for (index, group) in groups.iter().enumerate() {
        let number = index + 1;
        say(format_args!("group {number}: {}", title(group)));
        for edit in group.edits.iter().take(12) {
            say(format_args!("  {edit}"));
        }
        if group.edits.len() > 12 {
            say(format_args!("  … and {} edits more", group.edits.len() - 12));
        }
        say(format_args!("  cases: {}", group.cases.join(" ")));
        let shown = if full { group.cases.len() } else { 1 };
        for id in group.cases.iter().take(shown) {
            let pending = pending.iter().find(|pending| pending.id == *id);
            if let Some(Pending { old: Some(old), new, .. }) = pending {
                let diff = TextDiff::from_lines(old.body(), new.body());
                let diff = diff.unified_diff().context_radius(1).header(id, id).to_string();
                diff.lines().for_each(|line| say(format_args!("    {line}")));
            }
        }
        say("");
    }
    let alike = groups.iter().filter(|group| group.cases.len() > 1).count();
    let cases = pending.len();
    say(format_args!(
        "{cases} cases are pending in {} groups, {alike} of several cases",
        groups.len()
    ));
    say(
        "accept with --accept-all, --accept-group N, --accept CASE…; keep some out with --reject CASE…",
    );
}

/// `1 edit × 88 cases`.
pub(super) fn title(group: &Group) -> String {
    let counted = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let cases = counted(group.cases.len(), "case");
    if group.edits.is_empty() {
        return format!("{cases} without a snapshot");
    }
    format!("{} × {cases}", counted(group.edits.len(), "edit"))
}

fn remove(path: &std::path::Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
