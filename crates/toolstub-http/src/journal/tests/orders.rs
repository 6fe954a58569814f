//! Requests to several servers at once, operation by operation, in every order or in many.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures::FutureExt as _;

use super::*;

/// What a request is, and how it came out: whether it was acknowledged.
type Request = Pin<Box<dyn Future<Output = bool>>>;

/// How many orders are gone through at most.
const ORDERS: usize = if cfg!(debug_assertions) { 1000 } else { 100_000 };

/// Which of the requests goes next, each time; all possibilities, one after the other.
#[derive(Debug, Default)]
struct Order {
    /// The choices, each with how many there were.
    choices: Vec<(usize, usize)>,
    at: usize,
}

impl Order {
    fn choose(&mut self, among: usize) -> usize {
        if self.at == self.choices.len() {
            self.choices.push((0, among));
        }
        self.at += 1;
        self.choices[self.at - 1].0
    }

    /// Goes on to the next order; `false` if there is none.
    fn next(&mut self) -> bool {
        self.at = 0;
        while let Some((choice, among)) = self.choices.pop() {
            if choice + 1 < among {
                self.choices.push((choice + 1, among));
                return true;
            }
        }
        false
    }
}

/// Draws an order by chance: of many operations there are too many orders to go through.
struct Drawn(u64);

impl Drawn {
    fn choose(&mut self, among: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % among as u64) as usize
    }
}

/// Runs requests, of which `choose` says who goes next; whether each was acknowledged.
fn run(mut requests: Vec<Request>, mut choose: impl FnMut(usize) -> usize) -> Vec<bool> {
    let mut context = Context::from_waker(Waker::noop());
    let mut open: Vec<usize> = (0..requests.len()).collect();
    let mut acknowledged = vec![false; requests.len()];
    while !open.is_empty() {
        let next = choose(open.len());
        if let Poll::Ready(done) = requests[open[next]].poll_unpin(&mut context) {
            acknowledged[open[next]] = done;
            open.remove(next);
        }
    }
    acknowledged
}

fn finished<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}

