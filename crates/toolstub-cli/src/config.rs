//! The user's configuration file: what holds where neither a flag nor the environment says more.
//!
//! It is `toolstub/config.toml` in the configuration directory (`$XDG_CONFIG_HOME`, `~/.config`).
//! Nothing is ever read from the current folder: agents run in folders that others wrote.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use etcetera::BaseStrategy as _;
use serde::Deserialize;

use crate::args::{Style, tool_prefix};
use crate::failure::Failure;

/// The settings of the configuration file. Unknown ones are refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) store: Option<String>,
    pub(crate) preview_chars: Option<i64>,
    pub(crate) style: Option<Style>,
    pub(crate) head_lines: Option<i64>,
    pub(crate) tool_prefix: Option<String>,
    pub(crate) hard_cap_bytes: Option<u64>,
    /// What leaves a message and how, for what serves sessions.
    pub(crate) session: Option<toml::Table>,
}

impl Config {
    /// Reads the file, if there is one.
    pub(crate) fn load() -> Result<Self, Failure> {
        let Some(path) = directories().map(|dirs| dirs.config_dir().join("toolstub/config.toml"))
        else {
            return Ok(Self::default());
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Self::default());
            }
            Err(error) => {
                let context = format!("cannot read the configuration {}", path.display());
                return Err(Failure::input(anyhow::Error::new(error).context(context)));
            }
        };
        let config: Self = toml::from_str(&text)
            .with_context(|| format!("the configuration {} is not usable", path.display()))
            .map_err(Failure::input)?;
        config
            .of_sessions()
            .with_context(|| format!("the table [session] in {} is not usable", path.display()))
            .map_err(Failure::input)?;
        let prefix = config.tool_prefix.as_deref().unwrap_or_default();
        tool_prefix(prefix)
            .map_err(|why| anyhow!("the tool_prefix in {} is not usable: {why}", path.display()))
            .map_err(Failure::input)?;
        Ok(config)
    }

    /// How sessions behave: as the file says of stubs, and above that as its table `[session]` says.
    pub(crate) fn of_sessions(&self) -> Result<toolstub_session::Config, toml::de::Error> {
        let mut table = toml::Table::new();
        let mut set = |name: &str, value: Option<toml::Value>| {
            table.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("preview_chars", self.preview_chars.map(toml::Value::from));
        set("head_lines", self.head_lines.map(toml::Value::from));
        set("tool_prefix", self.tool_prefix.clone().map(toml::Value::from));
        let style = self.style.map(|style| match style {
            Style::Typed => "typed",
            Style::Head => "head",
        });
        set("style", style.map(toml::Value::from));
        let cap = self.hard_cap_bytes.map(|cap| i64::try_from(cap).unwrap_or(i64::MAX));
        set("hard_cap_bytes", cap.map(toml::Value::from));
        table.extend(self.session.clone().unwrap_or_default());
        table.try_into()
    }
}

/// Where results are kept if nobody says where.
pub(crate) fn default_store() -> Option<PathBuf> {
    directories().map(|dirs| dirs.data_dir().join("toolstub"))
}

fn directories() -> Option<impl etcetera::BaseStrategy> {
    etcetera::choose_base_strategy().ok()
}
