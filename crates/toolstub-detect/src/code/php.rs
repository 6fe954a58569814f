//! PHP.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Hash, Quote, Statement};
use super::heads::{keyword_head, unannotated};
use super::outline::{Outline, Rank};
use super::words::{after_word, quoted, uncommented, upto, word, word_len};

pub(super) const PHP: Dialect = Dialect {
    hash: Hash::Comment,
    double: Quote::Lines,
    single: Quote::Lines,
    heredoc: true,
    islands: true,
    statement: php,
    ..C_LIKE
};

const MODIFIERS: &[&[u8]] =
    &[b"abstract", b"final", b"readonly", b"public", b"private", b"protected", b"static"];

fn php(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = unannotated(text.trim_ascii());
    let lower = word(text).to_ascii_lowercase();
    match lower.as_slice() {
        b"namespace" => return (statement.end == End::Open).then_some(Opens::Through),
        b"use" if statement.inside => return None,
        b"use" if statement.end == End::Open => return Some(Opens::Group),
        b"use" => {
            used(after_word(text, word(text))?, outline);
            return None;
        }
        b"require" | b"require_once" | b"include" | b"include_once" => {
            outline.import(quoted(text).unwrap_or_default());
            return None;
        }
        // `if (!function_exists('x')) {` and the like hold what they declare.
        b"if" if statement.end == End::Open && !statement.inside => {
            let guards = memchr::memmem::find(text, b"_exists").is_some();
            return guards.then_some(Opens::Through);
        }
        _ => {}
    }
    let rank = if statement.inside { Rank::Member } else { Rank::Top };
    let keywords: &[&[u8]] = &[b"class", b"interface", b"trait", b"enum"];
    if let Some(head) =
        keyword_head(text, MODIFIERS, keywords).filter(|_| statement.end == End::Open)
    {
        outline.symbol(rank, statement.at, head.text);
        return Some(Opens::Type);
    }
    let mut rest = text;
    while MODIFIERS.contains(&word(rest)) {
        rest = after_word(rest, word(rest))?;
    }
    let rest = after_word(rest, b"function")?;
    let rest = rest.strip_prefix(b"&").unwrap_or(rest).trim_ascii_start();
    let name = word_len(rest);
    if name > 0 {
        outline.symbol(rank, statement.at, upto(text, &rest[name..]));
    }
    Some(Opens::Body)
}

/// `A\B`, `A\B as C`, `A\{B, C}`, `function A\b`.
fn used(modules: &[u8], outline: &mut Outline) {
    let modules =
        after_word(modules, b"function").or(after_word(modules, b"const")).unwrap_or(modules);
    if modules.contains(&b'{') {
        outline.import(modules);
        return;
    }
    for module in modules.split(|&b| b == b',') {
        let end = memchr::memmem::find(module, b" as ").unwrap_or(module.len());
        outline.import(&module[..end]);
    }
}
