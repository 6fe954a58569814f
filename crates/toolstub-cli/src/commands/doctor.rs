//! `toolstub doctor`: tries out the store and says what it guarantees.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde_json::json;
use toolstub_store::{CheckStatus, ResultStore};

use super::Outcome;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(context: &Context) -> Result<Outcome, Failure> {
    let location = context.location()?;
    let store: ResultStore = context.open()?;
    let now = SystemTime::now();
    // Two probes of one process in one moment cannot be.
    let moment = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("{}-{moment}", std::process::id());
    let checks = block_on(async { Ok(store.probe(&name, now).await?) })?;
    let failed = checks.iter().any(|check| check.status == CheckStatus::Failed);
    let guarantees = guarantees(&location, context.fsync);
    if context.json {
        output::write_json(&json!({
            "store": location,
            "usable": !failed,
            "checks": checks,
            "guarantees": guarantees,
        }))?;
    } else {
        let mut text = format!("store\t{location}\n");
        for check in &checks {
            let status = match check.status {
                CheckStatus::Ok => "ok",
                CheckStatus::Failed => "failed",
                _ => "warning",
            };
            let _ = writeln!(text, "{status}\t{}\t{}", check.name, check.detail);
        }
        if !failed {
            for guarantee in guarantees {
                let _ = writeln!(text, "holds\t{guarantee}");
            }
        }
        output::write(text.as_bytes())?;
    }
    Ok(if failed { Outcome::Damaged } else { Outcome::Done })
}

/// What holds in a store beyond what can be tried out.
fn guarantees(location: &str, fsync: bool) -> &'static [&'static str] {
    if location.starts_with("memory:") {
        &["what is stored ends with the process"]
    } else if location.starts_with("s3:") {
        &[
            "a write is acknowledged once the server has it: how safe it is then is the server's part",
            "who may read it, and whether it is encrypted, is the bucket's part: its policy and settings",
            "a result is seen whole or not at all, and each block that is read is checked",
            "an upload that a crash interrupts is found by gc; for one that breaks off as it begins, \
             let the bucket abort incomplete uploads after a day",
        ]
    } else if !fsync {
        &[
            "a write is not waited for until it is on the disk (fsync is off): a power cut can lose \
             what was acknowledged",
            "folders are private to their owner (0700), files too (0600)",
            "a result is seen whole or not at all, and each block that is read is checked",
        ]
    } else {
        &[
            "a write is on the disk before it is acknowledged: a power cut does not lose it",
            "folders are private to their owner (0700), files too (0600)",
            "a result is seen whole or not at all, and each block that is read is checked",
        ]
    }
}
