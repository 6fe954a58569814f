//! Whether lines are code, and in which language.
//!
//! A bounded sample of lines is weighed, so that a long log is refused at the price of a short one.

use memchr::{memchr, memmem, memrchr};

use super::clues::{Votes, clue};
use super::language::Language;
use super::words::{is_word, word_len};

/// How much of the start is sampled.
const HEAD_BYTES: usize = 48 << 10;
/// How much of each later place is sampled.
const PIECE_BYTES: usize = 8 << 10;
/// How much of a line is looked at.
const LINE_BYTES: usize = 400;

/// What the sampled lines look like.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) votes: Votes,
    /// Lines that look like code of some language.
    pub(super) code: u32,
    /// Lines that look like anything but code.
    pub(super) text: u32,
    /// Lines that could be both.
    pub(super) neutral: u32,
    /// Lines of comments.
    pub(super) comments: u32,
    /// Lines that stand in code with almost no other sense: they alone are a language's clues.
    pub(super) clues: u32,
    /// Fences of Markdown, markers of diffs and the like.
    pub(super) foreign: u32,
}

/// The language of `source`, if it is code.
pub(super) fn language(source: &[u8]) -> Option<Language> {
    let evidence = weigh(source);
    verdict(&evidence, source)
}

/// Weighs the sample of `source`.
pub(super) fn weigh(source: &[u8]) -> Evidence {
    let mut evidence = Evidence::default();
    if source.len() <= HEAD_BYTES + 4 * PIECE_BYTES {
        evidence.piece(source);
        return evidence;
    }
    evidence.piece(whole_lines(&source[..HEAD_BYTES], true));
    for part in 1..=4 {
        let end = source.len() / 4 * part;
        let end = if part == 4 { source.len() } else { end };
        let start = end - PIECE_BYTES;
        evidence.piece(whole_lines(&source[start.max(HEAD_BYTES)..end], false));
    }
    evidence
}

/// `piece` without the lines that are cut at its ends.
fn whole_lines(piece: &[u8], from_start: bool) -> &[u8] {
    let start = if from_start { 0 } else { memchr(b'\n', piece).map_or(0, |at| at + 1) };
    let end = memrchr(b'\n', piece).map_or(piece.len(), |at| at.max(start));
    &piece[start..end]
}

impl Evidence {
    fn piece(&mut self, piece: &[u8]) {
        let mut rest = piece;
        // Where the comment or string that is open closes.
        let mut closes: Option<&[u8]> = None;
        let mut hidden = 0;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let raw = &rest[..end];
            rest = &rest[(end + 1).min(rest.len())..];
            let indented = raw.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
            let long = raw.len() > LINE_BYTES;
            let line = raw[..raw.len().min(LINE_BYTES)].trim_ascii();
            if line.is_empty() {
                continue;
            }
            if let Some(close) = closes {
                hidden += 1;
                if memmem::find(line, close).is_some() {
                    closes = None;
                    self.comments += hidden;
                    hidden = 0;
                }
                continue;
            }
            closes = opened(line);
            if closes.is_some() && memmem::find(rest, closes.unwrap_or_default()).is_none() {
                closes = None;
                hidden = 0;
            }
            if closes.is_some() {
                // The line itself may be code before what it opens.
                if matches!(line[0], b'/' | b'"' | b'\'' | b'<' | b'-' | b'r') {
                    self.comments += 1;
                    continue;
                }
            }
            self.line(line, indented, long, raw);
        }
        self.comments += hidden;
    }

    fn line(&mut self, line: &[u8], indented: bool, long: bool, raw: &[u8]) {
        if long && raw.len() > 2000 {
            self.minified(raw);
            return;
        }
        if !indented && is_foreign(line) {
            self.foreign += 1;
            self.text += 1;
            return;
        }
        if is_report(line, indented) {
            self.text += 2;
            return;
        }
        if is_comment(line) {
            self.comments += 1;
            return;
        }
        if clue(line, &mut self.votes) {
            self.clues += 1;
            self.code += 1;
        } else if is_text(line) {
            self.text += 1;
        } else if is_code(line) {
            self.code += 1;
        } else {
            self.neutral += 1;
        }
    }

    /// A very long line: a script without line ends has many words of its language in it.
    fn minified(&mut self, raw: &[u8]) {
        let shown = &raw[..raw.len().min(PIECE_BYTES)];
        let count = |part: &[u8]| memmem::find_iter(shown, part).count() as u32;
        let script = count(b"function(") + count(b"=>") + count(b"return ") + count(b"var ");
        let joints = count(b";") + count(b"){") + count(b"&&");
        if script >= 8 && joints >= 20 {
            self.votes.add(Language::JavaScript, 10);
            self.code += 10;
            self.clues += 3;
        } else if count(b"{") > 10
            && count(b"}") > 10
            && count(b":") > 20
            && count(b";") > 10
            && script < 3
            && count(b"\"") < 20
        {
            self.votes.add(Language::Css, 10);
            self.code += 10;
            self.clues += 3;
        } else {
            self.neutral += 1;
        }
    }
}

