//! Codex' `config.toml`: the server of the retrieval tools is a table at its end.

use std::ops::Range;

use anyhow::{Context as _, anyhow, bail};
use toml::de::{DeTable, DeValue};
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
            Some(there) if server.iter().all(|(name, value)| there.get(name) == Some(value)) => {
                return Ok(text.to_owned());
            }
            Some(there) if !self.is_ours(there) => {
                bail!("`{SERVERS}.{NAME}` in it is another server; give that another name first")
            }
            Some(_) => return self.update(text, before),
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

    /// The text with our command in the place of the one that is ours already. What else its table holds stays.
    fn update(&self, text: &str, mut expected: Table) -> anyhow::Result<String> {
        let there = expected.get_mut(SERVERS).and_then(|servers| servers.get_mut(NAME));
        if let Some(Value::Table(there)) = there {
            there.extend(self.table());
        }
        let mut spans = Vec::new();
        {
            let document = DeTable::parse(text).map_err(|error| anyhow!(error))?;
            let servers = document.get_ref().get(SERVERS).and_then(|it| it.get_ref().as_table());
            let server = servers.and_then(|servers| servers.get(NAME));
            let server = server.and_then(|server| server.get_ref().as_table());
            for (name, value) in self.table() {
                let there = server.and_then(|server| server.get(name.as_str()));
                spans.extend(there.map(|there| (there.span(), value)));
            }
        }
        spans.sort_by_key(|(span, _)| span.start);
        let mut after = text.to_owned();
        for (span, value) in spans.into_iter().rev() {
            after.replace_range(span, &value.to_string());
        }
        if parse(&after).ok().as_ref() != Some(&expected) {
            bail!(
                "`{SERVERS}.{NAME}` in it is written in a way that cannot be changed; take it out"
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
        let after = without(text)?;
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

    /// The server that is in a text, if it is ours.
    pub(super) fn as_in(&self, text: &str) -> Self {
        let mut words = server(text).filter(|there| self.is_ours(there)).map(|there| words(&there));
        match words.as_mut().and_then(|words| words.split_first_mut()) {
            Some((program, arguments)) => Self {
                own: Own { path: std::mem::take(program), host: self.own.host },
                arguments: arguments.to_vec(),
            },
            None => self.clone(),
        }
    }

    /// What a server of this name that is not ours is called.
    pub(super) fn other(&self, text: &str) -> Option<String> {
        let other = server(text).filter(|server| !self.is_ours(server));
        other.map(|_| format!("the server `{SERVERS}.{NAME}` is not ours"))
    }

    fn is_ours(&self, server: &Value) -> bool {
        self.own.is_server(&words(server))
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("command".to_owned(), Value::from(self.own.path.as_str()));
        table.insert("args".to_owned(), Value::from(self.arguments.clone()));
        table
    }
}

/// The program of a server and its arguments.
fn words(server: &Value) -> Vec<String> {
    let arguments = server.get("args").and_then(Value::as_array);
    let words = server.get("command").into_iter().chain(arguments.into_iter().flatten());
    // What is no text is no word that we write.
    words.map(|word| word.as_str().unwrap_or_default().to_owned()).collect()
}

/// The text without the lines of our table and of those below it. What else stands between them stays:
/// comments, and lines of space but for the one in front.
fn without(text: &str) -> anyhow::Result<String> {
    let values = values(text)?;
    let mut values = values.iter().peekable();
    let mut kept: Vec<&str> = Vec::new();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let (mut is_ours, mut is_inside, mut last) = (false, false, start);
        while let Some(value) = values.peek().filter(|value| value.span.start < end) {
            is_ours |= value.is_ours;
            is_inside |= value.span.start < start;
            last = value.span.end.clamp(last, end);
            if value.span.end > end {
                break;
            }
            values.next();
        }
        let is_head = !is_inside && line.trim_start().starts_with('[');
        if is_head && is_head_of_ours(line) {
            is_ours = true;
        }
        if !is_ours {
            kept.push(line);
            continue;
        }
        if is_head && kept.last().is_some_and(|line| line.trim().is_empty()) {
            kept.pop();
        }
        let rest = text[last..end].trim_start_matches([' ', '\t', ']']);
        if rest.starts_with('#') {
            kept.push(rest);
        }
    }
    Ok(kept.concat())
}

/// Whether a line is the head of our table, or of one below it.
fn is_head_of_ours(line: &str) -> bool {
    let head = line.trim_start().trim_start_matches('[');
    let name = head.strip_prefix(SERVERS).and_then(|rest| rest.strip_prefix('.'));
    let behind = name.and_then(|name| name.strip_prefix(NAME));
    behind.is_some_and(|rest| rest.starts_with([']', '.']))
}

/// Something in a text, and where it stands.
struct Written {
    span: Range<usize>,
    is_ours: bool,
}

/// Where the names and the values of all tables stand, in order. None reaches into another.
fn values(text: &str) -> anyhow::Result<Vec<Written>> {
    let document = DeTable::parse(text).map_err(|error| anyhow!(error))?;
    let mut written = Vec::new();
    // Tables, and how many of the names that lead to ours lead to them.
    let mut open = vec![(document.get_ref(), 0)];
    while let Some((table, depth)) = open.pop() {
        for (name, value) in table {
            let leads = [SERVERS, NAME].get(depth).is_none_or(|step| name.get_ref() == step);
            let depth = if leads && depth < usize::MAX { depth + 1 } else { usize::MAX };
            let is_ours = (2..usize::MAX).contains(&depth);
            let mut span = name.span();
            match value.get_ref() {
                DeValue::Table(inner) => open.push((inner, depth)),
                DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
                    open.extend(
                        items.iter().filter_map(|item| Some((item.get_ref().as_table()?, depth))),
                    );
                }
                _ => span.end = span.end.max(value.span().end),
            }
            written.push(Written { span, is_ours });
        }
    }
    written.sort_by_key(|written| written.span.start);
    Ok(written)
}

