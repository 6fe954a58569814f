//! Splitting a document into markup and text, in blocks, without keeping either.

use memchr::{memchr, memchr2, memchr3, memmem};

/// The longest tag, reference, processing instruction or document type declaration, in bytes; what
/// has a longer one is no document. Texts, comments and CDATA sections may have any length.
const MARKUP_BYTES: usize = 8 << 20;

const COMMENT: &[u8] = b"<!--";
const CDATA: &[u8] = b"<![CDATA[";
const DOCTYPE: &[u8] = b"<!DOCTYPE";

/// Who is told of markup and text; none refuses the document.
pub(super) trait Listener {
    /// A part of a text.
    fn text(&mut self, part: &[u8]) -> Option<()>;
    /// What stands between `&` and `;`.
    fn reference(&mut self, name: &[u8]) -> Option<()>;
    /// What stands between `<` and `>` or `/>`; whether the element is empty.
    fn start(&mut self, tag: &[u8], is_empty: bool) -> Option<()>;
    /// What stands between `</` and `>`.
    fn end(&mut self, tag: &[u8]) -> Option<()>;
    /// A CDATA section begins.
    fn cdata(&mut self) -> Option<()>;
    /// What stands between `<?` and `?>`; whether nothing stands before it.
    fn instruction(&mut self, content: &[u8], is_first: bool) -> Option<()>;
    /// What stands between `<!DOCTYPE` and its `>`.
    fn doctype(&mut self, content: &[u8]) -> Option<()>;
}

/// Where in a document the splitter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a text, behind so many closing brackets.
    Text(u8),
    /// Behind `<`, with nothing or `!` and more after it.
    Open,
    /// In a tag, between quotes or not.
    Tag(Option<u8>),
    /// In an end tag.
    End,
    /// In a reference.
    Reference,
    /// In a processing instruction, behind a question mark or not.
    Instruction(bool),
    /// In a comment, behind so many hyphens.
    Comment(u8),
    /// In a CDATA section, behind so many closing brackets.
    Cdata(u8),
    Doctype(Doctype),
}

/// Where in a document type declaration the splitter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doctype {
    /// Before or behind the internal subset, between quotes or not.
    Outside(Option<u8>),
    Subset,
    /// In a declaration, between quotes or not.
    Declaration(Option<u8>),
    /// In a comment or a processing instruction, up to this mark, of which so much stood before.
    Until(&'static [u8], usize),
}

