//! A source file as tokens: what is code and what is test, and what the code reaches for.

use std::iter::Peekable;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree, token_stream};

/// Modules of the standard library that do what a pure crate does not.
const BANNED_MODULES: [&str; 6] = ["env", "fs", "net", "os", "process", "thread"];
/// Clocks, randomness and async code, wherever they come from.
const BANNED_WORDS: [&str; 7] =
    ["Instant", "RandomState", "SystemTime", "async", "await", "getrandom", "rand"];

/// What is known of a source file.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// How many lines the file has.
    pub(super) lines: usize,
    /// The lines of items that are compiled for tests only.
    pub(super) tests: Vec<RangeInclusive<usize>>,
    /// Where tests are ignored.
    pub(super) ignored: Vec<usize>,
    /// Where the code, tests apart, reaches for what is not pure, and for what.
    pub(super) impure: Vec<(usize, String)>,
}

impl Source {
    /// Reads a file; where it does not read as Rust, the line and what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            (error.span().start().line, format!("does not read as Rust: {error}"))
        })?;
        let mut source = Self { lines: text.lines().count(), ..Self::default() };
        let mut open = vec![tokens.into_iter().peekable()];
        // Groups nest: the stack holds what is left of each group that was entered.
        while let Some(tokens) = open.last_mut() {
            let Some(token) = tokens.next() else {
                open.pop();
                continue;
            };
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let line = punct.span().start().line;
                    source.attribute(tokens, line);
                }
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let word = ident.to_string();
                    if word == "std" {
                        source.module(tokens, line);
                    } else if BANNED_WORDS.contains(&word.as_str()) {
                        source.impure.push((line, word));
                    }
                }
                TokenTree::Group(group) => open.push(group.stream().into_iter().peekable()),
                _ => {}
            }
        }
        Ok(source)
    }

    /// How many lines are code rather than test.
    pub(super) fn code_lines(&self) -> usize {
        self.lines - self.tests.iter().map(|lines| lines.end() - lines.start() + 1).sum::<usize>()
    }

    /// Takes what follows a `#`; where it makes an item a test's, the item too.
    fn attribute(&mut self, tokens: &mut Peekable<token_stream::IntoIter>, line: usize) {
        let inner = matches!(tokens.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '!');
        if inner {
            tokens.next();
        }
        let Some(TokenTree::Group(group)) = tokens.peek() else { return };
        if group.delimiter() != Delimiter::Bracket {
            return;
        }
        let words = words(&group.stream());
        tokens.next();
        if has(&words, "ignore") && (words[0] == "ignore" || words[0] == "cfg_attr") {
            self.ignored.push(line);
        }
        if words.first().is_none_or(|word| word != "cfg") || !has(&words, "test") {
            return;
        }
        if has(&words, "not") {
            return;
        }
        let mut last = line;
        for token in tokens.by_ref() {
            last = token.span().end().line;
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !inner => {
                    self.ignored_inside(&group.stream());
                    break;
                }
                TokenTree::Group(group) => self.ignored_inside(&group.stream()),
                TokenTree::Punct(punct) if punct.as_char() == ';' && !inner => break,
                _ => {}
            }
        }
        self.tests.push(line..=last);
    }

    /// Finds ignored tests in what is compiled for tests only.
    fn ignored_inside(&mut self, tokens: &TokenStream) {
        let mut open = vec![tokens.clone()];
        while let Some(tokens) = open.pop() {
            let mut hash = None;
            for token in tokens {
                match token {
                    TokenTree::Punct(punct) if punct.as_char() == '#' => {
                        hash = Some(punct.span().start().line);
                        continue;
                    }
                    TokenTree::Group(group) => {
                        let words = words(&group.stream());
                        let first = words.first().map(String::as_str);
                        if let Some(line) = hash
                            && (first == Some("ignore")
                                || (first == Some("cfg_attr") && has(&words, "ignore")))
                        {
                            self.ignored.push(line);
                        }
                        open.push(group.stream());
                    }
                    _ => {}
                }
                hash = None;
            }
        }
        self.ignored.sort_unstable();
    }

    /// Takes what follows `std`: `::name`, or `::{…}` with several names.
    fn module(&mut self, tokens: &mut Peekable<token_stream::IntoIter>, line: usize) {
        let colon = |tokens: &mut Peekable<token_stream::IntoIter>| {
            tokens.next_if(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ':')).is_some()
        };
        if !(colon(tokens) && colon(tokens)) {
            return;
        }
        match tokens.peek() {
            Some(TokenTree::Ident(ident)) if is_banned(&ident.to_string()) => {
                self.impure.push((line, format!("std::{ident}")));
            }
            Some(TokenTree::Group(group)) => {
                let mut first = true;
                for token in group.stream() {
                    match &token {
                        TokenTree::Ident(ident) if first && is_banned(&ident.to_string()) => {
                            let line = ident.span().start().line;
                            self.impure.push((line, format!("std::{ident}")));
                        }
                        _ => {}
                    }
                    first = matches!(&token, TokenTree::Punct(p) if p.as_char() == ',');
                }
            }
            _ => {}
        }
    }
}

