//! What tells data from a report with colons.
//!
//! Every line `Name: value` is YAML by the letter, and so is many a log, a header block or an
//! indented report of a command. None of the signs below decides alone; they are weighed.

use granit_parser::{ScalarStyle, Span};

use super::ValueKind;

/// The score from which on a content is YAML.
const ENOUGH: i32 = 2;
/// The score under which reading on is in vain.
const HOPELESS: i32 = -2;

/// What was seen, in numbers.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Keys, at any depth.
    pub(super) pairs: u64,
    /// Keys of the first document's top level that were there before: stanzas.
    pub(super) repeated_keys: u64,
    is_explicit: bool,
    quoted_keys: u64,
    /// Plain keys that are words of a program: `apiVersion`, `max-size`, `on`.
    word_keys: u64,
    /// Plain keys that begin with a capital, as a label does.
    capital_keys: u64,
    /// Plain keys of several words.
    spaced_keys: u64,
    /// Plain keys with brackets, quotes, separators.
    odd_keys: u64,
    /// Plain keys that are paths or places in files.
    path_keys: u64,
    /// Values in the line of their key.
    beside: u64,
    /// Those further away than one space.
    distant: u64,
    last_key: Option<Span>,
    scalars: u64,
    /// Plain scalars that go on in the next line.
    folded_plain: u64,
    /// Plain scalars of several words.
    prose: u64,
    quoted: u64,
    booleans: u64,
    block_scalars: u64,
    /// Anchors, aliases and tags.
    notations: u64,
    /// Mappings and sequences inside the documents' roots.
    nested_mappings: u64,
    nested_sequences: u64,
    items: u64,
    root_mappings: u64,
    root_sequences: u64,
    /// The items of roots that are sequences: all, mappings, scalars, prose.
    root_items: [u64; 4],
}

impl Evidence {
    pub(super) fn document(&mut self, is_explicit: bool) {
        self.is_explicit |= is_explicit;
        self.last_key = None;
    }

    pub(super) fn key(&mut self, value: &str, style: ScalarStyle, span: Span, _depth: usize) {
        self.pairs += 1;
        self.last_key = Some(span);
        if style != ScalarStyle::Plain {
            self.quoted_keys += 1;
            return;
        }
        if value.contains(' ') {
            self.spaced_keys += 1;
        }
        let is_path = value.starts_with('/');
        if !is_path && value.contains(['(', ')', '[', ']', '"', '\'', '=', ';', ',', '|', '`']) {
            self.odd_keys += 1;
        }
        if value.contains(['/', ':', '\\']) {
            self.path_keys += 1;
        }
        let first = value.chars().find(|c| c.is_alphanumeric());
        if first.is_some_and(char::is_uppercase) && !is_constant(value) {
            self.capital_keys += 1;
        } else if !value.contains(' ') {
            self.word_keys += 1;
        }
    }

    pub(super) fn value(
        &mut self,
        value: &str,
        style: ScalarStyle,
        span: Span,
        kind: ValueKind,
        is_item: bool,
        depth: usize,
    ) {
        self.scalars += 1;
        if let Some(key) = self.last_key.take()
            && key.end.line() == span.start.line()
            && !value.is_empty()
        {
            self.beside += 1;
            self.distant += u64::from(span.start.index() > key.end.index() + 2);
        }
        let is_plain = style == ScalarStyle::Plain;
        let is_prose = is_plain && value.trim_end().contains(' ');
        self.prose += u64::from(is_prose);
        self.folded_plain += u64::from(is_plain && span.start.line() != span.end.line());
        self.booleans += u64::from(kind == ValueKind::Boolean);
        if is_item {
            self.items += 1;
            if depth == 1 {
                self.root_items[0] += 1;
                self.root_items[2] += 1;
                self.root_items[3] += u64::from(is_prose);
            }
        }
    }

    pub(super) fn notation(&mut self, style: ScalarStyle, is_marked: bool) {
        self.notations += u64::from(is_marked);
        match style {
            ScalarStyle::Plain => {}
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.quoted += 1,
            ScalarStyle::Literal | ScalarStyle::Folded => self.block_scalars += 1,
        }
    }

    /// A collection inside `depth` others.
    pub(super) fn collection(&mut self, kind: ValueKind, depth: usize) {
        self.last_key = None;
        let is_mapping = kind == ValueKind::Object;
        match (depth, is_mapping) {
            (0, true) => self.root_mappings += 1,
            (0, false) => self.root_sequences += 1,
            (_, true) => self.nested_mappings += 1,
            (_, false) => self.nested_sequences += 1,
        }
        if depth == 1 && self.root_sequences > 0 {
            self.root_items[0] += 1;
            self.root_items[1] += u64::from(is_mapping);
        }
    }

    pub(super) fn is_hopeless(&self) -> bool {
        self.score() <= HOPELESS
    }

    pub(super) fn is_enough(&self, documents: u64) -> bool {
        if documents == 0 {
            return false;
        }
        let [all, _, scalars, prose] = self.root_items;
        if self.root_sequences > 0 && self.root_mappings == 0 && all == scalars {
            // A list of scalars: bullets are prose.
            return all > 1 && prose * 10 <= all && self.folded_plain == 0;
        }
        if self.root_sequences > 0 && prose * 2 > all {
            return false;
        }
        self.score() >= ENOUGH
    }

    fn score(&self) -> i32 {
        let plain_keys = self.pairs - self.quoted_keys;
        let is_flat = self.nested_mappings + self.nested_sequences == 0;
        let mut score = 0;
        let mut weigh = |applies: bool, weight: i32| score += if applies { weight } else { 0 };
        // Only YAML writes these.
        weigh(self.is_explicit, 2);
        weigh(self.block_scalars > 0, 3);
        weigh(self.notations > 0, 3);
        weigh(self.nested_sequences > 0, 3);
        weigh(self.nested_mappings > 0, 1);
        weigh(self.quoted > 0, 1);
        weigh(share(self.quoted, self.scalars, 25), 1);
        weigh(self.booleans > 0, 1);
        weigh(self.root_sequences > 0 && self.pairs * 2 >= self.root_items[1] * 3, 2);
        // How keys are spelt.
        weigh(share(self.word_keys + self.quoted_keys, self.pairs, 90), 2);
        weigh(share(self.capital_keys, plain_keys, 50), -2);
        weigh(share(self.spaced_keys, plain_keys, 50), -4);
        weigh(share(self.spaced_keys, plain_keys, 20), -2);
        weigh(share(self.spaced_keys, plain_keys, 5), -1);
        weigh(share(self.odd_keys, plain_keys, 30), -3);
        weigh(is_flat && share(self.path_keys, plain_keys, 50), -3);
        // How values are set.
        weigh(share(self.distant, self.beside, 50), -3);
        weigh(share(self.distant, self.beside, 20), -1);
        weigh(self.folded_plain > 0, -1);
        weigh(share(self.folded_plain, self.scalars, 10), -2);
        weigh(is_flat && share(self.prose, self.scalars, 60), -1);
        weigh(self.repeated_keys > 0, -4);
        weigh(self.pairs < 2 && is_flat, -4);
        score
    }
}

/// Whether `part` is at least `percent` of `whole`, and not nothing.
fn share(part: u64, whole: u64, percent: u64) -> bool {
    part > 0 && part * 100 >= whole * percent
}

/// Whether a key is the name of a constant or a variable: `LOG_LEVEL`.
fn is_constant(key: &str) -> bool {
    key.contains('_')
        && key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
