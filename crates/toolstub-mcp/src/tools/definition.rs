//! What a client is told of the tools.
//!
//! Every field has one `type` and nothing that a model's vendor may refuse; there is no output schema, so
//! that no client expects structured content.

use serde_json::{Value, json};

use super::{Tool, Tools};

const REF: &str = "The ref from the stub, such as toolstub://session/…/tool-results/tr_…; \
    a bare tr_… id is one of this session.";

pub(super) fn definition(tools: &Tools, tool: Tool) -> Value {
    let (title, description, properties, required) = match tool {
        Tool::Read => (
            "Read a stored tool result",
            format!(
                "Reads the original of a tool result that was put out of the context: any range of \
                 it, exactly. Use it when a tool result says that it was externalized. An answer \
                 holds at most {} characters; one that ends in [next_offset: N of T] goes on at \
                 offset N.",
                tools.max_chars
            ),
            json!({
                "tool_output_ref": {"type": "string", "description": REF},
                "offset": {"type": "integer", "description":
                    "The character at which to begin, from 0. Within lines, rows or pointer it \
                     counts from where they begin."},
                "limit": {"type": "integer", "description":
                    "How many characters to read; -1 for as many as an answer holds."},
                "lines": {"type": "string", "description":
                    "Read these lines only, such as 40-80 (from 1, inclusive)."},
                "rows": {"type": "string", "description":
                    "Of CSV or TSV, read these data rows only, such as 100-120 (from 1, inclusive)."},
                "pointer": {"type": "string", "description":
                    "Of JSON, read the value at this JSON Pointer only, such as /items/3."},
            }),
            json!(["tool_output_ref"]),
        ),
        Tool::Search => (
            "Search a stored tool result",
            "Finds a text in the original of a tool result that was put out of the context. The \
             answer names the offset of each match, which the read tool takes; one that ends in \
             [next_offset: N of T] goes on at offset N."
                .to_owned(),
            json!({
                "tool_output_ref": {"type": "string", "description": REF},
                "query": {"type": "string", "description":
                    "The text to find; each character stands for itself unless regex is true."},
                "limit": {"type": "integer", "description": "The most matches to show (20)."},
                "context_chars": {"type": "integer", "description":
                    "How many characters to show on either side of a match (300)."},
                "offset": {"type": "integer", "description":
                    "The character at which to begin, from 0."},
                "regex": {"type": "boolean", "description":
                    "Take the query for a regular expression; ^ and $ match at line borders."},
                "ignore_case": {"type": "boolean", "description":
                    "Take characters that differ only in case for the same."},
            }),
            json!(["tool_output_ref", "query"]),
        ),
        Tool::List => (
            "List the stored tool results",
            "Lists the tool results that were put out of the context and are stored, with their \
             refs."
                .to_owned(),
            json!({
                "tool_name": {"type": "string", "description": "Only results of this tool."},
                "limit": {"type": "integer", "description": "The most results to list (50)."},
                "cursor": {"type": "string", "description":
                    "Where to go on: the next_cursor that an earlier answer ended with."},
                "session": {"type": "string", "description":
                    "The session to list, as its refs name it; without it, this one."},
            }),
            json!([]),
        ),
        Tool::Stub => (
            "Show the stub of a stored tool result",
            "Shows what stands in the context for a tool result that was put out of it. Its original \
             is what the read tool reads."
                .to_owned(),
            json!({"tool_output_ref": {"type": "string", "description": REF}}),
            json!(["tool_output_ref"]),
        ),
    };
    let mut schema = json!({"type": "object", "properties": properties});
    if required != json!([]) {
        schema["required"] = required;
    }
    json!({
        "name": tools.name(tool),
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "title": title,
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
        },
    })
}
