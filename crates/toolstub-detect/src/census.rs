//! What is counted in every content, in one pass.

use std::ops::ControlFlow;

use toolstub_core::text::escape_sequence_len;
use toolstub_core::utf8;

use crate::content::{Content, Uncut, each_piece};

/// The longest excerpt that a synopsis takes from either end, in characters.
const EXCERPT_CHARS: usize = 500;
/// How many of the first characters are searched for control characters.
const CONTROL_WINDOW: usize = 1000;

/// How many bytes those can take at most.
const CONTROL_BYTES: usize = CONTROL_WINDOW * 8;
/// The longest sample that is kept of either end, in characters: more than any stub is for.
const MAX_SAMPLE_CHARS: usize = 1 << 19;

/// Counts over a whole content, and its two ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Length in bytes.
    pub bytes: u64,
    /// Length in characters; an ill-formed sequence is one.
    pub chars: u64,
    /// Lines: each ends at LF, and a last one without LF counts.
    pub lines: u64,
    /// Bytes that are part of an ill-formed sequence.
    pub ill_formed_bytes: u64,
    /// Whether a NUL stands anywhere.
    pub has_nul: bool,
    /// Control characters among the first 1,000 characters, and how many characters those are.
    ///
    /// White space, form feed, backspace and whole ANSI escape sequences are not counted as control
    /// characters.
    pub controls: (u64, u64),
    /// The first bytes: enough for every excerpt from the start.
    pub head: Vec<u8>,
    /// The last bytes: enough for every excerpt from the end. Equal to `head` if that is all.
    pub tail: Vec<u8>,
}

impl Census {
    /// Counts `content`, keeping what a sample of `sample_chars` (at most 524,288) needs of its
    /// ends.
    pub(crate) fn of<C: Content>(content: &mut C, sample_chars: usize) -> Result<Self, C::Error> {
        let keep = sample_chars.clamp(EXCERPT_CHARS, MAX_SAMPLE_CHARS) * 4;
        let mut census = Self::default();
        let mut last = b'\n';
        let mut uncut = Uncut::default();
        each_piece(content, 0, |piece| {
            census.bytes += piece.len() as u64;
            census.keep(piece, keep);
            last = piece[piece.len() - 1];
            uncut.feed(piece, &mut |block| census.count(block));
            ControlFlow::<()>::Continue(())
        })?;
        uncut.finish(&mut |block| census.count(block));
        census.lines += u64::from(last != b'\n');
        census.controls = controls(&census.head);
        census.head.truncate(keep);
        census.head.shrink_to_fit();
        census.tail.drain(..census.tail.len().saturating_sub(keep));
        Ok(census)
    }

    /// Counts a block that cuts no character.
    fn count(&mut self, block: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', block).count() as u64;
        self.has_nul |= memchr::memchr(0, block).is_some();
        let (chars, ill_formed_bytes) = characters(block);
        self.chars += chars;
        self.ill_formed_bytes += ill_formed_bytes;
    }

    /// Keeps what is wanted of the ends.
    fn keep(&mut self, piece: &[u8], keep: usize) {
        let room = keep.max(CONTROL_BYTES).saturating_sub(self.head.len());
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        let end = &piece[piece.len().saturating_sub(keep)..];
        if end.len() == keep {
            self.tail.clear();
        } else if self.tail.len() + end.len() > 2 * keep {
            self.tail.drain(..self.tail.len() - keep);
        }
        self.tail.extend_from_slice(end);
    }

    /// Whether the content is valid UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.ill_formed_bytes == 0
    }

    /// Whether `head` is the whole content.
    pub fn is_whole(&self) -> bool {
        self.head.len() as u64 == self.bytes
    }
}

