//! Finding the value that a JSON Pointer names.
//!
//! The content is known to be JSON, as it was detected: what is asked here is only where values
//! begin and end. Nothing is held but the pointer, where in it the scanner stands, and a key.

use std::fmt;
use std::ops::Range;

use toolstub_core::text::{clean, clean_bytes};

use crate::StoreError;
use crate::store::StoredOriginal;

/// The longest pointer, in bytes.
const MAX_POINTER: usize = 4096;
/// How many keys are named where the one wanted is not among them.
const MAX_NAMED: usize = 10;
/// How much of a key is held, in bytes, even where the one wanted is shorter.
const MIN_KEY: usize = 400;

/// A JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    /// The reference tokens, unescaped.
    tokens: Vec<String>,
    text: String,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let invalid = |expected| StoreError::Invalid {
            field: "pointer",
            given: format!("`{}`", clean(text, 80)),
            expected,
        };
        if text.len() > MAX_POINTER {
            return Err(invalid("give at most 4096 bytes"));
        }
        let mut tokens = text.split('/');
        if tokens.next() != Some("") {
            return Err(invalid(
                "a JSON Pointer is empty or begins with a slash, as /items/3 does",
            ));
        }
        let unescape = |token: &str| {
            let mut tildes = token.match_indices('~');
            tildes
                .all(|(at, _)| matches!(token.as_bytes().get(at + 1), Some(b'0' | b'1')))
                .then(|| token.replace("~1", "/").replace("~0", "~"))
        };
        let tokens = tokens.map(unescape).collect::<Option<_>>();
        let tokens = tokens
            .ok_or_else(|| invalid("in a JSON Pointer ~ is written ~0, and / in a key ~1"))?;
        Ok(Self { tokens, text: text.to_owned() })
    }

    /// The pointer to the container that the token of this number leads out of.
    fn up_to(&self, token: usize) -> String {
        match self.text.match_indices('/').nth(token) {
            Some((end, _)) if end > 0 => format!("`{}`", clean(&self.text[..end], 80)),
            _ => "the top".to_owned(),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&self.text, 80))
    }
}

impl StoredOriginal<'_> {
    /// The bytes of the value, or what is there instead.
    pub(super) async fn find_value(
        &self,
        pointer: &Pointer,
    ) -> Result<Result<Range<u64>, String>, StoreError> {
        let mut scanner = Scanner::new(pointer);
        self.scan(|base, piece| scanner.feed(base, piece)).await?;
        Ok(scanner.finish(self.index.bytes()))
    }
}

/// Passes over one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    /// Its first byte comes next.
    Start,
    /// In a number or a word, which ends before what cannot be part of it.
    Scalar,
    /// In a string at so many brackets deep, behind a backslash or not.
    String { depth: u64, escaped: bool },
    /// Between the strings of a container, so many brackets deep.
    Inside { depth: u64 },
}

impl Skip {
    /// Goes on at `piece[*at..]`; true if the value has ended there.
    fn run(&mut self, piece: &[u8], at: &mut usize) -> bool {
        while let Some(&byte) = piece.get(*at) {
            match *self {
                Self::Start => {
                    *self = match byte {
                        b'"' => Self::String { depth: 0, escaped: false },
                        b'{' | b'[' => Self::Inside { depth: 1 },
                        _ => Self::Scalar,
                    };
                    *at += 1;
                }
                Self::Scalar => {
                    if is_white_space(byte)
                        || matches!(byte, b',' | b']' | b'}' | b'[' | b'{' | b'"')
                    {
                        return true;
                    }
                    *at += 1;
                }
                Self::String { depth, escaped: true } => {
                    *self = Self::String { depth, escaped: false };
                    *at += 1;
                }
                Self::String { depth, escaped: false } => {
                    let Some(end) = memchr::memchr2(b'"', b'\\', &piece[*at..]) else {
                        *at = piece.len();
                        return false;
                    };
                    *at += end + 1;
                    match (piece[*at - 1], depth) {
                        (b'\\', _) => *self = Self::String { depth, escaped: true },
                        (_, 0) => return true,
                        _ => *self = Self::Inside { depth },
                    }
                }
                Self::Inside { mut depth } => {
                    let end = piece[*at..].iter().position(|byte| match byte {
                        b'"' => true,
                        b'{' | b'[' => {
                            depth += 1;
                            false
                        }
                        b'}' | b']' => {
                            depth -= 1;
                            depth == 0
                        }
                        _ => false,
                    });
                    *at = end.map_or(piece.len(), |end| *at + end + 1);
                    match end {
                        Some(_) if depth == 0 => return true,
                        Some(_) => *self = Self::String { depth, escaped: false },
                        None => *self = Self::Inside { depth },
                    }
                }
            }
        }
        false
    }
}

