//! Who may use the service.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use crate::problem::{Code, Problem};

/// The shortest key, in bytes.
const SHORTEST: usize = 16;

/// The keys that open a service. Only their digests are held.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    users: Vec<[u8; 32]>,
    operators: Vec<[u8; 32]>,
}

/// A key that does not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key has at least {SHORTEST} bytes and no white space; one of {length} bytes does not do"
)]
pub struct WeakKey {
    /// The key's length in bytes.
    pub length: usize,
}

/// Whom a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    User,
    Operator,
}

impl Keys {
    /// Adds a key that opens all that clients use. Several may be valid, so that keys can be replaced.
    pub fn add_user(&mut self, key: &str) -> Result<(), WeakKey> {
        self.users.push(digest_of_new(key)?);
        Ok(())
    }

    /// Adds a key that opens the metrics alone.
    pub fn add_operator(&mut self, key: &str) -> Result<(), WeakKey> {
        self.operators.push(digest_of_new(key)?);
        Ok(())
    }

    /// Whether no key is needed.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty() && self.operators.is_empty()
    }

    /// Whether there is a key that opens more than the metrics.
    pub fn has_user(&self) -> bool {
        !self.users.is_empty()
    }

    /// Whose key a request carries; `Ok(None)` where no key is needed.
    pub(crate) fn holder(&self, headers: &HeaderMap) -> Result<Option<Holder>, Problem> {
        if self.is_empty() {
            return Ok(None);
        }
        let Some(key) = key_of(headers) else {
            let message = "Missing API Key when resolving identity.";
            return Err(refused(message));
        };
        let digest: [u8; 32] = Sha256::digest(key).into();
        // All keys are looked at, whichever it is: the time tells nothing.
        let is_among = |keys: &[[u8; 32]]| {
            let none = Choice::from(0);
            bool::from(keys.iter().fold(none, |found, key| found | key.ct_eq(&digest)))
        };
        match (is_among(&self.users), is_among(&self.operators)) {
            (true, _) => Ok(Some(Holder::User)),
            (false, true) => Ok(Some(Holder::Operator)),
            (false, false) => Err(refused("Invalid API key")),
        }
    }
}

fn refused(message: &str) -> Problem {
    Problem::whole(Code::Unauthenticated, message, serde_json::json!({}))
}

fn digest_of_new(key: &str) -> Result<[u8; 32], WeakKey> {
    if key.len() < SHORTEST || key.contains(char::is_whitespace) {
        return Err(WeakKey { length: key.len() });
    }
    Ok(Sha256::digest(key).into())
}

/// The key of a request: that of `X-API-Key`, or the bearer's.
fn key_of(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(key) = headers.get("x-api-key").filter(|key| !key.is_empty()) {
        return Some(key.as_bytes());
    }
    let bearer = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, key) = bearer.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii()).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const USER: &str = "user-key-0123456789";
    const OPERATOR: &str = "operator-key-0123456789";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn keys_come_in_two_headers() {
        let mut keys = Keys::default();
        assert_eq!(keys.holder(&headers(&[])), Ok(None));
        keys.add_user(USER).unwrap();
        keys.add_operator(OPERATOR).unwrap();
        let bearer = format!("Bearer {USER}");
        for (given, holder) in [
            (vec![("x-api-key", USER)], Some(Holder::User)),
            (vec![("authorization", bearer.as_str())], Some(Holder::User)),
            (vec![("authorization", "bearer operator-key-0123456789")], Some(Holder::Operator)),
            (vec![("x-api-key", USER), ("authorization", "Bearer wrong")], Some(Holder::User)),
            (vec![("x-api-key", "wrong"), ("authorization", bearer.as_str())], None),
            (vec![("authorization", USER)], None),
            (vec![("x-api-key", "")], None),
            (vec![("x-api-key", ""), ("authorization", bearer.as_str())], Some(Holder::User)),
            (vec![], None),
        ] {
            assert_eq!(keys.holder(&headers(&given)).ok().flatten(), holder, "{given:?}");
        }
    }

    #[test]
    fn short_keys_are_refused() {
        assert_eq!(Keys::default().add_user("secret"), Err(WeakKey { length: 6 }));
        assert!(Keys::default().add_user("long enough but spaced").is_err());
    }
}
