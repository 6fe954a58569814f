//! `toolstub read`: a range of an original, byte for byte.

use toolstub_core::OffsetUnit;
use toolstub_store::{Piece, ReadRequest};

use super::Outcome;
use crate::args::Read;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Read, context: &Context) -> Result<Outcome, Failure> {
    let (store, reference) = context.target(&args.target)?;
    let request = ReadRequest {
        offset: args.offset,
        limit: args.limit,
        unit: args.unit,
        include_metadata: context.json,
    };
    let piece = block_on(async { Ok(store.read(&reference, &request).await?) })?;
    if context.json {
        let answer = if args.base64 { piece.to_base64_answer() } else { piece.to_answer() };
        output::write_json(&answer)?;
    } else {
        output::write(&piece.bytes)?;
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