/// What closes the comment or string over lines that `line` leaves open.
fn opened(line: &[u8]) -> Option<&'static [u8]> {
    if let Some(at) = memmem::find(line, b"/*") {
        let fresh = at == 0 || line[at - 1] == b' ';
        if fresh
            && memmem::find(&line[at + 2..], b"*/").is_none()
            && (at == 0 || line.contains(&b';'))
        {
            return Some(b"*/");
        }
    }
    for mark in [b"\"\"\"", b"'''"] {
        if memmem::find_iter(line, mark).count() % 2 == 1 {
            return Some(mark);
        }
    }
    if line.starts_with(b"<#") && memmem::find(line, b"#>").is_none() {
        return Some(b"#>");
    }
    if line.starts_with(b"--[[") && memmem::find(line, b"]]").is_none() {
        return Some(b"]]");
    }
    None
}

/// Lines that only stand in something that quotes code: fences, diffs, logs of commits.
fn is_foreign(line: &[u8]) -> bool {
    line.starts_with(b"```")
        || line.starts_with(b"~~~")
        || line.starts_with(b"diff --git ")
        || line.starts_with(b"@@ -")
        || line.starts_with(b"Traceback (most recent call last)")
        || line.starts_with(b"+++ ")
        || is_commit(line)
}

fn is_commit(line: &[u8]) -> bool {
    line.strip_prefix(b"commit ")
        .is_some_and(|id| id.len() >= 40 && id[..40].iter().all(u8::is_ascii_hexdigit))
}

/// Lines of reports on code: traces, diagnostics, search hits, listings.
fn is_report(line: &[u8], indented: bool) -> bool {
    let starts = |prefix: &[u8]| line.starts_with(prefix);
    if starts(b"--> ") || starts(b"File \"") && memmem::find(line, b"\", line ").is_some() {
        return true;
    }
    if starts(b"at ") && (line.ends_with(b")") || memmem::find(line, b":").is_some()) {
        return true;
    }
    if !indented
        && (starts(b"error:")
            || starts(b"error[")
            || starts(b"warning:")
            || starts(b"E   ")
            || starts(b">   "))
    {
        return true;
    }
    if starts(b"====") && line.len() > 8 || starts(b"____") && line.ends_with(b"____") {
        return true;
    }
    is_hit(line)
}

