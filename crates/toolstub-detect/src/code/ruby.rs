//! Ruby and Elixir, told by indentation.

use super::heads::is_control;
use super::lines::{Line, Lines};
use super::outline::{Outline, Rank};
use super::words::{after_word, is_word, quoted, upto, word, word_len};

pub(super) fn ruby(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    // The indentation of the method that is open; what is deeper stands inside of it.
    let mut method = None;
    while let Some(line) = lines.next() {
        let text = line.text;
        if text.is_empty() || text[0] == b'#' {
            continue;
        }
        if line.indent == 0 {
            if text.starts_with(b"=begin") {
                lines.skip_to(b"=end");
                continue;
            }
            if text == b"__END__" {
                return;
            }
        }
        if method.is_some_and(|indent| line.indent > indent) {
            if memchr::memmem::find(text, b"<<").is_some() {
                lines.skip_heredoc(text);
            }
            continue;
        }
        method = None;
        let keyword = word(text);
        match keyword {
            b"require" | b"require_relative" | b"load" => {
                outline.import(quoted(text).unwrap_or_default());
            }
            b"class" | b"module" | b"def" => {
                let rest = after_word(text, keyword).unwrap_or_default();
                let rank = if line.indent == 0 { Rank::Top } else { Rank::Member };
                let name = if keyword == b"def" { method_name(rest) } else { constant(rest) };
                if name > 0 && outline.has_room_for(rank) {
                    outline.symbol(rank, line.at, upto(text, &rest[name..]));
                }
                let endless = text.ends_with(b"end") || is_endless(&rest[name..]);
                if keyword == b"def" && !endless {
                    method = Some(line.indent);
                }
            }
            _ => {}
        }
        if memchr::memmem::find(text, b"<<").is_some() && keyword != b"class" {
            lines.skip_heredoc(text);
        }
    }
}

/// Whether a method's body stands behind `=` in its own line.
fn is_endless(rest: &[u8]) -> bool {
    let behind = if rest.starts_with(b"(") { super::words::after_group(rest) } else { rest };
    behind.trim_ascii_start().starts_with(b"= ")
}

fn constant(text: &[u8]) -> usize {
    if !text.first().is_some_and(u8::is_ascii_uppercase) && !text.starts_with(b"::") {
        return 0;
    }
    text.iter().take_while(|b| is_word(**b) || **b == b':').count()
}

fn method_name(text: &[u8]) -> usize {
    let words = text.iter().take_while(|b| is_word(**b) || **b == b'.').count();
    if words == 0 || text[..words].ends_with(b".") {
        let symbol = |b: &&u8| b.is_ascii_punctuation() && !matches!(b, b'(' | b';' | b'#');
        return words + text[words..].iter().take_while(symbol).count();
    }
    let mark = text.get(words).is_some_and(|b| matches!(b, b'?' | b'!'));
    let setter = text.get(words) == Some(&b'=') && matches!(text.get(words + 1), Some(b'('));
    words + usize::from(mark || setter)
}

pub(super) fn elixir(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    while let Some(line) = lines.next() {
        let text = line.text;
        if text.ends_with(b"\"\"\"") {
            let rest = lines.rest();
            let end = memchr::memmem::find(rest, b"\"\"\"").unwrap_or(rest.len());
            lines.skip_past(lines.position() + end);
            continue;
        }
        elixir_line(&line, outline);
    }
}

fn elixir_line(line: &Line<'_>, outline: &mut Outline) {
    let keyword = word(line.text);
    let Some(rest) = after_word(line.text, keyword) else { return };
    let rank = if line.indent == 0 { Rank::Top } else { Rank::Member };
    match keyword {
        b"defmodule" | b"defprotocol" | b"defimpl" => {
            let name = rest.iter().take_while(|b| is_word(**b) || **b == b'.').count();
            outline.symbol(rank, line.at, upto(line.text, &rest[name..]));
        }
        b"def" | b"defp" | b"defmacro" | b"defmacrop" | b"defguard" => {
            let name = word_len(rest)
                + usize::from(
                    rest[word_len(rest)..].starts_with(b"?")
                        || rest[word_len(rest)..].starts_with(b"!"),
                );
            if name > 0 && !is_control(&rest[..name]) {
                outline.symbol(Rank::Member, line.at, upto(line.text, &rest[name..]));
            }
        }
        b"import" | b"alias" | b"use" | b"require" => {
            let name = rest.iter().take_while(|b| is_word(**b) || **b == b'.').count();
            outline.import(&rest[..name]);
        }
        _ => {}
    }
}
