//! What tells data from a report with colons.
//!
//! Every line `Name: value` is YAML by the letter, and so is many a log, a header block or an
//! indented report of a command. No sign decides alone: what only YAML writes speaks for it, what
//! reports write speaks against it, and the sum decides.

use granit_parser::ScalarStyle;

use super::ValueKind;

/// The score from which on a content is YAML.
const ENOUGH: i32 = 2;
/// The score at which reading on is in vain: what may still come cannot make up for it.
const HOPELESS: i32 = -10;
/// How much of the first value is compared with the others, in bytes.
const VALUE: usize = 64;

/// What was seen, in numbers.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Whether a document begins with `---`.
    pub(super) is_explicit: bool,
    /// Keys of the first document's top level that were there before, as in stanzas.
    pub(super) repeated_keys: u64,
    keys: Keys,
    values: Values,
    /// Collections inside others.
    nested_mappings: u64,
    nested_sequences: u64,
    root_mappings: u64,
    root_sequences: u64,
    /// The items of documents that are sequences.
    items: Items,
    block_scalars: u64,
    quoted: u64,
    /// Anchors, aliases and tags.
    notations: u64,
}

#[derive(Debug, Default)]
struct Keys {
    all: u64,
    quoted: u64,
    /// Words of a program: `apiVersion`, `max-size`, `on`, `LOG_LEVEL`.
    words: u64,
    /// With a capital in front, as a label has it.
    capital: u64,
    /// Of several words.
    spaced: u64,
    /// With brackets, quotes or separators in them.
    odd: u64,
    /// Paths, and places in files.
    paths: u64,
}

#[derive(Debug, Default)]
struct Values {
    all: u64,
    booleans: u64,
    /// Plain ones of several words.
    prose: u64,
    /// Plain ones that go on in the next line.
    folded: u64,
    /// Plain ones that end as a line of code does.
    code: u64,
    /// In the line of their key.
    beside: u64,
    /// Those of them that are set off by more than one space, as in aligned columns.
    apart: u64,
    /// The first string, and how many are the same.
    first: Option<Box<str>>,
    same: u64,
}

#[derive(Debug, Default)]
struct Items {
    all: u64,
    mappings: u64,
    scalars: u64,
    prose: u64,
}

/// A scalar, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scalar<'a> {
    pub(super) value: &'a str,
    pub(super) style: ScalarStyle,
    pub(super) kind: ValueKind,
    /// Whether it goes on in the next line.
    pub(super) is_folded: bool,
    /// What stands between it and its key, if both stand in one line.
    pub(super) gap: Option<&'a str>,
}

impl Evidence {
    /// How many pairs were seen.
    pub(super) fn pairs(&self) -> u64 {
        self.keys.all
    }

    pub(super) fn key(&mut self, value: &str, style: ScalarStyle) {
        let keys = &mut self.keys;
        keys.all += 1;
        if style != ScalarStyle::Plain {
            keys.quoted += 1;
            return;
        }
        let is_spaced = value.contains(' ');
        let is_capital =
            value.chars().find(|c| c.is_alphanumeric()).is_some_and(char::is_uppercase);
        let is_capital = is_capital && !is_constant(value);
        keys.spaced += u64::from(is_spaced);
        keys.capital += u64::from(is_capital);
        keys.words += u64::from(!is_spaced && !is_capital);
        keys.paths += u64::from(value.contains(['/', ':', '\\']));
        // The paths of an interface (`/pets/{id}(.:format)`) may have anything in them.
        let odd = ['(', ')', '[', ']', '"', '\'', '=', ';', ',', '|', '`'];
        keys.odd += u64::from(!value.starts_with('/') && value.contains(odd));
    }

    pub(super) fn value(&mut self, scalar: Scalar<'_>) {
        let values = &mut self.values;
        values.all += 1;
        let is_plain = scalar.style == ScalarStyle::Plain;
        values.booleans += u64::from(scalar.kind == ValueKind::Boolean);
        values.prose += u64::from(is_prose(scalar));
        values.code += u64::from(is_plain && scalar.value.ends_with([';', '{', '(', ',']));
        values.folded += u64::from(is_plain && scalar.is_folded);
        if let Some(gap) = scalar.gap {
            let is_near = gap.strip_prefix(": ").is_some_and(|rest| !rest.starts_with([' ', '\t']));
            values.beside += 1;
            values.apart += u64::from(!is_near);
        }
        if scalar.kind == ValueKind::String && scalar.value.len() <= VALUE {
            let first = values.first.get_or_insert_with(|| scalar.value.into());
            values.same += u64::from(**first == *scalar.value);
        }
    }

