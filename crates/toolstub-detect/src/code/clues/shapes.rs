//! What stands anywhere in a line: marks, operators and endings.

use memchr::memmem;

use super::{Votes, ends, has, is_path, starts};
use crate::code::language::Language::{
    C, CSharp, Cpp, Css, Dart, Elixir, Go, Haskell, Java, JavaScript, Kotlin, Lua, Makefile,
    ObjectiveC, Perl, Php, PowerShell, Protobuf, Python, R, Ruby, Rust, Scala, Scss, Shell, Sql,
    Swift, TypeScript,
};
use crate::code::words::{after_word, is_word, word};

/// Clues in a line that begins with some other word.
pub(super) fn by_name(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let semicolon = ends(text, ";");
    if first[0] == b'$' {
        let name = text.iter().take_while(|b| is_word(**b) || **b == b'-').count();
        if starts(&text[name..], ":") && !starts(&text[name..], "::") {
            return votes.add(Scss, u32::from(semicolon || ends(text, "(")) * 3);
        }
    }
    if first[0] == b'$' {
        let assigned =
            rest.first().is_some_and(|b| matches!(b, b'=' | b'.' | b'+' | b'[' | b'-' | b':'));
        if assigned && semicolon {
            votes.add(Php, 2);
            votes.add(Perl, 2);
            if starts(first, "$this") {
                votes.add(Php, 3);
            }
            if has(rest, "->{") || has(rest, "=~") || has(rest, "qw(") || has(rest, "@{") {
                votes.add(Perl, 3);
            }
        } else if assigned && !ends(text, ",") {
            votes.add(PowerShell, 2);
            votes.all(
                &[Php, Perl],
                u32::from(ends(text, "{") || ends(text, "[") || ends(text, "(")) * 2,
            );
            if starts(first, "$env") || starts(first, "$global") || starts(first, "$script") {
                votes.add(PowerShell, 2);
            }
        }
        return;
    }
    if starts(rest, ":=") {
        if first.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_') {
            votes.add(Makefile, 2);
        } else {
            votes.add(Go, 2);
            votes.add(Makefile, u32::from(has(rest, "$(")) * 3);
        }
    } else if starts(first, "__")
        && ends(first, "__")
        && starts(rest, "= ")
        && !semicolon
        && !ends(text, "\\")
    {
        votes.add(Python, 3);
    } else if starts(rest, ", ") && has(rest, ":= ") && !semicolon {
        votes.add(Go, 3);
    } else if starts(rest, "<- ") {
        votes.add(R, if starts(rest, "<- function(") { 4 } else { 2 });
    } else if starts(rest, ":: ") && has(rest, "->") {
        votes.add(Haskell, 3);
    } else if starts(rest, "()") && (text.len() == first.len() + 2 || ends(text, "{")) {
        // `name() {` of a shell is a method of others, which are indented and take arguments.
        votes.add(Shell, 2);
    } else if starts(rest, "-")
        && first[0].is_ascii_uppercase()
        && rest.get(1).is_some_and(u8::is_ascii_uppercase)
        && !has(text, ": ")
    {
        let verb = [
            &b"Write"[..],
            b"Get",
            b"Set",
            b"New",
            b"Remove",
            b"Import",
            b"Start",
            b"Add",
            b"Invoke",
            b"Test",
            b"Out",
        ];
        if verb.contains(&first) {
            votes.add(PowerShell, 3);
        }
    } else if matches!(first, b"self") && starts(rest, ".") {
        if semicolon {
            votes.add(Rust, 1);
        } else {
            votes.all(&[Python, Swift, Ruby], 1);
            votes.add(
                Python,
                u32::from(has(rest, " = self._") || has(rest, "None") || has(rest, " = []")),
            );
        }
    } else if matches!(first, b"this") && starts(rest, ".") && semicolon {
        votes.all(&[JavaScript, Java, CSharp], 1);
    } else if matches!(first, b"std") && starts(rest, "::") {
        votes.add(Cpp, 2);
    } else if matches!(first, b"print" | b"println" | b"puts")
        && (starts(rest, "(") || starts(rest, "\"") || starts(rest, "'"))
    {
        match first {
            b"puts" => votes.add(Ruby, 2),
            b"print" if !semicolon => votes.all(&[Python, Swift, Lua], 1),
            b"print" => votes.add(Perl, 1),
            _ => votes.all(&[Kotlin, Scala], 1),
        }
    } else if first.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
        && (starts(rest, "?=") || starts(rest, "+=") && rest.get(2) != Some(&b'"'))
        && !semicolon
    {
        votes.add(Makefile, 2);
    } else if matches!(first, b"module" | b"exports") && starts(rest, ".") && has(rest, "=") {
        votes.add(JavaScript, 3);
    } else if ends(text, "= function") || has(rest, ".prototype.") && has(rest, "=") {
        votes.add(JavaScript, 4);
    } else if has(rest, "= require(") {
        votes.add(JavaScript, 3);
    }
}

