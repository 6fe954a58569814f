//! Exit codes, and how a failure is told. A signal's are 128 and its number.

use std::process::ExitCode;

use anyhow::Error;
use clap::error::ErrorKind;
use serde::Serialize;
use toolstub_store::{BackendError, StoreError};
use toolstub_store_object::OpenError;

/// Not found, or no match.
pub(crate) const NOT_FOUND: u8 = 1;
/// Usage, bad input or configuration.
pub(crate) const USAGE: u8 = 2;
/// The store failed.
pub(crate) const STORAGE: u8 = 3;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    code: &'static str,
    exit: u8,
    error: Error,
}

impl Failure {
    /// Bad input or configuration: what was given cannot be used.
    pub(crate) fn input(error: impl Into<Error>) -> Self {
        Self { code: "INVALID_ARGUMENT", exit: USAGE, error: error.into() }
    }

    /// The store failed.
    pub(crate) fn storage(error: impl Into<Error>) -> Self {
        Self { code: "INTERNAL", exit: STORAGE, error: error.into() }
    }

    /// The failure, unless it came after a signal that asked the process to end: then that.
    pub(crate) fn unless_interrupted(self) -> Self {
        match crate::interrupt::caught() {
            Some(exit) => Self { code: "CANCELLED", exit, error: Error::msg("interrupted") },
            None => self,
        }
    }

    /// Tells the failure: on standard error, or with `json` as an object on standard output.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        tell(self.code, &format!("{:#}", self.error), json);
        ExitCode::from(self.exit)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (code, exit) = match &error {
            StoreError::NotFound { .. } | StoreError::NothingSelected { .. } => {
                ("NOT_FOUND", NOT_FOUND)
            }
            StoreError::Conflict { .. } => ("CONFLICT", STORAGE),
            StoreError::Corrupt { .. } => ("CORRUPT", STORAGE),
            StoreError::Invalid { .. } | StoreError::Id(_) => ("INVALID_ARGUMENT", USAGE),
            StoreError::Backend(BackendError::PermissionDenied { .. }) => {
                ("PERMISSION_DENIED", STORAGE)
            }
            StoreError::Backend(BackendError::StorageFull { .. }) => {
                ("RESOURCE_EXHAUSTED", STORAGE)
            }
            _ => ("INTERNAL", STORAGE),
        };
        Self { code, exit, error: error.into() }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match &error {
            OpenError::Folder { .. } | OpenError::Store { .. } => Self::storage(error),
            _ => Self::input(error),
        }
    }
}

/// Tells a command line that cannot be used; help and version are not failures.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    let failed = error.use_stderr();
    let json = std::env::args_os().any(|arg| arg == "--json");
    if failed && json && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let text = error.to_string();
        let message = text.trim_start_matches("error: ").trim_end();
        tell("INVALID_ARGUMENT", message, true);
    } else {
        // Whoever does not listen to usage cannot be told otherwise.
        let _ = error.print();
    }
    if failed { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

/// The answer to a request that failed.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    status: &'static str,
    error: Told<'a>,
}

#[derive(Debug, Serialize)]
struct Told<'a> {
    code: &'a str,
    message: &'a str,
    details: Option<()>,
}

fn tell(code: &str, message: &str, json: bool) {
    if json {
        let answer = Answer { status: "error", error: Told { code, message, details: None } };
        if crate::output::write_json(&answer).is_err() {
            crate::output::remark(message);
        }
    } else {
        crate::output::remark(message);
    }
}
