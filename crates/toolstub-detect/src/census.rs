//! What is counted in every content, in one pass.

use toolstub_core::text::escape_sequence_len;
use toolstub_core::utf8;

/// The longest excerpt that a synopsis takes from either end, in characters.
const EXCERPT_CHARS: usize = 500;
/// How many of the first characters are searched for control characters.
const CONTROL_WINDOW: usize = 1000;

/// How much is counted at a time, in bytes.
const BLOCK: usize = 32 << 10;

/// Counts over a whole content, and its two ends.
#[derive(Debug, Clone, Default)]
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
    /// Counts `content`, keeping what a sample of `sample_chars` needs of its ends.
    pub fn of(content: &[u8], sample_chars: usize) -> Self {
        let keep = sample_chars.max(EXCERPT_CHARS).saturating_mul(4).min(content.len());
        let mut census = Self {
            bytes: content.len() as u64,
            controls: controls(content),
            head: content[..keep].to_vec(),
            tail: content[content.len() - keep..].to_vec(),
            ..Self::default()
        };
        for block in blocks(content) {
            census.lines += memchr::memchr_iter(b'\n', block).count() as u64;
            census.has_nul |= memchr::memchr(0, block).is_some();
            let (chars, ill_formed_bytes) = characters(block);
            census.chars += chars;
            census.ill_formed_bytes += ill_formed_bytes;
        }
        census.lines += u64::from(content.last().is_some_and(|&last| last != b'\n'));
        census
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

/// Counts the characters of `bytes`; an ill-formed sequence is one.
pub(crate) fn count_chars(bytes: &[u8]) -> u64 {
    blocks(bytes).map(|block| characters(block).0).sum()
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

fn blocks(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (block, tail) = rest.split_at(block_len(rest));
        rest = tail;
        (!block.is_empty()).then_some(block)
    })
}

/// The length of the next block: some kilobytes that stay in the cache while they are counted,
/// ending where no character is cut.
fn block_len(rest: &[u8]) -> usize {
    if rest.len() <= BLOCK {
        return rest.len();
    }
    // A sequence has at most four bytes: a lead byte among the last three may begin one that the
    // block would cut. Moving it to the next block is right whether it is well-formed or not.
    let lead = (BLOCK - 3..BLOCK).rev().find(|&at| !utf8::is_continuation(rest[at]));
    lead.filter(|&at| rest[at] >= 0x80).unwrap_or(BLOCK)
}

fn controls(content: &[u8]) -> (u64, u64) {
    let (mut controls, mut seen) = (0, 0);
    let mut rest = &content[..content.len().min(CONTROL_WINDOW * 8)];
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

    #[test]
    fn blocks_do_not_change_the_counts() {
        for unit in ["añ漢🎯\n", "\u{10ffff}", "é", "plain\n"] {
            for shift in 0..8 {
                let mut bytes = vec![b'x'; shift];
                while bytes.len() < 3 * BLOCK {
                    bytes.extend_from_slice(unit.as_bytes());
                }
                let census = Census::of(&bytes, 0);
                assert_eq!(census.chars, utf8::count_chars(&bytes));
                assert_eq!(census.ill_formed_bytes, 0);
                bytes[BLOCK - 2..BLOCK].copy_from_slice(&[0xf0, 0x9f]);
                bytes[2 * BLOCK + 1] = 0xff;
                let census = Census::of(&bytes, 0);
                let bad =
                    bytes.utf8_chunks().map(|chunk| chunk.invalid().len() as u64).sum::<u64>();
                assert_eq!(
                    (census.chars, census.ill_formed_bytes),
                    (utf8::count_chars(&bytes), bad)
                );
            }
        }
    }

    #[test]
    fn coloured_and_overstruck_text_has_no_controls() {
        assert_eq!(Census::of(b"\x1b[31mred\x1b[0m a\x08a\x0c\t\r\n", 0).controls.0, 0);
        assert_eq!(Census::of(b"a\x01\x02\x1b\n", 0).controls, (3, 5));
    }
}
