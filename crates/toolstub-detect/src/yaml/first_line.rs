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
    let mut lines = content.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let significant = |line: &&[u8]| !matches!(line.trim_ascii_start(), [] | [b'#', ..]);
    let Some(mut line) = lines.find(significant) else { return false };
    while line.starts_with(b"%YAML ") || line.starts_with(b"%TAG ") || line == b"---" {
        let Some(next) = lines.find(significant) else { return false };
        line = next;
    }
    if let Some(rest) = line.strip_prefix(b"--- ") {
        // Only what a document may begin with on the marker's line: no name of a diff's file.
        return match rest.trim_ascii_start() {
            [b'#', ..] => lines.find(significant).is_some_and(may_begin_node),
            [b'!' | b'&' | b'{' | b'[', ..] => true,
            _ => false,
        };
    }
    may_begin_node(line)
}

fn may_begin_node(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    match line {
        [b'-'] | [b'-', b' ', ..] | [b'?', b' ', ..] => true,
        [b'{', rest @ ..] => is_flow_key(rest),
        [b'[', b'{', rest @ ..] => is_flow_key(rest),
        [b'[' | b']' | b'}' | b',' | b'@' | b'`' | b'%' | b'|' | b'>', ..] => false,
        [b'!' | b'&', ..] => true,
        [quote @ (b'"' | b'\''), rest @ ..] => {
            let end = rest.iter().position(|byte| byte == quote);
            end.is_some_and(|end| has_colon(&rest[end..]))
        }
        _ => has_colon(line),
    }
}

/// Whether the line goes on like a flow mapping that YAML tools write, with bare words for keys.
///
/// A space or a quote after the bracket is how objects of programming languages are printed.
fn is_flow_key(rest: &[u8]) -> bool {
    let word =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    word > 0 && rest[word..].starts_with(b": ")
}

/// Whether a key ends near the start of the line.
fn has_colon(line: &[u8]) -> bool {
    let line = &line[..line.len().min(KEY + 2)];
    memchr::memchr_iter(b':', line)
        .any(|at| line.get(at + 1).is_none_or(|&next| matches!(next, b' ' | b'\t')))
}
