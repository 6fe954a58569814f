//! `OpenViking`: messages with parts, of which those of the type `tool` hold call and result.
//!
//! Messages with the same `turn_id` are the steps of one turn: each is judged with what stands in
//! those before it, and changes none of them.

use std::collections::BTreeMap;

use super::{Found, Group};
use crate::json::Node;
use crate::part::{ToolPart, field};
use crate::turn::Standing;

pub(super) fn groups<'a>(messages: &[Node<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    // Parts without a message around them are one step.
    let mut alone = None;
    let mut current = None;
    // Where each turn's last results stand, and the results that were judged before.
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    let mut judged = Vec::new();
    for message in messages {
        let fields = message.object();
        let (place, parts) = if fields.is(field::TYPE, "tool") {
            let place = *alone.get_or_insert_with(|| begin(&mut groups, Group::default()));
            (place, vec![message.clone()])
        } else {
            let message_id = fields.text("id").unwrap_or_default();
            let turn_id = fields.text("turn_id").filter(|id| !id.is_empty());
            let id = turn_id.clone().unwrap_or_else(|| message_id.clone());
            let group = Group { id, message_id, turn_id, ..Group::default() };
            let parts = fields.get("parts").map(Node::items).unwrap_or_default();
            (begin(&mut groups, group), parts)
        };
        for object in parts {
            let part: Option<ToolPart> = serde_json::from_str(object.raw()).ok();
            let part = part.filter(|part| part.text(field::TYPE).as_deref() == Some("tool"));
            let Some(part) = part else { continue };
            let Some(result) = part.to_result(false) else { continue };
            let found = Found { object, field: field::OUTPUT, result, is_part: true };
            let group = &mut groups[place];
            group.found.push(found);
            if let Some(turn_id) = &group.turn_id {
                last.insert(turn_id.clone(), place);
            }
            if part.is_judged() {
                judged.push((place, group.found.len() - 1));
            }
        }
        // What a user says does not end a turn; the next assistant message does.
        let is_said = fields.is("role", "user") && groups[place].found.is_empty();
        if current.is_none() || !is_said {
            current = Some(place);
        }
    }
    for (place, index) in judged {
        let Group { turn_id, found, .. } = &mut groups[place];
        let is_last = turn_id.as_ref().is_none_or(|turn_id| last.get(turn_id) == Some(&place));
        let standing = &mut found[index].result.standing;
        if !is_last && *standing == Standing::Raw {
            *standing = Standing::Settled;
        }
    }
    if let Some(place) = current {
        let turn_id = groups[place].turn_id.clone();
        let is_of_turn = |group: &Group<'_>| turn_id.is_some() && group.turn_id == turn_id;
        for group in &mut groups {
            group.is_current = is_of_turn(group);
        }
        groups[place].is_current = true;
    }
    groups.retain(|group| !group.found.is_empty());
    groups
}

fn begin<'a>(groups: &mut Vec<Group<'a>>, group: Group<'a>) -> usize {
    groups.push(group);
    groups.len() - 1
}
