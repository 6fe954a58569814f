//! The variables of an environment that say how to reach a store.

use std::collections::BTreeMap;
use std::fmt;

/// What the names of variables begin with that may have to do with a store.
const PREFIXES: [&str; 2] = ["AWS_", "TOOLSTUB_"];

/// Variables that say how to reach a store, such as `AWS_REGION`; none unless they are given.
///
/// Some of the values are secret: to print them for debugging shows the names alone.
///
/// ```
/// use toolstub_store_object::Variables;
///
/// let variables: Variables = [("AWS_REGION", "eu-central-1")].into_iter().collect();
/// assert_eq!(variables.get("AWS_REGION"), Some("eu-central-1"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The variables of this process that begin with `AWS_` or `TOOLSTUB_`.
    pub fn of_process() -> Self {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// The value of a variable; one that is empty counts as one that is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Variables {
    /// Takes those that begin with `AWS_` or `TOOLSTUB_`.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let ours = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        Self(pairs.filter(|(name, _)| ours(name)).collect())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_shown() {
        let pairs = [("AWS_SECRET_ACCESS_KEY", "canary"), ("PATH", "/bin"), ("AWS_REGION", "")];
        let variables: Variables = pairs.into_iter().collect();
        assert_eq!(format!("{variables:?}"), r#"{"AWS_REGION", "AWS_SECRET_ACCESS_KEY"}"#);
        assert_eq!(variables.get("AWS_SECRET_ACCESS_KEY"), Some("canary"));
        assert_eq!((variables.get("PATH"), variables.get("AWS_REGION")), (None, None));
    }
}
