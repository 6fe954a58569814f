//! Characters in pieces of bytes that may not be UTF-8.
//!
//! A byte that is not a continuation byte always begins a character, and no character is longer
//! than four bytes: so where characters begin can be told from three bytes on either side.

use toolstub_core::utf8;

/// The longest character, in bytes.
pub(crate) const MAX_CHAR: usize = 4;

/// The last place at or before `at` where a character begins or the bytes end.
///
/// `bytes` holds the three bytes before `at` and the three after it, as far as there are any.
pub(crate) fn floor(bytes: &[u8], at: usize) -> usize {
    if at >= bytes.len() || !utf8::is_continuation(bytes[at]) {
        return at.min(bytes.len());
    }
    let earliest = at.saturating_sub(MAX_CHAR - 1);
    let lead = (earliest..at).rev().find(|&place| !utf8::is_continuation(bytes[place]));
    match lead {
        Some(lead) if lead + first_char_len(&bytes[lead..]) > at => lead,
        _ => at,
    }
}

/// The length of the first character in bytes; 0 where there is none.
pub(crate) fn first_char_len(bytes: &[u8]) -> usize {
    let head = &bytes[..bytes.len().min(MAX_CHAR)];
    head.utf8_chunks().next().map_or(0, |chunk| match chunk.valid().chars().next() {
        Some(c) => c.len_utf8(),
        None => chunk.invalid().len(),
    })
}

/// Where the character after the first `count` begins; the end where there are no more.
pub(crate) fn skip(bytes: &[u8], mut count: u64) -> usize {
    let mut place = 0;
    for chunk in bytes.utf8_chunks() {
        if count == 0 {
            return place;
        }
        let valid = chunk.valid();
        let here = utf8::count_starts(valid.as_bytes());
        if count <= here {
            let mut chars = valid.chars();
            chars.nth(count as usize - 1);
            return place + valid.len() - chars.as_str().len();
        }
        count -= here;
        place += valid.len();
        if !chunk.invalid().is_empty() {
            count -= 1;
            place += chunk.invalid().len();
        }
    }
    place
}

/// Counts the characters that begin in each of the pieces of a content.
#[derive(Debug, Clone, Default)]
pub(crate) struct CharCounter {
    /// The first bytes of a character whose end has not come yet. Counted already.
    open: [u8; MAX_CHAR],
    open_len: usize,
}

impl CharCounter {
    /// Counts the characters that begin in the next piece.
    pub(crate) fn count(&mut self, piece: &[u8]) -> u64 {
        let mut bytes = self.close(piece);
        let mut starts = 0;
        // Well-formed text but for its last character, which the piece may cut, is counted fast.
        let tail = bytes.len().saturating_sub(MAX_CHAR);
        let last = bytes[tail..].iter().rposition(|&byte| !utf8::is_continuation(byte));
        let (text, end) = bytes.split_at(tail + last.unwrap_or(0));
        if simdutf8::basic::from_utf8(text).is_ok() {
            starts += utf8::count_starts(text);
            bytes = end;
        }
        loop {
            let Err(error) = std::str::from_utf8(bytes) else {
                return starts + utf8::count_starts(bytes);
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            starts += utf8::count_starts(valid) + 1;
            let Some(ill_formed) = error.error_len() else {
                self.open[..rest.len()].copy_from_slice(rest);
                self.open_len = rest.len();
                return starts;
            };
            bytes = &rest[ill_formed..];
        }
    }

    /// Takes what belongs to the open character and returns the rest.
    fn close<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while self.open_len > 0 {
            let Some((&next, rest)) = bytes.split_first() else { break };
            // What is open is shorter than a character, so there is room for one more byte.
            self.open[self.open_len] = next;
            match std::str::from_utf8(&self.open[..=self.open_len]) {
                Ok(_) => self.open_len = 0,
                Err(error) if error.error_len().is_none() => self.open_len += 1,
                // The open bytes are ill-formed, and the next one is no part of them.
                Err(_) => {
                    self.open_len = 0;
                    break;
                }
            }
            bytes = rest;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every border of the characters of `bytes`, the end included.
    fn borders(bytes: &[u8]) -> Vec<usize> {
        let mut borders = vec![0];
        let mut place = 0;
        while place < bytes.len() {
            place += first_char_len(&bytes[place..]);
            borders.push(place);
        }
        borders
    }

    const MIXED: &[&[u8]] = &[
        "aé漢🎯z".as_bytes(),
        b"a\x80\x80\x80\x80\x80b",
        b"\xe2\x82z\xf0\x9f\x8e\xff\xc3",
        b"\xf0\x9f\x8e",
        b"\xed\xa0\x80x\xc0\xaf\xf4\x90\x80\x80",
        b"",
    ];

    #[test]
    fn borders_agree_with_lossy_decoding() {
        for bytes in MIXED {
            let chars = String::from_utf8_lossy(bytes).chars().count();
            assert_eq!(borders(bytes).len(), chars + 1, "{bytes:x?}");
        }
    }

    #[test]
    fn floor_is_the_border_at_or_before() {
        for bytes in MIXED {
            let borders = borders(bytes);
            for at in 0..=bytes.len() {
                let border = borders.iter().rev().find(|&&border| border <= at);
                assert_eq!(Some(&floor(bytes, at)), border, "{bytes:x?} at {at}");
            }
        }
    }

    #[test]
    fn skip_counts_whole_characters() {
        for bytes in MIXED {
            let borders = borders(bytes);
            for (count, &border) in borders.iter().enumerate() {
                assert_eq!(skip(bytes, count as u64), border, "{bytes:x?} after {count}");
            }
            assert_eq!(skip(bytes, u64::MAX), bytes.len());
        }
    }

    #[test]
    fn characters_count_where_they_begin() {
        for bytes in MIXED {
            let borders = borders(bytes);
            for size in 1..=bytes.len().max(1) {
                let mut counter = CharCounter::default();
                for (index, piece) in bytes.chunks(size).enumerate() {
                    let range = index * size..index * size + piece.len();
                    let begin = borders.iter().filter(|at| range.contains(at)).count();
                    assert_eq!(counter.count(piece), begin as u64, "{bytes:x?} by {size}");
                }
            }
        }
    }
}
