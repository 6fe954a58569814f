//! The grammar of JSON as a machine that takes a content in pieces and never recurses.
//!
//! It accepts what agents meet beyond RFC 8259: any depth (up to 100,000,000), numbers of any size, unpaired surrogate
//! escapes, and `NaN`, `Infinity` and `-Infinity` as Python's tools write them.

use super::bytes::{Plain, skip_plain, skip_white_space};

/// The deepest nesting: a bit for each level stays below 16 MiB.
const MAX_DEPTH: usize = 100_000_000;

/// What the machine tells of the values it reads.
///
/// Keys and scalars come as written; of a very long one only the start is handed on.
pub(super) trait Events {
    /// Whether anybody listens. A silent run captures nothing and is faster.
    const LISTENS: bool;

    /// A container begins; true if what is inside it need not be told.
    fn open(&mut self, object: bool) -> bool;
    /// A container ends.
    fn close(&mut self);
    /// A key, without its quotes.
    fn key(&mut self, raw: &[u8]);
    /// A scalar, with its quotes if it is a string.
    fn scalar(&mut self, raw: &[u8]);
}

/// Nobody listens.
pub(super) struct Silence;

impl Events for Silence {
    const LISTENS: bool = false;

    fn open(&mut self, _object: bool) -> bool {
        false
    }
    fn close(&mut self) {}
    fn key(&mut self, _raw: &[u8]) {}
    fn scalar(&mut self, _raw: &[u8]) {}
}

/// Why a run came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The piece is used up inside a value.
    Piece,
    /// The value, or the container that was to be passed over, is complete.
    Complete,
    /// A container was opened whose inside the listener does not want.
    Unwanted,
    /// What stands here is not JSON.
    Refused,
}

/// How much of a key or scalar is captured, in bytes.
const MAX_CAPTURE: usize = 1 << 16;

/// Where in the grammar the machine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must follow.
    Value,
    /// A value or the end of an empty array.
    FirstItem,
    /// A key or the end of an empty object.
    FirstKey,
    /// A key must follow.
    Key,
    /// A colon must follow.
    Colon,
    /// A comma or the end of the container must follow.
    After,
    /// Inside a string, which is a key or not.
    String { key: bool },
    /// After a backslash.
    Escape { key: bool },
    /// In a `\u` escape that lacks so many digits.
    Unicode { key: bool, left: u8 },
    /// Inside a number.
    Number(Digits),
    /// Inside a word of which this is left.
    Word(&'static [u8]),
}

/// Where in a number the machine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    Sign,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    Power,
}

/// One value being read.
#[derive(Debug)]
pub(super) struct Machine {
    state: State,
    /// One bit per open container: 1 is an object.
    stack: Vec<u64>,
    depth: usize,
    in_object: bool,
    /// The part of the current key or scalar that stood in earlier pieces.
    captured: Vec<u8>,
}

impl Machine {
    /// Stands before a value.
    pub(super) fn new() -> Self {
        Self {
            state: State::Value,
            stack: Vec::new(),
            depth: 0,
            in_object: false,
            captured: Vec::new(),
        }
    }

    /// Stands before a value again, whatever it was in.
    pub(super) fn restart(&mut self) {
        self.state = State::Value;
        self.depth = 0;
        self.in_object = false;
        self.captured.clear();
    }

    /// How many containers are open.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the content may end here: a bare number has no other end.
    pub(super) fn ends_here<E: Events>(&mut self, events: &mut E) -> bool {
        let State::Number(digits) = self.state else { return false };
        let whole = self.depth == 0 && digits.is_complete();
        if whole && E::LISTENS {
            events.scalar(&self.captured);
        }
        whole
    }

