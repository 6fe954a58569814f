//! What is known of a session's messages without listing all of them again.

use std::time::{Duration, Instant};

use super::name::Name;

/// After how long no request that was under way can add to what was seen.
///
/// It is far above what a request may take. The name of a message sorts behind all that its request
/// had seen, so behind what was seen so long ago nothing can be added any more.
const SETTLED_AFTER: Duration = Duration::from_secs(600);

/// The messages that nothing can come among any more, as sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// The name of the last of them.
    pub(crate) upto: Option<Name>,
    /// How many messages there are.
    pub(crate) count: u64,
    /// What they weigh.
    pub(crate) tokens: u64,
}

/// What one server knows of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    /// Which session it is: another one may come to have the same id.
    incarnation: String,
    settled: Settled,
    /// The last name of a listing, and when that was made.
    seen: Option<(Instant, Name)>,
}

impl Tail {
    /// The messages that need not be listed again, of this very session.
    pub(crate) fn settled(&self, incarnation: &str) -> Settled {
        if self.incarnation == incarnation { self.settled.clone() } else { Settled::default() }
    }

    /// Takes note of a listing of what comes behind `settled`, made just now.
    pub(crate) fn learn(
        &mut self,
        incarnation: &str,
        settled: &Settled,
        recent: &[Name],
        now: Instant,
    ) {
        if self.incarnation != incarnation {
            *self = Self { incarnation: incarnation.to_owned(), ..Self::default() };
        }
        // Another request may have settled more in the meantime.
        if self.settled != *settled {
            return;
        }
        let Some(newest) = recent.last() else { return };
        match &self.seen {
            Some((when, upto)) if now.duration_since(*when) >= SETTLED_AFTER => {
                for name in recent.iter().take_while(|name| *name <= upto) {
                    self.settled.count += name.count;
                    self.settled.tokens += name.tokens;
                }
                self.settled.upto = Some(upto.clone());
                self.seen = Some((now, newest.clone()));
            }
            Some(_) => {}
            None => self.seen = Some((now, newest.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(micros: u64) -> Name {
        Name { micros, unique: "0".repeat(16), count: 1, tokens: 10 }
    }

    #[test]
    fn what_was_seen_long_ago_is_not_listed_again() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        let nothing = Settled::default();
        tail.learn("a", &nothing, &[name(1), name(2)], begin);
        tail.learn("a", &nothing, &[name(1), name(2), name(3)], begin + SETTLED_AFTER / 2);
        assert_eq!(tail.settled("a"), nothing);

        // A message that came among those seen has a place behind what was seen first.
        let all = [name(1), name(2), name(3), name(4)];
        tail.learn("a", &nothing, &all, begin + SETTLED_AFTER);
        let settled = tail.settled("a");
        assert_eq!(settled, Settled { upto: Some(name(2)), count: 2, tokens: 20 });
        assert_eq!(tail.settled("b"), nothing);
    }

    #[test]
    fn a_session_made_anew_is_another_one() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        let nothing = Settled::default();
        tail.learn("a", &nothing, &[name(1)], begin);
        tail.learn("a", &nothing, &[name(1), name(2)], begin + SETTLED_AFTER);
        assert_ne!(tail.settled("a"), nothing);
        tail.learn("b", &nothing, &[name(3)], begin + SETTLED_AFTER);
        assert_eq!((tail.settled("a"), tail.settled("b")), (nothing.clone(), nothing));
    }

    #[test]
    fn a_listing_that_came_late_settles_nothing_twice() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        let nothing = Settled::default();
        tail.learn("a", &nothing, &[name(1)], begin);
        let later = begin + SETTLED_AFTER;
        tail.learn("a", &nothing, &[name(1), name(2)], later);
        tail.learn("a", &nothing, &[name(1), name(2)], later + SETTLED_AFTER);
        assert_eq!(tail.settled("a").count, 1);
    }
}
