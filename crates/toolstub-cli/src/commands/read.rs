//! `toolstub read`: a range of an original, byte for byte.

use anyhow::anyhow;
use toolstub_core::OffsetUnit;
use toolstub_store::{Piece, ReadRequest, Selector};

use super::Outcome;
use crate::args::Read;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

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
            None => store.read(&reference, &request).await?,
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
