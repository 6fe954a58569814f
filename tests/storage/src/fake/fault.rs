//! What goes wrong, and when.

use std::time::Duration;

use hyper::Method;

/// How a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is done; 503 answers.
    Unavailable,
    /// Nothing is done; 403 answers.
    Denied,
    /// Nothing is done; 500 answers.
    ErrorBefore,
    /// It is done; 500 answers.
    ErrorAfter,
    /// Nothing is done, and the connection is reset.
    ResetBefore,
    /// It is done, and the connection is reset.
    ResetAfter,
    /// Nothing is done, and no answer comes.
    HangBefore,
    /// It is done, and no answer comes.
    HangAfter,
    /// It is done; the answer's body ends after half of the length that was declared.
    Truncate,
    /// It is done; one bit in the middle of the answer's body is another.
    Flip,
    /// It is done; the answer's body comes in sixteen pieces with a pause before each.
    Slow(Duration),
}

impl Fault {
    /// Whether the request is done all the same.
    pub fn is_done(self) -> bool {
        !matches!(
            self,
            Self::Unavailable
                | Self::Denied
                | Self::ErrorBefore
                | Self::ResetBefore
                | Self::HangBefore
        )
    }
}

/// Which requests go wrong: of those with a method and a part of a key, the N-th and so many after it.
#[derive(Debug, Clone)]
pub struct Rule {
    fault: Fault,
    method: Option<Method>,
    key: String,
    nth: usize,
    times: usize,
    seen: usize,
}

impl Rule {
    /// The next request goes wrong.
    pub fn new(fault: Fault) -> Self {
        Self { fault, method: None, key: String::new(), nth: 1, times: 1, seen: 0 }
    }

    /// Counts only requests with this method.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// Counts only requests whose key contains this; a listing's key is its prefix.
    #[must_use]
    pub fn key(mut self, part: &str) -> Self {
        part.clone_into(&mut self.key);
        self
    }

    /// The N-th request goes wrong, counted from 1.
    #[must_use]
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth;
        self
    }

    /// So many requests in succession go wrong.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Every request from there on goes wrong.
    #[must_use]
    pub fn lasting(self) -> Self {
        self.times(usize::MAX)
    }

    /// Takes a request; whether it goes wrong.
    fn strikes(&mut self, method: &Method, key: &str) -> bool {
        let counts =
            self.method.as_ref().is_none_or(|own| own == method) && key.contains(&self.key);
        if !counts {
            return false;
        }
        self.seen += 1;
        self.seen >= self.nth && self.seen - self.nth < self.times
    }
}

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct Script {
    rules: Vec<Rule>,
    struck: usize,
}

impl Script {
    pub(super) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub(super) fn clear(&mut self) -> usize {
        self.rules.clear();
        std::mem::take(&mut self.struck)
    }

    /// What becomes of a request. Every rule counts it; the first that strikes decides.
    pub(super) fn fault(&mut self, method: &Method, key: &str) -> Option<Fault> {
        let mut fault = None;
        for rule in &mut self.rules {
            if rule.strikes(method, key) {
                fault = fault.or(Some(rule.fault));
            }
        }
        self.struck += usize::from(fault.is_some());
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_request_that_matches_goes_wrong() {
        let mut script = Script::default();
        let rule = Rule::new(Fault::Flip).method(Method::GET).key("output");
        script.add(rule.nth(2).times(2));
        let requests = [
            (Method::GET, "a/output.txt", false),
            (Method::PUT, "a/output.txt", false),
            (Method::GET, "a/metadata.json", false),
            (Method::GET, "a/output.txt", true),
            (Method::GET, "b/output.txt", true),
            (Method::GET, "b/output.txt", false),
        ];
        for (method, key, strikes) in requests {
            assert_eq!(script.fault(&method, key).is_some(), strikes, "{method} {key}");
        }
        assert_eq!(script.clear(), 2);
        assert_eq!(script.fault(&Method::GET, "output"), None);
    }
}
