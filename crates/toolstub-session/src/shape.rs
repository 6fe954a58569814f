//! The shapes that hosts' messages have, and where tool results stand in each.

mod anthropic;
mod mcp;
mod openai_chat;
mod openai_responses;
mod openviking;

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::json::Node;
use crate::turn::{Call, Standing, ToolResult};

/// The shape of messages. Only the texts that tools returned are ever touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Anthropic's messages: `tool_result` blocks.
    Anthropic,
    /// `OpenAI`'s chat messages: `role` `tool`.
    OpenAiChat,
    /// `OpenAI`'s response items: `function_call_output`.
    OpenAiResponses,
    /// `OpenViking`'s messages: `tool` parts.
    OpenViking,
    /// One MCP `CallToolResult`. The call that it answers is not in it: give it beside.
    Mcp,
}

/// A text that a tool returned, where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Found<'a> {
    /// The object that holds it.
    pub(crate) object: Node<'a>,
    /// The name of the field that is the text.
    pub(crate) field: &'static str,
    /// What it is, with the call that it answers.
    pub(crate) result: ToolResult,
    /// Whether the object has fields that tell of a stub.
    pub(crate) is_part: bool,
}

/// The texts that answer one assistant message, or what one of its messages holds of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group<'a> {
    pub(crate) id: String,
    pub(crate) message_id: String,
    /// What the groups have in common that are steps of one turn, if it may have several.
    pub(crate) turn_id: Option<String>,
    pub(crate) found: Vec<Found<'a>>,
    /// Whether it is of the last turn.
    pub(crate) is_current: bool,
}

/// Finds what tools returned, turn by turn.
///
/// `fallback` is the call that a result answers where the messages have none for it.
pub(crate) fn groups<'a>(shape: Shape, root: &Node<'a>, fallback: &Call) -> Vec<Group<'a>> {
    match shape {
        Shape::Anthropic => anthropic::groups(&messages(root, "messages"), fallback),
        Shape::OpenAiChat => openai_chat::groups(&messages(root, "messages"), fallback),
        Shape::OpenAiResponses => openai_responses::groups(&messages(root, "input"), fallback),
        Shape::OpenViking => openviking::groups(&messages(root, "messages")),
        Shape::Mcp => mcp::groups(root, fallback),
    }
}

/// The messages in a list of them, in a request that holds such a list, or the one that stands alone.
fn messages<'a>(root: &Node<'a>, name: &str) -> Vec<Node<'a>> {
    if root.raw().starts_with('[') {
        return root.items();
    }
    match root.object().get(name) {
        Some(list) if list.raw().starts_with('[') => list.items(),
        _ => vec![root.clone()],
    }
}

/// Calls as they come by, and the results that answer them, in groups by turn.
#[derive(Debug, Default)]
struct Turns<'a> {
    calls: HashMap<String, Call>,
    groups: BTreeMap<usize, Group<'a>>,
    turn: usize,
    fallback: Call,
}

impl<'a> Turns<'a> {
    fn new(fallback: &Call) -> Self {
        Self { fallback: fallback.clone(), ..Self::default() }
    }

    /// Begins the turn of the next assistant message.
    fn begin(&mut self) {
        self.turn += 1;
    }

    fn call(&mut self, call: Call) {
        self.calls.insert(call.id.clone(), call);
    }

    /// The last call with an id, or what is known of one that nobody made.
    fn answered(&self, id: Option<String>, name: Option<String>) -> Call {
        let id = id.unwrap_or_default();
        if let Some(call) = self.calls.get(&id) {
            return call.clone();
        }
        let mut call = self.fallback.clone();
        if !id.is_empty() {
            call.id = id;
        }
        if let Some(name) = name {
            call.name = name;
        }
        call
    }

    /// Notes the field of an object, if it is a text.
    fn text(
        &mut self,
        answered: &Call,
        object: &Node<'a>,
        field: &'static str,
        mime_type: Option<String>,
    ) {
        let Some(text) = object.object().text(field) else { return };
        let result = ToolResult {
            call: answered.clone(),
            content: Bytes::from(text),
            mime_type,
            standing: Standing::Untold,
        };
        let found = Found { object: object.clone(), field, result, is_part: false };
        self.groups.entry(self.turn).or_default().found.push(found);
    }

    /// Notes a field that is a text, or a list of blocks of which some types have one.
    fn text_or_blocks(
        &mut self,
        answered: &Call,
        object: &Node<'a>,
        field: &'static str,
        types: &[&str],
    ) {
        let Some(value) = object.object().get(field).cloned() else { return };
        if value.raw().starts_with('"') {
            return self.text(answered, object, field, None);
        }
        for block in value.items() {
            let fields = block.object();
            if types.iter().any(|word| fields.is("type", word)) {
                self.text(answered, &block, "text", None);
            }
        }
    }

    fn finish(mut self) -> Vec<Group<'a>> {
        if let Some(group) = self.groups.get_mut(&self.turn) {
            group.is_current = true;
        }
        self.groups.into_values().collect()
    }
}
