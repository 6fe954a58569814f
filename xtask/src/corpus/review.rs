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
    let orphans = orphans(corpus, &outcomes, &pending)?;
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
            say(format_args!("{} belongs to no change; --accept-all removes it", orphan.display()));
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

/// What lies beside the snapshots and belongs to no case, or to an earlier run.
fn orphans(
    corpus: &Corpus,
    outcomes: &[(Case, Outcome)],
    pending: &[Pending],
) -> anyhow::Result<Vec<PathBuf>> {
    let known = outcomes.iter().map(|(case, _)| corpus.snapshot_path(&case.id));
    let asked = pending.iter().map(|pending| pending.path.with_extension("snap.new"));
    let known: BTreeSet<PathBuf> = known.chain(asked).collect();
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
    let (cases, groups) = (counted(pending.len(), "case"), counted(groups.len(), "group"));
    say(format_args!("pending: {cases} in {groups}"));
    say(
        "accept with --accept-all, --accept-group N, --accept CASE…; keep some out with --reject CASE…",
    );
}

/// `1 edit × 88 cases`.
pub(super) fn title(group: &Group) -> String {
    let cases = counted(group.cases.len(), "case");
    if group.edits.is_empty() {
        return format!("{cases} without a snapshot, or with another header");
    }
    format!("{} × {cases}", counted(group.edits.len(), "edit"))
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn remove(path: &std::path::Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn accepts(args: &str, expected: Result<&[&str], ()>) {
        #[derive(clap::Parser)]
        struct Whole {
            #[command(flatten)]
            args: Args,
        }
        let words = std::iter::once("review").chain(args.split_whitespace());
        let args = <Whole as clap::Parser>::try_parse_from(words).unwrap().args;
        let change = |case: &str, new: &str| (case.to_owned(), edits("- one\n", new));
        let changes =
            [change("csv/a", "- two\n"), change("csv/b", "- two\n"), change("csv/c", "- three\n")];
        let groups = group(&changes);
        let accepted = accepted(&args, &groups).map_err(drop);
        assert_eq!(accepted, expected.map(|cases| cases.iter().copied().collect()));
    }

    #[test]
    fn nothing_is_accepted_without_a_flag() {
        accepts("", Ok(&[]));
    }

    #[test]
    fn cases_are_accepted_one_by_one_by_group_or_all() {
        accepts("--accept-all", Ok(&["csv/a", "csv/b", "csv/c"]));
        accepts("--accept-group 1", Ok(&["csv/a", "csv/b"]));
        accepts("--accept csv/c csv/a", Ok(&["csv/a", "csv/c"]));
        accepts("--accept-group 1 --accept csv/c", Ok(&["csv/a", "csv/b", "csv/c"]));
    }

    #[test]
    fn rejected_cases_stay_as_they_are() {
        accepts("--accept-all --reject csv/b", Ok(&["csv/a", "csv/c"]));
    }

    #[test]
    fn case_or_group_that_is_not_pending_is_an_error() {
        accepts("--accept-group 3", Err(()));
        accepts("--accept-group 0", Err(()));
        accepts("--accept csv/d", Err(()));
        accepts("--reject csv/d", Err(()));
    }
}
