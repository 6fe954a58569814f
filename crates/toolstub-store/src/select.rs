//! Reading a part that is named by its structure: a JSON value, rows of a table, lines.

mod pointer;
mod rows;

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::Serialize;
use toolstub_core::text::clean;
use toolstub_core::{Kind, OffsetUnit, Ref, utf8};

use self::pointer::Pointer;
use crate::index::BLOCK;
use crate::read::{Asked, Piece, ReadRequest};
use crate::store::{SMALL_WINDOW, StoredOriginal};
use crate::{ResultStore, StoreError};

/// How many blocks are scanned from one request.
const STEP: usize = 16;

/// A part of a structured original, named by its structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Part);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Pointer(Pointer),
    Rows(Span),
    Lines(Span),
}

impl Selector {
    /// The value that a JSON Pointer (RFC 6901) names, such as `/items/3`; an empty one names all.
    ///
    /// In JSON Lines and concatenated JSON it leads into the first value. Of keys that occur twice,
    /// the first counts.
    pub fn pointer(pointer: &str) -> Result<Self, StoreError> {
        Pointer::parse(pointer).map(Part::Pointer).map(Self)
    }

    /// Rows of a table, 1-based and inclusive: `100-120`, `7`, or `100-` for the rest.
    ///
    /// The header is no row; comments, titles and blank lines are none either.
    pub fn rows(rows: &str) -> Result<Self, StoreError> {
        Span::parse("rows", rows).map(Part::Rows).map(Self)
    }

    /// Lines, 1-based and inclusive: `40-80`, `7`, or `40-` for the rest.
    pub fn lines(lines: &str) -> Result<Self, StoreError> {
        Span::parse("lines", lines).map(Part::Lines).map(Self)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Part::Pointer(pointer) => write!(f, "pointer `{pointer}`"),
            Part::Rows(rows) => write!(f, "rows {rows}"),
            Part::Lines(lines) => write!(f, "lines {lines}"),
        }
    }
}

/// First and last, 1-based and inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: u64,
    /// `u64::MAX` for the rest.
    last: u64,
}

impl Span {
    fn parse(field: &'static str, given: &str) -> Result<Self, StoreError> {
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            plain.then(|| digits.parse().unwrap_or(u64::MAX))
        };
        let trimmed = given.trim();
        let span = match trimmed.split_once('-') {
            Some((first, "")) => number(first).map(|first| Self { first, last: u64::MAX }),
            Some((first, last)) => {
                number(first).zip(number(last)).map(|(first, last)| Self { first, last })
            }
            None => number(trimmed).map(|first| Self { first, last: first }),
        };
        span.filter(|span| 1 <= span.first && span.first <= span.last).ok_or_else(|| {
            StoreError::Invalid {
                field,
                given: format!("`{}`", clean(given, 80)),
                expected: "give first-last, counted from 1 and inclusive, such as 100-120",
            }
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = *self;
        match last {
            u64::MAX => write!(f, "{first}-"),
            last if last == first => write!(f, "{first}"),
            last => write!(f, "{first}-{last}"),
        }
    }
}

/// Where a selected part stands in its original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Selection {
    /// The character of the original at which the part begins.
    pub offset: u64,
    /// The byte of the original at which the part begins.
    pub byte_offset: u64,
    /// The line of the original on which the part begins, 1-based.
    pub line: u64,
    /// The names of a table's columns, at most 1,000; where there are none, `column_1` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
}

/// A part that was found.
#[derive(Debug)]
struct Selected {
    bytes: Range<u64>,
    columns: Option<Vec<String>>,
}

/// Where a piece stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The piece, its bytes left out.
    pub piece: Piece,
    /// The bytes of the original that it fills. Characters begin at both ends.
    pub bytes: Range<u64>,
}

/// A place, in every unit.
#[derive(Debug, Clone, Copy)]
struct Place {
    byte: u64,
    chars: u64,
    line_feeds: u64,
}

