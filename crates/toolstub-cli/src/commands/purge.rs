//! `toolstub purge`: removes everything of a session or event.

use anyhow::anyhow;
use serde_json::json;

use super::Outcome;
use crate::args::Purge;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Purge, context: &Context) -> Result<Outcome, Failure> {
    if context.session.is_none() {
        return Err(Failure::input(anyhow!(
            "purge removes everything of a session; name the session with --session ID"
        )));
    }
    if !args.yes {
        return Err(Failure::input(anyhow!("purge cannot be undone; add --yes if you mean it")));
    }
    let (session, event) = (context.session()?, context.event()?);
    let store = context.open_existing()?.session(session.clone());
    let removed = block_on(async {
        Ok(match &event {
            Some(event) => store.purge_event(event).await?,
            None => store.purge().await?,
        })
    })?;
    if context.json {
        output::write_json(&json!({
            "session_id": session.as_str(),
            "event_id": event.as_ref().map(toolstub_core::EventId::as_str),
            "results": removed.results,
            "bytes": removed.bytes,
        }))?;
    } else {
        // Each result is a record and an output; what else there was is a service's.
        let others = removed.objects.saturating_sub(2 * removed.results);
        let and_others =
            if others > 0 { format!(" and {others} other files") } else { String::new() };
        output::remark(&format!("removed {} results{and_others}", removed.results));
    }
    Ok(Outcome::Done)
}
