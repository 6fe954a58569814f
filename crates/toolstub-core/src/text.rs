//! The rules for text from a content that stands in a line of a stub.

/// Where a cut string ends.
pub const ELLIPSIS: &str = "...";

/// The longest terminal escape sequence that is taken for one, in bytes.
///
/// A sequence that carries a string (a title, a hyperlink) ends at its terminator; without a bound,
/// one stray escape character could swallow the rest of a content.
const MAX_ESCAPE_SEQUENCE: usize = 4096;

/// Whether a character is white space: Unicode `White_Space` and U+001C–U+001F.
pub fn is_white_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Whether a byte is white space on its own; all other white space is not ASCII.
pub fn is_white_space_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | 0x1c..=0x1f)
}

/// Whether a character changes the direction of the text around it.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The length in bytes of the ANSI escape sequence at the start of `bytes`, if a whole one stands
/// there.
///
/// ```
/// use toolstub_core::text::escape_sequence_len;
/// assert_eq!(escape_sequence_len(b"\x1b[31mred"), Some(5));
/// assert_eq!(escape_sequence_len(b"\x1b]0;title\x07text"), Some(10));
/// assert_eq!(escape_sequence_len(b"\x1b[3"), None);
/// assert_eq!(escape_sequence_len(b"plain"), None);
/// ```
pub fn escape_sequence_len(bytes: &[u8]) -> Option<usize> {
    let (&0x1b, rest) = bytes.split_first()? else { return None };
    let rest = &rest[..rest.len().min(MAX_ESCAPE_SEQUENCE)];
    let body = match rest.first()? {
        b'[' => {
            let parameters = rest[1..].iter().take_while(|b| (0x20..=0x3f).contains(*b)).count();
            let last = rest.get(1 + parameters)?;
            (0x40..=0x7e).contains(last).then_some(parameters + 2)?
        }
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let end = rest.iter().position(|b| matches!(b, 0x07 | 0x1b | b'\n' | b'\r'))?;
            match rest[end] {
                0x07 => end + 1,
                0x1b if rest.get(end + 1) == Some(&b'\\') => end + 2,
                _ => return None,
            }
        }
        _ => {
            let intermediates = rest.iter().take_while(|b| (0x20..=0x2f).contains(*b)).count();
            let last = rest.get(intermediates)?;
            (0x30..=0x7e).contains(last).then_some(intermediates + 1)?
        }
    };
    Some(body + 1)
}

/// One cleaned line of at most `cap` characters.
///
/// White space is folded to single spaces and trimmed; ANSI sequences, control and bidi control
/// characters, U+200B and U+FEFF are removed. A line that is cut ends in `...`, within the cap.
///
/// ```
/// use toolstub_core::text::clean;
/// assert_eq!(clean("  a\n\tb\u{202e} \x1b[1mc\x1b[0m ", 80), "a b c");
/// assert_eq!(clean("abcdefgh", 6), "abc...");
/// ```
pub fn clean(text: &str, cap: usize) -> String {
    clean_bytes(text.as_bytes(), cap)
}

/// [`clean`] for bytes that may not be UTF-8: each ill-formed sequence reads as U+FFFD.
pub fn clean_bytes(mut bytes: &[u8], cap: usize) -> String {
    let mut line = CappedLine::new(cap);
    while !bytes.is_empty() && !line.is_full() {
        // A piece is either plain or begins with an escape character.
        let escape = bytes.iter().position(|&byte| byte == 0x1b).unwrap_or(bytes.len());
        if escape == 0 {
            bytes = &bytes[escape_sequence_len(bytes).unwrap_or(1)..];
            continue;
        }
        for c in crate::utf8::chars(&bytes[..escape]) {
            line.push(c);
            if line.is_full() {
                break;
            }
        }
        bytes = &bytes[escape..];
    }
    line.finish()
}

/// A line under construction that never holds more than it can show.
struct CappedLine {
    text: String,
    chars: usize,
    cap: usize,
    /// Where the text must be cut to leave room for the ellipsis.
    cut: usize,
    space_due: bool,
    over: bool,
}

impl CappedLine {
    fn new(cap: usize) -> Self {
        Self { text: String::new(), chars: 0, cap, cut: 0, space_due: false, over: false }
    }

    fn is_full(&self) -> bool {
        self.over
    }

    fn push(&mut self, c: char) {
        if is_white_space(c) {
            self.space_due = self.chars > 0;
        } else if !(c.is_control() || is_bidi_control(c) || matches!(c, '\u{200b}' | '\u{feff}')) {
            if std::mem::take(&mut self.space_due) {
                self.put(' ');
            }
            self.put(c);
        }
    }

    fn put(&mut self, c: char) {
        if self.chars == self.cap {
            self.over = true;
            return;
        }
        self.text.push(c);
        self.chars += 1;
        if self.chars + ELLIPSIS.len() <= self.cap {
            self.cut = self.text.len();
        }
    }

    fn finish(mut self) -> String {
        if self.over {
            self.text.truncate(self.cut);
            let room = self.cap - self.text.chars().count();
            self.text.push_str(&ELLIPSIS[..room.min(ELLIPSIS.len())]);
        }
        self.text
    }
}

