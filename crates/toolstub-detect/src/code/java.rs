//! Java, C#, Dart, Groovy and Scala.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Hash, Quote, Statement};
use super::heads::{Head, callable, is_control, keyword_head, unannotated};
use super::outline::{Outline, Rank};
use super::words::{after_word, is_word, quoted, uncommented, upto, word, word_len};

pub(super) const JAVA: Dialect = Dialect { triple: true, statement: java, ..C_LIKE };
pub(super) const CSHARP: Dialect =
    Dialect { triple: true, hash: Hash::Directive, statement: csharp, ..C_LIKE };
pub(super) const DART: Dialect =
    Dialect { triple: true, single: Quote::Line, statement: dart, ..C_LIKE };
pub(super) const GROOVY: Dialect =
    Dialect { lines: true, triple: true, single: Quote::Line, statement: groovy, ..C_LIKE };

const MODIFIERS: &[&[u8]] = &[
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"static",
    b"abstract",
    b"final",
    b"sealed",
    b"partial",
    b"readonly",
    b"ref",
    b"unsafe",
    b"strictfp",
    b"synchronized",
    b"native",
    b"default",
    b"virtual",
    b"override",
    b"async",
    b"extern",
    b"new",
    b"transient",
    b"volatile",
    b"file",
    b"base",
    b"mixin",
    b"non",
    b"external",
    b"late",
    b"covariant",
];

fn java(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = text.trim_ascii();
    if let Some(rest) = after_word(text, b"import") {
        outline.import(after_word(rest, b"static").unwrap_or(rest));
        return None;
    }
    let text = unannotated(text);
    let text = text.strip_prefix(b"non-sealed").map_or(text, <[u8]>::trim_ascii_start);
    if let Some(opens) = typed(text, statement, outline) {
        return Some(opens);
    }
    method(text, statement, outline)
}

/// A class or its like.
fn typed(text: &[u8], statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let keywords: &[&[u8]] =
        &[b"class", b"interface", b"enum", b"record", b"struct", b"mixin", b"trait"];
    let rank = if statement.inside { Rank::Member } else { Rank::Top };
    let at = statement.at;
    // `public @interface Name` declares an annotation.
    if let Some(mark) = memchr::memmem::find(text, b"@interface ") {
        let before = text[..mark].split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let name = text[mark + 11..].trim_ascii_start();
        if before.into_iter().all(|word| MODIFIERS.contains(&word)) && word_len(name) > 0 {
            outline.symbol(rank, at, upto(text, &name[word_len(name)..]));
            return Some(Opens::Type);
        }
    }
    let marked = text;
    let mut head = keyword_head(marked, MODIFIERS, keywords)?;
    if matches!(head.name, b"class" | b"struct") {
        // `record class Name`, `mixin class Name`
        head = keyword_head(
            marked,
            &[MODIFIERS, &[b"record", b"mixin"]].concat(),
            &[b"class", b"struct"],
        )?;
    }
    if statement.end == End::Open
        || matches!(head.keyword, b"record" | b"class") && head.rest.starts_with(b"(")
    {
        outline.symbol(rank, at, head.text);
        return Some(Opens::Type);
    }
    None
}

fn method(text: &[u8], statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    if !statement.inside || !outline.has_room_for(Rank::Member) {
        return None;
    }
    let head = function(text)?;
    outline.symbol(Rank::Member, statement.at, head.text);
    Some(Opens::Body)
}

/// A function with its return type, or a constructor.
fn function(text: &[u8]) -> Option<Head<'_>> {
    let head = callable(text)?;
    let before = &head.text[..head.text.len() - head.name.len()];
    let plain = before.iter().all(|&b| {
        is_word(b)
            || b.is_ascii_whitespace()
            || matches!(
                b,
                b'<' | b'>' | b'[' | b']' | b'.' | b',' | b'?' | b'&' | b'@' | b'*' | b'(' | b')'
            )
    });
    let constructor = before.trim_ascii().is_empty()
        && head.name[0].is_ascii_uppercase()
        && head.name.iter().any(u8::is_ascii_lowercase);
    let typed = !before.trim_ascii().is_empty() && !before.ends_with(b".");
    let fine = plain
        && (constructor || typed)
        && !is_control(head.name)
        && !is_control(word(before))
        && head.name != b"operator";
    fine.then_some(head)
}

fn csharp(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let mut text = unannotated(text.trim_ascii());
    if after_word(text, b"namespace").is_some() {
        return (statement.end == End::Open).then_some(Opens::Through);
    }
    text = after_word(text, b"global").unwrap_or(text);
    if let Some(rest) = after_word(text, b"using") {
        if statement.end == End::Semicolon && !rest.starts_with(b"(") && !statement.inside {
            let rest = after_word(rest, b"static").unwrap_or(rest);
            let aliased = rest.iter().position(|&b| b == b'=');
            outline.import(aliased.map_or(rest, |equals| &rest[equals + 1..]));
        }
        return None;
    }
    if let Some(opens) = typed(text, statement, outline) {
        return Some(opens);
    }
    let mut rest = text;
    while MODIFIERS.contains(&word(rest)) {
        rest = after_word(rest, word(rest))?;
    }
    if after_word(rest, b"delegate").is_some() {
        if let Some(head) = callable(text) {
            let rank = if statement.inside { Rank::Member } else { Rank::Top };
            outline.symbol(rank, statement.at, head.text);
        }
        return None;
    }
    method(text, statement, outline)
}

fn dart(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = unannotated(text.trim_ascii());
    if matches!(word(text), b"import" | b"export" | b"part") && !statement.inside {
        outline.import(quoted(text).unwrap_or_default());
        return None;
    }
    if let Some(opens) = typed(text, statement, outline) {
        return Some(opens);
    }
    if let Some(head) = keyword_head(text, &[], &[b"extension", b"typedef"]) {
        outline.symbol(Rank::Top, statement.at, head.text);
        return Some(Opens::Type);
    }
    if statement.inside {
        return method(text, statement, outline);
    }
    // `=>` ends in a semicolon, and its `=` stands behind the parameters.
    let head = function(text)?;
    let declares = statement.end == End::Open || memchr::memmem::find(head.rest, b"=>").is_some();
    if declares {
        outline.symbol(Rank::Top, statement.at, head.text);
    }
    Some(Opens::Body)
}

fn groovy(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = text.trim_ascii();
    if let Some(rest) = after_word(text, b"import") {
        outline.import(after_word(rest, b"static").unwrap_or(rest));
        return None;
    }
    let text = unannotated(text);
    if let Some(opens) = typed(text, statement, outline) {
        return Some(opens);
    }
    let rank = if statement.inside { Rank::Member } else { Rank::Top };
    let head = function(text).filter(|_| statement.end == End::Open)?;
    // A call with a closure has no type before its name.
    let before = &head.text[..head.text.len() - head.name.len()];
    if !before.trim_ascii().is_empty() {
        outline.symbol(rank, statement.at, head.text);
    }
    Some(Opens::Body)
}
