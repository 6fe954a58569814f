//! `toolstub read`: a range of an original, byte for byte.

use anyhow::anyhow;
use toolstub_core::{OffsetUnit, Ref};
use toolstub_store::{Located, Piece, ReadRequest, Selector, SessionStore};

use super::Outcome;
use crate::args::Read;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

/// How many bytes are read at once.
const PART: i128 = 4 << 20;

pub(crate) fn run(args: &Read, context: &Context) -> Result<Outcome, Failure> {
    if args.base64 && !context.json {
        return Err(Failure::input(anyhow!(
            "--base64 is a form of the JSON answer; add --json, or leave it out for the bytes"
        )));
    }
    let (store, reference) = context.target(&args.target)?;
    let request = ReadRequest {
        offset: args.offset,
        limit: args.limit,
        unit: args.unit,
        include_metadata: context.json,
    };
    let selector = match (&args.pointer, &args.rows, &args.lines) {
        (Some(pointer), _, _) => Some(Selector::pointer(pointer)?),
        (_, Some(rows), _) => Some(Selector::rows(rows)?),
        (_, _, Some(lines)) => Some(Selector::lines(lines)?),
        (None, None, None) => None,
    };
    if context.json {
        let piece = block_on(async {
            Ok(match &selector {
                Some(selector) => store.read_selected(&reference, selector, &request).await?,
                None => store.read(&reference, &request).await?,
            })
        })?;
        let answer = if args.base64 { piece.to_base64_answer() } else { piece.to_answer() };
        output::write_json(&answer)?;
        return Ok(Outcome::Done);
    }
    let piece = block_on(print(&store, &reference, selector.as_ref(), &request))?;
    if let Some(columns) = piece.selection.as_ref().and_then(|part| part.columns.as_ref()) {
        output::remark(&format!("columns: {}", columns.join(", ")));
    }
    if piece.bytes.is_empty() && args.limit == 0 {
        output::remark("nothing was asked for; give --limit 1 or more, or -1 for the rest");
    } else if piece.has_more {
        output::remark(&how_to_go_on(&piece));
    }
    Ok(Outcome::Done)
}

/// Prints a piece of any size in bounded memory, and returns it without its bytes.
async fn print(
    store: &SessionStore,
    reference: &Ref,
    selector: Option<&Selector>,
    request: &ReadRequest,
) -> Result<Piece, Failure> {
    let is_small = (0..=PART).contains(&request.limit) && request.unit != OffsetUnit::Line;
    if is_small && selector.is_none() {
        let piece = store.read(reference, request).await?;
        output::write(&piece.bytes)?;
        return Ok(piece);
    }
    let Located { piece, bytes, .. } = store.locate(reference, selector, request).await?;
    let mut at = i128::from(bytes.start);
    let end = i128::from(bytes.end);
    // Also of an empty piece, so that nothing is promised of an output that is gone.
    loop {
        // What is left for the last part is never so short that a character is longer.
        let left = end - at;
        let limit = if left <= 2 * PART { left } else { PART };
        let part =
            ReadRequest { offset: at, limit, unit: OffsetUnit::Byte, include_metadata: false };
        let part = store.read(reference, &part).await?;
        at = i128::from(part.next_offset);
        if !output::write_piece(&part.bytes)? || at >= end {
            return Ok(piece);
        }
    }
}

fn how_to_go_on(piece: &Piece) -> String {
    let (total, unit) = match piece.unit {
        OffsetUnit::UnicodeCodePoint => (piece.total_chars, "characters"),
        OffsetUnit::Byte => (piece.total_bytes, "bytes"),
        OffsetUnit::Line => (piece.total_lines, "lines"),
    };
    let next = piece.next_offset;
    format!(
        "up to {next} of {total} {unit}; go on with --offset {next}, or --limit -1 for the rest"
    )
}
