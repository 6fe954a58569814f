//! `turn` and `reapply`: the session's policy at work on a conversation.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolstub_session::{Config, Context, Scope, Shape};

use super::{Answer, Done, Failure, Fields, Outcome};
use crate::cases::run::State;
use crate::cases::subject::Said;

/// A session's messages as they stand, as JSON: one message for each turn.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Value>,
    /// The names that the case gave the parts, turn by turn.
    names: Vec<Vec<String>>,
    config: Config,
}

/// The conversations of a case, by session.
pub(crate) type Conversations = BTreeMap<String, Conversation>;

/// What stands in the messages after a turn, or after the policy went over them again.
#[derive(Debug, Default)]
pub(crate) struct Turned {
    /// The parts of the turn; of a whole conversation where the policy went over it again.
    pub(crate) parts: Vec<TurnedPart>,
    /// The text of every part of the conversation before, and now, by name.
    pub(crate) texts: BTreeMap<String, (String, String)>,
    /// How many results the session has.
    pub(crate) stored: usize,
}

/// One part.
#[derive(Debug)]
pub(crate) struct TurnedPart {
    pub(crate) name: String,
    /// What went in.
    pub(crate) before: String,
    /// What stands there now.
    pub(crate) after: String,
    /// The part's fields.
    pub(crate) fields: Value,
    /// What a read of its ref gives; `None` where it has none.
    pub(crate) readable: Option<Result<bool, String>>,
}

impl TurnedPart {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> &'static str {
        match self.text("tool_output_externalized_reason") {
            "source_read" => "source_read",
            _ if self.fields.get("tool_output_truncated") == Some(&json!(true)) => "externalized",
            _ => "inline",
        }
    }
}

pub(super) fn turn(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    let session = fields.text("session")?.to_owned();
    let config = match fields.value("config") {
        Some(config) => {
            serde_json::from_value(config.clone()).map_err(|error| format!("`config`: {error}"))?
        }
        None => Config::default(),
    };
    let given = fields.value("parts").and_then(Value::as_array).ok_or("`parts` is a list")?.clone();
    fields.finish()?;
    let mut parts = Vec::new();
    let mut names = Vec::new();
    for part in &given {
        let part = part.as_object().ok_or("a part is an object")?;
        let fields = Fields::new(part);
        let name = fields.text("name")?;
        let content =
            state.sources.content(fields.value("content").ok_or("`content` is missing")?)?;
        let content = String::from_utf8(content).map_err(|_| format!("{name} is not UTF-8"))?;
        let mut made = json!({
            "type": "tool",
            "tool_id": fields.text("tool_call_id")?,
            "tool_name": tool_name(fields.text("tool_name")?)?,
            "tool_output": content,
            "tool_status": "completed",
        });
        if let Some(input) = fields.value("tool_input") {
            made["tool_input"] = with_refs(input, state);
        }
        if let Some(mime) = fields.optional_text("mime")? {
            made["tool_output_mime_type"] = json!(mime);
        }
        fields.finish()?;
        names.push(name.to_owned());
        parts.push(made);
    }
    if !state.sessions.contains(&session) {
        state.sessions.push(session.clone());
    }
    let mut conversation = state.conversations.remove(&session).unwrap_or_default();
    let id = format!("m{}", conversation.messages.len());
    conversation.messages.push(json!({"id": id, "role": "assistant", "parts": parts}));
    conversation.names.push(names);
    conversation.config = config;
    let first = conversation.messages.len() - 1;
    Ok(run(session, conversation, first, Scope::LastTurn, state))
}

pub(super) fn reapply(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    let session = fields.text("session")?.to_owned();
    fields.finish()?;
    let conversation =
        state.conversations.remove(&session).ok_or("the session has no turn before")?;
    Ok(run(session, conversation, 0, Scope::EveryTurn, state))
}

