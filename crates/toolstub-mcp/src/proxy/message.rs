//! A frame's messages, as far as a proxy has to understand them.

use toolstub_session::splice::{Object, blocks, text};

/// The key under which a request's version stands where there is no handshake.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// An id, whichever way it is written: many a server answers `5.0` as `5`, and `1e2` as `100`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Number(Decimal),
    Text(String),
}

/// A number as all ways to write it have in common, exactly: no two large ones are taken for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Neither begin nor end with a zero. None are nothing.
    digits: String,
    /// What power of ten the last digit counts.
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` for what is none, and where the exponent is beyond all measure.
    fn parse(raw: &str) -> Option<Self> {
        let (mantissa, exponent) = match raw.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (raw, 0),
        };
        let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(mantissa) => (true, mantissa),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = [whole, fraction].concat();
        if !written.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = written.trim_end_matches('0');
        let zeros = i64::try_from(written.len() - digits.len()).ok()?;
        let moved = zeros - i64::try_from(fraction.len()).ok()?;
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        Some(Self { is_negative, digits, exponent: exponent.checked_add(moved)? })
    }
}

/// A request, a notification or a response.
#[derive(Debug)]
pub(super) struct Message<'a> {
    object: Object<'a>,
    pub(super) method: Option<String>,
}

impl<'a> Message<'a> {
    /// Reads one message; `None` for what is none.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let object = Object::parse(text)?;
        let method = object.text("method");
        Some(Self { object, method })
    }

    pub(super) fn raw(&self) -> &'a str {
        self.object.raw()
    }

    pub(super) fn field(&self, name: &str) -> Option<&'a str> {
        self.object.given(name)
    }

    pub(super) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.object.object(name)
    }

    /// The id as it is written.
    pub(super) fn raw_id(&self) -> Option<&'a str> {
        self.object.given("id")
    }

    pub(super) fn id(&self) -> Option<Id> {
        id(self.raw_id()?)
    }

    pub(super) fn is_response(&self) -> bool {
        self.method.is_none() && self.raw_id().is_some()
    }

    /// The version that a request states for itself.
    pub(super) fn version(&self) -> Option<String> {
        self.object("params")?.object("_meta")?.text(VERSION)
    }
}

/// The id that a value is.
pub(super) fn id(raw: &str) -> Option<Id> {
    match raw.as_bytes().first()? {
        // Half of a surrogate pair is no text: what cannot be read is what it is written as.
        b'"' => Some(Id::Text(text(raw).unwrap_or_else(|| raw.to_owned()))),
        b'0'..=b'9' | b'-' => {
            Some(Decimal::parse(raw).map_or_else(|| Id::Text(raw.to_owned()), Id::Number))
        }
        _ => None,
    }
}

/// The messages of a frame: one, or a batch of them; none of what is neither, or of a batch of too many.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) messages: Vec<Message<'a>>,
    pub(super) is_batch: bool,
}

impl<'a> Frame<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        let is_batch = text.starts_with('[');
        let messages = if is_batch {
            blocks(text)?.into_iter().map(Message::parse).collect::<Option<_>>()?
        } else {
            vec![Message::parse(text)?]
        };
        Some(Self { messages, is_batch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let request = r#"{"jsonrpc":"2.0","id":"a\u0062","method":"tools/call"}"#;
        let message = Message::parse(request).unwrap();
        assert!(!message.is_response());
        assert_eq!(message.id(), Some(Id::Text("ab".to_owned())));
        assert_eq!(message.raw_id(), Some(r#""a\u0062""#));
        let response = Message::parse(r#"{"id":7,"result":{}}"#).unwrap();
        assert!(response.is_response());
        assert_ne!(response.id(), id("\"7\""));
        let notification = Message::parse(r#"{"method":"x","id":null}"#).unwrap();
        assert!(!notification.is_response() && notification.id().is_none());
    }

    #[test]
    fn number_is_the_same_however_it_is_written() {
        let same = |one: &str, other: &str| assert_eq!(id(one), id(other), "{one} {other}");
        same("5", "5.0");
        same("100", "1e2");
        same("1E+2", "100.00");
        same("0", "-0");
        same("0.0", "0e7");
        same("1.5", "15e-1");
        same("-120", "-1.2e2");
        same("1e21", "1000000000000000000000");
        let numbers = [
            "1",
            "-1",
            "10",
            "0.1",
            "9007199254740992",
            "9007199254740993",
            "1e9223372036854775807",
            "10e9223372036854775807",
            "1e99999999999999999999",
            "\"1\"",
        ];
        for (at, one) in numbers.iter().enumerate() {
            for other in &numbers[at + 1..] {
                assert_ne!(id(one), id(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn batch_is_several_messages() {
        let frame = Frame::parse(" [{\"id\":1}, {\"id\":2}]\r\n").unwrap();
        assert!(frame.is_batch && frame.messages.len() == 2);
        for text in ["", "log line", "[1]", "[", "12"] {
            assert!(Frame::parse(text).is_none(), "{text}");
        }
    }
}
