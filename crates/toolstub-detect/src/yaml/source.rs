//! The text as saphyr-parser reads it, with a bound on what it may hold at once.

use std::cell::Cell;

use saphyr_parser::Input;

/// How far the parser looks ahead when it looks ahead in bulk, in characters.
const AHEAD: usize = 16;
/// How many flow indicators may be read between two events.
///
/// A flow collection that may turn out to be a key is held as tokens until it ends, at some 250
/// bytes of memory for each two of the source. Scalars cost what they are long, and are not bound.
const INDICATORS: u32 = 100_000;

/// What is left of the indicators; it is filled up again with every event.
#[derive(Debug)]
pub(super) struct Allowance(Cell<u32>);

impl Allowance {
    pub(super) fn new() -> Self {
        Self(Cell::new(INDICATORS))
    }

    pub(super) fn renew(&self) {
        self.0.set(INDICATORS);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// A string that ends early when the allowance is spent.
#[derive(Debug)]
pub(super) struct Source<'a> {
    rest: &'a str,
    /// How many characters were asked for and not yet read: the buffer that the parser believes in.
    ahead: usize,
    allowance: &'a Allowance,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, allowance: &'a Allowance) -> Self {
        Self { rest: text, ahead: 0, allowance }
    }

    #[inline]
    fn first(&self) -> Option<char> {
        match self.rest.as_bytes().first() {
            Some(&byte) if byte < 0x80 => Some(char::from(byte)),
            Some(_) => self.rest.chars().next(),
            None => None,
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<char> {
        let first = self.first()?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }
}

impl Input for Source<'_> {
    #[inline]
    fn lookahead(&mut self, count: usize) {
        self.ahead = self.ahead.max(count);
    }

    #[inline]
    fn buflen(&self) -> usize {
        self.ahead
    }

    #[inline]
    fn bufmaxlen(&self) -> usize {
        AHEAD
    }

    #[inline]
    fn raw_read_ch(&mut self) -> char {
        self.pop().unwrap_or('\0')
    }

    #[inline]
    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        match self.first() {
            Some('\n' | '\r' | '\0' | '\u{feff}') | None => None,
            Some(_) => self.pop(),
        }
    }

    #[inline]
    fn skip(&mut self) {
        self.ahead = self.ahead.saturating_sub(1);
        if let Some('[' | ']' | '{' | '}' | ',' | ':') = self.pop() {
            let left = self.allowance.0.get().saturating_sub(1);
            self.allowance.0.set(left);
            if left == 0 {
                self.rest = "";
            }
        }
    }

    #[inline]
    fn skip_n(&mut self, count: usize) {
        for _ in 0..count {
            self.skip();
        }
    }

    #[inline]
    fn peek(&self) -> char {
        self.first().unwrap_or('\0')
    }

    #[inline]
    fn peek_nth(&self, n: usize) -> char {
        match self.rest.as_bytes().get(..=n) {
            Some(bytes) if bytes.is_ascii() => char::from(bytes[n]),
            _ => self.rest.chars().nth(n).unwrap_or('\0'),
        }
    }

    #[inline]
    fn peek_opt(&self) -> Option<char> {
        self.first()
    }
}
