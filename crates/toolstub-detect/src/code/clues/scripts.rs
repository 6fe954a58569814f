//! Words of scripts: Python, Ruby, Perl, Lua, JavaScript, PHP and shells.

use super::{Votes, Words, ends, has, has_variable, is_path, starts};
use crate::code::language::Language::{
    CMake, CSharp, Elixir, Haskell, JavaScript, Lua, Perl, Php, PowerShell, Python, R, Ruby, Shell,
    TypeScript,
};
use crate::code::words::{after_word, is_word, word};

/// Adds what the first word of a line says. True if it says anything here.
pub(super) fn clues(words: &Words<'_>, votes: &mut Votes) -> bool {
    let Words { first, text, rest, name, behind, semicolon, brace, colon, .. } = *words;
    match first {
        b"async" if starts(rest, "def ") && colon => votes.add(Python, 4),
        b"async" if starts(rest, "function") => votes.add(JavaScript, 3),
        b"elif" | b"except" if colon => votes.add(Python, 3),
        b"elif" if has(rest, "then") => votes.add(Shell, 3),
        b"try" | b"finally" if colon && behind.is_empty() && rest == b":" => votes.add(Python, 3),
        b"else" if rest == b":" => votes.add(Python, 2),
        b"pass" if rest.is_empty() => votes.add(Python, 2),
        b"raise" if rest.contains(&b'(') && !semicolon => votes.all(&[Python, Ruby], 1),
        b"with" if colon && has(rest, "(") => votes.add(Python, 2),
        b"elseif" | b"until" if ends(text, "then") => votes.add(Lua, 3),
        b"elsif" | b"unless" => votes.all(&[Ruby, Perl], 1),
        b"function" | b"local" => function(first, text, rest, votes),
        b"export" => export(text, rest, votes),
        b"module.exports" => votes.add(JavaScript, 4),
        b"foreach" if starts(rest, "(") => {
            votes.add(CSharp, if has(rest, " in ") { 2 } else { 0 });
            votes.add(Php, if has(rest, " as ") { 3 } else { 0 });
            votes.add(PowerShell, if has(rest, "$") && has(rest, " in ") { 3 } else { 0 });
            votes.add(CMake, u32::from(!brace && ends(text, ")")));
        }
        b"require" | b"require_relative" => {
            if starts(rest, "'") || starts(rest, "\"") {
                let ruby = !semicolon;
                votes.add(if ruby { Ruby } else { Php }, 3);
            }
        }
        b"require_once" | b"include_once" if semicolon => votes.add(Php, 4),
        b"attr_accessor" | b"attr_reader" | b"attr_writer" if starts(rest, ":") => {
            votes.add(Ruby, 4);
        }
        b"defmodule" | b"defp" | b"defimpl" | b"defprotocol" if ends(text, " do") => {
            votes.add(Elixir, 5);
        }
        b"alias" if rest.first().is_some_and(u8::is_ascii_uppercase) && is_path(rest, b".") => {
            votes.add(Elixir, 2);
        }
        b"my" | b"our"
            if starts(rest, "$") || starts(rest, "@") || starts(rest, "%") || starts(rest, "(") =>
        {
            votes.add(Perl, if semicolon { 4 } else { 2 });
        }
        b"sub"
            if brace
                || behind.is_empty()
                    && !name.is_empty()
                    && rest.len() == name.len()
                    && first.len() == 3 =>
        {
            votes.add(Perl, if brace { 4 } else { 0 });
        }
        b"fi" | b"esac" | b"done"
            if rest.is_empty() || matches!(rest[0], b'<' | b'|' | b'>' | b'&' | b';') =>
        {
            // A word that is all there is may be anything.
            votes.add(Shell, if rest.is_empty() && first == b"done" { 2 } else { 3 });
        }
        b"then" | b"do" if rest.is_empty() => votes.all(&[Shell, Lua], 1),
        b"echo" | b"printf" => {
            if semicolon && !has(rest, ";;") {
                votes.add(Php, 1);
            }
            if has(rest, "$") || starts(rest, "\"") || starts(rest, "'") {
                votes.add(Shell, 2);
            }
        }
        b"set" if starts(&text[first.len()..], " -") && rest.len() < 20 => votes.add(Shell, 3),
        b"test" if starts(rest, "-") || starts(rest, "\"$") => votes.add(Shell, 2),
        b"cd" | b"mkdir" | b"rm" | b"cp" | b"chmod" | b"trap" | b"exec" | b"eval" | b"exit"
        | b"sudo"
            if !rest.is_empty()
                && (has(rest, "$")
                    || has(rest, "-p ")
                    || has(rest, "-rf ")
                    || first == b"exit" && rest.len() < 3)
                && !semicolon =>
        {
            votes.add(Shell, 2);
        }
        b"shift" | b"esac" if rest.is_empty() => votes.add(Shell, 1),
        b"library" if starts(rest, "(") && !semicolon => votes.add(R, 3),
        b"data" | b"newtype" | b"instance"
            if has(rest, " = ") && has(rest, " |") || ends(text, " where") =>
        {
            votes.add(Haskell, 2);
        }
        b"param" | b"Param" | b"PARAM" if starts(rest, "(") => votes.add(PowerShell, 3),
        _ => return false,
    }
    true
}

