//! Source code: its language, imports and top-level symbols.

mod blocks;
mod braces;
mod build;
mod c;
mod clues;
mod decide;
mod go;
mod heads;
mod java;
mod js;
mod kotlin;
mod language;
mod lines;
mod literals;
mod looks;
mod numbers;
mod outline;
mod php;
mod python;
mod ruby;
mod rust;
mod schema;
mod shell;
#[cfg(test)]
mod tests;
mod words;

use crate::census::Census;

use language::Language;
use outline::Outline;

/// The evidence of source code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The language that fits best, in lower case (`rust`, `c`, `csharp`, `makefile`).
    pub language: &'static str,
    /// Modules imported, as the language writes them, each once, in source order; the first 12.
    pub imports: Vec<String>,
    /// How many different modules are imported.
    pub import_count: u64,
    /// Heads of declarations up to their names, in source order; at most 24.
    ///
    /// The room goes to types, functions and constants at the top level first, then to macros and
    /// aliases, and what is left to members of types and to functions that are only announced.
    pub symbols: Vec<String>,
    /// How many different heads stand at the top level, and at least how many are in `symbols`:
    /// members that found no room are not counted.
    pub symbol_count: u64,
}

/// Whether `content`, which is of no structured kind, is source code, and what it declares.
pub(crate) fn scan(content: &[u8], _census: &Census) -> Option<Code> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let source = numbers::without_line_numbers(content);
    let language = decide::language(&source)?;
    Some(outline_of(decide::without_envelope(&source), language))
}

/// Walks over the whole source in the way of its language.
fn outline_of(source: &[u8], language: Language) -> Code {
    let mut outline = Outline::default();
    let braces = match language {
        Language::C | Language::ObjectiveC => Some(&c::C),
        Language::Cpp => Some(&c::CPP),
        Language::Rust => Some(&rust::RUST),
        Language::Zig => Some(&rust::ZIG),
        Language::Go => Some(&go::GO),
        Language::JavaScript => Some(&js::JAVASCRIPT),
        Language::TypeScript | Language::Vue => Some(&js::TYPESCRIPT),
        Language::Java => Some(&java::JAVA),
        Language::CSharp => Some(&java::CSHARP),
        Language::Dart => Some(&java::DART),
        Language::Groovy => Some(&java::GROOVY),
        Language::Kotlin => Some(&kotlin::KOTLIN),
        Language::Scala => Some(&kotlin::SCALA),
        Language::Swift => Some(&kotlin::SWIFT),
        Language::Php => Some(&php::PHP),
        Language::Protobuf => Some(&schema::PROTOBUF),
        Language::Hcl => Some(&schema::HCL),
        Language::Css | Language::Scss => Some(&schema::CSS),
        _ => None,
    };
    if let Some(dialect) = braces {
        braces::walk(source, dialect, &mut outline);
    } else {
        let walk = match language {
            Language::Ruby => ruby::ruby,
            Language::Elixir => ruby::elixir,
            Language::Lua => shell::lua,
            Language::Shell => shell::shell,
            Language::PowerShell => shell::powershell,
            Language::Perl => shell::perl,
            Language::R => shell::r,
            Language::Sql => build::sql,
            Language::Makefile => build::makefile,
            Language::Dockerfile => build::dockerfile,
            Language::CMake => build::cmake,
            Language::Haskell => build::haskell,
            _ => python::outline,
        };
        walk(source, &mut outline);
    }
    outline.finish(language)
}
