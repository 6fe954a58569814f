//! XML: one well-formed document.
//!
//! quick-xml splits the content into markup and text and matches end tags with their starts; what a
//! well-formed document needs beyond that is checked here: names, attributes, references, the
//! prolog, one root with nothing but comments and processing instructions around it. Entities are
//! looked up, never expanded, and nothing outside the content is read.

mod dtd;
mod markup;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::census::Census;
use crate::content::{Content, skip_chars, window};
use crate::distinct::{ByDigest, Count, EXACT, digest};
use crate::media_type::MediaType;
use dtd::Entities;

/// How many of the root's child tags are kept.
const CHILDREN: usize = 30;
/// How many characters of a name are kept: more than any synopsis shows.
const NAME_CHARS: usize = 400;

/// The evidence of XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xml {
    /// The root element's name as written.
    pub root: String,
    /// The root's attributes, namespace declarations not counted.
    pub attributes: u64,
    /// The root's most frequent child tags (at most 30), ties in document order.
    pub children: Vec<(String, u64)>,
    /// How many different child tags the root has.
    pub child_tags: Count,
}

/// Reads `content` as one document.
///
/// The bytes are UTF-8 whatever the document declares; an ill-formed sequence is a character like
/// any other. A script that begins with `<?php` is a processing instruction by the letter, and is
/// taken for XML only where it is declared.
pub(crate) fn scan<C: Content>(
    content: &mut C,
    census: &Census,
    declared: MediaType,
) -> Result<Option<Xml>, C::Error> {
    let start = skip_chars(content, 0, |c| c.is_ascii_whitespace() || c == '\u{feff}')?;
    if content.piece(start)?.first() != Some(&b'<') {
        return Ok(None);
    }
    let bytes = window(content, start, census.bytes as usize)?;
    Ok(read(&bytes, census, declared))
}

fn read(body: &[u8], census: &Census, declared: MediaType) -> Option<Xml> {
    let body = if census.is_utf8() { Cow::Borrowed(body) } else { replaced(body) };
    let mut document = Document::new(&body, declared);
    document.read()?;
    // Last, because a content that only begins like XML is refused much earlier.
    if markup::has_forbidden_character(&body) {
        return None;
    }
    document.evidence()
}

/// The bytes with U+FFFD in place of what is not UTF-8.
fn replaced(bytes: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// A document while it is read.
struct Document<'a> {
    body: &'a [u8],
    declared: MediaType,
    /// Whether `]]>` stands anywhere, so that texts must be searched for it.
    has_marked_end: bool,
    entities: Entities,
    has_doctype: bool,
    depth: u64,
    root: Option<(String, u64)>,
    children: Children,
    /// Reused from tag to tag.
    attribute_names: Vec<Range<usize>>,
}

impl<'a> Document<'a> {
    fn new(body: &'a [u8], declared: MediaType) -> Self {
        Self {
            body,
            declared,
            has_marked_end: memmem::find(body, b"]]>").is_some(),
            entities: Entities::default(),
            has_doctype: false,
            depth: 0,
            root: None,
            children: Children::default(),
            attribute_names: Vec::new(),
        }
    }

