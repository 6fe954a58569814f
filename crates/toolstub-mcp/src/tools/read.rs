//! Reading a range of a result.

use std::borrow::Cow;
use std::fmt::Write as _;

use toolstub_core::OffsetUnit;
use toolstub_core::text::clean;
use toolstub_store::{Piece, ReadRequest, Selector};

use super::arguments::{self, Arguments};
use super::{Answer, PieceRange, Problem, Tools, count, cut};

/// How much of the names of a table's columns is told, in characters.
const MAX_COLUMNS: usize = 2000;
/// How the lines begin that answers add to what a tool returned, or give in its place.
const OURS: [&str; 7] = [
    "[next_offset:",
    "[next_cursor:",
    "[end:",
    "[columns:",
    "[bytes that are not UTF-8",
    "[the tool result is empty]",
    "[nothing is at offset",
];
const LOSSY: &str = "\n[bytes that are not UTF-8 are shown as U+FFFD]";

pub(super) async fn read(tools: &Tools, arguments: &Arguments) -> Result<Answer, Problem> {
    let (store, reference) = tools.reference(arguments)?;
    check_unit(arguments)?;
    let offset = arguments.integer(arguments::OFFSET, 0)?;
    let limit = arguments.integer(arguments::LIMIT, tools.read_chars.into())?;
    let limit = match limit {
        // Its end would be its beginning: whoever goes on from there never comes to an end.
        0 => {
            return Err(Problem(
                "limit 0 asks for nothing; give how many characters to read, or -1 for as many as an \
                 answer holds"
                    .to_owned(),
            ));
        }
        -1 => tools.max_chars.into(),
        // One that makes no sense is told so by the store.
        limit => limit.min(tools.max_chars.into()),
    };
    let request = ReadRequest { offset, limit, ..ReadRequest::default() };
    let piece = match selector(tools, arguments)? {
        Some(selector) => store.read_selected(&reference, &selector, &request).await,
        None => store.read(&reference, &request).await,
    };
    let piece = piece.map_err(|error| tools.problem(&error))?;
    Ok(tell(&piece, tools.max_chars))
}

/// Offsets and limits count characters, whatever a model is used to.
fn check_unit(arguments: &Arguments) -> Result<(), Problem> {
    let Some(unit) = arguments.word(arguments::UNIT)? else { return Ok(()) };
    match unit.parse() {
        Ok(OffsetUnit::UnicodeCodePoint) => Ok(()),
        Err(_) if unit.to_ascii_lowercase().starts_with("char") => Ok(()),
        _ => Err(Problem(
            "offset and limit count characters; leave unit out, and for lines give lines, such as \
             40-80"
                .to_owned(),
        )),
    }
}

fn selector(tools: &Tools, arguments: &Arguments) -> Result<Option<Selector>, Problem> {
    let pointer = arguments.word(arguments::POINTER)?;
    let rows = arguments.word(arguments::ROWS)?;
    let lines = arguments.word(arguments::LINES)?;
    let selector = match (pointer, rows, lines) {
        (None, None, None) => return Ok(None),
        (Some(pointer), None, None) => Selector::pointer(&pointer),
        (None, Some(rows), None) => Selector::rows(&rows),
        (None, None, Some(lines)) => Selector::lines(&lines),
        _ => return Err(Problem("give one of lines, rows and pointer".to_owned())),
    };
    selector.map(Some).map_err(|error| tools.problem(&error))
}

/// The piece, and behind it what is to be known of it, in so many characters at most.
fn tell(piece: &Piece, max_chars: u64) -> Answer {
    let content = piece.content();
    let total = piece.total_chars;
    let mut notes = String::new();
    if let Some(columns) = piece.selection.as_ref().and_then(|part| part.columns.as_ref()) {
        let columns = clean(&columns.join(", "), MAX_COLUMNS.min(max_chars as usize / 4));
        notes = format!("\n[columns: {columns}]");
    }
    if piece.is_lossy() {
        notes.push_str(LOSSY);
    }

    let shown = count(&content);
    let mut range = PieceRange {
        offset: piece.offset,
        next_offset: piece.next_offset,
        total_chars: total,
        has_more: piece.has_more,
    };
    // The last line is not longer than one that names the end. Where there is no room for it, there is for
    // one character at least: whoever goes on comes to the end.
    let line = count(&go_on(total, total)) + count(&notes);
    let room = max_chars.saturating_sub(line).max(1);
    let is_odd = reads_as_ours(&content);
    let content = if shown > room && (piece.has_more || is_odd || shown + count(&notes) > max_chars)
    {
        range.next_offset = piece.offset + room;
        range.has_more = true;
        Cow::Borrowed(cut(&content, room))
    } else {
        content
    };

    let mut text = content.into_owned();
    if text.is_empty() && !range.has_more {
        text = if total == 0 {
            "[the tool result is empty]".to_owned()
        } else {
            format!("[nothing is at offset {}: it ends at {total}]", piece.offset)
        };
    }
    let mut line = notes;
    if range.has_more {
        line.push_str(&go_on(range.next_offset, total));
    } else if is_odd {
        let _ = write!(line, "\n[end: {total} of {total}]");
    }
    text.push_str(&line);
    text.truncate(cut(&text, max_chars).len());
    Answer { text, is_error: false, range: Some(range) }
}

/// Whether what a tool returned ends in a line that could be one of an answer's own.
pub(super) fn reads_as_ours(text: &str) -> bool {
    let last = text.trim_end().rsplit('\n').next().unwrap_or_default().trim_start();
    OURS.iter().any(|begin| last.starts_with(begin))
}

/// The last line of an answer that is not the end.
pub(super) fn go_on(next_offset: u64, total_chars: u64) -> String {
    format!("\n[next_offset: {next_offset} of {total_chars}]")
}
