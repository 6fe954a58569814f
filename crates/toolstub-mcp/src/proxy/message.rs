//! A frame's messages, as far as a proxy has to understand them.

use super::splice::{Object, items, text};

/// The key under which a request's version stands where there is no handshake.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// An id, whichever way it is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Number(String),
    Text(String),
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
        b'"' => text(raw).map(Id::Text),
        b'0'..=b'9' | b'-' => Some(Id::Number(raw.to_owned())),
        _ => None,
    }
}

/// The messages of a frame: one, or a batch of them; none of what is neither.
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
            items(text)?.into_iter().map(Message::parse).collect::<Option<_>>()?
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
    fn batch_is_several_messages() {
        let frame = Frame::parse(" [{\"id\":1}, {\"id\":2}]\r\n").unwrap();
        assert!(frame.is_batch && frame.messages.len() == 2);
        for text in ["", "log line", "[1]", "[", "12"] {
            assert!(Frame::parse(text).is_none(), "{text}");
        }
    }
}
