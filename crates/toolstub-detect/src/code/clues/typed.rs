//! Words of languages that declare types: Rust, Go, Kotlin, Swift, Java, C#, C and C++.

use memchr::memmem;

use super::{Votes, Words, ends, has, has_variable, is_call, is_path, starts};
use crate::code::language::Language::{
    C, CSharp, Cpp, Dart, Go, Java, Kotlin, Php, Protobuf, Rust, Scala, Swift, TypeScript, Zig,
};
use crate::code::words::word;

/// Adds what the first word of a line says. True if it says anything here.
pub(super) fn clues(words: &Words<'_>, votes: &mut Votes) -> bool {
    let Words { first, text, rest, name, behind, semicolon, brace, .. } = *words;
    match first {
        b"fn" if is_call(rest) => votes.add(Rust, 3),
        b"pub" => {
            let follows = rest.strip_prefix(b"(").map_or(name, |_| b"fn");
            if matches!(
                follows,
                b"fn"
                    | b"struct"
                    | b"enum"
                    | b"mod"
                    | b"use"
                    | b"trait"
                    | b"const"
                    | b"type"
                    | b"async"
                    | b"unsafe"
                    | b"static"
                    | b"extern"
                    | b"macro"
            ) {
                votes.add(Rust, 3);
                if matches!(follows, b"fn" | b"const") {
                    votes.add(Zig, 2);
                }
            } else if ends(text, ",") && behind.starts_with(b":") {
                votes.add(Rust, 2);
            }
        }
        b"impl"
            if brace || ends(text, ">") || has(rest, " for ") && !semicolon && rest.len() < 120 =>
        {
            votes.add(Rust, 3);
        }
        b"mod" | b"extern"
            if semicolon && is_path(rest.strip_suffix(b";").unwrap_or(rest), b" ") =>
        {
            votes.all(&[Rust], 2);
        }
        b"extern" if starts(rest, "\"C\"") => votes.all(&[C, Cpp, Rust], 2),
        b"extern" if semicolon => votes.all(&[C, Cpp], 2),
        b"trait" if brace => votes.all(&[Rust, Scala, Php], 2),
        b"match" if brace => votes.add(Rust, 2),
        b"func" => {
            if brace && starts(rest, "(") {
                votes.add(Go, 4);
            } else if is_call(rest) {
                if has(rest, "->") || has(rest, ": ") || has(rest, "throws") {
                    votes.add(Swift, 3);
                } else if brace {
                    votes.add(Go, 2);
                    votes.add(Swift, 1);
                    if memmem::find(rest, b")")
                        .is_some_and(|at| rest[at + 1..].trim_ascii() != b"{")
                        || rest.contains(&b'*')
                    {
                        votes.add(Go, 2);
                    }
                }
            }
        }
        b"fun"
            if is_call(rest)
                || rest.contains(&b'(') && (brace || has(rest, ": ") || has(rest, " = ")) =>
        {
            votes.add(Kotlin, 3);
        }
        b"val" if has(rest, "=") || has(rest, ": ") => votes.all(&[Kotlin, Scala], 2),
        b"guard" if has(rest, "else") => votes.add(Swift, 3),
        b"defer" if brace || ends(text, ")") => votes.add(Go, 2),
        b"go" if starts(rest, "func(") => votes.add(Go, 3),
        b"type" => {
            if ends(text, "struct {")
                || ends(text, "interface {")
                || rest == b"("
                || has(rest, " func(")
            {
                votes.add(Go, 4);
            } else if has(rest, " = ") || ends(text, "=") {
                votes.add(TypeScript, 2);
                if semicolon {
                    votes.add(Rust, 1);
                }
            }
        }
        b"interface" if brace => {
            votes.all(&[TypeScript], 2);
            votes.all(&[Java, CSharp, Php, Kotlin], 1);
        }
        b"declare"
            if matches!(
                name,
                b"const"
                    | b"let"
                    | b"var"
                    | b"function"
                    | b"class"
                    | b"abstract"
                    | b"namespace"
                    | b"module"
                    | b"global"
                    | b"enum"
                    | b"type"
                    | b"interface"
            ) && !behind.is_empty() =>
        {
            votes.add(TypeScript, 4);
        }
        b"readonly"
            if !name.is_empty() && (behind.starts_with(b":") || behind.starts_with(b"?:")) =>
        {
            votes.add(TypeScript, 3);
        }
        b"public" | b"private" | b"protected" | b"internal" | b"static" | b"final"
        | b"abstract" | b"override" | b"open" | b"sealed" | b"data" | b"fileprivate" => {
            access(first, text, rest, votes);
        }
        b"using" if semicolon => {
            if starts(rest, "namespace ") || has(rest, "::") {
                votes.add(Cpp, 4);
            } else if is_path(rest.strip_suffix(b";").unwrap_or(rest), b".") || has(rest, " = ") {
                votes.add(CSharp, 3);
            }
        }
        b"namespace" => {
            if has(rest, "\\") {
                votes.add(Php, 4);
            } else if has(rest, "::") {
                votes.add(Cpp, 3);
            } else if brace {
                votes.add(Cpp, 2);
                votes.add(CSharp, 1);
                votes.add(TypeScript, 1);
            } else if is_path(rest.strip_suffix(b";").unwrap_or(rest), b".") {
                votes.add(CSharp, 3);
                if semicolon {
                    votes.add(Php, 2);
                }
            }
        }
        b"template" if starts(rest, "<") => votes.add(Cpp, 4),
        b"inline" if has(rest, "fun ") => votes.add(Kotlin, 3),
        b"typedef" | b"struct" | b"union" | b"enum" | b"void" | b"int" | b"char" | b"unsigned"
        | b"size_t" | b"bool" | b"double" | b"float" | b"long" | b"uint8_t" | b"uint32_t"
        | b"uint64_t" | b"auto" | b"inline" => c_type(first, text, rest, votes),
        b"virtual" | b"explicit" | b"constexpr" | b"noexcept" if semicolon || brace => {
            votes.add(Cpp, 3);
        }
        b"object" if brace && rest.first().is_some_and(u8::is_ascii_uppercase) => {
            votes.add(Scala, 3);
            votes.add(Kotlin, 2);
        }
        b"when" if starts(rest, "(") && brace => votes.add(Kotlin, 2),
        _ => return false,
    }
    true
}

