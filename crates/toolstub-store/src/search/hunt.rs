//! Finding matches in an original that is seen through windows.
//!
//! Where windows begin and end has no influence on what is found. A literal looks at windows that
//! overlap by its length. A regular expression runs as an automaton that takes the bytes one by
//! one, across windows: forward to a match's end, then backward to its beginning. Nothing but a
//! window and the automaton's states is held, however long a match is.

use std::ops::Range;

use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::start;

use super::query::{Query, Streamed, Windowed};
use crate::StoreError;
use crate::chars::{self, MAX_CHAR};
use crate::store::Window;

/// What `^`, `$` and `\b` look at on either side of a place, in bytes.
const LOOK: u64 = MAX_CHAR as u64;

/// Where the bytes come from.
pub(super) trait Windows: Sync {
    /// How many bytes there are.
    fn total(&self) -> u64;

    /// A window that holds at least a range of them.
    fn fetch(&self, range: Range<u64>) -> impl Future<Output = Result<Window, StoreError>> + Send;
}

/// The measures of a hunt, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// How much is fetched at once.
    pub(super) step: u64,
    /// The length up to which a match is found whatever its pattern.
    pub(super) promise: u64,
    /// How much may be gone over, on top of four times what there is.
    pub(super) allowance: u64,
}

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A match.
    Match(Range<u64>),
    /// There is no other.
    End,
    /// The work that a search may do is done; the hunt stands at this place, where a character
    /// begins.
    Spent(u64),
}

/// A hunt under way. All places are bytes of the original.
pub(super) struct Hunt<'a, W> {
    windows: &'a W,
    query: &'a Query,
    sizes: Sizes,
    window: Window,
    /// Where to look for the next match.
    cursor: u64,
    /// The states that the automata have built, forward and reverse.
    caches: Option<Box<(Cache, Cache)>>,
    /// Whether the automata met a byte that they cannot judge.
    beyond_ascii: bool,
    exact: bool,
    work: u64,
    allowance: u64,
}

/// The automata cannot judge a byte.
struct Unjudged;

impl<'a, W: Windows> Hunt<'a, W> {
    pub(super) fn new(windows: &'a W, query: &'a Query, sizes: Sizes, begin: u64) -> Self {
        let caches = match query {
            Query::Streamed(streamed) => {
                Some((streamed.forward.create_cache(), streamed.reverse.create_cache()))
            }
            Query::Literal(_) | Query::Windowed(_) => None,
        };
        let left = windows.total().saturating_sub(begin);
        Self {
            windows,
            query,
            sizes,
            window: Window { base: 0, bytes: bytes::Bytes::new() },
            cursor: begin,
            caches: caches.map(Box::new),
            beyond_ascii: false,
            exact: true,
            work: 0,
            allowance: left.saturating_mul(4).saturating_add(sizes.allowance),
        }
    }

    /// The window at hand.
    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// Whether nothing was passed over so far that a longer look might have found.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// The next match. Matches do not overlap, and an empty one stands between two characters.
    pub(super) async fn next(&mut self) -> Result<Next, StoreError> {
        if self.work > self.allowance {
            return Ok(Next::Spent(self.cursor));
        }
        let total = self.windows.total();
        while self.cursor <= total {
            let Some(found) = self.find().await? else { break };
            self.cursor = found.end;
            if !found.is_empty() {
                return Ok(Next::Match(found));
            }
            self.cover(found.start.saturating_sub(LOOK)..found.start + LOOK).await?;
            let at = (found.start - self.window.base) as usize;
            let bytes = &self.window.bytes;
            if chars::floor(bytes, at) == at {
                self.cursor += chars::first_char_len(&bytes[at..]).max(1) as u64;
                return Ok(Next::Match(found));
            }
            self.cursor += 1;
        }
        self.cursor = total + 1;
        Ok(Next::End)
    }

    /// Sees to it that the window holds a range, as far as there are such bytes.
    pub(super) async fn cover(&mut self, range: Range<u64>) -> Result<(), StoreError> {
        let total = self.windows.total();
        let (start, end) = (range.start.min(total), range.end.min(total));
        if start < end && (start < self.window.base || end > self.window.end()) {
            let end = end.max(start.saturating_add(self.sizes.step)).min(total);
            self.window = self.windows.fetch(start..end).await?;
        }
        Ok(())
    }

    async fn byte(&mut self, place: u64) -> Result<u8, StoreError> {
        self.cover(place..place + 1).await?;
        Ok(self.window.bytes[(place - self.window.base) as usize])
    }

