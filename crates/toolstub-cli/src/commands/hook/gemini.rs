//! Gemini CLI: `AfterTool`. A result is replaced by that of another call, if there is a tool that returns
//! stubs; else by refusing it, with the stub for a reason, which a model sees as an error.

use serde_json::json;
use toolstub_session::Replacement;
use toolstub_session::splice::{Object, blocks};

use super::taken::Taken;

/// What the host puts around what it does not trust. It stays around the stub, which speaks of that.
const BEGIN: &str = "<untrusted_context>\n";
const END: &str = "\n</untrusted_context>";

pub(super) fn take<'a>(fields: &Object<'a>) -> Option<Taken<'a>> {
    let body = fields.object("tool_response")?.given("llmContent")?;
    let mut taken = Taken::new(body);
    for part in blocks(body).unwrap_or_else(|| vec![body]) {
        let is_text = taken.value(body, part, None)
            || Object::parse(part)
                .and_then(|part| part.get("text"))
                .is_some_and(|raw| taken.value(body, raw, None));
        taken.has_more |= !is_text;
    }
    for text in &mut taken.texts {
        let content = &text.result.content;
        let begins = content.starts_with(BEGIN.as_bytes());
        if begins && content.len() >= BEGIN.len() + END.len() && content.ends_with(END.as_bytes()) {
            text.result.content = content.slice(BEGIN.len()..content.len() - END.len());
            text.around = (BEGIN, END);
        }
    }
    // What takes the place of the result is text: an image would be lost.
    (!taken.has_more).then_some(taken)
}

pub(super) fn answer(
    taken: &Taken<'_>,
    stubs: &[Option<&Replacement>],
    tail_tool: Option<&str>,
) -> String {
    if let Some(name) = tail_tool
        && let [Some(stub)] = stubs
        && let Some(reference) = &stub.reference
    {
        let request = json!({"name": name, "args": {"tool_output_ref": reference.to_string()}});
        let output = json!({"hookEventName": "AfterTool", "tailToolCallRequest": request});
        return json!({"hookSpecificOutput": output}).to_string();
    }
    json!({"decision": "deny", "reason": taken.joined(stubs)}).to_string()
}