/// The splitter.
#[derive(Debug)]
pub(super) struct Splitter {
    state: State,
    /// The start of the markup at hand, if it stood in earlier blocks.
    held: Vec<u8>,
    is_first: bool,
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self { state: State::Text(0), held: Vec::new(), is_first: true }
    }

    /// Whether a document may end here.
    pub(super) fn may_end(&self) -> bool {
        matches!(self.state, State::Text(_))
    }

    /// Takes the next block; none if the document is refused.
    pub(super) fn feed(&mut self, block: &[u8], listener: &mut impl Listener) -> Option<()> {
        let has_marked_end = memmem::find(block, b"]]>").is_some();
        let mut at = 0;
        while at < block.len() {
            let rest = &block[at..];
            at += match self.state {
                State::Text(brackets) => self.text(rest, brackets, has_marked_end, listener)?,
                State::Open => self.open(rest, listener)?,
                State::Tag(quote) => match tag_len(rest, quote) {
                    Ok(length) => self.complete(rest, length, listener)?,
                    Err(quote) => self.hold(rest, State::Tag(quote))?,
                },
                State::End => match memchr(b'>', rest) {
                    Some(end) => self.complete(rest, end + 1, listener)?,
                    None => self.hold(rest, State::End)?,
                },
                State::Reference => match memchr3(b';', b'<', b'&', rest) {
                    Some(end) if rest[end] == b';' => self.complete(rest, end + 1, listener)?,
                    Some(_) => return None,
                    None => self.hold(rest, State::Reference)?,
                },
                State::Instruction(asked) => match instruction_len(rest, asked) {
                    Some(length) => self.complete(rest, length, listener)?,
                    None => self.hold(rest, State::Instruction(rest.ends_with(b"?")))?,
                },
                State::Comment(hyphens) => self.comment(rest, hyphens)?,
                State::Cdata(brackets) => self.cdata(rest, brackets),
                State::Doctype(place) => match doctype_len(&self.held, rest, place) {
                    Ok(length) => self.complete(rest, length, listener)?,
                    Err(place) => self.hold(rest, State::Doctype(place))?,
                },
            };
        }
        Some(())
    }

    fn text(
        &mut self,
        rest: &[u8],
        brackets: u8,
        has_marked_end: bool,
        listener: &mut impl Listener,
    ) -> Option<usize> {
        let end = memchr2(b'<', b'&', rest).unwrap_or(rest.len());
        let text = &rest[..end];
        if !text.is_empty() {
            self.is_first = false;
            if (has_marked_end || brackets > 0) && has_marked_end_behind(brackets, text) {
                return None;
            }
            listener.text(text)?;
        }
        let Some(&mark) = rest.get(end) else {
            self.state = State::Text(closing(brackets, text));
            return Some(end);
        };
        self.state = if mark == b'&' { State::Reference } else { State::Open };
        Some(end + 1)
    }

    /// Tells what kind of markup begins.
    fn open(&mut self, rest: &[u8], listener: &mut impl Listener) -> Option<usize> {
        if self.held.is_empty() {
            self.state = match rest[0] {
                b'!' => State::Open,
                b'?' => State::Instruction(false),
                b'/' => State::End,
                _ => {
                    self.state = State::Tag(None);
                    return Some(0);
                }
            };
            if self.state != State::Open {
                return Some(1);
            }
            self.held.push(b'<');
        }
        for (length, &byte) in (1..).zip(rest) {
            self.held.push(byte);
            let begun = &self.held[..];
            if begun == COMMENT {
                self.state = State::Comment(0);
            } else if begun == CDATA {
                listener.cdata()?;
                self.state = State::Cdata(0);
            } else if begun == DOCTYPE {
                self.state = State::Doctype(Doctype::Outside(None));
            } else if [COMMENT, CDATA, DOCTYPE].iter().any(|mark| mark.starts_with(begun)) {
                continue;
            } else {
                return None;
            }
            self.is_first = false;
            self.held.clear();
            return Some(length);
        }
        Some(rest.len())
    }

    /// Keeps `rest` until the markup is complete.
    fn hold(&mut self, rest: &[u8], state: State) -> Option<usize> {
        self.state = state;
        self.held.extend_from_slice(rest);
        (self.held.len() <= MARKUP_BYTES).then_some(rest.len())
    }

    /// Tells of the markup that is complete with `rest[..length]`.
    fn complete(
        &mut self,
        rest: &[u8],
        length: usize,
        listener: &mut impl Listener,
    ) -> Option<usize> {
        let state = std::mem::replace(&mut self.state, State::Text(0));
        let is_first = std::mem::replace(&mut self.is_first, false);
        if self.held.is_empty() {
            tell(state, &rest[..length], is_first, listener)?;
        } else {
            self.held.extend_from_slice(&rest[..length]);
            if self.held.len() > MARKUP_BYTES {
                return None;
            }
            tell(state, &self.held, is_first, listener)?;
            self.held.clear();
        }
        Some(length)
    }

    /// Steps over a part of a comment, in which two hyphens may only stand at its end.
    fn comment(&mut self, rest: &[u8], hyphens: u8) -> Option<usize> {
        if hyphens == 2 {
            self.state = State::Text(0);
            return (rest[0] == b'>').then_some(1);
        }
        if hyphens == 1 {
            self.state = State::Comment(if rest[0] == b'-' { 2 } else { 0 });
            return Some(1);
        }
        let hyphen = memchr(b'-', rest);
        self.state = State::Comment(u8::from(hyphen.is_some()));
        Some(hyphen.map_or(rest.len(), |at| at + 1))
    }

    /// Steps over a part of a CDATA section.
    fn cdata(&mut self, rest: &[u8], brackets: u8) -> usize {
        if brackets == 0 {
            let bracket = memchr(b']', rest);
            self.state = State::Cdata(u8::from(bracket.is_some()));
            return bracket.map_or(rest.len(), |at| at + 1);
        }
        self.state = match (rest[0], brackets) {
            (b'>', 2) => State::Text(0),
            (b']', _) => State::Cdata(2),
            _ => State::Cdata(0),
        };
        1
    }
}

