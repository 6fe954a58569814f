//! JSON as people write it into configuration files, read to where its values stand. Comments and commas
//! behind the last value are understood; whether a host does is its caller's to know.

use std::ops::Range;

use anyhow::{anyhow, bail};

/// A text that is one JSON value.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    /// The root comes first.
    nodes: Vec<Node>,
}

/// A value, where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Scalar,
    /// The items, by their numbers.
    Array(Vec<usize>),
    Object(Vec<Member>),
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    name: String,
    start: usize,
    value: usize,
}

impl<'a> Document<'a> {
    /// Reads a text. No depth costs any stack.
    pub(super) fn parse(text: &'a str) -> anyhow::Result<Self> {
        let mut reader = Reader { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
        let mut nodes: Vec<Node> = Vec::new();
        // The containers that are open.
        let mut open: Vec<usize> = Vec::new();
        loop {
            // A value, or the end of an empty container or of one with a comma behind its last value.
            reader.skip()?;
            let start = reader.at;
            let closes = open.last().is_some_and(|&at| reader.peek() == Some(nodes[at].close()));
            if !closes {
                let mut member = None;
                if let Some(&at) = open.last()
                    && matches!(nodes[at].kind, Kind::Object(_))
                {
                    let name = reader.string()?;
                    reader.skip()?;
                    reader.take(b':')?;
                    reader.skip()?;
                    member = Some(name);
                }
                let number = nodes.len();
                let value_start = reader.at;
                let kind = match reader.peek() {
                    Some(b'{') => Kind::Object(Vec::new()),
                    Some(b'[') => Kind::Array(Vec::new()),
                    _ => Kind::Scalar,
                };
                if matches!(kind, Kind::Scalar) {
                    reader.scalar()?;
                } else {
                    reader.at += 1;
                }
                let is_open = !matches!(kind, Kind::Scalar);
                nodes.push(Node { span: value_start..reader.at, kind });
                if let Some(&at) = open.last() {
                    match (&mut nodes[at].kind, member) {
                        (Kind::Object(members), Some(name)) => {
                            members.push(Member { name, start, value: number });
                        }
                        (Kind::Array(items), _) => items.push(number),
                        _ => {}
                    }
                }
                if is_open {
                    open.push(number);
                    continue;
                }
            }
            // What follows a value: a comma, or the ends of containers.
            loop {
                reader.skip()?;
                let Some(&at) = open.last() else {
                    if reader.at < text.len() {
                        return Err(reader.wrong("the end"));
                    }
                    return Ok(Self { text, nodes });
                };
                if reader.peek() == Some(nodes[at].close()) {
                    reader.at += 1;
                    nodes[at].span.end = reader.at;
                    open.pop();
                } else {
                    reader.take(b',')?;
                    break;
                }
            }
        }
    }

    pub(super) fn root(&self) -> &Node {
        &self.nodes[0]
    }

    /// The value of an object's member; where a name stands twice, the last.
    pub(super) fn member(&self, object: &Node, name: &str) -> Option<&Node> {
        let Kind::Object(members) = &object.kind else { return None };
        let member = members.iter().rev().find(|member| member.name == name)?;
        Some(&self.nodes[member.value])
    }

    /// The value that names lead to from the root.
    pub(super) fn find(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self.root(), |at, step| self.member(at, step))
    }

    /// The items of an array.
    pub(super) fn items(&self, array: &Node) -> Vec<&Node> {
        let Kind::Array(items) = &array.kind else { return Vec::new() };
        items.iter().map(|&item| &self.nodes[item]).collect()
    }

    /// The text of a value.
    pub(super) fn raw(&self, node: &Node) -> &'a str {
        &self.text[node.span.clone()]
    }

    /// The string that a value is.
    pub(super) fn string(&self, node: &Node) -> Option<String> {
        serde_json::from_str(self.raw(node)).ok()
    }

    /// Where the values of a container stand, their names included.
    pub(super) fn children(&self, container: &Node) -> Vec<Range<usize>> {
        match &container.kind {
            Kind::Scalar => Vec::new(),
            Kind::Array(items) => items.iter().map(|&item| self.nodes[item].span.clone()).collect(),
            Kind::Object(members) => members
                .iter()
                .map(|member| member.start..self.nodes[member.value].span.end)
                .collect(),
        }
    }

    /// The container of the value that stands there, and its place among the values in it.
    pub(super) fn parent(&self, span: &Range<usize>) -> Option<(&Node, usize)> {
        self.nodes.iter().find_map(|node| {
            let is_it = |&number: &usize| self.nodes[number].span == *span;
            let index = match &node.kind {
                Kind::Scalar => None,
                Kind::Array(items) => items.iter().position(is_it),
                Kind::Object(members) => members.iter().position(|member| is_it(&member.value)),
            };
            Some((node, index?))
        })
    }

    /// Where the first comma stands that is not in a comment.
    pub(super) fn comma(&self, range: Range<usize>) -> Option<usize> {
        let mut reader = Reader { text: self.text, at: range.start };
        reader.skip().ok()?;
        (reader.at < range.end && reader.peek() == Some(b',')).then_some(reader.at)
    }

    /// What the file indents by.
    pub(super) fn indent(&self) -> &'a str {
        let first = self.children(self.root()).into_iter().next();
        let indent = first.map_or("", |first| self.line_indent(first.start));
        if indent.is_empty() { "  " } else { indent }
    }

    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// The white space at the start of the line.
    pub(super) fn line_indent(&self, at: usize) -> &'a str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

impl Node {
    fn close(&self) -> u8 {
        if matches!(self.kind, Kind::Array(_)) { b']' } else { b'}' }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> anyhow::Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.wrong(&format!("`{}`", char::from(byte))))
    }

    fn wrong(&self, wanted: &str) -> anyhow::Error {
        let line = self.text[..self.at].bytes().filter(|&byte| byte == b'\n').count() + 1;
        anyhow!("in line {line} {wanted} is wanted")
    }

    /// Goes past white space and comments.
    fn skip(&mut self) -> anyhow::Result<()> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else { bail!("a comment is not closed") };
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn string(&mut self) -> anyhow::Result<String> {
        let start = self.at;
        self.take(b'"')?;
        let mut escaped = false;
        for (at, byte) in self.text.as_bytes()[self.at..].iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    let end = self.at + at + 1;
                    let string = serde_json::from_str(&self.text[start..end]);
                    self.at = start;
                    let string = string.map_err(|_| self.wrong("a valid string"))?;
                    self.at = end;
                    return Ok(string);
                }
                _ => {}
            }
        }
        Err(self.wrong("the end of the string"))
    }

    fn scalar(&mut self) -> anyhow::Result<()> {
        if self.peek() == Some(b'"') {
            return self.string().map(|_| ());
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let rest = self.rest();
        let word = &rest[..rest.len() - rest.trim_start_matches(is_part).len()];
        if serde_json::from_str::<serde_json::Value>(word).is_err() {
            return Err(self.wrong("a value"));
        }
        self.at += word.len();
        Ok(())
    }
}