/// Clues in a line that begins with a mark.
pub(super) fn by_mark(text: &[u8], votes: &mut Votes) {
    let semicolon = ends(text, ";");
    match text[0] {
        b'#' => {
            let rest = text[1..].trim_ascii_start();
            if let Some(path) = after_word(rest, b"include") {
                let std = starts(path, "<") && !has(path, ".");
                let fine = starts(path, "<") && path.contains(&b'>')
                    || starts(path, "\"") && ends(path, "\"")
                    || starts(path, "\"");
                if fine {
                    votes.all(&[C, Cpp], 6);
                    votes.add(Cpp, if std || has(path, ".hpp") { 3 } else { 0 });
                }
            } else if let Some(rest) = after_word(rest, b"import") {
                votes.add(ObjectiveC, if starts(rest, "<") || starts(rest, "\"") { 6 } else { 0 });
            } else if matches!(word(rest), b"define" | b"ifdef" | b"ifndef" | b"undef" | b"pragma")
            {
                let named = rest[word(rest).len()..].trim_ascii_start();
                let name = word(named);
                if !name.is_empty()
                    && starts(text, "#")
                    && text.len() < 200
                    && (word(rest) != b"define" || name.len() > 1)
                    && text.get(1) != Some(&b' ')
                {
                    votes.all(&[C, Cpp], 2);
                    votes.add(CSharp, 1);
                }
            } else if matches!(word(rest), b"if" | b"endif" | b"else" | b"elif" | b"region")
                && text.get(1) != Some(&b' ')
            {
                votes.all(&[C, Cpp], if has(rest, "defined") { 3 } else { 2 });
                votes.all(&[CSharp, Swift], 1);
            } else if starts(text, "#[") && (ends(text, "]") || ends(text, "(")) {
                votes.add(Rust, 2);
                votes.add(Php, u32::from(text.get(2).is_some_and(u8::is_ascii_uppercase)) * 2);
            } else if starts(text, "#![") && ends(text, "]") {
                votes.add(Rust, 4);
            }
        }
        b'@' => {
            let name = word(&text[1..]);
            let rest = &text[1 + name.len()..];
            let path = is_path(&text[1..], b".");
            match name {
                b"media" | b"import" | b"font" | b"keyframes" | b"charset" | b"supports"
                    if ends(text, "{") || semicolon =>
                {
                    votes.add(Css, 3);
                }
                b"mixin" | b"include" | b"use" | b"extend" | b"function"
                    if ends(text, "{") || semicolon =>
                {
                    votes.all(&[Css, Scss], 3);
                }
                b"Override" | b"Test" | b"Nullable" | b"Deprecated" | b"NonNull"
                | b"SuppressWarnings" => {
                    votes.all(&[Java, Kotlin], 2);
                }
                b"objc" | b"available" | b"discardableResult" | b"MainActor" | b"IBOutlet"
                | b"IBAction" => {
                    votes.add(Swift, 3);
                }
                b"interface" | b"implementation" | b"property" | b"protocol"
                    if !path || rest.is_empty() || has(rest, " ") =>
                {
                    votes.add(ObjectiveC, 3);
                }
                b"moduledoc" | b"doc" | b"spec" if starts(rest, " ") => votes.add(Elixir, 3),
                b"property" | b"staticmethod" | b"classmethod" | b"abstractmethod"
                | b"dataclass" | b"pytest" | b"functools" | b"overload" | b"abc"
                | b"contextmanager"
                    if path =>
                {
                    votes.add(Python, 2);
                }
                _ if starts(rest, "(") && ends(text, ")") => {
                    votes.all(&[Java, Kotlin], 1);
                    votes.add(Python, u32::from(name.first().is_some_and(u8::is_ascii_lowercase)));
                }
                _ if rest.trim_ascii_start().starts_with(b"=") && !semicolon => votes.add(Ruby, 2),
                _ => {}
            }
        }
        b'<' if starts(text, "<?php") => votes.add(Php, 20),
        b'<' if starts(text, "<?=") => votes.add(Php, 2),
        b'[' => {
            let attribute = ends(text, "]") && text.get(1).is_some_and(u8::is_ascii_uppercase);
            let name = word(&text[1..]);
            if matches!(
                name,
                b"CmdletBinding" | b"Parameter" | b"ValidateSet" | b"Alias" | b"OutputType"
            ) {
                votes.add(PowerShell, 4);
            } else if attribute && (has(text, "(") && ends(text, ")]")) {
                votes.add(CSharp, 2);
            }
        }
        b'\\' if is_psql(word(&text[1..])) => votes.add(Sql, 2),
        b'.' if starts(text, ".PHONY:") => votes.add(Makefile, 6),
        b'.' if semicolon || ends(text, "{") => {
            let selector = is_path(&text[..text.len() - 1], b".-#:>, ") && ends(text, "{");
            votes.add(Css, u32::from(selector) * 2);
        }
        b':' if starts(text, ":root {") => votes.add(Css, 3),
        b'$' if ends(text, ":") => votes.add(Makefile, 1),
        b'-' if semicolon && starts(text, "-") && has(text, ": ") => votes.add(Css, 2),
        b'}' => {
            if starts(text, "} else") || starts(text, "} catch") || starts(text, "} finally") {
                votes.all(&[C, Cpp, Java, JavaScript, CSharp, Kotlin, Swift, Go, Rust, Php], 1);
            } else if has(text, "= require(")
                || starts(text, "} from '")
                || starts(text, "} from \"")
            {
                votes.add(JavaScript, 4);
            } else if starts(text, "})") && text.len() < 8 {
                votes.add(JavaScript, 1);
            }
        }
        _ => {}
    }
}

