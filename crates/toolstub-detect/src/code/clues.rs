//! What one line says about the language it is written in.

use memchr::memmem;

use super::language::Language::{
    self, C, CMake, CSharp, Cpp, Css, Dart, Dockerfile, Elixir, Go, Groovy, Haskell, Hcl, Java,
    JavaScript, Kotlin, Lua, Makefile, ObjectiveC, Perl, Php, PowerShell, Protobuf, Python, R,
    Ruby, Rust, Scala, Scss, Shell, Sql, Swift, TypeScript, Zig,
};
use super::words::{after_word, is_word, word};

/// Points for each language.
#[derive(Debug, Clone)]
pub(super) struct Votes([u32; Language::ALL.len()]);

impl Default for Votes {
    fn default() -> Self {
        Self([0; Language::ALL.len()])
    }
}

impl Votes {
    pub(super) fn add(&mut self, language: Language, points: u32) {
        self.0[language as usize] += points;
    }

    pub(super) fn of(&self, language: Language) -> u32 {
        self.0[language as usize]
    }

    pub(super) fn halve(&mut self, language: Language) {
        self.0[language as usize] /= 2;
    }

    /// The language with the most points; the first of equals.
    pub(super) fn best(&self) -> (Language, u32) {
        let mut best = (Language::ALL[0], 0);
        for &language in Language::ALL {
            if self.of(language) > best.1 {
                best = (language, self.of(language));
            }
        }
        best
    }

    fn all(&mut self, languages: &[Language], points: u32) {
        for &language in languages {
            self.add(language, points);
        }
    }
}

fn has(text: &[u8], part: &str) -> bool {
    memmem::find(text, part.as_bytes()).is_some()
}

fn starts(text: &[u8], prefix: &str) -> bool {
    text.starts_with(prefix.as_bytes())
}

fn ends(text: &[u8], suffix: &str) -> bool {
    text.ends_with(suffix.as_bytes())
}

/// Whether `text` is one name, dots and the like inside.
fn is_path(text: &[u8], joints: &[u8]) -> bool {
    let first = text.first().is_some_and(|&b| is_word(b) || joints.contains(&b));
    first && text.iter().all(|b| is_word(*b) || joints.contains(b))
}

/// Whether a word is followed by `(`: a declaration or a call.
fn is_call(rest: &[u8]) -> bool {
    let name = word(rest);
    let behind = rest[name.len()..].trim_ascii_start();
    !name.is_empty() && (behind.starts_with(b"(") || behind.starts_with(b"<"))
}

/// Adds what `text`, one line without its indentation, says. True if it said anything.
pub(super) fn clue(text: &[u8], votes: &mut Votes) -> bool {
    let before = votes.0.iter().sum::<u32>();
    by_first_word(text, votes);
    by_shape(text, votes);
    votes.0.iter().sum::<u32>() > before
}

