//! `toolstub verify`: what is stored against its records.

use std::fmt::Write as _;

use serde_json::json;

use super::Outcome;
use crate::args::{Target, Verify};
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: Verify, context: &Context) -> Result<Outcome, Failure> {
    if let Some(reference) = args.reference {
        return one(&Target { reference }, context);
    }
    let store = context.open_existing()?;
    let session = context.session.as_ref().map(|_| context.session()).transpose()?;
    let verified = block_on(async {
        Ok(match &session {
            Some(session) => store.verify_session(session).await?,
            None => store.verify_all().await?,
        })
    })?;
    let damaged: Vec<_> = verified
        .damaged
        .iter()
        .map(|damaged| (damaged.reference.to_string(), damaged.error.to_string()))
        .collect();
    if context.json {
        let damaged: Vec<_> = damaged
            .iter()
            .map(|(reference, error)| json!({ "ref": reference, "error": error }))
            .collect();
        let (whole, bytes) = (verified.whole, verified.bytes);
        output::write_json(&json!({ "whole": whole, "bytes": bytes, "damaged": damaged }))?;
    } else {
        let mut text = String::new();
        for (reference, error) in &damaged {
            let _ = writeln!(text, "{reference}\t{error}");
        }
        output::write(text.as_bytes())?;
        let (whole, bytes, count) = (verified.whole, verified.bytes, damaged.len());
        output::remark(&format!("{whole} results of {bytes} bytes are whole, {count} are damaged"));
    }
    Ok(if damaged.is_empty() { Outcome::Done } else { Outcome::Damaged })
}

/// Checks one result; damage is the failure that it is for every other command.
fn one(target: &Target, context: &Context) -> Result<Outcome, Failure> {
    let reference = context.reference(target)?;
    let store = context.open_existing()?;
    let bytes = block_on(async { Ok(store.verify(&reference).await?) })?;
    if context.json {
        output::write_json(&json!({ "whole": 1, "bytes": bytes, "damaged": [] }))?;
    } else {
        output::remark(&format!("the result of {bytes} bytes is whole"));
    }
    Ok(Outcome::Done)
}
