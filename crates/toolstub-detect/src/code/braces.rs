//! A walk over a language whose blocks stand in braces.
//!
//! Strings and comments are skipped, braces are matched, and each statement that is visible from
//! the top level or from inside a type is shown to the dialect, which notes what it declares and
//! says what kind of block it opens.

use memchr::{memchr, memchr3, memmem};

use super::blocks::{Blocks, DEPTH, Opens};
use super::literals::{char_len, raw_len, string_len};
use super::outline::{Outline, Rank};
use super::words::{is_word, word};

/// The longest part of a statement that a dialect is shown.
const STATEMENT_BYTES: usize = 16 << 10;
/// How many groups of a statement are looked at.
const GROUPS: u8 = 8;
/// How many nested conditional directives are remembered.
const CONDITIONS: usize = 32;

/// What ended a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// An opening brace.
    Open,
    /// A semicolon.
    Semicolon,
    /// The end of a line, of the block or of the source.
    Line,
}

/// A statement as a dialect sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement<'a> {
    /// Its text, without what ended it; comments may stand inside.
    pub(super) text: &'a [u8],
    /// What ended it.
    pub(super) end: End,
    /// Where it begins in the source.
    pub(super) at: usize,
    /// Whether it stands inside a type.
    pub(super) inside: bool,
    /// Whether it follows the braces of an [`Opens::Named`] block.
    pub(super) names: bool,
}

/// How `#` is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Plain,
    Comment,
    Directive,
}

/// How a quotation mark is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Plain,
    /// One character, if it closes soon; otherwise nothing.
    Char,
    /// A string that ends with its line.
    Line,
    /// A string that may run over lines.
    Lines,
    /// A string over lines without escapes.
    Raw,
    /// A string over lines with code inside.
    Template,
}

/// How a language is read.
#[expect(clippy::struct_excessive_bools, reason = "each says whether a language has one form")]
pub(super) struct Dialect {
    /// Whether the end of a line ends a statement outside of parentheses.
    pub(super) lines: bool,
    pub(super) hash: Hash,
    pub(super) nested_comments: bool,
    pub(super) double: Quote,
    pub(super) single: Quote,
    pub(super) backtick: Quote,
    /// Whether three quotation marks open a string over lines.
    pub(super) triple: bool,
    /// Whether `/` may begin a regular expression.
    pub(super) regex: bool,
    /// Whether `<<` may begin a here-document.
    pub(super) heredoc: bool,
    /// Whether code stands between `<?` and `?>`.
    pub(super) islands: bool,
    /// Looks at one statement; none where it declares nothing and opens nothing known.
    pub(super) statement: fn(&Statement<'_>, &mut Outline) -> Option<Opens>,
    /// Looks at one directive line, its `#` included.
    pub(super) directive: fn(&[u8], usize, &mut Outline),
}

/// A dialect of C as a base for others.
pub(super) const C_LIKE: Dialect = Dialect {
    lines: false,
    hash: Hash::Plain,
    nested_comments: false,
    double: Quote::Line,
    single: Quote::Char,
    backtick: Quote::Plain,
    triple: false,
    regex: false,
    heredoc: false,
    islands: false,
    statement: |_, _| None,
    directive: |_, _, _| {},
};

struct Walk<'a> {
    source: &'a [u8],
    dialect: &'a Dialect,
    at: usize,
    /// Where the current statement begins.
    start: usize,
    blocks: Blocks,
    /// What the statement before this one said that it opens, should it go on here.
    pending: Opens,
    names: bool,
    conditions: Vec<Blocks>,
    /// How many groups the current statement has.
    groups: u8,
    /// Up to where no regular expression can end.
    no_regex: usize,
    /// How much may still be read ahead in vain.
    ahead: usize,
}

/// Walks over `source` and notes in `outline` what `dialect` finds.
///
/// Where code stands in islands, the source begins inside of one if it `goes_on`.
pub(super) fn walk(source: &[u8], dialect: &Dialect, goes_on: bool, outline: &mut Outline) {
    let (visible, hidden) = (classes(dialect, true), classes(dialect, false));
    let mut walk = Walk {
        source,
        dialect,
        at: 0,
        start: 0,
        blocks: Blocks::new(),
        pending: Opens::Body,
        names: false,
        conditions: Vec::new(),
        groups: 0,
        no_regex: 0,
        ahead: source.len().saturating_mul(2),
    };
    if dialect.islands && !goes_on {
        walk.enter_island();
    }
    loop {
        let table = if walk.blocks.hiding == 0 { &visible } else { &hidden };
        let Some(skip) =
            source.get(walk.at..).and_then(|rest| rest.iter().position(|&b| table[b as usize]))
        else {
            break;
        };
        walk.at += skip;
        walk.step(outline);
    }
    walk.at = source.len();
    walk.end(End::Line, outline);
}

