//! The body: a synopsis, or the head of the original.

use toolstub_core::text::{clean, sample_head};
use toolstub_core::{OffsetUnit, Synopsis};

use crate::frame::{self, Style};

/// How many lines a head has where the caller asks for none.
const DEFAULT_HEAD_LINES: usize = 40;

/// What stands between header and exploration.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// Typed style: the synopsis.
    Synopsis(&'a Synopsis),
    /// Head style: the first lines of the original.
    Head(&'a Head),
    /// In place of what a retrieval tool returned: the synopsis of the original that it came from.
    ReadBack(&'a Synopsis, ReadBack),
}

/// What a retrieval tool was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBack {
    /// A range of the original.
    Range {
        /// Where it begins.
        offset: i128,
        /// How much of it, at most; −1 for the rest.
        limit: i128,
        /// What both count.
        unit: OffsetUnit,
    },
    /// What a search found in it, or a part of it that is not told by offset and limit.
    Part,
}

impl Body<'_> {
    pub(crate) fn style(&self) -> Style {
        match self {
            Self::Synopsis(_) | Self::ReadBack(..) => Style::Synopsis,
            Self::Head(head) if head.bytes == head.all_bytes => Style::Whole,
            Self::Head(_) => Style::Head,
        }
    }

    pub(crate) fn write(&self, text: &mut String) {
        match self {
            Self::Synopsis(synopsis) => write_synopsis(text, synopsis),
            Self::ReadBack(synopsis, read_back) => {
                let line = match read_back {
                    ReadBack::Range { offset, limit, unit } => {
                        frame::read_back_range(*offset, *limit, *unit)
                    }
                    ReadBack::Part => frame::READ_BACK_PART.to_owned(),
                };
                write_items(text, frame::READ_BACK_HEADING, &[line]);
                write_synopsis(text, synopsis);
            }
            Self::Head(head) => {
                let heading =
                    frame::head_heading(head.lines, head.all_lines, head.bytes, head.all_bytes);
                write_sample(text, &heading, &head.shown);
            }
        }
    }
}

/// The first lines of an original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    shown: String,
    lines: u64,
    bytes: u64,
    all_lines: u64,
    all_bytes: u64,
}

impl Head {
    /// Takes the first `head_lines` lines (40 where that is not positive), at most `preview_chars`
    /// characters as shown, from the start of a content of `all_bytes` bytes and `all_lines` lines.
    ///
    /// `start` is the content, or as much of its beginning as `preview_chars` characters can take.
    pub fn new(
        start: &[u8],
        head_lines: i64,
        preview_chars: i64,
        all_bytes: u64,
        all_lines: u64,
    ) -> Self {
        let wanted = usize::try_from(head_lines).ok().filter(|&n| n > 0);
        let wanted = wanted.unwrap_or(DEFAULT_HEAD_LINES);
        let feeds = memchr::memchr_iter(b'\n', start);
        let end = feeds.map(|index| index + 1).nth(wanted - 1).unwrap_or(start.len());
        let cap = usize::try_from(preview_chars.max(0)).unwrap_or(usize::MAX);
        let excerpt = sample_head(&start[..end], cap);
        let taken = &start[..excerpt.bytes];
        let feeds = memchr::memchr_iter(b'\n', taken).count() as u64;
        let open = taken.last().is_some_and(|&last| last != b'\n');
        Self {
            lines: feeds + u64::from(open),
            bytes: taken.len() as u64,
            shown: excerpt.shown,
            all_lines,
            all_bytes,
        }
    }
}

fn write_synopsis(text: &mut String, synopsis: &Synopsis) {
    write_items(text, frame::SYNOPSIS_HEADING, &synopsis.summary);
    write_items(text, frame::STRUCTURE_HEADING, &synopsis.structure);
    write_items(text, frame::NOTABLE_HEADING, &synopsis.notable_items);
    if !synopsis.sample.is_empty() {
        write_sample(text, frame::SAMPLE_HEADING, &synopsis.sample);
    }
}

fn write_items(text: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    text.push('\n');
    text.push_str(heading);
    text.push('\n');
    for item in items {
        // A synopsis may come from a record that others can write: one item is one line.
        text.push_str("- ");
        text.push_str(&clean(item, usize::MAX));
        text.push('\n');
    }
}

fn write_sample(text: &mut String, heading: &str, sample: &str) {
    text.push('\n');
    text.push_str(heading);
    text.push('\n');
    if sample.is_empty() {
        return;
    }
    for line in sample.strip_suffix('\n').unwrap_or(sample).split('\n') {
        text.push_str("| ");
        text.push_str(&sample_head(line.as_bytes(), usize::MAX).shown);
        text.push('\n');
    }
}