fn function(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let brace = ends(text, "{") || ends(text, "}");
    if first == b"local" {
        if starts(rest, "function") || has(rest, " = ") {
            votes.add(Lua, if starts(rest, "function") { 4 } else { 2 });
        } else if rest.contains(&b'=') && !rest.contains(&b' ')
            || has(rest, "=$")
            || has(rest, "=\"")
        {
            votes.add(Shell, 3);
        } else if is_path(rest, b", ") {
            votes.all(&[Lua, Shell], 1);
        }
        return;
    }
    let name =
        rest.iter().take_while(|b| is_word(**b) || matches!(b, b'.' | b':' | b'-' | b'&')).count();
    let (name, behind) = rest.split_at(name);
    let behind = behind.trim_ascii_start();
    if name.contains(&b'-') && (brace || behind.is_empty()) {
        votes.add(PowerShell, 4);
        votes.add(Shell, 1);
    } else if behind.starts_with(b"()") && (brace || behind == b"()") || behind == b"{" {
        votes.add(Shell, 2);
        votes.all(&[JavaScript, Php], if behind == b"{" { 0 } else { 2 });
        votes.add(Lua, u32::from(!brace) * 2);
        votes.add(PowerShell, u32::from(behind == b"{"));
    } else if behind.starts_with(b"(") {
        if brace || ends(text, ",") || ends(text, "(") {
            votes.add(JavaScript, 2);
            votes.add(Php, if has_variable(rest) { 3 } else { 1 });
            if has(rest, ": string")
                || has(rest, ": number")
                || has(rest, "): ")
                || has(rest, ": boolean")
            {
                votes.add(TypeScript, 3);
            }
        } else if ends(text, ")") {
            votes.add(Lua, if has(rest, "$") { 0 } else { 3 });
            votes.add(Php, if has_variable(rest) { 3 } else { 1 });
            votes.add(JavaScript, 1);
        }
    }
}

fn export(text: &[u8], rest: &[u8], votes: &mut Votes) {
    let semicolon = ends(text, ";");
    match word(rest) {
        b"default" | b"function" | b"class" | b"async" => {
            votes.add(JavaScript, 3);
            votes.add(TypeScript, u32::from(is_annotated(rest)) * 3);
        }
        b"const" | b"let" | b"var" => {
            votes.add(JavaScript, 3);
            let name = after_word(rest, word(rest)).unwrap_or_default();
            let typed = name[word(name).len()..].trim_ascii_start().starts_with(b":");
            votes.add(TypeScript, u32::from(typed || is_annotated(rest)) * 3);
        }
        b"interface" | b"type" | b"enum" | b"declare" | b"abstract" | b"namespace" => {
            votes.all(&[JavaScript, TypeScript], 3);
        }
        b"" if starts(rest, "= ") && semicolon => votes.add(TypeScript, 4),
        _ if starts(rest, "{") || starts(rest, "* from") || starts(rest, "* as") => {
            votes.add(JavaScript, 3);
        }
        name if !name.is_empty() && rest[name.len()..].starts_with(b"=") && !ends(text, ";") => {
            votes.add(Shell, 2);
        }
        _ => {}
    }
}

/// Whether types stand in a line of a script: `): X {`, `<T>(`, `as X;`, `x?: Y`.
pub(super) fn is_annotated(text: &[u8]) -> bool {
    let marks = [
        "): ",
        "<T",
        "?: ",
        ": string",
        ": number",
        ": boolean",
        ">(",
        " as const",
        "[] = ",
        ">> ",
        "> = ",
        "!: ",
    ];
    marks.iter().any(|mark| has(text, mark)) && !has(text, "</")
}
