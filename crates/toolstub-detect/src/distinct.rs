//! Counting distinct things in bounded memory.

use std::collections::HashSet;
use std::fmt;

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
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    seen: HashSet<Box<[u8]>>,
    open: bool,
}

impl Distinct {
    /// Adds `item`; true if it was not there before (as far as that can be known).
    pub(crate) fn insert(&mut self, item: &[u8]) -> bool {
        if self.seen.contains(item) {
            return false;
        }
        if self.seen.len() == EXACT {
            self.open = true;
            return true;
        }
        self.seen.insert(item.into())
    }

    pub(crate) fn count(&self) -> Count {
        Count { at_least: self.seen.len() as u64, open: self.open }
    }
}