/// Where the scanner stands.
#[derive(Debug)]
enum State {
    /// Before a value that the pointer leads to or through.
    Value,
    /// In the value that the pointer names, which begins at this byte.
    Target(u64, Skip),
    /// In an object that the pointer leads through: before a key or the end.
    Key,
    /// In a key, behind a backslash or not.
    InKey { escaped: bool },
    /// Behind a key, the one wanted or not.
    Colon { wanted: bool },
    /// In an array that the pointer leads through: before an item or the end.
    Item,
    /// In a value beside the pointer's way.
    Beside { object: bool, skip: Skip },
    /// Behind such a value.
    After { object: bool },
    /// At the end, with what was found.
    Done(Result<Range<u64>, String>),
}

/// Follows a pointer.
#[derive(Debug)]
struct Scanner<'a> {
    pointer: &'a Pointer,
    /// How many tokens were followed.
    level: usize,
    state: State,
    /// The key at hand, as far as it matters.
    key: Vec<u8>,
    /// The names of the keys passed in the object at hand, and how many keys or items there were.
    named: Vec<String>,
    passed: u64,
}

impl<'a> Scanner<'a> {
    fn new(pointer: &'a Pointer) -> Self {
        let key = Vec::new();
        Self { pointer, level: 0, state: State::Value, key, named: Vec::new(), passed: 0 }
    }