/// The bytes at which something may happen.
fn classes(dialect: &Dialect, visible: bool) -> [bool; 256] {
    let mut table = [false; 256];
    for &byte in b"{}/" {
        table[byte as usize] = true;
    }
    table[b'"' as usize] = dialect.double != Quote::Plain;
    table[b'\'' as usize] = dialect.single != Quote::Plain;
    table[b'`' as usize] = dialect.backtick != Quote::Plain;
    table[b'#' as usize] = dialect.hash != Hash::Plain;
    table[b'<' as usize] = dialect.heredoc;
    table[b'?' as usize] = dialect.islands;
    if visible {
        for &byte in b"()[];" {
            table[byte as usize] = true;
        }
        table[b'\n' as usize] = dialect.lines;
    }
    table
}

impl Walk<'_> {
    fn step(&mut self, outline: &mut Outline) {
        let byte = self.source[self.at];
        match byte {
            b'{' => self.open(outline),
            b'}' => self.close(outline),
            b'(' | b'[' => {
                self.blocks.parens = self.blocks.parens.saturating_add(1);
                self.at += 1;
            }
            b')' | b']' => {
                self.blocks.parens = self.blocks.parens.saturating_sub(1);
                self.at += 1;
            }
            b';' => {
                if self.blocks.parens == 0 {
                    self.end(End::Semicolon, outline);
                } else {
                    self.at += 1;
                }
            }
            b'\n' => {
                if self.blocks.parens == 0 && !self.goes_on() {
                    self.end(End::Line, outline);
                } else {
                    self.at += 1;
                }
            }
            b'"' => self.quoted(byte, self.dialect.double),
            b'\'' => self.quoted(byte, self.dialect.single),
            b'`' => self.quoted(byte, self.dialect.backtick),
            b'#' => self.hash(outline),
            b'/' => self.slash(),
            b'<' => self.heredoc(),
            b'?' if self.source[self.at..].starts_with(b"?>") => {
                if self.blocks.hiding == 0 {
                    self.end(End::Semicolon, outline);
                }
                self.enter_island();
            }
            _ => self.at += 1,
        }
    }

    /// Ends the current statement at `self.at` and steps over the byte that ended it.
    fn end(&mut self, end: End, outline: &mut Outline) {
        if self.blocks.hiding == 0 {
            self.show(end, outline);
        }
        self.at += 1;
        self.begin();
    }

    /// Begins a statement here.
    fn begin(&mut self) {
        self.start = self.at;
        self.groups = 0;
    }

    /// Shows the current statement to the dialect.
    fn show(&mut self, end: End, outline: &mut Outline) -> Opens {
        let upto = self.at.min(self.source.len());
        let raw = self.source.get(self.start..upto).unwrap_or_default();
        let indent = raw.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let text = &raw[indent..];
        if text.is_empty() {
            if end == End::Semicolon {
                self.pending = Opens::Body;
            }
            return std::mem::replace(&mut self.pending, Opens::Body);
        }
        let statement = Statement {
            text: text[..text.len().min(STATEMENT_BYTES)].trim_ascii_end(),
            end,
            at: self.start + indent,
            inside: self.blocks.types > 0,
            names: std::mem::take(&mut self.names),
        };
        let before = std::mem::replace(&mut self.pending, Opens::Body);
        if statement.inside && !outline.has_room_for(Rank::Member) {
            return Opens::Body;
        }
        let opens = match (self.dialect.statement)(&statement, outline) {
            Some(opens) => opens,
            None if continues(statement.text) => before,
            None => Opens::Body,
        };
        if end == End::Line {
            self.pending = opens;
        }
        opens
    }

    fn open(&mut self, outline: &mut Outline) {
        let opens = if self.blocks.hiding > 0 {
            Opens::Body
        } else if self.blocks.parens > 0 || self.groups > GROUPS {
            Opens::Group
        } else {
            self.show(End::Open, outline)
        };
        let opens = match opens {
            // Without room for members, a type is as good as closed.
            Opens::Type if !outline.has_room_for(Rank::Member) => Opens::Body,
            opens => opens,
        };
        let outermost = self.blocks.hiding == 0;
        self.blocks.push(opens);
        self.at += 1;
        if opens == Opens::Group {
            self.groups = self.groups.saturating_add(1);
        } else if outermost {
            self.begin();
        }
    }

    fn close(&mut self, outline: &mut Outline) {
        if self.blocks.hiding == 0 {
            self.show(End::Line, outline);
            self.pending = Opens::Body;
        }
        self.at += 1;
        let closed = self.blocks.pop();
        match closed {
            Some(Opens::Group) => {}
            Some(Opens::Template) => self.template(),
            _ => {
                if closed.is_none() {
                    self.blocks.parens = 0;
                }
                self.names = closed == Some(Opens::Named);
                // Inside a group, an inner block's end begins nothing.
                if self.blocks.hiding == 0 {
                    self.begin();
                }
            }
        }
    }

    /// Whether the line that ends here leaves its statement open.
    fn goes_on(&self) -> bool {
        let text = self.source.get(self.start..self.at).unwrap_or_default();
        let last = text.iter().rev().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
        matches!(last, Some(b',' | b':' | b'='))
    }

    /// The line of a `#`, from there on, with the lines that continue it.
    fn directive_len(&self) -> usize {
        let rest = &self.source[self.at..];
        let mut end = 0;
        loop {
            let Some(newline) = memchr(b'\n', &rest[end..]) else { return rest.len() };
            end += newline;
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            if !line.ends_with(b"\\") {
                return end;
            }
            end += 1;
        }
    }

    fn is_first_on_line(&self) -> bool {
        let before = &self.source[..self.at];
        let blank = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        before.len() == blank || before[before.len() - blank - 1] == b'\n'
    }

    /// Whether only white space stands between the start of the statement and here.
    fn is_fresh(&mut self) -> bool {
        // White space that was looked at is left out of the statement, not looked at again.
        let text = self.source.get(self.start..self.at).unwrap_or_default();
        self.start += text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.start >= self.at
    }

    fn hash(&mut self, outline: &mut Outline) {
        match self.dialect.hash {
            Hash::Comment if !self.source[self.at..].starts_with(b"#[") => self.skip_line(),
            Hash::Directive if self.is_first_on_line() => {
                let line = &self.source[self.at..self.at + self.directive_len()];
                self.condition(line);
                let line = &self.source[self.at..self.at + line.len()];
                if self.blocks.hiding == 0 || line[1..].trim_ascii_start().starts_with(b"include") {
                    let shown = &line[..line.len().min(STATEMENT_BYTES)];
                    (self.dialect.directive)(shown, self.at, outline);
                }
                let fresh = self.blocks.hiding == 0 && self.is_fresh();
                self.at += line.len();
                if fresh {
                    self.start = self.at;
                }
            }
            _ => self.at += 1,
        }
    }

    /// Keeps the two branches of a condition from opening the same brace twice.
    fn condition(&mut self, line: &[u8]) {
        let word = line[1..].trim_ascii_start();
        if word.starts_with(b"if") {
            if self.conditions.len() < CONDITIONS {
                self.conditions.push(self.blocks);
            }
        } else if word.starts_with(b"el") {
            if let Some(before) = self.conditions.last() {
                let hidden = self.blocks.hiding > 0;
                self.blocks = *before;
                if hidden && self.blocks.hiding == 0 {
                    self.start = self.at + line.len();
                }
            }
        } else if word.starts_with(b"endif") {
            self.conditions.pop();
        }
    }

    fn skip_line(&mut self) {
        let fresh = self.blocks.hiding == 0 && self.is_fresh();
        let rest = &self.source[self.at..];
        let mut length = memchr(b'\n', rest).unwrap_or(rest.len());
        if self.dialect.islands {
            length = memmem::find(&rest[..length], b"?>").unwrap_or(length);
        }
        self.at += length;
        if fresh {
            self.start = self.at;
        }
    }

    fn slash(&mut self) {
        match self.source.get(self.at + 1) {
            Some(b'/') => self.skip_line(),
            Some(b'*') => {
                let fresh = self.blocks.hiding == 0 && self.is_fresh();
                self.at += 2;
                self.skip_comment();
                if fresh {
                    self.start = self.at;
                }
            }
            _ if self.dialect.regex && self.at >= self.no_regex && self.may_begin_regex() => {
                self.skip_regex();
            }
            _ => self.at += 1,
        }
    }

    fn skip_comment(&mut self) {
        let mut open = 1;
        while open > 0 {
            let rest = &self.source[self.at..];
            let Some(end) = memmem::find(rest, b"*/") else {
                self.at = self.source.len();
                return;
            };
            if self.dialect.nested_comments {
                open += memmem::find_iter(&rest[..end], b"/*").count();
            }
            open -= 1;
            self.at += end + 2;
        }
    }

    /// Whether a value cannot end right before here, so that `/` does not divide.
    fn may_begin_regex(&self) -> bool {
        let before = self.source[self.start.min(self.at)..self.at].trim_ascii_end();
        match before.last() {
            None => true,
            Some(&last) if is_word(last) => {
                let word = before.iter().rev().take_while(|b| is_word(**b)).count();
                let word = &before[before.len() - word..];
                [&b"return"[..], b"typeof", b"case", b"in", b"of", b"do", b"else"].contains(&word)
            }
            // `</` closes a tag.
            Some(last) => !matches!(last, b')' | b']' | b'}' | b'"' | b'\'' | b'`' | b'<'),
        }
    }

    fn skip_regex(&mut self) {
        let rest = &self.source[self.at + 1..];
        let (mut at, mut in_class) = (0, false);
        while let Some(&byte) = rest.get(at) {
            match byte {
                b'\n' => break,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.at += at + 2;
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        self.no_regex = self.at + at;
        self.at += 1;
    }

    fn quoted(&mut self, mark: u8, quote: Quote) {
        let rest = &self.source[self.at..];
        let before = &self.source[..self.at];
        let triple = [mark; 3];
        if self.dialect.triple && rest.starts_with(&triple) {
            let body = &rest[3..];
            let mut end = 0;
            // A quotation mark behind a backslash does not close.
            loop {
                let Some(found) = memmem::find(&body[end..], &triple) else {
                    self.at = self.source.len();
                    return;
                };
                end += found;
                if !body[..end].ends_with(b"\\") {
                    break;
                }
                end += 1;
            }
            self.at += 3 + end + 3;
            return;
        }
        if mark == b'"'
            && quote != Quote::Plain
            && let Some(length) = raw_len(before, rest)
        {
            self.at += length;
            return;
        }
        match quote {
            Quote::Plain => self.at += 1,
            Quote::Char => self.at += char_len(before, rest),
            Quote::Line => self.at += string_len(rest, mark, true),
            Quote::Lines => self.at += string_len(rest, mark, false),
            Quote::Raw => {
                self.at += memchr(mark, &rest[1..]).map_or(rest.len(), |end| end + 2);
            }
            Quote::Template => {
                self.at += 1;
                self.template();
            }
        }
    }

    /// Goes on inside a template literal, up to its end or to code in it.
    fn template(&mut self) {
        loop {
            let rest = &self.source[self.at..];
            let Some(found) = memchr3(b'`', b'\\', b'$', rest) else {
                self.at = self.source.len();
                return;
            };
            self.at += found + 1;
            match rest[found] {
                b'`' => return,
                b'\\' => self.at = (self.at + 1).min(self.source.len()),
                // Deeper than what is told apart, the rest of the literal would be lost.
                _ if rest.get(found + 1) == Some(&b'{') && self.blocks.depth < DEPTH => {
                    self.at += 1;
                    self.blocks.push(Opens::Template);
                    return;
                }
                _ => {}
            }
        }
    }

    /// Steps over a here-document such as `<<<EOT`, `<<~EOT` or `<<-"EOT"`.
    fn heredoc(&mut self) {
        let rest = &self.source[self.at..];
        let marks = rest.iter().take_while(|&&b| b == b'<').count();
        self.at += marks;
        if marks < 2 {
            return;
        }
        let label = rest[marks..].trim_ascii_start();
        let label = label.strip_prefix(b"-").unwrap_or(label);
        let quotes = label.iter().take_while(|b| matches!(b, b'"' | b'\'')).count();
        let label = &label[quotes..];
        let label = &label[..label.iter().take_while(|b| is_word(**b)).count()];
        if label.is_empty() || label[0].is_ascii_digit() {
            return;
        }
        let limit = self.source.len().min(self.at.saturating_add(self.ahead));
        let mut at = self.at;
        while let Some(newline) = memchr(b'\n', &self.source[at..limit]) {
            at += newline + 1;
            let line = &self.source[at..limit];
            let indent = line.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            let after = line[indent..].strip_prefix(label);
            if after.is_some_and(|after| !after.first().is_some_and(|b| is_word(*b))) {
                self.at = at + indent + label.len();
                return;
            }
        }
        self.ahead -= limit - self.at;
    }

    /// Steps to behind the next `<?php` or `<?=`.
    fn enter_island(&mut self) {
        let rest = &self.source[self.at..];
        self.at = match memmem::find(rest, b"<?") {
            Some(found) => {
                let opened = &rest[found + 2..];
                let word = opened.iter().take_while(|b| b.is_ascii_alphabetic()).count();
                self.at + found + 2 + word
            }
            None => self.source.len(),
        };
        self.start = self.at;
    }
}

/// Whether a line goes on with the declaration before it.
fn continues(text: &[u8]) -> bool {
    let more = [&b"extends"[..], b"implements", b"with", b"where"].contains(&word(text));
    more || matches!(text[0], b':' | b',' | b')')
}
