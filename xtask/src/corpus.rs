//! `cargo xtask corpus`: the corpus checked, grown, and what changed in it reviewed.

mod add;
mod changes;
mod report;
mod review;

use clap::Subcommand;
use toolstub_corpus_tests::{Case, Corpus, Ledger, Outcome, audit};

use crate::say;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check that cases, snapshots and ledger are the same set, and that each case is complete.
    Check,
    /// Add a case from a file, or from a directory with `case.toml` and `input.*`.
    Add(Box<add::Args>),
    /// Show what is said otherwise than the snapshots have it, grouped; accept by group or case.
    Review(review::Args),
    /// Print what changed in the snapshots since a commit, as Markdown for a pull request.
    Report(report::Args),
}

/// Runs a command; whether all is well.
pub(crate) fn run(command: Command) -> anyhow::Result<bool> {
    let corpus = Corpus::of_workspace();
    match command {
        Command::Check => check(&corpus),
        Command::Add(args) => add::run(&corpus, *args),
        Command::Review(args) => review::run(&corpus, &args),
        Command::Report(args) => report::run(&corpus, &args),
    }
}

fn check(corpus: &Corpus) -> anyhow::Result<bool> {
    let problems = audit(corpus)?;
    for problem in &problems {
        say(problem);
    }
    let cases = corpus.cases()?.len();
    say(format_args!("corpus: {cases} cases, {} problems", problems.len()));
    Ok(problems.is_empty())
}

/// What is said of every case now, by id.
fn outcomes(corpus: &Corpus) -> anyhow::Result<Vec<(Case, Outcome)>> {
    let mut outcomes = Vec::new();
    for case in corpus.cases()? {
        let outcome = Outcome::of(&case)?;
        outcomes.push((case, outcome));
    }
    Ok(outcomes)
}

/// Writes the ledger of what is said now.
fn write_ledger(corpus: &Corpus, outcomes: &[(Case, Outcome)]) -> anyhow::Result<()> {
    let rows = outcomes.iter().map(|(_, outcome)| outcome.row()).collect();
    std::fs::write(corpus.ledger_path(), Ledger { rows }.to_string())?;
    Ok(())
}
