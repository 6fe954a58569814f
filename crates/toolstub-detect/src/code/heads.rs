//! Heads of declarations that begin with modifiers and a keyword.

use super::words::{after_group, after_word, is_word, upto, word, word_len};

/// A declaration: its head up to the name, and the keyword that made it one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    /// From the first modifier to the end of the name.
    pub(super) text: &'a [u8],
    /// The keyword.
    pub(super) keyword: &'a [u8],
    /// The name.
    pub(super) name: &'a [u8],
    /// What follows the name.
    pub(super) rest: &'a [u8],
}

/// `text` behind its annotations: `@Name`, `@a.b.Name(…)`, `#[…]`, `[…]`.
pub(super) fn unannotated(mut text: &[u8]) -> &[u8] {
    loop {
        let rest = match text {
            [b'@', b'i', b'n', b't', b'e', b'r', b'f', b'a', b'c', b'e', ..] => return text,
            [b'@', rest @ ..] => {
                let name = rest.iter().take_while(|b| is_word(**b) || matches!(b, b'.' | b':'));
                let rest = &rest[name.count()..];
                let gap = rest.iter().take_while(|b| matches!(b, b' ')).count();
                if rest[gap..].starts_with(b"(") { after_group(&rest[gap..]) } else { rest }
            }
            [b'#', b'[', ..] => after_group(&text[1..]),
            [b'#', b'!', b'[', ..] => after_group(&text[2..]),
            [b'[', ..] => after_group(text),
            _ => return text,
        };
        if rest.len() == text.len() {
            return text;
        }
        text = rest.trim_ascii_start();
    }
}

/// Reads modifiers, one of `keywords` and a name.
///
/// A modifier may carry a group in parentheses (`pub(crate)`, `internal(set)`).
pub(super) fn keyword_head<'a>(
    text: &'a [u8],
    modifiers: &[&[u8]],
    keywords: &[&[u8]],
) -> Option<Head<'a>> {
    let mut rest = text;
    loop {
        let first = word(rest);
        let after = after_word(rest, first)?;
        if keywords.contains(&first) {
            let (name, tail) = name(after)?;
            return Some(Head { text: upto(text, tail), keyword: first, name, rest: tail });
        }
        if first.is_empty() || !modifiers.contains(&first) {
            return None;
        }
        rest = if after.starts_with(b"(") { after_group(after).trim_ascii_start() } else { after };
        rest = unannotated(rest);
    }
}

/// A name, perhaps in backticks, and what follows it.
pub(super) fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(body) = text.strip_prefix(b"`") {
        let end = body.iter().position(|&b| b == b'`')?;
        return Some((&body[..end], &body[end + 1..]));
    }
    let length = word_len(text);
    (length > 0 && !text[0].is_ascii_digit()).then(|| text.split_at(length))
}

/// Where a function's name stands: the word before the first parenthesis outside of `<…>`.
///
/// None where a `=` comes first: that is a value, not a function.
pub(super) fn callable(text: &[u8]) -> Option<Head<'_>> {
    let mut angles = 0usize;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b'=' if angles == 0 => return None,
            b'(' if angles == 0 => {
                let before = text[..at].trim_ascii_end();
                // The name's own type parameters stand between it and the parenthesis.
                let named = if before.ends_with(b">") {
                    let open = before.iter().rposition(|&b| b == b'<')?;
                    before[..open].trim_ascii_end()
                } else {
                    before
                };
                let length = named.iter().rev().take_while(|b| is_word(**b)).count();
                let (_, name) = named.split_at(named.len() - length);
                let fine = length > 0 && !name[0].is_ascii_digit();
                return fine.then(|| Head { text: named, keyword: b"", name, rest: &text[at..] });
            }
            _ => {}
        }
    }
    None
}

/// Words that open a block or a call but name no function.
pub(super) fn is_control(name: &[u8]) -> bool {
    matches!(
        name,
        b"if"
            | b"for"
            | b"while"
            | b"switch"
            | b"return"
            | b"else"
            | b"do"
            | b"catch"
            | b"try"
            | b"sizeof"
            | b"synchronized"
            | b"using"
            | b"lock"
            | b"fixed"
            | b"foreach"
            | b"new"
            | b"throw"
            | b"assert"
            | b"super"
            | b"this"
            | b"case"
            | b"default"
            | b"delete"
            | b"static_assert"
            | b"await"
            | b"yield"
            | b"elseif"
            | b"defined"
            | b"match"
            | b"with"
    )
}
