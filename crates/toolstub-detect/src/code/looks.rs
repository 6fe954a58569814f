//! What a line looks like, whatever the language.

use memchr::{memchr, memmem, memrchr};

use super::words::{is_word, word, word_len};

/// What closes the comment or string over lines that `line` leaves open.
pub(super) fn opened(line: &[u8]) -> Option<&[u8]> {
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
    heredoc(line)
}

/// Where `line` closes what an earlier line left open.
pub(super) fn closed(line: &[u8], close: &[u8]) -> Option<usize> {
    if !close[0].is_ascii_uppercase() {
        return memmem::find(line, close);
    }
    // A word closes only as the first of its line.
    let indent = line.len() - line.trim_ascii_start().len();
    let behind = line[indent..].strip_prefix(close)?;
    (!behind.first().is_some_and(|&b| is_word(b))).then_some(indent)
}

/// The word that closes the text which `line` opens by `<<WORD`, `<<-'WORD'` or `<<~WORD`.
fn heredoc(line: &[u8]) -> Option<&[u8]> {
    let at = memmem::find(line, b"<<").filter(|&at| at > 0)?;
    let mut tag = &line[at + 2..];
    for mark in [&b"-~<"[..], b"'\""] {
        tag = tag
            .split_first()
            .filter(|(first, _)| mark.contains(first))
            .map_or(tag, |(_, rest)| rest);
    }
    let length = tag.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'_').count();
    // A shift has a value on its left.
    (length >= 2 && matches!(line[at - 1], b' ' | b'(' | b'=')).then(|| &tag[..length])
}

/// Whether a line only gives a name a value, as files of settings do.
pub(super) fn is_setting(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"export ").unwrap_or(line);
    let name = line.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let value = line.get(name + 1..).unwrap_or_default();
    name > 0
        && line.get(name) == Some(&b'=')
        && !value.contains(&b'`')
        && memmem::find(value, b"$(").is_none()
}

/// Whether a line is a string between quotes and nothing else.
fn is_string(line: &[u8]) -> bool {
    let quote = line[0];
    let inner = line.trim_ascii_end();
    let inner = inner.strip_suffix(b",").unwrap_or(inner);
    matches!(quote, b'"' | b'\'') && inner.len() > 1 && inner.last() == Some(&quote)
}

/// `line` without a comment at its end.
pub(super) fn without_comment(line: &[u8]) -> &[u8] {
    let code = if line.ends_with(b"*/") {
        memmem::rfind(line, b"/*").map_or(line, |at| &line[..at])
    } else {
        let slashes = memmem::find(line, b" // ");
        // Python sets its remarks off by two blanks.
        slashes.or_else(|| memmem::find(line, b"  # ")).map_or(line, |at| &line[..at])
    };
    let code = code.trim_ascii_end();
    if code.is_empty() { line } else { code }
}

/// Lines that only stand in something that quotes code: fences, diffs, logs of commits.
pub(super) fn is_foreign(line: &[u8]) -> bool {
    line.starts_with(b"```")
        || line.starts_with(b"~~~")
        || line.starts_with(b"diff --git ")
        || line.starts_with(b"@@ -")
        || line.starts_with(b"Traceback (most recent call last)")
        || line.starts_with(b"+++ ")
        || is_commit(line)
        || is_blamed(line)
}

/// What reStructuredText and Markdown have: the line below a heading, a sentence that a quotation
/// follows, a directive, the line below a table's head.
pub(super) fn is_of_document(line: &[u8]) -> bool {
    if is_table_rule(line) || line.starts_with(b".. ") && memmem::find(line, b"::").is_some() {
        return true;
    }
    let below = matches!(line[0], b'^' | b'~') && line.iter().all(|&b| b == line[0]);
    let quotes = line.ends_with(b"::") && memchr::memchr_iter(b' ', line).count() >= 4;
    below && line.len() >= 6 || quotes && !is_comment(line)
}

/// `--- | ---`, as tables of Markdown have below their heads.
fn is_table_rule(line: &[u8]) -> bool {
    let cells = line.split(|&b| b == b'|').filter(|cell| !cell.is_empty());
    memchr(b'|', line).is_some()
        && line.len() >= 7
        && cells.clone().count() >= 2
        && cells
            .map(<[u8]>::trim_ascii)
            .all(|cell| cell.len() >= 3 && cell.iter().all(|b| matches!(b, b'-' | b':')))
}

