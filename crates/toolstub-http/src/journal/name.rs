//! The names of message objects: all that a listing has to tell.

use std::fmt;

/// The digits of the microseconds since 1970, until the year 2286.
const TIME_DIGITS: usize = 16;
/// The digits of what tells an object from all others.
const UNIQUE_DIGITS: usize = 16;
/// The end of each name.
const EXTENSION: &str = ".jsonl";

/// The name of the object that one request made: its messages, one a line.
///
/// Names sort by time. They tell how many messages there are and what they weigh, so that neither
/// takes a look into the objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name {
    /// Microseconds since 1970; later than all that was in the session before.
    pub(crate) micros: u64,
    /// 16 hexadecimal digits: chance, or the digest of the request's idempotency key.
    pub(crate) unique: String,
    /// How many messages the object holds.
    pub(crate) count: u64,
    /// The estimate of their tokens.
    pub(crate) tokens: u64,
}

impl Name {
    /// Reads a name; `None` for an object that is none of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(EXTENSION)?.split('-');
        let (micros, unique) = (parts.next()?, parts.next()?);
        let fits = micros.len() == TIME_DIGITS
            && unique.len() == UNIQUE_DIGITS
            && unique.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let name = Self {
            micros: number(micros)?,
            unique: unique.to_owned(),
            count: number(parts.next()?)?,
            tokens: number(parts.next()?)?,
        };
        (fits && parts.next().is_none()).then_some(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { micros, unique, count, tokens } = self;
        write!(f, "{micros:0TIME_DIGITS$}-{unique}-{count}-{tokens}{EXTENSION}")
    }
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
        let name = |micros, unique: &str, count, tokens| Name {
            micros,
            unique: unique.to_owned(),
            count,
            tokens,
        };
        let early = name(1_796_061_332_123_456, "00ff00ff00ff00ff", 100, 25_000);
        let late = name(1_796_061_332_123_457, "0000000000000000", 1, 0);
        assert_eq!(early.to_string(), "1796061332123456-00ff00ff00ff00ff-100-25000.jsonl");
        assert_eq!(Name::parse(&early.to_string()), Some(early.clone()));
        assert!(early.to_string() < late.to_string() && early < late);
    }

    #[test]
    fn other_objects_are_no_messages() {
        for other in [
            "",
            ".jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-2.json",
            "1796061332123456-00ff00ff00ff00ff-1.jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-2-3.jsonl",
            "179606133212345-00ff00ff00ff00ff-1-2.jsonl",
            "1796061332123456-00FF00ff00ff00ff-1-2.jsonl",
            "1796061332123456-00ff00ff00ff00ff-+1-2.jsonl",
            "1796061332123456-00ff00ff00ff00ff-1-99999999999999999999.jsonl",
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}
