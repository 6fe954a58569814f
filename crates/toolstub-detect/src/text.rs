//! Text: everything that people read and nothing else claims.

use memchr::memchr_iter;
use toolstub_core::text::is_white_space_byte;

use crate::content::{Content, each_block};
use crate::distinct::Distinct;

/// How many section headers are kept.
const MAX_HEADERS: usize = 18;
/// How much of a header is kept, in bytes: more than is ever shown.
const HEADER_BYTES: usize = 800;
/// How much of a line is looked at, in bytes.
const LINE_BYTES: usize = 16 << 10;
/// The shortest line in capitals that is a header, in characters.
const MIN_CAPITALS: usize = 7;

/// The evidence of text; its ends stand in the census.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// Runs of characters that are not white space.
    pub words: u64,
    /// Section headers, each once, in source order; the first 18.
    pub headers: Vec<String>,
    /// How many different section headers there are.
    pub header_count: u64,
}

pub(crate) fn scan<C: Content>(content: &mut C) -> Result<Text, C::Error> {
    let mut headers = Headers::default();
    let mut words = Words::default();
    each_block(content, 0, |block| {
        headers.feed(block);
        words.feed(block);
    })?;
    headers.finish();
    Ok(Text {
        words: words.count,
        headers: headers.first,
        header_count: headers.distinct.count().at_least,
    })
}

/// The section headers found so far.
#[derive(Debug, Default)]
struct Headers {
    /// The mark and length of the code fence that is open.
    fence: Option<(u8, usize)>,
    /// The start of a line that goes on in the next block.
    begun: Vec<u8>,
    first: Vec<String>,
    distinct: Distinct,
}

impl Headers {
    fn feed(&mut self, block: &[u8]) {
        let mut start = 0;
        for end in memchr_iter(b'\n', block) {
            if start == 0 && !self.begun.is_empty() {
                self.begin(&block[..end]);
                self.finish();
            } else {
                self.line(&block[start..end]);
            }
            start = end + 1;
        }
        self.begin(&block[start..]);
    }

    fn begin(&mut self, part: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Ends the line that has begun.
    fn finish(&mut self) {
        let mut line = std::mem::take(&mut self.begun);
        self.line(&line);
        line.clear();
        self.begun = line;
    }

    fn line(&mut self, line: &[u8]) {
        let line = &line[..line.len().min(LINE_BYTES)];
        let indent = line.iter().take_while(|&&byte| byte == b' ').count();
        let Some(&first) = line.get(indent) else { return };
        match first {
            b'`' | b'~' if indent <= 3 => self.fence_line(&line[indent..], first),
            _ if self.fence.is_some() => {}
            b'#' if indent <= 3 && is_heading(&line[indent..]) => self.add(line),
            b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'-' if is_capitals(line) => self.add(line),
            _ => {}
        }
    }

    fn fence_line(&mut self, line: &[u8], mark: u8) {
        let length = line.iter().take_while(|&&byte| byte == mark).count();
        if length < 3 {
            return;
        }
        self.fence = match self.fence {
            None => Some((mark, length)),
            // A fence is closed by its own mark, at least as long, with nothing behind it.
            Some((open, needed))
                if open == mark
                    && length >= needed
                    && line[length..].iter().all(|&byte| is_white_space_byte(byte)) =>
            {
                None
            }
            open => open,
        };
    }

    fn add(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if self.distinct.insert(line) && self.first.len() < MAX_HEADERS {
            self.first.push(crate::excerpt(line, HEADER_BYTES));
        }
    }
}

/// Whether a line that begins with `#` is a Markdown heading with words in it.
fn is_heading(line: &[u8]) -> bool {
    let marks = line.iter().take_while(|&&byte| byte == b'#').count();
    let rest = &line[marks..];
    marks <= 6
        && matches!(rest.first(), Some(b' ' | b'\t'))
        && !rest.trim_ascii().iter().all(|&byte| byte == b'#')
}

fn is_capitals(line: &[u8]) -> bool {
    let allowed = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b' ' | b':' | b'_' | b'-');
    let line = line.trim_ascii();
    line.len() >= MIN_CAPITALS
        && line.iter().all(allowed)
        && line.iter().any(u8::is_ascii_uppercase)
}

/// Counts the runs of characters that are not white space.
#[derive(Debug)]
struct Words {
    count: u64,
    after_space: bool,
}

impl Default for Words {
    fn default() -> Self {
        Self { count: 0, after_space: true }
    }
}

impl Words {
    /// Counts on in a block that cuts no character.
    fn feed(&mut self, mut rest: &[u8]) {
        const BLOCK: usize = 64;
        let (mut words, mut after_space) = (0, self.after_space);
        loop {
            // Whole ASCII blocks go through a loop that the compiler turns into vector code.
            while let Some((block, tail)) = rest.split_first_chunk::<BLOCK>() {
                if !block.is_ascii() {
                    break;
                }
                let mut space = [0_u8; BLOCK + 1];
                space[0] = u8::from(after_space);
                for (flag, &byte) in space[1..].iter_mut().zip(block) {
                    *flag = u8::from(is_white_space_byte(byte));
                }
                let starts: u8 = (0..BLOCK).map(|i| space[i] & (space[i + 1] ^ 1)).sum();
                words += u64::from(starts);
                after_space = space[BLOCK] == 1;
                rest = tail;
            }
            if rest.is_empty() {
                break;
            }
            // The block with other characters, and the last one, go a character at a time.
            let stop = rest.len().saturating_sub(BLOCK - 1);
            while rest.len() >= stop.max(1) {
                let space = white_space_len(rest);
                if space > 0 {
                    after_space = true;
                    rest = &rest[space..];
                } else {
                    words += u64::from(std::mem::replace(&mut after_space, false));
                    rest = &rest[1..];
                }
            }
        }
        self.count += words;
        self.after_space = after_space;
    }
}

/// The length of the white space character at the start of `bytes`; 0 if there is none.
fn white_space_len(bytes: &[u8]) -> usize {
    match bytes {
        [byte, ..] if byte.is_ascii() => usize::from(is_white_space_byte(*byte)),
        [0xc2, 0x85 | 0xa0, ..] => 2,
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toolstub_core::text::is_white_space;

    use super::*;

    #[track_caller]
    fn has_headers(text: &str, expected: &[&str]) {
        let Ok(found) = scan(&mut text.as_bytes());
        assert_eq!(found.headers, expected);
    }

    #[test]
    fn headings_and_capitals_are_headers() {
        has_headers("# One\ntext\n## Two ##\n#no\n####### seven\n# One\n", &["# One", "## Two ##"]);
        has_headers(
            "SYNOPSIS\nNAME\n  OPTIONS: A_B-2\n-------\n1234567\n",
            &["SYNOPSIS", "OPTIONS: A_B-2"],
        );
    }

    #[test]
    fn nothing_in_a_fence_is_a_header() {
        has_headers("```sh\n# no\n~~~\nNO HEADER\n```\n# yes\n~~~~\n# no\n~~~\n", &["# yes"]);
    }

    #[test]
    fn every_white_space_character_is_known() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            let expected = if is_white_space(c) { bytes.len() } else { 0 };
            assert_eq!(white_space_len(bytes), expected, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn words_are_runs_between_white_space(
            pieces in prop::collection::vec("[a-c \n\u{a0}\u{3000}\u{1c}é漢]{0,40}", 0..12)
        ) {
            let text = pieces.concat();
            let expected = text.split(is_white_space).filter(|word| !word.is_empty()).count();
            let Ok(found) = scan(&mut text.as_bytes());
            prop_assert_eq!(found.words, expected as u64);
        }
    }
}
