//! `toolstub put`: stores a content and prints its stub.

use anyhow::Context as _;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use toolstub_core::{Reason, Synopsis};
use toolstub_render::Header;
use toolstub_store::{DEFAULT_HARD_CAP, Original, StoreError, WriteRequest};

use super::Outcome;
use crate::args::Put;
use crate::context::{Context, block_on};
use crate::describe::{Answer, Describe, Passed};
use crate::failure::Failure;
use crate::input::Input;
use crate::output;

/// An input of so many bytes is large.
const HELD: usize = 4 << 20;
/// How much is passed through at a time, in bytes.
const PASSED: u64 = 1 << 20;

pub(crate) fn run(args: &Put, context: &Context) -> Result<Outcome, Failure> {
    let describe = Describe::new(&args.described, &context.config);
    let (session, event) = (context.session()?, context.event()?);
    let hard_cap = args.hard_cap.or(context.config.hard_cap_bytes).unwrap_or(DEFAULT_HARD_CAP);
    let original = block_on(take_in(Input::open(&args.file)?, hard_cap, context))?;
    let (detection, synopsis) = describe.original(&original)?;
    // What the cap cut off counts: a result is over the threshold whole or not at all.
    let small = original.not_stored_bytes() == 0
        && args.threshold.is_some_and(|threshold| original.chars() <= threshold);
    if small {
        return block_on(pass_through(&original, &synopsis, context));
    }
    let request = WriteRequest {
        event,
        tool_id: args.tool_id.clone(),
        tool_name: args.described.tool_name.clone(),
        message_id: args.message_id.clone(),
        mime_type: args.described.mime.clone(),
        preview_chars: describe.preview_chars.max(0).unsigned_abs(),
        ..WriteRequest::new(session, synopsis, now()?)
    };
    let store = context.open_lasting()?;
    let receipt = block_on(async { Ok(store.write(&original, request).await?) })?;
    let reason = if args.threshold.is_some() { Reason::SingleThreshold } else { Reason::Requested };
    let header = Header::stored(&receipt, reason);
    let stub = describe.stub(&header, &detection, &receipt.metadata().synopsis);
    if context.json {
        output::write_json(&Answer::stored(&receipt, &stub))?;
    } else {
        output::write(stub.as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// Measures the input. The store is needed only for what is large.
async fn take_in(mut input: Input, hard_cap: u64, context: &Context) -> Result<Original, Failure> {
    let mut head = Vec::new();
    while head.len() < HELD {
        match input.piece()? {
            [] => return Ok(Original::new(head, hard_cap)),
            piece => head.extend_from_slice(piece),
        }
    }
    let mut intake = context.open_lasting()?.intake(hard_cap);
    intake.push(&head).await?;
    drop(head);
    input.pour_into(intake).await
}

/// Prints what is not over the threshold as it came.
async fn pass_through(
    original: &Original,
    synopsis: &Synopsis,
    context: &Context,
) -> Result<Outcome, Failure> {
    let body = original.body();
    if context.json {
        let whole = body.bytes().await.map_err(StoreError::from)?;
        let answer = Answer::unstored(original, synopsis, None);
        output::write_json(&Answer { passed: Some(Passed::new(&whole)), ..answer })?;
        return Ok(Outcome::Done);
    }
    let mut at = 0;
    while at < body.size() {
        let end = body.size().min(at + PASSED);
        let piece = body.read(at..end).await.map_err(StoreError::from)?;
        if !output::write_piece(&piece)? {
            break;
        }
        at = end;
    }
    Ok(Outcome::Done)
}

pub(super) fn now() -> Result<String, Failure> {
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).map_err(Failure::storage)?;
    now.format(&Rfc3339).context("the clock shows no usable time").map_err(Failure::storage)
}
