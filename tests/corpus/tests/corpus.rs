//! What toolstub says of every case of the corpus.

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolstub_corpus_tests::{Case, Corpus, Ledger, Outcome, audit, snapshot_name};

fn outcomes() -> Vec<(Case, Outcome)> {
    let cases = Corpus::of_workspace().cases().unwrap();
    assert!(!cases.is_empty(), "the corpus has no case");
    let outcome = |case: Case| {
        let outcome = Outcome::of(&case).unwrap();
        (case, outcome)
    };
    cases.into_iter().map(outcome).collect()
}

#[test]
fn corpus_is_whole() {
    let problems = audit(&Corpus::of_workspace()).unwrap();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn every_case_is_what_it_says() {
    let mut failures = Vec::new();
    for (case, outcome) in outcomes() {
        let misses = outcome.misses(&case);
        match &case.described.known_issue {
            None => failures.extend(misses.iter().map(|miss| format!("{}: {miss}", case.id))),
            Some(issue) if misses.is_empty() => {
                failures.push(format!("{}: its known issue is gone ({issue})", case.id));
            }
            Some(_) => {}
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

#[test]
fn stubs_are_as_reviewed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut changed = Vec::new();
    for (case, outcome) in outcomes() {
        let body = outcome.body(&case);
        let check = || insta::assert_snapshot!(snapshot_name(&case.id), body);
        // One change of wording reaches many cases: all are compared before the test fails.
        if catch_unwind(AssertUnwindSafe(|| settings.bind(check))).is_err() {
            changed.push(case.id);
        }
    }
    assert!(
        changed.is_empty(),
        "{} stubs differ from their snapshots; `cargo xtask corpus review` shows how:\n{}\n",
        changed.len(),
        changed.join("\n")
    );
}

#[test]
fn ledger_is_as_recorded() {
    let rows = outcomes().iter().map(|(_, outcome)| outcome.row()).collect();
    let recorded = Ledger::read(&Corpus::of_workspace()).unwrap();
    let now = Ledger { rows };
    let differ: Vec<String> = now
        .rows
        .iter()
        .filter(|row| !recorded.rows.contains(row))
        .map(|row| format!("{}: {:?} chars", row.id, row.stub_chars))
        .collect();
    assert!(differ.is_empty(), "sizes differ from the ledger:\n{}\n", differ.join("\n"));
    assert_eq!(now, recorded, "the ledger has other rows, or another order");
}
