//! Python.

use memchr::{memchr, memmem};

use super::lines::{Line, Lines};
use super::outline::{Outline, Rank};
use super::words::{after_word, upto, word, word_len};

/// What the indentation of a line is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// A class: what is indented below it is a member.
    Class,
    /// A condition at the top level: what is indented below it may be declared.
    Condition,
    /// A function.
    Function,
}

pub(super) fn outline(source: &[u8], outline: &mut Outline) {
    let mut lines = Lines::new(source);
    let mut open = Block::Condition;
    // The indentation of the first line inside of the block.
    let mut inner = None;
    let mut quotes = Quotes { double: Some(0), single: Some(0) };
    while let Some(line) = lines.next() {
        if line.text.is_empty() {
            continue;
        }
        let string = quotes.next(source, line.at, lines.position());
        if line.indent == 0 {
            open = top(&line, &mut lines, outline);
            inner = None;
        } else {
            let level = *inner.get_or_insert(line.indent);
            if line.indent <= level {
                inner = Some(line.indent);
                match open {
                    Block::Class if outline.has_room_for(Rank::Member) => {
                        declare(&line, Rank::Member, outline);
                    }

                    Block::Condition if is_import(line.text) => import(&line, &mut lines, outline),
                    Block::Condition => declare(&line, Rank::Nested, outline),
                    Block::Class | Block::Function => {}
                }
            }
        }
        if let Some(end) = string {
            lines.skip_past(end);
        }
    }
}

/// Finds strings over lines without looking at every line twice.
struct Quotes {
    double: Option<usize>,
    single: Option<usize>,
}

impl Quotes {
    /// Where the last string ends that opens in the line from `from` to `upto` and runs beyond it,
    /// or that opens in the line in which such a string ends, and so on.
    fn next(&mut self, source: &[u8], from: usize, mut upto: usize) -> Option<usize> {
        let mut at = from;
        let mut beyond = None;
        loop {
            let double = find(source, b"\"\"\"", at, &mut self.double);
            let single = find(source, b"'''", at, &mut self.single);
            let open = double.unwrap_or(upto).min(single.unwrap_or(upto));
            if open >= upto {
                return beyond;
            }
            let Some(open) = opening(&source[..upto], at, open) else { return beyond };
            if open.len() < 3 || !source[open.clone()].starts_with(&[source[open.start]; 3]) {
                // The marks stood inside of a shorter string.
                at = open.end;
                continue;
            }
            let mark = &source[open.start..open.start + 3];
            let mut close = open.start + 3;
            loop {
                let Some(found) = memmem::find(&source[close..], mark) else {
                    return Some(source.len());
                };
                close += found;
                if source[close - 1] != b'\\' {
                    break;
                }
                close += 1;
            }
            at = close + 3;
            if at >= upto {
                beyond = Some(at);
                upto = memchr(b'\n', &source[at..]).map_or(source.len(), |end| at + end);
            }
        }
    }
}

/// The string in `line`, from `at` on, in which the quotation marks at `marks` stand, or which they
/// open: then it is the marks alone. None if a comment comes first.
fn opening(line: &[u8], mut at: usize, marks: usize) -> Option<std::ops::Range<usize>> {
    while at < marks {
        match line[at] {
            b'#' => return None,
            quote @ (b'"' | b'\'') => {
                let mut end = at + 1;
                while end < line.len() && line[end] != quote {
                    end += 1 + usize::from(line[end] == b'\\');
                }
                end = (end + 1).min(line.len());
                if end > marks {
                    return Some(at..end);
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    Some(at..(at + 3).min(line.len()))
}

/// The next `mark` at or after `at`; what was found before is remembered.
fn find(source: &[u8], mark: &[u8], at: usize, known: &mut Option<usize>) -> Option<usize> {
    if known.is_some_and(|known| known < at || known == 0) {
        *known = source.get(at..).and_then(|rest| memmem::find(rest, mark)).map(|found| at + found);
    }
    *known
}

fn is_import(text: &[u8]) -> bool {
    matches!(word(text), b"import" | b"from")
}

fn top(line: &Line<'_>, lines: &mut Lines<'_>, outline: &mut Outline) -> Block {
    let text = line.text;
    match word(text) {
        b"import" | b"from" => {
            import(line, lines, outline);
            Block::Function
        }
        b"class" => {
            declare(line, Rank::Top, outline);
            Block::Class
        }
        b"def" | b"async" => {
            declare(line, Rank::Top, outline);
            Block::Function
        }
        b"if" | b"try" | b"else" | b"elif" | b"except" | b"with" | b"finally" => Block::Condition,
        _ => Block::Function,
    }
}

fn declare(line: &Line<'_>, rank: Rank, outline: &mut Outline) {
    let text = line.text;
    let rest = after_word(text, b"async").unwrap_or(text);
    let Some(rest) = after_word(rest, b"def").or(after_word(rest, b"class")) else { return };
    let name = word_len(rest);
    let behind = rest[name..].trim_ascii_start();
    if name > 0 && behind.first().is_some_and(|b| matches!(b, b'(' | b':' | b'[' | b'\\')) {
        outline.symbol(rank, line.at, upto(text, &rest[name..]));
    }
}

fn import(line: &Line<'_>, lines: &mut Lines<'_>, outline: &mut Outline) {
    if let Some(rest) = after_word(line.text, b"from") {
        let length = rest.iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let (module, names) = rest.split_at(length);
        if after_word(names.trim_ascii_start(), b"import").is_some() || names.ends_with(b"\\") {
            outline.import(module);
        }
    } else if let Some(mut rest) = after_word(line.text, b"import") {
        loop {
            let names = rest.split(|&b| matches!(b, b'#' | b';')).next().unwrap_or_default();
            for name in names.split(|&b| b == b',') {
                let name = name.trim_ascii();
                let length = name.iter().take_while(|b| !b.is_ascii_whitespace() && **b != b'\\');
                outline.import(&name[..length.count()]);
            }
            if !names.trim_ascii_end().ends_with(b"\\") {
                break;
            }
            let Some(next) = lines.next() else { break };
            rest = next.text;
        }
    }
}
