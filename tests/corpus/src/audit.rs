//! Whether the corpus is whole: cases, snapshots and ledger are the same set, each case complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toolstub_core::Kind;

use crate::case::{Case, CorpusError, MAX_INPUT, Profile, entries, is_case_name};
use crate::ledger::Ledger;
use crate::{Corpus, sha256, snapshot_name};

/// What is wrong with the corpus, a line each; empty where all is well.
///
/// What toolstub says of the cases is not looked at: that is for the tests.
pub fn audit(corpus: &Corpus) -> Result<Vec<String>, CorpusError> {
    let cases = corpus.cases()?;
    let mut problems = Vec::new();
    let mut alike: BTreeMap<(String, Option<String>), String> = BTreeMap::new();
    for case in &cases {
        let mut problem = |text: String| problems.push(format!("{}: {text}", case.id));
        for fault in faults(case)? {
            problem(fault);
        }
        let key = (case.described.sha256.clone(), case.described.mime.clone());
        if let Some(other) = alike.insert(key, case.id.clone()) {
            problem(format!("it is the same as {other}; keep one of them"));
        }
    }
    for kind in Kind::ALL {
        if !cases.iter().any(|case| case.described.kind == kind) {
            problems.push(format!("no case is {kind}; add one"));
        }
    }
    problems.extend(sets(corpus, &cases)?);
    Ok(problems)
}

/// What is wrong with one case.
fn faults(case: &Case) -> Result<Vec<String>, CorpusError> {
    let described = &case.described;
    let (kind, name) = case.id.split_once('/').unwrap_or(("", &case.id));
    let mut faults = Vec::new();
    if kind != described.kind.as_str() {
        faults.push(format!("its kind is {0}; it belongs into {0}/", described.kind));
    }
    if !is_case_name(name) {
        faults.push("name it for its situation, in words of a-z and 0-9 joined by -".to_owned());
    }
    for (field, value) in
        [("why", &described.why), ("origin", &described.origin), ("licence", &described.licence)]
    {
        if value.trim().is_empty() {
            faults.push(format!("`{field}` in case.toml is empty; state it"));
        }
    }
    let profiles: BTreeSet<_> = described.profiles.iter().collect();
    if described.profiles.first() != Some(&Profile::Typed)
        || profiles.len() != described.profiles.len()
    {
        faults.push("`profiles` is `typed`, then others, each once".to_owned());
    }
    if described.facts.is_empty() && described.kind != Kind::Unknown {
        faults.push("`facts` is empty; compute some with another tool".to_owned());
    }
    let files = case.input_files()?;
    if files.len() + usize::from(described.generator.is_some()) != 1 {
        faults.push("it has one file `input.*`, or a generator".to_owned());
        return Ok(faults);
    }
    let known = |path: &Path| path.ends_with("case.toml") || files.iter().any(|f| f == path);
    for path in entries(&case.dir)?.iter().filter(|path| !known(path)) {
        faults.push(format!("{} does not belong here", path.display()));
    }
    let content = case.content()?;
    let digest = sha256(&content).to_string();
    if digest != described.sha256 {
        faults.push(format!("the input's sha256 is {digest}; case.toml states another"));
    }
    let generated = described.generator.is_some();
    if generated != (content.len() > MAX_INPUT) {
        let size = content.len();
        faults.push(format!(
            "inputs over {MAX_INPUT} bytes are generated, others kept; it has {size}"
        ));
    }
    Ok(faults)
}

/// Where cases, snapshots and ledger are not the same set.
fn sets(corpus: &Corpus, cases: &[Case]) -> Result<Vec<String>, CorpusError> {
    let mut problems = Vec::new();
    let names: BTreeSet<String> = cases.iter().map(|case| snapshot_name(&case.id)).collect();
    let mut snapshots = BTreeSet::new();
    for path in entries(&corpus.snapshots_dir())? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".snap") {
            snapshots.insert(name.to_owned());
        } else if name.ends_with(".snap.new") {
            problems.push(format!("{name} is pending; see `cargo xtask corpus review`"));
        } else {
            problems.push(format!("{name} is not a snapshot; it does not belong here"));
        }
    }
    for name in names.difference(&snapshots) {
        problems.push(format!("{name} has no snapshot; see `cargo xtask corpus review`"));
    }
    for name in snapshots.difference(&names) {
        problems.push(format!("{name}.snap has no case; remove it"));
    }
    let rows = Ledger::read(corpus)?.rows;
    let rows: BTreeSet<String> = rows.into_iter().map(|row| row.id).collect();
    let ids: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
    for id in ids.difference(&rows) {
        problems.push(format!("{id} is not in the ledger; see `cargo xtask corpus review`"));
    }
    for id in rows.difference(&ids) {
        problems.push(format!(
            "{id} is in the ledger and has no case; see `cargo xtask corpus review`"
        ));
    }
    Ok(problems)
}