fn is_banned(module: &str) -> bool {
    BANNED_MODULES.contains(&module)
}

fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|other| other == word)
}

/// Every identifier of an attribute, however deep, in order.
fn words(tokens: &TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    let mut open = vec![tokens.clone().into_iter()];
    while let Some(tokens) = open.last_mut() {
        match tokens.next() {
            None => {
                open.pop();
            }
            Some(TokenTree::Ident(ident)) => words.push(ident.to_string()),
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(_) => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn impure(text: &str, found: &[(usize, &str)]) {
        let source = Source::parse(text).unwrap();
        let said: Vec<_> = source.impure.iter().map(|(l, w)| (*l, w.as_str())).collect();
        assert_eq!(said, found);
    }

    #[track_caller]
    fn ignored(text: &str, lines: &[usize]) {
        assert_eq!(Source::parse(text).unwrap().ignored, lines);
    }

    #[test]
    fn banned_modules_are_found_in_paths_and_in_groups() {
        impure("fn f() {\n    std::fs::read(\"x\");\n}", &[(2, "std::fs")]);
        impure("use std::{fmt, env, io::{self, net}};", &[(1, "std::env")]);
        impure("vec![std::thread::current()]", &[(1, "std::thread")]);
        impure("use std::path::Path;\nuse core::fmt;", &[]);
    }

    #[test]
    fn clocks_randomness_and_async_code_are_found() {
        impure("use std::time::Instant;", &[(1, "Instant")]);
        impure("async fn f() { g().await }", &[(1, "async"), (1, "await")]);
        impure("let x = rand::random();", &[(1, "rand")]);
        impure("use std::time::Duration;", &[]);
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        impure("// std::fs\nconst A: &str = \"std::fs, rand\";", &[]);
        impure("/// rand and std::env\nfn f() {}", &[]);
    }

    #[test]
    fn tests_may_do_what_code_may_not() {
        impure("#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n", &[]);
        impure("#[cfg(test)]\nuse std::fs;\nuse std::env;", &[(3, "std::env")]);
        impure("#[cfg(not(test))]\nuse std::fs;", &[(2, "std::fs")]);
    }

    #[test]
    fn lines_of_tests_are_counted_apart() {
        let source = Source::parse("fn f() {}\n\n#[cfg(test)]\nmod tests {\n\n}\n").unwrap();
        assert_eq!((source.lines, source.code_lines()), (6, 2));
    }

    #[test]
    fn ignored_tests_are_found_wherever_they_stand() {
        ignored("#[test]\n#[ignore]\nfn f() {}", &[2]);
        ignored("#[test]\n#[ignore = \"slow\"]\nfn f() {}", &[2]);
        ignored("#[cfg(test)]\nmod t {\n #[test]\n #[ignore]\n fn f() {}\n}", &[4]);
        ignored("#[cfg_attr(windows, ignore)]\nfn f() {}", &[1]);
        ignored("#[must_use]\nfn ignore() { let ignore = [1]; }", &[]);
    }

    #[test]
    fn what_is_not_rust_is_told_with_its_line() {
        assert_eq!(Source::parse("fn f() {\n").unwrap_err().0, 1);
    }
}