fn access(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let (semicolon, brace) = (ends(text, ";"), ends(text, "{"));
    if rest == b":" {
        return votes.add(Cpp, 3);
    }
    let signature = ends(text, ")") || ends(text, ",") || ends(text, "(");
    if !(semicolon
        || brace
        || signature
        || ends(text, ":") && has(rest, "class ")
        || rest.len() < 100
            && (has(rest, "class ")
                || has(rest, "fun ")
                || has(rest, " val ")
                || starts(rest, "val ")
                || starts(rest, "var ")
                || starts(rest, "let ")))
    {
        return;
    }
    let field = rest.strip_suffix(b";").unwrap_or_default();
    if matches!(first, b"private" | b"protected" | b"public")
        && is_path(field, b"")
        && !has(rest, "$")
    {
        // A name without a type before it.
        return votes.add(TypeScript, 3);
    }
    if first != b"static" && is_kotlin_class(rest)
        || has(rest, "fun ")
        || has(rest, "val ") && !semicolon
        || starts(rest, "lateinit ")
    {
        votes.add(Kotlin, 3);
    } else if has(rest, "func ")
        || has(rest, "let ")
        || starts(rest, "init(")
        || starts(rest, "var ") && has(rest, ": ")
        || first == b"fileprivate"
        || starts(rest, "extension ")
    {
        votes.add(Swift, 3);
    } else if has(rest, "function ") || has_variable(rest) {
        votes.add(Php, 4);
    } else if has(rest, ": ")
        && (semicolon || brace)
        && !has(rest, "?")
        && !starts(rest, "class")
        && !starts(rest, "partial class")
        && !starts(rest, "sealed class")
        && !starts(rest, "static class")
        && !starts(rest, "interface")
    {
        votes.add(TypeScript, 3);
        votes.add(CSharp, 1);
    } else if first == b"static" {
        votes.all(&[C, Cpp], 2);
        votes.all(&[Java, CSharp], 1);
    } else if first != b"data" {
        let java = !matches!(first, b"internal" | b"override" | b"open" | b"fileprivate");
        votes.add(Java, u32::from(java) * 2);
        votes.add(CSharp, 2);
        votes.add(Dart, u32::from(first == b"final"));
        if has(rest, "String ")
            || has(rest, "final ")
            || has(rest, " throws ")
            || has(rest, "boolean ")
            || has(rest, " implements ")
            || has(rest, "extends ")
        {
            votes.add(Java, 3);
        }
        if has(rest, "string ")
            || has(rest, "readonly ")
            || has(rest, " get;")
            || has(rest, "override ")
            || has(rest, "virtual ")
            || has(rest, "bool ")
            || has(rest, "async Task")
            || has(rest, "partial ")
            || has(rest, " : I")
        {
            votes.add(CSharp, 3);
        }
    }
}

