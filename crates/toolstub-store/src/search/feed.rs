//! Feeding an automaton, and what it costs.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};

/// How many bytes could be gone over in the time that a byte of an automaton's states takes to be
/// built. Patterns such as `a.{300}c` come to a new state with nearly every byte.
const STATE_PRICE: u64 = 4;

/// What an automaton says of the last byte that it was fed.
pub(super) enum Event {
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
pub(super) fn feed<'b>(
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

/// The states that an automaton had built at some moment.
pub(super) struct Built {
    bytes: usize,
    clearings: usize,
}

impl Built {
    pub(super) fn new(cache: &Cache) -> Self {
        Self { bytes: cache.memory_usage(), clearings: cache.clear_count() }
    }

    /// What the states cost that were built since.
    pub(super) fn price_since(&self, dfa: &DFA, cache: &Cache) -> u64 {
        let now = Self::new(cache);
        let bytes = match now.clearings - self.clearings {
            0 => now.bytes.saturating_sub(self.bytes),
            clearings => {
                // Each took place when the states were as large as they may get.
                let full = self.bytes.max(dfa.get_config().get_cache_capacity());
                (clearings * full + now.bytes).saturating_sub(self.bytes)
            }
        };
        bytes as u64 * STATE_PRICE
    }
}