/// Clues anywhere in a line.
pub(super) fn by_shape(text: &[u8], votes: &mut Votes) {
    if ends(text, "=> {") || ends(text, ") => {") {
        votes.all(&[JavaScript, Rust, Scala, CSharp, Dart], 1);
        votes.add(
            JavaScript,
            u32::from(
                has(text, ", (") || has(text, "((") || has(text, "= (") || has(text, "async "),
            ),
        );
    }
    if ends(text, "function () {")
        || ends(text, "function() {")
        || has(text, "=== ")
        || has(text, "!== ")
    {
        votes.add(JavaScript, 1);
    }
    if ends(text, "|") && (has(text, " do |") || has(text, "{ |")) {
        votes.add(Ruby, 3);
    }
    if ends(text, "{") || ends(text, ",") || ends(text, ";") {
        let typed =
            [": string", ": number", ": boolean", ": void", ": any", ": unknown", ": Promise"];
        let is_type = |part: &&str| {
            memmem::find(text, part.as_bytes()).is_some_and(|at| {
                let quoted = text[..at].iter().any(|b| matches!(b, b'"' | b'\'' | b'`'));
                let behind = text.get(at + part.len());
                !quoted && behind.is_some_and(|b| b";,)=|[<> {".contains(b))
            })
        };
        if typed.iter().any(is_type) {
            votes.add(TypeScript, 2);
            votes.add(JavaScript, u32::from(ends(text, "{")));
        }
    }
    if ends(text, ";") {
        if has(text, "std::")
            || has(text, "nullptr")
            || has(text, "::") && has(text, "->")
            || has(text, "static_cast<")
        {
            votes.add(Cpp, 2);
        } else if has(text, "NULL") || has(text, "->") && !has(text, "$") {
            votes.all(&[C, Cpp], 1);
        }
        if has(text, "$this->") {
            votes.add(Php, 3);
        }
        if has(text, "= new ") {
            votes.all(&[Java, CSharp, JavaScript], 1);
        }
        if let Some(colon) = text.iter().position(|&b| b == b':') {
            let property = &text[..colon];
            let named = !property.is_empty()
                && property.iter().all(|b| b.is_ascii_lowercase() || *b == b'-' || *b == b'$');
            let spaced = text.get(colon + 1) == Some(&b' ') || !has(text, "(");
            let styled = is_style(property, text[colon + 1..text.len() - 1].trim_ascii());
            if named && spaced && styled && text.get(colon + 1) != Some(&b':') {
                votes.add(Css, 2);
            }
        }
        let number = text[..text.len() - 1].iter().rev().take_while(|b| b.is_ascii_digit()).count();
        if number > 0 && text[..text.len() - 1 - number].ends_with(b" = ") {
            let words = text.split(|&b| b == b' ').filter(|w| !w.is_empty()).count();
            votes.add(Protobuf, u32::from((4..=6).contains(&words)) * 2);
        }
    } else if ends(text, ".to_string()") || ends(text, "?;") || ends(text, ".unwrap()") {
        votes.add(Rust, 1);
    }
    let name = word(text);
    if !name.is_empty() && text[name.len()..].starts_with(b"=") && !ends(text, ";") {
        // No space around the sign.
        let value = &text[name.len() + 1..];
        if value.starts_with(b"$") || has(value, "\"$") || has(value, "$(") || starts(value, "`") {
            votes.add(Shell, 2);
        }
    }
    let command = text[0].is_ascii_lowercase() || text[0] == b'[';
    if has(text, " \"$") && command && !ends(text, ";")
        || ends(text, "|| exit 1")
        || ends(text, " || {")
        || ends(text, "&& \\")
        || has(text, " 2>&1")
        || has(text, ">/dev/null")
    {
        votes.add(Shell, 1);
    }
    if ends(text, " = (") {
        votes.add(Python, 1);
    }
    if has(text, " <- ") && !ends(text, ";") {
        votes.add(R, 1);
        votes.add(Haskell, 1);
    }
    if has(text, "?.(") {
        votes.add(JavaScript, 2);
    }
    if starts(text, "] as const") || starts(text, "} as const") || ends(text, " as const;") {
        votes.add(TypeScript, 3);
    }
    if has(text, ": require('") || has(text, ": require(\"") {
        votes.add(JavaScript, 3);
    }
    if ends(text, "}") && has(text, "{ ") || ends(text, ";}") {
        let inner = memmem::find(text, b"{").map_or(&b""[..], |open| &text[open + 1..]);
        let property = inner.trim_ascii_start();
        let length = property.iter().take_while(|b| b.is_ascii_lowercase() || **b == b'-').count();
        let styled = length > 1
            && property.get(length) == Some(&b':')
            && (has(property, ";") || b".#:*@".contains(&text[0]));
        votes.add(Css, u32::from(styled && !has(text, "=") && !has(text, "(")) * 2);
    }
    if let Some(at) = memmem::find(text, b"$(") {
        let name = word(&text[at + 2..]);
        let shouted = name.len() > 1 && !name.iter().any(u8::is_ascii_lowercase);
        votes.add(Makefile, u32::from(shouted && text.get(at + 2 + name.len()) == Some(&b')')) * 2);
    }
    if (has(text, "\"$")
        || has(text, "$@")
        || has(text, " $1")
        || has(text, "| grep ")
        || ends(text, "|| true")
        || has(text, ">&2"))
        && !ends(text, ";")
        && text[0].is_ascii_lowercase()
    {
        votes.add(Shell, 1);
    }
    if has(text, "|> ") && !ends(text, ";") {
        votes.add(Elixir, 1);
    }
    if has(text, " | Where-Object") || has(text, " | ForEach-Object") || has(text, " -ErrorAction ")
    {
        votes.add(PowerShell, 3);
    }
    if ends(text, "?;") || has(text, "&mut ") || has(text, "Ok(()") || has(text, ".unwrap()") {
        votes.add(Rust, 2);
    }
    if has(text, ":= ") && !ends(text, ";") && !has(text, "$(") {
        votes.add(Go, 1);
    }
}

