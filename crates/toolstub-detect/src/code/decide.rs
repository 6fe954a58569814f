//! Whether lines are code, and in which language.
//!
//! A bounded sample of lines is weighed, so that a long log is refused at the price of a short one.

use memchr::{memchr, memmem, memrchr};

use super::clues::{Votes, clue};
use super::context::{Context, Inside, is_docstring, is_item, is_member};
use super::dense;
use super::language::Language;
use super::looks::{
    closed, is_code, is_command, is_comment, is_foreign, is_of_document, is_report, is_rule,
    is_setting, is_side_by_side, is_stamped, is_text, opened, without_comment,
};
use crate::content::{Content, window};

/// How much of the start is sampled.
const HEAD_BYTES: usize = 48 << 10;
/// How much of each later place is sampled.
const PIECE_BYTES: usize = 8 << 10;
/// How many later places there are.
const PIECES: u64 = 4;
/// Up to which size a source is weighed as a whole.
const SAMPLE_BYTES: usize = HEAD_BYTES + PIECES as usize * PIECE_BYTES;
/// How much of a line is looked at.
const LINE_BYTES: usize = 400;

/// How many lines of tags may stand before a source.
const ENVELOPE_LINES: usize = 8;
/// The longest such line.
const ENVELOPE_BYTES: usize = 400;

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
    /// Items of lists in code, which say nothing by themselves.
    pub(super) data: u32,
    /// Members of JSON, a line each.
    pub(super) members: u32,
    /// Lines of comments.
    pub(super) comments: u32,
    /// Lines that stand in code with almost no other sense: they alone are a language's clues.
    pub(super) clues: u32,
    /// Comments that only Rust is likely to have.
    pub(super) inner_docs: u32,
    /// Lines that end in a semicolon.
    pub(super) semicolons: u32,
    /// Lines that begin with a date or a time.
    pub(super) stamps: u32,

    /// Lines that only give a name a value.
    pub(super) settings: u32,
    /// Lines that only documents have.
    pub(super) markup: u32,
    /// Lines of two columns that a comparison sets side by side.
    pub(super) sides: u32,
    /// Fences of Markdown, markers of diffs and the like.
    pub(super) foreign: u32,
    /// What stands around the next line.
    context: Context,
}

/// The places of a source that are weighed.
#[derive(Debug)]
pub(super) struct Sample {
    /// Where the source begins, behind what a tool may have wrapped it in.
    pub(super) start: u64,
    /// Its start: all of it, if there are no later pieces.
    head: Vec<u8>,
    /// Pieces at equal distances, the last of them at the end.
    later: Vec<Vec<u8>>,
}

impl Sample {
    /// Takes a sample of what stands between `start` and `end`.
    pub(super) fn of<C: Content>(content: &mut C, start: u64, end: u64) -> Result<Self, C::Error> {
        let mut head = window(content, start, SAMPLE_BYTES)?;
        let envelope = envelope_len(&head);
        let start = start + envelope as u64;
        if envelope > 0 {
            head = window(content, start, SAMPLE_BYTES)?;
        }
        let mut later = Vec::new();
        if end.saturating_sub(start) > SAMPLE_BYTES as u64 {
            head.truncate(HEAD_BYTES);
            let rest = start + HEAD_BYTES as u64;
            for part in 1..=PIECES {
                let piece_end =
                    if part == PIECES { end } else { rest + (end - rest) / PIECES * part };
                later.push(window(content, piece_end - PIECE_BYTES as u64, PIECE_BYTES)?);
            }
        }
        Ok(Self { start, head, later })
    }
}

/// The language of a source, if it is code.
pub(super) fn language(sample: &Sample) -> Option<Language> {
    verdict(&weigh(sample), &sample.head)
}

/// The length of the lines of tags in which a tool may have wrapped a source.
fn envelope_len(source: &[u8]) -> usize {
    let mut rest = source;
    for _ in 0..ENVELOPE_LINES {
        let end = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest[..end.min(ENVELOPE_BYTES)].trim_ascii();
        let tag =
            line.ends_with(b">") && matches!(line, [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'/', ..]);
        if !tag && !line.is_empty() {
            break;
        }
        rest = &rest[end..];
    }
    source.len() - rest.len()
}

