//! Counting distinct things in bounded memory.

use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};

/// How many distinct things are counted exactly.
pub(crate) const EXACT: usize = 1_000_000;

/// A number of distinct things: exact up to 1,000,000, a lower bound beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many there are, or at least are.
    pub at_least: u64,
    /// Whether there may be more.
    pub open: bool,
}

impl Count {
    /// An exact count.
    pub fn exact(count: u64) -> Self {
        Self { at_least: count, open: false }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.open {
            f.write_str("≥")?;
        }
        self.at_least.fmt(f)
    }
}

/// A set that only answers whether something is new, and how many there were.
///
/// It keeps a 64-bit digest of each item: a million of them take 16 MiB, half as much more while
/// it grows for the last time, however long they are.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    /// The digests, each in the first free place from its own on; zero is free.
    places: Vec<u64>,
    count: usize,
    open: bool,
}

impl Distinct {
    /// Adds `item`; true if it was not there before (as far as that can be known).
    pub(crate) fn insert(&mut self, item: &[u8]) -> bool {
        self.insert_digest(digest(item))
    }

    fn insert_digest(&mut self, digest: u64) -> bool {
        // One in so many digests stands for two.
        let digest = digest.max(1);
        let is_full = self.count == EXACT;
        if !is_full && self.count * 8 >= self.places.len() * 7 {
            self.grow();
        }
        let place = self.place(digest);
        if self.places[place] == digest {
            return false;
        }
        if is_full {
            self.open = true;
        } else {
            self.places[place] = digest;
            self.count += 1;
        }
        true
    }

    pub(crate) fn count(&self) -> Count {
        Count { at_least: self.count as u64, open: self.open }
    }

    /// Where a digest stands, or would stand: there is always a free place.
    fn place(&self, digest: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = digest as usize & mask;
        while self.places[place] != 0 && self.places[place] != digest {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let length = (self.places.len() * 2).max(16);
        let before = std::mem::replace(&mut self.places, vec![0; length]);
        for digest in before.into_iter().filter(|&digest| digest != 0) {
            let place = self.place(digest);
            self.places[place] = digest;
        }
    }
}

/// What stands for an item: two items with one digest are not to be expected.
pub(crate) fn digest(item: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(item);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_items_are_counted_up_to_a_bound() {
        let mut distinct = Distinct::default();
        for round in 0..2 {
            for i in 0..EXACT as u64 {
                assert_eq!(distinct.insert(&i.to_le_bytes()), round == 0);
            }
            assert_eq!(distinct.count(), Count::exact(EXACT as u64));
        }
        assert!(distinct.insert(b"one more"));
        assert_eq!(distinct.count(), Count { at_least: EXACT as u64, open: true });
    }
}
