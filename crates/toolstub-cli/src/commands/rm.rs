//! `toolstub rm`: removes one result.

use serde_json::json;

use super::Outcome;
use crate::args::Rm;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Rm, context: &Context) -> Result<Outcome, Failure> {
    let (store, reference) = context.target(&args.target)?;
    block_on(async { Ok(store.delete(&reference).await?) })?;
    if context.json {
        let id = reference.id().as_str();
        output::write_json(&json!({ "tool_result_id": id, "ref": reference.to_string() }))?;
    }
    Ok(Outcome::Done)
}
