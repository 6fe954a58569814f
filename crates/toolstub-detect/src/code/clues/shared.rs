//! Words with which lines of many languages begin.

use super::typed::is_kotlin_class;
use super::{Votes, Words, ends, has, has_variable, is_call, is_path, starts};
use crate::code::language::Language::{
    C, CSharp, Cpp, Dart, Elixir, Go, Groovy, Haskell, Hcl, Java, JavaScript, Kotlin, Lua, Perl,
    Php, PowerShell, Protobuf, Python, Ruby, Rust, Scala, Shell, Swift, TypeScript, Zig,
};
use crate::code::words::after_word;

/// Adds what the first word of a line says. True if it says anything here.
pub(super) fn clues(words: &Words<'_>, votes: &mut Votes) -> bool {
    let Words { first, text, rest, name, behind, semicolon, brace, colon, .. } = *words;
    match first {
        b"import" => import(rest, votes),
        b"from" => {
            let module = rest.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            let names = rest[module.len()..].trim_ascii_start();
            if is_path(module, b".") && after_word(names, b"import").is_some() {
                votes.add(Python, 4);
            }
        }
        b"use" => {
            let path = rest.split(|&b| matches!(b, b';' | b' ' | b'{')).next().unwrap_or_default();
            if semicolon || brace {
                if has(rest, "\\") {
                    votes.add(Php, 4);
                } else if matches!(name, b"strict" | b"warnings" | b"parent" | b"base" | b"utf8") {
                    votes.add(Perl, 4);
                } else if has(rest, "::") {
                    let upper = rest[0].is_ascii_uppercase() && !has(rest, "{");
                    votes.add(Rust, if upper { 1 } else { 3 });
                    votes.add(Perl, if upper { 3 } else { 1 });
                } else if is_path(path, b".") {
                    votes.all(&[Rust, Perl, Php], 1);
                }
            }
        }
        b"package" => {
            let path = rest.strip_suffix(b";").unwrap_or(rest).trim_ascii_end();
            if semicolon && is_path(path, b".") {
                votes.add(Java, if path.contains(&b'.') { 12 } else { 3 });
                votes.add(Protobuf, 2);
                votes.add(Perl, 1);
            } else if semicolon && is_path(path, b":") {
                votes.add(Perl, 3);
            } else if is_path(path, b".") && path.contains(&b'.') {
                votes.all(&[Kotlin, Scala, Groovy], 2);
            } else if is_path(path, b"") {
                votes.add(Go, 8);
                votes.all(&[Kotlin, Scala], 1);
            }
        }
        b"def" => {
            if colon && (rest.contains(&b'(')) {
                votes.add(Python, 4);
            } else if ends(text, " do") {
                votes.add(Elixir, 3);
            } else if has(rest, " = ") && !brace || ends(text, "= {") || ends(text, "=") {
                votes.add(Scala, 2);
                votes.add(Groovy, 1);
            } else if brace {
                votes.all(&[Groovy, Scala], 2);
            } else if is_call(rest) && !ends(text, ")") {
                // A Python signature that goes on in the next line.
                votes.add(Python, 2);
            } else if !rest.contains(&b' ') || ends(text, ")") {
                votes.add(Ruby, 3);
            }
        }
        b"class" => {
            if is_kotlin_class(text) {
                votes.add(Kotlin, 3);
                votes.add(Python, u32::from(colon) * 2);
            } else if colon && (behind.starts_with(b"(") || behind == b":") {
                votes.add(Python, 4);
            } else if has(rest, " < ") && !brace && !semicolon {
                votes.add(Ruby, 4);
            } else if brace {
                votes.all(&[JavaScript, Java, Cpp, CSharp, Php, Kotlin, Swift, Dart, Scala], 1);
                if has(rest, " extends ") {
                    votes.all(&[JavaScript, Java, Php, Dart, Scala], 1);
                }
                if has(rest, ": public ") || has(rest, "::") {
                    votes.add(Cpp, 3);
                }
                if has(rest, ": ") {
                    votes.all(&[Kotlin, Swift], 2);
                }
                if behind.starts_with(b"(") {
                    votes.all(&[Kotlin, Scala], 2);
                }
            } else if semicolon && behind == b";" {
                votes.add(Cpp, 2);
            } else if behind.is_empty() && name.first().is_some_and(u8::is_ascii_uppercase) {
                votes.all(&[Ruby, Php, Cpp, CSharp], 1);
            }
        }
        b"module" if behind.is_empty() || behind.starts_with(b"::") => {
            if name.first().is_some_and(u8::is_ascii_uppercase) {
                votes.add(Ruby, 3);
            }
        }
        b"module" if ends(text, "where") => votes.add(Haskell, 4),
        b"module" if starts(rest, "\"") && brace => votes.add(Hcl, 3),
        b"if" | b"while" | b"for" => control(first, text, rest, votes),
        b"return" => {
            if semicolon {
                votes.all(&[C, Cpp, Java, JavaScript, Php, CSharp, Rust, Perl, Dart], 1);
            } else if rest.is_empty() || !has(rest, " ") || rest.contains(&b'(') {
                votes.all(&[Python, Go, Kotlin, Swift, Lua], 1);
            }
        }
        b"let" => {
            if semicolon || brace {
                votes.all(&[Rust, JavaScript], 1);
                if name == b"mut" || has(rest, "::") || has(rest, "&mut ") {
                    votes.add(Rust, 3);
                }
                if has(rest, "===") || has(rest, "=>") && semicolon {
                    votes.add(JavaScript, 1);
                }
            } else if behind.starts_with(b"=") || behind.starts_with(b":") && has(behind, "=") {
                votes.all(&[Swift], 2);
                votes.add(JavaScript, 1);
            }
        }
        b"var" => {
            if behind.starts_with(b"=") {
                votes.add(JavaScript, 2);
                votes.all(&[Kotlin, Swift, CSharp, Go, Dart], 1);
            } else if behind.starts_with(b":") && !semicolon {
                votes.all(&[Kotlin, Swift], 2);
            } else if semicolon {
                votes.add(JavaScript, 2);
            } else if brace || rest == b"(" {
                votes.add(Go, 2);
            }
        }
        b"const" => {
            if semicolon || brace || behind.starts_with(b"=") {
                if starts(rest, "{") || behind.starts_with(b"=") {
                    votes.add(JavaScript, 2);
                    votes.add(
                        TypeScript,
                        u32::from(
                            has(rest, "): ") && has(rest, "=> ")
                                || has(rest, " as ")
                                || has(rest, "<") && has(rest, ">("),
                        ),
                    );
                    votes.add(Go, 1);
                    if has(rest, "@import(") {
                        votes.add(Zig, 5);
                    }
                } else if behind.starts_with(b":") {
                    votes.all(&[Rust, TypeScript], 1);
                    votes.add(TypeScript, u32::from(!semicolon || !has(behind, "&")));
                } else {
                    votes.all(&[C, Cpp, Dart, CSharp, Php], 1);
                }
            } else if rest == b"(" {
                votes.add(Go, 3);
            }
        }
        b"end" if rest.is_empty() || rest.starts_with(b")") || rest.starts_with(b",") => {
            votes.all(&[Ruby, Lua, Elixir], 1);
        }
        b"case" => {
            if ends(text, ";;") || starts(rest, "\"$") || ends(text, " in") && has(rest, "$") {
                votes.add(Shell, 2);
            } else if starts(rest, "class ") || ends(text, "=>") {
                votes.add(Scala, 3);
            } else if colon && starts(rest, "'") && rest.len() > 5 {
                votes.all(&[JavaScript, Php], 1);
            } else if colon || has(rest, ": ") {
                votes.all(&[C, Cpp, Java, JavaScript, CSharp, Go, Swift], 1);
            }
        }
        _ => return false,
    }
    true
}