fn tell(state: State, markup: &[u8], is_first: bool, listener: &mut impl Listener) -> Option<()> {
    let inside = &markup[..markup.len() - 1];
    match state {
        State::Tag(_) => match inside.strip_suffix(b"/") {
            Some(tag) => listener.start(tag, true),
            None => listener.start(inside, false),
        },
        State::End => listener.end(inside),
        State::Reference => listener.reference(inside),
        State::Instruction(_) => {
            listener.instruction(&inside[..inside.len().saturating_sub(1)], is_first)
        }
        State::Doctype(_) => listener.doctype(inside),
        State::Text(_) | State::Open | State::Comment(_) | State::Cdata(_) => None,
    }
}

/// The length of a tag up to its `>`, from a place on that is between quotes or not; else where it
/// stands at the end.
fn tag_len(rest: &[u8], mut quote: Option<u8>) -> Result<usize, Option<u8>> {
    let mut at = 0;
    loop {
        let behind = &rest[at..];
        if let Some(mark) = quote {
            at += memchr(mark, behind).ok_or(quote)? + 1;
            quote = None;
            continue;
        }
        let found = memchr3(b'>', b'"', b'\'', behind).ok_or(None)?;
        at += found + 1;
        if behind[found] == b'>' {
            return Ok(at);
        }
        quote = Some(behind[found]);
    }
}

/// The length of a processing instruction up to its `?>`; `asked` if a question mark stands before.
fn instruction_len(rest: &[u8], asked: bool) -> Option<usize> {
    if asked && rest[0] == b'>' {
        return Some(1);
    }
    memmem::find(rest, b"?>").map(|at| at + 2)
}

/// The length of a document type declaration up to its `>`, behind what is held of it.
fn doctype_len(held: &[u8], rest: &[u8], mut place: Doctype) -> Result<usize, Doctype> {
    // The last bytes up to and with the one at hand: marks take four at most.
    let mut last = [0_u8; 4];
    for &byte in &held[held.len().saturating_sub(3)..] {
        last = [last[1], last[2], last[3], byte];
    }
    for (length, &byte) in (1..).zip(rest) {
        last = [last[1], last[2], last[3], byte];
        let quotes = matches!(byte, b'"' | b'\'');
        place = match place {
            Doctype::Outside(Some(mark)) => Doctype::Outside((byte != mark).then_some(mark)),
            Doctype::Outside(None) => match byte {
                b'>' => return Ok(length),
                b'[' => Doctype::Subset,
                _ => Doctype::Outside(quotes.then_some(byte)),
            },
            Doctype::Subset => match byte {
                b']' => Doctype::Outside(None),
                b'?' if last[2] == b'<' => Doctype::Until(b"?>", 0),
                b'!' if last[2] == b'<' => Doctype::Declaration(None),
                _ => Doctype::Subset,
            },
            Doctype::Declaration(Some(mark)) => {
                Doctype::Declaration((byte != mark).then_some(mark))
            }
            Doctype::Declaration(None) => match byte {
                b'>' => Doctype::Subset,
                b'-' if last == *COMMENT => Doctype::Until(b"-->", 0),
                _ => Doctype::Declaration(quotes.then_some(byte)),
            },
            Doctype::Until(mark, before) => match byte {
                _ if byte == mark[before] && before + 1 == mark.len() => Doctype::Subset,
                _ if byte == mark[before] => Doctype::Until(mark, before + 1),
                // Of many hyphens, the last two count.
                b'-' if mark[0] == b'-' => Doctype::Until(mark, before),
                _ => Doctype::Until(mark, usize::from(byte == mark[0])),
            },
        };
    }
    Err(place)
}

/// Whether `]]>` stands in a text, behind so many closing brackets.
fn has_marked_end_behind(brackets: u8, text: &[u8]) -> bool {
    let behind = match brackets {
        0 => false,
        1 => text.starts_with(b"]>"),
        _ => text.starts_with(b">") || text.starts_with(b"]>"),
    };
    behind || memmem::find(text, b"]]>").is_some()
}

/// How many closing brackets, two at most, end a text that stands behind so many.
fn closing(brackets: u8, text: &[u8]) -> u8 {
    match text {
        [] => brackets,
        [.., b']', b']'] => 2,
        [b']'] => (brackets + 1).min(2),
        [.., b']'] => 1,
        _ => 0,
    }
}
