//! Cursor: `postToolUse`. Only what MCP servers returned can be replaced.

use toolstub_session::Replacement;
use toolstub_session::splice::{Object, items, text};

use super::taken::Taken;

pub(super) fn take<'a>(fields: &Object<'a>, tool: &str) -> Option<Taken<'a>> {
    if !tool.starts_with("MCP:") {
        return None;
    }
    let raw = fields.given("tool_output")?;
    // A string that holds JSON, as a rule. What is in it otherwise is the text itself.
    let Some(inner) = text(raw) else {
        let mut taken = Taken::new(raw);
        taken.mcp(raw, raw);
        return Some(taken);
    };
    let has_blocks = |inner: &str| {
        items(inner).is_some()
            || Object::parse(inner).is_some_and(|it| it.get("content").and_then(items).is_some())
    };
    if has_blocks(inner.trim()) || text(inner.trim()).is_some() {
        let body = inner.trim().to_owned();
        drop(inner);
        let mut taken = Taken::new("");
        taken.mcp(&body, &body);
        taken.body = body.into();
        return Some(taken);
    }
    let mut taken = Taken::new(raw);
    taken.value(raw, raw, None);
    Some(taken)
}

pub(super) fn answer(taken: &Taken<'_>, stubs: &[Option<&Replacement>]) -> Option<String> {
    let output = taken.patches(stubs).apply()?;
    // Of an object only the blocks can be given back.
    let output = match Object::parse(&output) {
        Some(result) => format!(r#"{{"content":{}}}"#, result.get("content")?),
        None if items(&output).is_some() => format!(r#"{{"content":{output}}}"#),
        None => output,
    };
    Some(format!(r#"{{"updated_mcp_tool_output":{output}}}"#))
}
