//! Searching an original.

use std::ops::Range;

use memchr::memmem;
use serde::Serialize;
use toolstub_core::{OffsetUnit, Ref, utf8};

use crate::chars::{self, MAX_CHAR};
use crate::index::BLOCK;
use crate::read::at_least;
use crate::store::{StoredOriginal, Window};
use crate::{ResultStore, StoreError};

/// The longest query, in bytes.
const MAX_QUERY: usize = 65_536;
/// The most matches of one answer.
const MAX_MATCHES: u64 = 10_000;
/// The most characters around a match.
const MAX_CONTEXT: u64 = 10_000;
/// The most bytes that the snippets of one answer take together.
const MAX_SNIPPETS: usize = 16 << 20;
/// How many bytes are scanned from one request.
const STEP: u64 = 1 << 20;

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// What to find, at most 65,536 bytes; never empty.
    pub query: String,
    /// How the query is read.
    pub mode: SearchMode,
    /// Whether characters that differ only in case are the same (Unicode simple case folding).
    pub ignore_case: bool,
    /// The character at which to begin, such as the `next_offset` of an earlier answer.
    pub offset: i128,
    /// The most matches to return, at least 1; more than 10,000 are not.
    pub limit: i128,
    /// How many characters to show on either side of a match; more than 10,000 are not.
    pub context_chars: i128,
}

impl SearchRequest {
    /// A literal search with the defaults: 20 matches, 300 characters on either side.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            mode: SearchMode::Literal,
            ignore_case: false,
            offset: 0,
            limit: 20,
            context_chars: 300,
        }
    }
}

/// How a query is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchMode {
    /// Every character stands for itself.
    #[default]
    Literal,
}

/// A search's answer, which is also the one on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Searched {
    /// The result's id.
    pub tool_result_id: String,
    /// The matches in order; they do not overlap.
    pub matches: Vec<Match>,
    /// Whether there are more matches.
    pub has_more: bool,
    /// The character at which to go on: behind the last match, or the end.
    pub next_offset: u64,
    /// The bytes from where the search began to `next_offset`.
    pub scanned_bytes: u64,
    /// Whether everything from where the search began to the end was searched.
    pub complete: bool,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Match {
    /// The character at which the match begins.
    pub offset: u64,
    /// What `offset` counts.
    pub offset_unit: OffsetUnit,
    /// The line on which the match begins, 1-based.
    pub line: u64,
    /// The match with the characters around it.
    pub snippet: String,
}

impl ResultStore {
    /// Finds where a query stands in an original.
    ///
    /// The original is gone over in windows of about a megabyte, however large it is.
    pub async fn search(
        &self,
        reference: &Ref,
        request: &SearchRequest,
    ) -> Result<Searched, StoreError> {
        let plan = Plan::new(request)?;
        let original = self.open(reference).await?;
        let total_chars = original.index.chars();
        let mut answer = Searched {
            tool_result_id: original.metadata.tool_result_id.clone(),
            matches: Vec::new(),
            has_more: false,
            next_offset: total_chars.max(plan.offset),
            scanned_bytes: 0,
            complete: true,
        };
        if plan.offset >= total_chars {
            original.check_presence().await?;
            return Ok(answer);
        }

        let begin = original.place_of_char(plan.offset).await?;
        let mut scan = Scan::new(&original, &plan, begin).await?;
        let mut end_of_last = begin;
        let mut snippets = 0;
        while let Some(found) = scan.next().await? {
            if answer.matches.len() as u64 == plan.limit || snippets >= MAX_SNIPPETS {
                answer.has_more = true;
                answer.complete = false;
                answer.scanned_bytes = end_of_last - begin;
                return Ok(answer);
            }
            let shown = scan.show(&found)?;
            snippets += shown.snippet.len();
            end_of_last = found.end;
            answer.next_offset = shown.offset + scan.chars_of(&found);
            answer.matches.push(shown);
        }
        answer.next_offset = total_chars;
        answer.scanned_bytes = original.index.bytes() - begin;
        Ok(answer)
    }
}

/// A request that makes sense.
struct Plan {
    matcher: Matcher,
    offset: u64,
    limit: u64,
    context: u64,
}

impl Plan {
    fn new(request: &SearchRequest) -> Result<Self, StoreError> {
        let limit = at_least(1, "limit", request.limit, "give 1 or more")?;
        let context =
            at_least(0, "context_chars", request.context_chars, "give 0 or more characters")?;
        Ok(Self {
            matcher: Matcher::new(request)?,
            offset: at_least(0, "offset", request.offset, "give 0 or more")?,
            limit: limit.min(MAX_MATCHES),
            context: context.min(MAX_CONTEXT),
        })
    }

    /// How many bytes around a match can be shown, with what tells where characters begin.
    fn margin(&self) -> u64 {
        (self.context + 1) * MAX_CHAR as u64
    }
}

/// What finds matches in a window.
struct Matcher {
    find: Find,
    /// The longest match, in bytes.
    reach: usize,
}

enum Find {
    Exact(Box<memmem::Finder<'static>>),
    Folded(regex::bytes::Regex),
}

impl Matcher {
    fn new(request: &SearchRequest) -> Result<Self, StoreError> {
        let SearchRequest { query, mode: SearchMode::Literal, ignore_case, .. } = request;
        let invalid =
            |given: String, expected| StoreError::Invalid { field: "query", given, expected };
        if query.is_empty() {
            return Err(invalid("of nothing".to_owned(), "give at least one character"));
        }
        let too_long = || invalid(format!("of {} bytes", query.len()), "give a shorter one");
        if query.len() > MAX_QUERY {
            return Err(too_long());
        }
        if !ignore_case {
            let finder = memmem::Finder::new(query).into_owned();
            return Ok(Self { find: Find::Exact(Box::new(finder)), reach: query.len() });
        }
        let regex = regex::bytes::RegexBuilder::new(&regex::escape(query))
            .case_insensitive(true)
            .build()
            .map_err(|_| too_long())?;
        // Simple folding pairs single characters, whose lengths may differ.
        Ok(Self { find: Find::Folded(regex), reach: query.chars().count() * MAX_CHAR })
    }

