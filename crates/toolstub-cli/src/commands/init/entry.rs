//! What is added to a host's file, found again, and taken out.

use std::ops::Range;

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

use super::document::{Document, Node};
use super::{json, toml};

/// Something of ours in a JSON file.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// A hook: an item of the list that `path` leads to, or of a `hooks` list in one of its items.
    Hook {
        path: &'static [&'static str],
        value: Value,
        /// What ends the program's words in the command that is run: ` hook claude`.
        words: String,
    },
    /// The server of the retrieval tools: a member of the object that `path` leads to.
    Server { path: &'static [&'static str], value: Value },
    /// What the file has to say of itself, unless it does already. It stays.
    Note { name: &'static str, value: Value },
}

/// The name of the retrieval tools' server in a host's files.
pub(super) const NAME: &str = "toolstub";

/// How a file is changed.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    Json {
        entries: Vec<Entry>,
        /// Whether the host takes comments.
        comments: bool,
    },
    /// The server of the retrieval tools in a TOML file.
    Toml(toml::Server),
    /// A file that is ours whole. Its first line tells.
    Whole(String),
}

impl Edit {
    /// The text with what is ours in it.
    pub(super) fn install(&self, text: Option<&str>) -> anyhow::Result<String> {
        match self {
            Self::Json { entries, comments } => {
                let mut text = text.unwrap_or_default().to_owned();
                check(&text, *comments)?;
                for entry in entries {
                    text = entry.install(&text)?;
                }
                Ok(text)
            }
            Self::Toml(server) => server.install(text.unwrap_or_default()),
            Self::Whole(whole) => match text {
                Some(text) if !self.is_in(text) => {
                    Err(anyhow!("there is such a file already, and it is not ours"))
                }
                _ => Ok(whole.clone()),
            },
        }
    }

    /// The text without what is ours; `None` where nothing would be left.
    pub(super) fn uninstall(&self, text: &str) -> anyhow::Result<Option<String>> {
        let rest = match self {
            Self::Json { entries, comments } => {
                let mut text = text.to_owned();
                check(&text, *comments)?;
                for entry in entries {
                    text = entry.uninstall(&text)?;
                }
                text
            }
            Self::Toml(_) => toml::Server::uninstall(text)?,
            Self::Whole(_) if self.is_in(text) => return Ok(None),
            Self::Whole(_) => text.to_owned(),
        };
        Ok(Some(rest))
    }

    /// Whether there is anything of ours in a text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Json { entries, .. } => {
                let Ok(document) = Document::parse(text) else { return false };
                entries.iter().any(|entry| entry.find(&document).is_some())
            }
            Self::Toml(_) => toml::is_in(text),
            Self::Whole(whole) => whole.lines().next() == text.lines().next(),
        }
    }
}

/// Refuses what the host would not read.
fn check(text: &str, comments: bool) -> anyhow::Result<()> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(());
    }
    if comments {
        Document::parse(text).map(|_| ())
    } else {
        serde_json::from_str::<serde::de::IgnoredAny>(text).map(|_| ()).map_err(Into::into)
    }
    .context("it holds no valid JSON; mend it first")
}

/// Where something of ours is, and in which group of hooks it is the only one.
struct Place {
    span: Range<usize>,
    group: Option<Range<usize>>,
}

impl Entry {
    fn install(&self, text: &str) -> anyhow::Result<String> {
        let document = if text.trim().is_empty() { "{}" } else { text };
        let document = Document::parse(document)?;
        let found = self.find(&document);
        match self {
            Self::Hook { path, value, .. } => match found {
                None => json::append(text, path, value),
                Some(Place { group: Some(group), .. }) => put(&document, group, value),
                Some(Place { span, .. }) => {
                    // Somebody has put it beside other hooks: that is left as it is.
                    let inner = value["hooks"].get(0).unwrap_or(value);
                    put(&document, span, inner)
                }
            },
            Self::Server { path, value } => {
                if let Some(place) = found {
                    return put(&document, place.span, value);
                }
                let servers = document.find(path);
                if servers.is_some_and(|servers| document.member(servers, NAME).is_some()) {
                    bail!(
                        "`{}.{NAME}` in it is another server; give that another name first",
                        path.join(".")
                    );
                }
                json::add(text, path, NAME, value)
            }
            Self::Note { name, value } => match document.member(document.root(), name) {
                Some(_) => Ok(text.to_owned()),
                None => json::add(text, &[], name, value),
            },
        }
    }

    fn uninstall(&self, text: &str) -> anyhow::Result<String> {
        let mut text = text.to_owned();
        loop {
            if text.trim().is_empty() {
                return Ok(text);
            }
            let document = Document::parse(&text)?;
            let Some(place) = self.find(&document) else { return Ok(text) };
            text = json::remove(&text, place.group.unwrap_or(place.span))?;
        }
    }

    fn find(&self, document: &Document<'_>) -> Option<Place> {
        match self {
            Self::Hook { path, words, .. } => {
                let groups = document.items(document.find(path)?);
                groups.into_iter().find_map(|group| {
                    if is_run(document, group, words) {
                        return Some(Place {
                            span: group.span.clone(),
                            group: Some(group.span.clone()),
                        });
                    }
                    let hooks = document.items(document.member(group, "hooks")?);
                    let ours = hooks.iter().find(|hook| is_run(document, hook, words))?;
                    let group = (hooks.len() == 1).then(|| group.span.clone());
                    Some(Place { span: ours.span.clone(), group })
                })
            }
            Self::Server { path, value } => {
                let server = document.member(document.find(path)?, NAME)?;
                is_server(document, server, value)
                    .then(|| Place { span: server.span.clone(), group: None })
            }
            Self::Note { .. } => None,
        }
    }
}

/// The document with another value in a place, unless it says the same already.
fn put(document: &Document<'_>, span: Range<usize>, value: &Value) -> anyhow::Result<String> {
    let text = document.text;
    if serde_json::from_str::<Value>(&text[span.clone()]).is_ok_and(|there| there == *value) {
        return Ok(text.to_owned());
    }
    json::replace(text, span, value)
}

/// Whether a hook runs this program.
fn is_run(document: &Document<'_>, hook: &Node, words: &str) -> bool {
    let command = document.member(hook, "command").and_then(|node| document.string(node));
    command.is_some_and(|command| {
        let at = command.find(words).filter(|at| {
            let rest = &command[at + words.len()..];
            rest.is_empty() || rest.starts_with(' ')
        });
        at.is_some_and(|at| command[..at].contains(NAME))
    })
}

/// Whether a server is this program: by its command, which is a text or a list of words.
fn is_server(document: &Document<'_>, server: &Node, ours: &Value) -> bool {
    let Some(command) = document.member(server, "command") else { return false };
    let program = match document.items(command).first() {
        Some(first) => document.string(first),
        None => document.string(command),
    };
    let own = ours["command"].as_str().or_else(|| ours["command"][0].as_str());
    program.is_some_and(|program| own == Some(&program) || is_program(&program))
}

/// Whether a path leads to a program of this name.
pub(super) fn is_program(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name == NAME || name.strip_suffix(".exe") == Some(NAME)
}
