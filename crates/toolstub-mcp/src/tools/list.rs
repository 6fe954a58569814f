//! Listing the results of a session.

use std::fmt::Write as _;

use toolstub_core::text::clean;
use toolstub_core::{Metadata, Ref, SessionId};
use toolstub_store::{ListRequest, Listed};

use super::arguments::{self, Arguments};
use super::{Answer, Problem, Reach, Tool, Tools, bare_ref, count, with_last_line};

/// What stands in an answer beside the entries, in characters.
const FRAME: u64 = 1000;
/// The longest tool name and title, in characters.
const MAX_NAME: usize = 100;
const MAX_TITLE: usize = 160;
/// How many other sessions are named, and how many are looked at for that.
const MAX_OTHERS: usize = 10;
const MAX_LOOKED_AT: usize = 40;

pub(super) async fn list(tools: &Tools, arguments: &Arguments) -> Result<Answer, Problem> {
    let session = session(tools, arguments)?;
    let store = tools.store.session(session.clone());
    let mut request = ListRequest {
        tool_name: arguments.text(arguments::TOOL_NAME)?,
        limit: arguments.integer(arguments::LIMIT, 50)?,
        cursor: arguments.word(arguments::CURSOR)?,
        ..ListRequest::default()
    };
    if let Some(cursor) = request.cursor.as_deref().filter(|cursor| !is_cursor(cursor)) {
        let cursor = clean(cursor, MAX_NAME);
        return Err(Problem(format!(
            "cursor is `{cursor}`; give the next_cursor that an earlier answer ended with, or leave it \
             out to begin at the first"
        )));
    }
    let problem = |error| tools.problem(&error);
    let mut listed = store.list(&request).await.map_err(problem)?;
    let (mut entries, mut shown) = entries(tools, &listed, tools.max_chars.saturating_sub(FRAME));
    if shown < listed.records.len() {
        // The cursor behind what is shown is that of a page as long.
        request.limit = shown.max(1) as i128;
        listed = store.list(&request).await.map_err(problem)?;
        (entries, shown) = self::entries(tools, &listed, u64::MAX);
    }

    let named = clean(session.as_str(), MAX_NAME);
    let of_tool = request
        .tool_name
        .as_deref()
        .map_or_else(String::new, |name| format!(" of the tool \"{}\"", clean(name, MAX_NAME)));
    let mut text = match shown {
        0 if request.cursor.is_some() => "No further tool result is stored.\n".to_owned(),
        0 => {
            let own = clean(tools.session.as_str(), MAX_NAME);
            let more = if session == tools.session {
                let others = if request.tool_name.is_none() { others(tools).await } else { None };
                others.unwrap_or_default()
            } else {
                format!(" Refs name their session; without session, those of \"{own}\" are listed.")
            };
            format!("No tool result{of_tool} is stored in the session \"{named}\".{more}\n")
        }
        _ => {
            let what = if shown == 1 { "tool result" } else { "tool results" };
            let read = tools.name(Tool::Read);
            format!("{shown} {what}{of_tool} of the session \"{named}\"; read one with {read}.\n")
        }
    };
    text.push_str(&entries);
    if listed.unreadable > 0 {
        let _ = writeln!(text, "\n[{} more are damaged and left out]", listed.unreadable);
    }
    text.truncate(text.trim_end_matches('\n').len());
    let line = listed.next_cursor.map(|cursor| format!("\n\n[next_cursor: {cursor}]"));
    Ok(Answer::new(with_last_line(text, &line.unwrap_or_default(), tools.max_chars)))
}

/// The entries that there is room for, and how many they are.
fn entries(tools: &Tools, listed: &Listed, room: u64) -> (String, usize) {
    let (mut text, mut chars, mut shown) = (String::new(), 0, 0);
    for record in &listed.records {
        let entry = entry(tools, shown + 1, record);
        chars += count(&entry);
        if chars > room {
            break;
        }
        text.push_str(&entry);
        shown += 1;
    }
    (text, shown)
}

fn entry(tools: &Tools, number: usize, record: &Metadata) -> String {
    let name = clean(&record.tool_name, MAX_NAME);
    let name = if name.is_empty() { "tool" } else { &name };
    let Metadata { synopsis_kind, original_chars, created_at, storage_uri, .. } = record;
    let reference = storage_uri.parse().map(|reference| tools.refs.uri(&reference));
    let reference = reference.unwrap_or_else(|_| storage_uri.clone());
    let created_at = clean(created_at, MAX_NAME);
    let mut entry = format!(
        "\n{number}. {name}: {synopsis_kind}, {original_chars} characters, {created_at}\n   ref: {reference}\n"
    );
    let title = clean(&record.synopsis.title, MAX_TITLE);
    if !title.is_empty() {
        let _ = writeln!(entry, "   {title}");
    }
    entry
}

/// The sessions that have results, where the own one has none: a stub of theirs may be what is sought.
async fn others(tools: &Tools) -> Option<String> {
    if tools.reach == Reach::Session {
        return None;
    }
    // That they cannot be told is no reason to tell nothing.
    let (sessions, mut more) = tools.store.sessions(MAX_LOOKED_AT).await.ok()?;
    let mut others = String::new();
    let mut named = 0;
    for session in sessions.iter().filter(|session| **session != tools.session) {
        if named == MAX_OTHERS {
            more = true;
            break;
        }
        if tools.store.has_results(session).await.unwrap_or_default() {
            let _ = write!(others, "\n- {}", session.encoded());
            named += 1;
        }
    }
    if named == 0 {
        return None;
    }
    let rest = if more { "\n- and others" } else { "" };
    let what = if named == 1 { "Another session has" } else { "Other sessions have" };
    Some(format!(" {what} some; to list them, give its name as session:{others}{rest}"))
}

/// Whether a text may be where a page of a listing ended: each ends behind the id of a result.
fn is_cursor(text: &str) -> bool {
    text.rsplit('/').next().is_some_and(|id| id.starts_with("tr_"))
}

/// The session to list: the one named, or that of a ref, or the tools' own.
fn session(tools: &Tools, arguments: &Arguments) -> Result<SessionId, Problem> {
    let given = match arguments.text(arguments::SESSION)? {
        Some(given) => Some(given),
        None => arguments.text(arguments::REF)?.filter(|given| given.contains("://")),
    };
    let Some(given) = given else { return Ok(tools.session.clone()) };
    let named = if given.contains("://") {
        let named = bare_ref(&given).parse::<Ref>();
        named.map(|named| named.session().clone())
    } else {
        // Refs name sessions in their encoded form.
        let given = given.trim();
        SessionId::from_encoded(given).map_or_else(|| SessionId::new(given), Ok)
    };
    let named = named.map_err(|error| {
        Problem(format!(
            "{error}; give the session's id as a ref names it, or leave session out for this one"
        ))
    })?;
    if tools.reach == Reach::Session && named != tools.session {
        let text = "only this session's results can be listed; leave session out";
        return Err(Problem(text.to_owned()));
    }
    Ok(named)
}
