//! Showing a match: where it stands, and what stands around it.

use std::ops::Range;

use toolstub_core::{OffsetUnit, utf8};

use super::Match;
use super::hunt::{Hunt, Windows};
use crate::StoreError;
use crate::chars::{self, MAX_CHAR};
use crate::index::BLOCK;
use crate::store::{StoredOriginal, Window};

/// How many characters of a match are shown; of a longer one, its start.
const MAX_SHOWN: u64 = 1000;

impl Windows for StoredOriginal<'_> {
    fn total(&self) -> u64 {
        self.index.bytes()
    }

    async fn fetch(&self, range: Range<u64>) -> Result<Window, StoreError> {
        self.blocks_of(range).await
    }
}

/// Counts characters and lines on the way, and cuts snippets.
pub(super) struct Show<'a> {
    original: &'a StoredOriginal<'a>,
    /// How many characters stand on either side of a match.
    context: u64,
    /// A character's start up to which characters and line feeds are counted.
    place: u64,
    chars: u64,
    line_feeds: u64,
}

impl<'a> Show<'a> {
    pub(super) fn new(original: &'a StoredOriginal<'a>, context: u64) -> Self {
        Self { original, context, place: 0, chars: 0, line_feeds: 0 }
    }

    /// The match as it is shown.
    pub(super) async fn show(
        &mut self,
        hunt: &mut Hunt<'a, StoredOriginal<'a>>,
        found: &Range<u64>,
    ) -> Result<Match, StoreError> {
        let offset = self.chars_before(hunt, found.start).await?;
        let line = self.line_feeds + 1;
        let snippet = self.snippet(hunt, found).await?;
        Ok(Match { offset, offset_unit: OffsetUnit::UnicodeCodePoint, line, snippet })
    }

    /// How many characters begin before a place, which is no earlier than the last one.
    pub(super) async fn chars_before(
        &mut self,
        hunt: &mut Hunt<'a, StoredOriginal<'a>>,
        place: u64,
    ) -> Result<u64, StoreError> {
        let index = &self.original.index;
        let block = (place / BLOCK as u64).min(index.len().saturating_sub(1) as u64);
        let begin = block * BLOCK as u64;
        if self.place < begin {
            // Nothing of the blocks between needs to be seen: the index has counted them.
            hunt.cover(begin..begin + BLOCK as u64).await?;
            let block = block as usize;
            let spill = self.original.spill(hunt.window(), block)?;
            self.place = (begin + spill as u64).min(place);
            self.chars = index.chars_before(block);
            self.line_feeds = index.line_feeds_before(block);
        }
        if self.place < place {
            hunt.cover(self.place..place).await?;
            let window = hunt.window();
            let within = |at: u64| (at - window.base) as usize;
            let between = &window.bytes[within(self.place)..within(place)];
            self.chars += utf8::count_chars(between);
            self.line_feeds += memchr::memchr_iter(b'\n', between).count() as u64;
            self.place = place;
        }
        Ok(self.chars)
    }

    async fn snippet(
        &self,
        hunt: &mut Hunt<'a, StoredOriginal<'a>>,
        found: &Range<u64>,
    ) -> Result<String, StoreError> {
        let room = self.context * MAX_CHAR as u64;
        let longest = (MAX_SHOWN + 1) * MAX_CHAR as u64;
        let cut = found.end.min(found.start + longest);
        // Three bytes more tell where characters begin.
        let (early, late) = (found.start.saturating_sub(room + 3), cut + room + 3);
        hunt.cover(early..late).await?;
        let Window { base, bytes } = hunt.window();
        if bytes.is_empty() {
            return Ok(String::new());
        }
        let within = |at: u64| (at - base) as usize;
        let (start, end) = (within(found.start), within(cut));

        let early = chars::floor(bytes, start.saturating_sub(room as usize));
        let before = utf8::count_chars(&bytes[early..start]);
        let from = early + chars::skip(&bytes[early..start], before.saturating_sub(self.context));
        let shown = start + chars::skip(&bytes[start..end], MAX_SHOWN);
        let to = if shown < end {
            shown
        } else {
            let late = bytes.len().min(end + room as usize + MAX_CHAR - 1);
            end + chars::skip(&bytes[end..late], self.context)
        };
        Ok(String::from_utf8_lossy(&bytes[from..to]).into_owned())
    }
}
