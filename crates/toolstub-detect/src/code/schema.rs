//! Protocol buffers, HCL and style sheets.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Hash, Quote, Statement};
use super::heads::keyword_head;
use super::outline::{Outline, Rank};
use super::words::{after_word, quoted, uncommented, upto, word, word_len};

pub(super) const PROTOBUF: Dialect = Dialect { single: Quote::Line, statement: protobuf, ..C_LIKE };
pub(super) const HCL: Dialect = Dialect {
    lines: true,
    hash: Hash::Comment,
    single: Quote::Plain,
    heredoc: true,
    statement: hcl,
    ..C_LIKE
};
pub(super) const CSS: Dialect = Dialect { single: Quote::Line, statement: css, ..C_LIKE };

fn protobuf(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = text.trim_ascii();
    if word(text) == b"import" {
        outline.import(quoted(text).unwrap_or_default());
        return None;
    }
    let rank = if statement.inside { Rank::Member } else { Rank::Top };
    if statement.end == End::Open {
        let keywords: &[&[u8]] = &[b"message", b"enum", b"service"];
        if let Some(head) = keyword_head(text, &[], keywords) {
            outline.symbol(rank, statement.at, head.text);
            return Some(if head.keyword == b"enum" { Opens::Body } else { Opens::Type });
        }
        if let Some(rest) = after_word(text, b"extend") {
            let name = rest.iter().take_while(|b| !b.is_ascii_whitespace()).count();
            // It names no new thing, but may be all that a file has.
            outline.symbol(Rank::Nested, statement.at, upto(text, &rest[name..]));
            return Some(Opens::Body);
        }
    }
    if statement.inside
        && let Some(head) = keyword_head(text, &[], &[b"rpc"])
    {
        outline.symbol(Rank::Member, statement.at, head.text);
    }
    None
}

fn hcl(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = statement.text;
    let keyword = word_len(text);
    let mut rest = &text[keyword..];
    if statement.end != End::Open || keyword == 0 {
        return None;
    }
    let mut end = rest;
    loop {
        let label = rest.trim_ascii_start();
        let length = match label.strip_prefix(b"\"") {
            Some(body) => body.iter().position(|&b| b == b'"')? + 2,
            None => word_len(label),
        };
        if length == 0 {
            break;
        }
        rest = &label[length..];
        end = rest;
    }
    // A block without a label (`locals`, `terraform`) has no name.
    if rest.trim_ascii().is_empty() && end.len() < text.len() - keyword {
        outline.symbol(Rank::Top, statement.at, upto(text, end));
    }
    Some(Opens::Body)
}

fn css(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let rest = statement.text.strip_prefix(b"@")?;
    let keyword = word(rest);
    match keyword {
        b"import" | b"use" | b"forward" => {
            let named = quoted(rest).or_else(|| {
                let url = memchr::memmem::find(rest, b"url(")?;
                rest[url + 4..].split(|&b| b == b')').next()
            });
            outline.import(named.unwrap_or_default());
        }
        b"mixin" | b"function" => {
            let name = after_word(rest, keyword)?;
            let length =
                name.iter().take_while(|b| !b.is_ascii_whitespace() && **b != b'(').count();
            outline.symbol(Rank::Top, statement.at, upto(statement.text, &name[length..]));
        }
        _ => {}
    }
    None
}