    async fn find(&mut self) -> Result<Option<Range<u64>>, StoreError> {
        match self.query {
            Query::Literal(finder) => {
                let length = finder.needle().len();
                let find = |bytes: &[u8], from: usize| {
                    let start = from + finder.find(&bytes[from..])?;
                    Some(start..start + length)
                };
                self.find_windowed(find, length as u64, true, 0).await
            }
            Query::Windowed(windowed) => self.find_regex(windowed).await,
            Query::Streamed(streamed) => {
                if !self.beyond_ascii {
                    match self.find_streamed(streamed).await? {
                        Ok(found) => return Ok(found),
                        Err(Unjudged) => self.beyond_ascii = true,
                    }
                }
                match &streamed.beyond_ascii {
                    Some(windowed) => self.find_regex(windowed).await,
                    // Automata without word borders judge every byte.
                    None => Ok(None),
                }
            }
        }
    }

    async fn find_regex(&mut self, windowed: &Windowed) -> Result<Option<Range<u64>>, StoreError> {
        let longest = windowed.longest.map(|longest| longest as u64);
        let promise = self.sizes.promise;
        // A literal may be longer than what is promised of patterns.
        let bounded = longest.is_some_and(|longest| longest <= promise.saturating_mul(4));
        let reach = longest.filter(|_| bounded).unwrap_or(promise).max(1);
        let find = |bytes: &[u8], from: usize| {
            windowed.regex.find_at(bytes, from).map(|found| found.range())
        };
        self.find_windowed(find, reach, bounded, 1).await
    }

    /// Finds by looking at windows that overlap by the longest match, of `reach` bytes.
    async fn find_windowed(
        &mut self,
        find: impl Fn(&[u8], usize) -> Option<Range<usize>> + Send,
        reach: u64,
        bounded: bool,
        cost: u64,
    ) -> Result<Option<Range<u64>>, StoreError> {
        let total = self.windows.total();
        loop {
            let seen = self.cursor.saturating_sub(LOOK)..self.cursor + reach + LOOK;
            self.cover(seen).await?;
            let (base, end) = (self.window.base, self.window.end());
            let at_end = end >= total;
            let from = self.cursor - base;
            let found = find(&self.window.bytes, from as usize);
            let gone_over = found.as_ref().map_or(end - base, |found| {
                (found.end as u64).saturating_add(reach).min(end - base)
            });
            self.work += cost * (gone_over - from);
            let found = found.map(|found| base + found.start as u64..base + found.end as u64);
            if at_end {
                return Ok(found);
            }
            self.exact &= bounded;
            // What begins behind this place may be cut by the window's end.
            let certain = end - (reach + LOOK);
            match found {
                Some(found) if found.start <= certain => return Ok(Some(found)),
                _ => self.cursor = self.cursor.max(certain + 1),
            }
        }
    }

    /// Finds by feeding automata.
    async fn find_streamed(
        &mut self,
        streamed: &Streamed,
    ) -> Result<Result<Option<Range<u64>>, Unjudged>, StoreError> {
        // The caches are put back whatever happens: without them there is nothing to go on with.
        let Some(mut caches) = self.caches.take() else { return Ok(Err(Unjudged)) };
        let (forward, reverse) = &mut *caches;
        let found = match self.find_end(&streamed.forward, forward).await {
            Ok(Ok(Some(end))) => match self.find_start(&streamed.reverse, reverse, end).await {
                Ok(start) => Ok(start.map(|start| Some(start..end))),
                Err(error) => Err(error),
            },
            Ok(Ok(None)) => Ok(Ok(None)),
            Ok(Err(unjudged)) => Ok(Err(unjudged)),
            Err(error) => Err(error),
        };
        self.caches = Some(caches);
        found
    }