    /// Reads on at `piece[*at..]` until no more than `floor` containers are open.
    pub(super) fn run<E: Events>(
        &mut self,
        piece: &[u8],
        at: &mut usize,
        floor: usize,
        events: &mut E,
    ) -> Pause {
        let mut i = *at;
        // Where the key or scalar at hand begins in this piece.
        let mut start = i;
        let mut state = self.state;
        let pause = loop {
            match state {
                State::Key | State::FirstKey => {
                    i = skip_white_space(piece, i);
                    match piece.get(i) {
                        Some(b'"') => {
                            i += 1;
                            start = i;
                            state = State::String { key: true };
                        }
                        Some(b'}') if state == State::FirstKey => {
                            i += 1;
                            if self.close(events, &mut state, floor) {
                                break Pause::Complete;
                            }
                        }
                        Some(_) => break Pause::Refused,
                        None => break Pause::Piece,
                    }
                }
                State::Value | State::FirstItem => {
                    i = skip_white_space(piece, i);
                    let Some(&byte) = piece.get(i) else { break Pause::Piece };
                    start = i;
                    i += 1;
                    match byte {
                        b'"' => state = State::String { key: false },
                        b'{' | b'[' if self.depth == MAX_DEPTH => break Pause::Refused,
                        b'{' | b'[' => {
                            let object = byte == b'{';
                            self.open(object);
                            state = if object { State::FirstKey } else { State::FirstItem };
                            if E::LISTENS && events.open(object) {
                                break Pause::Unwanted;
                            }
                        }
                        b'0' => state = State::Number(Digits::Zero),
                        b'1'..=b'9' => state = State::Number(Digits::Integer),
                        b'-' => state = State::Number(Digits::Sign),
                        b't' => state = State::Word(b"rue"),
                        b'f' => state = State::Word(b"alse"),
                        b'n' => state = State::Word(b"ull"),
                        b'N' => state = State::Word(b"aN"),
                        b'I' => state = State::Word(b"nfinity"),
                        b']' if state == State::FirstItem => {
                            if self.close(events, &mut state, floor) {
                                break Pause::Complete;
                            }
                        }
                        _ => break Pause::Refused,
                    }
                }
                State::String { key } => {
                    let (end, plain) = skip_plain(piece, i);
                    i = end;
                    match plain {
                        Plain::Quote => {
                            i += 1;
                            if E::LISTENS {
                                let end = if key { i - 1 } else { i };
                                self.tell(&piece[start..end], events, key);
                            }
                            if key {
                                // Nearly always the colon stands right behind its key.
                                let colon = piece.get(i) == Some(&b':');
                                i += usize::from(colon);
                                state = if colon { State::Value } else { State::Colon };
                            } else if self.depth == floor {
                                state = State::Value;
                                break Pause::Complete;
                            } else {
                                state = State::After;
                            }
                        }
                        Plain::Backslash => {
                            i += 1;
                            state = State::Escape { key };
                        }
                        Plain::Control => break Pause::Refused,
                        Plain::End => break Pause::Piece,
                    }
                }
                State::Escape { key } => {
                    let Some(&byte) = piece.get(i) else { break Pause::Piece };
                    i += 1;
                    state = match byte {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                            State::String { key }
                        }
                        b'u' => State::Unicode { key, left: 4 },
                        _ => break Pause::Refused,
                    };
                }
                State::Unicode { key, left } => {
                    let Some(&byte) = piece.get(i) else { break Pause::Piece };
                    if !byte.is_ascii_hexdigit() {
                        break Pause::Refused;
                    }
                    i += 1;
                    state = if left == 1 {
                        State::String { key }
                    } else {
                        State::Unicode { key, left: left - 1 }
                    };
                }
                State::Colon => {
                    i = skip_white_space(piece, i);
                    match piece.get(i) {
                        Some(b':') => i += 1,
                        Some(_) => break Pause::Refused,
                        None => break Pause::Piece,
                    }
                    state = State::Value;
                }
                State::After => {
                    i = skip_white_space(piece, i);
                    let Some(&byte) = piece.get(i) else { break Pause::Piece };
                    i += 1;
                    match (byte, self.in_object) {
                        (b',', true) => state = State::Key,
                        (b',', false) => state = State::Value,
                        (b'}', true) | (b']', false) => {
                            if self.close(events, &mut state, floor) {
                                break Pause::Complete;
                            }
                        }
                        _ => break Pause::Refused,
                    }
                }
                State::Number(digits) => {
                    let (end, digits) = digits.run(piece, i);
                    i = end;
                    state = State::Number(digits);
                    match piece.get(i) {
                        None => break Pause::Piece,
                        Some(b'I') if digits == Digits::Sign => {
                            i += 1;
                            state = State::Word(b"nfinity");
                            continue;
                        }
                        Some(_) if !digits.is_complete() => break Pause::Refused,
                        Some(_) => {}
                    }
                    if E::LISTENS {
                        self.tell(&piece[start..i], events, false);
                    }
                    if self.depth == floor {
                        state = State::Value;
                        break Pause::Complete;
                    }
                    state = State::After;
                }
                State::Word(rest) => {
                    let here = &piece[i..piece.len().min(i + rest.len())];
                    if !rest.starts_with(here) {
                        break Pause::Refused;
                    }
                    i += here.len();
                    if here.len() < rest.len() {
                        state = State::Word(&rest[here.len()..]);
                        break Pause::Piece;
                    }
                    if E::LISTENS {
                        self.tell(&piece[start..i], events, false);
                    }
                    if self.depth == floor {
                        state = State::Value;
                        break Pause::Complete;
                    }
                    state = State::After;
                }
            }
        };
        if E::LISTENS && pause == Pause::Piece && state.is_inside_token() {
            self.capture(&piece[start..]);
        }
        self.state = state;
        *at = i;
        pause
    }

    fn open(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.stack.len() {
            self.stack.push(0);
        }
        self.stack[word] = self.stack[word] & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
        self.in_object = object;
    }

    /// Closes the innermost container; true if that completes what the run was to read.
    fn close<E: Events>(&mut self, events: &mut E, state: &mut State, floor: usize) -> bool {
        self.depth -= 1;
        self.in_object = self.depth > 0 && {
            let outer = self.depth - 1;
            self.stack[outer / 64] >> (outer % 64) & 1 == 1
        };
        if E::LISTENS {
            events.close();
        }
        *state = if self.depth == 0 { State::Value } else { State::After };
        self.depth == floor
    }

    fn capture(&mut self, part: &[u8]) {
        let room = MAX_CAPTURE.saturating_sub(self.captured.len());
        self.captured.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn tell<E: Events>(&mut self, part: &[u8], events: &mut E, key: bool) {
        let raw = if self.captured.is_empty() {
            &part[..part.len().min(MAX_CAPTURE)]
        } else {
            self.capture(part);
            &self.captured
        };
        if key {
            events.key(raw);
        } else {
            events.scalar(raw);
        }
        self.captured.clear();
    }
}

