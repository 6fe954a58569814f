//! Reading by range, in any unit.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use serde::Serialize;
use toolstub_core::{Metadata, OffsetUnit, Ref};

use crate::chars::{self, MAX_CHAR};
use crate::index::BLOCK;
use crate::select::Selection;
use crate::store::{StoredOriginal, Window};
use crate::{ResultStore, StoreError};

/// How much a read returns where nobody says otherwise.
pub const DEFAULT_READ_LIMIT: i128 = 20_000;

/// What to read. Any integer may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRequest {
    /// Where to begin, 0-based. Past the end there is nothing, which is no error.
    pub offset: i128,
    /// How much to return at most; −1 for the rest.
    pub limit: i128,
    /// What offset and limit count.
    pub unit: OffsetUnit,
    /// Whether the answer carries the metadata.
    pub include_metadata: bool,
}

impl Default for ReadRequest {
    fn default() -> Self {
        Self {
            offset: 0,
            limit: DEFAULT_READ_LIMIT,
            unit: OffsetUnit::default(),
            include_metadata: false,
        }
    }
}

/// A piece of an original: its exact bytes, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The exact bytes.
    pub bytes: Bytes,
    /// The result's id.
    pub tool_result_id: String,
    /// Where the piece begins, in `unit`.
    ///
    /// It is the offset asked for, but in bytes it is moved back to where a character begins.
    pub offset: u64,
    /// The limit asked for; −1 for the rest.
    pub limit: i128,
    /// What `offset`, `limit` and `next_offset` count.
    pub unit: OffsetUnit,
    /// The characters of what is read from: the original, or the selected part of it.
    pub total_chars: u64,
    /// Its bytes.
    pub total_bytes: u64,
    /// Its lines.
    pub total_lines: u64,
    /// Whether anything follows the piece.
    pub has_more: bool,
    /// Where the next piece begins, in `unit`.
    pub next_offset: u64,
    /// Where the selected part stands in the original, if one was selected.
    pub selection: Option<Selection>,
    /// The metadata, if it was asked for.
    pub metadata: Option<Metadata>,
}