    /// Where the next match ends.
    async fn find_end(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
    ) -> Result<Result<Option<u64>, Unjudged>, StoreError> {
        let total = self.windows.total();
        let before = match self.cursor.checked_sub(1) {
            Some(before) => Some(self.byte(before).await?),
            None => None,
        };
        let config = start::Config::new().anchored(Anchored::No).look_behind(before);
        let Ok(mut state) = dfa.start_state(cache, &config) else { return Ok(Err(Unjudged)) };
        let mut at = self.cursor;
        let mut end: Option<u64> = None;
        while at < total {
            self.cover(at..at + 1).await?;
            let bound = end.map_or(u64::MAX, |end| end.saturating_add(self.sizes.promise));
            if at >= bound {
                // A longer match is preferred and may yet come; to wait for it at every match
                // would take time without end.
                self.exact = false;
                return Ok(Ok(end));
            }
            let within = |place: u64| (place - self.window.base) as usize;
            let bytes = &self.window.bytes[within(at)..within(self.window.end().min(bound))];
            let (fed, event) = feed(dfa, cache, &mut state, bytes.iter());
            self.work += fed as u64 + 1;
            let place = at + fed as u64;
            match event {
                Event::None => at = place,
                Event::Match => {
                    // A match is told with the byte behind it.
                    end = Some(place);
                    at = place + 1;
                }
                Event::Dead => return Ok(Ok(end)),
                Event::Quit => return Ok(Err(Unjudged)),
            }
        }
        match dfa.next_eoi_state(cache, state) {
            Ok(state) if state.is_match() => Ok(Ok(Some(total))),
            Ok(_) => Ok(Ok(end)),
            Err(_) => Ok(Err(Unjudged)),
        }
    }

    /// Where the match begins that ends at `end`.
    async fn find_start(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
        end: u64,
    ) -> Result<Result<u64, Unjudged>, StoreError> {
        let low = self.cursor;
        if end == low {
            return Ok(Ok(low));
        }
        let after = if end < self.windows.total() { Some(self.byte(end).await?) } else { None };
        let config = start::Config::new().anchored(Anchored::Yes).look_behind(after);
        let Ok(mut state) = dfa.start_state(cache, &config) else { return Ok(Err(Unjudged)) };
        let mut at = end;
        let mut start = end;
        while at > low {
            if self.window.base >= at || self.window.end() < at {
                self.cover(at.saturating_sub(self.sizes.step).max(low)..at).await?;
            }
            let within = |place: u64| (place - self.window.base) as usize;
            let bytes = &self.window.bytes[within(low.max(self.window.base))..within(at)];
            let (fed, event) = feed(dfa, cache, &mut state, bytes.iter().rev());
            self.work += fed as u64 + 1;
            match event {
                Event::None => at -= fed as u64,
                Event::Match => {
                    start = at - fed as u64;
                    at = start - 1;
                }
                Event::Dead => return Ok(Ok(start)),
                Event::Quit => return Ok(Err(Unjudged)),
            }
        }
        let last = match low.checked_sub(1) {
            Some(before) => {
                let byte = self.byte(before).await?;
                dfa.next_state(cache, state, byte)
            }
            None => dfa.next_eoi_state(cache, state),
        };
        match last {
            Ok(state) if state.is_match() => Ok(Ok(low)),
            Ok(state) if !state.is_quit() => Ok(Ok(start)),
            Ok(_) | Err(_) => Ok(Err(Unjudged)),
        }
    }
}

/// What an automaton says of the last byte that it was fed.
enum Event {
    /// Nothing; all bytes are fed.
    None,
    /// Before this byte a match ends, or begins.
    Match,
    /// Whatever follows changes nothing.
    Dead,
    /// The automaton cannot judge this byte.
    Quit,
}