/// An excerpt as a sample shows it, and how many bytes of the content it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The shown text; lines are separated by LF, everything invisible is escaped.
    pub shown: String,
    /// Bytes of the content that the excerpt covers.
    pub bytes: usize,
}

/// The start of `bytes` in at most `cap` shown characters.
pub fn sample_head(bytes: &[u8], cap: usize) -> Excerpt {
    let mut excerpt = Excerpt { shown: String::new(), bytes: 0 };
    let mut room = cap;
    for (c, length) in chars_with_len(bytes) {
        let shown = shown(c);
        let Some(left) = room.checked_sub(shown.chars().count()) else { break };
        room = left;
        excerpt.shown.push_str(&shown);
        excerpt.bytes += length;
    }
    excerpt
}

/// The end of `bytes` in at most `cap` shown characters.
pub fn sample_tail(bytes: &[u8], cap: usize) -> Excerpt {
    // A shown character takes at most four bytes of the content; starting a little earlier than
    // needed lets an ill-formed sequence at the seam be read whole.
    let start = bytes.len().saturating_sub(cap.saturating_mul(4).saturating_add(4));
    let mut pieces: Vec<(String, usize)> =
        chars_with_len(&bytes[start..]).map(|(c, length)| (shown(c), length)).collect();
    let mut room = cap;
    let kept = pieces.iter().rev().take_while(|(shown, _)| {
        let left = room.checked_sub(shown.chars().count());
        room = left.unwrap_or(0);
        left.is_some()
    });
    let kept = pieces.split_off(pieces.len() - kept.count());
    Excerpt {
        bytes: kept.iter().map(|(_, length)| length).sum(),
        shown: kept.into_iter().map(|(shown, _)| shown).collect(),
    }
}

fn shown(c: char) -> String {
    match c {
        '\n' => "\n".to_owned(),
        c => sample_escape(c).unwrap_or_else(|| c.to_string()),
    }
}

fn chars_with_len(bytes: &[u8]) -> impl Iterator<Item = (char, usize)> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let bad = (!chunk.invalid().is_empty())
            .then_some((char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
        chunk.valid().chars().map(|c| (c, c.len_utf8())).chain(bad)
    })
}

/// What a character becomes in a sample: itself, or a visible escape such as `\x1b` or `\u{202e}`.
///
/// Escaped are control, bidi control, zero-width and line-separating characters. LF is left to the
/// caller, who splits lines at it.
pub fn sample_escape(c: char) -> Option<String> {
    match c {
        '\t' => Some("\\t".to_owned()),
        '\r' => Some("\\r".to_owned()),
        c if c.is_ascii_control() => Some(format!("\\x{:02x}", u32::from(c))),
        '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}' => {
            Some(format!("\\u{{{:x}}}", u32::from(c)))
        }
        c if c.is_control() || is_bidi_control(c) => Some(format!("\\u{{{:x}}}", u32::from(c))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cleans(raw: &str, cap: usize, line: &str) {
        assert_eq!(clean(raw, cap), line);
    }

    #[test]
    fn white_space_is_folded_and_trimmed() {
        cleans("\u{3000}a\u{a0}\r\n\u{1c}b\u{85}", 80, "a b");
        cleans(" \n ", 80, "");
    }

    #[test]
    fn hidden_characters_are_removed_and_joiners_stay() {
        cleans("a\u{200b}b\u{feff}c\u{7}d\u{9b}e\u{2066}f", 80, "abcdef");
        cleans("👩\u{200d}👧", 80, "👩\u{200d}👧");
        cleans("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", 80, "alinkb");
        cleans("a\x1b]never ended", 80, "a]never ended");
    }

    #[test]
    fn a_cut_line_ends_in_dots_within_its_cap() {
        cleans("abcdef", 6, "abcdef");
        cleans("abcdef  ", 6, "abcdef");
        cleans("abcdefg", 6, "abc...");
        cleans("漢字漢字漢字", 5, "漢字...");
        cleans("abcd", 2, "..");
        cleans("abcd", 0, "");
    }

    #[test]
    fn excerpts_count_what_is_shown() {
        let bytes = b"a\n\x00b\xffc";
        let head = |cap| sample_head(bytes, cap);
        assert_eq!(head(99).shown, "a\n\\x00b\u{fffd}c");
        assert_eq!(head(99).bytes, bytes.len());
        assert_eq!(head(6), Excerpt { shown: "a\n\\x00".to_owned(), bytes: 3 });
        assert_eq!(head(5), Excerpt { shown: "a\n".to_owned(), bytes: 2 });
        assert_eq!(sample_tail(bytes, 3), Excerpt { shown: "b\u{fffd}c".to_owned(), bytes: 3 });
        assert_eq!(sample_tail(bytes, 6).bytes, 3);
        assert_eq!(sample_tail(bytes, 7).bytes, 4);
        assert_eq!(sample_tail(bytes, 0).bytes, 0);
    }

    #[test]
    fn samples_show_what_cannot_be_seen() {
        assert_eq!(sample_escape('\u{1b}').as_deref(), Some("\\x1b"));
        assert_eq!(sample_escape('\u{202e}').as_deref(), Some("\\u{202e}"));
        assert_eq!(sample_escape('\u{85}').as_deref(), Some("\\u{85}"));
        assert_eq!(sample_escape('é'), None);
    }
}
