//! Scripts and style sheets without line ends.

use memchr::memmem;

use super::language::Language;
use super::literals::string_len;
use super::words::{is_word, word, word_len};

/// The shortest line that is looked at as a part of one.
pub(super) const MIN_BYTES: usize = 60;

/// What stands in a line outside of its strings and comments.
#[derive(Debug, Default)]
struct Counts {
    bytes: usize,
    spaces: usize,
    /// Those beside a mark, which a script can do without.
    loose: usize,
    /// Brackets, signs and separators.
    marks: usize,
    /// Words and signs of scripts.
    words: usize,
    /// Those of them that hardly stand elsewhere.
    firm: usize,
    /// What ends or holds statements.
    joints: usize,
    /// Opening braces.
    blocks: usize,
    /// Those behind a selector, with a property behind them.
    rules: usize,
    /// Properties of rules.
    properties: usize,
    /// What only style sheets have: properties behind a semicolon, rules behind a rule.
    styles: usize,
}

/// The language of `line` if it is a script or a style sheet whose blanks were taken out.
pub(super) fn language(line: &[u8]) -> Option<Language> {
    let line = line.trim_ascii();
    // Markup, and JSON that was cut off.
    let data: [&[u8]; 4] = [b"<", b"{\"", b"[{\"", b"[\""];
    if line.len() < MIN_BYTES || data.iter().any(|start| line.starts_with(start)) {
        return None;
    }
    let counts = count(line)?;
    let Counts {
        bytes,
        spaces,
        loose,
        marks,
        words,
        firm,
        joints,
        blocks,
        rules,
        properties,
        styles,
    } = counts;
    let members = memmem::find_iter(line, b"\":").count();
    if members * 40 > line.len() {
        return None;
    }
    let script = firm >= 1 && joints >= 1 && words >= 2 && words * 160 >= bytes;
    let tight = loose <= 1 + bytes / 200 && spaces * 6 <= bytes;
    if script && tight && bytes >= 30 && marks * 7 >= bytes {
        return Some(Language::JavaScript);
    }
    let style = properties >= 2 && rules >= 1 && rules * 2 >= blocks && styles >= 1;
    (style && firm == 0).then_some(Language::Css)
}

/// Counts up to where too many blanks stand.
fn count(line: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        let rest = &line[at..];
        let loose = counts.loose > 3 + counts.bytes / 100;
        if loose || counts.bytes > 40 && counts.spaces * 4 > counts.bytes {
            return None;
        }
        let length = match byte {
            b'"' | b'\'' | b'`' => {
                counts.bytes += 2;
                counts.marks += 1;
                at += string_len(rest, byte, false);
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at += memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
                continue;
            }
            b'/' => counts.slash(line, at),
            b' ' | b'\t' => {
                counts.spaces += 1;
                let beside =
                    [at.checked_sub(1), Some(at + 1)].map(|at| at.and_then(|at| line.get(at)));
                let is_mark =
                    |byte: Option<&u8>| byte.is_some_and(|b| b",=(){}:;+<>|&?".contains(b));
                counts.loose += usize::from(beside.into_iter().any(is_mark));
                1
            }
            _ if is_word(byte) => counts.word(rest),
            _ => counts.mark(line, at),
        };
        counts.bytes += length;
        at += length;
    }
    Some(counts)
}

impl Counts {
    fn word(&mut self, rest: &[u8]) -> usize {
        let word = word(rest);
        let behind = &rest[word.len()..];
        let named = || behind.first() == Some(&b' ') && memchr::memchr(b'=', behind).is_some();
        let firm = match word {
            b"function" => {
                let name = behind.trim_ascii_start();
                name[word_len(name)..].starts_with(b"(") || name.starts_with(b"*")
            }
            b"return" => !behind.is_empty() && !behind.starts_with(b" in "),
            b"var" | b"let" | b"const" => named(),
            b"import" | b"export" => {
                matches!(behind.first(), Some(b'{' | b'"' | b'*'))
                    || behind.starts_with(b" default")
                    || behind.starts_with(b"*")
            }
            _ => false,
        };
        let plain = firm
            || matches!(
                word,
                b"this"
                    | b"typeof"
                    | b"void"
                    | b"new"
                    | b"null"
                    | b"if"
                    | b"for"
                    | b"while"
                    | b"switch"
                    | b"case"
                    | b"throw"
                    | b"catch"
                    | b"class"
                    | b"extends"
                    | b"from"
                    | b"async"
                    | b"await"
                    | b"delete"
                    | b"instanceof"
                    | b"else"
            );
        self.words += usize::from(plain);
        self.firm += usize::from(firm);
        word.len()
    }

    fn mark(&mut self, line: &[u8], at: usize) -> usize {
        let rest = &line[at..];
        self.marks += 1;
        match rest[0] {
            b'=' if rest.starts_with(b"=>") => {
                self.words += 1;
                self.joints += 1;
                self.firm += usize::from(at > 0 && (is_word(line[at - 1]) || line[at - 1] == b')'));
                return 2;
            }
            b'!' if rest.starts_with(b"!0") || rest.starts_with(b"!1") => self.words += 1,
            b'=' if rest.starts_with(b"===") => {
                self.words += 1;
                return 3;
            }
            b'{' => {
                self.blocks += 1;
                self.joints += 1;
                let before = line[..at].trim_ascii_end().last().copied().unwrap_or(b'(');
                let selects = is_word(before) || matches!(before, b')' | b']' | b'*' | b'%');
                if is_property(&rest[1..]) && selects {
                    self.rules += 1;
                    self.properties += 1;
                }
            }
            b';' => {
                let styled = usize::from(is_property(&rest[1..]));
                self.joints += 1;
                self.properties += styled;
                self.styles += styled;
            }
            b'}' if matches!(rest.get(1), Some(b'.' | b'#' | b'@' | b':' | b'*')) => {
                self.styles += 1;
            }
            _ => {}
        }
        1
    }

    /// Steps over a regular expression, where one may stand.
    fn slash(&mut self, line: &[u8], at: usize) -> usize {
        self.marks += 1;
        let before = at.checked_sub(1).map_or(b'(', |before| line[before]);
        if !b"(=,:[!&|?{};+".contains(&before) {
            return 1;
        }
        let (mut length, mut in_class) = (1, false);
        while let Some(&byte) = line.get(at + length) {
            match byte {
                b'\\' => length += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    // What stands inside is no code.
                    self.bytes = self.bytes.saturating_sub(length.saturating_sub(1));
                    return length + 1;
                }
                _ => {}
            }
            length += 1;
        }
        1
    }
}

/// Whether a style's property begins here: `color:`, `--x:`, `-webkit-box-flex:`.
fn is_property(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let length = text.iter().take_while(|b| b.is_ascii_lowercase() || **b == b'-').count();
    length > 1 && text.get(length) == Some(&b':') && text.get(length + 1) != Some(&b':')
}
