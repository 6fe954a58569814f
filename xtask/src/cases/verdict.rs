//! How cases end, and how many ended how.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Verdict {
    /// Everything held.
    Passed,
    /// Something did not hold: which step, and why.
    Failed(String),
}

/// How a case ended in what must hold and in what should; `None` where it asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verdicts {
    pub(super) must: Option<Verdict>,
    pub(super) should: Option<Verdict>,
}

impl Verdicts {
    /// The line that tells of the case.
    pub(super) fn line(&self, id: &str) -> String {
        let said = |verdict: &Verdict| match verdict {
            Verdict::Passed => "pass".to_owned(),
            Verdict::Failed(why) => format!("FAIL {why}"),
        };
        match (&self.must, &self.should) {
            (Some(must), Some(should)) if must == should => format!("{id} {}", said(must)),
            (Some(must), Some(Verdict::Passed) | None) => format!("{id} {}", said(must)),
            (Some(must), Some(should)) => format!("{id} {}; should: {}", said(must), said(should)),
            (None, Some(should)) => format!("{id} {} (should)", said(should)),
            (None, None) => format!("{id} pass: nothing is asked of it"),
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// How many cases ended how.
#[derive(Debug, Default)]
pub(super) struct Totals {
    must: Tally,
    should: Tally,
}

impl Totals {
    pub(super) fn count(&mut self, verdicts: &Verdicts) {
        verdicts.must.iter().for_each(|verdict| self.must.count(verdict));
        verdicts.should.iter().for_each(|verdict| self.should.count(verdict));
    }

    /// Whether no case was counted.
    pub(super) fn is_empty(&self) -> bool {
        [&self.must, &self.should].iter().all(|t| t.passed + t.failed == 0)
    }

    /// Whether anything that must hold did not.
    pub(super) fn must_failed(&self) -> bool {
        self.must.failed > 0
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must {}; should {}", self.must, self.should)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_count_cases_in_both_columns() {
        let mut totals = Totals::default();
        assert!(totals.is_empty());
        let failed = || Some(Verdict::Failed("step 2: no".to_owned()));
        totals.count(&Verdicts { must: Some(Verdict::Passed), should: failed() });
        assert!(!totals.must_failed() && !totals.is_empty());
        totals.count(&Verdicts { must: failed(), should: None });
        assert!(totals.must_failed());
        let said = "must 1 passed, 1 failed; should 0 passed, 1 failed";
        assert_eq!(totals.to_string(), said);
    }

    #[test]
    fn line_tells_of_must_and_then_of_should() {
        let line = |must, should| Verdicts { must, should }.line("D01");
        assert_eq!(line(Some(Verdict::Passed), None), "D01 pass");
        assert_eq!(
            line(Some(Verdict::Passed), Some(Verdict::Failed("step 1: x".to_owned()))),
            "D01 pass; should: FAIL step 1: x"
        );
        assert_eq!(line(None, Some(Verdict::Passed)), "D01 pass (should)");
    }
}