impl State {
    fn is_inside_token(self) -> bool {
        match self {
            Self::String { .. }
            | Self::Escape { .. }
            | Self::Unicode { .. }
            | Self::Number(_)
            | Self::Word(_) => true,
            Self::Value
            | Self::FirstItem
            | Self::FirstKey
            | Self::Key
            | Self::Colon
            | Self::After => false,
        }
    }
}

impl Digits {
    /// Reads on at `piece[i..]` as far as a number can go.
    fn run(mut self, piece: &[u8], mut i: usize) -> (usize, Self) {
        loop {
            if matches!(self, Self::Integer | Self::Fraction | Self::Power) {
                while piece.get(i).is_some_and(u8::is_ascii_digit) {
                    i += 1;
                }
            }
            let Some(&byte) = piece.get(i) else { return (i, self) };
            self = match (self, byte) {
                (Self::Sign, b'0') => Self::Zero,
                (Self::Sign, b'1'..=b'9') => Self::Integer,
                (Self::Zero | Self::Integer, b'.') => Self::Point,
                (Self::Point, b'0'..=b'9') => Self::Fraction,
                (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::Exponent,
                (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
                (Self::Exponent | Self::ExponentSign, b'0'..=b'9') => Self::Power,
                (digits, _) => return (i, digits),
            };
            i += 1;
        }
    }

    fn is_complete(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Power)
    }
}
