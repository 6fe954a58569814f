//! What one line says about the language it is written in.

mod schemas;
mod scripts;
mod shapes;
mod shared;
mod typed;

use memchr::memmem;

use super::language::Language;
use super::words::{is_word, word};

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

    fn sum(&self) -> u32 {
        self.0.iter().sum()
    }

    fn all(&mut self, languages: &[Language], points: u32) {
        for &language in languages {
            self.add(language, points);
        }
    }
}

/// A line, taken apart at its first word.
#[derive(Debug, Clone, Copy)]
struct Words<'a> {
    text: &'a [u8],
    first: &'a [u8],
    /// What follows the first word and white space.
    rest: &'a [u8],
    /// The word that follows the first one.
    name: &'a [u8],
    /// What follows that word and white space.
    behind: &'a [u8],
    semicolon: bool,
    brace: bool,
    colon: bool,
}

/// Adds what `text`, one line without its indentation, says. True if it said anything.
pub(super) fn clue(text: &[u8], votes: &mut Votes) -> bool {
    let before = votes.sum();
    let first = word(text);
    if first.is_empty() {
        shapes::by_mark(text, votes);
    } else {
        by_first_word(text, first, votes);
    }
    shapes::by_shape(text, votes);
    votes.sum() > before
}

fn by_first_word(text: &[u8], first: &[u8], votes: &mut Votes) {
    let rest = text[first.len()..].trim_ascii_start();
    let name = word(rest);
    let words = Words {
        text,
        first,
        rest,
        name,
        behind: rest[name.len()..].trim_ascii_start(),
        semicolon: ends(text, ";"),
        brace: ends(text, "{"),
        colon: ends(text, ":"),
    };
    // `return-in-finally` is a name of its own.
    let hyphened = matches!(text[first.len()..], [b'-', next, ..] if next.is_ascii_alphabetic());
    let known = !hyphened
        && (schemas::clues(&words, votes)
            || scripts::clues(&words, votes)
            || typed::clues(&words, votes)
            || shared::clues(&words, votes));
    if !known {
        shapes::by_name(first, text, rest, votes);
    }
    if first.len() > 2 && first.iter().all(u8::is_ascii_alphabetic) {
        schemas::sql(first, text, rest, votes);
    }
}

fn has(text: &[u8], part: &str) -> bool {
    memmem::find(text, part.as_bytes()).is_some()
}

/// Whether a name with a dollar sign before it stands in `text`, not one with the sign inside.
fn has_variable(text: &[u8]) -> bool {
    memchr::memchr_iter(b'$', text).any(|at| {
        at.checked_sub(1).is_none_or(|before| !is_word(text[before]))
            && text.get(at + 1).is_some_and(|&b| is_word(b) || b == b'{' || b == b'(')
    })
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
