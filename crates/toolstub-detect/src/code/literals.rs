//! The lengths of strings and characters in braced languages.

use memchr::{memchr, memchr2, memchr3, memmem};

use super::words::is_word;

/// The length of a string from its opening quotation mark on.
pub(super) fn string_len(rest: &[u8], mark: u8, ends_with_line: bool) -> usize {
    let mut at = 1;
    while at < rest.len() {
        let found = if ends_with_line {
            memchr3(mark, b'\\', b'\n', &rest[at..])
        } else {
            memchr2(mark, b'\\', &rest[at..])
        };
        let Some(found) = found else { break };
        at += found;
        match rest[at] {
            b'\\' => at += 2,
            // The end of the line is left to the caller.
            b'\n' => return at,
            _ => return at + 1,
        }
    }
    rest.len()
}

/// The length of a character literal, or of its quotation mark where that opens none.
pub(super) fn char_len(before: &[u8], rest: &[u8]) -> usize {
    if before.last().is_some_and(|&b| is_word(b)) && !ends_with_prefix(before) {
        return 1;
    }
    let body = &rest[1..rest.len().min(16)];
    if body.first() == Some(&b'\\') {
        return body.iter().skip(2).position(|&b| b == b'\'').map_or(1, |end| end + 4);
    }
    let width = match body.first() {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    if body.get(width) == Some(&b'\'') { width + 2 } else { 1 }
}

/// Whether a letter before a quotation mark is a literal's prefix (`b'x'`, `L'x'`, `u8'x'`).
fn ends_with_prefix(before: &[u8]) -> bool {
    let word = before.iter().rev().take_while(|b| is_word(**b)).count();
    matches!(&before[before.len() - word..], b"b" | b"L" | b"u" | b"U" | b"u8")
}

/// The length of a raw string whose quotation mark stands at the start of `rest`.
///
/// Rust's `r#"…"#`, C++'s `R"x(…)x"`, C#'s `@"…"` and Swift's `#"…"#` are told by what stands before
/// the mark.
pub(super) fn raw_len(before: &[u8], rest: &[u8]) -> Option<usize> {
    let hashes = before.iter().rev().take_while(|&&b| b == b'#').count().min(16);
    let ahead = &before[..before.len() - hashes];
    let last = ahead.last().copied().unwrap_or(b' ');
    let find = |close: &[u8], from: usize| {
        memmem::find(rest.get(from..).unwrap_or_default(), close)
            .map_or(rest.len(), |end| from + end + close.len())
    };
    match last {
        b'r' if !is_inside_word(ahead) => {
            let mut close = [b'#'; 17];
            close[0] = b'"';
            Some(find(&close[..=hashes], 1))
        }
        b'R' if hashes == 0 && !is_inside_word(ahead) => {
            let paren = rest.iter().take(18).position(|&b| b == b'(')?;
            let mut close = vec![b')'];
            close.extend_from_slice(&rest[1..paren]);
            close.push(b'"');
            Some(find(&close, paren))
        }
        b'@' | b'$' if hashes == 0 && (last == b'@' || ahead.ends_with(b"@$")) => {
            let mut at = 1;
            loop {
                at += memchr(b'"', &rest[at..])? + 1;
                if rest.get(at) != Some(&b'"') {
                    return Some(at);
                }
                at += 1;
            }
        }
        _ if hashes > 0 && !is_word(last) => {
            let mut close = [b'#'; 17];
            close[0] = b'"';
            Some(find(&close[..=hashes], 1))
        }
        _ => None,
    }
}

/// Whether the last letter belongs to a longer word than a literal's prefix.
fn is_inside_word(ahead: &[u8]) -> bool {
    let word = ahead.iter().rev().take_while(|b| is_word(**b)).count();
    let word = &ahead[ahead.len() - word..];
    !matches!(word, b"r" | b"br" | b"cr" | b"R" | b"LR" | b"uR" | b"UR" | b"u8R")
}