    /// Reads to the end, or to the first fault.
    fn read(&mut self) -> Option<()> {
        let mut reader = Reader::from_reader(self.body);
        reader.config_mut().check_comments = true;
        loop {
            let start = reader.buffer_position() as usize;
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    self.open(&tag)?;
                    self.depth += 1;
                }
                Event::Empty(tag) => self.open(&tag)?,
                Event::End(_) => self.depth -= 1,
                Event::Text(text) if self.depth == 0 => {
                    if !text.bytes().all(markup::is_space) {
                        return None;
                    }
                }
                Event::Text(text) => {
                    if self.has_marked_end && memmem::find(text.as_bytes(), b"]]>").is_some() {
                        return None;
                    }
                }
                Event::GeneralRef(name) => {
                    if self.depth == 0 || !self.entities.knows(name.as_bytes()) {
                        return None;
                    }
                }
                Event::CData(_) => {
                    if self.depth == 0 {
                        return None;
                    }
                }
                Event::Comment(_) => {}
                Event::PI(instruction) => self.instruct(&instruction)?,
                Event::Decl(declaration) => {
                    let standalone = markup::declaration(declaration.as_bytes())?;
                    if start != 0 {
                        return None;
                    }
                    self.entities.standalone = standalone;
                }
                Event::DocType(doctype) => {
                    if self.has_doctype || self.root.is_some() {
                        return None;
                    }
                    let keyword = self.body[start..].strip_prefix(b"<!DOCTYPE")?;
                    if !keyword.first().is_some_and(|&byte| markup::is_space(byte)) {
                        return None;
                    }
                    self.has_doctype = true;
                    self.entities.declare(doctype.as_bytes())?;
                }
                Event::Eof => return (self.depth == 0 && self.root.is_some()).then_some(()),
            }
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Option<()> {
        let name = tag.name().into_inner();
        if !markup::is_name(name.as_bytes()) {
            return None;
        }
        let attributes = tag.attributes_raw().as_bytes();
        self.attribute_names.clear();
        if !attributes.is_empty() {
            markup::attributes(attributes, &self.entities, &mut self.attribute_names)?;
        }
        if self.depth == 0 {
            if self.root.is_some() {
                return None;
            }
            let counted = self.attribute_names.iter().filter(|name| {
                let name = &attributes[(*name).clone()];
                name != b"xmlns" && !name.starts_with(b"xmlns:")
            });
            self.root = Some((kept(name), counted.count() as u64));
        } else if self.depth == 1 {
            self.children.count(name);
        }
        Some(())
    }

    fn instruct(&self, instruction: &str) -> Option<()> {
        let end = instruction.bytes().position(markup::is_space).unwrap_or(instruction.len());
        let target = &instruction.as_bytes()[..end];
        let is_script = self.root.is_none() && target == b"php" && self.declared != MediaType::Xml;
        (markup::is_name(target) && !target.eq_ignore_ascii_case(b"xml") && !is_script)
            .then_some(())
    }

    fn evidence(self) -> Option<Xml> {
        let (root, attributes) = self.root?;
        let child_tags = self.children.distinct();
        Some(Xml { root, attributes, children: self.children.most_frequent(), child_tags })
    }
}

/// The part of a name that is kept.
fn kept(name: &str) -> String {
    name.chars().take(NAME_CHARS).collect()
}

/// The root's child tags, in document order.
#[derive(Default)]
struct Children {
    places: ByDigest<u32>,
    counts: Vec<u64>,
    /// The names, one behind the other, and where each ends.
    names: String,
    ends: Vec<usize>,
    /// The place of the last child: a list of records looks nothing up.
    last: Option<(String, u32)>,
    open: bool,
}

impl Children {
    fn count(&mut self, name: &str) {
        if let Some((last, place)) = &self.last
            && last == name
        {
            self.counts[*place as usize] += 1;
            return;
        }
        let digest = digest(name.as_bytes());
        let place = if let Some(&place) = self.places.get(&digest) {
            place
        } else if self.counts.len() == EXACT {
            self.open = true;
            return;
        } else {
            let place = self.counts.len() as u32;
            self.places.insert(digest, place);
            self.counts.push(0);
            self.names.extend(name.chars().take(NAME_CHARS));
            self.ends.push(self.names.len());
            place
        };
        self.counts[place as usize] += 1;
        let (last, last_place) = self.last.get_or_insert_default();
        last.clear();
        last.push_str(name);
        *last_place = place;
    }

    fn distinct(&self) -> Count {
        Count { at_least: self.counts.len() as u64, open: self.open }
    }

    fn most_frequent(&self) -> Vec<(String, u64)> {
        let rank = |&place: &usize| (u64::MAX - self.counts[place], place);
        let mut places: Vec<usize> = (0..self.counts.len()).collect();
        if places.len() > CHILDREN {
            places.select_nth_unstable_by_key(CHILDREN, rank);
            places.truncate(CHILDREN);
        }
        places.sort_unstable_by_key(rank);
        places.into_iter().map(|place| (self.name(place).to_owned(), self.counts[place])).collect()
    }

    fn name(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[start..self.ends[place]]
    }
}

#[cfg(test)]
mod tests;
