//! What a search looks for, made ready.

use memchr::memmem;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};
use regex_automata::{MatchKind, util::syntax};
use regex_syntax::hir::Hir;
use toolstub_core::text::clean;

use super::{SearchMode, SearchRequest};
use crate::StoreError;
use crate::chars::MAX_CHAR;

/// The longest literal query, in bytes.
const MAX_LITERAL: usize = 65_536;
/// The longest literal query that ignores case, in bytes: a longer one makes an automaton that is too
/// large to be kept, and then each byte of the content costs as much as the query is long.
const MAX_FOLDED: usize = 1024;
/// The longest regular expression, in bytes.
const MAX_PATTERN: usize = 1024;
/// The largest program that a regular expression may become, in bytes.
const MAX_PROGRAM: usize = 1 << 20;
/// How deep a regular expression may nest.
const MAX_NESTING: u32 = 50;

/// A query that makes sense.
pub(super) enum Query {
    /// Every character stands for itself.
    Literal(Box<memmem::Finder<'static>>),
    /// What is found in one window at a time.
    Windowed(Windowed),
    /// What is found byte by byte, however windows fall.
    Streamed(Box<Streamed>),
}

/// An expression that sees a window at a time.
pub(super) struct Windowed {
    pub(super) regex: regex::bytes::Regex,
    /// The longest match in bytes, if there is one.
    pub(super) longest: Option<usize>,
}

/// A regular expression as automata that can stop at any byte and go on.
pub(super) struct Streamed {
    /// Finds where a match ends.
    pub(super) forward: DFA,
    /// Finds from a match's end where it begins.
    pub(super) reverse: DFA,
    /// The longest match in bytes, if there is one.
    pub(super) longest: Option<usize>,
    /// Takes over where the automata meet a byte that they cannot judge: one that is not ASCII
    /// beside a word border, which is Unicode's.
    pub(super) beyond_ascii: Option<Windowed>,
}

impl Query {
    pub(super) fn new(request: &SearchRequest) -> Result<Self, StoreError> {
        if request.query.is_empty() {
            return Err(invalid("of nothing".to_owned(), "give at least one character"));
        }
        match request.mode {
            SearchMode::Literal => Self::literal(&request.query, request.ignore_case),
            SearchMode::Regex => Self::regex(&request.query, request.ignore_case),
        }
    }

    fn literal(query: &str, ignore_case: bool) -> Result<Self, StoreError> {
        let too_long = || invalid(format!("of {} bytes", query.len()), "give a shorter one");
        if query.len() > MAX_LITERAL {
            return Err(too_long());
        }
        if !ignore_case {
            return Ok(Self::Literal(Box::new(memmem::Finder::new(query).into_owned())));
        }
        if query.len() > MAX_FOLDED {
            let given = format!("of {} bytes", query.len());
            return Err(invalid(given, "give at most 1,024 bytes where case is ignored"));
        }
        let regex = regex::bytes::RegexBuilder::new(&regex::escape(query))
            .case_insensitive(true)
            .build()
            .map_err(|_| too_long())?;
        // Simple folding pairs single characters, whose lengths may differ.
        let longest = Some(query.chars().count() * MAX_CHAR);
        Ok(Self::Windowed(Windowed { regex, longest }))
    }

    fn regex(pattern: &str, ignore_case: bool) -> Result<Self, StoreError> {
        if pattern.len() > MAX_PATTERN {
            return Err(invalid(
                format!("of {} bytes", pattern.len()),
                "give a regular expression of at most 1024 bytes",
            ));
        }
        let syntax = syntax::Config::new()
            .case_insensitive(ignore_case)
            .multi_line(true)
            .utf8(true)
            .nest_limit(MAX_NESTING);
        let hir =
            syntax::parse_with(pattern, &syntax).map_err(|error| bad_syntax(pattern, &error))?;
        let dfa = |reverse| {
            let kind = if reverse { MatchKind::All } else { MatchKind::LeftmostFirst };
            let config = DFA::config()
                .match_kind(kind)
                .prefilter(None)
                .unicode_word_boundary(true)
                .skip_cache_capacity_check(true);
            let nfa = compile(&hir, reverse).ok_or_else(|| too_big(pattern))?;
            DFA::builder().configure(config).build_from_nfa(nfa).map_err(|_| too_big(pattern))
        };
        let (forward, reverse) = (dfa(false)?, dfa(true)?);
        let properties = hir.properties();
        let beyond_ascii = if properties.look_set().contains_word_unicode() {
            let regex = regex::bytes::RegexBuilder::new(pattern)
                .case_insensitive(ignore_case)
                .multi_line(true)
                .nest_limit(MAX_NESTING)
                .size_limit(MAX_PROGRAM)
                .build()
                .map_err(|_| too_big(pattern))?;
            Some(Windowed { regex, longest: properties.maximum_len() })
        } else {
            None
        };
        let longest = properties.maximum_len();
        Ok(Self::Streamed(Box::new(Streamed { forward, reverse, longest, beyond_ascii })))
    }
}

/// The program of an expression; `None` where it is over its size.
fn compile(hir: &Hir, reverse: bool) -> Option<NFA> {
    let config = Config::new()
        .reverse(reverse)
        // The content may be anything; what an empty match must not split is seen to later.
        .utf8(false)
        .nfa_size_limit(Some(MAX_PROGRAM))
        .which_captures(WhichCaptures::None);
    Compiler::new().configure(config).build_from_hir(hir).ok()
}

fn invalid(given: String, expected: &'static str) -> StoreError {
    StoreError::Invalid { field: "query", given, expected }
}

fn too_big(pattern: &str) -> StoreError {
    invalid(
        format!("`{}`", clean(pattern, 80)),
        "a regular expression may take at most 1 MiB when compiled; let it repeat less",
    )
}

fn bad_syntax(pattern: &str, error: &regex_syntax::Error) -> StoreError {
    let (reason, at) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        _ => (String::from("not understood"), 0),
    };
    let reason = clean(&reason, 200);
    invalid(
        format!("`{}` ({reason}, at byte {at})", clean(pattern, 80)),
        "give a regular expression in the syntax of Rust's regex crate, nested at most 50 deep",
    )
}
