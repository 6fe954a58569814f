//! The lines of a source, one after the other.

use memchr::{memchr, memmem};

/// The longest part of a line that is looked at.
const LINE_BYTES: usize = 16 << 10;

/// Walks over lines; a scanner may skip ahead in the source.
#[derive(Debug, Clone)]
pub(super) struct Lines<'a> {
    source: &'a [u8],
    at: usize,
    /// How much may still be read ahead in vain.
    ahead: usize,
}

/// A line without its ending and without its indentation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where the text begins in the source.
    pub(super) at: usize,
    /// How far it is indented, a tab counting as eight.
    pub(super) indent: usize,
    /// The text; empty for a blank line.
    pub(super) text: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        Self { source, at: 0, ahead: source.len().saturating_mul(2) }
    }

    /// What has not been walked over.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.source[self.at..]
    }

    /// Where the next line begins.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes on at the line after the one in which `position` stands.
    pub(super) fn skip_past(&mut self, position: usize) {
        let position = position.clamp(self.at, self.source.len());
        let rest = &self.source[position..];
        self.at = position + memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    /// Goes on behind the next line that begins with `mark`, or at the end.
    pub(super) fn skip_to(&mut self, mark: &[u8]) {
        let mut from = self.at;
        loop {
            let Some(found) = memmem::find(&self.source[from..], mark) else {
                self.at = self.source.len();
                return;
            };
            let at = from + found;
            if at == 0 || self.source[at - 1] == b'\n' {
                self.skip_past(at);
                return;
            }
            from = at + 1;
        }
    }

    /// Skips a here-document whose opening stands in `line`, if one does.
    pub(super) fn skip_heredoc(&mut self, line: &[u8]) {
        let Some(open) = memmem::find(line, b"<<") else { return };
        let label = &line[open + 2..];
        let Some(label) = heredoc_label(label) else { return };
        let mut ahead = self.clone();
        while let Some(line) = ahead.next() {
            if line.text.strip_prefix(label).is_some_and(|rest| rest.is_empty() || rest == b";") {
                *self = ahead;
                return;
            }
            if ahead.at - self.at > self.ahead {
                break;
            }
        }
        self.ahead = self.ahead.saturating_sub(ahead.at - self.at);
    }
}

fn heredoc_label(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"-").or(text.strip_prefix(b"~")).unwrap_or(text);
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"\\").unwrap_or(text);
    let quotes = text.iter().take_while(|b| matches!(b, b'"' | b'\'' | b'`')).count();
    let label = &text[quotes..];
    let length = super::words::word_len(label);
    (length > 0 && !label[0].is_ascii_digit() && label[0] != b'$').then(|| &label[..length])
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.source.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..length.min(LINE_BYTES)];
        let mut indent = 0;
        let mut start = 0;
        for &byte in line {
            match byte {
                b' ' => indent += 1,
                b'\t' => indent = (indent / 8 + 1) * 8,
                _ => break,
            }
            start += 1;
        }
        let at = self.at + start;
        self.at += length + 1;
        self.at = self.at.min(self.source.len());
        Some(Line { at, indent, text: line[start..].trim_ascii_end() })
    }
}
