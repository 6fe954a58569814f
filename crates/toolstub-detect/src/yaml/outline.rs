//! One pass over the events: the documents, and the top level of the first.

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::evidence::{Evidence, Scalar};
use super::first_line::has_headings;
use super::schema::kind_of_plain;
use super::{Root, ValueKind, Yaml};
use crate::distinct::Distinct;

/// How many keys are kept.
const KEYS: usize = 30;
/// How many characters of a key are kept: more than any synopsis shows.
const KEY_CHARS: usize = 400;
/// How many anchors are remembered; the parser keeps each in some 80 bytes.
const ANCHORS: usize = 100_000;
/// How deep collections may stand in each other.
///
/// The parser does not recurse, so that this bounds nothing but what it has to remember.
const DEPTH: usize = 1000;
/// How many pairs are seen between two looks at the evidence.
const LOOK_EVERY: u64 = 1024;

/// Reads `text` to its end; None at the first fault, or as soon as it does not look like YAML.
pub(super) fn read(text: &str) -> Option<Yaml> {
    let options = granit_parser::options! {
        bom_inside_document_as_content: true,
        flow_nesting_limit: DEPTH,
        block_nesting_limit: DEPTH,
    };
    let mut outline = Outline::new(text);
    let mut next_look = LOOK_EVERY;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.ok()?;
        outline.take(event, span)?;
        if outline.evidence.pairs() >= next_look {
            if outline.evidence.is_hopeless() {
                return None;
            }
            next_look += LOOK_EVERY;
        }
    }
    outline.finish()
}

/// What stands around the next node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A mapping whose next node is a key.
    Key,
    /// A mapping whose next node is a value.
    Value,
    Sequence,
}

/// What a node is to the collection around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    Key,
    Value,
    Item,
}

struct Outline<'a> {
    text: &'a str,
    evidence: Evidence,
    frames: Vec<Frame>,
    documents: u64,
    root: Option<TopLevel>,
    /// Kinds of the anchored nodes, by the parser's numbers less one.
    anchors: Vec<ValueKind>,
    /// Where a key that is a collection began, at the top level.
    complex_key: Option<Span>,
    /// The key that the next value belongs to.
    last_key: Option<Span>,
}

enum TopLevel {
    Mapping {
        distinct: Distinct,
        keys: Vec<(String, ValueKind)>,
        /// Whether the next value belongs to the last of `keys`.
        is_open: bool,
    },
    Sequence(u64),
}