fn import(rest: &[u8], votes: &mut Votes) {
    let path = rest.strip_suffix(b";").unwrap_or(rest).trim_ascii_end();
    let plain = after_word(path, b"static").unwrap_or(path);
    if starts(rest, "\"") || starts(rest, "'") {
        if has(rest, ".proto") {
            votes.add(Protobuf, 5);
        } else if has(rest, "package:") || has(rest, "dart:") {
            votes.add(Dart, 5);
        } else if memchr::memchr(rest[0], &path[1..]).is_none_or(|end| end + 2 < path.len()) {
            // More than a name stands there.
        } else if rest.ends_with(b";") || starts(rest, "'") {
            votes.add(JavaScript, 3);
        } else {
            votes.add(Go, 3);
            votes.add(JavaScript, 2);
        }
    } else if has(rest, " from '") || has(rest, " from \"") {
        votes.add(JavaScript, 4);
        if starts(rest, "type ") || has(rest, "{ type ") {
            votes.add(TypeScript, 4);
        }
    } else if rest == b"(" {
        votes.add(Go, 4);
    } else if path == b"{" || starts(rest, "type {") {
        votes.add(JavaScript, 3);
        votes.add(TypeScript, u32::from(starts(rest, "type")) * 3);
    } else if rest.ends_with(b";") && is_path(plain, b".*") && path.contains(&b'.') {
        votes.add(Java, 5);
        votes.add(Groovy, 1);
    } else if starts(rest, "qualified ") {
        votes.add(Haskell, 4);
    } else if is_path(path, b".") {
        votes.add(Python, 2);
        if path.contains(&b'.') {
            votes.all(&[Kotlin, Groovy, Scala], 2);
            votes.add(Haskell, 1);
        } else if path[0].is_ascii_uppercase() {
            votes.add(Swift, 3);
        }
    } else if is_path(path, b"._{}, *=>") && path.contains(&b'.') {
        votes.add(Scala, 2);
        votes.add(Kotlin, u32::from(path.ends_with(b".*")) * 2);
    } else if has(path, " as ") && path.split(|&b| b == b' ').count() == 3 {
        votes.add(Python, 3);
        votes.add(Kotlin, u32::from(path.contains(&b'.')));
    } else if is_path(path, b"., ")
        && path.contains(&b',')
        && !has(path, ", and ")
        && path.split(|&b| b == b',').all(|p| is_path(p.trim_ascii(), b"."))
    {
        votes.add(Python, 3);
    }
}

