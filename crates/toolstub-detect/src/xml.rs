//! XML: one well-formed document.
//!
//! A resumable splitter tells markup from text; what a well-formed document needs beyond that is
//! checked here: names, attributes, references, end tags, the prolog, one root with nothing but
//! comments and processing instructions around it. Entities are looked up, never expanded, and
//! nothing outside the content is read.
//!
//! Tried before: quick-xml, over a slice. Over a reader it gathers every text and comment, however
//! long; in the tests it is the witness.

mod children;
mod dtd;
mod markup;
mod split;

use std::ops::{ControlFlow, Range};

use crate::census::Census;
use crate::content::{Content, Uncut, each_piece, skip_chars};
use crate::distinct::{Count, digest};
use crate::media_type::MediaType;

use children::{Children, Frequent};
use dtd::Entities;
use split::{Listener, Splitter};

/// How many of the root's child tags are kept.
const CHILDREN: usize = 30;
/// How many characters of a name are kept: more than any synopsis shows.
const NAME_CHARS: usize = 400;
/// How much memory the names of the open elements may take; what nests deeper is no document.
const OPEN_BYTES: usize = 8 << 20;

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
    let mut document = Document::new(declared);
    if !read(content, start, census, &mut document)? {
        return Ok(None);
    }
    let Some((root, attributes)) = document.root else { return Ok(None) };
    let child_tags = document.children.distinct();
    let mut frequent = document.children.most_frequent();
    drop(document.children);
    if frequent.iter().any(|tag| tag.name.is_none()) {
        let mut names = Names { depth: 0, frequent: &mut frequent };
        read(content, start, census, &mut names)?;
    }
    let children = frequent.into_iter().map(|tag| (tag.name.unwrap_or_default(), tag.count));
    Ok(Some(Xml { root, attributes, children: children.collect(), child_tags }))
}

