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

/// The ref of an original's bytes, for whoever reads a record.
pub(crate) fn output_uri(reference: &Ref) -> String {
    format!("{reference}/{OUTPUT}")
}

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

/// What an object is, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    /// The record of the result in a folder.
    Record {
        /// The folder, relative to that of all sessions.
        folder: &'a str,
    },
    /// The output of the result in a folder.
    Output {
        /// The folder, relative to that of all sessions.
        folder: &'a str,
    },
    /// Something among the results that is none, or a temporary file.
    Leftover,
    /// Something that is not the results' business.
    Foreign,
}

/// Tells what an object is, by its key relative to the folder of all sessions.
pub(crate) fn role(name: &str) -> Role<'_> {
    let parts: Vec<_> = name.split('/').collect();
    let inside = match parts[..] {
        [_, RESULTS, ref inside @ ..] | [_, EVENTS, _, RESULTS, ref inside @ ..] => inside,
        // `object_store` writes `name` by way of `name#1`, `name#2`, …
        [.., last] if is_temporary(last) => return Role::Leftover,
        _ => return Role::Foreign,
    };
    match (inside, name.rsplit_once('/')) {
        ([_, METADATA], Some((folder, _))) => Role::Record { folder },
        ([_, OUTPUT], Some((folder, _))) => Role::Output { folder },
        _ => Role::Leftover,
    }
}

/// Whether a name is one that only a backend gives, for temporary files.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
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
    #[test]
    fn roles_are_told_by_the_key() {
        let folder = "s/tool-results/tr_1";
        let in_event = "s/events/e/tool-results/tr_1";
        for (name, role_of) in [
            ("s/tool-results/tr_1/metadata.json", Role::Record { folder }),
            ("s/events/e/tool-results/tr_1/metadata.json", Role::Record { folder: in_event }),
            ("s/tool-results/tr_1/output.txt", Role::Output { folder }),
            ("s/tool-results/tr_1/output.txt#2", Role::Leftover),
            ("s/tool-results/tr_1/x/output.txt", Role::Leftover),
            ("s/tool-results/output.txt", Role::Leftover),
            ("s/events/e/tool-results/x", Role::Leftover),
            ("s/session.json", Role::Foreign),
            ("s/session.json#1", Role::Leftover),
            ("s/messages/1.json#", Role::Foreign),
            ("s/messages/tool-results/1/output.txt", Role::Foreign),
            ("s/events/e/event.json", Role::Foreign),
            ("stray", Role::Foreign),
        ] {
            assert_eq!(role(name), role_of, "{name}");
        }
    }
}
