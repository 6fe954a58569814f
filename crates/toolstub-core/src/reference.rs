//! The URI that leads back to an original.

use std::fmt;
use std::str::FromStr;

use crate::id::shown;
use crate::{EventId, IdError, SessionId, ToolResultId};

const SCHEME: &str = "toolstub://session/";
const EVENTS: &str = "events";
const RESULTS: &str = "tool-results";

/// A ref: the address of a stored original.
///
/// It reads `toolstub://session/{session}/tool-results/{id}`, or, for a result that belongs to an
/// event, `toolstub://session/{session}/events/{event}/tool-results/{id}`. Session and event stand
/// in their percent-encoded form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ref {
    session: SessionId,
    event: Option<EventId>,
    id: ToolResultId,
}

impl Ref {
    /// The ref of a result that belongs to a session.
    pub fn new(session: SessionId, id: ToolResultId) -> Self {
        Self { session, event: None, id }
    }

    /// The ref of a result that belongs to an event, if one is given, else to the session.
    pub fn in_event(session: SessionId, event: Option<EventId>, id: ToolResultId) -> Self {
        Self { session, event, id }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The event, if the result belongs to one.
    pub fn event(&self) -> Option<&EventId> {
        self.event.as_ref()
    }

    /// The tool result's id.
    pub fn id(&self) -> &ToolResultId {
        &self.id
    }
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/", self.session.encoded())?;
        if let Some(event) = &self.event {
            write!(f, "{EVENTS}/{}/", event.encoded())?;
        }
        write!(f, "{RESULTS}/{}", self.id)
    }
}

impl FromStr for Ref {
    type Err = IdError;

    fn from_str(uri: &str) -> Result<Self, Self::Err> {
        parse(uri).ok_or_else(|| IdError::Reference { given: shown(uri) })
    }
}

fn parse(uri: &str) -> Option<Ref> {
    let mut parts = uri.strip_prefix(SCHEME)?.split('/');
    let session = SessionId::from_encoded(parts.next()?)?;
    let event = match parts.next()? {
        EVENTS => {
            let event = EventId::from_encoded(parts.next()?)?;
            (parts.next()? == RESULTS).then_some(())?;
            Some(event)
        }
        RESULTS => None,
        _ => return None,
    };
    let id = ToolResultId::new(parts.next()?).ok()?;
    parts.next().is_none().then_some(Ref { session, event, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_read_back() {
        for uri in [
            "toolstub://session/s1/tool-results/tr_1",
            "toolstub://session/agent%3Amain/events/e%2F1/tool-results/tr_a.b-c",
        ] {
            assert_eq!(uri.parse::<Ref>().unwrap().to_string(), uri);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for uri in [
            "",
            "tr_1",
            "toolstub://session//tool-results/tr_1",
            "toolstub://session/s/tool-results/",
            "toolstub://session/s/tool-results/..",
            "toolstub://session/s/tool-results/tr_1/output.txt",
            "toolstub://session/s/events/tool-results/tr_1",
            "toolstub://session/%2e/tool-results/tr_1",
            "TOOLSTUB://SESSION/s/tool-results/tr_1",
        ] {
            assert!(matches!(uri.parse::<Ref>(), Err(IdError::Reference { .. })), "{uri}");
        }
    }
}
