//! `toolstub list`: the results of a session.

use std::fmt::Write as _;

use serde_json::json;
use toolstub_core::SessionId;
use toolstub_core::text::clean;
use toolstub_store::ListRequest;

use super::Outcome;
use crate::args::List;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: List, context: &Context) -> Result<Outcome, Failure> {
    if args.sessions {
        return sessions(context);
    }
    let session = context.session()?;
    let is_whole = args.cursor.is_none() && args.tool_name.is_none() && args.kind.is_none();
    let request = ListRequest {
        tool_name: args.tool_name,
        kind: args.kind,
        event: context.event()?,
        limit: args.limit,
        cursor: args.cursor,
    };
    let store = context.open_existing()?;
    let listed = block_on(async { Ok(store.list(&session, &request).await?) })?;
    let unreadable = listed.unreadable;
    let is_empty = listed.records.is_empty();
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
    if is_empty && is_whole {
        let (others, _) = block_on(async { Ok(store.sessions(1).await?) })?;
        if !others.is_empty() {
            output::remark(&format!(
                "nothing is listed of the session `{session}`; `toolstub list --sessions` names all"
            ));
        }
    }
    Ok(Outcome::Done)
}

/// Lists the sessions themselves.
fn sessions(context: &Context) -> Result<Outcome, Failure> {
    let store = context.open_existing()?;
    let (sessions, _) = block_on(async { Ok(store.sessions(usize::MAX).await?) })?;
    if context.json {
        let sessions: Vec<_> = sessions.iter().map(SessionId::as_str).collect();
        output::write_json(&json!({ "sessions": sessions }))?;
    } else {
        // An id may hold anything but control characters.
        let lines: String = sessions.iter().map(|session| format!("{session}\n")).collect();
        output::write(lines.as_bytes())?;
    }
    Ok(Outcome::Done)
}
