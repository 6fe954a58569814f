//! What is added to a host's file, found again, and taken out.

use std::ops::Range;

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;
use toolstub_core::text::clean;

use super::document::{Document, Node};
use super::own::Own;
use super::{json, toml};

/// Something of ours in a JSON file.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// A hook: an item of the list that `path` leads to, or of a `hooks` list in one of its items.
    Hook { path: &'static [&'static str], value: Value, own: Own },
    /// The server of the retrieval tools: a member of the object that `path` leads to.
    Server { path: &'static [&'static str], value: Value, own: Own },
    /// What the file has to say of itself, unless it does already. It stays.
    Note { name: &'static str, value: Value },
}

/// The name of the retrieval tools' server in a host's files.
pub(super) const NAME: &str = "toolstub";

/// How the line of a plugin begins that says what it calls.
const CALL: &str = "const [program, ...words] = ";

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
                // Nothing that a host could not read is written, whatever it was made of.
                check(&text, *comments)?;
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
                check(&text, *comments)?;
                text
            }
            Self::Toml(server) => server.uninstall(text)?,
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
            Self::Toml(server) => server.is_in(text),
            Self::Whole(whole) => whole.lines().next() == text.lines().next(),
        }
    }

    /// The change that has made a text, with whatever options that was.
    pub(super) fn as_in(&self, text: &str) -> Self {
        match self {
            Self::Json { entries, comments } => {
                let Ok(document) = Document::parse(text) else { return self.clone() };
                let entries = entries.iter().map(|entry| entry.as_in(&document)).collect();
                Self::Json { entries, comments: *comments }
            }
            Self::Toml(server) => Self::Toml(server.as_in(text)),
            Self::Whole(whole) => {
                let is_made = beside_call(whole).eq(beside_call(text));
                let made = if is_made { text } else { whole };
                Self::Whole(made.to_owned())
            }
        }
    }

    /// What could be taken for ours in a text, and is not.
    pub(super) fn others(&self, text: &str) -> Vec<String> {
        match self {
            Self::Json { entries, .. } => {
                let Ok(document) = Document::parse(text) else { return Vec::new() };
                entries.iter().flat_map(|entry| entry.others(&document)).collect()
            }
            Self::Toml(server) => server.other(text).into_iter().collect(),
            Self::Whole(_) if self.is_in(text) => Vec::new(),
            Self::Whole(_) => vec!["the file is not ours".to_owned()],
        }
    }
}

/// The lines of a plugin that are the same whatever it calls.
fn beside_call(plugin: &str) -> impl Iterator<Item = &str> {
    plugin.split_inclusive('\n').filter(|line| !line.starts_with(CALL))
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
            Self::Server { path, value, .. } => {
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
            Self::Hook { path, own, .. } => {
                let groups = document.items(document.find(path)?);
                groups.into_iter().find_map(|group| {
                    if is_run(document, group, own) {
                        return Some(Place {
                            span: group.span.clone(),
                            group: Some(group.span.clone()),
                        });
                    }
                    let hooks = document.items(document.member(group, "hooks")?);
                    let ours = hooks.iter().find(|hook| is_run(document, hook, own))?;
                    let group = (hooks.len() == 1).then(|| group.span.clone());
                    Some(Place { span: ours.span.clone(), group })
                })
            }
            Self::Server { path, own, .. } => {
                let server = document.member(document.find(path)?, NAME)?;
                own.is_server(&server_words(document, server))
                    .then(|| Place { span: server.span.clone(), group: None })
            }
            Self::Note { .. } => None,
        }
    }

    fn as_in(&self, document: &Document<'_>) -> Self {
        let mut entry = self.clone();
        if let Self::Hook { value, .. } | Self::Server { value, .. } = &mut entry
            && let Some(place) = self.find(document)
        {
            let there = &document.text[place.group.unwrap_or(place.span)];
            *value = serde_json::from_str(there).unwrap_or_default();
        }
        entry
    }

    fn others(&self, document: &Document<'_>) -> Vec<String> {
        match self {
            Self::Hook { path, own, .. } => {
                let groups = document.find(path).map(|list| document.items(list));
                let mut others = Vec::new();
                for group in groups.unwrap_or_default() {
                    let hooks = document.member(group, "hooks").map(|list| document.items(list));
                    for hook in hooks.unwrap_or_default().into_iter().chain([group]) {
                        let command = command(document, hook);
                        if let Some(command) = command.filter(|it| own.is_like_hook(it)) {
                            let command = clean(&command, 200);
                            others.push(format!("the hook `{command}` is not ours"));
                        }
                    }
                }
                others
            }
            Self::Server { path, .. } => {
                let servers = document.find(path);
                let there = servers.and_then(|servers| document.member(servers, NAME));
                let other = there.filter(|_| self.find(document).is_none());
                let told = |_| format!("the server `{}.{NAME}` is not ours", path.join("."));
                other.map(told).into_iter().collect()
            }
            Self::Note { .. } => Vec::new(),
        }
    }
}

/// The document with another value in a place, unless it says the same already. Members that are not ours
/// stay.
fn put(document: &Document<'_>, span: Range<usize>, value: &Value) -> anyhow::Result<String> {
    let text = document.text;
    let there = serde_json::from_str::<Value>(&text[span.clone()]).unwrap_or_default();
    let mut wanted = value.clone();
    if let (Value::Object(wanted), Value::Object(there)) = (&mut wanted, &there) {
        for (name, value) in there {
            wanted.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    if there == wanted {
        return Ok(text.to_owned());
    }
    json::replace(text, span, &wanted)
}

/// Whether a hook runs this program.
fn is_run(document: &Document<'_>, hook: &Node, own: &Own) -> bool {
    command(document, hook).is_some_and(|command| own.is_hook(&command))
}

fn command(document: &Document<'_>, hook: &Node) -> Option<String> {
    document.member(hook, "command").and_then(|node| document.string(node))
}

/// The program of a server and its arguments: a text and a list, or one list.
fn server_words(document: &Document<'_>, server: &Node) -> Vec<String> {
    let parts = ["command", "args"].into_iter().filter_map(|name| document.member(server, name));
    let mut words = Vec::new();
    for part in parts {
        let items = document.items(part);
        let nodes = if items.is_empty() { vec![part] } else { items };
        // What is no text is no word that we write.
        words.extend(nodes.into_iter().map(|node| document.string(node).unwrap_or_default()));
    }
    words
}
