//! The first line that says something: whether YAML may begin so.

/// The longest key that needs no question mark, in bytes.
const KEY: usize = 1024;

/// Whether the first line that is neither blank nor a comment can begin a mapping or a sequence.
///
/// Most contents that are not YAML are refused here, before anything is parsed.
pub(super) fn may_begin(content: &[u8]) -> bool {
    if content.starts_with(b"#!") {
        return false;
    }
    let mut lines = Lines(content);
    let is_frame =
        |line: &&[u8]| *line == b"---" || line.starts_with(b"%YAML ") || line.starts_with(b"%TAG ");
    let first = lines.find(|line| !is_frame(line));
    first.is_some_and(|line| match line.strip_prefix(b"--- ") {
        // Only what a document may begin with on the marker's line: no name of a diff's file.
        Some(rest) => match rest.trim_ascii_start() {
            [b'#', ..] => lines.next().is_some_and(may_begin_node),
            [b'!' | b'&' | b'{' | b'[', ..] => true,
            _ => false,
        },
        None => may_begin_node(line),
    })
}

/// The lines that are neither blank nor comments, without white space at their ends.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self.0.trim_ascii_start();
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            self.0 = after;
            match line.first() {
                None => return None,
                Some(b'#') => {}
                Some(_) => return Some(line.trim_ascii_end()),
            }
        }
    }
}

fn may_begin_node(line: &[u8]) -> bool {
    match line {
        [b'-'] | [b'-' | b'?', b' ', ..] | [b'!' | b'&', ..] => true,
        [b'{', rest @ ..] | [b'[', b'{', rest @ ..] => is_flow_key(rest),
        [b'[' | b']' | b'}' | b',' | b'@' | b'`' | b'%' | b'|' | b'>', ..] => false,
        [quote @ (b'"' | b'\''), rest @ ..] => {
            let end = rest.iter().position(|byte| byte == quote);
            end.is_some_and(|end| has_colon(&rest[end..]))
        }
        _ => has_colon(line),
    }
}

/// Whether the line goes on like a flow mapping that YAML tools write, with bare words for keys.
///
/// A space after the bracket, or quotes, is how objects of programming languages are printed.
fn is_flow_key(rest: &[u8]) -> bool {
    let word =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let value = rest[word..].strip_prefix(b": ");
    word > 0 && value.is_some_and(|value| !value.starts_with(b"'") && !value.starts_with(b"\""))
}

/// Whether a key ends near the start of the line.
fn has_colon(line: &[u8]) -> bool {
    let line = &line[..line.len().min(KEY + 2)];
    memchr::memchr_iter(b':', line)
        .any(|at| line.get(at + 1).is_none_or(|&next| matches!(next, b' ' | b'\t')))
}

/// Whether a line is a heading of Markdown that can hardly be a comment: two or more hashes.
pub(super) fn has_headings(text: &str) -> bool {
    let is_heading = |line: &str| {
        let rest = line.trim_start_matches('#');
        (2..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
    };
    text.lines().any(is_heading)
}
