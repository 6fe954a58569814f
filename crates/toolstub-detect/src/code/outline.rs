//! What is kept of a source: the first imports and declarations, and how many there are.

use super::Code;
use super::language::Language;
use crate::distinct::Distinct;

/// How many imports are kept.
const IMPORTS: usize = 12;
/// How many symbols are kept.
const SYMBOLS: usize = 24;
/// How many bytes of an import or a symbol are kept.
const KEPT_BYTES: usize = 1000;

/// Which declarations get the room first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A type, function or constant at the top level.
    Top,
    /// A macro or an alias: at the top level too, but many of them must not hide the functions.
    Minor,
    /// Inside a type.
    Member,
    /// A function that is only announced here.
    Prototype,
    /// Inside a function or a condition: shown only where nothing stands at the top level.
    Nested,
}

/// Collects imports and declarations in source order.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Where the part of the source begins that is walked over.
    part: u64,
    imports: Vec<String>,
    import_set: Distinct,
    /// For each rank, the first heads, each with its position.
    kept: [Vec<(u64, String)>; 5],
    top_set: Distinct,
}

impl Outline {
    /// Positions are told from `at` on.
    pub(super) fn begin_part(&mut self, at: u64) {
        self.part = at;
    }

    /// Notes an imported module.
    pub(super) fn import(&mut self, module: &[u8]) {
        let module = module.trim_ascii();
        if !module.is_empty() && self.import_set.insert(module) && self.imports.len() < IMPORTS {
            self.imports.push(folded(module));
        }
    }

    /// Notes a declaration: its head up to the name, and where in the part it begins.
    pub(super) fn symbol(&mut self, rank: Rank, at: usize, head: &[u8]) {
        let head = head.trim_ascii();
        let at = self.part + at as u64;
        let kept = &mut self.kept[rank as usize];
        match rank {
            _ if head.is_empty() => {}
            Rank::Top | Rank::Minor => {
                if self.top_set.insert(head) && kept.len() < SYMBOLS {
                    kept.push((at, folded(head)));
                }
            }
            Rank::Member | Rank::Prototype | Rank::Nested if kept.len() < SYMBOLS => {
                let head = folded(head);
                if kept.iter().all(|(_, other)| *other != head) {
                    kept.push((at, head));
                }
            }
            Rank::Member | Rank::Prototype | Rank::Nested => {}
        }
    }

    /// Whether declarations of a rank are still wanted.
    pub(super) fn has_room_for(&self, rank: Rank) -> bool {
        let full = |rank: Rank| self.kept[rank as usize].len() >= SYMBOLS;
        rank <= Rank::Minor || !full(rank) && !full(Rank::Top)
    }

    pub(super) fn finish(self, language: Language) -> Code {
        let [mut heads, minor, members, mut prototypes, nested] = self.kept;
        if heads.is_empty() {
            heads = nested;
        }
        prototypes.retain(|(_, head)| heads.iter().all(|(_, other)| name(other) != name(head)));
        for more in [minor, members, prototypes] {
            let room = SYMBOLS - heads.len();
            heads.extend(more.into_iter().take(room));
        }
        heads.sort_by_key(|&(at, _)| at);
        Code {
            language: language.name(),
            imports: self.imports,
            import_count: self.import_set.count().at_least,
            symbol_count: self.top_set.count().at_least.max(heads.len() as u64),
            symbols: heads.into_iter().map(|(_, head)| head).collect(),
        }
    }
}

fn name(head: &str) -> &str {
    head.rsplit(|c: char| c.is_whitespace() || matches!(c, '*' | '&' | ':')).next().unwrap_or(head)
}

/// The text of `bytes` with white space folded to single spaces, cut at a bound.
fn folded(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT_BYTES)]);
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    line
}
