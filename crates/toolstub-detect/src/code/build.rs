//! SQL, makefiles, Dockerfiles, `CMake` and Haskell: one declaration a line.

use super::lines::Lines;
use super::outline::{Outline, Rank};
use super::words::{after_word, is_word, upto, word, word_len};

/// How far the name that is created may stand behind the first word.
const HEAD_BYTES: usize = 400;

pub(super) fn sql(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    let mut fresh = true;
    while let Some(line) = lines.next() {
        let text = line.text;
        if text.is_empty() || text.starts_with(b"--") {
            continue;
        }
        if text.starts_with(b"/*") && fresh {
            if memchr::memmem::find(text, b"*/").is_none() {
                let rest = lines.rest();
                let end = memchr::memmem::find(rest, b"*/").unwrap_or(rest.len());
                lines.skip_past(lines.position() + end);
            }
            continue;
        }
        if (fresh || line.indent == 0)
            && text[0].eq_ignore_ascii_case(&b'c')
            && let Some(head) = created(&source[line.at..source.len().min(line.at + HEAD_BYTES)])
        {
            outline.symbol(Rank::Top, line.at, head);
        }
        fresh = matches!(text.last(), Some(b';' | b'/')) || text.eq_ignore_ascii_case(b"go");
    }
}

/// The head of `CREATE … name`.
fn created(text: &[u8]) -> Option<&[u8]> {
    let mut rest = keyword(text, "create")?;
    let skipped = [
        "or",
        "replace",
        "alter",
        "temp",
        "temporary",
        "global",
        "local",
        "unlogged",
        "external",
        "unique",
        "virtual",
        "materialized",
        "recursive",
        "foreign",
        "definer",
        "force",
        "editionable",
    ];
    while let Some(next) = skipped.iter().find_map(|skip| keyword(rest, skip)) {
        rest = next;
    }
    let kinds = [
        "table",
        "view",
        "function",
        "procedure",
        "proc",
        "type",
        "schema",
        "sequence",
        "trigger",
        "domain",
        "database",
        "package",
        "aggregate",
        "index",
        "extension",
        "role",
        "user",
        "policy",
        "server",
        "operator",
        "macro",
    ];
    let kind = kinds.iter().find(|kind| keyword(rest, kind).is_some())?;
    rest = keyword(rest, kind)?;
    if *kind == "index" || matches!(*kind, "role" | "user" | "operator") {
        return None;
    }
    if let Some(next) = keyword(rest, "if") {
        rest = keyword(next, "not").and_then(|next| keyword(next, "exists"))?;
    }
    let mut length = 0;
    loop {
        let part = &rest[length..];
        length += match part.first()? {
            b'[' => part.iter().position(|&b| b == b']')? + 1,
            mark @ (b'"' | b'`') => part[1..].iter().position(|b| b == mark)? + 2,
            _ => word_len(part),
        };
        if rest.get(length) != Some(&b'.') {
            break;
        }
        length += 1;
    }
    (length > 0).then(|| upto(text, &rest[length..]))
}

/// What follows a keyword of any case.
fn keyword<'a>(text: &'a [u8], keyword: &str) -> Option<&'a [u8]> {
    let first = word(text);
    first.eq_ignore_ascii_case(keyword.as_bytes()).then(|| text[first.len()..].trim_ascii_start())
}

pub(super) fn makefile(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    let mut continued = false;
    while let Some(line) = lines.next() {
        let text = line.text;
        let was_continued = std::mem::replace(&mut continued, text.ends_with(b"\\"));
        if text.is_empty() || was_continued || line.indent > 0 || text[0] == b'#' {
            continue;
        }
        match word(text) {
            b"include" | b"sinclude" => outline.import(&text[word_len(text)..]),
            b"define" => {
                lines.skip_to(b"endef");
            }
            _ => {
                if let Some(target) = target(text) {
                    outline.symbol(Rank::Top, line.at, target);
                }
            }
        }
    }
}