/// Reads on from `start` to the end or to the first fault; whether there was none.
fn read<C: Content>(
    content: &mut C,
    start: u64,
    census: &Census,
    listener: &mut (impl Listener + Ends),
) -> Result<bool, C::Error> {
    let mut splitter = Splitter::new();
    let mut uncut = Uncut::default();
    let mut fits = true;
    let mut take = |block: &[u8]| {
        let mut feed = |block: &[u8]| {
            !markup::has_forbidden_character(block) && splitter.feed(block, listener).is_some()
        };
        fits = fits
            && if census.is_utf8() {
                feed(block)
            } else {
                feed(String::from_utf8_lossy(block).as_bytes())
            };
        if fits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    each_piece(content, start, |piece| {
        let mut flow = ControlFlow::Continue(());
        uncut.feed(piece, &mut |block| flow = take(block));
        flow
    })?;
    uncut.finish(&mut |block| {
        let _ = take(block);
    });
    Ok(fits && splitter.may_end() && listener.may_end())
}

/// Who knows whether a document may end.
trait Ends {
    fn may_end(&self) -> bool;
}

/// A document while it is read.
struct Document {
    declared: MediaType,
    entities: Entities,
    has_doctype: bool,
    /// The names of the open elements, one behind the other, and where each begins.
    open_names: Vec<u8>,
    open_starts: Vec<u32>,
    root: Option<(String, u64)>,
    children: Children,
    /// Reused from tag to tag.
    attribute_names: Vec<Range<u32>>,
}

impl Document {
    fn new(declared: MediaType) -> Self {
        Self {
            declared,
            entities: Entities::default(),
            has_doctype: false,
            open_names: Vec::new(),
            open_starts: Vec::new(),
            root: None,
            children: Children::default(),
            attribute_names: Vec::new(),
        }
    }

    fn is_outside(&self) -> bool {
        self.open_starts.is_empty()
    }

    /// Opens an element, with what follows its name in the tag.
    fn open(&mut self, name: &[u8], attributes: &[u8]) -> Option<()> {
        if !markup::is_name(name) {
            return None;
        }
        self.attribute_names.clear();
        if !attributes.is_empty() {
            markup::attributes(attributes, &self.entities, &mut self.attribute_names)?;
        }
        match self.open_starts.len() {
            0 => {
                if self.root.is_some() {
                    return None;
                }
                let counted = self.attribute_names.iter().filter(|name| {
                    let name = &attributes[name.start as usize..name.end as usize];
                    name != b"xmlns" && !name.starts_with(b"xmlns:")
                });
                self.root = Some((kept(std::str::from_utf8(name).ok()?), counted.count() as u64));
            }
            1 => self.children.count(std::str::from_utf8(name).ok()?),
            _ => {}
        }
        Some(())
    }
}

impl Ends for Document {
    fn may_end(&self) -> bool {
        self.is_outside() && self.root.is_some()
    }
}

impl Listener for Document {
    fn text(&mut self, part: &[u8]) -> Option<()> {
        (!self.is_outside() || part.iter().all(|&byte| markup::is_space(byte))).then_some(())
    }

    fn reference(&mut self, name: &[u8]) -> Option<()> {
        (!self.is_outside() && self.entities.knows(name)).then_some(())
    }

    fn start(&mut self, tag: &[u8], is_empty: bool) -> Option<()> {
        let (name, attributes) = tag.split_at(tag_name_len(tag));
        self.open(name, attributes)?;
        if !is_empty {
            let taken = self.open_names.len() + self.open_starts.len() * size_of::<u32>();
            if taken + name.len() > OPEN_BYTES {
                return None;
            }
            self.open_starts.push(self.open_names.len() as u32);
            self.open_names.extend_from_slice(name);
        }
        Some(())
    }

    fn end(&mut self, tag: &[u8]) -> Option<()> {
        let start = self.open_starts.pop()? as usize;
        let spaces = tag.iter().rev().take_while(|&&byte| markup::is_space(byte)).count();
        let fits = tag[..tag.len() - spaces] == self.open_names[start..];
        self.open_names.truncate(start);
        fits.then_some(())
    }

    fn cdata(&mut self) -> Option<()> {
        (!self.is_outside()).then_some(())
    }

    fn instruction(&mut self, content: &[u8], is_first: bool) -> Option<()> {
        let end = tag_name_len(content);
        let target = &content[..end];
        if target == b"xml" {
            self.entities.standalone = markup::declaration(content)?;
            return is_first.then_some(());
        }
        let is_script = self.root.is_none() && target == b"php" && self.declared != MediaType::Xml;
        (markup::is_name(target) && !target.eq_ignore_ascii_case(b"xml") && !is_script)
            .then_some(())
    }

    fn doctype(&mut self, content: &[u8]) -> Option<()> {
        if self.has_doctype || self.root.is_some() || !markup::is_space(*content.first()?) {
            return None;
        }
        self.has_doctype = true;
        self.entities.declare(content)
    }
}

/// Looks for the names of tags of which only the digests are known, in a document that was read.
struct Names<'a> {
    depth: u64,
    frequent: &'a mut [Frequent],
}

impl Ends for Names<'_> {
    fn may_end(&self) -> bool {
        true
    }
}

impl Listener for Names<'_> {
    fn text(&mut self, _part: &[u8]) -> Option<()> {
        Some(())
    }

    fn reference(&mut self, _name: &[u8]) -> Option<()> {
        Some(())
    }

    fn start(&mut self, tag: &[u8], is_empty: bool) -> Option<()> {
        if self.depth == 1 {
            let name = &tag[..tag_name_len(tag)];
            let digest = digest(name);
            let tag = self.frequent.iter_mut().find(|tag| tag.digest == digest);
            if let Some(tag) = tag.filter(|tag| tag.name.is_none()) {
                tag.name = Some(kept(&String::from_utf8_lossy(name)));
            }
        }
        self.depth += u64::from(!is_empty);
        // Nothing is read beyond the last name.
        self.frequent.iter().any(|tag| tag.name.is_none()).then_some(())
    }

    fn end(&mut self, _tag: &[u8]) -> Option<()> {
        self.depth = self.depth.saturating_sub(1);
        Some(())
    }

    fn cdata(&mut self) -> Option<()> {
        Some(())
    }

    fn instruction(&mut self, _content: &[u8], _is_first: bool) -> Option<()> {
        Some(())
    }

    fn doctype(&mut self, _content: &[u8]) -> Option<()> {
        Some(())
    }
}

/// The length of what stands before the first white space.
fn tag_name_len(tag: &[u8]) -> usize {
    tag.iter().position(|&byte| markup::is_space(byte)).unwrap_or(tag.len())
}

/// The part of a name that is kept.
fn kept(name: &str) -> String {
    name.chars().take(NAME_CHARS).collect()
}

#[cfg(test)]
mod tests;
