//! Finding a text in a result.

use std::fmt::Write as _;

use toolstub_core::text::sample_escape;
use toolstub_store::{SearchMode, SearchRequest};

use super::arguments::{self, Arguments};
use super::read::{go_on, reads_as_ours};
use super::{Answer, Problem, Tool, Tools, count, cut, with_last_line};

/// The most matches of one answer.
const MAX_MATCHES: i128 = 1000;
/// How much of a query is told, in characters.
const MAX_QUERY: u64 = 100;
/// What stands in an answer beside the matches, in characters.
const FRAME: u64 = 500;
/// What stands in a match beside its context: its heading, and the most of what is shown of it.
const MATCH: u64 = 1100;

/// A query as it was looked for: blanks at its ends count, and what would break the line is escaped.
fn escaped(query: &str) -> String {
    let mut shown = String::new();
    for c in cut(query, MAX_QUERY).chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            c => match sample_escape(c) {
                Some(escaped) => shown.push_str(&escaped),
                None => shown.push(c),
            },
        }
    }
    if count(query) > MAX_QUERY {
        shown.push('…');
    }
    shown
}

pub(super) async fn search(tools: &Tools, arguments: &Arguments) -> Result<Answer, Problem> {
    let (store, reference) = tools.reference(arguments)?;
    let Some(query) = arguments.raw_text(arguments::QUERY)? else {
        return Err(Problem("query is missing; give the text to find".to_owned()));
    };
    let room = tools.max_chars.saturating_sub(FRAME);
    let context = i128::from(room.saturating_sub(MATCH) / 2);
    let offset = arguments.integer(arguments::OFFSET, 0)?;
    let request = SearchRequest {
        mode: if arguments.flag(arguments::REGEX)? {
            SearchMode::Regex
        } else {
            SearchMode::Literal
        },
        ignore_case: arguments.flag(arguments::IGNORE_CASE)?,
        offset,
        limit: arguments.integer(arguments::LIMIT, 20)?.min(MAX_MATCHES),
        context_chars: arguments.integer(arguments::CONTEXT_CHARS, 300)?.min(context),
        ..SearchRequest::new(query.as_str())
    };
    let found = store.search(&reference, &request).await.map_err(|error| tools.problem(&error))?;

    let (mut matches, mut chars, mut shown) = (String::new(), 0, 0);
    for found in &found.matches {
        let head =
            format!("\n## Match {}: offset {}, line {}\n", shown + 1, found.offset, found.line);
        let snippet = found.snippet.trim_end_matches('\n');
        let length = count(&head) + count(snippet) + 1;
        if chars + length > room {
            if shown > 0 {
                break;
            }
            let snippet = cut(snippet, room.saturating_sub(count(&head) + 1));
            let _ = writeln!(matches, "{head}{snippet}");
            shown = 1;
            break;
        }
        let _ = writeln!(matches, "{head}{snippet}");
        (chars, shown) = (chars + length, shown + 1);
    }
    let next_offset = found.matches.get(shown).map_or(found.next_offset, |next| next.offset);
    let has_more = found.has_more || shown < found.matches.len();

    let query = escaped(&query);
    let from = if offset > 0 { format!(" from offset {offset} on") } else { String::new() };
    let mut text = match shown {
        0 if has_more => format!("No match for \"{query}\"{from} so far.\n"),
        0 => format!(
            "No match for \"{query}\"{from}. {}\n",
            if request.ignore_case || request.mode == SearchMode::Regex {
                "Try a shorter query."
            } else {
                "Try a shorter query, ignore_case or regex."
            }
        ),
        1 => format!("1 match for \"{query}\"{from}"),
        _ => format!("{shown} matches for \"{query}\"{from}"),
    };
    if shown > 0 {
        let more = if has_more { ", and there is more" } else { "" };
        let read = tools.name(Tool::Read);
        let _ = writeln!(text, "{more}. Read around one with {read} at its offset.");
    }
    text.push_str(&matches);
    if !found.complete && !has_more {
        text.push_str(
            "\n[the pattern prefers longer matches than are looked for; some may be missing]\n",
        );
    }
    text.truncate(text.trim_end_matches('\n').len());
    let mut line = String::new();
    if has_more {
        let metadata = store.metadata(&reference).await.map_err(|error| tools.problem(&error))?;
        line = go_on(next_offset, metadata.original_chars);
    } else if reads_as_ours(&text) {
        line.push_str("\n[end: there are no more matches]");
    }
    Ok(Answer::new(with_last_line(text, &line, tools.max_chars)))
}
