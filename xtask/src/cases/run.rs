//! Running one case: its steps in order, in a state of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value};

use super::case::{Case, max_seconds};
use super::content::Sources;
use super::expect::judge;
use super::limit::FileSizeLimit;
use super::operations::turn::Conversations;
use super::operations::{self, Done, Outcome};
use super::rss;
use super::subject::{Said, Subject};
use super::verdict::{Verdict, Verdicts};

/// The state that steps share.
pub(super) struct State {
    /// What lies around the store: nothing but the store may appear in it.
    pub(super) outside: PathBuf,
    /// The store's root.
    pub(super) root: PathBuf,
    /// The crates; `None` between a fault that comes before opening and the next step.
    pub(super) subject: Option<Subject>,
    /// The case's contents.
    pub(super) sources: Sources,
    /// What earlier puts left, by the name that the case gave them; `None` for one refused.
    pub(super) results: BTreeMap<String, Option<Said>>,
    /// A limit on the size of files, once a step has set one.
    pub(super) limit: Option<FileSizeLimit>,
    /// The sessions that were written to.
    pub(super) sessions: Vec<String>,
    /// The messages of the sessions that had turns.
    pub(super) conversations: Conversations,
    /// The last step that described a content, for it to be repeated.
    pub(super) last: Option<Map<String, Value>>,
}

impl State {
    /// The crates with the store open.
    pub(super) fn subject(&mut self) -> Result<&Subject, String> {
        if self.subject.is_none() {
            let opened = Subject::open(&self.root);
            self.subject = Some(opened.map_err(|error| format!("cannot open: {error:#}"))?);
        }
        self.subject.as_ref().ok_or_else(|| "the store is not open".to_owned())
    }
}

/// Runs a case whose inputs lie in `folder`.
pub(super) fn run(case: &Case, folder: &Path) -> anyhow::Result<Verdicts> {
    make_inputs(case, folder)?;
    let paths: Vec<(String, PathBuf)> =
        case.inputs.iter().map(|input| (input.name.clone(), folder.join(&input.path))).collect();
    let files: Vec<_> = paths.iter().map(|(name, path)| (name.clone(), path.as_path())).collect();
    let sources = Sources::read(&files).context("cannot read an input")?;
    for input in &case.inputs {
        let sha256 = toolstub_corpus_tests::sha256(&sources.files[&input.name]).to_string();
        ensure!(sha256 == input.sha256, "the input {} is not the one described", input.name);
    }
    let outside = folder.join("state");
    std::fs::create_dir_all(&outside)?;
    let mut state = State {
        // Deep enough that a way out by `..` still ends where it is looked for.
        root: outside.join("a/b/c/d/store"),
        outside,
        subject: None,
        sources,
        results: BTreeMap::new(),
        limit: None,
        sessions: Vec::new(),
        conversations: Conversations::new(),
        last: None,
    };
    let (mut must, mut should) = (Vec::new(), Vec::new());
    let mut asked_should = false;
    for (index, step) in case.steps.iter().enumerate() {
        asked_should |= step.contains_key("should");
        let told = |text: String| format!("step {}: {text}", index + 1);
        let failures = run_step(step, &mut state);
        must.extend(failures.must.into_iter().map(told));
        should.extend(failures.should.into_iter().map(told));
    }
    let verdict = |failures: &[String]| {
        if failures.is_empty() { Verdict::Passed } else { Verdict::Failed(failures.join("; ")) }
    };
    Ok(if case.is_should() {
        Verdicts { must: None, should: Some(verdict(&[must, should].concat())) }
    } else {
        let should = (asked_should || !should.is_empty()).then(|| verdict(&should));
        Verdicts { must: Some(verdict(&must)), should }
    })
}

/// What did not hold.
#[derive(Debug, Default)]
struct Failures {
    must: Vec<String>,
    should: Vec<String>,
}

fn run_step(step: &Map<String, Value>, state: &mut State) -> Failures {
    let mut failures = Failures::default();
    let empty = Map::new();
    let block = |name: &str| match step.get(name) {
        None => Ok(empty.clone()),
        Some(Value::Object(block)) => Ok(block.clone()),
        Some(_) => Err(format!("`{name}` is not an object")),
    };
    let (expect, should) = match (block("expect"), block("should")) {
        (Ok(expect), Ok(should)) => (expect, should),
        (Err(error), _) | (_, Err(error)) => {
            failures.must.push(error);
            return failures;
        }
    };
    rss::reset();
    let begun = Instant::now();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        operations::run(step, &expect, state)
    }));
    let seconds = begun.elapsed().as_secs_f64();
    let done = match caught {
        Ok(Outcome::Done(done)) => done,
        Ok(Outcome::Skipped) => return failures,
        Ok(Outcome::Misread(error)) => {
            failures.must.push(error);
            return failures;
        }
        Err(_) => {
            failures.must.push("it panicked".to_owned());
            return failures;
        }
    };
    let limit = max_seconds(step);
    if seconds > limit {
        failures.must.push(format!("took {seconds:.1} s, more than {limit} s"));
    }
    let done = Done { peak_mib: rss::peak_mib(), seconds, ..done };
    failures.must.extend(done.broken.iter().cloned());
    failures.must.extend(judge(&expect, &done, state));
    failures.should.extend(judge(&should, &done, state));
    let an_error_is_fine =
        ["error", "any_of", "unless"].iter().any(|word| expect.contains_key(*word));
    if let (Err(error), false) = (&done.answer, an_error_is_fine) {
        // One word of what went wrong says more than each expectation that could not be looked at.
        failures.must = vec![format!("failed: {error}")];
    }
    failures
}

/// Runs the script that makes inputs, in its folder.
fn make_inputs(case: &Case, folder: &Path) -> anyhow::Result<()> {
    let Some(script) = &case.script else { return Ok(()) };
    let script = folder.join(script);
    let (dir, name) = (script.parent(), script.file_name());
    let (dir, name) = dir.zip(name).context("the script has no folder")?;
    let output = Command::new("python3")
        .arg(name)
        .current_dir(dir)
        .output()
        .context("cannot run python3, which makes a case's inputs")?;
    ensure!(output.status.success(), "gen.py: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
