//! Numbers that look random, the same for the same seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// A sequence of numbers (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that nobody chose.
    pub(super) fn fresh_seed() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Short enough to be typed again.
        Self(since.as_nanos() as u64).next() >> 40
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// A number of `from..to`, evenly.
    pub(super) fn between(&mut self, from: f64, to: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        from + part * (to - from)
    }

    /// A size of `from..=to`, each doubling as likely as the next.
    pub(super) fn size(&mut self, from: usize, to: usize) -> usize {
        let doublings = (to / from.max(1)).max(1).ilog2();
        let low = from << self.below(u64::from(doublings) + 1);
        let high = (low * 2).min(to).max(low);
        low + self.below((high - low) as u64 + 1) as usize
    }

    /// `true` in so many of a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (random.next(), random.size(1000, 1 << 20), random.below(7))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let mut random = Random::new(3);
        assert!((0..1000).all(|_| (1000..=2000).contains(&random.size(1000, 2000))));
    }
}