/// Whether what is given to a property may be a style, rather than a type.
fn is_style(property: &[u8], value: &[u8]) -> bool {
    let typed = ["=>", "[]", " | ", "<", " & "].iter().any(|mark| has(value, mark));
    let named = matches!(
        value,
        b"string"
            | b"number"
            | b"boolean"
            | b"any"
            | b"unknown"
            | b"void"
            | b"never"
            | b"null"
            | b"undefined"
            | b"object"
            | b"bigint"
            | b"symbol"
            | b"true"
            | b"false"
    );
    let quoted = matches!(value.first(), Some(b'"' | b'\''))
        && !matches!(property, b"content" | b"quotes" | b"src")
        && !property.contains(&b'-');
    let class = value.first().is_some_and(u8::is_ascii_uppercase) && is_path(value, b".");
    let grouped = matches!(value.first(), Some(b'{' | b'[' | b'('));
    !(typed || named || quoted || grouped || class && !property.contains(&b'-'))
}

/// Whether a word behind a backslash is a command of psql that scripts have.
fn is_psql(word: &[u8]) -> bool {
    matches!(
        word,
        b"echo"
            | b"quit"
            | b"connect"
            | b"restrict"
            | b"unrestrict"
            | b"pset"
            | b"gset"
            | b"copy"
            | b"ir"
    )
}
