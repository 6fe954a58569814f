//! `OpenAI` chat: messages of the role `tool`, which answer the `tool_calls` of assistant messages.

use super::{Group, Turns};
use crate::json::Node;
use crate::turn::Call;

pub(super) fn groups<'a>(messages: &[Node<'a>], fallback: &Call) -> Vec<Group<'a>> {
    let mut turns = Turns::new(fallback);
    for message in messages {
        let fields = message.object();
        match fields.text("role").as_deref() {
            Some("assistant") => {
                turns.begin();
                for call in fields.get("tool_calls").map(Node::items).unwrap_or_default() {
                    let call = call.object();
                    // A custom tool's call has its name and input elsewhere.
                    let of = ["function", "custom"].iter().find_map(|name| call.get(name));
                    let of = of.map(Node::object).unwrap_or_default();
                    let input = of.get("arguments").or_else(|| of.get("input"));
                    turns.call(Call {
                        id: call.text("id").unwrap_or_default(),
                        name: of.text("name").unwrap_or_default(),
                        input: input.map(|input| input.raw().to_owned()),
                    });
                }
            }
            Some("tool") => {
                let answered = turns.answered(fields.text("tool_call_id"), fields.text("name"));
                turns.text_or_blocks(&answered, message, "content", &["text"]);
            }
            _ => {}
        }
    }
    turns.finish()
}
