//! The forms in which refs are written.

use crate::reference::{EVENTS, RESULTS};
use crate::{Ref, SessionId, UserId};

/// How refs are written. Each form names the same original, and [`Ref`] reads them all.
///
/// ```
/// use toolstub_core::{Ref, RefForm, SessionId, UserId};
///
/// let reference: Ref = "toolstub://session/s%3A1/tool-results/tr_1".parse()?;
/// let refs = RefForm::Viking { user: UserId::new("ann")? };
/// assert_eq!(refs.session_uri(&SessionId::new("s:1")?), "viking://user/ann/sessions/s%3A1");
/// let uri = refs.uri(&reference);
/// assert_eq!(uri, "viking://user/ann/sessions/s%3A1/tool-results/tr_1");
/// assert_eq!(uri.parse::<Ref>()?, reference);
/// assert_eq!(RefForm::of(&uri), Some(refs));
/// # Ok::<(), toolstub_core::IdError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum RefForm {
    /// `toolstub://session/{session}/…`: as stored records have them.
    #[default]
    Toolstub,
    /// `viking://user/{user}/sessions/{session}/…`: as `OpenViking` has them.
    Viking {
        /// Whose session it is.
        user: UserId,
    },
}

impl RefForm {
    /// The URI of a session: every ref of it begins with this and a slash.
    pub fn session_uri(&self, session: &SessionId) -> String {
        let session = session.encoded();
        match self {
            Self::Toolstub => format!("toolstub://session/{session}"),
            Self::Viking { user } => format!("viking://user/{}/sessions/{session}", user.encoded()),
        }
    }

    /// A ref in this form.
    pub fn uri(&self, reference: &Ref) -> String {
        let mut uri = self.session_uri(reference.session());
        let event = reference.event().map(|event| [EVENTS, event.encoded()]);
        for part in event.iter().flatten().copied().chain([RESULTS, reference.id().as_str()]) {
            uri.push('/');
            uri.push_str(part);
        }
        uri
    }

    /// The form that a ref is written in; `None` for what is not written in any.
    pub fn of(uri: &str) -> Option<Self> {
        let reference: Ref = uri.parse().ok()?;
        let form = match uri.strip_prefix("viking://user/") {
            None => Self::Toolstub,
            Some(rest) => Self::Viking { user: UserId::from_encoded(rest.split('/').next()?)? },
        };
        (form.uri(&reference) == uri).then_some(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn writes(refs: &RefForm, expected: &str) {
        let reference: Ref = expected.parse().unwrap();
        assert_eq!(refs.uri(&reference), expected);
        assert!(expected.starts_with(&format!("{}/", refs.session_uri(reference.session()))));
        assert_eq!(RefForm::of(expected).as_ref(), Some(refs));
    }

    #[test]
    fn refs_begin_with_the_uri_of_their_session() {
        writes(&RefForm::Toolstub, "toolstub://session/s%3A1/tool-results/tr_1");
        writes(&RefForm::Toolstub, "toolstub://session/s/events/e%2F1/tool-results/tr_1");
        let viking = |user| RefForm::Viking { user: UserId::new(user).unwrap() };
        writes(&viking("default"), "viking://user/default/sessions/s%3A1/tool-results/tr_1");
        writes(&viking("a@b/c"), "viking://user/a%40b%2Fc/sessions/s/events/e/tool-results/tr_1");
    }

    #[test]
    fn what_no_form_writes_has_none() {
        for uri in [
            "",
            "tr_1",
            "viking://~/sessions/s/tool-results/tr_1",
            "viking://session/s/tool-results/tr_1",
            "viking://user/a@b/sessions/s/tool-results/tr_1",
            "viking://user/u/sessions/s:1/tool-results/tr_1",
            "viking://user/u/sessions/s/tool-results/tr_1/output.txt",
        ] {
            assert_eq!(RefForm::of(uri), None, "{uri}");
        }
    }
}
