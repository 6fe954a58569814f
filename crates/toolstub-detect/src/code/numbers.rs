//! Line numbers in front of the lines, as tools show files to agents.

use memchr::memchr;

/// How many lines are looked at to find out.
const SAMPLE: usize = 200;
/// How many lines of the tool's own may stand before the first number.
const PREAMBLE: usize = 3;
/// How much of the start they are looked for in.
pub(super) const SAMPLE_BYTES: usize = 64 << 10;
/// How much of a numbered source is looked at, as that needs a copy.
pub(super) const COPY_BYTES: usize = 8 << 20;

/// A line's number and what follows its separator.
fn numbered(line: &[u8]) -> Option<(u64, u8, &[u8])> {
    let text = line.trim_ascii_start();
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(1..=9).contains(&digits) {
        return None;
    }
    let number = text[..digits].iter().fold(0, |sum, b| sum * 10 + u64::from(b - b'0'));
    let rest = &text[digits..];
    if let Some(rest) = rest.strip_prefix("→".as_bytes()) {
        return Some((number, b'>', rest));
    }
    match rest {
        [b'\t', rest @ ..] => Some((number, b'\t', rest)),
        [b':' | b'|', rest @ ..] => {
            Some((number, text[digits], rest.strip_prefix(b" ").unwrap_or(rest)))
        }
        [b' ', b'|' | b':', b' ', rest @ ..] => Some((number, text[digits + 1], rest)),
        [b' ', b'|', rest @ ..] => Some((number, b'|', rest)),
        [] | [b'\r'] => Some((number, 0, b"")),
        _ => None,
    }
}

/// `source` without the numbers of its lines.
pub(super) fn without_line_numbers(source: &[u8]) -> Vec<u8> {
    let mut copy = Vec::with_capacity(source.len());
    for line in source.split_inclusive(|&b| b == b'\n') {
        let end = line.len() - usize::from(line.ends_with(b"\n"));
        match numbered(&line[..end]) {
            Some((_, _, rest)) => copy.extend_from_slice(rest),
            // What the tool said before the first number is no part of the file.
            None if copy.is_empty() => continue,
            None => copy.extend_from_slice(&line[..end]),
        }
        copy.push(b'\n');
    }
    copy
}

/// Whether almost all of the first lines are numbered, each by one more than the last.
pub(super) fn has_line_numbers(source: &[u8]) -> bool {
    let mut rest = source;
    let (mut lines, mut before, mut found, mut steps, mut last) = (0, 0, 0, 0, None::<u64>);
    let mut separators = [0usize; 256];
    while lines < SAMPLE && !rest.is_empty() {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end.min(64)];
        rest = &rest[(end + 1).min(rest.len())..];
        if line.trim_ascii().is_empty() {
            continue;
        }
        lines += 1;
        if let Some((number, separator, _)) = numbered(line) {
            found += 1;
            separators[separator as usize] += 1;
            steps += usize::from(last.is_some_and(|last| number == last + 1));
            last = Some(number);
        } else if found == 0 && before < PREAMBLE {
            before += 1;
            lines -= 1;
        }
    }
    let most = separators[1..].iter().max().copied().unwrap_or(0);
    found >= 3
        && found * 10 >= lines * 9
        && steps * 10 >= (found - 1) * 7
        && (most + separators[0]) * 10 >= found * 9
}
