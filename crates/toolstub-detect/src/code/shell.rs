//! Shell, PowerShell, Perl, R and Lua: functions at the start of a line.

use memchr::memmem;

use super::lines::{Line, Lines};
use super::outline::{Outline, Rank};
use super::words::{after_word, is_word, quoted, upto, word, word_len};

fn rank(line: &Line<'_>) -> Rank {
    if line.indent == 0 { Rank::Top } else { Rank::Nested }
}

pub(super) fn shell(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    while let Some(line) = lines.next() {
        let text = line.text;
        let Some(&first) = text.first() else { continue };
        match first {
            b'#' => continue,
            b'.' if text.starts_with(b". ") && line.indent == 0 => sourced(&text[2..], outline),
            b's' if text.starts_with(b"source ") && line.indent == 0 => {
                sourced(&text[7..], outline);
            }
            _ => {
                if let Some(name) = function_len(text) {
                    outline.symbol(rank(&line), line.at, &text[..name]);
                }
            }
        }
        if memmem::find(text, b"<<").is_some() && memmem::find(text, b"<<<").is_none() {
            lines.skip_heredoc(text);
        }
    }
}

fn sourced(path: &[u8], outline: &mut Outline) {
    let path = path.trim_ascii_start();
    let plain = path.iter().take_while(|b| !b.is_ascii_whitespace() && **b != b';').count();
    let path = path[..plain].trim_ascii();
    let path = path.strip_prefix(b"\"").and_then(|p| p.strip_suffix(b"\"")).unwrap_or(path);
    outline.import(path);
}

/// The length of a function's head: `name`, or `function name`.
fn function_len(text: &[u8]) -> Option<usize> {
    let is_name = |b: &&u8| is_word(**b) || matches!(b, b'-' | b':' | b'.' | b'@' | b'+');
    if let Some(rest) = after_word(text, b"function") {
        let name = rest.iter().take_while(is_name).count();
        let behind = rest[name..].trim_ascii_start();
        let opens = behind.is_empty() || matches!(behind[0], b'{' | b'(' | b'#');
        return (name > 0 && opens).then(|| text.len() - rest.len() + name);
    }
    let name = text.iter().take_while(is_name).count();
    let behind = text[name..].trim_ascii_start().strip_prefix(b"(")?;
    let behind = behind.trim_ascii_start().strip_prefix(b")")?.trim_ascii_start();
    let opens =
        behind.is_empty() || matches!(behind[0], b'{' | b'(' | b'#') || word(behind) == b"if";
    (name > 0 && opens && !text[0].is_ascii_digit()).then_some(name)
}

pub(super) fn powershell(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    let mut closes = true;
    while let Some(line) = lines.next() {
        let text = line.text;
        if let Some(open) = memmem::find(text, b"<#").filter(|_| closes) {
            let from = line.at + open;
            let end = memmem::find(&source[from..], b"#>");
            closes = end.is_some();
            if let Some(end) = end.filter(|end| from + end >= lines.position()) {
                lines.skip_past(from + end);
                continue;
            }
        }
        if text.ends_with(b"@'") || text.ends_with(b"@\"") {
            let close: &[u8] = if text.ends_with(b"'") { b"'@" } else { b"\"@" };
            lines.skip_to(close);
            continue;
        }
        let keyword = word(text).to_ascii_lowercase();
        let Some(rest) = after_word(text, word(text)) else { continue };
        match keyword.as_slice() {
            b"function" | b"filter" | b"workflow" | b"class" | b"enum" => {
                let is_name = |b: &&u8| is_word(**b) || matches!(b, b'-' | b':' | b'.');
                let name = rest.iter().take_while(is_name).count();
                let behind = rest[name..].trim_ascii_start();
                let opens = behind.is_empty() || matches!(behind[0], b'{' | b'(' | b':' | b'#');
                if name > 0 && opens {
                    outline.symbol(rank(&line), line.at, upto(text, &rest[name..]));
                }
            }
            b"import" if rest.to_ascii_lowercase().starts_with(b"-module ") => {
                let module = rest[8..].trim_ascii_start();
                let lower = module.to_ascii_lowercase();
                let module = if lower.starts_with(b"-name ") {
                    module[6..].trim_ascii_start()
                } else {
                    module
                };
                let end = module.iter().take_while(|b| !b.is_ascii_whitespace() && **b != b';');
                let module = &module[..end.count()];
                outline.import(quoted(module).unwrap_or(module));
            }
            b"using" => {
                if let Some(module) = after_word(rest, b"module").or(after_word(rest, b"namespace"))
                {
                    outline.import(module);
                }
            }
            _ => {}
        }
        if let Some(module) = text.strip_prefix(b"#Requires -Module") {
            outline.import(module.strip_prefix(b"s").unwrap_or(module));
        } else if let Some(path) = text.strip_prefix(b". ").filter(|_| line.indent == 0) {
            outline.import(quoted(path).unwrap_or(path));
        }
    }
}

