//! What one server knows of a session's messages, and what of them it need not list again.
//!
//! The name of a message sorts behind all that its request had seen, and a request that takes longer
//! than [`LATE`] starts over. So behind a name that was seen [`SETTLED_AFTER`] ago, nothing can be
//! added any more: what stands up to there is settled, and never listed again. Of the rest, a request
//! that appends lists the end alone, most of the time: it must know the last name, and what came at
//! the same time as its own need not be counted yet.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Sums;
use super::name::{Name, Unique};

/// How long a request may take from its look at what there is until its messages are there.
pub(super) const LATE: Duration = Duration::from_secs(300);
/// After how long nothing can come among what was seen; far above what a request may take.
const SETTLED_AFTER: Duration = LATE.saturating_mul(2);
/// How far apart the moments are from which on something is settled.
const SPACING: Duration = Duration::from_secs(30);
/// How often all that is not settled is listed, at most, where that need not be.
const WHOLE_EVERY: Duration = Duration::from_secs(10);
/// How far behind the last name a listing begins that need not be whole, in microseconds.
const OVERLAP: u64 = 5_000_000;

/// The messages that nothing can come among any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settled {
    names: Vec<Name>,
    /// Of the names that may come twice.
    keyed: HashSet<Unique>,
    count: u64,
    tokens: u64,
}

impl Settled {
    fn upto(&self) -> Option<&Name> {
        self.names.last()
    }

    fn add(&mut self, name: Name) {
        if name.unique.is_keyed() && !self.keyed.insert(name.unique) {
            return;
        }
        self.names.push(name);
        self.count += name.count;
        self.tokens += name.tokens;
    }
}

/// What to list.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    incarnation: String,
    /// The time of the first name to list; `None` for all names.
    pub(super) from: Option<u64>,
    /// Whether all that is not settled is listed.
    whole: bool,
    began: Instant,
}

impl Plan {
    /// To list everything, of whatever session it is.
    pub(super) fn from_start(began: Instant) -> Self {
        Self { incarnation: String::new(), from: None, whole: true, began }
    }
}

/// The names of a session's messages.
#[derive(Debug, Clone)]
pub(super) struct View {
    settled: Arc<Settled>,
    /// What is not settled, in order, nothing twice.
    recent: Vec<Name>,
    /// When the listing began.
    pub(super) began: Instant,
}

impl View {
    /// What a listing from the start holds.
    pub(super) fn of(names: Vec<Name>, began: Instant) -> Self {
        let settled = Arc::default();
        let recent = once(&settled, names);
        Self { settled, recent, began }
    }

    pub(super) fn sums(&self) -> Sums {
        let last = self.recent.last().or(self.settled.upto());
        Sums {
            count: self.settled.count + self.recent.iter().map(|name| name.count).sum::<u64>(),
            tokens: self.settled.tokens + self.recent.iter().map(|name| name.tokens).sum::<u64>(),
            last_micros: last.map(|name| name.micros),
        }
    }

    /// What a request brought, if it is there already and its name is known.
    pub(super) fn found(&self, unique: Unique) -> Option<Name> {
        let mut names = self.settled.names.iter().chain(&self.recent);
        names.find(|name| name.unique == unique).copied()
    }

    /// Whether what a request brought is there, and stays.
    pub(super) fn has_settled(&self, unique: Unique) -> bool {
        self.settled.keyed.contains(&unique)
    }

    /// The last names, at most so many, in order.
    pub(super) fn last(&self, most: usize) -> Vec<Name> {
        let recent = &self.recent[self.recent.len().saturating_sub(most)..];
        let settled = &self.settled.names;
        let settled = &settled[settled.len().saturating_sub(most - recent.len())..];
        [settled, recent].concat()
    }

    pub(super) fn names(&self) -> Vec<Name> {
        [&self.settled.names[..], &self.recent[..]].concat()
    }
}

/// The names that count: of what was sent twice, the first.
fn once(settled: &Settled, mut names: Vec<Name>) -> Vec<Name> {
    let mut seen = HashSet::new();
    names.retain(|&Name { unique, .. }| {
        !unique.is_keyed() || !settled.keyed.contains(&unique) && seen.insert(unique)
    });
    names
}

/// What one server knows of a session.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// Which session it is: another one may come to have the same id.
    incarnation: String,
    settled: Arc<Settled>,
    /// What is not settled, as it was listed.
    recent: Vec<Name>,
    /// When the last listing began that is among it, and the last whole one.
    looked: Option<Instant>,
    looked_whole: Option<Instant>,
    /// The last names of whole listings, and when those ended.
    marks: VecDeque<(Instant, Name)>,
    /// The time of the last name that was given.
    given: u64,
}