    /// An item of a document that is a sequence; none is a collection.
    pub(super) fn root_item(&mut self, scalar: Option<Scalar<'_>>, is_mapping: bool) {
        self.items.all += 1;
        self.items.mappings += u64::from(is_mapping);
        self.items.scalars += u64::from(scalar.is_some());
        self.items.prose += u64::from(scalar.is_some_and(is_prose));
    }

    pub(super) fn notation(&mut self, style: ScalarStyle, is_marked: bool) {
        self.notations += u64::from(is_marked);
        match style {
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.quoted += 1,
            ScalarStyle::Literal | ScalarStyle::Folded => self.block_scalars += 1,
            ScalarStyle::Plain => {}
        }
    }

    pub(super) fn collection(&mut self, kind: ValueKind, is_root: bool) {
        match (is_root, kind == ValueKind::Object) {
            (true, true) => self.root_mappings += 1,
            (true, false) => self.root_sequences += 1,
            (false, true) => self.nested_mappings += 1,
            (false, false) => self.nested_sequences += 1,
        }
    }

    /// Whether nothing that may still come makes this YAML.
    pub(super) fn is_hopeless(&self) -> bool {
        self.score() <= HOPELESS
    }

    /// Whether the documents are sequences, and nothing but scalars stands in them.
    pub(super) fn is_list_of_scalars(&self) -> bool {
        self.root_sequences > 0 && self.root_mappings == 0 && self.items.all == self.items.scalars
    }

    /// Whether all that was seen looks like YAML.
    pub(super) fn is_enough(&self) -> bool {
        let items = &self.items;
        if self.is_list_of_scalars() {
            // Bullets are sentences, data are words.
            return items.all > 1 && items.prose * 10 <= items.all && self.values.folded == 0;
        }
        items.prose * 2 <= items.all && self.score() >= ENOUGH
    }

    fn score(&self) -> i32 {
        let Self { keys, values, items, .. } = self;
        let plain = keys.all - keys.quoted;
        let is_flat = self.nested_mappings + self.nested_sequences == 0;
        let are_records = self.root_sequences > 0 && keys.all * 2 >= items.mappings * 3;
        let are_bullets = items.all > 0 && items.mappings == keys.all;
        let is_single = keys.all < 2 && is_flat && self.block_scalars + self.notations == 0;
        let signs = [
            // What only YAML writes.
            (self.is_explicit, 2),
            (self.block_scalars > 0, 3),
            (self.notations > 0, 3),
            (self.nested_sequences > 0, 3),
            (self.nested_mappings > 0, 1),
            (are_records, 2),
            (self.quoted > 0, 1),
            (share(self.quoted, values.all, 25), 1),
            (values.booleans > 0, 1),
            // How keys are spelt.
            (share(keys.words + keys.quoted, keys.all, 90), 2),
            (share(keys.capital, plain, 50), -2),
            (share(keys.spaced, plain, 50), -4),
            (share(keys.spaced, plain, 20), -2),
            (share(keys.spaced, plain, 5), -1),
            (share(keys.odd, plain, 30), -3),
            (is_flat && share(keys.paths, plain, 50), -3),
            (share(self.repeated_keys, keys.all, 10), -3),
            (is_flat && share(self.repeated_keys, keys.all, 30), -2),
            (is_single, -4),
            // How values stand.
            (share(values.apart, values.beside, 50), -3),
            (share(values.apart, values.beside, 20), -1),
            (values.folded > 0, -1),
            (share(values.folded, values.all, 10), -2),
            (is_flat && share(values.prose, values.all, 60), -1),
            (is_flat && values.same > 1 && values.same == values.all, -2),
            (are_bullets && share(values.prose, values.all, 60), -2),
            (share(values.code, values.all, 20), -4),
        ];
        signs.iter().filter(|(applies, _)| *applies).map(|(_, weight)| weight).sum()
    }
}

/// Whether `part` is at least `percent` of `whole`, and not nothing.
fn share(part: u64, whole: u64, percent: u64) -> bool {
    part > 0 && part * 100 >= whole * percent
}

/// Whether a scalar is several words without quotes.
fn is_prose(scalar: Scalar<'_>) -> bool {
    scalar.style == ScalarStyle::Plain && scalar.value.contains(' ')
}

/// Whether a key is the name of a constant or a variable: `LOG_LEVEL`.
fn is_constant(key: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    key.contains('_') && key.bytes().all(fits)
}
