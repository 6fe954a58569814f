//! Go.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Quote, Statement};
use super::outline::{Outline, Rank};
use super::words::{after_group, after_word, quoted, uncommented, upto, word, word_len};

pub(super) const GO: Dialect =
    Dialect { lines: true, backtick: Quote::Raw, statement: go, ..C_LIKE };

fn go(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let at = statement.at;
    if let Some(rest) = after_word(statement.text, b"func") {
        let named =
            if rest.starts_with(b"(") { after_group(rest).trim_ascii_start() } else { rest };
        let length = word_len(named);
        if length > 0 {
            outline.symbol(Rank::Top, at, upto(statement.text, &named[length..]));
        }
        return Some(Opens::Body);
    }
    let keyword = word(statement.text);
    let rest = after_word(statement.text, keyword)?;
    match keyword {
        b"import" => each(rest, |line| outline.import(quoted(line).unwrap_or_default())),
        b"type" | b"const" if rest.starts_with(b"(") => {
            let mut depth = 0usize;
            each(rest, |line| {
                let name = word(line);
                if depth == 0 && !name.is_empty() && name != b"_" {
                    outline.symbol(Rank::Top, at, &[keyword, b" ", name].concat());
                }
                for byte in line {
                    match byte {
                        b'{' | b'(' => depth += 1,
                        b'}' | b')' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
            });
        }
        b"type" | b"const" => {
            let length = word_len(rest);
            if length > 0 {
                outline.symbol(Rank::Top, at, upto(statement.text, &rest[length..]));
            }
        }
        _ => return None,
    }
    (statement.end == End::Open).then_some(Opens::Body)
}

/// Calls `entry` for each line of a group, or for the one entry there is.
fn each(text: &[u8], mut entry: impl FnMut(&[u8])) {
    let Some(group) = text.strip_prefix(b"(") else { return entry(text) };
    let group = uncommented(group);
    for line in group.split(|&b| b == b'\n' || b == b';') {
        entry(line.trim_ascii());
    }
}
