//! Adding a case: its input, its description, and today's snapshot.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use toolstub_core::Kind;
use toolstub_corpus_tests::{
    Case, Corpus, Described, MAX_INPUT, Outcome, Profile, Snapshot, is_case_name,
};

use super::{outcomes, write_ledger};
use crate::say;

/// What a new case is made of.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The input, or a directory with `case.toml` and `input.*`.
    #[arg(value_name = "FILE|DIR")]
    from: PathBuf,
    /// The case's name: the situation, in words joined by hyphens.
    #[arg(long)]
    name: String,
    /// The kind that must be detected.
    #[arg(long)]
    kind: Kind,
    /// The situation that the case stands for.
    #[arg(long, required_unless_present = "described")]
    why: Option<String>,
    /// The command whose output the input is, or how else it came to be.
    #[arg(long, required_unless_present = "described")]
    origin: Option<String>,
    /// The licence of the input.
    #[arg(long, default_value = "Apache-2.0")]
    licence: String,
    /// The media type that the tool declared.
    #[arg(long)]
    mime: Option<String>,
    /// A whole line that must stand in the synopsis, computed by another tool; repeat it.
    #[arg(long = "fact", value_name = "LINE")]
    facts: Vec<String>,
    /// Words that must stand somewhere in the synopsis; repeat it.
    #[arg(long = "mention", value_name = "WORDS")]
    mentions: Vec<String>,
    /// Show the stub in head style, too.
    #[arg(long)]
    head: bool,
    /// What is wrong with what is said of it today.
    #[arg(long, value_name = "TEXT")]
    known_issue: Option<String>,
    /// Take the description from the directory's `case.toml`.
    #[arg(long)]
    described: bool,
}

pub(super) fn run(corpus: &Corpus, args: Args) -> anyhow::Result<bool> {
    ensure!(is_case_name(&args.name), "name it in words of a-z and 0-9 joined by `-`");
    let id = format!("{}/{}", args.kind, args.name);
    let dir = corpus.cases_dir().join(&id);
    ensure!(!dir.exists(), "there is a case {id}");
    let (input, described) = if args.described {
        let case = Case::read(args.from.clone())?;
        ensure!(case.described.kind == args.kind, "its case.toml says {}", case.described.kind);
        (case.input_files()?.pop(), case.described)
    } else {
        let input = input_of(&args.from)?;
        let described = describe(args, &input)?;
        (Some(input), described)
    };
    let fresh = Fresh::write(dir, input.as_deref(), &described)?;
    let case = Case::read(fresh.dir.clone())?;
    let outcome = Outcome::of(&case)?;
    ensure!(outcome.sha256 == described.sha256, "the input's sha256 is {}", outcome.sha256);
    let misses = outcome.misses(&case);
    if !misses.is_empty() && described.known_issue.is_none() {
        bail!("{}; correct it, or state a --known-issue", misses.join("; "));
    }
    std::fs::create_dir_all(corpus.snapshots_dir())?;
    std::fs::write(corpus.snapshot_path(&id), Snapshot::new(&outcome.body(&case)).to_text())?;
    fresh.keep();
    write_ledger(corpus, &outcomes(corpus)?)?;
    say(format_args!("added {id}, with today's snapshot"));
    Ok(true)
}

/// The input itself, or the one in a directory.
fn input_of(from: &Path) -> anyhow::Result<PathBuf> {
    if !from.is_dir() {
        return Ok(from.to_owned());
    }
    let entries = std::fs::read_dir(from)?.collect::<Result<Vec<_>, _>>()?;
    let mut inputs = entries.into_iter().map(|entry| entry.path());
    inputs
        .find(|path| path.file_stem().is_some_and(|stem| stem == "input"))
        .with_context(|| format!("{} has no file `input.*`", from.display()))
}

fn describe(args: Args, input: &Path) -> anyhow::Result<Described> {
    let content =
        std::fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
    let size = content.len();
    ensure!(
        size <= MAX_INPUT,
        "it has {size} bytes; over {MAX_INPUT}, write a case.toml with a generator and add its directory with --described"
    );
    let mut profiles = vec![Profile::Typed];
    profiles.extend(args.head.then_some(Profile::Head));
    Ok(Described {
        why: args.why.unwrap_or_default(),
        origin: args.origin.unwrap_or_default(),
        licence: args.licence,
        sha256: toolstub_corpus_tests::sha256(&content).to_string(),
        kind: args.kind,
        mime: args.mime,
        facts: args.facts,
        mentions: args.mentions,
        profiles,
        known_issue: args.known_issue,
        generator: None,
    })
}

/// A case's directory that goes away again unless it is kept.
struct Fresh {
    dir: PathBuf,
    kept: bool,
}

impl Fresh {
    fn write(dir: PathBuf, input: Option<&Path>, described: &Described) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&dir)?;
        let fresh = Self { dir, kept: false };
        std::fs::write(fresh.dir.join("case.toml"), toml::to_string_pretty(described)?)?;
        if let Some(input) = input {
            let extension = input.extension().and_then(|e| e.to_str()).unwrap_or("txt");
            std::fs::copy(input, fresh.dir.join(format!("input.{extension}")))
                .with_context(|| format!("cannot copy {}", input.display()))?;
        }
        Ok(fresh)
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
