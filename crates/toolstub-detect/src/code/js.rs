//! JavaScript, TypeScript and the scripts of Vue components.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Quote, Statement};
use super::heads::{is_control, keyword_head, unannotated};
use super::outline::{Outline, Rank};
use super::words::{after_group, after_word, is_word, quoted, uncommented, upto, word, word_len};

pub(super) const JAVASCRIPT: Dialect = Dialect {
    lines: true,
    single: Quote::Line,
    backtick: Quote::Template,
    regex: true,
    statement: javascript,
    ..C_LIKE
};
pub(super) const TYPESCRIPT: Dialect = Dialect { statement: typescript, ..JAVASCRIPT };

const MODIFIERS: &[&[u8]] = &[b"export", b"default", b"declare", b"abstract", b"async"];
/// Blocks at the top level whose declarations are conditional.
const MEMBER_MODIFIERS: &[&[u8]] = &[
    b"public",
    b"private",
    b"protected",
    b"static",
    b"async",
    b"readonly",
    b"override",
    b"abstract",
    b"get",
    b"set",
    b"declare",
    b"accessor",
];

fn javascript(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    script(statement, outline, false)
}

fn typescript(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    script(statement, outline, true)
}

fn script(statement: &Statement<'_>, outline: &mut Outline, types: bool) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = unannotated(text.trim_ascii());
    if statement.inside {
        return member(text, statement, outline);
    }
    let (at, open) = (statement.at, statement.end == End::Open);
    if let Some(rest) = after_word(text, b"import").filter(|rest| !rest.starts_with(b"(")) {
        if open {
            return Some(Opens::Group);
        }
        outline.import(quoted(source_of(rest).unwrap_or(rest)).unwrap_or_default());
        return None;
    }
    if let Some(rest) = after_word(text, b"export") {
        if open && (rest.is_empty() || rest == b"type") {
            return Some(Opens::Group);
        }
        if rest.starts_with(b"{")
            || rest.starts_with(b"*")
            || after_word(rest, b"type").is_some_and(|r| r.starts_with(b"{") || r.starts_with(b"*"))
        {
            if let Some(source) = source_of(rest) {
                outline.import(quoted(source).unwrap_or_default());
            }
            return None;
        }
    }
    let keywords: &[&[u8]] = if types {
        &[b"function", b"class", b"interface", b"enum", b"namespace", b"module"]
    } else {
        &[b"function", b"class"]
    };
    let starless = without_star(text);
    if let Some(head) = keyword_head(
        &starless,
        &[MODIFIERS, if types { &[b"const"] } else { &[] }].concat(),
        keywords,
    ) {
        if matches!(head.keyword, b"namespace" | b"module") {
            if open {
                outline.symbol(Rank::Top, at, head.text);
            }
            return Some(Opens::Type);
        }
        if head.name != b"extends" {
            outline.symbol(Rank::Top, at, head.text);
        }
        return Some(if head.keyword == b"class" { Opens::Type } else { Opens::Body });
    }
    let alias = keyword_head(text, MODIFIERS, &[b"type"]).filter(|head| {
        let rest = head.rest.trim_ascii_start();
        types && (rest.starts_with(b"=") || rest.starts_with(b"<") || rest.is_empty())
    });
    if let Some(head) = alias {
        outline.symbol(Rank::Top, at, head.text);
        return Some(Opens::Body);
    }
    binding(text, statement, outline, types)
}

/// What stands behind the `from` of an import: a name or a path may have that word in it, too.
fn source_of(text: &[u8]) -> Option<&[u8]> {
    memchr::memmem::find_iter(text, b"from")
        .map(|at| text[at + 4..].trim_ascii_start())
        .find(|rest| matches!(rest.first(), Some(b'"' | b'\'')))
}

/// `text` without the star of a generator function.
fn without_star(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let limit = &text[..text.len().min(80)];
    match memchr::memmem::find(limit, b"function") {
        Some(at) if text[at + 8..].trim_ascii_start().starts_with(b"*") => {
            let star = at + 8 + text[at + 8..].iter().position(|&b| b == b'*').unwrap_or(0);
            [&text[..star], b" ", &text[star + 1..]].concat().into()
        }
        _ => text.into(),
    }
}

