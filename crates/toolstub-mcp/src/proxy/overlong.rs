//! A frame that is too long to be held, or cannot be read: what it asks and what it answers.

use serde_json::value::RawValue;

/// The longest id that is told, in bytes, as it is written; and the longest name of a field.
const MAX_HELD: usize = 4096;
/// How many requests of one frame are told, and how many answers.
const MAX_REQUESTS: usize = 1000;

/// Finds the ids of the requests and of the answers in a frame, or in a batch of them, that goes by in pieces.
#[derive(Debug, Default)]
pub(super) struct Overlong {
    /// How deep messages stand: 1, in a batch 2.
    messages: usize,
    depth: usize,
    /// Inside of a string; and behind a backslash in it.
    string: bool,
    escape: bool,
    /// What is held of the name or the value that goes by.
    held: Vec<u8>,
    /// The name of the field whose value goes by.
    name: Option<Vec<u8>>,
    id: Option<String>,
    has_method: bool,
    ids: Vec<String>,
    answers: Vec<String>,
}

impl Overlong {
    /// Takes note of a piece.
    pub(super) fn take(&mut self, mut piece: &[u8]) {
        while let Some(byte) = piece.first() {
            let length = if self.string { self.string_part(piece) } else { 1 };
            if !self.string || length == 0 {
                self.structure(*byte);
                piece = &piece[1..];
                continue;
            }
            let (part, rest) = piece.split_at(length);
            self.hold(part);
            piece = rest;
        }
    }

    /// The requests' ids, as they are written, once all has gone by.
    pub(super) fn ids(self) -> Vec<String> {
        self.ids
    }

    /// The answers' ids, as they are written, once all has gone by.
    pub(super) fn answers(self) -> Vec<String> {
        self.answers
    }

    /// How much of a piece stands in the string that is open, its end not included.
    fn string_part(&self, piece: &[u8]) -> usize {
        if self.escape {
            return 0;
        }
        memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len())
    }

    /// Takes note of a byte that is more than a part of a string.
    fn structure(&mut self, byte: u8) {
        if self.string {
            self.hold(&[byte]);
            let was_escape = std::mem::take(&mut self.escape);
            self.escape = byte == b'\\' && !was_escape;
            self.string = was_escape || byte != b'"';
            return;
        }
        match byte {
            b'"' => {
                self.string = true;
                self.hold(b"\"");
            }
            b'{' | b'[' => {
                if self.messages == 0 {
                    self.messages = if byte == b'{' { 1 } else { 2 };
                }
                self.hold(&[byte]);
                self.depth = self.depth.saturating_add(1);
                if self.depth == self.messages {
                    (self.id, self.has_method, self.name) = (None, false, None);
                    self.held.clear();
                }
            }
            b':' if self.depth == self.messages => {
                self.name = Some(std::mem::take(&mut self.held));
            }
            b',' if self.depth == self.messages => self.end_field(),
            b'}' | b']' => {
                if self.depth == self.messages && byte == b'}' {
                    self.end_field();
                    let ids = if self.has_method { &mut self.ids } else { &mut self.answers };
                    if ids.len() < MAX_REQUESTS {
                        ids.extend(self.id.take());
                    }
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.hold(&[byte]),
        }
    }

    /// Holds what may be a name or an id.
    fn hold(&mut self, part: &[u8]) {
        let is_beside = self.depth != self.messages || self.messages == 0;
        if !is_beside && self.held.len() <= MAX_HELD {
            let room = (MAX_HELD + 1).saturating_sub(self.held.len());
            self.held.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    fn end_field(&mut self) {
        let value = std::mem::take(&mut self.held);
        match self.name.take().as_deref() {
            Some(b"\"method\"") => self.has_method = true,
            Some(b"\"id\"") => {
                let value = String::from_utf8(value).ok().filter(|value| value.len() <= MAX_HELD);
                // What is told has to be JSON, and an id of a request is a text or a number.
                self.id = value.filter(|value| {
                    value.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'))
                        && serde_json::from_str::<&RawValue>(value).is_ok()
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(frame: &str, expected: &[&str]) {
        for step in [1, 2, 7, 10_000] {
            let mut overlong = Overlong::default();
            for piece in frame.as_bytes().chunks(step) {
                overlong.take(piece);
            }
            assert_eq!(overlong.ids(), expected, "{step} {frame}");
        }
    }

    #[test]
    fn requests_are_found_wherever_their_ids_stand() {
        finds(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"id":2}}"#, &["1"]);
        finds(
            r#" { "method" : "x", "params":{"a":"}{\"id\":\\","l":[{"id":3}]}, "id" : "a\"\\" } "#,
            &[r#""a\"\\""#],
        );
        finds(
            r#"[{"id":1,"method":"x"},{"id":2,"result":{}},{"method":"y"},{"method":"z","id":-3.5e1}]"#,
            &["1", "-3.5e1"],
        );
    }

    #[test]
    fn answers_are_found_whatever_they_say() {
        let frame = b"[{\"id\":1,\"result\":\"\xff\"},{\"id\":2,\"method\":\"x\"},{\"error\":{},\"id\":\"3\"}]\n";
        let mut overlong = Overlong::default();
        overlong.take(frame);
        assert_eq!(overlong.answers(), ["1", "\"3\""]);
    }

    #[test]
    fn what_is_no_request_is_nobody_to_be_told() {
        for frame in [
            "",
            "a line of a log",
            r#"{"id":1,"result":{"method":"x"}}"#,
            r#"{"method":"x","id":null}"#,
            r#"{"method":"x","id":{"a":1}}"#,
            r#"{"method":"x","id":[1]}"#,
            r#"{"method":"x","id":1 2e}"#,
            r#"{"method":"x","id":1"#,
            "]]]}}}{:::,,,",
            r#"[["id",1,"method"]]"#,
        ] {
            finds(frame, &[]);
        }
        let long = "x".repeat(MAX_HELD);
        finds(&format!(r#"{{"method":"x","id":"{long}"}}"#), &[]);
        finds(&format!(r#"{{"{long}{long}":1,"method":"{long}{long}","id":1}}"#), &["1"]);
    }
}
