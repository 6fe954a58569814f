//! opencode, through the plugin that `toolstub init opencode` writes: the payload and the answer are between
//! the two of us. A tool of its own has an `output`; what an MCP server returned, `content`.

use serde_json::Value;
use toolstub_session::Replacement;
use toolstub_session::splice::{Object, blocks, items};

use super::taken::{Taken, whole};
use crate::failure::Failure;

pub(super) fn take<'a>(fields: &Object<'a>) -> Result<Option<Taken<'a>>, Failure> {
    if let Some(body) = fields.given("content") {
        let mut taken = Taken::new(body);
        taken.blocks(body, &blocks(body).unwrap_or_default());
        return Ok(Some(taken));
    }
    let Some(body) = fields.given("output") else { return Ok(None) };
    let mut taken = Taken::new(body);
    taken.value(body, body, None);
    let metadata = fields.object("metadata");
    if let Some(metadata) = metadata.filter(|metadata| metadata.get("truncated") == Some("true"))
        && let Some(text) = taken.texts.first_mut()
    {
        match metadata.text("outputPath") {
            Some(path) => text.result.content = whole(&path, None)?.into(),
            None => taken.cut_by = Some("opencode"),
        }
    }
    Ok(Some(taken))
}

pub(super) fn answer(taken: &Taken<'_>, stubs: &[Option<&Replacement>]) -> Option<String> {
    let output = taken.patches(stubs).apply()?;
    let name = if items(&output).is_some() { "content" } else { "output" };
    Some(format!("{{{}:{output}}}", Value::from(name)))
}
