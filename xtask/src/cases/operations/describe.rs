//! `summarize` and `put`: a content is described, and stored.

use serde_json::{Map, Value};

use super::{Answer, Done, Failure, Fields, Kept, Outcome};
use crate::cases::integer::integer;
use crate::cases::run::State;
use crate::cases::subject::{Place, Said, Subject, Told, whole};

/// The session's configuration, as far as it is known by name.
const CONFIG: [&str; 13] = [
    "enabled",
    "threshold_chars",
    "preview_chars",
    "assistant_turn_inline_budget_chars",
    "assistant_turn_preview_budget_chars",
    "min_preview_chars",
    "aggregate_selection_strategy",
    "failure_mode",
    "style",
    "head_lines",
    "tool_prefix",
    "hard_cap_bytes",
    "max_read_chars",
];

pub(super) fn summarize(
    fields: &Fields<'_>,
    step: &Map<String, Value>,
    state: &mut State,
) -> Result<Outcome, String> {
    let content = state.sources.content(fields.value("content").ok_or("`content` is missing")?)?;
    let mime = fields.optional_text("mime")?;
    let tool_name = fields.optional_text("tool_name")?.unwrap_or_default();
    fields.finish()?;
    let told = Told { content: &content, mime, tool_name, session: "s", ..Told::default() };
    let said = Subject::summarize(&told);
    // Nothing is stored for it; that it would come back whole is tried apart from the case.
    let store = Subject::in_memory().map_err(|error| error.to_string())?;
    let mut done = Done::new(Err(String::new().into()));
    let kept =
        store.put(&told).map_err(Failure::from).and_then(|stored| keep(&store, &stored, &told));
    let kept = kept.unwrap_or_else(|failure| {
        done.broken.push(format!("it does not come back whole: {failure}"));
        Kept { identical: false, lossy_reported: false }
    });
    if !kept.identical && done.broken.is_empty() {
        done.broken.push("it does not come back whole".to_owned());
    }
    state.last = Some(step.clone());
    done.answer = Ok(Answer::Said { said: Box::new(said), content, kept });
    Ok(Outcome::Done(done))
}

pub(super) fn put(
    fields: &Fields<'_>,
    step: &Map<String, Value>,
    state: &mut State,
) -> Result<Outcome, String> {
    let content = state.sources.content(fields.value("content").ok_or("`content` is missing")?)?;
    let session = fields.text("session")?;
    let name = fields.optional_text("as")?;
    let config = config(fields)?;
    let told = Told {
        content: &content,
        mime: fields.optional_text("mime")?,
        tool_name: fields.optional_text("tool_name")?.unwrap_or_default(),
        tool_id: fields.optional_text("tool_call_id")?.unwrap_or_default(),
        session,
        hard_cap: config.hard_cap,
        preview_chars: config.preview_chars,
    };
    fields.finish()?;
    let subject = state.subject()?;
    let mut done = Done::new(Err(String::new().into()));
    let answer = subject.put(&told).map_err(Failure::from).map(|said| {
        let kept = keep(subject, &said, &told).unwrap_or_else(|failure| {
            done.broken.push(format!("it does not come back: {failure}"));
            Kept { identical: false, lossy_reported: false }
        });
        let cut = said.receipt.as_ref().is_some_and(|r| r.metadata().not_stored_bytes > 0);
        if !kept.identical && !cut && done.broken.is_empty() {
            done.broken.push("it does not come back whole".to_owned());
        }
        (said, kept)
    });
    let said = answer.as_ref().ok().map(|(said, _)| said.clone());
    if let Some(name) = name {
        if let Some(said) = &said {
            state.sources.stubs.insert(name.to_owned(), said.stub.clone());
        }
        state.results.insert(name.to_owned(), said);
    }
    if !state.sessions.iter().any(|other| other == session) {
        state.sessions.push(session.to_owned());
    }
    state.last = Some(step.clone());
    done.answer = answer.map(|(said, kept)| Answer::Said {
        said: Box::new(said),
        content: content.clone(),
        kept,
    });
    Ok(Outcome::Done(done))
}

/// What of a configuration matters to a put.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) hard_cap: Option<u64>,
    pub(super) preview_chars: Option<i64>,
}

pub(super) fn config(fields: &Fields<'_>) -> Result<Config, String> {
    let Some(config) = fields.value("config") else { return Ok(Config::default()) };
    let config = config.as_object().ok_or("`config` is not an object")?;
    if let Some(name) = config.keys().find(|name| !CONFIG.contains(&name.as_str())) {
        return Err(format!("unknown configuration `{name}`"));
    }
    let hard_cap = config.get("hard_cap_bytes").map(integer).transpose()?;
    let hard_cap = hard_cap.map(u64::try_from).transpose();
    let preview_chars = config.get("preview_chars").map(integer).transpose()?;
    let preview_chars = preview_chars.map(i64::try_from).transpose();
    Ok(Config {
        hard_cap: hard_cap.map_err(|_| "`hard_cap_bytes` is not a size")?,
        preview_chars: preview_chars.map_err(|_| "`preview_chars` is not a count")?,
    })
}

/// Reads everything back, as bytes and as text.
fn keep(subject: &Subject, said: &Said, told: &Told<'_>) -> Result<Kept, Failure> {
    let Some(reference) = said.reference() else {
        return Ok(Kept { identical: false, lossy_reported: false });
    };
    let piece = subject.read(&Place { reference, session: None }, &whole())?;
    Ok(Kept { identical: piece.bytes == told.content, lossy_reported: piece.is_lossy() })
}
