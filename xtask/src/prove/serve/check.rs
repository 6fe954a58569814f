//! What must hold of what is seen, by what was sent and what was answered.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Instant;

use super::load::{Habit, Sending, content, session_id};
use super::seen::{Message, Seen};

/// A removal of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removal {
    pub(super) session: usize,
    pub(super) begun: Instant,
    pub(super) answered: Instant,
}

/// What came of a look at everything.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) faults: Vec<String>,
    sessions: usize,
    messages: usize,
    /// Messages that are there again, sent again without a key.
    repeated: usize,
    /// Messages of sendings that were never acknowledged.
    unacknowledged: usize,
    /// Messages in removed sessions whose request got no answer and whose result is gone.
    bereft: usize,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { faults, sessions, messages, repeated, unacknowledged, bereft } = self;
        write!(
            f,
            "{messages} messages in {sessions} sessions, {repeated} of them sent again without a key, \
             {unacknowledged} never acknowledged, {bereft} without their result; {} faults",
            faults.len()
        )
    }
}

/// The digests of contents, each made once.
#[derive(Debug, Default)]
pub(super) struct Digests(HashMap<(u64, usize), String>);

impl Digests {
    fn of(&mut self, recipe: (u64, usize)) -> &str {
        let make = || toolstub_corpus_tests::sha256(content(recipe).as_bytes()).to_string();
        self.0.entry(recipe).or_insert_with(make)
    }
}

/// Judges what is seen.
pub(super) fn judge(
    seen: &Seen,
    sendings: &[Sending],
    removals: &[Removal],
    digests: &mut Digests,
) -> Verdict {
    let mut verdict = Verdict { sessions: seen.sessions.len(), ..Verdict::default() };
    verdict.faults.extend(seen.faults.iter().cloned());
    verdict.faults.extend(sendings.iter().filter_map(|sending| sending.came.fault.clone()));
    let mut by_first: BTreeMap<(usize, usize), &Sending> = BTreeMap::new();
    for sending in sendings {
        by_first.insert((sending.client, sending.first), sending);
    }
    // How often each was seen whole.
    let mut whole: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (&session, messages) in &seen.sessions {
        verdict.messages += messages.len();
        let mut last: HashMap<usize, usize> = HashMap::new();
        let mut rest = &messages[..];
        while let Some(first) = rest.first() {
            let at = (first.client, first.number);
            let told = format!("{}: client {} message {}", session_id(session), at.0, at.1);
            let Some(sending) = by_first.get(&at).filter(|sending| sending.session == session)
            else {
                verdict.faults.push(format!("{told} is half of a batch, or of another session"));
                rest = &rest[1..];
                continue;
            };
            let count = sending.contents.len();
            let numbers = rest.iter().map(|message| (message.client, message.number));
            let wanted = (0..count).map(|nth| (at.0, at.1 + nth));
            if !numbers.take(count).eq(wanted) {
                verdict.faults.push(format!("{told} begins a batch that is not whole"));
                rest = &rest[1..];
                continue;
            }
            let (block, behind) = rest.split_at(count);
            rest = behind;
            if last.insert(at.0, at.1).is_some_and(|last| last > at.1) {
                verdict.faults.push(format!("{told} stands behind a later one of its client"));
            }
            let is_removed = removals.iter().any(|removal| removal.session == session);
            let mut is_bereft = false;
            for (message, recipe) in block.iter().zip(&sending.contents) {
                match fault(message, digests.of(*recipe), seen) {
                    Some(Fault::Gone) if is_removed && sending.came.lost > 0 => is_bereft = true,
                    Some(fault) => verdict.faults.push(format!("{told}: {fault:?}")),
                    None => {}
                }
            }
            if is_bereft {
                verdict.bereft += count;
            } else {
                *whole.entry(at).or_default() += 1;
            }
        }
    }
    for sending in sendings {
        let at = (sending.client, sending.first);
        let times = whole.get(&at).copied().unwrap_or_default();
        let count = sending.contents.len();
        let session = session_id(sending.session);
        let told = format!("{session}: client {} message {}", at.0, at.1);
        let most = if sending.habit == Habit::Keyed { 1 } else { sending.came.attempts };
        if times > most {
            verdict.faults.push(format!("{told} is there {times} times"));
        }
        verdict.repeated += times.saturating_sub(1) * count;
        let Some(acknowledged) = sending.came.acknowledged else {
            verdict.unacknowledged += times * count;
            if sending.habit != Habit::GivesUp {
                verdict.faults.push(format!("{told} was never acknowledged"));
            }
            continue;
        };
        let removals = || removals.iter().filter(|removal| removal.session == sending.session);
        let is_behind_all = sending
            .came
            .begun
            .is_some_and(|begun| removals().all(|removal| removal.answered < begun));
        if times == 0 && is_behind_all {
            verdict.faults.push(format!("{told} was acknowledged and is not there"));
        }
        if times > 0 && removals().any(|removal| removal.begun > acknowledged) {
            verdict.faults.push(format!("{told} was there before a removal, and still is"));
        }
    }
    verdict
}

