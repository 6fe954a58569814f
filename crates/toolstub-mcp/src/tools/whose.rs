//! Where the result that a call names belongs.

use serde_json::Value;
use toolstub_core::Ref;

use super::arguments::{self, Arguments};
use super::{Tools, bare_ref};

/// Whose result a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// One that these tools keep.
    Ours,
    /// One that is kept elsewhere.
    Foreign,
    /// None in particular: there is no ref, or an id that does not say where it belongs.
    Nobody,
}

impl Tools {
    /// Whose result a call names. Others write refs of the `viking:` scheme as well: of these, only
    /// those of the own session are certainly ours.
    pub(crate) fn whose(&self, arguments: &Value) -> Whose {
        let Ok(arguments) = Arguments::new(arguments) else { return Whose::Nobody };
        let given = [arguments::REF, arguments::SESSION].into_iter().find_map(|names| {
            arguments.text(names).ok().flatten().filter(|given| given.contains("://"))
        });
        let Some(given) = given else { return Whose::Nobody };
        let given = bare_ref(&given);
        let is_ours = given.starts_with("toolstub://")
            || given.parse::<Ref>().is_ok_and(|named| *named.session() == self.session);
        if is_ours { Whose::Ours } else { Whose::Foreign }
    }
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
            (json!({"ref": "toolstub://session/other/tool-results/tr_1"}), Whose::Ours),
            (json!({"toolOutputRef": "`toolstub://session/s/tool-results/tr_1`"}), Whose::Ours),
            (json!(r#"{"uri": "toolstub://session/s/tool-results/tr_1"}"#), Whose::Ours),
            (json!({"session": "toolstub://session/other/tool-results/tr_1"}), Whose::Ours),
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
