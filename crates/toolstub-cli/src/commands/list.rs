//! `toolstub list`: the results of a session.

use std::fmt::Write as _;

use toolstub_core::text::clean;
use toolstub_store::ListRequest;

use super::Outcome;
use crate::args::List;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: List, context: &Context) -> Result<Outcome, Failure> {
    let session = context.session()?;
    let request = ListRequest {
        tool_name: args.tool_name,
        kind: args.kind,
        event: context.event()?,
        limit: args.limit,
        cursor: args.cursor,
    };
    let store = context.open_existing()?.session(session);
    let listed = block_on(async { Ok(store.list(&request).await?) })?;
    let unreadable = listed.unreadable;
    if context.json {
        output::write_json(&listed.into_answer())?;
    } else {
        let mut text = String::new();
        for record in &listed.records {
            let tool_name = clean(&record.tool_name, 200);
            let _ = writeln!(
                text,
                "{}\t{}\t{}\t{}\t{tool_name}",
                record.storage_uri,
                record.synopsis_kind,
                record.original_chars,
                clean(&record.created_at, 40),
            );
        }
        output::write(text.as_bytes())?;
        if let Some(cursor) = &listed.next_cursor {
            output::remark(&format!("there is more; go on with --cursor {cursor}"));
        }
    }
    if unreadable > 0 {
        output::remark(&format!("{unreadable} records cannot be read and are left out"));
    }
    Ok(Outcome::Done)
}
