//! Inputs too large to be kept: made from a few words, always the same.

use serde::{Deserialize, Serialize};

/// How an input is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "lowercase", deny_unknown_fields)]
pub enum Generator {
    /// `prefix`, then `unit` `count` times with `{n}` replaced by 0, 1, 2 …, then `suffix`.
    Numbered {
        /// What comes first.
        #[serde(default)]
        prefix: String,
        /// What is repeated.
        unit: String,
        /// How often.
        count: usize,
        /// What comes last.
        #[serde(default)]
        suffix: String,
    },
    /// `open` `depth` times, `core`, then `close` `depth` times.
    Nested {
        /// What opens a level.
        open: String,
        /// What stands in the innermost level.
        #[serde(default)]
        core: String,
        /// What closes a level.
        close: String,
        /// How many levels there are.
        depth: usize,
    },
}

impl Generator {
    /// Makes the input.
    pub fn generate(&self) -> Vec<u8> {
        match self {
            Self::Numbered { prefix, unit, count, suffix } => {
                let mut text = prefix.clone();
                for n in 0..*count {
                    text.push_str(&unit.replace("{n}", &n.to_string()));
                }
                text.push_str(suffix);
                text.into_bytes()
            }
            Self::Nested { open, core, close, depth } => {
                [open.repeat(*depth), core.clone(), close.repeat(*depth)].concat().into_bytes()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn generates(toml: &str, expected: &str) {
        let generator: Generator = toml::from_str(toml).unwrap();
        assert_eq!(String::from_utf8(generator.generate()).unwrap(), expected);
    }

    #[test]
    fn units_are_numbered_from_zero() {
        generates(
            "form='numbered'\nprefix='<'\nunit='{n},{n};'\ncount=3\nsuffix='>'",
            "<0,0;1,1;2,2;>",
        );
        generates("form='numbered'\nunit='ab'\ncount=2", "abab");
    }

    #[test]
    fn levels_are_opened_and_closed() {
        generates("form='nested'\nopen='['\ncore='1'\nclose=']'\ndepth=3", "[[[1]]]");
        generates("form='nested'\nopen='{'\nclose=''\ndepth=2", "{{");
    }
}