/// Feeds bytes until something happens. The number is of bytes fed before the last one.
fn feed<'b>(
    dfa: &DFA,
    cache: &mut Cache,
    state: &mut LazyStateID,
    bytes: impl ExactSizeIterator<Item = &'b u8>,
) -> (usize, Event) {
    let count = bytes.len();
    for (fed, &byte) in bytes.enumerate() {
        let Ok(next) = dfa.next_state(cache, *state, byte) else { return (fed, Event::Quit) };
        *state = next;
        if next.is_tagged() {
            if next.is_match() {
                return (fed, Event::Match);
            }
            if next.is_dead() {
                return (fed, Event::Dead);
            }
            if next.is_quit() {
                return (fed, Event::Quit);
            }
        }
    }
    (count, Event::None)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use proptest::prelude::*;

    use super::*;
    use crate::{SearchMode, SearchRequest};

    /// Windows of exactly what was asked for.
    struct Slices(bytes::Bytes);

    impl Windows for Slices {
        fn total(&self) -> u64 {
            self.0.len() as u64
        }

        async fn fetch(&self, range: Range<u64>) -> Result<Window, StoreError> {
            let bytes = self.0.slice(range.start as usize..range.end as usize);
            Ok(Window { base: range.start, bytes })
        }
    }

    fn query(pattern: &str, ignore_case: bool) -> Query {
        let request =
            SearchRequest { mode: SearchMode::Regex, ignore_case, ..SearchRequest::new(pattern) };
        Query::new(&request).unwrap()
    }

    /// All matches through windows, and whether they are certain.
    fn hunt(content: &[u8], query: &Query, sizes: Sizes) -> (Vec<Range<u64>>, bool) {
        let slices = Slices(bytes::Bytes::copy_from_slice(content));
        let mut hunt = Hunt::new(&slices, query, sizes, 0);
        let mut found = Vec::new();
        loop {
            match hunt.next().now_or_never().unwrap().unwrap() {
                Next::Match(range) => found.push(range),
                Next::End => return (found, hunt.is_exact()),
                Next::Spent(_) => return (found, false),
            }
        }
    }

    /// The same on the whole content.
    fn plain(content: &[u8], pattern: &str, ignore_case: bool) -> Vec<Range<u64>> {
        let regex = regex::bytes::RegexBuilder::new(pattern)
            .multi_line(true)
            .case_insensitive(ignore_case)
            .build()
            .unwrap();
        let (mut found, mut from) = (Vec::new(), 0);
        while from <= content.len() {
            let Some(next) = regex.find_at(content, from) else { break };
            let at = next.start();
            from = next.end();
            if !next.is_empty() {
                found.push(at as u64..next.end() as u64);
            } else if chars::floor(content, at) == at {
                found.push(at as u64..at as u64);
                from += chars::first_char_len(&content[at..]).max(1);
            } else {
                from += 1;
            }
        }
        found
    }

    const PATTERNS: &[&str] = &[
        "a",
        "ab|a",
        "a*b|a",
        "a+",
        "(?s)a.*b",
        "(?s)a.*?b",
        "a.*b",
        "^a",
        "b$",
        "^$",
        "^",
        "$",
        r"\Aa",
        r"b\z",
        r"\bab\b",
        r"\b",
        r"\B",
        r"\w+",
        r"\bé",
        r"\b\w+\b",
        "é|a",
        "[^a]",
        "(?s).",
        "x*",
        "(a|ab)(c|bcd)?",
        r"a\nb",
        r"(?s)\A.*\z",
        "a{2,3}",
        r"(?-u:\b)a",
        "🎯+",
        "A|É",
        r"[^\n]*b",
        r"(?R)b$",
        "(?R)^a",
        "a[^b]*b|a",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn windows_have_no_influence(
            parts in prop::collection::vec(prop::sample::select(vec![
                &b"a"[..], b"a", b"b", b"c", b"\n", b"\r\n", b" ", "é".as_bytes(),
                "🎯".as_bytes(), b"\xff", b"\xe2\x82", b"\x80",
            ]), 0..40),
            pattern in prop::sample::select(PATTERNS.to_vec()),
            step in 1_u64..9,
            ignore_case: bool,
        ) {
            let content = parts.concat();
            let query = query(pattern, ignore_case);
            let expected = plain(&content, pattern, ignore_case);
            // With much promised, everything is found and certain.
            let sizes = Sizes { step, promise: 200, allowance: 1 << 20 };
            let (found, exact) = hunt(&content, &query, sizes);
            prop_assert_eq!(&found, &expected, "{} in {:?}", pattern, content);
            prop_assert!(exact);
            // With less, it is right where it says that it is certain.
            let sizes = Sizes { step, promise: 3, allowance: 1 << 20 };
            let (found, exact) = hunt(&content, &query, sizes);
            if exact {
                prop_assert_eq!(found, expected, "{} in {:?}", pattern, content);
            }
        }
    }

    #[test]
    fn work_is_bounded() {
        let content = "a".repeat(50_000);
        let sizes = Sizes { step: 10_000, promise: 60_000, allowance: 1 << 20 };
        let (found, exact) = hunt(content.as_bytes(), &query("a*b|a", false), sizes);
        assert!(!exact);
        assert!((20..100).contains(&found.len()), "{}", found.len());
        // A search that passes over everything once never comes near the bound.
        for pattern in ["(?s)a.*?b", "a{1,100}", "(?s).*"] {
            let (_, exact) = hunt(content.as_bytes(), &query(pattern, false), sizes);
            assert!(exact, "{pattern}");
        }
    }

    #[test]
    fn a_match_may_be_longer_than_windows() {
        let content = [&b"xBEGIN"[..], &[b'.'; 5000], b"\nEND", &[b'.'; 30]].concat();
        let sizes = Sizes { step: 64, promise: 64, allowance: 0 };
        let (found, exact) = hunt(&content, &query("(?s)begin.*end", true), sizes);
        assert_eq!((found.first(), found.len(), exact), (Some(&(1..5010)), 1, true));
    }
}