    fn token(&self) -> &'a str {
        self.pointer.tokens.get(self.level).map_or("", String::as_str)
    }

    /// Takes the next piece; false once there is nothing more to learn.
    fn feed(&mut self, base: u64, piece: &[u8]) -> bool {
        let mut at = 0;
        while at < piece.len() {
            let byte = piece[at];
            match &mut self.state {
                State::Value => {
                    // Before the first value may stand white space of any kind.
                    let outside = self.level == 0 && !byte.is_ascii_graphic();
                    if outside || is_white_space(byte) {
                        at += 1;
                        continue;
                    }
                    self.state = self.enter(byte, base + at as u64);
                    at += usize::from(!matches!(self.state, State::Target(..)));
                }
                State::Target(start, skip) => {
                    if skip.run(piece, &mut at) {
                        self.state = State::Done(Ok(*start..base + at as u64));
                    }
                }
                State::Key => {
                    at += 1;
                    match byte {
                        b'"' => {
                            self.key.clear();
                            self.state = State::InKey { escaped: false };
                        }
                        b'}' => self.state = State::Done(Err(self.no_such_key())),
                        _ => {}
                    }
                }
                State::InKey { escaped } => {
                    let rest = &piece[at..];
                    let length = if *escaped {
                        1
                    } else {
                        memchr::memchr2(b'"', b'\\', rest).map_or(rest.len(), |end| end + 1)
                    };
                    let part = &rest[..length];
                    at += length;
                    let last = part[length - 1];
                    let ends = !*escaped && last == b'"';
                    *escaped = !*escaped && last == b'\\';
                    let kept = if ends { &part[..length - 1] } else { part };
                    // No character takes more than six bytes for each of its own when escaped.
                    let cap = (6 * self.token().len() + 1).max(MIN_KEY);
                    let room = cap.saturating_sub(self.key.len());
                    self.key.extend_from_slice(&kept[..kept.len().min(room)]);
                    if ends {
                        self.passed += 1;
                        if self.named.len() < MAX_NAMED {
                            self.named.push(clean_bytes(&self.key, 80));
                        }
                        let wanted = is_key(&self.key, self.token());
                        self.state = State::Colon { wanted };
                    }
                }
                State::Colon { wanted } => {
                    at += 1;
                    if byte == b':' {
                        self.state = if *wanted {
                            self.level += 1;
                            State::Value
                        } else {
                            State::Beside { object: true, skip: Skip::Start }
                        };
                    }
                }
                State::Item => {
                    if is_white_space(byte) {
                        at += 1;
                    } else if byte == b']' {
                        self.state = State::Done(Err(self.no_such_item()));
                    } else if index(self.token()) == Some(self.passed) {
                        self.level += 1;
                        self.state = State::Value;
                    } else {
                        self.passed += 1;
                        self.state = State::Beside { object: false, skip: Skip::Start };
                    }
                }
                State::Beside { object, skip } => {
                    if *skip == Skip::Start && is_white_space(byte) {
                        at += 1;
                    } else if skip.run(piece, &mut at) {
                        self.state = State::After { object: *object };
                    }
                }
                State::After { object } => {
                    at += 1;
                    match (byte, *object) {
                        (b',', true) => self.state = State::Key,
                        (b',', false) => self.state = State::Item,
                        (b'}', true) => self.state = State::Done(Err(self.no_such_key())),
                        (b']', false) => self.state = State::Done(Err(self.no_such_item())),
                        _ => {}
                    }
                }
                State::Done(_) => return false,
            }
        }
        !matches!(self.state, State::Done(_))
    }

    /// Stands before the value that begins with `byte`.
    fn enter(&mut self, byte: u8, place: u64) -> State {
        if self.level == self.pointer.tokens.len() {
            return State::Target(place, Skip::Start);
        }
        self.named.clear();
        self.passed = 0;
        match byte {
            b'{' => State::Key,
            b'[' => State::Item,
            _ => {
                let what = match byte {
                    b'"' => "a string",
                    b't' | b'f' => "a boolean",
                    b'n' => "null",
                    _ => "a number",
                };
                let value = self.pointer.up_to(self.level);
                State::Done(Err(format!("{value} is {what}, which holds no values")))
            }
        }
    }

    fn no_such_key(&self) -> String {
        let object = self.pointer.up_to(self.level);
        let token = clean(self.token(), 80);
        let named = self.named.join(", ");
        match self.passed - self.named.len() as u64 {
            _ if self.passed == 0 => format!("the object at {object} is empty"),
            0 => format!("the object at {object} has no key `{token}`; its keys: {named}"),
            more => {
                format!(
                    "the object at {object} has no key `{token}`; its keys: {named} (+{more} more)"
                )
            }
        }
    }

    fn no_such_item(&self) -> String {
        let array = self.pointer.up_to(self.level);
        let token = clean(self.token(), 80);
        match self.passed {
            0 => format!("the array at {array} is empty"),
            items => format!(
                "the array at {array} has no item `{token}`; it has {items} items, 0 to {}",
                items - 1
            ),
        }
    }

    /// What was found once there is nothing more, at the end of the content.
    fn finish(self, end: u64) -> Result<Range<u64>, String> {
        match self.state {
            State::Done(found) => found,
            // A bare number has no other end; within a container it may go on.
            State::Target(start, Skip::Scalar) if self.level == 0 => Ok(start..end),
            State::Target(..) => Err("the value is cut off at the end of the result".to_owned()),
            _ => Err("the result is cut off before the value".to_owned()),
        }
    }
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The index that a token writes; `None` where it writes none.
fn index(token: &str) -> Option<u64> {
    let plain = token.bytes().all(|digit| digit.is_ascii_digit());
    let canonical = token == "0" || !token.starts_with('0');
    (plain && canonical).then(|| token.parse().ok()).flatten()
}

