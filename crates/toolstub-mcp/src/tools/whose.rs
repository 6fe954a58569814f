//! Where the result that a call names belongs.

use serde_json::Value;
use toolstub_core::Ref;
use toolstub_store::StoreError;

use super::arguments::{self, Arguments};
use super::{Tools, bare_ref};

/// Whose result a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// One of the own session.
    Ours,
    /// One of another session that these tools may keep: so may another server of the kind.
    Shared,
    /// One that is kept elsewhere.
    Foreign,
    /// None in particular: there is no ref, or an id that does not say where it belongs.
    Nobody,
}

impl Tools {
    /// Whose result a call names. Refs of the `viking:` scheme are those of others, but for the own
    /// session's.
    pub(crate) fn whose(&self, arguments: &Value) -> Whose {
        let Some(given) = given(arguments) else { return Whose::Nobody };
        let given = bare_ref(&given);
        if given.parse::<Ref>().is_ok_and(|named| *named.session() == self.session) {
            Whose::Ours
        } else if given.starts_with("toolstub://") {
            Whose::Shared
        } else {
            Whose::Foreign
        }
    }

    /// Whether a result that a call names may be in the store: unless that says that it is not there.
    pub(crate) async fn may_keep(&self, arguments: &Value) -> bool {
        let reference = given(arguments).and_then(|given| bare_ref(&given).parse::<Ref>().ok());
        let Some(reference) = reference else { return false };
        let session = self.store.session(reference.session().clone());
        !matches!(session.metadata(&reference).await, Err(StoreError::NotFound { .. }))
    }
}

/// The ref that a call gives.
fn given(arguments: &Value) -> Option<String> {
    let arguments = Arguments::new(arguments).ok()?;
    [arguments::REF, arguments::SESSION]
        .into_iter()
        .find_map(|names| arguments.text(names).ok()?.filter(|given| given.contains("://")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolstub_core::SessionId;
    use toolstub_session::Config;
    use toolstub_store::{MemoryBackend, ResultStore};

    use super::*;

    #[test]
    fn ref_says_whose_it_is() {
        let store = ResultStore::new(Arc::new(MemoryBackend::new()));
        let tools = Tools::new(store, SessionId::new("s").unwrap(), &Config::default());
        for (arguments, whose) in [
            (json!({"ref": "toolstub://session/other/tool-results/tr_1"}), Whose::Shared),
            (json!({"toolOutputRef": "`toolstub://session/s/tool-results/tr_1`"}), Whose::Ours),
            (json!(r#"{"uri": "toolstub://session/s/tool-results/tr_1"}"#), Whose::Ours),
            (json!({"session": "toolstub://session/s/tool-results/tr_1"}), Whose::Ours),
            (json!({"session": "toolstub://session/other"}), Whose::Shared),
            (json!({"ref": "viking://user/u/sessions/s/tool-results/tr_1"}), Whose::Ours),
            (json!({"ref": "viking://user/u/sessions/t/tool-results/tr_1"}), Whose::Foreign),
            (json!({"ref": "viking://resources/x"}), Whose::Foreign),
            (json!({"uri": "https://example.org/"}), Whose::Foreign),
            (json!({"ref": "tr_1"}), Whose::Nobody),
            (json!({"ref": null, "session": "other"}), Whose::Nobody),
            (json!({"ref": ["toolstub://session/s/tool-results/tr_1"]}), Whose::Nobody),
            (json!(null), Whose::Nobody),
            (json!([1]), Whose::Nobody),
        ] {
            assert_eq!(tools.whose(&arguments), whose, "{arguments}");
        }
    }
}