/// What is done at once, by a journal each.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// Appends a message of this text.
    Append(&'static str),
    /// Appends a message with a key, the same for the same text.
    Keyed(&'static str),
    /// Appends a message of this text with a key that others have too.
    Shared(&'static str),
    Create,
    Remove,
}

impl Does {
    fn begin(self, backend: &Arc<dyn Backend>) -> Request {
        let journal = journal(backend);
        async move {
            match self {
                Self::Append(text) => send(&journal, &[text], None).await.is_ok(),
                Self::Keyed(text) => send(&journal, &[text], Some(text)).await.is_ok(),
                Self::Shared(text) => send(&journal, &[text], Some("key")).await.is_ok(),
                Self::Create => {
                    matches!(journal.create(&session(), &record()).await, Ok(Created::New))
                }
                Self::Remove => matches!(journal.remove(&session()).await, Ok(true)),
            }
        }
        .boxed_local()
    }
}

/// Does things at once in many orders, and checks what came of it: what was acknowledged, and what is
/// seen.
fn at_once(
    fresh: fn() -> Shared,
    before: &[Does],
    does: &[Does],
    check: impl Fn(&[bool], Option<Vec<String>>),
) {
    let mut order = Order::default();
    let mut count = 0;
    loop {
        let backend: Arc<dyn Backend> = Arc::new(fresh());
        for does in before {
            finished(does.begin(&backend));
        }
        let requests = || does.iter().map(|does| does.begin(&backend)).collect();
        // The orders that come one after the other are alike: half of them are drawn.
        let acknowledged = if count % 2 == 0 {
            run(requests(), |among| order.choose(among))
        } else {
            let mut drawn = Drawn((count as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            run(requests(), |among| drawn.choose(among))
        };
        let seen = finished(seen(&backend));
        // Whatever came of it, the session can be appended to.
        assert!(finished(Does::Append("last").begin(&backend)));
        let last = finished(super::seen(&backend)).unwrap_or_default();
        assert_eq!(last.last().map(String::as_str), Some("last"));
        check(&acknowledged, seen);
        count += 1;
        if count >= ORDERS || count % 2 == 1 && !order.next() {
            return;
        }
    }
}

#[test]
fn messages_that_begin_a_session_at_once_are_all_there() {
    for fresh in [Shared::default, Shared::creating_blindly] {
        at_once(fresh, &[], &[Does::Append("a"), Does::Append("b")], |acknowledged, seen| {
            assert_eq!(acknowledged, [true, true]);
            let mut seen = seen.unwrap();
            seen.sort();
            assert_eq!(seen, ["a", "b"]);
        });
    }
}

#[test]
fn a_session_made_while_it_is_appended_to_loses_nothing() {
    for fresh in [Shared::default, Shared::creating_blindly] {
        let does = [Does::Append("a"), Does::Create, Does::Append("b")];
        at_once(fresh, &[], &does, |acknowledged, seen| {
            assert!(acknowledged[0] && acknowledged[2]);
            let mut seen = seen.unwrap();
            seen.sort();
            assert_eq!(seen, ["a", "b"]);
        });
    }
}

#[test]
fn of_two_who_make_a_session_one_has_made_it() {
    at_once(Shared::default, &[], &[Does::Create, Does::Create], |acknowledged, seen| {
        assert_eq!(acknowledged.iter().filter(|made| **made).count(), 1);
        assert_eq!(seen, Some(Vec::new()));
    });
    at_once(Shared::creating_blindly, &[], &[Does::Create, Does::Create], |acknowledged, _| {
        assert!(acknowledged.contains(&true));
    });
}

#[test]
fn a_message_that_is_sent_twice_at_once_is_there_once() {
    for fresh in [Shared::default, Shared::creating_blindly] {
        let does = [Does::Keyed("a"), Does::Keyed("a")];
        at_once(fresh, &[Does::Append("first")], &does, |acknowledged, seen| {
            assert_eq!(acknowledged, [true, true]);
            assert_eq!(seen.unwrap(), ["first", "a"]);
        });
    }
}

#[test]
fn of_different_messages_with_one_key_what_is_acknowledged_is_there() {
    for does in [&["a", "b"][..], &["a", "b", "a"], &["a", "b", "b", "a"]] {
        let requests: Vec<_> = does.iter().map(|text| Does::Shared(text)).collect();
        at_once(Shared::default, &[Does::Append("first")], &requests, |acknowledged, seen| {
            let mut texts: Vec<_> = does
                .iter()
                .zip(acknowledged)
                .filter(|(_, done)| **done)
                .map(|(text, _)| *text)
                .collect();
            texts.dedup();
            assert_eq!(seen.unwrap(), [&["first"][..], &texts].concat());
        });
    }
}

#[test]
fn a_message_comes_before_a_removal_or_behind_it() {
    for fresh in [Shared::default, Shared::creating_blindly] {
        for append in [Does::Append("a"), Does::Keyed("a")] {
            let does = [append, Does::Remove];
            at_once(fresh, &[Does::Append("first")], &does, |acknowledged, seen| {
                // Whoever is in the way again and again has a message refused. That each has its result
                // was seen to.
                assert!(acknowledged[1]);
                let seen = seen.unwrap_or_default();
                assert!(seen.is_empty() || acknowledged[0] && seen == ["a"], "{seen:?}");
            });
        }
    }
}

#[test]
fn what_goes_on_about_a_removal_is_whole() {
    let keyed = [Does::Keyed("a"), Does::Remove, Does::Keyed("a")];
    let twice = [Does::Append("a"), Does::Remove, Does::Append("a")];
    let removed_twice = [Does::Append("a"), Does::Remove, Does::Remove];
    let made = [Does::Append("a"), Does::Remove, Does::Create];
    for (fresh, does, most) in [
        (Shared::default as fn() -> Shared, keyed, 1),
        // Of two who make the session, each may have its own there.
        (Shared::creating_blindly, keyed, 2),
        (Shared::default, twice, 2),
        (Shared::creating_blindly, twice, 2),
        (Shared::default, removed_twice, 1),
        (Shared::default, made, 1),
        (Shared::creating_blindly, made, 1),
    ] {
        at_once(fresh, &[Does::Append("first")], &does, |acknowledged, seen| {
            let seen = seen.unwrap_or_default();
            assert!(!acknowledged[1] || !seen.contains(&"first".to_owned()), "{seen:?}");
            assert!(seen.len() <= most + usize::from(!acknowledged[1]), "{seen:?}");
        });
    }
}
