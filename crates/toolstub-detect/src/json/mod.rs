//! JSON: one value, JSON Lines, or values one after another.

mod bytes;
mod machine;
mod outline;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use toolstub_core::text::is_white_space;

use self::bytes::skip_white_space;
use self::machine::{Events as _, Machine, Pause, Silence};
use self::outline::Outline;
use crate::census::{self, Census};
use crate::content::{Content, each_piece, end_of_text, skip_chars};
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
const COVERED: u64 = 10;

pub(crate) fn scan<C: Content>(
    content: &mut C,
    census: &Census,
    declared: MediaType,
) -> Result<Option<Json>, C::Error> {
    let start = skip_chars(content, 0, |c| is_white_space(c) || c == '\u{feff}')?;
    if declared != MediaType::Json && !matches!(content.piece(start)?.first(), Some(b'{' | b'[')) {
        return Ok(None);
    }
    let mut first = First::new();
    let refused = each_piece(content, start, |piece| first.feed(piece))?;
    let first_end = start + first.length;
    let Some(mut json) = first.finish(refused) else { return Ok(None) };
    let end = end_of_text(content, census.bytes, &census.tail)?;
    if first_end >= end {
        return Ok(Some(json));
    }
    let mut rest = Rest::new(first_end);
    let refused = each_piece(content, first_end, |piece| rest.feed(piece))?.is_some();
    rest.finish(refused, end);
    if rest.only_values {
        json.values = Some(1 + rest.values);
        json.cut_off = rest.cut_off;
    } else if declared != MediaType::Json
        && (rest.end - start).saturating_mul(COVERED) < end - start
    {
        return Ok(None);
    }
    let trailing = skip_chars(content, first_end, is_white_space)?;
    let single_bytes = census.chars == census.bytes && census.is_utf8();
    json.trailing_chars =
        if single_bytes { end - trailing } else { census::count_chars(content, trailing, end)? };
    Ok(Some(json))
}

/// Why no more of a content is wanted.
#[derive(Debug, Clone, Copy)]
enum Enough {
    Complete,
    Refused,
}

/// The first value while it is read.
struct First {
    machine: Machine,
    outline: Outline,
    /// How many containers stay open where a part is over that nobody listens to.
    passing: Option<usize>,
    /// How many bytes were read.
    length: u64,
}

impl First {
    fn new() -> Self {
        let outline = Outline::default();
        Self { machine: Machine::new(), outline, passing: None, length: 0 }
    }

    fn feed(&mut self, piece: &[u8]) -> ControlFlow<Enough> {
        let mut at = 0;
        let flow = loop {
            let Some(floor) = self.passing else {
                match self.machine.run(piece, &mut at, 0, &mut self.outline) {
                    Pause::Complete => break ControlFlow::Break(Enough::Complete),
                    Pause::Refused => break ControlFlow::Break(Enough::Refused),
                    Pause::Piece => break ControlFlow::Continue(()),
                    Pause::Unwanted => self.passing = Some(self.machine.depth() - 1),
                }
                continue;
            };
            match self.machine.run(piece, &mut at, floor, &mut Silence) {
                Pause::Complete => {}
                Pause::Piece => break ControlFlow::Continue(()),
                Pause::Refused | Pause::Unwanted => break ControlFlow::Break(Enough::Refused),
            }
            self.passing = None;
            self.outline.close();
            if floor == 0 {
                break ControlFlow::Break(Enough::Complete);
            }
        };
        self.length += at as u64;
        flow
    }

    /// What was learnt, if a value stands at the start.
    fn finish(mut self, enough: Option<Enough>) -> Option<Json> {
        let complete = match enough {
            Some(Enough::Complete) => true,
            Some(Enough::Refused) => false,
            None => self.passing.is_none() && self.machine.ends_here(&mut self.outline),
        };
        complete.then(|| self.outline.finish()).flatten()
    }
}

/// What follows the first value.
struct Rest {
    machine: Machine,
    /// The first byte of the value at hand, if one has begun.
    begun: Option<u8>,
    /// Where the next piece begins.
    at: u64,
    /// Whole values.
    values: u64,
    /// Whether nothing but values follows.
    only_values: bool,
    /// Whether the last value is cut off.
    cut_off: bool,
    /// Where the last whole value ends.
    end: u64,
}

impl Rest {
    fn new(at: u64) -> Self {
        Self {
            machine: Machine::new(),
            begun: None,
            at,
            values: 0,
            only_values: true,
            cut_off: false,
            end: at,
        }
    }

    /// Reads on; breaks off at what is no value.
    fn feed(&mut self, piece: &[u8]) -> ControlFlow<()> {
        let mut at = 0;
        loop {
            if self.begun.is_none() {
                at = skip_white_space(piece, at);
                self.begun = piece.get(at).copied();
                if self.begun.is_none() {
                    break;
                }
                self.machine.restart();
            }
            match self.machine.run(piece, &mut at, 0, &mut Silence) {
                Pause::Complete => self.take_value(self.at + at as u64),
                Pause::Piece => break,
                Pause::Refused | Pause::Unwanted => return ControlFlow::Break(()),
            }
        }
        self.at += piece.len() as u64;
        ControlFlow::Continue(())
    }

    fn take_value(&mut self, end: u64) {
        self.values += 1;
        self.end = end;
        self.begun = None;
    }

    /// Ends the content, of which the text ends at `text_end`.
    fn finish(&mut self, refused: bool, text_end: u64) {
        if refused {
            // Characters that are white space elsewhere may end a content.
            self.only_values = self.end >= text_end;
        } else if let Some(begun) = self.begun {
            if self.machine.ends_here(&mut Silence) {
                self.take_value(self.at);
            } else {
                // A line that was cut begins like the lines before it; a word does not.
                self.cut_off = matches!(begun, b'{' | b'[');
                self.only_values = self.cut_off;
            }
        }
    }
}