impl Tail {
    /// What to list now; `exactly` everything that is there, or what has come last.
    pub(super) fn plan(&self, exactly: bool, now: Instant) -> Plan {
        let settled = self.settled.upto().map(|upto| upto.micros);
        let is_due = |when| now.saturating_duration_since(when) >= WHOLE_EVERY;
        let whole = exactly || self.looked_whole.is_none_or(is_due);
        let from = match self.recent.last() {
            Some(last) if !whole => settled.max(Some(last.micros.saturating_sub(OVERLAP))),
            _ => settled,
        };
        Plan { incarnation: self.incarnation.clone(), from, whole, began: now }
    }

    /// Takes note of a listing by a plan; `None` if it lacks something that a session of this
    /// incarnation may have.
    pub(super) fn learn(
        &mut self,
        incarnation: &str,
        plan: &Plan,
        mut listed: Vec<Name>,
        ended: Instant,
    ) -> Option<View> {
        if plan.from.is_some() && [&self.incarnation, &plan.incarnation] != [incarnation; 2] {
            return None;
        }
        if self.incarnation != incarnation {
            *self = Self { incarnation: incarnation.to_owned(), ..Self::default() };
        }
        if let Some(upto) = self.settled.upto() {
            listed.retain(|name| name > upto);
        }
        let is_newest = self.looked.is_none_or(|looked| looked <= plan.began);
        if is_newest {
            self.looked = Some(plan.began);
            let from = plan.from.unwrap_or_default();
            let kept = self.recent.partition_point(|name| name.micros < from);
            self.recent.truncate(if plan.from.is_none() { 0 } else { kept });
            self.recent.append(&mut listed);
        } else {
            self.recent.append(&mut listed);
            self.recent.sort_unstable();
            self.recent.dedup();
        }
        if plan.whole && is_newest {
            self.looked_whole = Some(plan.began);
            self.settle(plan.began, ended);
        }
        let recent = once(&self.settled, self.recent.clone());
        Some(View { settled: Arc::clone(&self.settled), recent, began: plan.began })
    }

    /// Settles what was seen long before a whole listing began.
    fn settle(&mut self, began: Instant, ended: Instant) {
        let is_settled =
            |(when, _): &(Instant, Name)| began.saturating_duration_since(*when) >= SETTLED_AFTER;
        let mut settled = None;
        while self.marks.front().is_some_and(is_settled) {
            settled = self.marks.pop_front();
        }
        if let Some((_, upto)) = settled {
            let rest = self.recent.partition_point(|name| *name <= upto);
            let all = Arc::make_mut(&mut self.settled);
            for name in self.recent.drain(..rest) {
                all.add(name);
            }
        }
        let is_apart =
            |(when, _): &(Instant, Name)| ended.saturating_duration_since(*when) >= SPACING;
        if let Some(last) = self.recent.last()
            && self.marks.back().is_none_or(is_apart)
        {
            self.marks.push_back((ended, *last));
        }
    }

    /// Takes note of a name that was added here.
    pub(super) fn add(&mut self, incarnation: &str, name: Name) {
        if self.incarnation == incarnation {
            let place = self.recent.partition_point(|other| *other < name);
            if self.recent.get(place) != Some(&name) {
                self.recent.insert(place, name);
            }
        }
    }