fn by_first_word(text: &[u8], votes: &mut Votes) {
    let first = word(text);
    if first.is_empty() {
        return by_mark(text, votes);
    }
    let rest = text[first.len()..].trim_ascii_start();
    let semicolon = ends(text, ";");
    let brace = ends(text, "{");
    let colon = ends(text, ":");
    let name = word(rest);
    let behind = rest[name.len()..].trim_ascii_start();
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
            if colon && (behind.starts_with(b"(") || behind == b":") {
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
        b"async" if starts(rest, "def ") && colon => votes.add(Python, 4),
        b"async" if starts(rest, "function") => votes.add(JavaScript, 3),
        b"elif" if colon => votes.add(Python, 3),
        b"elif" if has(rest, "then") => votes.add(Shell, 3),
        b"except" if colon => votes.add(Python, 3),
        b"try" | b"finally" if colon && behind.is_empty() && rest == b":" => votes.add(Python, 3),
        b"else" if rest == b":" => votes.add(Python, 2),
        b"pass" if rest.is_empty() => votes.add(Python, 2),
        b"raise" if rest.contains(&b'(') && !semicolon => votes.all(&[Python, Ruby], 1),
        b"with" if colon && has(rest, "(") => votes.add(Python, 2),
        b"if" | b"while" | b"for" => control(first, text, rest, votes),
        b"elseif" | b"until" if ends(text, "then") => votes.add(Lua, 3),
        b"elsif" | b"unless" => votes.all(&[Ruby, Perl], 1),
        b"return" => {
            if semicolon {
                votes.all(&[C, Cpp, Java, JavaScript, Php, CSharp, Rust, Perl, Dart], 1);
            } else if rest.is_empty() || !has(rest, " ") || rest.contains(&b'(') {
                votes.all(&[Python, Go, Kotlin, Swift, Lua], 1);
            }
        }
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
        b"function" | b"local" => function(first, text, rest, votes),
        b"export" => export(text, rest, votes),
        b"module.exports" => votes.add(JavaScript, 4),
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
        b"typedef" | b"struct" | b"union" | b"enum" | b"void" | b"int" | b"char" | b"unsigned"
        | b"size_t" | b"bool" | b"double" | b"float" | b"long" | b"uint8_t" | b"uint32_t"
        | b"uint64_t" | b"auto" => c_type(first, text, rest, votes),
        b"inline" if has(rest, "fun ") => votes.add(Kotlin, 3),
        b"inline" => c_type(first, text, rest, votes),
        b"virtual" | b"explicit" | b"constexpr" | b"noexcept" if semicolon || brace => {
            votes.add(Cpp, 3);
        }
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
        b"end" if rest.is_empty() || rest.starts_with(b")") || rest.starts_with(b",") => {
            votes.all(&[Ruby, Lua, Elixir], 1);
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
        b"syntax" if starts(rest, "= \"proto") => votes.add(Protobuf, 8),
        b"message" | b"service" if brace && rest.len() < 80 && behind == b"{" => {
            votes.add(Protobuf, 3);
        }
        b"rpc" if is_call(rest) && has(rest, "returns") => votes.add(Protobuf, 4),
        b"rpc" if is_call(rest) => votes.add(Protobuf, 2),
        b"option" if semicolon && has(rest, "=") => votes.add(Protobuf, 3),
        b"repeated" | b"optional" | b"required" if semicolon && has(rest, " = ") => {
            votes.add(Protobuf, 3);
        }
        b"resource" | b"variable" | b"provider" | b"output" | b"terraform" | b"locals"
        | b"data"
            if brace && (starts(rest, "\"") || rest == b"{") =>
        {
            votes.add(Hcl, 4);
        }
        b"object" if brace && rest.first().is_some_and(u8::is_ascii_uppercase) => {
            votes.add(Scala, 3);
            votes.add(Kotlin, 2);
        }
        b"case" => {
            if ends(text, ";;") || starts(rest, "\"$") || ends(text, " in") && has(rest, "$") {
                votes.add(Shell, 2);
            } else if starts(rest, "class ") || ends(text, "=>") {
                votes.add(Scala, 3);
            } else if colon || has(rest, ": ") {
                votes.all(&[C, Cpp, Java, JavaScript, CSharp, Go, Swift], 1);
            }
        }
        b"when" if starts(rest, "(") && brace => votes.add(Kotlin, 2),
        b"fi" | b"esac" | b"done"
            if rest.is_empty() || matches!(rest[0], b'<' | b'|' | b'>' | b'&' | b';') =>
        {
            votes.add(Shell, 3);
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
        b"set" if starts(rest, "-") && rest.len() < 20 => votes.add(Shell, 3),
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
        b"cmake_minimum_required"
        | b"add_library"
        | b"add_executable"
        | b"target_link_libraries"
        | b"find_package"
        | b"endif"
        | b"endforeach"
        | b"endfunction"
        | b"endmacro"
        | b"project"
        | b"set_target_properties"
        | b"install"
        | b"macro"
            if starts(rest, "(") && !semicolon =>
        {
            votes.add(CMake, 2);
        }
        b"SET" | b"set" if starts(rest, "(") && !has(rest, ",") && !semicolon => {
            votes.add(CMake, 2)
        }
        b"mark_as_advanced" | b"unset" | b"list" | b"string" | b"message" | b"function"
        | b"include"
            if !ends(text, ",")
                && text[first.len()..].starts_with(b"(")
                && !has(rest, ", ")
                && !semicolon
                && !brace
                && !has(rest, "$_") =>
        {
            votes.add(CMake, 2);
        }
        b"if" | b"else" | b"elseif"
            if text[first.len()..].starts_with(b"(")
                && ends(text, ")")
                && (has(rest, "(NOT ")
                    || has(rest, " STREQUAL ")
                    || has(rest, " MATCHES ")
                    || rest == b"()"
                    || has(rest, "(TARGET ")
                    || is_path(&rest[1..rest.len() - 1], b"")) =>
        {
            votes.add(CMake, 2);
        }
        b"FROM" | b"RUN" | b"COPY" | b"WORKDIR" | b"ENTRYPOINT" | b"CMD" | b"ENV" | b"EXPOSE"
        | b"ARG" | b"ADD" | b"USER" | b"VOLUME" | b"LABEL" | b"HEALTHCHECK" => {
            docker(first, rest, votes);
        }
        b"ifeq" | b"ifneq" | b"ifdef" | b"ifndef" | b"endef" | b"endif" | b"define"
        | b"include"
            if rest.is_empty()
                || rest.starts_with(b"(") && has(rest, "$")
                || is_path(rest, b"-./$()") =>
        {
            votes.add(Makefile, if starts(rest, "(") { 3 } else { 1 });
        }
        b"apply" if starts(rest, "plugin:") => votes.add(Groovy, 4),
        b"implementation" | b"compile" | b"classpath" | b"testImplementation" | b"api"
            if !semicolon
                && (starts(rest, "'")
                    || starts(rest, "\"")
                    || starts(rest, "project(")
                    || starts(rest, "(\"")) =>
        {
            votes.add(Groovy, 3);
        }
        b"dependencies" | b"repositories" | b"android" | b"plugins" | b"buildscript"
            if rest == b"{" =>
        {
            votes.add(Groovy, 3);
        }
        b"param" | b"Param" | b"PARAM" if starts(rest, "(") => votes.add(PowerShell, 3),
        _ if text.contains(&b'.') || text.contains(&b'-') || true => {
            by_name(first, text, rest, votes)
        }
        _ => {}
    }
    if first.len() > 2 && first.iter().all(u8::is_ascii_alphabetic) {
        sql(first, text, rest, votes);
    }
}

fn import(rest: &[u8], votes: &mut Votes) {
    let path = rest.strip_suffix(b";").unwrap_or(rest).trim_ascii_end();
    let plain = after_word(path, b"static").unwrap_or(path);
    if starts(rest, "\"") || starts(rest, "'") {
        if has(rest, ".proto") {
            votes.add(Protobuf, 5);
        } else if has(rest, "package:") || has(rest, "dart:") {
            votes.add(Dart, 5);
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
            || has(rest, ".")
            || has(rest, "_")
            || !rest.contains(&b' '))
    {
        votes.add(Python, 3);
    } else if ends(text, ":") && starts(rest, "(") {
        votes.all(&[Python, Php], 1);
    } else if starts(rest, "(") {
        if has(rest, "$") {
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
            votes.add(Php, if has(rest, "$") { 3 } else { 1 });
            if has(rest, ": string")
                || has(rest, ": number")
                || has(rest, "): ")
                || has(rest, ": boolean")
            {
                votes.add(TypeScript, 3);
            }
        } else if ends(text, ")") {
            votes.add(Lua, if has(rest, "$") { 0 } else { 3 });
            votes.add(Php, if has(rest, "$") { 3 } else { 1 });
            votes.add(JavaScript, 1);
        }
    }
}

fn export(text: &[u8], rest: &[u8], votes: &mut Votes) {
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
fn is_annotated(text: &[u8]) -> bool {
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
    if has(rest, "fun ") || has(rest, "val ") && !semicolon || starts(rest, "lateinit ") {
        votes.add(Kotlin, 3);
    } else if has(rest, "func ")
        || has(rest, "let ")
        || starts(rest, "init(")
        || starts(rest, "var ") && has(rest, ": ")
        || first == b"fileprivate"
        || starts(rest, "extension ")
    {
        votes.add(Swift, 3);
    } else if has(rest, "function ") || has(rest, "$") {
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
            votes.all(&[C, Cpp], 2);
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

fn docker(first: &[u8], rest: &[u8], votes: &mut Votes) {
    let fine = match first {
        b"FROM" => {
            let image = rest.split(|&b| b == b' ').next().unwrap_or_default();
            let behind = rest[image.len()..].trim_ascii();
            let named = behind.is_empty()
                || behind.to_ascii_lowercase().starts_with(b"as ")
                || image.starts_with(b"--");
            named && !image.is_empty() && !image.ends_with(b",") && !image.ends_with(b";")
        }
        b"WORKDIR" => starts(rest, "/") || starts(rest, "$"),
        b"EXPOSE" => rest.first().is_some_and(|b| b.is_ascii_digit() || *b == b'$'),
        b"CMD" | b"ENTRYPOINT" => {
            starts(rest, "[") || rest.first().is_some_and(u8::is_ascii_lowercase)
        }
        b"ENV" | b"ARG" | b"LABEL" => !rest.is_empty() && rest.first() != Some(&b'='),
        _ => rest.first().is_some_and(|b| b.is_ascii_lowercase() || b"-./[$\"".contains(b)),
    };
    if fine {
        votes.add(Dockerfile, if first == b"FROM" { 3 } else { 2 });
    }
}

fn sql(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let upper = first.to_ascii_uppercase();
    let next = word(rest).to_ascii_uppercase();
    let is = |words: &[&[u8]]| words.contains(&next.as_slice());
    let exact = first == upper;
    let points = match upper.as_slice() {
        b"CREATE" => {
            4 * u32::from(
                is(&[
                    b"TABLE",
                    b"OR",
                    b"INDEX",
                    b"UNIQUE",
                    b"VIEW",
                    b"FUNCTION",
                    b"TYPE",
                    b"TRIGGER",
                    b"SEQUENCE",
                    b"SCHEMA",
                    b"TEMP",
                    b"TEMPORARY",
                    b"PROCEDURE",
                    b"EXTENSION",
                    b"DATABASE",
                    b"UNLOGGED",
                    b"MATERIALIZED",
                    b"DOMAIN",
                    b"ROLE",
                    b"POLICY",
                ]) && (exact
                    || ends(text, ";")
                    || ends(text, "(")
                    || ends(text, "AS")
                    || ends(text, "as")),
            )
        }
        b"INSERT" => 4 * u32::from(is(&[b"INTO", b"OR", b"OVERWRITE"])),
        b"ALTER" | b"DROP" => {
            3 * u32::from(
                is(&[
                    b"TABLE",
                    b"INDEX",
                    b"VIEW",
                    b"FUNCTION",
                    b"TYPE",
                    b"SEQUENCE",
                    b"SCHEMA",
                    b"DATABASE",
                    b"EXTENSION",
                    b"TRIGGER",
                    b"OPERATOR",
                    b"ROLE",
                    b"USER",
                    b"PROCEDURE",
                ]) && (exact || ends(text, ";")),
            )
        }
        b"SELECT" => {
            2 * u32::from(exact || ends(text, ";") && (has(text, " from ") || has(text, " FROM ")))
        }
        b"UPDATE" => 3 * u32::from(has(text, " SET ") || has(text, " set ") && ends(text, ";")),
        b"DELETE" | b"TRUNCATE" => {
            2 * u32::from(is(&[b"FROM", b"TABLE"]) && (exact || ends(text, ";")))
        }
        b"GRANT" | b"REVOKE" | b"COMMENT" => {
            3 * u32::from(ends(text, ";") && (has(text, " ON ") || has(text, " on ")))
        }
        b"BEGIN" | b"COMMIT" | b"ROLLBACK" => 2 * u32::from(ends(text, ";") && text.len() < 24),
        b"PRAGMA" | b"ANALYZE" | b"VACUUM" => 3 * u32::from(ends(text, ";")),
        b"FROM" | b"WHERE" | b"JOIN" | b"GROUP" | b"ORDER" | b"VALUES" | b"HAVING" | b"LIMIT"
        | b"UNION" | b"LEFT" | b"INNER" | b"RETURNS" | b"DECLARE" | b"CONSTRAINT" => {
            u32::from(exact && !rest.is_empty() && !has(rest, "--"))
        }
        b"PRIMARY" | b"FOREIGN" => 2 * u32::from(is(&[b"KEY"])),
        _ => 0,
    };
    votes.add(Sql, points);
}

/// Clues in a line that begins with some other word.
fn by_name(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let semicolon = ends(text, ";");
    if first[0] == b'$' {
        let name = text.iter().take_while(|b| is_word(**b) || **b == b'-').count();
        if starts(&text[name..], ":") && !starts(&text[name..], "::") {
            return votes.add(Scss, 3);
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
        && (starts(rest, "?=") || starts(rest, "+="))
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
fn by_mark(text: &[u8], votes: &mut Votes) {
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
                votes.all(&[C, Cpp], if has(rest, "defined") { 3 } else { 1 });
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
fn by_shape(text: &[u8], votes: &mut Votes) {
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
            if named && spaced && text.get(colon + 1) != Some(&b':') {
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
    if has(text, " <- ") && !ends(text, ";") {
        votes.add(R, 1);
        votes.add(Haskell, 1);
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
            && (has(property, ";") || has(text, "."));
        votes.add(Css, u32::from(styled && !has(text, "=") && !has(text, "(")) * 2);
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
