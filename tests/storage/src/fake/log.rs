//! What was asked for, and how many bytes went to and fro.

use std::iter::Sum;
use std::ops::Add;
use std::sync::Mutex;

use hyper::{Method, StatusCode};

use super::{Fault, Operation, lock};

/// A request that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The method.
    pub method: Method,
    /// What it asked for.
    pub operation: Operation,
    /// The object's key; a listing's prefix; the keys of a bulk removal, one a line.
    pub key: String,
    /// The bytes of the body that came with it.
    pub received: u64,
    /// The status of the answer; none where none was sent.
    pub status: Option<StatusCode>,
    /// The bytes of the answer's body that were sent.
    pub sent: u64,
    /// How it was made to go wrong.
    pub fault: Option<Fault>,
}

/// Requests and the bytes of their bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// The requests.
    pub requests: u64,
    /// The bytes that the server received.
    pub received: u64,
    /// The bytes that the server sent.
    pub sent: u64,
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            received: self.received + other.received,
            sent: self.sent + other.sent,
        }
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Self::add)
    }
}

impl<'a> FromIterator<&'a Recorded> for Count {
    fn from_iter<I: IntoIterator<Item = &'a Recorded>>(requests: I) -> Self {
        let count = |one: &Recorded| Self { requests: 1, received: one.received, sent: one.sent };
        requests.into_iter().map(count).sum()
    }
}

/// The requests so far.
#[derive(Debug, Default)]
pub(super) struct Log {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    requests: Vec<Recorded>,
    /// How often the log was cleared: what belongs to an earlier request is then no longer noted.
    age: u64,
}

/// Where a request stands in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    at: usize,
    age: u64,
}

impl Log {
    pub(super) fn requests(&self) -> Vec<Recorded> {
        lock(&self.inner).requests.clone()
    }

    pub(super) fn clear(&self) {
        let mut inner = lock(&self.inner);
        inner.requests.clear();
        inner.age += 1;
    }

    pub(super) fn add(&self, request: Recorded) -> Place {
        let mut inner = lock(&self.inner);
        inner.requests.push(request);
        Place { at: inner.requests.len() - 1, age: inner.age }
    }

    /// Notes more of a request.
    pub(super) fn note(&self, place: Place, note: impl FnOnce(&mut Recorded)) {
        let mut inner = lock(&self.inner);
        if inner.age == place.age {
            note(&mut inner.requests[place.at]);
        }
    }
}
