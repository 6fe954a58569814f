//! Kotlin, Swift, Scala and Go.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Quote, Statement};
use super::heads::{Head, keyword_head, name, unannotated};
use super::outline::{Outline, Rank};
use super::words::{after_group, after_word, is_word, uncommented, upto, word, word_len};

pub(super) const KOTLIN: Dialect = Dialect {
    lines: true,
    triple: true,
    nested_comments: true,
    backtick: Quote::Line,
    statement: kotlin,
    ..C_LIKE
};
pub(super) const SCALA: Dialect = Dialect { statement: scala, ..KOTLIN };
pub(super) const SWIFT: Dialect = Dialect {
    lines: true,
    triple: true,
    nested_comments: true,
    single: Quote::Plain,
    backtick: Quote::Line,
    statement: swift,
    ..C_LIKE
};

const MODIFIERS: &[&[u8]] = &[
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"open",
    b"abstract",
    b"final",
    b"sealed",
    b"data",
    b"inner",
    b"inline",
    b"value",
    b"annotation",
    b"override",
    b"suspend",
    b"operator",
    b"infix",
    b"tailrec",
    b"external",
    b"expect",
    b"actual",
    b"enum",
    b"companion",
    b"noinline",
    b"const",
    b"lateinit",
    b"fun",
    b"implicit",
    b"lazy",
    b"case",
    b"transparent",
];

fn rank(statement: &Statement<'_>) -> Rank {
    if statement.inside { Rank::Member } else { Rank::Top }
}

fn kotlin(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = text.trim_ascii();
    if let Some(rest) = after_word(text, b"import") {
        outline.import(without_alias(rest));
        return None;
    }
    let text = unannotated(text);
    let keywords: &[&[u8]] = &[b"class", b"interface", b"object", b"typealias"];
    if let Some(head) = keyword_head(text, MODIFIERS, keywords) {
        outline.symbol(rank(statement), statement.at, head.text);
        return Some(if head.keyword == b"typealias" { Opens::Body } else { Opens::Type });
    }
    if word(text) == b"companion" {
        return Some(Opens::Type);
    }
    let mut rest = text;
    while word(rest) != b"fun" {
        if word(rest) == b"constructor" && !statement.inside {
            // The constructor of a class whose head stands in the line before.
            return Some(Opens::Type);
        }
        if !MODIFIERS.contains(&word(rest)) {
            return None;
        }
        rest = unannotated(after_word(rest, word(rest))?);
    }
    let rest = after_word(rest, b"fun")?;
    let rest = if rest.starts_with(b"<") { after_group(rest).trim_ascii_start() } else { rest };
    let tail = receiver_and_name(rest);
    if rest.len() > tail.len() {
        outline.symbol(rank(statement), statement.at, upto(text, tail));
    }
    // `fun f() = object : T {` opens no body of statements, but nothing to list either.
    Some(Opens::Body)
}

/// What follows a name that may have a receiver before it: `Type<T>.name`, `` `a name` ``.
fn receiver_and_name(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        let Some((_, tail)) = name(rest) else { return rest };
        let bare = if tail.starts_with(b"<") { after_group(tail) } else { tail };
        let bare = bare.strip_prefix(b"?").unwrap_or(bare);
        match bare.strip_prefix(b".") {
            Some(more) => rest = more,
            None => return tail,
        }
    }
}

fn without_alias(module: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(module, b" as ").unwrap_or(module.len());
    module[..end].trim_ascii_end().strip_suffix(b";").unwrap_or(&module[..end])
}

fn scala(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = text.trim_ascii();
    if let Some(rest) = after_word(text, b"import") {
        if statement.end == End::Open {
            return Some(Opens::Group);
        }
        outline.import(rest);
        return None;
    }
    if after_word(text, b"package").is_some() && statement.end == End::Open {
        return Some(Opens::Through);
    }
    let text = unannotated(text);
    let keywords: &[&[u8]] = &[b"class", b"trait", b"object", b"enum", b"def", b"type", b"given"];
    let modifiers: &[&[u8]] = &[
        b"private",
        b"protected",
        b"abstract",
        b"final",
        b"sealed",
        b"override",
        b"implicit",
        b"lazy",
        b"case",
        b"inline",
        b"package",
        b"open",
        b"opaque",
    ];
    let head = keyword_head(text, modifiers, keywords)?;
    if head.keyword != b"type" || !statement.inside {
        outline.symbol(rank(statement), statement.at, head.text);
    }
    let is_type = !matches!(head.keyword, b"def" | b"type" | b"given");
    Some(if is_type { Opens::Type } else { Opens::Body })
}

/// Modifiers of Swift; `class` is one too, before a member.
const SWIFT_MODIFIERS: &[&[u8]] = &[
    b"class",
    b"public",
    b"private",
    b"fileprivate",
    b"internal",
    b"open",
    b"package",
    b"final",
    b"static",
    b"override",
    b"mutating",
    b"nonmutating",
    b"indirect",
    b"convenience",
    b"required",
    b"dynamic",
    b"lazy",
    b"weak",
    b"unowned",
    b"nonisolated",
    b"isolated",
    b"distributed",
    b"prefix",
    b"postfix",
    b"infix",
    b"optional",
];

fn swift(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = unannotated(text.trim_ascii());
    if let Some(rest) = after_word(text, b"import") {
        let kind = matches!(
            word(rest),
            b"class" | b"struct" | b"enum" | b"protocol" | b"func" | b"var" | b"let" | b"typealias"
        );
        outline.import(if kind { after_word(rest, word(rest))? } else { rest });
        return None;
    }
    let types: &[&[u8]] = &[b"class", b"struct", b"enum", b"protocol", b"extension", b"actor"];
    let is_method = |head: &Head<'_>| matches!(head.name, b"func" | b"var" | b"let" | b"override");
    if let Some(head) =
        keyword_head(text, &SWIFT_MODIFIERS[1..], types).filter(|head| !is_method(head))
    {
        let mut tail = head.rest;
        while tail.first() == Some(&b'.') {
            tail = &tail[1 + word_len(&tail[1..])..];
        }
        outline.symbol(rank(statement), statement.at, upto(text, tail));
        return Some(Opens::Type);
    }
    if let Some(head) = keyword_head(text, SWIFT_MODIFIERS, &[b"func", b"typealias", b"macro"]) {
        outline.symbol(rank(statement), statement.at, head.text);
        return Some(Opens::Body);
    }
    if let Some(at) = operator_func(text) {
        outline.symbol(rank(statement), statement.at, &text[..at]);
        return Some(Opens::Body);
    }
    let mut rest = text;
    while SWIFT_MODIFIERS.contains(&word(rest)) {
        rest = unannotated(after_word(rest, word(rest))?);
    }
    let init = statement.inside && word(rest) == b"init";
    if init {
        outline.symbol(Rank::Member, statement.at, upto(text, &rest[b"init".len()..]));
        return Some(Opens::Body);
    }
    None
}

/// The end of `func ==` in a declaration of an operator.
fn operator_func(text: &[u8]) -> Option<usize> {
    let func = memchr::memmem::find(text, b"func ")?;
    let before = &text[..func];
    let plain = before.iter().all(|&b| is_word(b) || b == b' ');
    let symbol = &text[func + 5..];
    let length = symbol.iter().take_while(|b| b.is_ascii_punctuation() && **b != b'(').count();
    (plain && length > 0).then_some(func + 5 + length)
}
