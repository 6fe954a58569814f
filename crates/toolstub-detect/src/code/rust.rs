//! Rust, and Zig which reads alike.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Quote, Statement};
use super::heads::unannotated;
use super::outline::{Outline, Rank};
use super::words::{after_group, after_word, quoted, uncommented, upto, word, word_len};

pub(super) const RUST: Dialect =
    Dialect { nested_comments: true, double: Quote::Lines, statement: rust, ..C_LIKE };
pub(super) const ZIG: Dialect = Dialect { statement: zig, ..C_LIKE };

fn rust(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = unannotated(text.trim_ascii());
    let (at, open) = (statement.at, statement.end == End::Open);
    let rank = if statement.inside { Rank::Member } else { Rank::Top };
    let mut rest = text;
    loop {
        let keyword = word(rest);
        let after = after_word(rest, keyword)?;
        let name = word_len(after.strip_prefix(b"r#").unwrap_or(after));
        let head = || upto(text, &after[name.min(after.len())..]);
        match keyword {
            b"pub" if after.starts_with(b"(") => rest = after_group(after).trim_ascii_start(),
            b"const"
                if word(after) != b"fn"
                    && !matches!(word(after), b"unsafe" | b"async" | b"extern") =>
            {
                return None;
            }
            b"pub" | b"async" | b"unsafe" | b"default" | b"auto" | b"const" | b"safe" => {
                rest = after;
            }
            b"extern" => {
                let behind = after.strip_prefix(b"\"").map(|abi| {
                    let close = abi.iter().position(|&b| b == b'"').map_or(abi.len(), |at| at + 1);
                    abi[close..].trim_ascii_start()
                });
                let behind = behind.unwrap_or(after);
                if let Some(name) = after_word(behind, b"crate") {
                    outline.import(&name[..word_len(name)]);
                    return None;
                }
                if behind.is_empty() {
                    return open.then_some(Opens::Type);
                }
                rest = behind;
            }
            b"use" if open => return Some(Opens::Group),
            b"use" => {
                outline.import(after);
                return None;
            }
            b"fn" | b"struct" | b"enum" | b"union" if name > 0 => {
                outline.symbol(rank, at, head());
                return Some(Opens::Body);
            }
            b"trait" if name > 0 => {
                outline.symbol(rank, at, head());
                return Some(Opens::Type);
            }
            b"type" if name > 0 && !statement.inside => {
                outline.symbol(rank, at, head());
                return None;
            }
            b"impl" if open => {
                let bounds = clause(after).map_or(text, |at| upto(text, &after[at..]));
                outline.symbol(rank, at, bounds);
                return Some(Opens::Type);
            }
            b"mod" if open && name > 0 => {
                outline.symbol(Rank::Nested, at, head());
                return Some(Opens::Body);
            }
            b"macro_rules" | b"macro" => {
                let named = rest[keyword.len()..].trim_ascii_start();
                let named = named.strip_prefix(b"!").unwrap_or(named).trim_ascii_start();
                let length = word_len(named);
                outline.symbol(rank, at, upto(text, &named[length..]));
                return Some(Opens::Body);
            }
            _ => return None,
        }
    }
}

/// Where the `where` of an `impl` stands.
fn clause(text: &[u8]) -> Option<usize> {
    let at = memchr::memmem::find_iter(text, b"where").find(|&at| {
        let alone = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        at > 0 && alone(text.get(at - 1)) && alone(text.get(at + 5))
    })?;
    Some(at)
}

fn zig(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = text.trim_ascii();
    let mut rest = text;
    while matches!(word(rest), b"pub" | b"export" | b"extern" | b"inline" | b"noinline") {
        rest = after_word(rest, word(rest))?;
    }
    let keyword = word(rest);
    let after = after_word(rest, keyword)?;
    let name = word_len(after);
    match keyword {
        b"fn" if name > 0 => outline.symbol(Rank::Top, statement.at, upto(text, &after[name..])),
        b"const" => {
            if memchr::memmem::find(after, b"@import").is_some() {
                outline.import(quoted(after).unwrap_or_default());
            } else if statement.end == End::Open && name > 0 {
                outline.symbol(Rank::Top, statement.at, upto(text, &after[name..]));
            }
        }
        _ => {}
    }
    None
}
