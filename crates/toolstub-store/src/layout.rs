//! Where things stand in a store.
//!
//! Keys are built from ids alone; nothing that is stored has a say in them.

use toolstub_core::{EventId, Ref, SessionId};

use crate::Key;

/// The name of an original.
pub(crate) const OUTPUT: &str = "output.txt";
/// The name of a record: the commit mark of a result.
pub(crate) const METADATA: &str = "metadata.json";

const SESSIONS: &str = "sessions";
const EVENTS: &str = "events";
const RESULTS: &str = "tool-results";

/// The folder of all sessions.
pub(crate) fn sessions() -> Key {
    Key::top(SESSIONS)
}

/// The folder of a session.
pub(crate) fn session(session: &SessionId) -> Key {
    sessions().child(session.encoded())
}

/// The folder of a session's events.
pub(crate) fn events(of: &SessionId) -> Key {
    session(of).child(EVENTS)
}

/// The folder of an event.
pub(crate) fn event(of: &SessionId, event: &EventId) -> Key {
    events(of).child(event.encoded())
}

/// The folder of the results of a session or of one of its events.
pub(crate) fn results(of: &SessionId, in_event: Option<&EventId>) -> Key {
    in_event.map_or_else(|| session(of), |id| event(of, id)).child(RESULTS)
}

/// The folder of a result.
pub(crate) fn result(reference: &Ref) -> Key {
    results(reference.session(), reference.event()).child(reference.id().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_refs() {
        for (uri, key) in [
            ("toolstub://session/s1/tool-results/tr_1", "sessions/s1/tool-results/tr_1"),
            (
                "toolstub://session/a%3A7/events/%2E/tool-results/tr_1",
                "sessions/a%3A7/events/%2E/tool-results/tr_1",
            ),
        ] {
            assert_eq!(result(&uri.parse().unwrap()).as_str(), key);
        }
    }
}
