//! `OpenAI` responses: `function_call_output` items, which answer `function_call` items.

use super::{Group, Turns};
use crate::json::Node;
use crate::turn::Call;

pub(super) fn groups<'a>(items: &[Node<'a>], fallback: &Call) -> Vec<Group<'a>> {
    let mut turns = Turns::new(fallback);
    // What the model says at once is several items: a turn ends where something answers it.
    let mut is_model_speaking = false;
    for item in items {
        let fields = item.object();
        match fields.text("type").as_deref() {
            Some("function_call_output" | "custom_tool_call_output") => {
                is_model_speaking = false;
                let answered = turns.answered(fields.text("call_id"), None);
                let types = ["input_text", "output_text", "text"];
                turns.text_or_blocks(&answered, item, "output", &types);
            }
            Some("message") | None if !fields.is("role", "assistant") => is_model_speaking = false,
            kind => {
                if !std::mem::replace(&mut is_model_speaking, true) {
                    turns.begin();
                }
                if matches!(kind, Some("function_call" | "custom_tool_call")) {
                    let input = fields.get("arguments").or_else(|| fields.get("input"));
                    turns.call(Call {
                        id: fields.text("call_id").unwrap_or_default(),
                        name: fields.text("name").unwrap_or_default(),
                        input: input.map(|input| input.raw().to_owned()),
                    });
                }
            }
        }
    }
    turns.finish()
}