/// Runs the policy over a conversation and tells of the messages from `first` on.
fn run(
    session: String,
    mut conversation: Conversation,
    first: usize,
    scope: Scope,
    state: &mut State,
) -> Outcome {
    let before = std::mem::take(&mut conversation.messages);
    let json = Value::from(before.clone()).to_string();
    let context = Context { scope, ..Context::default() };
    let subject = match state.subject() {
        Ok(subject) => subject,
        Err(error) => return Outcome::Misread(error),
    };
    let done = subject.converse(&session, &conversation.config, &json, Shape::OpenViking, &context);
    let (answer, after) = match done {
        Ok(messages) => match serde_json::from_str::<Vec<Value>>(&messages) {
            Ok(after) => (Ok(()), after),
            Err(error) => return Outcome::Misread(format!("it wrote no messages: {error}")),
        },
        Err(error) => (Err(Failure::from(error)), before.clone()),
    };
    let mut turned = Turned::default();
    let mut results = Vec::new();
    for (index, names) in conversation.names.iter().enumerate() {
        for (place, name) in names.iter().enumerate() {
            let text = |messages: &[Value]| {
                let text = messages[index]["parts"][place]["tool_output"].as_str();
                text.unwrap_or_default().to_owned()
            };
            let (before, after_text) = (text(&before), text(&after));
            turned.texts.insert(name.clone(), (before.clone(), after_text.clone()));
            if index < first {
                continue;
            }
            let fields = after[index]["parts"][place].clone();
            let mut part = TurnedPart {
                name: name.clone(),
                before,
                after: after_text,
                fields,
                readable: None,
            };
            let reference = part.text("tool_output_ref").to_owned();
            if !reference.is_empty() {
                let said = subject.said(&reference, &part.after);
                // Only what was put out just now has its original here to compare with.
                let fresh = part.before != part.after && part.state() == "externalized";
                part.readable = Some(match &said {
                    Ok((_, whole)) => Ok(!fresh || *whole == part.before.as_bytes()),
                    Err(error) => Err(error.to_string()),
                });
                if let Ok((said, _)) = said {
                    results.push((name.clone(), said));
                }
            }
            turned.parts.push(part);
        }
    }
    turned.stored = subject.list(&session).map_or(0, |records| records.len());
    for (name, said) in results {
        remember(name, said, state);
    }
    conversation.messages = after;
    state.conversations.insert(session, conversation);
    let mut done = Done::new(answer.map(|()| Answer::Nothing));
    if done.answer.is_ok() {
        for part in &turned.parts {
            match &part.readable {
                Some(Ok(true)) | None => {}
                Some(Ok(false)) => done.broken.push(format!("{} does not come back", part.name)),
                Some(Err(error)) => done.broken.push(format!("{} is not read: {error}", part.name)),
            }
        }
        done.answer = Ok(Answer::Turned(Box::new(turned)));
    }
    Outcome::Done(done)
}

fn remember(name: String, said: Said, state: &mut State) {
    state.sources.stubs.insert(name.clone(), said.stub.clone());
    state.results.insert(name, Some(said));
}

/// A tool's name; the retrieval tools' stand in capitals.
fn tool_name(name: &str) -> Result<String, String> {
    match name {
        "$READ" => Ok("openviking_tool_result_read".to_owned()),
        "$SEARCH" => Ok("openviking_tool_result_search".to_owned()),
        "$LIST" => Ok("openviking_tool_result_list".to_owned()),
        name if name.starts_with('$') => Err(format!("unknown tool `{name}`")),
        name => Ok(name.to_owned()),
    }
}

/// A call's input, with refs in place of the names of earlier results.
fn with_refs(input: &Value, state: &State) -> Value {
    let mut input = input.clone();
    for field in ["ref", "tool_output_ref", "uri"] {
        let Some(value) = input.get_mut(field) else { continue };
        let said = value.as_str().and_then(|name| state.results.get(name)?.as_ref());
        if let Some(reference) = said.and_then(Said::reference) {
            *value = json!(reference);
        }
    }
    input
}
