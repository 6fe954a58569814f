//! Line numbers in front of the lines, as tools show files to agents.

use memchr::memchr;

/// How many lines are looked at to find out.
const SAMPLE: usize = 200;
/// How many lines of the tool's own may stand before the first number.
const PREAMBLE: usize = 4;
/// How much of the start they are looked for in.
pub(super) const SAMPLE_BYTES: usize = 64 << 10;
/// How much of a numbered source is looked at, as that needs a copy.
pub(super) const COPY_BYTES: usize = 8 << 20;

/// A line's number and what follows its separator: `12→code`, `12: code`, `12 | code`, `12) code`,
/// `[12] code`, `L12: code`, `12 │ code`, `12 code`, a tab.
fn numbered(line: &[u8]) -> Option<(u64, u8, &[u8])> {
    let text = line.trim_ascii_start();
    let mark = text.first().copied().filter(|b| matches!(b, b'L' | b'['));
    let text = if mark.is_some() { &text[1..] } else { text };
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(1..=9).contains(&digits) {
        return None;
    }
    let number = text[..digits].iter().fold(0, |sum, b| sum * 10 + u64::from(b - b'0'));
    let rest = &text[digits..];
    match (mark, rest) {
        (None, _) => {}
        (Some(b'L'), [b':', rest @ ..]) => return Some((number, b'L', after_space(rest))),
        (Some(b'['), [b']', rest @ ..]) => return Some((number, b'[', after_space(rest))),
        _ => return None,
    }
    if let Some(rest) = rest.strip_prefix("→".as_bytes()) {
        return Some((number, b'>', rest));
    }
    if let Some(rest) = rest.trim_ascii_start().strip_prefix("│".as_bytes()) {
        return Some((number, b'B', after_space(rest)));
    }
    match rest {
        [b'\t', rest @ ..] => Some((number, b'\t', rest)),
        [b':' | b'|' | b')', rest @ ..] => Some((number, text[digits], after_space(rest))),
        [b' ', b'|' | b':', b' ', rest @ ..] => Some((number, text[digits + 1], rest)),
        [b' ', b'|', rest @ ..] => Some((number, b'|', rest)),
        [b' ', rest @ ..] => Some((number, b' ', rest)),
        [] | [b'\r'] => Some((number, 0, b"")),
        _ => None,
    }
}

fn after_space(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b" ").unwrap_or(rest)
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
    // A column of numbers of other things is set off by more than one space.
    let mut close = 0;
    while lines < SAMPLE && !rest.is_empty() {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end.min(64)];
        rest = &rest[(end + 1).min(rest.len())..];
        if line.trim_ascii().is_empty() {
            continue;
        }
        lines += 1;
        if let Some((number, separator, rest)) = numbered(line) {
            found += 1;
            close += usize::from(separator == b' ' && !matches!(rest, [] | [b' ' | b'\t', ..]));
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
        && (separators[b' ' as usize] < most || close > 0)
}
