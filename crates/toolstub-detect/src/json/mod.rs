//! JSON: one value, JSON Lines, or values one after another.

mod bytes;
mod machine;
mod outline;
#[cfg(test)]
mod tests;

use toolstub_core::text::is_white_space;
use toolstub_core::utf8;

use self::bytes::skip_white_space;
use self::machine::{Events, Machine, Pause, Silence};
use self::outline::Outline;
use crate::census::{self, Census};
use crate::distinct::Count;
use crate::media_type::MediaType;

/// The evidence of JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Json {
    /// The outline of the first value.
    pub root: Node,
    /// The first scalars below the root in source order: path (`a.b[0].c`) and value as written.
    pub scalars: Vec<(String, String)>,
    /// Characters after the first value, white space at their ends removed.
    pub trailing_chars: u64,
    /// How many whole values there are, if the content is several values and nothing else.
    pub values: Option<u64>,
    /// Whether the last of several values is cut off.
    pub cut_off: bool,
    /// Top-level keys beyond the distinct ones.
    pub duplicate_keys: u64,
}

/// The outline of a value, two levels deep.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An object: its distinct keys, and the first of them with their values.
    Object(Count, Vec<(String, Node)>),
    /// An array: its length, and the first items.
    Array(u64, Vec<Node>),
    /// A string.
    String,
    /// A number; `NaN` and `Infinity` too.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

/// The share of the content that its leading values must cover, if more follows that is not JSON:
/// one in so many bytes.
const COVERED: usize = 10;

pub(crate) fn scan(content: &[u8], census: &Census, declared: MediaType) -> Option<Json> {
    let start = start_of(content);
    let body = &content[start..];
    if declared != MediaType::Json && !matches!(body.first(), Some(b'{' | b'[')) {
        return None;
    }
    let mut outline = Outline::default();
    let mut at = 0;
    if !read_value(body, &mut at, &mut outline) {
        return None;
    }
    let mut json = outline.finish()?;
    let first_end = at;
    let end = trimmed_len(body);
    if first_end >= end {
        return Some(json);
    }
    let rest = Rest::read(body, first_end);
    if rest.only_values {
        json.values = Some(1 + rest.values);
        json.cut_off = rest.cut_off;
    } else if declared != MediaType::Json && rest.end.saturating_mul(COVERED) < end {
        return None;
    }
    let trailing = trim(&body[first_end..end]);
    let single_bytes = census.chars == census.bytes && census.is_utf8();
    json.trailing_chars =
        if single_bytes { trailing.len() as u64 } else { census::count_chars(trailing) };
    Some(json)
}

/// Reads one value at `body[*at..]`; false if there is none.
fn read_value<E: Events>(body: &[u8], at: &mut usize, events: &mut E) -> bool {
    let mut machine = Machine::new();
    loop {
        match machine.run(body, at, 0, events) {
            Pause::Complete => return true,
            Pause::Refused => return false,
            Pause::Piece => return machine.ends_here(events),
            Pause::Unwanted => {
                let floor = machine.depth() - 1;
                if machine.run(body, at, floor, &mut Silence) != Pause::Complete {
                    return false;
                }
                events.close();
                if floor == 0 {
                    return true;
                }
            }
        }
    }
}

/// What follows the first value.
struct Rest {
    /// Whole values.
    values: u64,
    /// Whether nothing but values follows.
    only_values: bool,
    /// Whether the last value is cut off.
    cut_off: bool,
    /// Where the last whole value ends.
    end: usize,
}

impl Rest {
    fn read(body: &[u8], mut at: usize) -> Self {
        let mut rest = Self { values: 0, only_values: true, cut_off: false, end: at };
        let mut machine = Machine::new();
        loop {
            at = skip_white_space(body, at);
            if at == body.len() {
                return rest;
            }
            machine.restart();
            match machine.run(body, &mut at, 0, &mut Silence) {
                Pause::Complete => {}
                Pause::Piece if machine.ends_here(&mut Silence) => {}
                Pause::Piece => {
                    // A line that was cut begins like the lines before it; a word does not.
                    let begins = skip_white_space(body, rest.end);
                    rest.cut_off = matches!(body[begins], b'{' | b'[');
                    rest.only_values = rest.cut_off;
                    return rest;
                }
                Pause::Refused | Pause::Unwanted => {
                    // Characters that are white space elsewhere may end a content.
                    rest.only_values = trim(&body[rest.end..]).is_empty();
                    return rest;
                }
            }
            rest.values += 1;
            rest.end = at;
        }
    }
}

/// Where the content proper begins: behind white space and a byte order mark.
fn start_of(content: &[u8]) -> usize {
    let is_head = |c: char| is_white_space(c) || c == '\u{feff}';
    let head = utf8::chars(content).take_while(|&c| is_head(c));
    head.map(char::len_utf8).sum()
}

fn trimmed_len(bytes: &[u8]) -> usize {
    // White space takes at most three bytes; a block of it is looked at whole, from the end.
    let mut end = bytes.len();
    while end > 0 {
        let mut start = end - 1;
        while start > 0 && end - start < 4 && utf8::is_continuation(bytes[start]) {
            start -= 1;
        }
        let last = std::str::from_utf8(&bytes[start..end]).ok();
        if !last.is_some_and(|last| last.chars().all(is_white_space)) {
            break;
        }
        end = start;
    }
    end
}

fn trim(bytes: &[u8]) -> &[u8] {
    let head = utf8::chars(bytes).take_while(|&c| is_white_space(c));
    let start = head.map(char::len_utf8).sum::<usize>().min(bytes.len());
    let bytes = &bytes[start..];
    &bytes[..trimmed_len(bytes)]
}