impl Piece {
    /// The piece as text; bytes that are not UTF-8 read as U+FFFD.
    pub fn content(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Whether the text shows U+FFFD in place of bytes that are not UTF-8.
    pub fn is_lossy(&self) -> bool {
        std::str::from_utf8(&self.bytes).is_err()
    }

    /// The answer for an interface, with the content as text.
    pub fn to_answer(&self) -> ReadAnswer {
        let content = Some(self.content().into_owned());
        ReadAnswer { content, lossy: self.is_lossy(), ..self.empty_answer() }
    }

    /// The answer for an interface, with the exact bytes in base64.
    pub fn to_base64_answer(&self) -> ReadAnswer {
        let content_base64 = Some(BASE64.encode(&self.bytes));
        ReadAnswer { content_base64, ..self.empty_answer() }
    }

    fn empty_answer(&self) -> ReadAnswer {
        ReadAnswer {
            tool_result_id: self.tool_result_id.clone(),
            content: None,
            content_base64: None,
            offset: self.offset,
            limit: self.limit,
            offset_unit: self.unit,
            total_chars: self.total_chars,
            total_bytes: self.total_bytes,
            total_lines: self.total_lines,
            has_more: self.has_more,
            next_offset: self.next_offset,
            lossy: false,
            selection: self.selection.clone(),
            metadata: self.metadata.clone(),
        }
    }
}

/// A read's answer on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReadAnswer {
    /// The result's id.
    pub tool_result_id: String,
    /// The content as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The exact content in base64, in place of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_base64: Option<String>,
    /// Where the content begins.
    pub offset: u64,
    /// The limit asked for; −1 for the rest.
    pub limit: i128,
    /// What `offset`, `limit` and `next_offset` count.
    pub offset_unit: OffsetUnit,
    /// The characters of what is read from: the original, or the selected part of it.
    pub total_chars: u64,
    /// Its bytes.
    pub total_bytes: u64,
    /// Its lines.
    pub total_lines: u64,
    /// Whether anything follows.
    pub has_more: bool,
    /// Where to go on.
    pub next_offset: u64,
    /// Whether the text shows U+FFFD in place of bytes that are not UTF-8.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
    /// Where the selected part stands in the original, if one was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The metadata, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

impl ResultStore {
    /// Reads a piece of an original.
    ///
    /// Pieces read one after the other, each from the last one's `next_offset`, join to the
    /// original byte for byte, in every unit. A character is never cut: in bytes, a piece begins
    /// and ends where characters do, and holds at least one where the limit is not 0.
    /// Only the blocks that hold the piece are fetched, in one request, and each is checked.
    pub async fn read(&self, reference: &Ref, request: &ReadRequest) -> Result<Piece, StoreError> {
        let asked = Asked::new(request)?;
        let original = self.open(reference).await?;
        let metadata = &original.metadata;
        let total = match request.unit {
            OffsetUnit::UnicodeCodePoint => metadata.original_chars,
            OffsetUnit::Byte => metadata.original_bytes,
            OffsetUnit::Line => metadata.line_count,
        };
        let end = asked.limit.map_or(total, |limit| asked.offset.saturating_add(limit).min(total));

        let mut piece = Piece {
            bytes: Bytes::new(),
            tool_result_id: metadata.tool_result_id.clone(),
            offset: asked.offset,
            limit: request.limit.min(i128::from(u64::MAX)),
            unit: request.unit,
            total_chars: metadata.original_chars,
            total_bytes: metadata.original_bytes,
            total_lines: metadata.line_count,
            has_more: asked.offset < total,
            next_offset: asked.offset,
            selection: None,
            metadata: request.include_metadata.then(|| metadata.clone()),
        };
        if asked.offset >= end {
            // Nothing is fetched, but nothing is promised of an output that is gone either.
            original.check_presence().await?;
            return Ok(piece);
        }
        let (bytes, place) = match request.unit {
            OffsetUnit::UnicodeCodePoint => original.chars(asked.offset, end).await?,
            OffsetUnit::Byte => original.bytes(asked.offset, end).await?,
            OffsetUnit::Line => original.lines(asked.offset, end).await?,
        };
        piece.bytes = bytes;
        piece.offset = place.start;
        piece.next_offset = place.end;
        piece.has_more = place.end < total;
        Ok(piece)
    }
}

/// An offset and a limit that make sense.
pub(crate) struct Asked {
    pub(crate) offset: u64,
    /// `None` for the rest.
    pub(crate) limit: Option<u64>,
}

impl Asked {
    pub(crate) fn new(request: &ReadRequest) -> Result<Self, StoreError> {
        Ok(Self {
            offset: at_least(0, "offset", request.offset, "give 0 or more")?,
            limit: match request.limit {
                -1 => None,
                limit => Some(at_least(0, "limit", limit, "give 0 or more, or -1 for the rest")?),
            },
        })
    }
}

/// Clamps a number from above, and refuses one that is too low.
pub(crate) fn at_least(
    low: u64,
    field: &'static str,
    given: i128,
    expected: &'static str,
) -> Result<u64, StoreError> {
    match u64::try_from(given) {
        Ok(number) if number >= low => Ok(number),
        Err(_) if given > 0 => Ok(u64::MAX),
        _ => Err(StoreError::Invalid { field, given: given.to_string(), expected }),
    }
}

impl StoredOriginal<'_> {
    /// The characters `offset..end`, and the place they fill. There is at least one.
    pub(crate) async fn chars(
        &self,
        offset: u64,
        end: u64,
    ) -> Result<(Bytes, Range<u64>), StoreError> {
        let index = &self.index;
        if index.is_byte_per_char() {
            return self.bytes(offset, end).await;
        }
        let first = index.block_of_char(offset);
        let last = if end == index.chars() { index.len() - 1 } else { index.block_of_char(end) };
        let window = self.blocks(first..=last).await?;
        let start = self.start_of_char(&window, offset)?;
        let stop =
            if end == index.chars() { index.bytes() } else { self.start_of_char(&window, end)? };
        Ok((self.cut(&window, start, stop)?, offset..end))
    }

