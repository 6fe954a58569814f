//! How a session decides, and how its stubs look.

use serde::{Deserialize, Deserializer, Serialize, de};

/// What a retrieval tool's answer may take beside the text that was asked for, in characters.
const LAST_LINE: u64 = 1000;
/// The longest prefix of the retrieval tools' names, in bytes.
const MAX_PREFIX: usize = 64;

/// A session's configuration. Lengths are in characters; unknown keys are refused.
///
/// ```
/// use toolstub_session::Config;
///
/// let config: Config = serde_json::from_str(r#"{"threshold_chars": 5000}"#)?;
/// assert_eq!((config.threshold_chars, config.preview_chars), (5000, 2000));
/// assert!(serde_json::from_str::<Config>(r#"{"treshold_chars": 5000}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether anything is put out of the context. Reading back works either way.
    pub enabled: bool,
    /// A result that is longer goes out.
    pub threshold_chars: u64,
    /// The cap of a preview; a negative one is 0.
    pub preview_chars: i64,
    /// What the results of one turn may take together before the largest go out.
    pub assistant_turn_inline_budget_chars: u64,
    /// What the previews of one turn share.
    pub assistant_turn_preview_budget_chars: i64,
    /// What a preview gets at least, however many share, unless `preview_chars` is less.
    pub min_preview_chars: i64,
    /// Which results of a turn go out first.
    pub aggregate_selection_strategy: Strategy,
    /// What happens where an original cannot be stored.
    pub failure_mode: FailureMode,
    /// What the body of a stub is.
    pub style: Style,
    /// How many lines a head has; 40 where this is not positive.
    pub head_lines: i64,
    /// What stands before `tool_result_read`, `_search` and `_list` in the tools' names.
    #[serde(deserialize_with = "tool_prefix")]
    pub tool_prefix: String,
    /// How many bytes of a result are kept at most.
    pub hard_cap_bytes: u64,
    /// How much a retrieval tool returns where it is not told.
    pub max_read_chars: u64,
}

/// Which results of a turn go out first, where they are together over the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The largest; of equals, the first.
    #[default]
    LargestFirst,
}

/// What happens where an original cannot be stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureMode {
    /// The content stays where it is.
    #[default]
    PreserveRaw,
    /// A stub without a ref takes its place: the rest is lost.
    PreviewOnly,
    /// Nothing of the turn is changed, and there is an error.
    Reject,
}

/// What the body of a stub is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// The synopsis.
    #[default]
    Typed,
    /// The first lines of the original.
    Head,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold_chars: 20_000,
            preview_chars: 2000,
            assistant_turn_inline_budget_chars: 100_000,
            assistant_turn_preview_budget_chars: 10_000,
            min_preview_chars: 1000,
            aggregate_selection_strategy: Strategy::LargestFirst,
            failure_mode: FailureMode::PreserveRaw,
            style: Style::Typed,
            head_lines: 40,
            tool_prefix: "openviking_".to_owned(),
            hard_cap_bytes: toolstub_store::DEFAULT_HARD_CAP,
            max_read_chars: 19_000,
        }
    }
}

impl Config {
    /// How much a retrieval tool returns where it is not told: the answer, its last line included,
    /// is not over the threshold, or it would have to go out again. Of a small threshold it is half.
    pub fn default_read_chars(&self) -> u64 {
        let room = self.threshold_chars.saturating_sub(LAST_LINE).max(self.threshold_chars / 2);
        self.max_read_chars.min(room).max(1)
    }
}

/// Takes a prefix that can stand in a tool's name.
fn tool_prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let prefix = String::deserialize(deserializer)?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if prefix.len() <= MAX_PREFIX && prefix.bytes().all(fits) {
        Ok(prefix)
    } else {
        Err(de::Error::custom("a tool_prefix holds at most 64 of A-Z a-z 0-9 _ . -"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(json: &str, why: &str) {
        let error = serde_json::from_str::<Config>(json).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn what_is_not_given_is_the_default() {
        let config: Config = serde_json::from_str("{}").unwrap();
        assert_eq!(config, Config::default());
        let written = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&written).unwrap(), config);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        refuses(r#"{"threshold": 1}"#, "unknown field `threshold`");
        refuses(r#"{"failure_mode": "ignore"}"#, "preserve_raw");
        refuses(r#"{"aggregate_selection_strategy": "first"}"#, "largest_first");
        refuses(r#"{"tool_prefix": "a\nref: x"}"#, "tool_prefix");
        refuses(r#"{"threshold_chars": -1}"#, "-1");
    }

    #[test]
    fn default_answer_of_a_read_stays_under_the_threshold() {
        let read = |threshold_chars, max_read_chars| {
            Config { threshold_chars, max_read_chars, ..Config::default() }.default_read_chars()
        };
        assert_eq!(Config::default().default_read_chars(), 19_000);
        assert_eq!(read(20_000, 500), 500);
        assert_eq!(read(5000, 19_000), 4000);
        assert_eq!(read(1500, 19_000), 750);
        assert_eq!((read(10, 19_000), read(0, 19_000), read(0, 0)), (5, 1, 1));
    }
}
