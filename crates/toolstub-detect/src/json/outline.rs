//! What is kept of the first value: its outline, and its first scalars.

use std::borrow::Cow;

use super::machine::Events;
use super::{Json, Node};
use crate::distinct::{Count, Distinct};

/// How many keys of an object are kept.
const MAX_KEYS: usize = 10;
/// How many items of an array are kept.
const MAX_ITEMS: usize = 3;
/// How many scalars are kept.
const MAX_SCALARS: usize = 5;
/// The deepest scalar that is kept: a longer path would not be shown whole.
const MAX_PATH: usize = 40;
/// How much of a key or scalar is kept, in bytes: more than is ever shown.
const MAX_RAW: usize = 400;

/// Listens to the first value.
#[derive(Debug, Default)]
pub(super) struct Outline {
    root: Option<Node>,
    /// The open containers whose members are counted: the root and its first members.
    frames: Vec<Frame>,
    /// How many containers are open.
    depth: usize,
    /// The way to the current value, while scalars are wanted.
    path: Vec<Step>,
    scalars: Vec<(String, String)>,
    duplicate_keys: u64,
}

/// A container being counted.
#[derive(Debug)]
enum Frame {
    Object { all: u64, distinct: Distinct, members: Vec<(String, Node)>, place: Option<usize> },
    Array { length: u64, items: Vec<Node> },
}

/// One step of a path.
#[derive(Debug)]
enum Step {
    Key(String),
    Index(u64),
}

impl Outline {
    /// What was learnt; `None` if no value was completed.
    pub(super) fn finish(self) -> Option<Json> {
        Some(Json {
            root: self.root?,
            scalars: self.scalars,
            trailing_chars: 0,
            values: None,
            cut_off: false,
            duplicate_keys: self.duplicate_keys,
        })
    }

    fn wants_scalars(&self) -> bool {
        self.scalars.len() < MAX_SCALARS
    }

    /// Counts a value in the container that holds it; true if its outline is to be kept.
    fn count(&mut self) -> bool {
        if self.depth != self.frames.len() {
            return false;
        }
        match self.frames.last_mut() {
            None => true,
            Some(Frame::Object { place, .. }) => place.is_some(),
            Some(Frame::Array { length, items }) => {
                *length += 1;
                items.len() < MAX_ITEMS
            }
        }
    }

    fn keep(&mut self, node: Node) {
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::Object { members, place, .. }) => {
                if let Some(member) = place.and_then(|place| members.get_mut(place)) {
                    member.1 = node;
                }
            }
            Some(Frame::Array { items, .. }) => items.push(node),
        }
    }

    /// Steps to the next value of the container at hand.
    fn step(&mut self) {
        if let Some(Step::Index(index)) = self.path.last_mut()
            && self.depth <= MAX_PATH
        {
            *index = index.wrapping_add(1);
        }
    }

    fn written_path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        path
    }
}

impl Events for Outline {
    const LISTENS: bool = true;

    fn open(&mut self, object: bool) -> bool {
        let kept = self.count();
        if self.wants_scalars() {
            self.step();
            if self.depth < MAX_PATH {
                // An array begins before its first item.
                self.path.push(if object {
                    Step::Key(String::new())
                } else {
                    Step::Index(u64::MAX)
                });
            }
        }
        let counted = kept && self.depth < 2;
        if counted {
            self.frames.push(if object {
                Frame::Object {
                    all: 0,
                    distinct: Distinct::default(),
                    members: Vec::new(),
                    place: None,
                }
            } else {
                Frame::Array { length: 0, items: Vec::new() }
            });
        } else if kept {
            let node = if object {
                Node::Object(Count::default(), Vec::new())
            } else {
                Node::Array(0, Vec::new())
            };
            self.keep(node);
        }
        self.depth += 1;
        !counted && !self.wants_scalars()
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.path.truncate(self.depth);
        if self.depth >= self.frames.len() {
            return;
        }
        let node = match self.frames.pop() {
            Some(Frame::Object { all, distinct, members, .. }) => {
                let count = distinct.count();
                if self.depth == 0 && !count.open {
                    self.duplicate_keys = all - count.at_least;
                }
                Node::Object(count, members)
            }
            Some(Frame::Array { length, items }) => Node::Array(length, items),
            None => return,
        };
        self.keep(node);
    }

    fn key(&mut self, raw: &[u8]) {
        if self.depth == self.frames.len()
            && let Some(Frame::Object { all, distinct, members, place }) = self.frames.last_mut()
        {
            *all += 1;
            let new = distinct.insert(&unescape(raw));
            *place = if new && members.len() < MAX_KEYS {
                members.push((written(raw), Node::Null));
                Some(members.len() - 1)
            } else if new {
                None
            } else {
                // The last of several values counts, as in every reader that keeps one.
                let key = unescape(raw);
                members.iter().position(|(name, _)| unescape(name.as_bytes()) == key)
            };
        }
        if self.wants_scalars()
            && self.depth <= MAX_PATH
            && let Some(Step::Key(key)) = self.path.last_mut()
        {
            *key = written(raw);
        }
    }

    fn scalar(&mut self, raw: &[u8]) {
        if self.count() {
            self.keep(scalar_node(raw));
        }
        if self.wants_scalars() {
            self.step();
            if !self.path.is_empty() && self.depth <= MAX_PATH {
                self.scalars.push((self.written_path(), written(raw)));
            }
        }
    }
}

fn scalar_node(raw: &[u8]) -> Node {
    match raw.first() {
        Some(b'"') => Node::String,
        Some(b't' | b'f') => Node::Boolean,
        Some(b'n') => Node::Null,
        _ => Node::Number,
    }
}

/// A key or scalar as written, as much of it as can be shown.
fn written(raw: &[u8]) -> String {
    crate::excerpt(raw, MAX_RAW)
}

/// A key with its escapes resolved, so that two spellings of one key are one; not always UTF-8,
/// since a surrogate may stand alone.
fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut key = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            key.push(byte);
            continue;
        }
        let Some((&escaped, tail)) = rest.split_first() else { break };
        rest = tail;
        match escaped {
            b'b' => key.push(0x08),
            b'f' => key.push(0x0c),
            b'n' => key.push(b'\n'),
            b'r' => key.push(b'\r'),
            b't' => key.push(b'\t'),
            b'u' => {
                let Some(mut unit) = take_unit(&mut rest) else { break };
                if (0xd800..0xdc00).contains(&unit)
                    && let Some(mut after) = rest.strip_prefix(b"\\u")
                    && let Some(low @ 0xdc00..0xe000) = take_unit(&mut after)
                {
                    unit = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    rest = after;
                }
                push_code_point(&mut key, unit);
            }
            other => key.push(other),
        }
    }
    Cow::Owned(key)
}

fn take_unit(rest: &mut &[u8]) -> Option<u32> {
    let (digits, tail) = rest.split_first_chunk::<4>()?;
    *rest = tail;
    let digits = std::str::from_utf8(digits).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

fn push_code_point(key: &mut Vec<u8>, code_point: u32) {
    if let Some(c) = char::from_u32(code_point) {
        key.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        // An unpaired surrogate, in the three bytes that UTF-8 would have had for it.
        let low = |shift: u32| 0x80 | (code_point >> shift & 0x3f) as u8;
        key.extend_from_slice(&[0xe0 | (code_point >> 12) as u8, low(6), low(0)]);
    }
}
