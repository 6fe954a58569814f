//! What changes in a text, for a person to look at: nothing else of it is shown, which may be secret.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

/// The parts that go and come, each with the number of its line.
pub(super) fn diff(before: &str, after: &str) -> String {
    let (old, new) = (pieces(before), pieces(after));
    let diff = TextDiff::from_slices(&old, &new);
    let (mut text, mut line) = (String::new(), 1);
    let (mut gone, mut come) = (String::new(), String::new());
    for change in diff.iter_all_changes() {
        let piece = change.value();
        match change.tag() {
            ChangeTag::Delete => gone.push_str(piece),
            ChangeTag::Insert => come.push_str(piece),
            ChangeTag::Equal => {
                tell(&mut text, &mut line, &mut gone, &mut come);
                line += piece.matches('\n').count();
            }
        }
    }
    tell(&mut text, &mut line, &mut gone, &mut come);
    text
}

/// Lines are taken apart: what stands beside a change in one is not part of it.
fn pieces(text: &str) -> Vec<&str> {
    let separators = ['\n', ',', '{', '}', '[', ']'];
    let mut pieces = Vec::new();
    for piece in text.split_inclusive(separators) {
        let value = piece.strip_suffix(separators).unwrap_or(piece);
        let (begin, end) = (value.len() - value.trim_start().len(), value.trim_end().len());
        let parts = [(0, begin), (begin, end.max(begin)), (end.max(begin), value.len())];
        let parts = parts.into_iter().chain([(value.len(), piece.len())]);
        pieces.extend(parts.map(|(from, to)| &piece[from..to]).filter(|part| !part.is_empty()));
    }
    pieces
}

/// Writes what has gone in a place and what has come; `line` is that of the new text.
fn tell(text: &mut String, line: &mut usize, gone: &mut String, come: &mut String) {
    let lines = |part: &str| {
        let rest = part.trim_start_matches([',', ' ', '\t', '\r', '\n']);
        let skipped = &part[..part.len() - rest.len()];
        let indent = skipped.rfind('\n').map_or("", |end| &skipped[end + 1..]);
        let before = skipped.matches('\n').count();
        (format!("{indent}{}", rest.trim_end()), before)
    };
    let ((old, _), (new, before)) = (lines(gone), lines(come));
    if !old.trim().is_empty() || !new.trim().is_empty() {
        let _ = writeln!(text, "line {}:", *line + before);
        for (sign, part) in [('-', old), ('+', new)] {
            for shown in part.lines() {
                let _ = writeln!(text, "{sign} {shown}");
            }
        }
    }
    *line += come.matches('\n').count();
    gone.clear();
    come.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(before: &str, after: &str, expected: &str) {
        assert_eq!(diff(before, after), expected);
        assert_eq!(diff(after, after), "");
    }

    #[test]
    fn only_what_changes_is_shown() {
        let before = "{\n  \"token\": \"secret\"\n}\n";
        let after = "{\n  \"token\": \"secret\",\n  \"b\": {\n    \"c\": 1\n  }\n}\n";
        shows(before, after, "line 3:\n+   \"b\": {\n+     \"c\": 1\n+   }\n");
        shows(after, before, "line 2:\n-   \"b\": {\n-     \"c\": 1\n-   }\n");
        shows(
            "{\"token\":\"secret\"}",
            "{\"token\":\"secret\",\"b\":[1]}",
            "line 1:\n+ \"b\":[1]\n",
        );
        shows("a = [ 5, 6 ]\n", "a = [ 5, 7 ]\n", "line 1:\n- 6\n+ 7\n");
        shows("", "[a]\nb = 1\n", "line 1:\n+ [a]\n+ b = 1\n");
        shows("x\n", "x\n\n[a]\nb = 1\n", "line 3:\n+ [a]\n+ b = 1\n");
    }
}
