//! What can be seen of the sessions: through a server, and past all of them in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::http::ask;
use super::load::{read_mark, session_id};

/// A message as it is seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) client: usize,
    pub(super) number: usize,
    /// The ref of the result, or the result itself if it stayed.
    pub(super) result: Result<String, String>,
}

/// The messages of each session that there is, and the SHA-256 of what each ref leads to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) sessions: BTreeMap<usize, Vec<Message>>,
    pub(super) results: BTreeMap<String, Option<String>>,
    pub(super) faults: Vec<String>,
}

impl Message {
    fn read(message: &Value) -> anyhow::Result<Self> {
        let text = |value: &Value, name: &str| super::super::subject::text(value, name);
        let parts = message["parts"].as_array().context("a message has parts")?;
        let [first, tool] = &parts[..] else { anyhow::bail!("{} parts", parts.len()) };
        let mark = text(first, "text")?;
        let (client, number) = read_mark(&mark).with_context(|| format!("`{mark}`"))?;
        let result = match tool["tool_output_ref"].as_str() {
            Some(reference) => Ok(reference.to_owned()),
            None => Err(text(tool, "tool_output")?),
        };
        Ok(Self { id: text(message, "id")?, client, number, result })
    }
}

impl Seen {
    /// What a server shows.
    pub(super) fn through(port: u16, count: usize) -> anyhow::Result<Self> {
        let mut seen = Self::default();
        let listed = ask(port, "GET", "/api/v1/sessions", &[], &[])?.result()?;
        let listed = listed.as_array().context("a list of sessions")?;
        let listed: BTreeSet<_> =
            listed.iter().filter_map(|session| session["session_id"].as_str()).collect();
        for number in 0..count {
            let id = session_id(number);
            let at = format!("/api/v1/sessions/{id}");
            let opened = ask(port, "GET", &at, &[], &[])?;
            if opened.status == 404 {
                if listed.contains(&*id) {
                    seen.faults.push(format!("{id} is listed and not there"));
                }
                continue;
            }
            let opened = opened.result()?;
            if !listed.contains(&*id) {
                seen.faults.push(format!("{id} is there and not listed"));
            }
            if opened["created_at"] == "" {
                seen.faults.push(format!("{id} has no record"));
            }
            let budget = format!("{at}/context?token_budget=1000000000");
            let context = ask(port, "GET", &budget, &[], &[])?.result()?;
            let messages = context["messages"].as_array().context("a context has messages")?;
            if opened["message_count"] != messages.len() as u64 {
                let count = &opened["message_count"];
                let fault = format!("{id} counts {count} messages and shows {}", messages.len());
                seen.faults.push(fault);
            }
            let messages: anyhow::Result<Vec<_>> = messages.iter().map(Message::read).collect();
            let messages = messages?;
            for message in &messages {
                let Ok(reference) = &message.result else { continue };
                if seen.results.contains_key(reference) {
                    continue;
                }
                let result = reference.rsplit('/').next().unwrap_or_default();
                let answer =
                    ask(port, "GET", &format!("{at}/tool-results/{result}/output.txt"), &[], &[])?;
                let digest = match answer.status {
                    200 => Some(toolstub_corpus_tests::sha256(&answer.body).to_string()),
                    404 => None,
                    _ => anyhow::bail!("{reference}: {}", answer.told()),
                };
                seen.results.insert(reference.clone(), digest);
            }
            seen.sessions.insert(number, messages);
        }
        Ok(seen)
    }

    /// What stands in a copy of the store.
    pub(super) fn in_store(root: &Path, count: usize) -> anyhow::Result<Self> {
        let mut seen = Self::default();
        for number in 0..count {
            let id = session_id(number);
            let folder = root.join("sessions").join(&id);
            let messages = names(&folder.join("messages"))?;
            let Some(record) = bytes(&folder.join("session.json"))? else {
                if folder.exists() {
                    seen.faults.push(format!("{id} has something and no record"));
                }
                continue;
            };
            let record: Value = serde_json::from_slice(&record)?;
            ensure!(record["session_id"] == *id, "the record of {id} is of another session");
            let (mut all, mut keys) = (Vec::new(), BTreeSet::new());
            for name in messages {
                let parts: Vec<_> = name.split('-').collect();
                ensure!(parts.len() == 5, "{id}: a message is called {name}");
                // Of what was sent with one key, the first counts.
                if parts[1] >= "8" && !keys.insert(parts[1].to_owned()) {
                    continue;
                }
                let body = bytes(&folder.join("messages").join(&name))?.context("it was listed")?;
                let lines: Vec<_> = body.split(|byte| *byte == b'\n').collect();
                let (end, lines) = lines.split_last().context("there is a last line")?;
                // Behind what came with a key stands a note.
                let is_note = |line: &[u8]| line.starts_with(b"#");
                let lines = lines
                    .split_last()
                    .filter(|(last, _)| is_note(last))
                    .map_or(lines, |(_, lines)| lines);
                if !end.is_empty() || parts[2] != lines.len().to_string() {
                    seen.faults.push(format!("{id}: {} lines in {name}", lines.len()));
                }
                for line in lines {
                    all.push(Message::read(&serde_json::from_slice(line)?)?);
                }
            }
            for message in &all {
                let Ok(reference) = &message.result else { continue };
                let result = reference.rsplit('/').next().unwrap_or_default();
                let folder = folder.join("tool-results").join(result);
                let digest = match (
                    bytes(&folder.join("output.txt"))?,
                    bytes(&folder.join("metadata.json"))?,
                ) {
                    (Some(output), Some(metadata)) => {
                        let metadata: Value = serde_json::from_slice(&metadata)?;
                        let digest = toolstub_corpus_tests::sha256(&output).to_string();
                        if metadata["sha256"] != *digest {
                            seen.faults.push(format!("{reference}: its record is of other bytes"));
                        }
                        Some(digest)
                    }
                    _ => None,
                };
                seen.results.insert(reference.clone(), digest);
            }
            seen.sessions.insert(number, all);
        }
        Ok(seen)
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn bytes(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