fn weigh(sample: &Sample) -> Evidence {
    let mut evidence = Evidence::default();
    if sample.later.is_empty() {
        evidence.piece(&sample.head);
        return evidence;
    }
    evidence.piece(whole_lines(&sample.head, true));
    for piece in &sample.later {
        let piece = whole_lines(piece, false);
        evidence.piece(&piece[hidden_len(piece)..]);
    }
    evidence
}

/// `piece` without the lines that are cut at its ends.
fn whole_lines(piece: &[u8], from_start: bool) -> &[u8] {
    let start = if from_start { 0 } else { memchr(b'\n', piece).map_or(0, |at| at + 1) };
    let end = memrchr(b'\n', piece).map_or(piece.len(), |at| at.max(start));
    &piece[start..end]
}

/// The length of what is left at the start of `piece` of a comment or string that began before it.
fn hidden_len(piece: &[u8]) -> usize {
    let close = memmem::find(piece, b"*/");
    if let Some(close) = close
        && memmem::find(&piece[..close], b"/*").is_none()
    {
        return close + 2;
    }
    let Some(mark) = memmem::find(piece, b"\"\"\"") else { return 0 };
    let start = memrchr(b'\n', &piece[..mark]).map_or(0, |end| end + 1);
    let before = piece[start..mark].trim_ascii();
    let behind = &piece[mark + 3..];
    let behind = behind[..memchr(b'\n', behind).unwrap_or(behind.len())].trim_ascii();
    // Alone on its line, the mark opens what documents the line before it, which ends in a colon.
    let above = piece[..start].trim_ascii_end();
    let closes = behind.is_empty()
        && !matches!(before.last(), Some(b'(' | b'=' | b',' | b'r' | b'f'))
        && (!before.is_empty() || !above.ends_with(b":") && !above.is_empty());
    if closes { mark + 3 } else { 0 }
}