fn server(text: &str) -> Option<Value> {
    parse(text).ok()?.get_mut(SERVERS)?.as_table_mut()?.remove(NAME)
}

fn parse(text: &str) -> anyhow::Result<Table> {
    text.parse::<Table>()
        .map_err(|error| anyhow!(error))
        .context("it holds no valid TOML; mend it first")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn leaves(text: &str, expected: &str) {
        assert_eq!(without(text).unwrap(), expected, "{text}");
    }

    #[test]
    fn what_is_not_ours_stays_where_it_stands() {
        let ours = "[mcp_servers.toolstub]\ncommand = \"toolstub\"\nargs = [\"mcp\"]\n";
        leaves(ours, "");
        leaves(&format!("a = 1\n\n{ours}"), "a = 1\n");
        leaves(&format!("a = 1\n\n{ours}\n# of b\n[b]\nc = 2\n"), "a = 1\n\n# of b\n[b]\nc = 2\n");
        leaves(&format!("# first\n{ours}# last"), "# first\n# last");
        leaves(
            "[mcp_servers.toolstub] # head\n# above\ncommand = \"toolstub\" # behind\nargs = [\n  \"mcp\",\n]\n# end\n",
            "# head\n# above\n# behind\n# end\n",
        );
        leaves(
            &format!(
                "{ours}text = \"\"\"\n# no comment\n[b]\n\"\"\"\n\n[mcp_servers.toolstub.env]\nA = \"1\"\n\n[b]\nc = [\n  [1],\n]\n"
            ),
            "\n[b]\nc = [\n  [1],\n]\n",
        );
        leaves(
            &format!(
                "{ours}[[mcp_servers.toolstub.x]]\na = 1\n[[mcp_servers.toolstub.x]]\na = 2\n[[b]]\na = 3\n[[b]]\n"
            ),
            "[[b]]\na = 3\n[[b]]\n",
        );
        leaves(
            &format!(
                "t = \"\"\"\n{ours}\"\"\"\n[mcp_servers]\ntoolstub.command = \"toolstub\"\nfs.command = \"fs\"\n"
            ),
            &format!("t = \"\"\"\n{ours}\"\"\"\n[mcp_servers]\nfs.command = \"fs\"\n"),
        );
        leaves("[ mcp_servers . \"toolstub\" ]\ncommand = 'toolstub'\r\n# é\r\n", "# é\r\n");
        leaves(
            "[mcp_servers.toolstubs]\ncommand = 'x'\n",
            "[mcp_servers.toolstubs]\ncommand = 'x'\n",
        );
    }
}