/// `class X(a: A) :`, `class X :`, `class X : Y("z")`, as only Kotlin declares.
pub(super) fn is_kotlin_class(rest: &[u8]) -> bool {
    let Some(at) = memmem::find(rest, b"class ") else { return false };
    let head = &rest[at + 6..];
    let behind = head[word(head).len()..].trim_ascii_start();
    let parameters = memchr::memrchr(b')', behind).map_or(&b""[..], |end| &behind[..end]);
    let fields = behind.starts_with(b"(") && (has(parameters, ": ") || ends(behind, ") :"));
    let named = behind == b":" && head.ends_with(b" :");
    let called = behind.starts_with(b": ")
        && ends(behind, ")")
        && memmem::find(behind, b"(").is_some_and(|open| open > 2 && behind[open - 1] != b' ');
    !ends(rest, ";") && (fields || named || called)
}

fn c_type(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let (semicolon, brace) = (ends(text, ";"), ends(text, "{"));
    let opens = semicolon || brace || ends(text, ")") && is_call(rest) || ends(text, ",");
    if !opens {
        return;
    }
    match first {
        b"struct" | b"union" | b"typedef"
            if has(rest, "{") || has(rest, " *") || first == b"typedef" || semicolon =>
        {
            let named = starts(rest, "enum ") || starts(rest, "struct ") || starts(rest, "union ");
            votes.all(&[C, Cpp], if first == b"typedef" && brace && named { 4 } else { 2 });
            if brace && first == b"struct" && !rest.contains(&b'(') {
                votes.all(&[Rust, Swift, Go], 1);
            }
        }
        b"enum" if starts(rest, "class ") => {
            votes.all(&[Kotlin, Cpp], 2);
        }
        b"enum" if brace => {
            votes.all(&[C, Cpp, Java, TypeScript, Rust, Swift, CSharp, Protobuf], 1);
            votes.add(Swift, if has(rest, ": ") { 2 } else { 0 });
        }
        b"void" | b"int" | b"bool" | b"double" | b"float" | b"long" | b"char" => {
            votes.all(&[C, Cpp, Java, CSharp, Dart], 1);
            let pointers = rest.contains(&b'*') || has(rest, "_t ") || has(rest, "(void)");
            votes.all(&[C, Cpp], u32::from(pointers) * 2);
            if semicolon
                && has(rest, " = ")
                && rest
                    .rsplit(|&b| b == b' ')
                    .next()
                    .is_some_and(|n| n.len() > 1 && n[..n.len() - 1].iter().all(u8::is_ascii_digit))
            {
                votes.add(Protobuf, 1);
            }
        }
        b"auto" => votes.add(Cpp, 3),
        b"unsigned" | b"size_t" | b"uint8_t" | b"uint32_t" | b"uint64_t" | b"inline" => {
            votes.all(&[C, Cpp], 3);
        }
        _ => {}
    }
    if has(rest, "::") {
        votes.add(Cpp, 2);
    }
}
