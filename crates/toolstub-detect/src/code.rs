//! Source code: its language, imports and top-level symbols.

mod blocks;
mod braces;
mod build;
mod c;
mod clues;
mod context;
mod decide;
mod dense;
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
use crate::content::{Content, window};

use decide::Sample;
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

/// The longest part of a source that is walked over in one, in bytes.
///
/// A walk looks back and ahead, so that a part stands in memory; a longer source is walked in parts
/// that each begin as a source does, and a string or comment over their border ends there.
const PART_BYTES: usize = 8 << 20;

/// Whether `content`, which is of no structured kind, is source code, and what it declares.
pub(crate) fn scan<C: Content>(content: &mut C, census: &Census) -> Result<Option<Code>, C::Error> {
    let bom = b"\xef\xbb\xbf";
    let start = if census.head.starts_with(bom) { bom.len() as u64 } else { 0 };
    let numbered = numbers::has_line_numbers(&window(content, start, numbers::SAMPLE_BYTES)?);
    if !numbered {
        return scan_source(content, start, census.bytes);
    }
    let copy = numbers::without_line_numbers(&window(content, start, numbers::COPY_BYTES)?);
    let Ok(code) = scan_source(&mut copy.as_slice(), 0, copy.len() as u64);
    Ok(code)
}

/// Judges and outlines what stands between `start` and `end`.
fn scan_source<C: Content>(
    content: &mut C,
    start: u64,
    end: u64,
) -> Result<Option<Code>, C::Error> {
    let sample = Sample::of(content, start, end)?;
    let Some(language) = decide::language(&sample) else { return Ok(None) };
    outline_of(content, sample.start, end, language).map(Some)
}

/// Walks over the whole source in the way of its language.
fn outline_of<C: Content>(
    content: &mut C,
    start: u64,
    end: u64,
    language: Language,
) -> Result<Code, C::Error> {
    let mut outline = Outline::default();
    let mut at = start;
    loop {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let is_last = left <= PART_BYTES;
        let wanted = left.min(PART_BYTES);
        outline.begin_part(at);
        let mut walk = |part: &[u8]| {
            let length = if is_last { part.len() } else { cut(part) };
            walk_part(&part[..length], language, at > start, &mut outline);
            length
        };
        // What is at hand is not copied.
        let walked = content.piece(at)?.get(..wanted).map(&mut walk);
        let walked = match walked {
            Some(length) => length,
            None => walk(&window(content, at, wanted)?),
        };
        at += walked as u64;
        if is_last || walked == 0 {
            return Ok(outline.finish(language));
        }
    }
}

/// Where a part had best end: before a line without indentation behind a blank one, which most
/// likely begins a declaration; else at the end of a line; at least half of it is taken.
fn cut(part: &[u8]) -> usize {
    let half = part.len() / 2;
    let begins = |at: &usize| {
        part.get(at + 1)
            .is_some_and(|&b| !b.is_ascii_whitespace() && !matches!(b, b'}' | b')' | b']'))
    };
    let blank = memchr::memrchr_iter(b'\n', &part[half..]).map(|at| half + at).find(|at| {
        begins(at) && part[..*at].strip_suffix(b"\r").unwrap_or(&part[..*at]).ends_with(b"\n")
    });
    let end = blank.or_else(|| memchr::memrchr(b'\n', &part[half..]).map(|at| half + at));
    end.map_or(part.len(), |at| at + 1)
}

/// Walks over a part of the source; `goes_on` if others came before.
fn walk_part(source: &[u8], language: Language, goes_on: bool, outline: &mut Outline) {
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
        braces::walk(source, dialect, goes_on, outline);
        return;
    }
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
    walk(source, outline);
}