    fn find(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.find {
            Find::Exact(finder) => {
                let start = from + finder.find(&bytes[from..])?;
                Some(start..start + self.reach)
            }
            Find::Folded(regex) => regex.find_at(bytes, from).map(|found| found.range()),
        }
    }
}

/// A search under way. All places are bytes of the original.
struct Scan<'a> {
    original: &'a StoredOriginal<'a>,
    plan: &'a Plan,
    window: Window,
    /// Where to look for the next match.
    cursor: u64,
    /// A character's start up to which characters and line feeds are counted.
    counted: Counted,
}

/// What stands before a place.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    place: u64,
    chars: u64,
    line_feeds: u64,
}

impl<'a> Scan<'a> {
    async fn new(
        original: &'a StoredOriginal<'a>,
        plan: &'a Plan,
        begin: u64,
    ) -> Result<Self, StoreError> {
        let window = window(original, plan, begin).await?;
        Ok(Self { original, plan, window, cursor: begin, counted: Counted::default() })
    }

    /// The next match, with its surroundings in the window.
    async fn next(&mut self) -> Result<Option<Range<u64>>, StoreError> {
        let reach = self.plan.matcher.reach as u64;
        loop {
            let Window { base, ref bytes } = self.window;
            let end = self.window.end();
            let at_end = end == self.original.index.bytes();
            let found = self.plan.matcher.find(bytes, (self.cursor - base) as usize);
            let found = found.map(|found| base + found.start as u64..base + found.end as u64);
            // A match that begins from here on may be cut by the window's end.
            let doubtful = end.saturating_sub(reach - 1);
            match found {
                Some(found) if at_end || found.start + reach + self.plan.margin() <= end => {
                    self.cursor = found.end;
                    return Ok(Some(found));
                }
                None if at_end => return Ok(None),
                Some(found) => self.cursor = self.cursor.max(found.start.min(doubtful)),
                None => self.cursor = self.cursor.max(doubtful),
            }
            self.window = window(self.original, self.plan, self.cursor).await?;
        }
    }

    /// The match as it is shown.
    fn show(&mut self, found: &Range<u64>) -> Result<Match, StoreError> {
        self.count_up_to(found.start)?;
        Ok(Match {
            offset: self.counted.chars,
            offset_unit: OffsetUnit::UnicodeCodePoint,
            line: self.counted.line_feeds + 1,
            snippet: self.snippet(found),
        })
    }

    fn chars_of(&self, found: &Range<u64>) -> u64 {
        utf8::count_chars(self.bytes(found.clone()))
    }

    fn bytes(&self, place: Range<u64>) -> &[u8] {
        let within = |at: u64| (at - self.window.base) as usize;
        &self.window.bytes[within(place.start)..within(place.end)]
    }

    fn count_up_to(&mut self, place: u64) -> Result<(), StoreError> {
        let index = &self.original.index;
        let block = (place / BLOCK as u64) as usize;
        if self.counted.place < (block * BLOCK) as u64 {
            // Nothing of the blocks between needs to be seen: the index has counted them.
            let spill = self.original.spill(&self.window, block)?;
            self.counted = Counted {
                place: ((block * BLOCK + spill) as u64).min(place),
                chars: index.chars_before(block),
                line_feeds: index.line_feeds_before(block),
            };
        }
        let between = self.bytes(self.counted.place..place);
        let chars = utf8::count_chars(between);
        let line_feeds = memchr::memchr_iter(b'\n', between).count() as u64;
        self.counted.place = place;
        self.counted.chars += chars;
        self.counted.line_feeds += line_feeds;
        Ok(())
    }

    fn snippet(&self, found: &Range<u64>) -> String {
        let Plan { context, .. } = *self.plan;
        let bytes = &self.window.bytes;
        let start = (found.start - self.window.base) as usize;
        let end = (found.end - self.window.base) as usize;
        let room = context as usize * MAX_CHAR;

        let early = chars::floor(bytes, start.saturating_sub(room));
        let before = utf8::count_chars(&bytes[early..start]);
        let from = early + chars::skip(&bytes[early..start], before.saturating_sub(context));
        let late = bytes.len().min(end + room + MAX_CHAR);
        let to = end + chars::skip(&bytes[end..late], context);
        String::from_utf8_lossy(&bytes[from..to]).into_owned()
    }
}

/// The blocks around a place that leave room to find and to show matches.
async fn window(
    original: &StoredOriginal<'_>,
    plan: &Plan,
    cursor: u64,
) -> Result<Window, StoreError> {
    let margin = plan.margin();
    let first = cursor.saturating_sub(margin) / BLOCK as u64;
    let wanted = cursor + plan.matcher.reach as u64 + margin + STEP;
    let last = (wanted / BLOCK as u64).min(original.index.len() as u64 - 1);
    original.blocks(first as usize..=last as usize).await
}

impl StoredOriginal<'_> {
    /// Where the character of this number begins; there is one.
    async fn place_of_char(&self, number: u64) -> Result<u64, StoreError> {
        if number == 0 || self.index.is_byte_per_char() {
            return Ok(number);
        }
        let block = self.index.block_of_char(number);
        let window = self.blocks(block..=block).await?;
        self.start_of_char(&window, number)
    }
}
