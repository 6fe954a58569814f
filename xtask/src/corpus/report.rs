//! What changed in the snapshots since a commit, as Markdown for a pull request.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use toolstub_corpus_tests::{Corpus, Ledger, Snapshot};

use super::changes::{edits, group};
use super::review::title;
use crate::{root, say};

/// How many cases of a group are named.
const MAX_NAMES: usize = 8;

/// What to compare with.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The commit that the snapshots are compared with.
    #[arg(long, value_name = "REF")]
    base: String,
}

pub(super) fn run(corpus: &Corpus, args: &Args) -> anyhow::Result<bool> {
    let root = root()?;
    let old = snapshots_at(root, &args.base)?;
    let new = snapshots_now(corpus)?;
    let added: Vec<&str> =
        new.keys().filter(|name| !old.contains_key(*name)).map(|n| &**n).collect();
    let gone: Vec<&str> =
        old.keys().filter(|name| !new.contains_key(*name)).map(|n| &**n).collect();
    let changes: Vec<_> = new
        .iter()
        .filter_map(|(name, new)| old.get(name).map(|old| (name, old, new)))
        .filter(|(_, old, new)| old != new)
        .map(|(name, old, new)| (name.replace("__", "/"), edits(old.body(), new.body())))
        .collect();
    say(format_args!(
        "## Corpus: {} stubs changed, {} new, {} gone\n",
        changes.len(),
        added.len(),
        gone.len()
    ));
    for group in group(&changes) {
        say(format_args!("**{}** ({})\n", title(&group), listed(&group.cases)));
        for edit in group.edits.iter().take(MAX_NAMES) {
            say(format_args!("- {edit}"));
        }
        if group.edits.len() > MAX_NAMES {
            say(format_args!("- … and {} edits more", group.edits.len() - MAX_NAMES));
        }
        say("");
    }
    for (names, what) in [(added, "New"), (gone, "Gone")] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| name.replace("__", "/")).collect();
            say(format_args!("{what}: {}\n", listed(&names)));
        }
    }
    let ledger = git(root, &["show", &format!("{}:tests/corpus/ledger.csv", args.base)]);
    let old = ledger.map_or_else(|_| Ledger::default(), |text| Ledger::parse(&text));
    sizes(&old, &Ledger::read(corpus)?);
    Ok(true)
}

/// The sizes of the stubs that are in both ledgers, kind by kind.
fn sizes(old: &Ledger, new: &Ledger) {
    let mut kinds: BTreeMap<_, (u64, u64, u64)> = BTreeMap::new();
    for row in &new.rows {
        let before = old.rows.iter().find(|other| other.id == row.id);
        if let (Some(before), Some(now)) =
            (before.and_then(|row| row.stub_chars[0]), row.stub_chars[0])
        {
            let total = kinds.entry(row.kind).or_default();
            total.0 += 1;
            total.1 += before;
            total.2 += now;
        }
    }
    say("| kind | cases | typed stubs before | now |\n| --- | ---: | ---: | ---: |");
    for (kind, (cases, before, now)) in kinds {
        say(format_args!("| {kind} | {cases} | {before} | {now} |"));
    }
}

fn listed(names: &[String]) -> String {
    let mut shown =
        names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if names.len() > MAX_NAMES {
        shown.push(format!("{} more", names.len() - MAX_NAMES));
    }
    shown.join(", ")
}

fn snapshots_now(corpus: &Corpus) -> anyhow::Result<BTreeMap<String, Snapshot>> {
    let mut snapshots = BTreeMap::new();
    for entry in std::fs::read_dir(corpus.snapshots_dir())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let (Some(name), Some(snapshot)) = (name.strip_suffix(".snap"), Snapshot::read(&path)?) {
            snapshots.insert(name.to_owned(), snapshot);
        }
    }
    Ok(snapshots)
}

fn snapshots_at(root: &Path, base: &str) -> anyhow::Result<BTreeMap<String, Snapshot>> {
    const DIR: &str = "tests/corpus/snapshots/";
    git(root, &["rev-parse", "--verify", "--quiet", &format!("{base}^{{commit}}")])
        .with_context(|| format!("there is no commit {base}"))?;
    let names = git(root, &["ls-tree", "-r", "--name-only", base, "--", DIR])?;
    // Only what differs is read: a snapshot that is the same on both sides is the one at hand.
    let differ = git(root, &["diff", "--name-only", base, "--", DIR])?;
    let differ: BTreeSet<&str> = differ.lines().collect();
    let mut snapshots = BTreeMap::new();
    for path in names.lines() {
        let Some(name) = path.strip_prefix(DIR).and_then(|name| name.strip_suffix(".snap")) else {
            continue;
        };
        let text = if differ.contains(path) {
            git(root, &["show", &format!("{base}:{path}")])?
        } else {
            std::fs::read_to_string(root.join(path))?
        };
        snapshots.insert(name.to_owned(), Snapshot::parse(&text));
    }
    Ok(snapshots)
}

fn git(root: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output =
        Command::new("git").args(args).current_dir(root).output().context("cannot run git")?;
    if !output.status.success() {
        bail!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
