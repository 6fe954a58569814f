//! A synopsis under construction, and how it is kept small.

use std::fmt::Write as _;

use toolstub_core::text::clean;
use toolstub_core::{Kind, Synopsis};

/// The longest body without a sample, in characters.
///
/// A stub of at most 6,000 characters leaves 2,000 for the frame: with the longest ids, a ref takes
/// 550 of them, and stands in the header and once more in how to explore.
const MAX_BODY: usize = 4000;
/// The longest name where nothing else is said, in characters.
pub(crate) const MAX_NAME: usize = 80;

/// A name from the content, cleaned and cut.
pub(crate) fn name(raw: &str) -> String {
    clean(raw, MAX_NAME)
}

/// A line of a synopsis.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    Plain(String),
    List(List),
}

impl From<String> for Line {
    fn from(line: String) -> Self {
        Self::Plain(line)
    }
}

impl From<&str> for Line {
    fn from(line: &str) -> Self {
        Self::Plain(line.to_owned())
    }
}

/// A line that lists items: `label: a, b, c (+N more)`.
#[derive(Debug, Clone)]
pub(crate) struct List {
    before: String,
    items: Vec<String>,
    separator: &'static str,
    more: u64,
    after: &'static str,
}

impl List {
    /// Lists the first of `total` items.
    pub(crate) fn new(label: &str, items: Vec<String>, total: u64) -> Self {
        let more = total.saturating_sub(items.len() as u64);
        Self { before: format!("{label}: "), items, separator: ", ", more, after: "" }
    }

    pub(crate) fn separated(self, separator: &'static str, after: &'static str) -> Self {
        Self { separator, after, ..self }
    }

    fn to_line(&self) -> String {
        let mut line = self.before.clone();
        line.push_str(&self.items.join(self.separator));
        if self.more > 0 {
            let space = if self.items.is_empty() { "" } else { " " };
            let _ = write!(line, "{space}{}", more(self.more));
        }
        line.push_str(self.after);
        line
    }
}

/// A section whose last lines can be dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Items {
    lines: Vec<Line>,
    more: u64,
}

impl Items {
    /// The first of `total` lines.
    pub(crate) fn new(lines: Vec<Line>, total: u64) -> Self {
        let more = total.saturating_sub(lines.len() as u64);
        Self { lines, more }
    }
}

/// What a kind has to say.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) title: String,
    pub(crate) summary: Vec<Line>,
    /// Lines of the structure that always stand.
    pub(crate) structure: Vec<Line>,
    /// Lines of the structure that are a list.
    pub(crate) parts: Items,
    /// Notable items that always stand, after the list.
    pub(crate) remarks: Vec<Line>,
    /// Notable items that are a list.
    pub(crate) notable: Items,
    pub(crate) sample: String,
}

impl Draft {
    pub(crate) fn finish(mut self, kind: Kind) -> Synopsis {
        loop {
            let synopsis = self.synopsis(kind);
            let lines = [&synopsis.summary, &synopsis.structure, &synopsis.notable_items];
            // A line stands behind `- ` and before a line feed.
            let chars: usize =
                lines.into_iter().flatten().map(|line| line.chars().count() + 3).sum();
            if chars <= MAX_BODY || !self.drop_one(chars - MAX_BODY) {
                return synopsis;
            }
        }
    }

    /// Drops items worth about `excess` characters from the end of the longest list, at least one.
    fn drop_one(&mut self, excess: usize) -> bool {
        let length = |line: &Line| match line {
            Line::Plain(line) => line.chars().count(),
            Line::List(list) => list.to_line().chars().count(),
        };
        let sections = [&mut self.parts, &mut self.notable];
        let mut longest: Option<(usize, Longest<'_>)> = None;
        let mut offer = |size: usize, list| {
            if longest.as_ref().is_none_or(|(best, _)| size > *best) {
                longest = Some((size, list));
            }
        };
        // Inside a section that is itself a list, the section is always longer than its lines.
        for section in sections {
            let size = section.lines.iter().map(&length).sum();
            if section.lines.len() > 1 {
                offer(size, Longest::Section(section));
            }
        }
        for line in self.summary.iter_mut().chain(&mut self.structure).chain(&mut self.remarks) {
            let size = length(line);
            if let Line::List(list) = line
                && list.items.len() > 1
            {
                offer(size, Longest::Inline(list));
            }
        }
        let Some((_, longest)) = longest else { return false };
        let mut dropped = 0;
        match longest {
            Longest::Section(section) => {
                while dropped == 0 || (dropped < excess.min(400) && section.lines.len() > 1) {
                    dropped += section.lines.pop().as_ref().map_or(1, length).max(1);
                    section.more += 1;
                }
            }
            Longest::Inline(list) => {
                list.items.pop();
                list.more += 1;
            }
        }
        true
    }

    fn synopsis(&self, kind: Kind) -> Synopsis {
        let mut structure: Vec<String> = self.structure.iter().map(to_line).collect();
        append(&mut structure, &self.parts);
        let mut notable_items = Vec::new();
        append(&mut notable_items, &self.notable);
        notable_items.extend(self.remarks.iter().map(to_line));
        Synopsis {
            kind,
            title: self.title.clone(),
            summary: self.summary.iter().map(to_line).collect(),
            structure,
            notable_items,
            sample: self.sample.clone(),
        }
    }
}

enum Longest<'a> {
    Section(&'a mut Items),
    Inline(&'a mut List),
}

fn to_line(line: &Line) -> String {
    match line {
        Line::Plain(line) => line.clone(),
        Line::List(list) => list.to_line(),
    }
}

fn append(lines: &mut Vec<String>, items: &Items) {
    lines.extend(items.lines.iter().map(to_line));
    if items.more > 0 {
        lines.push(more(items.more));
    }
}

pub(crate) fn more(count: u64) -> String {
    format!("(+{count} more)")
}