    /// A time for a new name: later than all that was seen, and all that was given here.
    pub(super) fn give(&mut self, clock: u64, seen: Option<u64>) -> u64 {
        let seen = seen.map_or(0, Name::after);
        self.given = clock.max(seen).max(Name::after(self.given));
        self.given
    }

    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> u64 {
        let names = self.settled.names.len() + self.recent.len();
        let keyed = self.settled.keyed.len();
        (names * size_of::<Name>() + keyed * 2 * size_of::<Unique>() + 512) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(micros: u64) -> Name {
        Name { micros, unique: Unique::of_chance(micros), count: 1, tokens: 10, crc32c: 0 }
    }

    fn keyed(micros: u64, key: u64) -> Name {
        Name { unique: Unique::of_key(key), ..name(micros) }
    }

    fn names(micros: &[u64]) -> Vec<Name> {
        micros.iter().map(|&micros| name(micros)).collect()
    }

    /// Learns what a listing of all of `there` by the tail's own plan shows.
    fn look(tail: &mut Tail, there: &[Name], exactly: bool, now: Instant) -> View {
        let plan = tail.plan(exactly, now);
        let listed = there.iter().filter(|name| Some(name.micros) >= plan.from).copied();
        tail.learn("a", &plan, listed.collect(), now).unwrap()
    }

    #[test]
    fn what_was_seen_long_ago_is_not_listed_again() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        look(&mut tail, &names(&[1, 2]), true, begin);
        look(&mut tail, &names(&[1, 2, 3]), true, begin + SETTLED_AFTER / 2);
        assert_eq!(tail.plan(true, begin).from, None);

        // A message that came among those seen has a place behind what was seen first.
        let view = look(&mut tail, &names(&[1, 2, 3, 4]), true, begin + SETTLED_AFTER);
        assert_eq!(tail.plan(true, begin).from, Some(2));
        assert_eq!(view.names(), names(&[1, 2, 3, 4]));
        assert_eq!(view.sums(), Sums { count: 4, tokens: 40, last_micros: Some(4) });
        let again = look(&mut tail, &names(&[1, 2, 3, 4]), true, begin + SETTLED_AFTER);
        assert_eq!(again.names(), view.names());
        assert_eq!(view.last(3), names(&[2, 3, 4]));
        assert_eq!(view.last(9), view.names());
    }

    #[test]
    fn an_append_lists_the_end_alone() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        let early = 1_000_000_000;
        let there = [early, early + OVERLAP, early + 2 * OVERLAP];
        look(&mut tail, &names(&there), false, begin);
        let plan = tail.plan(false, begin);
        assert_eq!((plan.from, plan.whole), (Some(early + OVERLAP), false));

        // What came far back in the meantime is seen by the next whole listing.
        let all = names(&[&[early + 1], &there[..]].concat());
        assert_eq!(look(&mut tail, &all, false, begin).names(), names(&there));
        assert_eq!(look(&mut tail, &all, false, begin + WHOLE_EVERY).names(), all);
        assert_eq!(look(&mut tail, &all[1..], true, begin + WHOLE_EVERY).names(), names(&there));
    }

    #[test]
    fn a_session_made_anew_is_another_one() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        look(&mut tail, &names(&[1]), true, begin);
        look(&mut tail, &names(&[1, 2]), true, begin + SETTLED_AFTER);
        let plan = tail.plan(true, begin);
        assert!(tail.learn("b", &plan, names(&[3]), begin).is_none());
        let view = tail.learn("b", &Plan::from_start(begin), names(&[3]), begin).unwrap();
        assert_eq!(view.names(), names(&[3]));
        assert!(tail.learn("a", &plan, names(&[2]), begin).is_none());
    }

    #[test]
    fn a_listing_that_comes_late_takes_nothing_away() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        let early = tail.plan(true, begin);
        look(&mut tail, &names(&[1, 2, 3]), true, begin + SPACING);
        let view = tail.learn("a", &early, names(&[1]), begin + 2 * SPACING).unwrap();
        assert_eq!(view.names(), names(&[1, 2, 3]));
    }

    #[test]
    fn of_what_was_sent_twice_the_first_counts() {
        let (mut tail, begin) = (Tail::default(), Instant::now());
        let there = [keyed(1, 7), name(2), keyed(3, 7), keyed(4, 8)];
        let counted = [there[0], there[1], there[3]];
        let view = look(&mut tail, &there, true, begin);
        assert_eq!(view.names(), counted);
        assert_eq!(View::of(there.to_vec(), begin).names(), counted);
        assert_eq!(view.found(Unique::of_key(7)), Some(there[0]));
        assert!(view.found(Unique::of_key(9)).is_none() && !view.has_settled(Unique::of_key(7)));

        // Also where the first is settled, or all are.
        for there in [&there[..], &[&there[..], &[keyed(5, 7)]].concat()] {
            let view = look(&mut tail, there, true, begin + SETTLED_AFTER);
            assert_eq!((view.names(), view.sums().count), (counted.to_vec(), 3));
            assert!(view.has_settled(Unique::of_key(7)));
        }
        assert_eq!(tail.settled.count, 3);
    }

    #[test]
    fn times_that_are_given_grow() {
        let mut tail = Tail::default();
        assert_eq!(tail.give(100, None), 100);
        assert_eq!(tail.give(100, None), 101);
        assert_eq!(tail.give(50, Some(300)), 301);
        assert_eq!(tail.give(50, Some(200)), 302);
        assert_eq!(tail.give(400, Some(200)), 400);
    }
}