    /// Where a character begins whose block is in the window.
    pub(crate) fn start_of_char(&self, window: &Window, number: u64) -> Result<u64, StoreError> {
        let block = self.index.block_of_char(number);
        let spill = self.spill(window, block)?;
        let bytes = &window.block_onward(block)[spill..];
        let within = chars::skip(bytes, number - self.index.chars_before(block));
        Ok((block * BLOCK + spill + within) as u64)
    }

    /// The bytes from the character at `offset` to the last that ends by `end`.
    pub(crate) async fn bytes(
        &self,
        offset: u64,
        end: u64,
    ) -> Result<(Bytes, Range<u64>), StoreError> {
        let total = self.index.bytes();
        let around = self.around();
        let first = offset.saturating_sub(around) / BLOCK as u64;
        let last = (end.saturating_add(around).min(total) - 1) / BLOCK as u64;
        let window = self.blocks(first as usize..=last as usize).await?;
        if around == 0 {
            return Ok((self.cut(&window, offset, end)?, offset..end));
        }
        let within = |at: u64| (at - window.base) as usize;
        let start = chars::floor(&window.bytes, within(offset));
        let mut stop = chars::floor(&window.bytes, within(end));
        if stop <= start {
            stop = start + chars::first_char_len(&window.bytes[start..]);
        }
        let place = window.base + start as u64..window.base + stop as u64;
        Ok((window.bytes.slice(start..stop), place))
    }

    /// How many bytes on either side of a place tell whether a character begins there.
    fn around(&self) -> u64 {
        if self.index.is_byte_per_char() { 0 } else { MAX_CHAR as u64 - 1 }
    }

    /// The range that [`bytes`](Self::bytes) returns for `offset..end`, without what lies between.
    pub(crate) async fn whole_chars(
        &self,
        offset: u64,
        end: u64,
    ) -> Result<Range<u64>, StoreError> {
        let around = self.around();
        if around == 0 {
            return Ok(offset..end);
        }
        let window = async |at: u64| {
            let at = at.min(self.index.bytes() - 1);
            self.blocks_of(at.saturating_sub(around)..at + around + 1).await
        };
        let starts = window(offset).await?;
        let start = chars::floor(&starts.bytes, (offset - starts.base) as usize);
        let ends = window(end).await?;
        let stop = ends.base + chars::floor(&ends.bytes, (end - ends.base) as usize) as u64;
        let first = chars::first_char_len(&starts.bytes[start..]) as u64;
        let start = starts.base + start as u64;
        Ok(start..if stop <= start { start + first } else { stop })
    }

    /// The lines `offset..end`, and the place they fill. There is at least one.
    async fn lines(&self, offset: u64, end: u64) -> Result<(Bytes, Range<u64>), StoreError> {
        let index = &self.index;
        let first = if offset == 0 { 0 } else { index.block_of_line_feed(offset) };
        let to_the_end = end == self.metadata.line_count;
        let last = if to_the_end { index.len() - 1 } else { index.block_of_line_feed(end) };
        let window = self.blocks(first..=last).await?;
        let start = if offset == 0 { 0 } else { self.after_line_feed(&window, offset)? };
        let stop = if to_the_end { index.bytes() } else { self.after_line_feed(&window, end)? };
        Ok((self.cut(&window, start, stop)?, offset..end))
    }

    /// Where the line after a line feed begins; line feeds are counted from 1.
    pub(crate) fn after_line_feed(&self, window: &Window, number: u64) -> Result<u64, StoreError> {
        let block = self.index.block_of_line_feed(number);
        let nth = number - self.index.line_feeds_before(block) - 1;
        let within = memchr::memchr_iter(b'\n', window.block(block)).nth(nth as usize);
        let within = within
            .ok_or_else(|| self.corrupt("the lines of metadata.json do not fit output.txt"))?;
        Ok((block * BLOCK + within + 1) as u64)
    }

    /// Cuts a piece out of a window; the bounds may be wrong if the index is.
    pub(crate) fn cut(&self, window: &Window, start: u64, stop: u64) -> Result<Bytes, StoreError> {
        if window.base <= start && start <= stop && stop <= window.end() {
            let within = |at: u64| (at - window.base) as usize;
            Ok(window.bytes.slice(within(start)..within(stop)))
        } else {
            Err(self.corrupt("the blocks of metadata.json do not fit output.txt"))
        }
    }
}