/// The target of a rule; patterns and directives have none that is a name.
fn target(text: &[u8]) -> Option<&[u8]> {
    let colon = text.iter().position(|&b| matches!(b, b':' | b'='))?;
    let behind = &text[colon..];
    let assigns =
        behind.starts_with(b"=") || behind.starts_with(b":=") || behind.starts_with(b"::=");
    let name = text[..colon].trim_ascii();
    let named = name.first().is_some_and(|&b| is_word(b) && b != b'$' || b == b'/')
        && !name.iter().any(|b| matches!(b, b'%' | b'"' | b'\'' | b'?' | b'+' | b'!'));
    let specific = behind.contains(&b'=') && !behind.contains(&b';') && !behind.contains(&b'#');
    (!assigns && named && !specific).then_some(name)
}

pub(super) fn dockerfile(source: &[u8], outline: &mut Outline) {
    let mut stages: Vec<Vec<u8>> = Vec::new();
    for line in Lines::new(source) {
        let first = word(line.text);
        if !first.eq_ignore_ascii_case(b"from") {
            continue;
        }
        let mut rest = line.text[first.len()..].trim_ascii_start();
        while rest.starts_with(b"--") {
            let flag = rest.iter().take_while(|b| !b.is_ascii_whitespace()).count();
            rest = rest[flag..].trim_ascii_start();
        }
        let image = rest.iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let (image, behind) = rest.split_at(image);
        if !stages.iter().any(|stage| stage == image) {
            outline.import(image);
        }
        if let Some(stage) = keyword(behind.trim_ascii_start(), "as") {
            outline.symbol(Rank::Top, line.at, line.text);
            if stages.len() < 64 {
                stages.push(stage.to_vec());
            }
        }
    }
}

pub(super) fn cmake(source: &[u8], outline: &mut Outline) {
    for line in Lines::new(source) {
        let first = word(line.text).to_ascii_lowercase();
        let Some(rest) = after_word(line.text, word(line.text)) else { continue };
        let Some(argument) = rest.strip_prefix(b"(") else { continue };
        let argument = argument.trim_ascii_start();
        let name = argument.iter().take_while(|b| !b.is_ascii_whitespace() && **b != b')').count();
        match first.as_slice() {
            b"function" | b"macro" if name > 0 => {
                outline.symbol(Rank::Top, line.at, upto(line.text, &argument[name..]));
            }
            b"include" | b"find_package" => outline.import(&argument[..name]),
            _ => {}
        }
    }
}

pub(super) fn haskell(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    while let Some(line) = lines.next() {
        let text = line.text;
        if text.starts_with(b"{-") {
            let rest = &source[line.at..];
            let end = memchr::memmem::find(rest, b"-}").unwrap_or(rest.len());
            lines.skip_past((line.at + end).max(lines.position()).min(line.at + end));
            continue;
        }
        if line.indent > 0 || text.is_empty() {
            continue;
        }
        let keyword = word(text);
        let rest = after_word(text, keyword).unwrap_or_default();
        let is_name = |b: &&u8| is_word(**b) || matches!(b, b'.' | b'\'');
        match keyword {
            b"import" => {
                let module = after_word(rest, b"qualified").unwrap_or(rest);
                outline.import(&module[..module.iter().take_while(is_name).count()]);
            }
            b"data" | b"newtype" | b"type" | b"class" | b"module" | b"instance" => {
                let name = rest.iter().take_while(is_name).count();
                if keyword != b"module" && name > 0 {
                    outline.symbol(Rank::Top, line.at, upto(text, &rest[name..]));
                }
            }
            _ => {
                let name = text.iter().take_while(is_name).count();
                if name > 0 && text[name..].trim_ascii_start().starts_with(b"::") {
                    outline.symbol(Rank::Top, line.at, &text[..name]);
                }
            }
        }
    }
}