impl ResultStore {
    /// Reads a piece of a part of an original.
    ///
    /// The part is the exact slice of the source. Offset, limit, totals and `next_offset` are those
    /// within it, in any unit. To find it the original is scanned from its beginning, a megabyte
    /// at a time; [`StoreError::NothingSelected`] says what there is where it is not found.
    pub async fn read_selected(
        &self,
        reference: &Ref,
        selector: &Selector,
        request: &ReadRequest,
    ) -> Result<Piece, StoreError> {
        let original = self.open(reference).await?;
        let Located { mut piece, bytes } = original.locate(Some(selector), request).await?;
        if bytes.is_empty() {
            // Nothing is promised of an output that is gone.
            original.check_presence().await?;
        } else {
            let window = original.blocks_of(bytes.clone()).await?;
            piece.bytes = original.cut(&window, bytes.start, bytes.end)?;
        }
        Ok(piece)
    }

    /// Finds where a piece stands, without fetching it: of a piece too large to be held, the range
    /// of bytes can be read in parts.
    pub async fn locate(
        &self,
        reference: &Ref,
        selector: Option<&Selector>,
        request: &ReadRequest,
    ) -> Result<Located, StoreError> {
        self.open(reference).await?.locate(selector, request).await
    }
}

impl StoredOriginal<'_> {
    async fn locate(
        &self,
        selector: Option<&Selector>,
        request: &ReadRequest,
    ) -> Result<Located, StoreError> {
        let asked = Asked::new(request)?;
        let whole = Selected { bytes: 0..self.index.bytes(), columns: None };
        let Selected { bytes, columns } = match selector {
            Some(selector) => self.select(selector).await?,
            None => whole,
        };
        let begin = self.place(bytes.start).await?;
        let end = self.place(bytes.end).await?;
        let total_lines = self.lines_within(begin, end).await?;
        let (total_chars, total_bytes) = (end.chars - begin.chars, end.byte - begin.byte);
        let total = match request.unit {
            OffsetUnit::UnicodeCodePoint => total_chars,
            OffsetUnit::Byte => total_bytes,
            OffsetUnit::Line => total_lines,
        };
        let to = asked.limit.map_or(total, |limit| asked.offset.saturating_add(limit).min(total));
        let selection = Selection {
            offset: begin.chars,
            byte_offset: begin.byte,
            line: begin.line_feeds + 1,
            columns,
        };
        let mut piece = Piece {
            bytes: Bytes::new(),
            tool_result_id: self.metadata.tool_result_id.clone(),
            offset: asked.offset,
            limit: request.limit.min(i128::from(u64::MAX)),
            unit: request.unit,
            total_chars,
            total_bytes,
            total_lines,
            has_more: asked.offset < total,
            next_offset: asked.offset,
            selection: selector.map(|_| selection),
            metadata: request.include_metadata.then(|| self.metadata.clone()),
        };
        if asked.offset >= to {
            return Ok(Located { piece, bytes: begin.byte..begin.byte });
        }
        let (bytes, place) = match request.unit {
            OffsetUnit::UnicodeCodePoint => {
                let from = self.byte_of_char(begin.chars + asked.offset).await?;
                let stop = self.byte_of_char(begin.chars + to).await?;
                (from..stop, asked.offset..to)
            }
            OffsetUnit::Byte => {
                let (from, to) = (begin.byte + asked.offset, begin.byte + to);
                let bytes = self.whole_chars(from, to).await?;
                let place = bytes.start.saturating_sub(begin.byte)..bytes.end - begin.byte;
                (bytes, place)
            }
            OffsetUnit::Line => {
                // The part may begin within a line.
                let line_start = async |line: u64| match line {
                    0 => Ok(begin.byte),
                    line if line == total => Ok(end.byte),
                    line => self.line_start(begin.line_feeds + line).await,
                };
                (line_start(asked.offset).await?..line_start(to).await?, asked.offset..to)
            }
        };
        piece.offset = place.start;
        piece.next_offset = place.end;
        piece.has_more = place.end < total;
        Ok(Located { piece, bytes })
    }

    /// Where a character begins; the end for the number behind the last.
    async fn byte_of_char(&self, number: u64) -> Result<u64, StoreError> {
        if self.index.is_byte_per_char() {
            return Ok(number);
        }
        if number >= self.index.chars() {
            return Ok(self.index.bytes());
        }
        let block = self.index.block_of_char(number);
        let window = self.blocks(block..=block).await?;
        self.start_of_char(&window, number)
    }

    async fn select(&self, selector: &Selector) -> Result<Selected, StoreError> {
        let selected = match &selector.0 {
            Part::Pointer(pointer) => {
                self.check_kind(selector, &[Kind::Json], "JSON")?;
                let bytes = self.find_value(pointer).await?;
                bytes.map(|bytes| Selected { bytes, columns: None })
            }
            Part::Rows(rows) => {
                self.check_kind(selector, &[Kind::Csv, Kind::Tsv], "csv or tsv")?;
                self.find_rows(*rows).await?
            }
            Part::Lines(lines) => self.find_lines(*lines).await?,
        };
        selected.map_err(|reason| StoreError::NothingSelected {
            selector: selector.to_string(),
            reason,
        })
    }

    fn check_kind(
        &self,
        selector: &Selector,
        kinds: &[Kind],
        what: &str,
    ) -> Result<(), StoreError> {
        let kind = self.metadata.synopsis_kind;
        if kinds.contains(&kind) {
            return Ok(());
        }
        let lines = self.metadata.line_count;
        Err(StoreError::NothingSelected {
            selector: selector.to_string(),
            reason: format!("the result is {kind}, not {what}; read its {lines} lines instead"),
        })
    }

    async fn find_lines(&self, lines: Span) -> Result<Result<Selected, String>, StoreError> {
        let count = self.metadata.line_count;
        if lines.first > count {
            return Ok(Err(format!("the result has {count} lines")));
        }
        self.fetch_lines(lines).await?;
        let start = self.line_start(lines.first - 1).await?;
        let end = if lines.last >= count {
            self.index.bytes()
        } else {
            self.line_start(lines.last).await?
        };
        Ok(Ok(Selected { bytes: start..end, columns: None }))
    }

    /// Fetches the blocks of a few lines at once, so that all that is looked up in them is at hand.
    async fn fetch_lines(&self, lines: Span) -> Result<(), StoreError> {
        let block = |line: u64| if line == 0 { 0 } else { self.index.block_of_line_feed(line) };
        let to_the_end = lines.last >= self.index.line_feeds();
        let first = block(lines.first - 1);
        let last = if to_the_end { self.index.len() - 1 } else { block(lines.last) };
        if (last - first + 1) * BLOCK <= SMALL_WINDOW {
            self.blocks(first..=last).await?;
        }
        Ok(())
    }

    /// Where the line of this number begins, 0-based; there is a line feed before it.
    async fn line_start(&self, line: u64) -> Result<u64, StoreError> {
        if line == 0 {
            return Ok(0);
        }
        let block = self.index.block_of_line_feed(line);
        let window = self.blocks(block..=block).await?;
        self.after_line_feed(&window, line)
    }

    /// Counts what stands before a byte at which a character begins.
    async fn place(&self, byte: u64) -> Result<Place, StoreError> {
        let index = &self.index;
        if byte >= index.bytes() {
            let (chars, line_feeds) = (index.chars(), index.line_feeds());
            return Ok(Place { byte: index.bytes(), chars, line_feeds });
        }
        let block = (byte / BLOCK as u64) as usize;
        let window = self.blocks(block..=block).await?;
        let within = (byte - window.base) as usize;
        let spill = self.spill(&window, block)?.min(within);
        let bytes = &window.bytes[..within];
        Ok(Place {
            byte,
            chars: index.chars_before(block) + utf8::count_chars(&bytes[spill..]),
            line_feeds: index.line_feeds_before(block)
                + memchr::memchr_iter(b'\n', bytes).count() as u64,
        })
    }

    async fn lines_within(&self, begin: Place, end: Place) -> Result<u64, StoreError> {
        let Some(last) = end.byte.checked_sub(1).filter(|last| begin.byte <= *last) else {
            return Ok(0);
        };
        let window = self.blocks_of(last..end.byte).await?;
        let open = window.bytes[(last - window.base) as usize] != b'\n';
        Ok(end.line_feeds - begin.line_feeds + u64::from(open))
    }

    /// Hands out the original piece by piece from its beginning, until `take` has enough.
    ///
    /// A byte order mark is left out.
    async fn scan(
        &self,
        mut take: impl FnMut(u64, &[u8]) -> bool + Send,
    ) -> Result<(), StoreError> {
        let mut first = 0;
        while first < self.index.len() {
            let last = (first + STEP).min(self.index.len()) - 1;
            let window = self.blocks(first..=last).await?;
            let mark = if first == 0 && window.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            if !take(window.base + mark as u64, &window.bytes[mark..]) {
                break;
            }
            first = last + 1;
        }
        Ok(())
    }
}
