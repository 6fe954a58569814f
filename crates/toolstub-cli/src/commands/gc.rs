//! `toolstub gc`: removes what interrupted writes left behind.

use std::time::SystemTime;

use serde_json::json;
use toolstub_store::CollectRequest;

use super::Outcome;
use crate::args::Gc;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Gc, context: &Context) -> Result<Outcome, Failure> {
    let request = CollectRequest {
        older_than: args.older_than,
        dry_run: args.dry_run,
        ..CollectRequest::new(SystemTime::now())
    };
    let store = context.open_existing()?;
    let removed = block_on(async { Ok(store.gc(&request).await?) })?;
    let (objects, bytes) = (removed.objects, removed.bytes);
    if context.json {
        let dry_run = args.dry_run;
        output::write_json(&json!({ "dry_run": dry_run, "objects": objects, "bytes": bytes }))?;
    } else {
        let done = if args.dry_run { "would remove" } else { "removed" };
        output::remark(&format!("{done} {objects} leftovers of {bytes} bytes"));
    }
    Ok(Outcome::Done)
}