impl Evidence {
    fn piece(&mut self, piece: &[u8]) {
        let mut rest = piece;
        // Where the comment or string that is open closes.
        let mut closes: Option<&[u8]> = None;
        let mut hidden = 0;
        let mut recipe = false;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let raw = &rest[..end];
            rest = &rest[(end + 1).min(rest.len())..];
            let mut raw = raw;
            let mut line = raw[..raw.len().min(LINE_BYTES)].trim_ascii();
            if line.is_empty() {
                continue;
            }
            if let Some(close) = closes {
                hidden += 1;
                let Some(at) = closed(raw, close) else { continue };
                closes = None;
                self.comments += hidden;
                hidden = 0;
                // The next one may open behind it, or a script without line ends.
                raw = &raw[at + close.len()..];
                line = raw[..raw.len().min(LINE_BYTES)].trim_ascii();
                if !line.is_empty() {
                    closes = opened(line).filter(|close| memmem::find(rest, close).is_some());
                }
                if raw.len() < dense::MIN_BYTES || closes.is_some() {
                    continue;
                }
            } else if line.starts_with(b"/*")
                && let Some(end) = memmem::find(raw, b"*/")
                && raw.len() - end > dense::MIN_BYTES
            {
                self.comments += 1;
                raw = &raw[end + 2..];
                line = raw[..raw.len().min(LINE_BYTES)].trim_ascii();
            }
            if line.is_empty() {
                continue;
            }
            let indent = raw.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            let indented = indent > 0;
            // Lines behind a target and a tab are a shell's, in a makefile.
            recipe = if raw[0] == b'\t' { recipe } else { is_rule(line) && !indented };
            if recipe && indented && is_command(line) {
                self.votes.add(Language::Makefile, 2);
                self.code += 1;
                continue;
            }
            closes = opened(line);
            if self.is_fresh() && indent == 0 && (closes == Some(b"\"\"\"") || is_docstring(line)) {
                self.votes.add(Language::Python, 2);
            }
            if closes.is_some_and(|close| memmem::find(rest, close).is_none()) {
                if line[0] == b'=' {
                    // Documentation up to the end.
                    self.comments += 1;
                    return;
                }
                closes = None;
            }
            if closes.is_some() {
                // The line itself may be code before what it opens.
                if matches!(line[0], b'/' | b'"' | b'\'' | b'<' | b'-' | b'r' | b'=' | b'#') {
                    self.comments += 1;
                    continue;
                }
            }
            self.line(line, indent, raw);
        }
        self.comments += hidden;
    }

    /// Whether only comments stood so far.
    fn is_fresh(&self) -> bool {
        self.code + self.text + self.neutral + self.data == 0 && self.comments < 30
    }

    fn line(&mut self, line: &[u8], indent: usize, raw: &[u8]) {
        let indented = indent > 0;
        if raw.len() >= dense::MIN_BYTES && self.is_dense(raw) {
            return;
        }
        if raw.len() > 2000 {
            self.long(raw);
            return;
        }
        self.sides += u32::from(is_side_by_side(line));
        if !indented && is_foreign(line) {
            self.foreign += 1;
            self.text += 1;
            return;
        }
        if !indented && is_stamped(line) {
            self.stamps += 1;
            self.text += 2;
            return;
        }
        if !indented && is_of_document(line) {
            self.markup += 1;
            self.text += 1;
            return;
        }
        if is_report(line, indented) {
            self.text += 2;
            return;
        }
        if is_comment(line) || is_docstring(line) {
            self.comments += 1;
            self.inner_docs += u32::from(line.starts_with(b"//! "));
            return;
        }
        let line = without_comment(line);
        self.semicolons += u32::from(line.ends_with(b";"));
        self.settings += u32::from(is_setting(line));

        self.members += u32::from(is_json_member(line));
        let inside = self.context.enter(line, indent);
        let known = clue(line, &mut self.votes);
        if known {
            self.clues += 1;
            self.code += 1;
        } else if inside == Some(Inside::Type) && is_member(line) {
            self.code += 1;
        } else if inside == Some(Inside::List) && is_item(line) {
            self.data += 1;
        } else if is_text(line) {
            self.text += 1;
        } else if is_code(line) {
            self.code += 1;
        } else {
            self.neutral += 1;
        }
        self.context.note(line, indent, known);
    }

    /// A very long line: a script without line ends has many words of its language in it.
    fn long(&mut self, raw: &[u8]) {
        let shown = &raw[..raw.len().min(PIECE_BYTES)];
        let count = |part: &[u8]| memmem::find_iter(shown, part).count() as u32;
        let script = count(b"function(") + count(b"=>") + count(b"return ") + count(b"var ");
        let joints = count(b";") + count(b"){") + count(b"&&");
        let styled = count(b"{") > 10 && count(b"}") > 10 && count(b":") > 20 && count(b";") > 10;
        let language = if script >= 8 && joints >= 20 {
            Language::JavaScript
        } else if styled && script < 3 && count(b"\":") < 3 {
            Language::Css
        } else {
            self.neutral += 1;
            return;
        };
        self.votes.add(language, 10);
        self.code += 10;
        self.clues += 3;
    }

    /// Weighs a line of a script or style sheet without line ends, if it is one.
    fn is_dense(&mut self, raw: &[u8]) -> bool {
        let Some(language) = dense::language(&raw[..raw.len().min(PIECE_BYTES)]) else {
            return false;
        };
        let weight = (raw.len() / 200).clamp(1, 10) as u32;
        self.votes.add(language, 3 + weight);
        self.code += weight;
        self.clues += 1;
        true
    }
}

/// `"name": …`, as a line of JSON begins.
fn is_json_member(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"\"") else { return false };
    memchr(b'"', rest).is_some_and(|end| rest[end + 1..].starts_with(b": "))
}

