//! `OpenViking`: messages with parts, of which those of the type `tool` hold call and result.

use std::collections::BTreeMap;

use super::{Found, Group};
use crate::json::Node;
use crate::part::{ToolPart, field};

pub(super) fn groups<'a>(messages: &[Node<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    // A turn may be spread over messages that carry its id.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    // Parts without a message around them are one turn.
    let mut alone = None;
    let mut current = None;
    for message in messages {
        let fields = message.object();
        let (place, parts) = if fields.is(field::TYPE, "tool") {
            let place = *alone.get_or_insert_with(|| begin(&mut groups, Group::default()));
            (place, vec![message.clone()])
        } else {
            let message_id = fields.text("id").unwrap_or_default();
            let turn_id = fields.text("turn_id").filter(|id| !id.is_empty());
            let id = turn_id.clone().unwrap_or_else(|| message_id.clone());
            let group = Group { id: id.clone(), message_id, ..Group::default() };
            let place = match turn_id {
                Some(_) => *places.entry(id).or_insert_with(|| begin(&mut groups, group)),
                None => begin(&mut groups, group),
            };
            (place, fields.get("parts").map(Node::items).unwrap_or_default())
        };
        // What a user says does not end a turn; the next assistant message does.
        if current.is_none() || !fields.is("role", "user") {
            current = Some(place);
        }
        for object in parts {
            let part: Option<ToolPart> = serde_json::from_str(object.raw()).ok();
            let part = part.filter(|part| part.text(field::TYPE).as_deref() == Some("tool"));
            if let Some(result) = part.and_then(|part| part.to_result(false)) {
                let found = Found { object, field: field::OUTPUT, result, is_part: true };
                groups[place].found.push(found);
            }
        }
    }
    if let Some(place) = current {
        groups[place].is_current = true;
    }
    groups.retain(|group| !group.found.is_empty());
    groups
}

fn begin<'a>(groups: &mut Vec<Group<'a>>, group: Group<'a>) -> usize {
    groups.push(group);
    groups.len() - 1
}