/// Counts the characters from `at` up to `end`; an ill-formed sequence is one.
pub(crate) fn count_chars<C: Content>(content: &mut C, at: u64, end: u64) -> Result<u64, C::Error> {
    let (mut chars, mut left) = (0, end.saturating_sub(at));
    let mut uncut = Uncut::default();
    let mut count = |block: &[u8]| chars += characters(block).0;
    each_piece(content, at, |piece| {
        let part = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        left -= part.len() as u64;
        uncut.feed(part, &mut count);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    uncut.finish(&mut count);
    Ok(chars)
}

/// The characters of a block that cuts none, and the bytes of its ill-formed sequences.
fn characters(block: &[u8]) -> (u64, u64) {
    if block.is_ascii() {
        return (block.len() as u64, 0);
    }
    if simdutf8::basic::from_utf8(block).is_ok() {
        return (utf8::count_starts(block), 0);
    }
    block.utf8_chunks().fold((0, 0), |(chars, ill_formed), chunk| {
        let bad = chunk.invalid().len() as u64;
        (
            chars + utf8::count_starts(chunk.valid().as_bytes()) + u64::from(bad > 0),
            ill_formed + bad,
        )
    })
}

fn controls(content: &[u8]) -> (u64, u64) {
    let (mut controls, mut seen) = (0, 0);
    let mut rest = &content[..content.len().min(CONTROL_BYTES)];
    while seen < CONTROL_WINDOW as u64 {
        if let Some(length) = escape_sequence_len(rest) {
            seen += length as u64;
            rest = &rest[length..];
            continue;
        }
        let Some(c) = utf8::chars(&rest[..rest.len().min(4)]).next() else { break };
        seen += 1;
        let counted = c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{8}');
        controls += u64::from(counted);
        rest = &rest[if c == char::REPLACEMENT_CHARACTER { bad_len(rest) } else { c.len_utf8() }..];
    }
    (controls, seen.max(1))
}

/// The length of the character at the start of `bytes`, which reads as U+FFFD.
fn bad_len(bytes: &[u8]) -> usize {
    let chunk = bytes.utf8_chunks().next();
    chunk
        .filter(|chunk| chunk.valid().is_empty())
        .map_or('\u{fffd}'.len_utf8(), |chunk| chunk.invalid().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::BLOCK;
    use crate::content::tests::Pieces;

    fn census(mut bytes: &[u8]) -> Census {
        let Ok(census) = Census::of(&mut bytes, 0);
        census
    }

    #[test]
    fn blocks_do_not_change_the_counts() {
        for unit in ["añ漢🎯\n", "\u{10ffff}", "é", "plain\n"] {
            for shift in 0..8 {
                let mut bytes = vec![b'x'; shift];
                while bytes.len() < 3 * BLOCK {
                    bytes.extend_from_slice(unit.as_bytes());
                }
                let counted = census(&bytes);
                assert_eq!(counted.chars, utf8::count_chars(&bytes));
                assert_eq!(counted.ill_formed_bytes, 0);
                bytes[BLOCK - 2..BLOCK].copy_from_slice(&[0xf0, 0x9f]);
                bytes[2 * BLOCK + 1] = 0xff;
                let counted = census(&bytes);
                let bad =
                    bytes.utf8_chunks().map(|chunk| chunk.invalid().len() as u64).sum::<u64>();
                assert_eq!(
                    (counted.chars, counted.ill_formed_bytes),
                    (utf8::count_chars(&bytes), bad)
                );
            }
        }
    }

    #[test]
    fn both_ends_are_kept_whatever_the_pieces() {
        let bytes: Vec<u8> = (0..20_000_u32).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        for length in [0, 1, 1999, 2000, 2001, 4001, 9000, bytes.len()] {
            let bytes = &bytes[..length];
            for sizes in [&[1][..], &[1999, 3], &[2000], &[4096], &[7, 100_000]] {
                let Ok(census) = Census::of(&mut Pieces::new(bytes, sizes), 0);
                assert_eq!(census.head, &bytes[..length.min(2000)]);
                assert_eq!(census.tail, &bytes[length - length.min(2000)..]);
                assert_eq!(census.bytes, length as u64);
            }
        }
    }

    #[test]
    fn coloured_and_overstruck_text_has_no_controls() {
        assert_eq!(census(b"\x1b[31mred\x1b[0m a\x08a\x0c\t\r\n").controls.0, 0);
        assert_eq!(census(b"a\x01\x02\x1b\n").controls, (3, 5));
    }
}
