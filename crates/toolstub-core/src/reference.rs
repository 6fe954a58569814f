//! The URI that leads back to an original.

use std::fmt;
use std::str::FromStr;

use crate::id::shown;
use crate::{EventId, IdError, RefForm, SessionId, ToolResultId};

const TOOLSTUB: &str = "toolstub://session/";
const VIKING: &str = "viking://";
pub(crate) const EVENTS: &str = "events";
pub(crate) const RESULTS: &str = "tool-results";

/// A ref: the address of a stored original.
///
/// It reads `toolstub://session/{session}/tool-results/{id}`, or, for a result that belongs to an
/// event, `toolstub://session/{session}/events/{event}/tool-results/{id}`. Session and event stand
/// in their percent-encoded form. [`RefForm`] writes it otherwise.
///
/// Every form is read: `viking://user/{user}/sessions/{session}/…`, `viking://~/sessions/{session}/…`
/// and `viking://session/{session}/…`, too. They are refs of the session, whoever the user is, and
/// session and event may stand in them as the host writes them.
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
        f.write_str(&RefForm::Toolstub.uri(self))
    }
}

impl FromStr for Ref {
    type Err = IdError;

    fn from_str(uri: &str) -> Result<Self, Self::Err> {
        parse(uri).ok_or_else(|| IdError::Reference { given: shown(uri) })
    }
}

fn parse(uri: &str) -> Option<Ref> {
    let (is_viking, path) = match uri.strip_prefix(TOOLSTUB) {
        Some(path) => (false, path),
        None => (true, behind_user(uri.strip_prefix(VIKING)?)?),
    };
    // What is an encoded form is never taken for an id that reads like one: no two sessions meet.
    let mut parts = path.split('/');
    let session = parts.next()?;
    let session = SessionId::from_encoded(session)
        .or_else(|| SessionId::new(session).ok().filter(|_| is_viking))?;
    let event = match parts.next()? {
        EVENTS => {
            let event = parts.next()?;
            let event = EventId::from_encoded(event)
                .or_else(|| EventId::new(event).ok().filter(|_| is_viking))?;
            (parts.next()? == RESULTS).then_some(())?;
            Some(event)
        }
        RESULTS => None,
        _ => return None,
    };
    let id = ToolResultId::new(parts.next()?).ok()?;
    parts.next().is_none().then_some(Ref { session, event, id })
}

/// What of a `viking` path stands behind the user: `session/…`, `~/sessions/…` or
/// `user/{user}/sessions/…`.
fn behind_user(path: &str) -> Option<&str> {
    match path.split_once('/')? {
        ("session", rest) => Some(rest),
        ("~", rest) => rest.strip_prefix("sessions/"),
        ("user", rest) => {
            let (user, rest) = rest.split_once('/')?;
            rest.strip_prefix("sessions/").filter(|_| !user.is_empty())
        }
        _ => None,
    }
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

    #[track_caller]
    fn reads(uri: &str, expected: &str) {
        assert_eq!(uri.parse::<Ref>().unwrap().to_string(), expected, "{uri}");
    }

    #[test]
    fn refs_are_the_same_whoever_the_user_is() {
        let uri = "toolstub://session/s%3A1/tool-results/tr_1";
        for begin in ["viking://session/", "viking://~/sessions/", "viking://user/a%40b/sessions/"]
        {
            reads(&format!("{begin}s%3A1/tool-results/tr_1"), uri);
            reads(&format!("{begin}s:1/tool-results/tr_1"), uri);
        }
        reads("viking://user/a@b/sessions/s:1/tool-results/tr_1", uri);
        let event = "toolstub://session/s/events/e%2F1/tool-results/tr_1";
        reads("viking://user/u/sessions/s/events/e%2F1/tool-results/tr_1", event);
        let event = "toolstub://session/s/events/e%3A1/tool-results/tr_1";
        reads("viking://~/sessions/s/events/e:1/tool-results/tr_1", event);
    }

    #[test]
    fn encoded_form_is_no_other_session() {
        let of = |uri: &str| uri.parse::<Ref>().unwrap().session().as_str().to_owned();
        assert_eq!(of("viking://session/a%3Ab/tool-results/tr_1"), "a:b");
        assert_eq!(of("viking://session/a%253Ab/tool-results/tr_1"), "a%3Ab");
        assert_eq!(of("viking://session/100%/tool-results/tr_1"), "100%");
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
            "toolstub://session/s:1/tool-results/tr_1",
            "toolstub://user/u/sessions/s/tool-results/tr_1",
            "viking://session/s/tool-results/..",
            "viking://session/s/tool-results/tr_1/output.txt",
            "viking://session//tool-results/tr_1",
            "viking://session/s/events/tool-results/tr_1",
            "viking://session/s/events/e/results/tr_1",
            "viking://session/a/b/tool-results/tr_1",
            "viking://user//sessions/s/tool-results/tr_1",
            "viking://user/u/session/s/tool-results/tr_1",
            "viking://user/sessions/s/tool-results/tr_1",
            "viking://~/s/tool-results/tr_1",
            "viking://resources/s/tool-results/tr_1",
        ] {
            assert!(matches!(uri.parse::<Ref>(), Err(IdError::Reference { .. })), "{uri}");
        }
    }
}