fn control(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let brace = ends(text, "{");
    if ends(text, "; then") || ends(text, ";then") || ends(text, "; do") || ends(text, ";do") {
        votes.add(Shell, 3);
    } else if starts(rest, "[ ") || starts(rest, "[[ ") {
        votes.add(Shell, 2);
    } else if ends(text, " then") {
        votes.add(Lua, 3);
    } else if ends(text, " do") {
        votes.add(Lua, 2);
        votes.add(Ruby, 1);
    } else if ends(text, ":")
        && !starts(rest, "(")
        && (has(rest, " in ")
            || has(rest, "(")
            || has(rest, "==")
            || has(rest, "not ")
            || has(rest, " is ")
            || has(rest, ".")
            || has(rest, "_")
            || !rest.contains(&b' '))
    {
        votes.add(Python, 3);
    } else if ends(text, ":") && starts(rest, "(") {
        votes.all(&[Python, Php], 1);
    } else if starts(rest, "(") {
        if has_variable(rest) {
            votes.all(&[Php, PowerShell, Perl], 2);
            if has(rest, " -eq ")
                || has(rest, " -ne ")
                || has(rest, " -not ")
                || has(rest, "(-not ")
                || has(rest, "-Path ")
            {
                votes.add(PowerShell, 4);
            }
        } else if brace
            || ends(text, ")")
            || ends(text, ";")
            || ends(text, "&&")
            || ends(text, "||")
        {
            votes.all(&[C, Cpp, Java, JavaScript, CSharp, Kotlin, Dart], 1);
            if has(rest, "===")
                || has(rest, "!==")
                || starts(rest, "(const ")
                || starts(rest, "(let ")
            {
                votes.add(JavaScript, 2);
            }
            if has(rest, "->") || has(rest, "NULL") {
                votes.all(&[C, Cpp], 1);
            }
            if starts(rest, "(auto") || has(rest, "::") || has(rest, "nullptr") {
                votes.add(Cpp, 2);
            }
        }
    } else if brace {
        votes.all(&[Go, Rust, Swift], 1);
        if has(rest, "err != nil") || has(rest, ":= range") || has(rest, ":=") {
            votes.add(Go, 3);
        }
        if starts(rest, "let ") {
            votes.all(&[Rust, Swift], 2);
        }
        if first == b"for" && has(rest, "..") {
            votes.add(Rust, 1);
        }
    } else if first == b"if" && is_path(rest, b".?!@") {
        votes.add(Ruby, 1);
    }
}
