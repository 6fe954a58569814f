//! Anthropic: `tool_result` blocks in user messages, `tool_use` blocks in assistant messages.

use super::{Group, Turns};
use crate::json::Node;
use crate::turn::Call;

pub(super) fn groups<'a>(messages: &[Node<'a>], fallback: &Call) -> Vec<Group<'a>> {
    let mut turns = Turns::new(fallback);
    for message in messages {
        let fields = message.object();
        if fields.is("role", "assistant") {
            turns.begin();
        }
        let blocks = fields.get("content").map(Node::items).unwrap_or_default();
        for block in blocks {
            let fields = block.object();
            match fields.text("type").as_deref() {
                Some("tool_use") => turns.call(Call {
                    id: fields.text("id").unwrap_or_default(),
                    name: fields.text("name").unwrap_or_default(),
                    input: fields.get("input").map(|input| input.raw().to_owned()),
                }),
                Some("tool_result") => {
                    let answered = turns.answered(fields.text("tool_use_id"), None);
                    turns.text_or_blocks(&answered, &block, "content", &["text"]);
                    for part in fields.get("content").map(Node::items).unwrap_or_default() {
                        nested(&mut turns, &answered, &part);
                    }
                }
                _ => {}
            }
        }
    }
    turns.finish()
}

/// The texts of the blocks that hold some deeper: search results, and documents made of text.
fn nested<'a>(turns: &mut Turns<'a>, answered: &Call, block: &Node<'a>) {
    let fields = block.object();
    match fields.text("type").as_deref() {
        Some("search_result") => turns.text_or_blocks(answered, block, "content", &["text"]),
        Some("document") => {
            let Some(source) = fields.get("source") else { return };
            let of_source = source.object();
            match of_source.text("type").as_deref() {
                Some("text") => turns.text(answered, source, "data", of_source.text("media_type")),
                Some("content") => turns.text_or_blocks(answered, source, "content", &["text"]),
                _ => {}
            }
        }
        _ => {}
    }
}