/// `left  | right`, as `diff -y` sets two versions side by side.
pub(super) fn is_side_by_side(line: &[u8]) -> bool {
    let Some(tab) = memchr(b'\t', line) else { return false };
    let (left, right) = line.split_at(tab);
    if left.len() >= 8 && left.trim_ascii() == right.trim_ascii() {
        return true;
    }
    let is_gutter = |at: usize| match line.get(at + 1) {
        Some(behind) => *behind == b'\t' && matches!(line[at - 1], b'\t' | b' '),
        None => line[at - 1] == b'\t',
    };
    memchr::memchr3_iter(b'|', b'<', b'>', line).any(|at| at > 0 && is_gutter(at))
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

/// Whether a line begins as those of logs do: `2026-01-02 `, `[2026-01-02T`, `Jan  2 03:04:05`,
/// `03:04:05`, `[    0.000000]`.
pub(super) fn is_stamped(line: &[u8]) -> bool {
    let text = line.strip_prefix(b"[").unwrap_or(line);
    let text = text.strip_prefix(b"\"").unwrap_or(text).trim_ascii_start();
    let month = [
        &b"Jan"[..],
        b"Feb",
        b"Mar",
        b"Apr",
        b"May",
        b"Jun",
        b"Jul",
        b"Aug",
        b"Sep",
        b"Oct",
        b"Nov",
        b"Dec",
    ];
    if text.get(..3).is_some_and(|name| month.contains(&name)) {
        let day = text[3..].trim_ascii_start();
        return text.get(3) == Some(&b' ')
            && has_shape(day, b"9")
            && memchr(b':', &day[..day.len().min(8)]).is_some();
    }
    let shapes: [&[u8]; 5] =
        [b"9999-99-99", b"9999/99/99", b"99:99:99", b"99/Aaa/9999", b"9.999999]"];
    shapes.iter().any(|shape| has_shape(text, shape))
}

/// Whether `text` begins with digits, letters and marks in the order of `shape`.
fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    text.len() >= shape.len()
        && text.iter().zip(shape).all(|(byte, form)| match form {
            b'9' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'a' => byte.is_ascii_lowercase(),
            mark => byte == mark,
        })
}

/// Lines of reports on code: traces, diagnostics, search hits, listings.
pub(super) fn is_report(line: &[u8], indented: bool) -> bool {
    let starts = |prefix: &[u8]| line.starts_with(prefix);
    if starts(b"--> ") || starts(b"File \"") && memmem::find(line, b"\", line ").is_some() {
        return true;
    }
    if starts(b"at ") && (line.ends_with(b")") || memmem::find(line, b":").is_some()) {
        return true;
    }
    // A hit below the name of its file.
    let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
    if !indented && digits > 0 && line.get(digits) == Some(&b':') {
        return true;
    }
    if memchr::memchr_iter(b'[', line).any(|at| line[at..].starts_with(b"[Function")) {
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
    // A line that a diff adds.
    !indented && starts(b"+") || is_hit(line)
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

pub(super) fn is_comment(line: &[u8]) -> bool {
    match line[0] {
        b'#' => {
            line.len() == 1 || matches!(line[1], b' ' | b'#' | b'!' | b'-' | b'=' | b'\t' | b':')
        }
        b'/' => matches!(line.get(1), Some(b'/' | b'*')),
        b'*' => line.len() == 1 || matches!(line[1], b' ' | b'/' | b'*'),
        b'-' => {
            let behind = line.strip_prefix(b"---").and_then(|rest| rest.first());
            line.starts_with(b"-- ") || line == b"--" || behind.is_some_and(|&b| b != b'-')
        }
        b';' => line.starts_with(b";;"),
        _ => false,
    }
}

/// Whether a line reads like prose, a log, a listing or a table.
pub(super) fn is_text(line: &[u8]) -> bool {
    let last = line[line.len() - 1];
    if matches!(last, b';' | b'{' | b'}' | b'\\') || is_closing_tag(line) || is_string(line) {
        return false;
    }
    match line[0] {
        b'|' | b'+' | b'>' | b'%' | b'<' => return true,
        b'-' | b'*' => {
            return matches!(line.get(1), Some(b' ' | b'-'))
                || line.get(1).is_some_and(u8::is_ascii_alphabetic);
        }
        b'$' => return line.get(1) == Some(&b' '),
        b'/' => return last == b',' && line.contains(&b' '),
        b'[' => {
            return line.get(1).is_some_and(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
                || is_section(line);
        }
        b'0'..=b'9' => {
            let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
            let joint = line.get(digits).copied().unwrap_or(b' ');
            return matches!(joint, b'-' | b'/' | b'.' | b'T')
                || matches!(joint, b':' | b' ')
                    && line.get(digits + 1).is_some_and(u8::is_ascii_alphanumeric);
        }
        _ => {}
    }
    if !line[0].is_ascii() {
        return true;
    }
    let first = word_len(line);
    // `Key: value`
    if first > 0
        && line.get(first) == Some(&b':')
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
    let ends = matches!(last, b'.' | b':' | b'?' | b'!');
    (words >= 4 || words == 3 && ends) && words * 3 >= all * 2
}

/// Whether a line names a target and what it depends on.
pub(super) fn is_rule(line: &[u8]) -> bool {
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
            word(line),
            b"if" | b"for" | b"while" | b"class" | b"def" | b"case" | b"with" | b"elif"
        )
        && !block.contains(&target.trim_ascii())
}

/// Whether a line of a recipe is a command: silenced, with variables or by a usual name.
pub(super) fn is_command(line: &[u8]) -> bool {
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
        || (usual.contains(&word(line)) && has(" "))
}

/// `</tag>`, as the end of an envelope is written.
fn is_closing_tag(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"</").and_then(|rest| rest.strip_suffix(b">"));
    name.is_some_and(|name| name.iter().all(|b| is_word(*b) || *b == b'-'))
}

/// `[section]`
fn is_section(line: &[u8]) -> bool {
    line.ends_with(b"]")
        && line[1..line.len() - 1]
            .iter()
            .all(|b| is_word(*b) || matches!(b, b'.' | b'-' | b' ' | b'"' | b'[' | b']'))
}

/// Whether a line has the punctuation of code.
pub(super) fn is_code(line: &[u8]) -> bool {
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
