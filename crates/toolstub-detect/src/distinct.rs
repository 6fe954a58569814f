//! Counting distinct things in bounded memory.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

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
/// It keeps a 64-bit digest of each item: a million of them take some 20 MB, however long they are.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    seen: HashSet<u64, BuildHasherDefault<Digest>>,
    open: bool,
}

impl Distinct {
    /// Adds `item`; true if it was not there before (as far as that can be known).
    pub(crate) fn insert(&mut self, item: &[u8]) -> bool {
        let digest = digest(item);
        if self.seen.len() < EXACT {
            return self.seen.insert(digest);
        }
        let new = !self.seen.contains(&digest);
        self.open |= new;
        new
    }

    pub(crate) fn count(&self) -> Count {
        Count { at_least: self.seen.len() as u64, open: self.open }
    }
}

/// What stands for an item: two items with one digest are not to be expected.
pub(crate) fn digest(item: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(item);
    hasher.finish()
}

/// A map from digests.
pub(crate) type ByDigest<V> = HashMap<u64, V, BuildHasherDefault<Digest>>;

/// A hasher for what is a digest already.
#[derive(Debug, Default)]
pub(crate) struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
