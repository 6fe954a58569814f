//! Codex' `config.toml`: the server of the retrieval tools is a table at its end.

use anyhow::{Context as _, anyhow, bail};
use toml::{Table, Value};

use super::entry::NAME;
use super::own::Own;

const SERVERS: &str = "mcp_servers";

/// The command of the server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) own: Own,
    pub(super) arguments: Vec<String>,
}

impl Server {
    pub(super) fn install(&self, text: &str) -> anyhow::Result<String> {
        let before = parse(text)?;
        let server = self.table();
        match before.get(SERVERS).and_then(|servers| servers.get(NAME)) {
            Some(there) if *there == Value::Table(server.clone()) => return Ok(text.to_owned()),
            Some(there) if !self.is_ours(there) => {
                bail!("`{SERVERS}.{NAME}` in it is another server; give that another name first")
            }
            Some(_) => return self.install(&self.uninstall(text)?),
            None => {}
        }
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut after = text.to_owned();
        if !text.is_empty() {
            if !text.ends_with('\n') {
                after.push_str(line_end);
            }
            after.push_str(line_end);
        }
        let command = Value::from(self.own.path.as_str());
        let arguments = Value::from(self.arguments.clone());
        for line in [
            format!("[{SERVERS}.{NAME}]"),
            format!("command = {command}"),
            format!("args = {arguments}"),
        ] {
            after.push_str(&line);
            after.push_str(line_end);
        }
        let mut expected = before;
        let servers = expected.entry(SERVERS).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(servers) = servers {
            servers.insert(NAME.to_owned(), Value::Table(server));
        }
        if parse(&after).ok().as_ref() != Some(&expected) {
            bail!(
                "a table cannot be added to its `{SERVERS}`; write that as [{SERVERS}.NAME] tables first"
            );
        }
        Ok(after)
    }

    pub(super) fn uninstall(&self, text: &str) -> anyhow::Result<String> {
        let mut expected = parse(text)?;
        if !self.is_in(text) {
            return Ok(text.to_owned());
        }
        if let Some(Value::Table(servers)) = expected.get_mut(SERVERS) {
            servers.remove(NAME);
            if servers.is_empty() {
                expected.remove(SERVERS);
            }
        }
        // The table's lines, those of its own tables, and the blank line in front.
        let (mut kept, mut is_ours) = (Vec::new(), false);
        for line in text.split_inclusive('\n') {
            let bare = line.trim();
            if bare.starts_with('[') {
                let head = bare.trim_start_matches('[');
                let own = head.strip_prefix(SERVERS).and_then(|rest| rest.strip_prefix('.'));
                let own = own.and_then(|rest| rest.strip_prefix(NAME));
                let begins = own.is_some_and(|rest| rest.starts_with([']', '.']));
                if begins
                    && !is_ours
                    && kept.last().is_some_and(|line: &&str| line.trim().is_empty())
                {
                    kept.pop();
                }
                is_ours = begins;
            }
            if !is_ours {
                kept.push(line);
            }
        }
        let after = kept.concat();
        let same = parse(&after).is_ok_and(|mut after| {
            if after.get(SERVERS).is_some_and(|it| it.as_table().is_some_and(Table::is_empty)) {
                after.remove(SERVERS);
            }
            after == expected
        });
        if !same {
            bail!("`{SERVERS}.{NAME}` is not written as a table; take it out by hand");
        }
        Ok(after)
    }

    /// Whether there is a server of ours in a text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        server(text).is_some_and(|server| self.is_ours(&server))
    }

    /// What a server of this name that is not ours is called.
    pub(super) fn other(&self, text: &str) -> Option<String> {
        let other = server(text).filter(|server| !self.is_ours(server));
        other.map(|_| format!("the server `{SERVERS}.{NAME}` is not ours"))
    }

    fn is_ours(&self, server: &Value) -> bool {
        let arguments = server.get("args").and_then(Value::as_array);
        let words = server.get("command").into_iter().chain(arguments.into_iter().flatten());
        // What is no text is no word that we write.
        let words: Vec<String> =
            words.map(|word| word.as_str().unwrap_or_default().to_owned()).collect();
        self.own.is_server(&words)
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("command".to_owned(), Value::from(self.own.path.as_str()));
        table.insert("args".to_owned(), Value::from(self.arguments.clone()));
        table
    }
}

fn server(text: &str) -> Option<Value> {
    parse(text).ok()?.get_mut(SERVERS)?.as_table_mut()?.remove(NAME)
}

fn parse(text: &str) -> anyhow::Result<Table> {
    text.parse::<Table>()
        .map_err(|error| anyhow!(error))
        .context("it holds no valid TOML; mend it first")
}