/// `path:12:` or `path(12)`, as searches and compilers write it.
fn is_hit(line: &[u8]) -> bool {
    let Some(colon) = memchr(b':', line) else { return false };
    let path = &line[..colon];
    let number = line[colon + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
    let named = !path.is_empty()
        && path.iter().all(|b| is_word(*b) || matches!(b, b'/' | b'.' | b'-' | b'+' | b'@'))
        && (path.contains(&b'.') || path.contains(&b'/'));
    named && number > 0 && matches!(line.get(colon + 1 + number), Some(b':' | b'-' | b' '))
}

fn is_comment(line: &[u8]) -> bool {
    match line[0] {
        b'#' => {
            line.len() == 1 || matches!(line[1], b' ' | b'#' | b'!' | b'-' | b'=' | b'\t' | b':')
        }
        b'/' => matches!(line.get(1), Some(b'/' | b'*')),
        b'*' => line.len() == 1 || matches!(line[1], b' ' | b'/' | b'*'),
        b'-' => line.starts_with(b"-- ") || line == b"--",
        b';' => line.starts_with(b";;"),
        _ => false,
    }
}

/// Whether a line reads like prose, a log, a listing or a table.
fn is_text(line: &[u8]) -> bool {
    let last = line[line.len() - 1];
    if matches!(last, b';' | b'{' | b'}') {
        return false;
    }
    match line[0] {
        b'|' | b'+' | b'>' | b'%' => return true,
        b'-' | b'*' => {
            return matches!(line.get(1), Some(b' ' | b'-'))
                || line.get(1).is_some_and(u8::is_ascii_alphabetic);
        }
        b'$' => return line.get(1) == Some(&b' '),
        b'<' => return true,
        b'[' => {
            return line.get(1).is_some_and(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
                || is_section(line);
        }
        b'0'..=b'9' => return !matches!(last, b',' | b')' | b']'),
        _ => {}
    }
    if !line[0].is_ascii() {
        return true;
    }
    let first = word_len(line);
    // `Key: value`
    if line.get(first) == Some(&b':')
        && line.get(first + 1) == Some(&b' ')
        && !matches!(last, b',' | b'(' | b'[')
    {
        return true;
    }
    let words = line
        .split(|&b| b == b' ')
        .filter(|w| {
            w.len() > 1
                && w.iter()
                    .all(|b| b.is_ascii_alphabetic() || matches!(b, b',' | b'.' | b'\'' | b'-'))
        })
        .count();
    let all = line.split(|&b| b == b' ').filter(|w| !w.is_empty()).count();
    words >= 3 && words * 3 >= all * 2
}

/// `[section]`
fn is_section(line: &[u8]) -> bool {
    line.ends_with(b"]")
        && line[1..line.len() - 1]
            .iter()
            .all(|b| is_word(*b) || matches!(b, b'.' | b'-' | b' ' | b'"' | b'[' | b']'))
}

/// Whether a line has the punctuation of code.
fn is_code(line: &[u8]) -> bool {
    let last = line[line.len() - 1];
    if matches!(last, b';' | b'{' | b'}') || matches!(line[0], b'}' | b')' | b'{') {
        return true;
    }
    let joined = matches!(last, b'(' | b'[' | b'\\' | b',') && memchr(b'(', line).is_some();
    let call = last == b')' && line.get(word_path(line)) == Some(&b'(');
    joined
        || call
        || line.ends_with(b"=>")
        || line.ends_with(b"->")
        || line.ends_with(b"&&")
        || line.ends_with(b"||")
}

fn word_path(line: &[u8]) -> usize {
    line.iter().take_while(|b| is_word(**b) || matches!(b, b'.' | b':')).count()
}

/// Judges the evidence.
fn verdict(evidence: &Evidence, source: &[u8]) -> Option<Language> {
    let mut votes = evidence.votes.clone();
    if let Some(language) = shebang(source) {
        votes.add(language, 20);
    }
    settle(&mut votes);
    let (language, points) = votes.best();
    let Evidence { code, text, neutral, clues, foreign, .. } = *evidence;
    if foreign >= 2 || points < 3 {
        return None;
    }
    let all = code + text + neutral;
    let dense = code * 100 >= all * 35 && code >= text * 2;
    let distinct = points * 4 >= clues && points >= 4.max(all / 25);
    (dense && distinct).then_some(language)
}

/// The language of the interpreter in the first line.
fn shebang(source: &[u8]) -> Option<Language> {
    let line = source.strip_prefix(b"#!")?;
    let line = &line[..memchr(b'\n', line).unwrap_or(line.len()).min(200)];
    let names = [
        ("python", Language::Python),
        ("node", Language::JavaScript),
        ("ruby", Language::Ruby),
        ("perl", Language::Perl),
        ("php", Language::Php),
        ("lua", Language::Lua),
        ("pwsh", Language::PowerShell),
        ("Rscript", Language::R),
        ("make", Language::Makefile),
        ("sh", Language::Shell),
    ];
    names.iter().find(|(name, _)| memmem::find(line, name.as_bytes()).is_some()).map(|&(_, l)| l)
}

/// Gives a language that extends another what speaks for both.
fn settle(votes: &mut Votes) {
    let extensions = [
        (Language::TypeScript, Language::JavaScript, 4),
        (Language::Scss, Language::Css, 3),
        (Language::ObjectiveC, Language::C, 3),
    ];
    for (extension, base, needed) in extensions {
        let own = votes.of(extension);
        if own >= needed {
            votes.add(extension, votes.of(base));
        }
    }
    // What is only C speaks for C++ in the same measure, so that any mark of C++ decides.
}
