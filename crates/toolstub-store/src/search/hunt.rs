//! Finding matches in an original that is seen through windows.
//!
//! Where windows begin and end has no influence on what is found. A literal looks at windows that
//! overlap by its length. A regular expression runs as an automaton that takes the bytes one by
//! one, across windows: forward to a match's end, then backward to its beginning. Nothing but a
//! window and the automaton's states is held, however long a match is.

use std::ops::Range;

use regex_automata::Anchored;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::start;

use super::feed::{Built, Event, feed};
use super::query::{Query, Streamed, Windowed};
use crate::StoreError;
use crate::chars::{self, MAX_CHAR};
use crate::store::Window;

/// What `^`, `$` and `\b` look at on either side of a place, in bytes.
const LOOK: u64 = MAX_CHAR as u64;

/// How many bytes automata are fed at a time. What it takes is looked at in between.
const FED: u64 = 1024;

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

/// Why automata stopped early.
enum Halt {
    /// They cannot judge a byte.
    Unjudged,
    /// The work that a search may do is done; they were fed up to this place.
    Spent(u64),
}

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
        if self.is_spent() {
            return Ok(Next::Spent(self.cursor));
        }
        let total = self.windows.total();
        while self.cursor <= total {
            let found = match self.find().await? {
                Next::Match(found) => found,
                Next::End => break,
                Next::Spent(place) => {
                    self.cursor = place;
                    return Ok(Next::Spent(place));
                }
            };
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

    async fn find(&mut self) -> Result<Next, StoreError> {
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
                        Ok(found) => return Ok(found.map_or(Next::End, Next::Match)),
                        Err(Halt::Unjudged) => self.beyond_ascii = true,
                        Err(Halt::Spent(at)) => return self.spent(at, streamed.longest).await,
                    }
                }
                match &streamed.beyond_ascii {
                    Some(windowed) => self.find_regex(windowed).await,
                    // Automata without word borders judge every byte.
                    None => Ok(Next::End),
                }
            }
        }
    }

    /// Where to go on if the work is done before there is a match: what may be open at the place
    /// that was come to is not to be missed, unless there were no way forward.
    async fn spent(&mut self, at: u64, longest: Option<usize>) -> Result<Next, StoreError> {
        let promise = self.sizes.promise;
        let reach = longest.map_or(promise, |longest| promise.min(longest as u64));
        let half = self.cursor + at.saturating_sub(self.cursor) / 2;
        let place = half.max(at.saturating_sub(reach + LOOK));
        self.cover(place.saturating_sub(LOOK)..place + LOOK).await?;
        let base = self.window.base;
        let floor = base + chars::floor(&self.window.bytes, (place - base) as usize) as u64;
        Ok(Next::Spent(floor.max(self.cursor)))
    }

    fn is_spent(&self) -> bool {
        self.work > self.allowance
    }

    async fn find_regex(&mut self, windowed: &Windowed) -> Result<Next, StoreError> {
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
    ) -> Result<Next, StoreError> {
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
                return Ok(found.map_or(Next::End, Next::Match));
            }
            self.exact &= bounded;
            // What begins behind this place may be cut by the window's end.
            let certain = end - (reach + LOOK);
            match found {
                Some(found) if found.start <= certain => return Ok(Next::Match(found)),
                _ => self.cursor = self.cursor.max(certain + 1),
            }
        }
    }

    /// Finds by feeding automata.
    async fn find_streamed(
        &mut self,
        streamed: &Streamed,
    ) -> Result<Result<Option<Range<u64>>, Halt>, StoreError> {
        // The caches are put back whatever happens: without them there is nothing to go on with.
        let Some(mut caches) = self.caches.take() else { return Ok(Err(Halt::Unjudged)) };
        let (forward, reverse) = &mut *caches;
        let found = match self.find_end(&streamed.forward, forward).await {
            Ok(Ok(Some(end))) => match self.find_start(&streamed.reverse, reverse, end).await {
                Ok(start) => Ok(start.map(|start| Some(start..end))),
                Err(error) => Err(error),
            },
            Ok(Ok(None)) => Ok(Ok(None)),
            Ok(Err(halt)) => Ok(Err(halt)),
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
    ) -> Result<Result<Option<u64>, Halt>, StoreError> {
        let total = self.windows.total();
        let before = match self.cursor.checked_sub(1) {
            Some(before) => Some(self.byte(before).await?),
            None => None,
        };
        let config = start::Config::new().anchored(Anchored::No).look_behind(before);
        let Ok(mut state) = dfa.start_state(cache, &config) else { return Ok(Err(Halt::Unjudged)) };
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
            if self.is_spent() {
                self.exact = false;
                return Ok(if end.is_some() { Ok(end) } else { Err(Halt::Spent(at)) });
            }
            let within = |place: u64| (place - self.window.base) as usize;
            let until = self.window.end().min(bound).min(at + FED);
            let bytes = &self.window.bytes[within(at)..within(until)];
            let built = Built::new(cache);
            let (fed, event) = feed(dfa, cache, &mut state, bytes.iter());
            self.work += fed as u64 + 1 + built.price_since(dfa, cache);
            let place = at + fed as u64;
            match event {
                Event::None => at = place,
                Event::Match => {
                    // A match is told with the byte behind it.
                    end = Some(place);
                    at = place + 1;
                }
                Event::Dead => return Ok(Ok(end)),
                Event::Quit => return Ok(Err(Halt::Unjudged)),
            }
        }
        match dfa.next_eoi_state(cache, state) {
            Ok(state) if state.is_match() => Ok(Ok(Some(total))),
            Ok(_) => Ok(Ok(end)),
            Err(_) => Ok(Err(Halt::Unjudged)),
        }
    }

    /// Where the match begins that ends at `end`.
    async fn find_start(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
        end: u64,
    ) -> Result<Result<u64, Halt>, StoreError> {
        let low = self.cursor;
        if end == low {
            return Ok(Ok(low));
        }
        let after = if end < self.windows.total() { Some(self.byte(end).await?) } else { None };
        let config = start::Config::new().anchored(Anchored::Yes).look_behind(after);
        let Ok(mut state) = dfa.start_state(cache, &config) else { return Ok(Err(Halt::Unjudged)) };
        let mut at = end;
        let mut start = end;
        while at > low {
            if self.window.base >= at || self.window.end() < at {
                self.cover(at.saturating_sub(self.sizes.step).max(low)..at).await?;
            }
            // The match that used up the work is still told if it takes no more than as much again.
            if self.work > self.allowance.saturating_mul(2) {
                self.exact = false;
                return Ok(Err(Halt::Spent(end)));
            }
            let within = |place: u64| (place - self.window.base) as usize;
            let from = low.max(self.window.base).max(at.saturating_sub(FED));
            let bytes = &self.window.bytes[within(from)..within(at)];
            let built = Built::new(cache);
            let (fed, event) = feed(dfa, cache, &mut state, bytes.iter().rev());
            self.work += fed as u64 + 1 + built.price_since(dfa, cache);
            match event {
                Event::None => at -= fed as u64,
                Event::Match => {
                    start = at - fed as u64;
                    at = start - 1;
                }
                Event::Dead => return Ok(Ok(start)),
                Event::Quit => return Ok(Err(Halt::Unjudged)),
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
            Ok(_) | Err(_) => Ok(Err(Halt::Unjudged)),
        }
    }
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
            let sizes = Sizes { step, promise: 200, allowance: 1 << 24 };
            let (found, exact) = hunt(&content, &query, sizes);
            prop_assert_eq!(&found, &expected, "{} in {:?}", pattern, content);
            prop_assert!(exact);
            // With less, it is right where it says that it is certain.
            let sizes = Sizes { step, promise: 3, allowance: 1 << 24 };
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
    fn states_without_end_are_work_too() {
        let odd = |n: u32| (n.wrapping_mul(2_654_435_761) >> 13).count_ones() % 2 == 1;
        let content: String = (0..200_000).map(|n| if odd(n) { 'a' } else { 'b' }).collect();
        let query = query("a.{300}c", false);
        let sizes = Sizes { step: 10_000, promise: 64 << 10, allowance: 1 << 20 };
        let slices = Slices(content.into());
        let mut begin = 0;
        for _ in 0..3 {
            let mut hunt = Hunt::new(&slices, &query, sizes, begin);
            let next = hunt.next().now_or_never().unwrap().unwrap();
            let Next::Spent(place) = next else { panic!("{next:?}") };
            assert!(begin < place && place < begin + 20_000, "{begin} {place}");
            begin = place;
        }
    }

    #[test]
    fn a_match_may_be_longer_than_windows() {
        let content = [&b"xBEGIN"[..], &[b'.'; 5000], b"\nEND", &[b'.'; 30]].concat();
        let sizes = Sizes { step: 64, promise: 64, allowance: 1 << 20 };
        let (found, exact) = hunt(&content, &query("(?s)begin.*end", true), sizes);
        assert_eq!((found.first(), found.len(), exact), (Some(&(1..5010)), 1, true));
    }
}