#[derive(Debug)]
enum Fault {
    Gone,
    Other,
}

/// What is wrong with the result of a message.
fn fault(message: &Message, digest: &str, seen: &Seen) -> Option<Fault> {
    match &message.result {
        Ok(reference) => match seen.results.get(reference) {
            Some(Some(found)) if found == digest => None,
            Some(Some(_)) => Some(Fault::Other),
            _ => Some(Fault::Gone),
        },
        Err(inline) => {
            let found = toolstub_corpus_tests::sha256(inline.as_bytes()).to_string();
            (found != digest).then_some(Fault::Other)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::load::Came;
    use super::*;

    const RECIPE: (u64, usize) = (1, 100);

    fn sending(first: usize, count: usize, habit: Habit) -> Sending {
        let now = Instant::now() + Duration::from_secs(5);
        let came = Came {
            attempts: 1,
            begun: Some(now),
            acknowledged: Some(now + Duration::from_secs(1)),
            ..Came::default()
        };
        Sending { client: 0, first, session: 0, habit, contents: vec![RECIPE; count], came }
    }

    /// What is seen with the messages of these numbers.
    fn seen(numbers: &[usize]) -> Seen {
        let digest = Digests::default().of(RECIPE).to_owned();
        let message = |&number: &usize| {
            let (id, result) = (number.to_string(), Ok("ref".to_owned()));
            Message { id, client: 0, number, result }
        };
        Seen {
            sessions: [(0, numbers.iter().map(message).collect())].into(),
            results: [("ref".to_owned(), Some(digest))].into(),
            faults: Vec::new(),
        }
    }

    #[track_caller]
    fn faults(numbers: &[usize], expected: usize) {
        let sendings = [sending(0, 1, Habit::Keyed), sending(1, 2, Habit::Repeats)];
        let verdict = judge(&seen(numbers), &sendings, &[], &mut Digests::default());
        assert_eq!(verdict.faults.len(), expected, "{:?}", verdict.faults);
    }

    #[test]
    fn what_is_wrong_is_seen() {
        faults(&[0, 1, 2], 0);
        faults(&[1, 2], 1);
        faults(&[0, 0, 1, 2], 1);
        faults(&[1, 2, 0], 1);
        faults(&[0, 1], 2);
        faults(&[0, 1, 2, 2], 1);
        faults(&[0, 1, 2, 7], 1);
    }

    #[test]
    fn a_result_that_is_lost_is_seen() {
        let sendings = [sending(0, 1, Habit::Keyed)];
        let lost = Seen { results: BTreeMap::new(), ..seen(&[0]) };
        let verdict = judge(&lost, &sendings, &[], &mut Digests::default());
        assert_eq!(verdict.faults.len(), 1, "{:?}", verdict.faults);
    }

    #[test]
    fn removals_are_told_apart_by_time() {
        let early = Instant::now();
        let sendings = [sending(0, 1, Habit::Keyed)];
        let Some((begun, end)) = sendings[0].came.begun.zip(sendings[0].came.acknowledged) else {
            return;
        };
        let second = Duration::from_secs(1);
        let before = (early, early + second);
        let (during, behind) = ((begun, end + second), (end + second, end + 2 * second));
        for ((begun, answered), there, not_there) in
            [(before, 0, 1), (during, 0, 0), (behind, 1, 0)]
        {
            let removal = Removal { session: 0, begun, answered };
            for (numbers, expected) in [(&[0][..], there), (&[], not_there)] {
                let mut digests = Digests::default();
                let verdict = judge(&seen(numbers), &sendings, &[removal], &mut digests);
                assert_eq!(verdict.faults.len(), expected, "{:?}", verdict.faults);
            }
        }
    }
}
