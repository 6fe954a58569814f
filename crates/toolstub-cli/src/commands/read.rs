//! `toolstub read`: a range of an original, byte for byte.

use anyhow::anyhow;
use toolstub_core::{OffsetUnit, Ref};
use toolstub_store::{Piece, ReadRequest, Selector, SessionStore};

use super::Outcome;
use crate::args::Read;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

/// How many characters or bytes are read at once.
const PIECE: i128 = 4 << 20;
/// How many lines are read at once.
const PIECE_LINES: i128 = 50_000;

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
    let piece = block_on(async {
        Ok(match &selector {
            Some(selector) => store.read_selected(&reference, selector, &request).await?,
            None if context.json => store.read(&reference, &request).await?,
            None => print_all_but_last(&store, &reference, request).await?,
        })
    })?;
    if context.json {
        let answer = if args.base64 { piece.to_base64_answer() } else { piece.to_answer() };
        output::write_json(&answer)?;
    } else {
        output::write(&piece.bytes)?;
        if let Some(columns) = piece.selection.as_ref().and_then(|part| part.columns.as_ref()) {
            output::remark(&format!("columns: {}", columns.join(", ")));
        }
        if piece.has_more {
            output::remark(&how_to_go_on(&piece));
        }
    }
    Ok(Outcome::Done)
}

/// Reads in pieces, so that an original of any size is printed in bounded memory. The last piece is
/// returned.
async fn print_all_but_last(
    store: &SessionStore,
    reference: &Ref,
    mut request: ReadRequest,
) -> Result<Piece, Failure> {
    let most = match request.unit {
        OffsetUnit::UnicodeCodePoint | OffsetUnit::Byte => PIECE,
        OffsetUnit::Line => PIECE_LINES,
    };
    let (all, mut left) = (request.limit == -1, request.limit);
    loop {
        // What is left is never so short that a character is longer.
        let is_last = !all && left <= 2 * most;
        request.limit = if is_last { left } else { most };
        let piece = store.read(reference, &request).await?;
        if is_last || !piece.has_more || !output::write_piece(&piece.bytes)? {
            return Ok(piece);
        }
        let next = i128::from(piece.next_offset);
        left -= next - request.offset;
        request.offset = next;
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
