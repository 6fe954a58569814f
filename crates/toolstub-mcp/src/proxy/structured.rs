//! Structured content: what it says again, and the long texts in it.

use std::ops::Range;

use toolstub_session::splice::{Object, items, span, text};

/// How many objects and lists of one item may stand around a text that is the whole.
const MAX_WRAPPINGS: usize = 8;

/// Whether a structured content says what a text says already, and nothing else: it is that text, in
/// whatever it is wrapped, or the text is its JSON, however spaced.
pub(super) fn says_again(structured: &str, block: &str) -> bool {
    only_text(structured).is_some_and(|text| text == block) || is_same_json(structured, block)
}

/// Whether texts, one after the other, say what the items of a structured content say, and nothing
/// else: so some servers write a list.
pub(super) fn says_in_parts(structured: &str, blocks: &[String]) -> bool {
    let list = Object::parse(structured).map_or(Some(structured), |object| object.only());
    let items = list.and_then(items).unwrap_or_default();
    items.len() == blocks.len()
        && items.iter().zip(blocks).all(|(item, text)| says_again(item, text))
}

/// The text that is all there is in a value: `{"result": "…"}`.
fn only_text(mut raw: &str) -> Option<String> {
    for _ in 0..MAX_WRAPPINGS {
        raw = match raw.as_bytes().first()? {
            b'"' => return text(raw),
            b'{' => Object::parse(raw)?.only()?,
            b'[' => match items(raw)?.as_slice() {
                [item] => item,
                _ => return None,
            },
            _ => return None,
        };
    }
    None
}

/// Whether two texts are the same JSON but for white space and escapes. The first is known to be JSON.
fn is_same_json(json: &str, other: &str) -> bool {
    let (mut tokens, mut others) = (Tokens::new(json), Tokens::new(other));
    loop {
        let same = match (tokens.next(), others.next()) {
            (None, None) => return true,
            (Some(token), Some(other)) if token == other => true,
            (Some(token), Some(other)) if token.starts_with('"') && other.starts_with('"') => {
                text(token).is_some_and(|token| text(other).is_some_and(|other| token == other))
            }
            _ => false,
        };
        if !same {
            return false;
        }
    }
}

/// The texts in a value that are longer than so many characters may be, where they stand in it.
pub(super) fn long_texts(raw: &str, chars: u64) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut tokens = Tokens::new(raw).peekable();
    while let Some(token) = tokens.next() {
        let is_name = tokens.peek() == Some(&":");
        if token.len() as u64 > chars
            && !is_name
            && let Some(text) = text(token)
            && toolstub_core::utf8::count_chars(text.as_bytes()) > chars
        {
            found.push((span(raw, token), text));
        }
    }
    found
}

/// The tokens of a JSON text, as they are written.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let bytes = self.rest.as_bytes();
        let length = match bytes.first()? {
            b'"' => string_length(bytes),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => {
                let ends = |byte: &u8| {
                    matches!(
                        byte,
                        b' ' | b'\t'
                            | b'\r'
                            | b'\n'
                            | b'{'
                            | b'}'
                            | b'['
                            | b']'
                            | b','
                            | b':'
                            | b'"'
                    )
                };
                bytes.iter().position(ends).unwrap_or(bytes.len())
            }
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(token)
    }
}

/// The length of the string at the start, quotes included; of one without an end, all.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
        if at >= bytes.len() {
            break;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn again(structured: &str, block: &str, expected: bool) {
        assert_eq!(says_again(structured, block), expected, "{structured} {block}");
    }

    #[test]
    fn text_that_is_the_whole_is_said_again() {
        again(r#"{"content":"a\né"}"#, "a\né", true);
        again(r#"{"result":["a"]}"#, "a", true);
        again(r#""a""#, "a", true);
        again(r#"{"content":"a","more":1}"#, "a", false);
        again(r#"{"content":"b"}"#, "a", false);
        again("{}", "", false);
        again("[[[[[[[[[\"a\"]]]]]]]]]", "a", false);
    }

    #[test]
    fn json_is_said_again_however_spaced() {
        again(
            r#"{"a":[1.10,"é"],"b":null}"#,
            "{\n  \"a\": [\n 1.10, \"\\u00e9\"], \"b\": null\n}",
            true,
        );
        again(r#"{"a":1.10}"#, r#"{"a":1.1}"#, false);
        again(r#"{"a":1}"#, r#"{"a":1} "#, true);
        again(r#"{"a":1}"#, r#"{"a":1}}"#, false);
        again(r#"{"a":1}"#, r#"{"a":"1"}"#, false);
        again(r#"["a"]"#, r#"["a"#, false);
        again(r#"["a\""]"#, r#"["a\"#, false);
    }

    #[test]
    fn list_is_said_in_parts() {
        let parts =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let list = r#"{"result":[{"a":1},"b",3]}"#;
        assert!(says_in_parts(list, &parts(&["{\n \"a\": 1}", "b", "3"])));
        assert!(says_in_parts("[1]", &parts(&["1"])));
        for other in [parts(&["{\"a\":1}", "b"]), parts(&["b", "{\"a\":1}", "3"]), parts(&[])] {
            assert!(!says_in_parts(list, &other));
        }
        assert!(!says_in_parts(r#"{"result":["b"],"more":1}"#, &parts(&["b"])));
    }

    #[test]
    fn long_texts_are_values() {
        let long = "x".repeat(30);
        let raw = format!(r#"{{"{long}":["short","{long}"], "b" : "{long}\"é" }}"#);
        let found = long_texts(&raw, 20);
        let texts: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, [long.as_str(), &format!("{long}\"é")]);
        assert_eq!(&raw[found[0].0.clone()], format!("\"{long}\""));
        assert_eq!(long_texts(&raw, 30).len(), 1);
    }
}
