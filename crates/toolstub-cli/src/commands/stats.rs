//! `toolstub stats`: what is stored, and what it keeps out of the context.

use std::fmt::Write as _;

use toolstub_core::text::clean;
use toolstub_core::{Reason, Receipt};
use toolstub_render::{Body, Header, Options, render};
use toolstub_store::Tally;

use super::Outcome;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(context: &Context) -> Result<Outcome, Failure> {
    let session = context.session.as_ref().map(|_| context.session()).transpose()?;
    let store = context.open_existing()?;
    let stats = block_on(async { Ok(store.stats(session.as_ref(), stub_bytes).await?) })?;
    if context.json {
        output::write_json(&stats)?;
    } else {
        let mut text = String::from("what\tresults\tbytes\tkept out of the context\n");
        let mut line = |what: &str, tally: &Tally| {
            let Tally { results, bytes, kept_out_bytes, .. } = tally;
            let _ = writeln!(text, "{what}\t{results}\t{bytes}\t{kept_out_bytes}");
        };
        line("all", &stats.all);
        for (kind, tally) in &stats.by_kind {
            line(&format!("kind {kind}"), tally);
        }
        for (tool, tally) in &stats.by_tool {
            line(&format!("tool {}", clean(tool, 200)), tally);
        }
        output::write(text.as_bytes())?;
    }
    if stats.unreadable > 0 {
        output::remark(&format!("{} records cannot be read and are left out", stats.unreadable));
    }
    Ok(Outcome::Done)
}

/// The size of the typed stub that stands for a result.
fn stub_bytes(receipt: &Receipt) -> u64 {
    let header = Header::stored(receipt, Reason::SingleThreshold);
    let body = Body::Synopsis(&receipt.metadata().synopsis);
    render(&header, &body, &Options::default()).len() as u64
}
