//! MCP: the text blocks and the embedded text resources of one `CallToolResult`.
//!
//! Images, sound, links and blocks of unknown types stay; so do `structuredContent`, errors' marks and
//! results that are not final, as they ask for input or name a task, and those of more than
//! [`MAX_BLOCKS`](crate::splice::MAX_BLOCKS) blocks.

use super::{Group, Turns};
use crate::json::Node;
use crate::turn::Call;

pub(super) fn groups<'a>(result: &Node<'a>, fallback: &Call) -> Vec<Group<'a>> {
    let mut turns = Turns::new(fallback);
    let fields = result.object();
    if fields.is("resultType", "input_required") {
        return Vec::new();
    }
    let answered = turns.answered(None, None);
    for block in fields.get("content").map(Node::blocks).unwrap_or_default() {
        let of_block = block.object();
        match of_block.text("type").as_deref() {
            Some("text") => turns.text(&answered, &block, "text", None),
            Some("resource") => {
                let Some(resource) = of_block.get("resource") else { continue };
                let mime_type = resource.object().text("mimeType");
                turns.text(&answered, resource, "text", mime_type);
            }
            _ => {}
        }
    }
    turns.finish()
}
