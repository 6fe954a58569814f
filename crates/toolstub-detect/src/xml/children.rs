//! The root's child tags, counted in bounded memory.

use crate::distinct::{Count, EXACT, digest};

use super::{CHILDREN, kept};

/// How much is kept of names, all in all, in bytes; those that find no room are read again if they
/// turn out to be among the most frequent.
const NAMES_BYTES: usize = 1 << 20;

/// The root's child tags, in document order: a million of them take some 20 MiB.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// For each digest, from its own place on, its number and one; zero is free.
    places: Vec<u32>,
    digests: Vec<u64>,
    counts: Vec<u32>,
    /// The names of the first, one behind the other, and where each ends.
    names: String,
    ends: Vec<u32>,
    /// The name of the last child, and its number: a list of records looks nothing up.
    last: Vec<u8>,
    last_number: Option<usize>,
    open: bool,
}

/// A tag that is among the most frequent.
#[derive(Debug)]
pub(super) struct Frequent {
    pub(super) digest: u64,
    pub(super) count: u64,
    pub(super) name: Option<String>,
}

impl Children {
    pub(super) fn count(&mut self, name: &str) {
        let number = match self.last_number {
            Some(number) if self.last == name.as_bytes() => number,
            _ => {
                let Some(number) = self.number(name) else {
                    self.open = true;
                    return;
                };
                self.last.clear();
                self.last.extend_from_slice(name.as_bytes());
                self.last_number = Some(number);
                number
            }
        };
        self.counts[number] = self.counts[number].saturating_add(1);
    }

    /// The number of a tag; none if there are too many before it.
    fn number(&mut self, name: &str) -> Option<usize> {
        let digest = digest(name.as_bytes());
        if self.digests.len() < EXACT && self.digests.len() * 8 >= self.places.len() * 7 {
            self.grow();
        }
        let place = self.place(digest);
        if let Some(number) = (self.places[place] as usize).checked_sub(1) {
            return Some(number);
        }
        if self.digests.len() == EXACT {
            return None;
        }
        let number = self.digests.len();
        self.places[place] = number as u32 + 1;
        self.digests.push(digest);
        self.counts.push(0);
        if self.ends.len() == number && self.names.len() < NAMES_BYTES {
            self.names.push_str(&kept(name));
            self.ends.push(self.names.len() as u32);
        }
        Some(number)
    }

    /// Where a digest stands, or would stand: there is always a free place.
    fn place(&self, digest: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = digest as usize & mask;
        while let Some(number) = (self.places[place] as usize).checked_sub(1)
            && self.digests[number] != digest
        {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let length = (self.places.len() * 2).max(16);
        self.places.clear();
        self.places.resize(length, 0);
        for number in 0..self.digests.len() {
            let place = self.place(self.digests[number]);
            self.places[place] = number as u32 + 1;
        }
    }

    pub(super) fn distinct(&self) -> Count {
        Count { at_least: self.digests.len() as u64, open: self.open }
    }

    pub(super) fn most_frequent(&self) -> Vec<Frequent> {
        let rank = |&number: &u32| (u32::MAX - self.counts[number as usize], number);
        let mut numbers: Vec<u32> = (0..self.counts.len() as u32).collect();
        if numbers.len() > CHILDREN {
            numbers.select_nth_unstable_by_key(CHILDREN, rank);
            numbers.truncate(CHILDREN);
        }
        numbers.sort_unstable_by_key(rank);
        let frequent = |number: u32| {
            let number = number as usize;
            let (digest, count) = (self.digests[number], u64::from(self.counts[number]));
            Frequent { digest, count, name: self.name(number) }
        };
        numbers.into_iter().map(frequent).collect()
    }

    fn name(&self, number: usize) -> Option<String> {
        let end = *self.ends.get(number)? as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(self.names[start..end].to_owned())
    }
}
