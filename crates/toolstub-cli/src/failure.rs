//! Exit codes, and how a failure is told.

use std::process::ExitCode;

/// Not found, or no match.
pub(crate) const NOT_FOUND: u8 = 1;
/// Usage, bad input or configuration.
pub(crate) const USAGE: u8 = 2;
/// The store failed.
pub(crate) const STORAGE: u8 = 3;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) exit: u8,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    /// Bad input: what was given cannot be used.
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self { code: "INVALID_ARGUMENT", exit: USAGE, error: error.into() }
    }
}

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "this is where failures are told")]
pub(crate) fn report(failure: &Failure, json: bool) -> ExitCode {
    let message = format!("{:#}", failure.error);
    if json {
        let answer = serde_json::json!({
            "status": "error",
            "error": { "code": failure.code, "message": message, "details": null },
        });
        println!("{answer}");
    } else {
        eprintln!("toolstub: {message}");
    }
    ExitCode::from(failure.exit)
}
