//! Messages in the shapes of hosts: the results of the last turn, or of every turn.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::externalize::Earlier;
use crate::json::{Edit, Node, edit_text, edit_value};
use crate::part::{ToolPart, marks};
use crate::shape::{Group, Shape, groups};
use crate::turn::{Call, Externalized, Outcome, Owner, Turn};
use crate::{Session, SessionError};

/// What is known of messages beside what stands in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// Which turns may be changed.
    pub scope: Scope,
    /// What the results belong to.
    pub owner: Owner,
    /// The call that a result answers where no message has it: always for [`Shape::Mcp`].
    pub call: Call,
}

/// Which turns of a conversation may be changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The last, for a host that keeps what is returned: what answers the last assistant message.
    /// Earlier messages stay, byte for byte.
    #[default]
    LastTurn,
    /// Each by itself, for a host that keeps its messages raw and has them shortened each time: what a
    /// turn becomes does not depend on what came after it.
    EveryTurn,
}

/// The turn that tool parts are of, and the message that holds them.
///
/// A `&str` is both: the id of a message whose turn has no other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The turn's id: what the parts' group is called.
    pub turn_id: &'a str,
    /// The message's id, for the records of what is stored.
    pub message_id: &'a str,
}

impl<'a> From<&'a str> for Place<'a> {
    fn from(id: &'a str) -> Self {
        Self { turn_id: id, message_id: id }
    }
}

/// Messages with stubs in them, and what became of what.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed<T> {
    /// The messages.
    pub messages: T,
    /// What became of each turn that may have been changed, in order.
    pub turns: Vec<Externalized>,
}

impl<T> Changed<T> {
    /// What became of each result, in order.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.turns.iter().flat_map(|turn| &turn.outcomes)
    }
}

impl Session {
    /// Puts stubs into messages that are JSON text: a list of messages, one message, or a request that
    /// holds a list. Everything but what is replaced stays as it is written, byte for byte.
    pub async fn externalize_json(
        &self,
        shape: Shape,
        json: &str,
        context: &Context,
    ) -> Result<Changed<String>, SessionError> {
        let root = Node::parse(json)?;
        let (edits, turns) = self.externalize_groups(shape, &root, context).await?;
        Ok(Changed { messages: edit_text(json, &edits), turns })
    }

    /// [`externalize_json`](Self::externalize_json) for a value: it is changed in place, and only where
    /// text is replaced. Where there is an error, it is not changed.
    pub async fn externalize_value(
        &self,
        shape: Shape,
        messages: &mut Value,
        context: &Context,
    ) -> Result<Vec<Externalized>, SessionError> {
        let json = messages.to_string();
        let root = Node::parse(&json)?;
        let (edits, turns) = self.externalize_groups(shape, &root, context).await?;
        edit_value(messages, &edits);
        Ok(turns)
    }

    /// Puts stubs into the tool parts of one message. `earlier` are those of the earlier steps of its
    /// turn: they count, and stay.
    pub async fn externalize_parts(
        &self,
        place: impl Into<Place<'_>>,
        earlier: &[ToolPart],
        parts: &mut [ToolPart],
        owner: Owner,
    ) -> Result<Externalized, SessionError> {
        let Place { turn_id, message_id } = place.into();
        let earlier = earlier.iter().filter_map(|part| part.to_result(true)).collect();
        let (mut changed, mut results) = (Vec::new(), Vec::new());
        for part in parts {
            if let Some(result) = part.to_result(false) {
                results.push(result);
                changed.push(part);
            }
        }
        let (id, message_id) = (turn_id.to_owned(), message_id.to_owned());
        let turn = Turn { id, message_id, owner, results };
        let done = self.externalize_after(&earlier, &turn).await?;
        if self.config().enabled {
            for ((part, outcome), result) in
                changed.into_iter().zip(&done.outcomes).zip(&turn.results)
            {
                for (name, value) in marks(result.standing, outcome, &done, self.refs()) {
                    match value {
                        Some(value) => part.set(name, value),
                        None => part.remove(name),
                    }
                }
            }
        }
        Ok(done)
    }

    async fn externalize_groups<'a>(
        &self,
        shape: Shape,
        root: &Node<'a>,
        context: &Context,
    ) -> Result<(Vec<Edit<'a>>, Vec<Externalized>), SessionError> {
        let mut groups = groups(shape, root, &context.call);
        if context.scope == Scope::LastTurn {
            groups.retain(|group| group.is_current);
        }
        let (mut edits, mut turns) = (Vec::new(), Vec::new());
        // What stands in the earlier steps of the turns that have several.
        let mut steps: BTreeMap<String, (Earlier, Owner)> = BTreeMap::new();
        for group in groups {
            let Group { id, message_id, turn_id, found, .. } = group;
            let before = turn_id.as_ref().and_then(|turn| steps.remove(turn));
            let (mut earlier, owner) =
                before.unwrap_or_else(|| (Earlier::default(), context.owner.clone()));
            let results = found.iter().map(|found| found.result.clone()).collect();
            let turn = Turn { id, message_id, owner: owner.clone(), results };
            let done = self.externalize_after(&earlier, &turn).await?;
            for (found, outcome) in found.iter().zip(&done.outcomes) {
                let edit = |name: &str, value| Edit {
                    object: found.object.clone(),
                    name: name.to_owned(),
                    value,
                };
                if found.is_part && self.config().enabled {
                    let marks = marks(found.result.standing, outcome, &done, self.refs());
                    edits.extend(marks.into_iter().map(|(name, value)| edit(name, value)));
                } else if let Outcome::Replaced(replacement) = outcome {
                    edits.push(edit(found.field, Some(Value::from(replacement.stub.as_str()))));
                }
            }
            if let Some(turn_id) = turn_id {
                earlier.add(&turn.results, &done.outcomes);
                // A turn whose event is made has one.
                let owner = done.event.clone().map_or(owner, Owner::Event);
                steps.insert(turn_id, (earlier, owner));
            }
            turns.push(done);
        }
        Ok((edits, turns))
    }
}