/// Whether a key, as written in the source, is that of a token.
fn is_key(raw: &[u8], token: &str) -> bool {
    if !raw.contains(&b'\\') {
        return raw == token.as_bytes();
    }
    let Ok(raw) = std::str::from_utf8(raw) else { return false };
    // An escape that is cut or unpaired is that of no token.
    serde_json::from_str::<String>(&format!("\"{raw}\"")).is_ok_and(|key| key == token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(content: &str, pointer: &str, piece: usize) -> Result<String, String> {
        let pointer = Pointer::parse(pointer).unwrap();
        let mut scanner = Scanner::new(&pointer);
        for (number, bytes) in content.as_bytes().chunks(piece).enumerate() {
            if !scanner.feed((number * piece) as u64, bytes) {
                break;
            }
        }
        let found = scanner.finish(content.len() as u64)?;
        Ok(content[found.start as usize..found.end as usize].to_owned())
    }

    #[track_caller]
    fn leads(content: &str, pointer: &str, expected: Result<&str, &str>) {
        for piece in [1, 2, 3, 7, 1000] {
            let found = find(content, pointer, piece);
            let found = found.as_deref().map_err(String::as_str);
            assert_eq!(found, expected, "{pointer} in {content} by {piece}");
        }
    }

    #[test]
    fn pointers_lead_to_exact_slices() {
        let content =
            r#" {"a": {"b":[1, {"c" : "x]}\"" } ,NaN ],"b2":null}, "":true, "d/e~f":-1.5e3 }"#;
        leads(content, "", Ok(content.trim_start()));
        leads(content, "/a/b", Ok(r#"[1, {"c" : "x]}\"" } ,NaN ]"#));
        leads(content, "/a/b/0", Ok("1"));
        leads(content, "/a/b/1", Ok(r#"{"c" : "x]}\"" }"#));
        leads(content, "/a/b/1/c", Ok(r#""x]}\"""#));
        leads(content, "/a/b/2", Ok("NaN"));
        leads(content, "/a/b2", Ok("null"));
        leads(content, "/", Ok("true"));
        leads(content, "/d~1e~0f", Ok("-1.5e3"));
        leads("42", "", Ok("42"));
        leads("[1]\n[2]\n", "/0", Ok("1"));
        leads("[[],{},[[1]]]", "/2/0/0", Ok("1"));
        let deep = format!("{}7{}", "[".repeat(100_000), "]".repeat(100_000));
        leads(&format!("[{deep},8]"), "/1", Ok("8"));
    }

    #[test]
    fn keys_are_compared_as_they_read() {
        leads(r#"{"a\u00e9\"":1}"#, "/aé\"", Ok("1"));
        leads(r#"{"\ud83c\udfaf":1}"#, "/🎯", Ok("1"));
        leads(r#"{"\ud83c":1,"x":2}"#, "/x", Ok("2"));
        leads(r#"{"a":1,"a":2}"#, "/a", Ok("1"));
        let long = "k".repeat(5000);
        leads(&format!(r#"{{"{long}":1,"k":2}}"#), "/k", Ok("2"));
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is() {
        let content = r#"{"a":[1,2],"b":"x"}"#;
        leads(content, "/c", Err("the object at the top has no key `c`; its keys: a, b"));
        leads(content, "/a/2", Err("the array at `/a` has no item `2`; it has 2 items, 0 to 1"));
        leads(content, "/a/01", Err("the array at `/a` has no item `01`; it has 2 items, 0 to 1"));
        leads(content, "/a/-", Err("the array at `/a` has no item `-`; it has 2 items, 0 to 1"));
        leads(content, "/a/0/x", Err("`/a/0` is a number, which holds no values"));
        leads(content, "/b/x", Err("`/b` is a string, which holds no values"));
        leads("[]", "/0", Err("the array at the top is empty"));
        leads("{ }", "/0", Err("the object at the top is empty"));
        leads(r#"{"a":[1"#, "/a", Err("the value is cut off at the end of the result"));
        leads(r#"{"a":[1"#, "/b", Err("the result is cut off before the value"));
        leads("[1, 23", "/1", Err("the value is cut off at the end of the result"));
        let many: Vec<_> = (0..12).map(|n| format!("\"k{n}\":0")).collect();
        let told = find(&format!("{{{}}}", many.join(",")), "/x", 100).unwrap_err();
        assert!(told.ends_with("k8, k9 (+2 more)"), "{told}");
    }

    #[test]
    fn pointers_that_are_none_are_refused() {
        for (pointer, says) in [
            ("items/3", "begins with a slash"),
            ("/a~2", "~ is written ~0"),
            ("/a~", "~ is written ~0"),
            (&"/a".repeat(4000), "at most 4096 bytes"),
        ] {
            let error = Pointer::parse(pointer).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
