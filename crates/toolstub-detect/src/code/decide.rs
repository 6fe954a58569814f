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
    /// Comments that only Rust is likely to have.
    pub(super) inner_docs: u32,
    /// Lines that end in a semicolon.
    pub(super) semicolons: u32,
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
    let later = &source[HEAD_BYTES..];
    for part in 1..=4 {
        let end = if part == 4 { later.len() } else { later.len() / 4 * part };
        evidence.piece(whole_lines(&later[end - PIECE_BYTES..end], false));
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
        let mut recipe = false;
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
                let Some(at) = memmem::find(raw, close) else { continue };
                closes = None;
                self.comments += hidden;
                hidden = 0;
                // A script without line ends may follow.
                let behind = &raw[at + close.len()..];
                if behind.len() > 2000 {
                    self.minified(behind);
                }
                continue;
            }
            // Lines behind a target and a tab are a shell's, in a makefile.
            recipe = if raw[0] == b'\t' { recipe } else { is_rule(line) && !indented };
            if recipe && indented && is_command(line) {
                self.votes.add(Language::Makefile, 2);
                self.code += 1;
                continue;
            }
            closes = opened(line);
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
            self.inner_docs += u32::from(line.starts_with(b"//! "));
            return;
        }
        let line = without_comment(line);
        self.semicolons += u32::from(line.ends_with(b";"));
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
            && count(b"\":") < 3
        {
            self.votes.add(Language::Css, 10);
            self.code += 10;
            self.clues += 3;
        } else {
            self.neutral += 1;
        }
    }
}

/// `line` without a comment at its end.
fn without_comment(line: &[u8]) -> &[u8] {
    let code = if line.ends_with(b"*/") {
        memmem::rfind(line, b"/*").map_or(line, |at| &line[..at])
    } else {
        memmem::find(line, b" // ").map_or(line, |at| &line[..at])
    };
    let code = code.trim_ascii_end();
    if code.is_empty() { line } else { code }
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
    if line[0] == b'='
        && line.get(1).is_some_and(u8::is_ascii_lowercase)
        && !line.starts_with(b"=cut")
    {
        return Some(if line.starts_with(b"=begin") && line.len() == 6 {
            b"=end"
        } else {
            b"=cut"
        });
    }
    if line.starts_with(b"#[=") && memmem::find(line, b"]=").is_none() {
        return Some(b"]=");
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
        || is_blamed(line)
}

fn is_commit(line: &[u8]) -> bool {
    line.strip_prefix(b"commit ")
        .is_some_and(|id| id.len() >= 40 && id[..40].iter().all(u8::is_ascii_hexdigit))
}

/// `0123abcd (Name 2026-01-02 12) code`, `^0123abc file 12) code`
fn is_blamed(line: &[u8]) -> bool {
    let id = line.strip_prefix(b"^").unwrap_or(line);
    let length = id.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let Some(b' ') = id.get(length) else { return false };
    let Some(close) = memchr(b')', id) else { return false };
    let number = id[..close].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    (7..=40).contains(&length) && number > 0 && close < 200
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
    let behind = &line[colon + 1..];
    let sited = number > 0 && matches!(behind.get(number), Some(b':' | b'-' | b' '));
    let prefixed = path.contains(&b'/') || is_source_name(path);
    named && (sited || prefixed && !matches!(behind.first(), None | Some(b':' | b'/' | b'=')))
}

/// Whether a file's name ends as those of sources and documents do.
fn is_source_name(path: &[u8]) -> bool {
    let Some(dot) = memrchr(b'.', path) else { return false };
    let ends: [&[u8]; 24] = [
        b"py", b"rs", b"go", b"js", b"ts", b"tsx", b"java", b"c", b"cc", b"cpp", b"h", b"rb",
        b"php", b"kt", b"swift", b"lua", b"sh", b"sql", b"md", b"txt", b"json", b"yml", b"toml",
        b"css",
    ];
    ends.contains(&&path[dot + 1..])
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
        b'0'..=b'9' => {
            let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
            let joint = line.get(digits).copied().unwrap_or(b' ');
            return matches!(joint, b'-' | b'/' | b'.' | b'T')
                || matches!(joint, b':' | b' ')
                    && line.get(digits + 1).is_some_and(|b| b.is_ascii_alphanumeric());
        }
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

/// Whether a line names a target and what it depends on.
fn is_rule(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|&b| matches!(b, b':' | b'=' | b' ' | b'(')) else {
        return false;
    };
    let target = &line[..memchr(b':', line).unwrap_or(colon)];
    let plain = |b: &u8| is_word(*b) || b"./%-+ \t(){}".contains(b);
    let after = &line[target.len()..];
    let block: [&[u8]; 8] =
        [b"else", b"try", b"finally", b"default", b"public", b"private", b"protected", b"except"];
    !target.is_empty()
        && target.iter().all(plain)
        && (!target.contains(&b'(') || target.contains(&b'$'))
        && after.starts_with(b":")
        && !after.starts_with(b":=")
        && !matches!(
            super::words::word(line),
            b"if" | b"for" | b"while" | b"class" | b"def" | b"case" | b"with" | b"elif"
        )
        && !block.contains(&target.trim_ascii())
}

/// Whether a line of a recipe is a command: silenced, with variables or by a usual name.
fn is_command(line: &[u8]) -> bool {
    let has = |part: &str| memmem::find(line, part.as_bytes()).is_some();
    let usual: [&[u8]; 16] = [
        b"cd", b"rm", b"mkdir", b"echo", b"cp", b"gcc", b"python", b"python3", b"go", b"cargo",
        b"npm", b"docker", b"make", b"install", b"for", b"if",
    ];
    matches!(line[0], b'@')
        || has("$(")
        || has("${")
        || has("$@")
        || has("$<")
        || (usual.contains(&super::words::word(line)) && has(" "))
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

/// Whether a source that begins with a tag is markup, rather than code in an envelope.
fn is_markup(source: &[u8]) -> bool {
    let source = source.trim_ascii_start();

    if !source.starts_with(b"<") || source.starts_with(b"<?php") || source.starts_with(b"<?=") {
        return false;
    }
    let shown = &source[..source.len().min(HEAD_BYTES)];
    let (mut tags, mut lines) = (0, 0);
    for line in shown.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty()) {
        lines += 1;
        tags += usize::from(line[0] == b'<' && !line.starts_with(b"<<"));
    }
    tags > 4 && tags * 12 > lines
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
    let quotes = foreign >= 2 && !source.starts_with(b"#!");
    if quotes || documents || points < 3 || is_markup(source) {
        return None;
    }
    let strong = points >= 4.max(all / 60) && points * 4 >= clues || all == code && points >= 3;
    let dense = (code + points) * 10 >= all;
    let clear = code >= text * 2 || points >= text;
    (strong && dense && clear).then_some(language)
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
            ended.iter().for_each(|&language| votes.halve(language));
        } else if semicolons * 5 > lines {
            bare.iter().for_each(|&language| votes.halve(language));
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