impl<'a> Outline<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            evidence: Evidence::default(),
            frames: Vec::new(),
            documents: 0,
            root: None,
            anchors: Vec::new(),
            complex_key: None,
            last_key: None,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        match event {
            Event::DocumentStart(is_explicit, _) => self.evidence.is_explicit |= is_explicit,
            Event::Scalar(value, style, anchor, tag) => {
                let kind = kind_of_scalar(&value, style, tag.as_deref());
                self.anchor(anchor, kind)?;
                let is_folded = span.start.line() != span.end.line();
                let gap = self.gap(span).filter(|_| !span.is_empty());
                let scalar = Scalar { value: &value, style, kind, is_folded, gap };
                match self.role() {
                    // A document that is more than empty must be a collection.
                    Role::Root => return (kind == ValueKind::Null).then_some(()),
                    Role::Key => {
                        self.last_key = Some(span);
                        self.evidence.key(&value, style);
                        self.top_key(&value, style, span);
                    }
                    role => {
                        self.evidence.value(scalar);
                        if role == Role::Item && self.frames.len() == 1 {
                            self.evidence.root_item(Some(scalar), false);
                        }
                        self.top_value(kind);
                    }
                }
                self.evidence.notation(style, anchor > 0 || tag.is_some());
            }
            Event::Alias(anchor) => {
                self.evidence.notation(ScalarStyle::Plain, true);
                let role = self.role();
                if role == Role::Root {
                    return None;
                }
                let kind = anchor.checked_sub(1).and_then(|place| self.anchors.get(place));
                let kind = kind.copied().unwrap_or(ValueKind::Null);
                if role == Role::Key {
                    if self.frames.len() == 1 && self.is_first() {
                        let name = self.source(span, span);
                        self.name_key(name.as_bytes(), name);
                    }
                } else {
                    self.top_value(kind);
                }
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(ValueKind::Array, Frame::Sequence, anchor, tag.is_some(), span)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(ValueKind::Object, Frame::Key, anchor, tag.is_some(), span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.frames.pop();
                if self.frames.len() == 1
                    && let Some(start) = self.complex_key.take()
                    && self.is_first()
                {
                    let name = self.source(start, span);
                    self.name_key(name.as_bytes(), name);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// What the next node is; the frame around it moves on.
    fn role(&mut self) -> Role {
        match self.frames.last_mut() {
            None => Role::Root,
            Some(Frame::Sequence) => Role::Item,
            Some(frame @ Frame::Key) => {
                *frame = Frame::Value;
                Role::Key
            }
            Some(frame @ Frame::Value) => {
                *frame = Frame::Key;
                Role::Value
            }
        }
    }

    fn open(
        &mut self,
        kind: ValueKind,
        frame: Frame,
        anchor: usize,
        has_tag: bool,
        span: Span,
    ) -> Option<()> {
        self.anchor(anchor, kind)?;
        let role = self.role();
        match role {
            Role::Root => self.open_document(kind),
            Role::Key if self.frames.len() == 1 => self.complex_key = Some(span),
            Role::Key => {}
            Role::Value => self.top_value(kind),
            Role::Item => {
                self.top_value(kind);
                if self.frames.len() == 1 {
                    self.evidence.root_item(None, kind == ValueKind::Object);
                }
            }
        }
        self.last_key = None;
        self.evidence.collection(kind, role == Role::Root);
        self.evidence.notation(ScalarStyle::Plain, anchor > 0 || has_tag);
        self.frames.push(frame);
        Some(())
    }

    fn open_document(&mut self, kind: ValueKind) {
        self.documents += 1;
        self.root.get_or_insert_with(|| {
            if kind == ValueKind::Array {
                TopLevel::Sequence(0)
            } else {
                TopLevel::Mapping {
                    distinct: Distinct::default(),
                    keys: Vec::new(),
                    is_open: false,
                }
            }
        });
    }

    /// Remembers what kind of node has the anchor; zero is none.
    fn anchor(&mut self, anchor: usize, kind: ValueKind) -> Option<()> {
        if anchor > 0 {
            if anchor > ANCHORS {
                return None;
            }
            self.anchors.resize(anchor, ValueKind::Null);
            self.anchors[anchor - 1] = kind;
        }
        Some(())
    }

    /// Whether the first document that is not empty is being read.
    fn is_first(&self) -> bool {
        self.documents == 1
    }

    fn top_key(&mut self, value: &str, style: ScalarStyle, span: Span) {
        if self.frames.len() != 1 || !self.is_first() {
            return;
        }
        let name = match style {
            ScalarStyle::SingleQuoted => value.replace('\'', "''"),
            // Escapes are shown as they are written.
            ScalarStyle::DoubleQuoted => {
                let written = self.source(span, span);
                let inside = written.strip_prefix('"');
                let inside = inside.map(|inside| inside.strip_suffix('"').unwrap_or(inside));
                inside.map_or_else(|| value.to_owned(), str::to_owned)
            }
            // The parser puts a tilde where nothing is written.
            _ if span.is_empty() => String::new(),
            _ => value.to_owned(),
        };
        self.name_key(value.as_bytes(), &name);
    }

    /// Counts a key of the first document's top level; `value` tells keys apart.
    fn name_key(&mut self, value: &[u8], name: &str) {
        let Some(TopLevel::Mapping { distinct, keys, is_open }) = &mut self.root else { return };
        let is_new = distinct.insert(value);
        if !is_new {
            self.evidence.repeated_keys += 1;
        }
        *is_open = is_new && keys.len() < KEYS;
        if *is_open {
            keys.push((name.chars().take(KEY_CHARS).collect(), ValueKind::Null));
        }
    }

    /// Notes the kind of a value of the first document's top level.
    fn top_value(&mut self, kind: ValueKind) {
        if self.frames.len() != 1 || !self.is_first() {
            return;
        }
        match &mut self.root {
            Some(TopLevel::Mapping { keys, is_open, .. }) => {
                if std::mem::take(is_open)
                    && let Some((_, last)) = keys.last_mut()
                {
                    *last = kind;
                }
            }
            Some(TopLevel::Sequence(length)) => *length += 1,
            None => {}
        }
    }

    /// What stands between the last key and the value at `span`, if both stand in one line.
    fn gap(&mut self, span: Span) -> Option<&'a str> {
        let key = self.last_key.take()?;
        let range = key.end.byte_offset()..span.start.byte_offset();
        let (from, to) = (range.start?, range.end?);
        (key.end.line() == span.start.line()).then(|| self.text.get(from..to)).flatten()
    }

    /// The text from the start of one span to the end of another.
    fn source(&self, from: Span, to: Span) -> &'a str {
        let range = from.start.byte_offset().zip(to.end.byte_offset());
        range.and_then(|(from, to)| self.text.get(from..to)).unwrap_or_default().trim_ascii_end()
    }

    fn finish(self) -> Option<Yaml> {
        let is_list = self.evidence.is_list_of_scalars();
        if !self.evidence.is_enough() || (is_list && has_headings(self.text)) {
            return None;
        }
        let root = match self.root? {
            TopLevel::Mapping { distinct, keys, .. } => Root::Mapping(distinct.count(), keys),
            TopLevel::Sequence(length) => Root::Sequence(length),
        };
        Some(Yaml { documents: self.documents, root })
    }
}

fn kind_of_scalar(value: &str, style: ScalarStyle, tag: Option<&Tag>) -> ValueKind {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() => match tag.suffix() {
            "int" | "float" => ValueKind::Number,
            "bool" => ValueKind::Boolean,
            "null" => ValueKind::Null,
            _ => ValueKind::String,
        },
        None if style == ScalarStyle::Plain => kind_of_plain(value),
        _ => ValueKind::String,
    }
}