pub(super) fn perl(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    while let Some(line) = lines.next() {
        let text = line.text;
        if text.is_empty() || text[0] == b'#' {
            continue;
        }
        if line.indent == 0 && text[0] == b'=' && text.get(1).is_some_and(u8::is_ascii_alphabetic) {
            lines.skip_to(b"=cut");
            continue;
        }
        if matches!(text, b"__END__" | b"__DATA__") {
            return;
        }
        let keyword = word(text);
        let rest = after_word(text, keyword).unwrap_or_default();
        let name = rest.iter().take_while(|b| is_word(**b) || matches!(b, b':' | b'\'')).count();
        match keyword {
            b"package" | b"sub" | b"class" | b"role" | b"method" if name > 0 => {
                let behind = rest[name..].trim_ascii_start();
                let opens = behind.is_empty() || matches!(behind[0], b'{' | b'(' | b':' | b'#');
                let ends = keyword == b"package" && behind.starts_with(b";");
                if opens || ends || (keyword == b"package" && behind[0].is_ascii_digit()) {
                    outline.symbol(rank(&line), line.at, upto(text, &rest[name..]));
                }
            }
            b"use" | b"require"
                if rest.first().is_some_and(u8::is_ascii_alphabetic)
                    && !rest.starts_with(b"v5") =>
            {
                outline.import(&rest[..name]);
            }
            b"require" if line.indent == 0 => outline.import(quoted(rest).unwrap_or_default()),
            _ => {}
        }
        if memmem::find(text, b"<<").is_some() {
            let label = memmem::find(text, b"<<").map(|at| &text[at + 2..]).unwrap_or_default();
            if label.first().is_some_and(|b| matches!(b, b'"' | b'\'' | b'~' | b'A'..=b'Z' | b'_'))
            {
                lines.skip_heredoc(text);
            }
        }
    }
}

pub(super) fn r(source: &[u8], outline: &mut Outline) {
    for line in Lines::new(source) {
        let text = line.text;
        if text.is_empty() || text[0] == b'#' {
            continue;
        }
        if let b"library" | b"require" | b"requireNamespace" = word(text) {
            let name = text[word_len(text)..].trim_ascii_start();
            if let Some(name) = name.strip_prefix(b"(") {
                let end = name.iter().take_while(|b| !matches!(b, b')' | b',')).count();
                outline.import(quoted(&name[..end]).unwrap_or(&name[..end]));
            }
        } else if line.indent == 0 {
            let mut end = text.iter().take_while(|b| is_word(**b) || **b == b'.').count();
            if text[0] == b'`' {
                end = text[1..].iter().position(|&b| b == b'`').map_or(0, |close| close + 2);
            }
            let behind = text[end..].trim_ascii_start();
            let value = behind.strip_prefix(b"<-").or(behind.strip_prefix(b"="));
            let is_function = value.is_some_and(|v| v.trim_ascii_start().starts_with(b"function"));
            if end > 0 && is_function {
                outline.symbol(Rank::Top, line.at, &[&text[..end], b" <- function"].concat());
            }
        }
    }
}

pub(super) fn lua(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    while let Some(line) = lines.next() {
        let text = line.text;
        if text.is_empty() {
            continue;
        }
        if let Some(end) = long_bracket(source, &line, lines.position()) {
            lines.skip_past(end);
            if text.starts_with(b"--") {
                continue;
            }
        }
        if text.starts_with(b"--") || line.indent > 0 {
            continue;
        }
        for at in memmem::find_iter(text, b"require").take(4) {
            let argument = text[at + 7..].trim_ascii_start();
            let argument = argument.strip_prefix(b"(").unwrap_or(argument).trim_ascii_start();
            let alone = at == 0 || !is_word(text[at - 1]);
            if alone && argument.first().is_some_and(|b| matches!(b, b'"' | b'\'')) {
                outline.import(quoted(argument).unwrap_or_default());
            }
        }
        let rest = after_word(text, b"local").unwrap_or(text);
        let is_name = |b: &&u8| is_word(**b) || matches!(b, b'.' | b':');
        if let Some(rest) = after_word(rest, b"function") {
            let name = rest.iter().take_while(is_name).count();
            if name > 0 {
                outline.symbol(Rank::Top, line.at, upto(text, &rest[name..]));
            }
        } else {
            let name = rest.iter().take_while(is_name).count();
            let value = rest[name..].trim_ascii_start();
            let value = value.strip_prefix(b"=").map(<[u8]>::trim_ascii_start);
            if name > 0 && value.is_some_and(|value| word(value) == b"function") {
                let head = [upto(text, &rest[name..]), b" = function"].concat();
                outline.symbol(Rank::Top, line.at, &head);
            }
        }
    }
}

/// Where a long bracket ends that opens in `line` and runs beyond it.
fn long_bracket(source: &[u8], line: &Line<'_>, next: usize) -> Option<usize> {
    let open = memchr::memchr_iter(b'[', line.text).find(|&at| {
        let level = line.text[at + 1..].iter().take_while(|&&b| b == b'=').count();
        line.text.get(at + 1 + level) == Some(&b'[')
    })?;
    let comment = memmem::find(&line.text[..open], b"--");
    if comment.is_some_and(|at| at + 2 != open) {
        return None;
    }
    let level = line.text[open + 1..].iter().take_while(|&&b| b == b'=').count();
    let close = [b"]", vec![b'='; level].as_slice(), b"]"].concat();
    let from = line.at + open;
    let end = memmem::find(&source[from..], &close).map_or(source.len(), |at| from + at);
    (end >= next).then_some(end)
}
