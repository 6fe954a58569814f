//! What stands around a line: a member of a type or an item of a list says little by itself.

use memchr::{memchr, memmem};

use super::words::{after_word, is_word, word, word_len};

/// How many open blocks are told apart.
const DEPTH: usize = 32;

/// What a line stands inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// A type: fields, constants and methods.
    Type,
    /// A value or a call over lines.
    List,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    /// The indentation of the line that opened it.
    indent: usize,
    inside: Inside,
    /// Whether the members of a type follow what this list closes with.
    heads_type: bool,
}

/// The blocks that are open, told by their indentation.
#[derive(Debug, Default)]
pub(super) struct Context {
    open: Vec<Block>,
    /// The indentation of a type's head whose brace may follow in the next line.
    awaits: Option<usize>,
}

impl Context {
    /// Leaves what ends before `line`, and tells what the line stands inside of.
    pub(super) fn enter(&mut self, line: &[u8], indent: usize) -> Option<Inside> {
        let awaited = self.awaits.take().filter(|&at| at == indent && line == b"{");
        let mut closed = None;
        while self.open.last().is_some_and(|block| block.indent >= indent) {
            closed = self.open.pop();
        }
        let follows = closed.is_some_and(|block| block.heads_type && block.indent == indent)
            && line[0] == b')'
            && matches!(line.last(), Some(b':' | b'{'));
        let inside = self.open.last().map(|block| block.inside);
        if follows || awaited.is_some() {
            self.push(Block { indent, inside: Inside::Type, heads_type: false });
        }
        inside
    }

    /// Notes what `line` opens; `known` if it is a clue of some language.
    pub(super) fn note(&mut self, line: &[u8], indent: usize, known: bool) {
        let last = line[line.len() - 1];
        let typed = known && is_type_head(line);
        if typed && matches!(last, b'{' | b':') {
            self.push(Block { indent, inside: Inside::Type, heads_type: false });
        } else if opens_list(line, known) {
            self.push(Block { indent, inside: Inside::List, heads_type: typed });
        } else if typed {
            self.awaits = Some(indent);
        }
    }

    fn push(&mut self, block: Block) {
        if self.open.len() < DEPTH {
            self.open.push(block);
        }
    }
}

/// Whether one of the first words declares a type or what holds types.
fn is_type_head(line: &[u8]) -> bool {
    let words = line.split(|b| !is_word(*b)).filter(|word| !word.is_empty());
    words.take(4).any(|word| {
        matches!(
            word,
            b"class"
                | b"interface"
                | b"struct"
                | b"enum"
                | b"union"
                | b"type"
                | b"namespace"
                | b"module"
                | b"object"
                | b"protocol"
                | b"extension"
                | b"trait"
                | b"record"
                | b"message"
        )
    })
}

/// Whether a value or a call begins in `line` and goes on in the next one.
fn opens_list(line: &[u8], known: bool) -> bool {
    let line = without_remark(line);
    let Some(&last) = line.last() else { return false };
    let opens = matches!(last, b'(' | b'[' | b'{');
    let more = || {
        let count = |marks: &[u8]| line.iter().filter(|b| marks.contains(b)).count();
        last != b';' && count(b"([{") > count(b")]}")
    };
    if known {
        return opens || last == b'=' || more();
    }
    if !opens && (last != b',' || !more()) {
        return false;
    }
    // `name = [`, `name: Type = (`
    let name = line.iter().take_while(|b| is_word(**b) || **b == b'.').count();
    let value = memmem::find(line, b" = ").map(|at| line[at + 3..].len());
    let assigned = name > 0
        && value.is_some_and(|value| {
            let middle = &line[name..line.len() - value - 3];
            middle.is_empty() || middle.starts_with(b":")
        });
    // `name.call(`, `macro!(`
    let path =
        line.iter().take_while(|b| is_word(**b) || matches!(b, b'.' | b':' | b'!' | b'?')).count();
    assigned || path > 0 && path + 1 == line.len() && !line[..path].ends_with(b":")
}

/// `line` without a comment at its end, whatever the language.
fn without_remark(line: &[u8]) -> &[u8] {
    let marks: [&[u8]; 4] = [b" # ", b" // ", b" -- ", b"\t-- "];
    let end = marks.iter().filter_map(|mark| memmem::find(line, mark)).min();
    let end = if line.ends_with(b"*/") { memmem::rfind(line, b"/*").or(end) } else { end };
    let code = line[..end.unwrap_or(line.len())].trim_ascii_end();
    if code.is_empty() { line } else { code }
}

/// Whether a line inside of a list is an item of it.
pub(super) fn is_item(line: &[u8]) -> bool {
    let line = without_remark(line);
    let last = line[line.len() - 1];
    if is_sentence(line) {
        return false;
    }
    matches!(last, b',' | b'(' | b'[' | b'{' | b')' | b']' | b'}' | b'"' | b'\'' | b'`' | b'\\')
        || b"\"'`([{.|&?:>".contains(&line[0])
        || line[0].is_ascii_digit()
        || memmem::find(line, b" = ").is_some()
        || memmem::find(line, b" + ").is_some()
        || is_member(line)
}

/// Whether a line inside of a type is a field, a constant or a method of it.
pub(super) fn is_member(line: &[u8]) -> bool {
    let line = without_remark(line);
    if is_sentence(line) {
        return false;
    }
    let mut rest = line;
    let modifiers: [&[u8]; 9] = [
        b"readonly",
        b"static",
        b"private",
        b"public",
        b"protected",
        b"abstract",
        b"get",
        b"set",
        b"declare",
    ];
    while let Some(behind) = modifiers.iter().find_map(|word| after_word(rest, word))
        && behind.first().is_some_and(|&b| is_word(b))
    {
        rest = behind;
    }
    // `[key: string]: T`, `'quoted': T`, `| 'one'`
    if matches!(rest.first(), Some(b'[' | b'|')) {
        return true;
    }
    let name = match rest.first() {
        Some(&quote @ (b'"' | b'\'')) => memchr(quote, &rest[1..]).map_or(0, |end| end + 2),
        _ => word_len(rest),
    };
    let behind = rest[name..].trim_ascii_start();
    let behind = behind.strip_prefix(b"?").or(behind.strip_prefix(b"!")).unwrap_or(behind);
    name > 0
        && match behind.first() {
            None | Some(b'(' | b'<' | b',') => true,
            Some(b':') => behind.get(1).is_none_or(|&b| b == b' '),
            Some(b'=') => behind.get(1) != Some(&b'='),
            _ => false,
        }
}

/// Whether a line has the words of a sentence one after the other.
fn is_sentence(line: &[u8]) -> bool {
    let mut run = 0;
    let quoted = |part: &[u8]| matches!(part[0], b'"' | b'\'' | b'`');
    for part in line.split(|&b| b == b' ').filter(|part| !part.is_empty()) {
        if quoted(part) {
            return false;
        }
        let word = part.strip_suffix(b",").or(part.strip_suffix(b".")).unwrap_or(part);
        let plain = word.iter().all(|b| b.is_ascii_alphabetic() || *b == b'\'');
        run = if plain { run + 1 } else { 0 };
        if run >= 4 && line[0] != b'|' {
            return true;
        }
    }
    false
}

/// Whether a line is a string of its own between triple quotation marks, as documentation is.
pub(super) fn is_docstring(line: &[u8]) -> bool {
    let prefix = word(line);
    let body = if prefix.len() <= 2 { &line[prefix.len()..] } else { line };
    [b"\"\"\"", b"'''"]
        .iter()
        .any(|mark| body.len() >= 6 && body.starts_with(*mark) && body.ends_with(*mark))
}