/// `const x = …`, `exports.x = …`, `X.prototype.y = function …`, `… = require('x')`.
fn binding(
    text: &[u8],
    statement: &Statement<'_>,
    outline: &mut Outline,
    types: bool,
) -> Option<Opens> {
    let mut rest = text;
    while MODIFIERS.contains(&word(rest)) && !word(rest).is_empty() {
        rest = after_word(rest, word(rest))?;
    }
    let keyword = word(rest);
    let declared = matches!(keyword, b"const" | b"let" | b"var");
    if declared {
        let names = after_word(rest, keyword)?;
        if names.is_empty() && statement.end == End::Open {
            return Some(Opens::Group);
        }
        required(names, outline);
        let length = word_len(names);
        if length == 0 {
            return None;
        }
        let value = &names[length..];
        if is_function(assigned(value)) || types && keyword == b"const" {
            outline.symbol(Rank::Top, statement.at, upto(text, value));
        }
        return None;
    }
    let target = rest.iter().take_while(|b| is_word(**b) || **b == b'.').count();
    let (target, value) = rest.split_at(target);
    let dotted = target.contains(&b'.');
    if dotted && value.trim_ascii_start().starts_with(b"=") {
        let value = assigned(value);
        if is_function(value) {
            let name = inner_name(value);
            if target == b"module.exports" && name.is_empty() {
                return None;
            }
            let shown = if value.starts_with(b"class") { "class" } else { "function" };
            let head = match target {
                b"module.exports" => [target, b" = ", shown.as_bytes(), b" ", name].concat(),
                _ => [target, b" = ", shown.as_bytes()].concat(),
            };
            outline.symbol(Rank::Top, statement.at, &head);
            return Some(if shown == "class" { Opens::Type } else { Opens::Body });
        }
        required(value, outline);
    } else if word(rest) == b"require" {
        required(rest, outline);
    }
    None
}

/// What stands behind the `=` of a declaration, a type between them left out.
fn assigned(value: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'=', &value[at..]) {
        at += found + 1;
        if !matches!(value.get(at), Some(b'>' | b'=')) {
            return value[at..].trim_ascii_start();
        }
        at += 1;
    }
    &[]
}

fn is_function(value: &[u8]) -> bool {
    let value = after_word(value, b"async").unwrap_or(value);
    if after_word(value, b"function").is_some() || after_word(value, b"class").is_some() {
        return true;
    }
    let parameters =
        if value.starts_with(b"<") { after_group(value).trim_ascii_start() } else { value };
    let behind = if parameters.starts_with(b"(") {
        after_group(parameters).trim_ascii_start()
    } else {
        let length = word_len(parameters);
        if length == 0 {
            return false;
        }
        parameters[length..].trim_ascii_start()
    };
    behind.starts_with(b"=>")
        || behind.starts_with(b":") && memchr::memmem::find(behind, b"=>").is_some()
}

fn inner_name(value: &[u8]) -> &[u8] {
    let value = after_word(value, b"async").unwrap_or(value);
    let value = after_word(value, b"function").or(after_word(value, b"class")).unwrap_or(b"");
    word(value)
}

/// Notes `require('x')` at the start of a value.
fn required(text: &[u8], outline: &mut Outline) {
    for at in memchr::memmem::find_iter(text, b"require(").take(16) {
        let argument = text[at + 8..].trim_ascii_start();
        let alone = at == 0 || !is_word(text[at - 1]);
        if alone && argument.first().is_some_and(|b| matches!(b, b'"' | b'\'' | b'`')) {
            outline.import(quoted(argument).unwrap_or_default());
        }
    }
}

fn member(text: &[u8], statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    if !outline.has_room_for(Rank::Member) {
        return None;
    }
    let mut rest = text;
    if let Some(head) =
        keyword_head(text, MODIFIERS, &[b"class", b"function", b"interface", b"enum"])
    {
        outline.symbol(Rank::Member, statement.at, head.text);
        return Some(Opens::Body);
    }
    while MEMBER_MODIFIERS.contains(&word(rest)) {
        let after = after_word(rest, word(rest))?;
        if !after.first().is_some_and(|b| is_word(*b) || matches!(b, b'#' | b'*' | b'[')) {
            break;
        }
        rest = after;
    }
    let name = rest.strip_prefix(b"*").map_or(rest, <[u8]>::trim_ascii_start);
    let name = name.strip_prefix(b"#").unwrap_or(name);
    let length = word_len(name);
    if length == 0 || is_control(&name[..length]) {
        return None;
    }
    let behind = &name[length..];
    let generic = if behind.starts_with(b"<") { after_group(behind) } else { behind };
    let is_method = generic.trim_ascii_start().starts_with(b"(") && statement.end == End::Open;
    if is_method || is_function(assigned(generic)) && generic.trim_ascii_start().starts_with(b"=") {
        outline.symbol(Rank::Member, statement.at, upto(text, behind));
        return Some(Opens::Body);
    }
    None
}
