//! The names of message objects: all that a listing has to tell.

use std::fmt;

/// The digits of the microseconds since 1970, until the year 2286.
const TIME_DIGITS: usize = 16;
/// The last time that has no more digits.
const LAST: u64 = 9_999_999_999_999_999;
/// The latest time that is taken for one: in the year 2128.
const LATEST: u64 = 5_000_000_000_000_000;
/// The most messages of an object, and the most tokens.
const MOST: u64 = 1_000_000;
const MOST_TOKENS: u64 = 1 << 40;
/// The digits of what tells an object from all others.
const UNIQUE_DIGITS: usize = 16;
/// The digits of a checksum.
const CHECKSUM_DIGITS: usize = 8;
/// The end of each name.
const EXTENSION: &str = ".jsonl";

/// The name of the object that one request made: its messages, one a line.
///
/// Names sort by time. They tell how many messages there are and what they weigh, so that neither
/// takes a look into the objects, and what the object's bytes must add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name {
    /// Microseconds since 1970; later than all that was in the session before.
    pub(crate) micros: u64,
    pub(crate) unique: Unique,
    /// How many messages the object holds.
    pub(crate) count: u64,
    /// The estimate of their tokens.
    pub(crate) tokens: u64,
    /// The CRC-32C of the object.
    pub(crate) crc32c: u32,
}

/// What tells an object from all others: chance, or what a request's idempotency key comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Unique(u64);

impl Unique {
    const KEYED: u64 = 1 << 63;

    /// Of 63 bits of chance.
    pub(crate) fn of_chance(bits: u64) -> Self {
        Self(bits & !Self::KEYED)
    }

    /// Of 63 bits of a key's digest.
    pub(crate) fn of_key(bits: u64) -> Self {
        Self(bits | Self::KEYED)
    }

    /// Whether there may be another object with the same: the same request, sent again.
    pub(crate) fn is_keyed(self) -> bool {
        self.0 & Self::KEYED != 0
    }
}

impl Name {
    /// Reads a name; `None` for an object that is none of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(EXTENSION)?.split('-');
        let (micros, unique) = (parts.next()?, parts.next()?);
        let (count, tokens, crc32c) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = micros.len() == TIME_DIGITS
            && is_hexadecimal(unique, UNIQUE_DIGITS)
            && is_hexadecimal(crc32c, CHECKSUM_DIGITS)
            && parts.next().is_none();
        if !fits {
            return None;
        }
        let name = Self {
            micros: number(micros)?,
            unique: Unique(u64::from_str_radix(unique, 16).ok()?),
            count: number(count)?,
            tokens: number(tokens)?,
            crc32c: u32::from_str_radix(crc32c, 16).ok()?,
        };
        // What no server gives would be in the way of what they do.
        let is_ours =
            name.micros <= LATEST && (1..=MOST).contains(&name.count) && name.tokens <= MOST_TOKENS;
        is_ours.then_some(name)
    }

    /// A marker that stands before all names of a time, and behind all of earlier ones.
    pub(crate) fn marker(micros: u64) -> String {
        format!("{micros:0TIME_DIGITS$}")
    }

    /// A time later than another one.
    pub(crate) fn after(micros: u64) -> u64 {
        micros.saturating_add(1).min(LAST)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { micros, unique: Unique(unique), count, tokens, crc32c } = self;
        write!(f, "{micros:0TIME_DIGITS$}-{unique:0UNIQUE_DIGITS$x}-{count}-{tokens}")?;
        write!(f, "-{crc32c:0CHECKSUM_DIGITS$x}{EXTENSION}")
    }
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A number of digits alone: `parse` would take a sign.
fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_come_back() {
        let name = |micros, unique, count, tokens| {
            let unique = Unique(unique);
            Name { micros, unique, count, tokens, crc32c: 0xab }
        };
        let early = name(1_796_061_332_123_456, 0x00ff_00ff_00ff_00ff, 100, 25_000);
        let late = name(1_796_061_332_123_457, 0, 1, 0);
        let written = "1796061332123456-00ff00ff00ff00ff-100-25000-000000ab.jsonl";
        assert_eq!(early.to_string(), written);
        assert_eq!(Name::parse(written), Some(early));
        assert!(early.to_string() < late.to_string() && early < late);
    }

    #[test]
    fn a_marker_stands_before_the_names_of_its_time() {
        let name =
            |micros| Name { micros, unique: Unique(0), count: 1, tokens: 1, crc32c: 0 }.to_string();
        assert!(name(41) < Name::marker(42) && Name::marker(42) < name(42));
        assert_eq!((Name::after(41), Name::after(LAST)), (42, LAST));
    }

    #[test]
    fn keys_and_chance_do_not_meet() {
        assert!(Unique::of_key(7).is_keyed() && !Unique::of_chance(u64::MAX).is_keyed());
        assert_ne!(Unique::of_key(7), Unique::of_chance(7));
    }

    #[test]
    fn other_objects_are_no_messages() {
        for other in [
            "",
            ".jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-2-00000000.json",
            "1796061332123456-00ff00ff00ff00ff-1-2.jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-2-00000000-3.jsonl",
            "179606133212345-00ff00ff00ff00ff-1-2-00000000.jsonl",
            "1796061332123456-00FF00ff00ff00ff-1-2-00000000.jsonl",
            "1796061332123456-00ff00ff00ff00ff-+1-2-00000000.jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-2-0000000.jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-99999999999999999999-00000000.jsonl",
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}
