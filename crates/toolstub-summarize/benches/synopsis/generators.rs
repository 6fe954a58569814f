//! Contents to measure on: seeded, so that every run sees the same bytes.

use std::fmt::Write as _;

/// A small deterministic generator of numbers (an xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 24] = [
            "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbour", "inlet",
            "juniper", "kelp", "lagoon", "meadow", "north", "orchard", "pebble", "quarry", "ridge",
            "shore", "tundra", "upland", "valley", "willow", "zephyr",
        ];
        WORDS[self.below(24) as usize]
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn grow(size: usize, seed: u64, mut step: impl FnMut(&mut String, &mut Dice, u64)) -> String {
    let mut text = String::with_capacity(size + 4096);
    let mut dice = Dice(seed);
    let mut index = 0;
    while text.len() < size {
        step(&mut text, &mut dice, index);
        index += 1;
    }
    text
}

/// One array of records, as an API returns them.
pub(crate) fn json(size: usize) -> String {
    let mut text = grow(size, 1, |text, dice, index| {
        let open = if index == 0 { "[" } else { "," };
        let (id, name) = (dice.below(1 << 40), dice.words(2));
        let (score, active) = (dice.below(100_000), dice.below(2) == 0);
        let (tag, other, note) = (dice.word(), dice.word(), dice.words(9));
        let _ = write!(
            text,
            "{open}\n  {{\"id\": {id}, \"name\": \"{name}\", \"score\": {}.{:02}, \"active\": \
             {active}, \"tags\": [\"{tag}\", \"{other}\"], \"owner\": {{\"login\": \"{tag}{id}\", \
             \"url\": \"https://example.org/{other}/{id}\"}}, \"note\": \"{note}\", \"parent\": null}}",
            score / 100,
            score % 100,
        );
    });
    text.push_str("\n]\n");
    text
}

/// A table with a header, numbers, words and some quoted cells.
pub(crate) fn table(size: usize, delimiter: char) -> String {
    let columns = ["id", "created_at", "customer", "city", "amount", "status", "note"];
    let header = columns.join(&delimiter.to_string()) + "\n";
    let body = grow(size, 2, |text, dice, index| {
        let (day, customer, city) = (dice.below(28) + 1, dice.words(2), dice.word());
        let (amount, status) = (dice.below(1_000_000), dice.word());
        let note = if delimiter == ',' && dice.below(8) == 0 {
            format!("\"{}, {}\"", dice.words(3), dice.word())
        } else {
            dice.words(3)
        };
        let d = delimiter;
        let _ = writeln!(
            text,
            "{index}{d}2026-03-{day:02}T10:15:00Z{d}{customer}{d}{city}{d}{}.{:02}{d}{status}{d}{note}",
            amount / 100,
            amount % 100,
        );
    });
    header + &body
}

/// A feed of records with attributes and text.
pub(crate) fn xml(size: usize) -> String {
    let head =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<records xmlns=\"urn:x\" version=\"2\">\n";
    let body = grow(size, 3, |text, dice, index| {
        let (name, kind, price) = (dice.words(2), dice.word(), dice.below(100_000));
        let note = dice.words(12);
        let _ = writeln!(
            text,
            "  <record id=\"{index}\" kind=\"{kind}\">\n    <name>{name}</name>\n    \
             <price currency=\"EUR\">{price}</price>\n    <note>{note} &amp; more</note>\n  </record>",
        );
    });
    format!("{head}{body}</records>\n")
}

/// A log with prose in it.
pub(crate) fn text(size: usize) -> String {
    grow(size, 4, |text, dice, index| {
        let (second, level) = (index % 60, ["INFO", "WARN", "ERROR"][dice.below(3) as usize]);
        let (count, note) = (dice.below(12) + 4, dice.below(4096));
        let words = dice.words(count);
        let _ = writeln!(
            text,
            "2026-03-01 10:15:{second:02},{:03} {level} [worker-{}] {words}: took {note} ms, ok",
            note % 1000,
            note % 16,
        );
    })
}

/// Source code of many functions and types.
pub(crate) fn code(size: usize) -> String {
    let head = "//! Generated.\nuse std::collections::HashMap;\nuse std::fmt;\n\n";
    let body = grow(size, 5, |text, dice, index| {
        let (a, b, note) = (dice.word(), dice.word(), dice.words(8));
        let _ = write!(
            text,
            "/// {note}.\npub struct {a}{index} {{\n    {b}: u64,\n    name: String,\n}}\n\n\
             impl {a}{index} {{\n    /// Makes one.\n    pub fn new({b}: u64) -> Self {{\n        \
             // {note}\n        let name = format!(\"{{}}-{{}}\", \"{a}\", {b});\n        \
             Self {{ {b}, name }}\n    }}\n}}\n\npub fn make_{b}_{index}(map: &mut HashMap<u64, \
             String>) -> Option<u64> {{\n    if map.is_empty() {{\n        return None;\n    }}\n    \
             Some(map.len() as u64 + {index})\n}}\n\n",
        );
    });
    head.to_owned() + &body
}