/// Whether a source that begins with a tag is markup, rather than code in an envelope.
fn is_markup(source: &[u8]) -> bool {
    let source = source.trim_ascii_start();

    if !source.starts_with(b"<") || source.starts_with(b"<?php") || source.starts_with(b"<?=") {
        return false;
    }
    let begins = |name: &[u8]| {
        source.get(1..=name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    if [&b"!doctype"[..], b"html", b"head", b"body", b"?xml"].iter().any(|name| begins(name)) {
        return true;
    }
    let shown = &source[..source.len().min(HEAD_BYTES)];
    let (mut tags, mut lines) = (0, 0);
    for line in shown.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty()) {
        lines += 1;
        tags += usize::from(line[0] == b'<' && !line.starts_with(b"<<"));
    }
    tags > 4 && tags * 4 > lines
}

/// Judges the evidence.
fn verdict(evidence: &Evidence, source: &[u8]) -> Option<Language> {
    let mut votes = evidence.votes.clone();
    if let Some(language) = shebang(source) {
        votes.add(language, 20);
    }
    let Evidence { code, text, neutral, clues, foreign, semicolons, inner_docs, .. } = *evidence;
    if code == 0 {
        votes.add(Language::Rust, inner_docs);
    }
    let all = code + text + neutral;
    settle(&mut votes, semicolons, all);
    let (language, points) = votes.best();
    // Documentation with a few lines of code is that.
    let documents = source.starts_with(b"=") && evidence.comments > code * 4;
    // What begins as JSON and was cut off.
    let json = matches!(source.trim_ascii_start().first(), Some(b'{' | b'['))
        && evidence.members * 3 >= all + evidence.data;
    let quotes = json || foreign >= 2 && !source.starts_with(b"#!");
    let sides = evidence.sides >= 3 && evidence.sides * 8 >= all;
    let logs = evidence.stamps >= 2 && evidence.stamps * 20 >= all;

    let document = evidence.markup >= 2 && evidence.markup * 30 >= all;
    if quotes || document || sides || logs || documents || points < 3 || is_markup(source) {
        return None;
    }
    if let Some(named) = shebang(source)
        && code > 0
    {
        return Some(named);
    }
    if language == Language::Shell && evidence.settings == all {
        return None;
    }
    let strong = points >= 4.max(all / 60) && points * 4 >= clues || all == code && points >= 3;
    // Tables of data have few clues; where prose stands beside, there must be more.
    let weight = code + points / 2;
    let plain = text * 8 <= weight && weight * 8 >= all;
    let clear = weight * 2 >= all && weight >= text * 2;
    (strong && (plain || clear)).then_some(language)
}

/// The language of the interpreter in the first line.
fn shebang(source: &[u8]) -> Option<Language> {
    if source.starts_with(b"<?php") {
        return Some(Language::Php);
    }
    // `#![` begins an attribute of Rust.
    let line = source.strip_prefix(b"#!").filter(|line| !line.starts_with(b"["))?;
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

/// Weighs what speaks for several languages.
fn settle(votes: &mut Votes, semicolons: u32, lines: u32) {
    use Language::{
        C, CSharp, Cpp, Css, Dart, Elixir, Go, Groovy, Hcl, Java, JavaScript, Kotlin, Lua,
        Makefile, ObjectiveC, Perl, Php, PowerShell, Python, R, Ruby, Scala, Scss, Shell, Swift,
        TypeScript,
    };
    // Most languages end every statement with a semicolon, or none.
    let ended: &[Language] = &[C, Cpp, CSharp, Java, Dart, Perl, Php, Css];
    let bare: &[Language] = &[
        Python, Ruby, Kotlin, Swift, Go, Lua, Shell, Scala, Groovy, Hcl, Makefile, R, Elixir,
        PowerShell,
    ];
    if lines >= 12 {
        if semicolons * 33 < lines {
            for &language in ended {
                votes.halve(language);
            }
        } else if semicolons * 5 > lines {
            for &language in bare {
                votes.halve(language);
            }
        }
    }
    if votes.of(Php) > 0 && votes.of(Php) < 20 + votes.of(Perl) {
        // Seldom without its opening tag, which is worth twenty.
        votes.halve(Php);
    }
    // A language that extends another inherits what speaks for it.
    for (extension, base, share) in
        [(TypeScript, JavaScript, 32), (Scss, Css, 30), (ObjectiveC, C, 30)]
    {
        let own = votes.of(extension);
        if own >= 2 && own * share >= votes.of(base) {
            votes.add(extension, votes.of(base));
        }
    }
}
