//! Claude Code: `PostToolUse`. The answer has the shape of what the tool returned, or is ignored; so all
//! but the text that is replaced stays as it came, and tools whose shape is not known are left alone.

use anyhow::anyhow;
use toolstub_session::Replacement;
use toolstub_session::splice::Object;

use super::taken::{Taken, whole};
use crate::failure::Failure;

/// Where a long output is kept by the host itself, and how long it is. An answer that has them is shown as
/// such a file again.
const PERSISTED: [&str; 2] = ["persistedOutputPath", "persistedOutputSize"];

pub(super) fn take<'a>(fields: &Object<'a>, tool: &str) -> Result<Option<Taken<'a>>, Failure> {
    let Some(body) = fields.given("tool_response") else { return Ok(None) };
    let mut taken = Taken::new(body);
    if tool.starts_with("mcp__") {
        taken.mcp(body, body);
        return Ok(Some(taken));
    }
    let Some(response) = Object::parse(body) else { return Ok(None) };
    let field = match tool {
        "Bash" if response.get("isImage") != Some("true") => response.get("stdout"),
        "Read" if response.is("type", "text") => {
            response.object("file").and_then(|file| file.get("content"))
        }
        "Grep" => response.get("content"),
        "WebFetch" => response.get("result"),
        "Agent" | "Task" => {
            let blocks = response.get("content").and_then(toolstub_session::splice::blocks);
            taken.blocks(body, &blocks.unwrap_or_default());
            None
        }
        _ => None,
    };
    if field.is_some_and(|raw| taken.value(body, raw, None))
        && let Some(path) = response.text(PERSISTED[0])
        && let Some(text) = taken.texts.first_mut()
    {
        let size = response.get(PERSISTED[1]).and_then(|size| size.parse().ok());
        let size = size.ok_or_else(|| Failure::input(anyhow!("there is no {}", PERSISTED[1])))?;
        text.result.content = whole(&path, Some(size))?.into();
        taken.is_in_file = true;
    }
    Ok(Some(taken))
}

pub(super) fn answer(taken: &Taken<'_>, stubs: &[Option<&Replacement>]) -> Option<String> {
    let mut patches = taken.patches(stubs);
    if taken.is_in_file
        && let Some(response) = Object::parse(&taken.body)
    {
        patches.remove_all(&response, &PERSISTED);
    }
    let output = patches.apply()?;
    Some(format!(
        r#"{{"hookSpecificOutput":{{"hookEventName":"PostToolUse","updatedToolOutput":{output}}}}}"#
    ))
}
