//! Searching an original.

mod feed;
mod hunt;
mod query;
mod show;

use serde::Serialize;
use toolstub_core::{OffsetUnit, Ref};

use self::hunt::{Hunt, Next, Sizes};
use self::query::Query;
use self::show::Show;
use crate::read::at_least;
use crate::store::StoredOriginal;
use crate::{ResultStore, StoreError};

/// The most matches of one answer.
const MAX_MATCHES: u64 = 10_000;
/// The most characters around a match.
const MAX_CONTEXT: u64 = 10_000;
/// The most bytes that the snippets of one answer take together.
const MAX_SNIPPETS: usize = 16 << 20;
/// How a regular expression is looked for.
const SIZES: Sizes = Sizes { step: 1 << 20, promise: 64 << 10, allowance: 256 << 20 };

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// What to find: at most 65,536 bytes, or 1,024 of a regular expression or where case is ignored;
    /// never empty. A U+FFFD in it finds that character, and not what a read shows as one.
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
    /// Whether to go on to the end for the number of matches.
    pub count: bool,
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
            count: false,
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
    /// The query is a regular expression in the syntax of Rust's `regex` crate.
    ///
    /// `^` and `$` match at the borders of lines, `\A` and `\z` at those of the content, and a
    /// match may span lines. The time is linear in the content for each match; of alternatives
    /// the first that matches is taken. Bytes that are not UTF-8 match nothing.
    Regex,
}

/// A search's answer, which is also the one on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Searched {
    /// The result's id.
    pub tool_result_id: String,
    /// The matches in order; they do not overlap.
    pub matches: Vec<Match>,
    /// How many matches there are from where the search began, if they were to be counted; at
    /// least so many where the answer is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_matches: Option<u64>,
    /// Whether there are more matches, or may be since the search stopped early.
    pub has_more: bool,
    /// The character at which to go on: behind the last match, or the end.
    pub next_offset: u64,
    /// The bytes from where the search began to where it stopped: `next_offset`, or the end if
    /// matches were counted.
    pub scanned_bytes: u64,
    /// Whether everything from where the search began to the end was searched, and nothing can
    /// have been missed. Without a match, that is proof that there is none.
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
    /// The match with the characters around it; of one over 1,000 characters, the start.
    pub snippet: String,
}

impl ResultStore {
    /// Finds where a query stands in an original.
    ///
    /// The original is gone over in windows of about a megabyte, however large it is and however
    /// long a match. Matches are those that a search of the whole at once would find, with two
    /// bounds on the work, both told by `complete: false`: where the pattern prefers a longer match
    /// that is still open 64 KiB behind a shorter one (`a*b|a`), the shorter one is taken; and a
    /// search that has gone over four times the original and 256 MiB stops, whereby a pattern that
    /// needs ever new states (`a.{300}c`) has to pay for these too. Such a search goes on from
    /// `next_offset`.
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
            total_matches: plan.count.then_some(0),
            has_more: false,
            next_offset: total_chars.max(plan.offset),
            scanned_bytes: 0,
            complete: true,
        };
        if plan.offset >= total_chars {
            original.check_presence().await?;
        }
        // At the very end an empty match may stand.
        if plan.offset > total_chars {
            return Ok(answer);
        }

        let begin = original.place_of_char(plan.offset).await?;
        let mut hunt = Hunt::new(&original, &plan.query, SIZES, begin);
        let mut show = Show::new(&original, plan.context);
        let (mut end_of_last, mut behind_last) = (begin, plan.offset);
        let (mut count, mut snippets) = (0, 0);
        let stopped_at = loop {
            match hunt.next().await? {
                Next::Match(found) => {
                    count += 1;
                    let full =
                        answer.matches.len() as u64 == plan.limit || snippets >= MAX_SNIPPETS;
                    if full {
                        answer.has_more = true;
                        if plan.count {
                            continue;
                        }
                        answer.complete = false;
                        break end_of_last;
                    }
                    let shown = show.show(&mut hunt, &found).await?;
                    snippets += shown.snippet.len();
                    answer.matches.push(shown);
                    end_of_last = found.end;
                    behind_last = show.chars_before(&mut hunt, found.end).await?;
                    // To go on from an empty match's own place would find it again.
                    behind_last += u64::from(found.is_empty());
                }
                Next::End => {
                    answer.complete = hunt.is_exact();
                    break original.index.bytes();
                }
                Next::Spent(place) => {
                    if !answer.has_more {
                        behind_last = show.chars_before(&mut hunt, place).await?;
                    }
                    answer.has_more = true;
                    answer.complete = false;
                    break place;
                }
            }
        };
        if answer.has_more {
            answer.next_offset = behind_last;
        }
        answer.scanned_bytes = stopped_at.saturating_sub(begin);
        answer.total_matches = plan.count.then_some(count);
        Ok(answer)
    }
}

/// A request that makes sense.
struct Plan {
    query: Query,
    offset: u64,
    limit: u64,
    context: u64,
    count: bool,
}

impl Plan {
    fn new(request: &SearchRequest) -> Result<Self, StoreError> {
        let limit = at_least(1, "limit", request.limit, "give 1 or more")?;
        let context =
            at_least(0, "context_chars", request.context_chars, "give 0 or more characters")?;
        Ok(Self {
            query: Query::new(request)?,
            offset: at_least(0, "offset", request.offset, "give 0 or more")?,
            limit: limit.min(MAX_MATCHES),
            context: context.min(MAX_CONTEXT),
            count: request.count,
        })
    }
}

impl StoredOriginal<'_> {
    /// Where the character of this number begins, or the end where the number is the next one's.
    async fn place_of_char(&self, number: u64) -> Result<u64, StoreError> {
        if number == 0 || self.index.is_byte_per_char() {
            return Ok(number);
        }
        if number == self.index.chars() {
            return Ok(self.index.bytes());
        }
        let block = self.index.block_of_char(number);
        let window = self.blocks(block..=block).await?;
        self.start_of_char(&window, number)
    }
}
