//! What is counted in every content, in one pass.

use toolstub_core::text::escape_sequence_len;
use toolstub_core::utf8;

/// The longest excerpt that a synopsis takes from either end, in characters.
const EXCERPT_CHARS: usize = 500;
/// How many of the first characters are searched for control characters.
const CONTROL_WINDOW: usize = 1000;

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
            lines: memchr::memchr_iter(b'\n', content).count() as u64,
            has_nul: memchr::memchr(0, content).is_some(),
            controls: controls(content),
            head: content[..keep].to_vec(),
            tail: content[content.len() - keep..].to_vec(),
            ..Self::default()
        };
        census.lines += u64::from(content.last().is_some_and(|&last| last != b'\n'));
        if simdutf8::basic::from_utf8(content).is_ok() {
            census.chars = utf8::count_starts(content);
        } else {
            for chunk in content.utf8_chunks() {
                let bad = chunk.invalid().len() as u64;
                census.chars += utf8::count_starts(chunk.valid().as_bytes()) + u64::from(bad > 0);
                census.ill_formed_bytes += bad;
            }
        }
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
