//! Which files a host reads, and what goes into each.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use toolstub_mcp::Tool;
use toolstub_store_object::as_path;

use super::entry::{Edit, Entry, NAME};
use super::own::Own;
use super::toml::Server;
use crate::args::{Host, Init};
use crate::context::Context;
use crate::failure::Failure;

/// A change of a file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) edit: Edit,
    /// The folder that the file has to be in.
    pub(super) within: Option<PathBuf>,
    /// The folders of the host around the file, the innermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// All changes, and what is to be known of them.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) notes: Vec<String>,
}

/// How the program is called.
struct Program {
    path: String,
    /// What goes before each command: where results are kept and for whom, if that was said.
    options: Vec<String>,
    /// What goes before the hook alone: how results are stored.
    storing: Vec<String>,
    threshold: Option<u64>,
    notes: Vec<String>,
}

/// The tools of Claude Code whose results can be replaced.
const CLAUDE_TOOLS: &str = "^(Bash|Read|Grep|WebFetch|Agent|Task|mcp__.*)$";

pub(super) fn plan(args: &Init, context: &Context) -> Result<Plan, Failure> {
    if !args.uninstall {
        context.check_store()?;
    }
    let program = Program::new(args, context)?;
    let folder = Folder::new(args.host, args.project).map_err(Failure::input)?;
    let own = Own { path: program.path.clone(), host: host_name(args.host) };
    let hook = |path, value| Entry::Hook { path, value, own: own.clone() };
    let server_in = |path, value| Entry::Server { path, value, own: own.clone() };
    let json = |entries| Edit::Json { entries, comments: false };
    let command = program.hook(args.host);
    let server = json!({"command": program.path, "args": program.mcp()});
    let changes = match args.host {
        Host::Claude => {
            let run = json!({"type": "command", "command": command});
            let group = json!({"matcher": CLAUDE_TOOLS, "hooks": [run]});
            // Its tools are not put behind a search for tools.
            let server = json!({
                "type": "stdio", "command": program.path, "args": program.mcp(), "alwaysLoad": true
            });
            vec![
                (
                    folder.hooks.join("settings.json"),
                    json(vec![hook(&["hooks", "PostToolUse"], group)]),
                ),
                (folder.servers, json(vec![server_in(&["mcpServers"], server)])),
            ]
        }
        Host::Codex => {
            let run = json!({"type": "command", "command": command});
            let group = json!({"matcher": "*", "hooks": [run]});
            let server = Server { own: own.clone(), arguments: program.mcp() };
            vec![
                (
                    folder.hooks.join("hooks.json"),
                    json(vec![hook(&["hooks", "PostToolUse"], group)]),
                ),
                (folder.servers, Edit::Toml(server)),
            ]
        }
        Host::Gemini => {
            // What the hook has called in the place of a long result must not wait for a yes.
            let mut words = program.mcp();
            words.push("--stub-tool".to_owned());
            let server = json!({"command": program.path, "args": words, "trust": true});
            let prefix = context.config.of_sessions().map_err(Failure::input)?.tool_prefix;
            let tail = format!("mcp_{NAME}_{prefix}{}", Tool::Stub.base_name());
            let command = format!("{command} --tail-tool {}", quoted(&tail));
            let run = json!({"name": NAME, "type": "command", "command": command});
            let group = json!({"matcher": "*", "hooks": [run]});
            let entries =
                vec![hook(&["hooks", "AfterTool"], group), server_in(&["mcpServers"], server)];
            vec![(folder.servers, Edit::Json { entries, comments: true })]
        }
        Host::Cursor => {
            let hooks = vec![
                Entry::Note { name: "version", value: json!(1) },
                hook(&["hooks", "postToolUse"], json!({"command": command})),
            ];
            vec![
                (folder.hooks.join("hooks.json"), json(hooks)),
                (folder.servers, json(vec![server_in(&["mcpServers"], server)])),
            ]
        }
        Host::Opencode => {
            let mut words = vec![program.path.clone()];
            words.extend(program.mcp());
            let server = json!({"type": "local", "command": words, "enabled": true});
            let entries = vec![server_in(&["mcp"], server)];
            vec![
                (folder.hooks.join("plugin/toolstub.js"), Edit::Whole(program.plugin())),
                (folder.servers, Edit::Json { entries, comments: true }),
            ]
        }
    };
    let within = folder.project;
    let change = |(path, edit): (PathBuf, Edit)| {
        let around = path.ancestors().skip(1);
        let folders =
            around.take_while(|it| it.starts_with(&folder.hooks)).map(Into::into).collect();
        Change { path, edit, within: within.clone(), folders }
    };
    let changes = changes.into_iter().map(change).collect();
    Ok(Plan { changes, notes: program.notes })
}

fn host_name(host: Host) -> &'static str {
    match host {
        Host::Claude => "claude",
        Host::Codex => "codex",
        Host::Cursor => "cursor",
        Host::Gemini => "gemini",
        Host::Opencode => "opencode",
    }
}

/// Where a host's files are.
struct Folder {
    /// The folder of the file that names hooks.
    hooks: PathBuf,
    /// The file that names MCP servers.
    servers: PathBuf,
    /// The folder of the project whose files these are.
    project: Option<PathBuf>,
}

impl Folder {
    fn new(host: Host, project: bool) -> anyhow::Result<Self> {
        let variable =
            |name| env::var_os(name).filter(|path| !path.is_empty() && !project).map(PathBuf::from);
        let home = if project {
            env::current_dir().context("the current folder is not known")?
        } else {
            etcetera::home_dir().context("there is no home directory")?
        };
        let dot = |name: &str, servers: &str| {
            let hooks = home.join(name);
            (hooks.join(servers), hooks)
        };
        let (servers, hooks) = match host {
            Host::Claude => {
                let folder = variable("CLAUDE_CONFIG_DIR");
                let servers = if project { ".mcp.json" } else { ".claude.json" };
                (
                    folder.as_ref().unwrap_or(&home).join(servers),
                    folder.unwrap_or_else(|| home.join(".claude")),
                )
            }
            Host::Codex => {
                let hooks = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
                (hooks.join("config.toml"), hooks)
            }
            Host::Gemini => dot(".gemini", "settings.json"),
            Host::Cursor => dot(".cursor", "mcp.json"),
            Host::Opencode => {
                let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
                let config = config.join("opencode");
                let folder = if project { &home } else { &config };
                let commented = folder.join("opencode.jsonc");
                let plain = folder.join("opencode.json");
                let servers = if commented.exists() && !plain.exists() { commented } else { plain };
                let hooks = if project { home.join(".opencode") } else { config.clone() };
                (servers, hooks)
            }
        };
        Ok(Self { hooks, servers, project: project.then_some(home) })
    }
}

impl Program {
    fn new(args: &Init, context: &Context) -> Result<Self, Failure> {
        // Others share a project's files, and have the program elsewhere.
        let path =
            if args.project { NAME.to_owned() } else { own_path().map_err(Failure::input)? };
        let (mut options, mut storing, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(store) = &context.store {
            let is_of_variable = !is_given("--store");
            if args.project && is_of_variable {
                notes.push(
                    "TOOLSTUB_STORE is not written into files that others share; give --store to \
                     have a store in them"
                        .to_owned(),
                );
            } else {
                let place = absolute(store).map_err(Failure::input)?;
                if is_of_variable {
                    notes.push(format!(
                        "the store of TOOLSTUB_STORE is written into the files, which keep it whatever \
                         the variable says later: {place}"
                    ));
                } else if args.project && as_path(store).is_some() {
                    notes.push(format!(
                        "the files, which others share, name a store on this machine: {place}"
                    ));
                }
                options.extend(["--store".to_owned(), place]);
            }
        }
        if context.session.is_some() {
            options.extend(["--session".to_owned(), context.session()?.to_string()]);
        }
        if let Some(event) = context.event()? {
            storing.extend(["--event".to_owned(), event.to_string()]);
        }
        if !context.fsync {
            if is_given("--fsync") {
                storing.extend(["--fsync".to_owned(), "false".to_owned()]);
            } else {
                notes.push(
                    "TOOLSTUB_FSYNC is not written into the files; give --fsync false to have it in \
                     them"
                        .to_owned(),
                );
            }
        }
        Ok(Self { path, options, storing, threshold: args.threshold, notes })
    }

    fn mcp(&self) -> Vec<String> {
        let mut words = self.options.clone();
        words.push("mcp".to_owned());
        words
    }

    /// The words behind the program that call the hook.
    fn hook_words(&self, host: Host) -> Vec<String> {
        let mut words = self.options.clone();
        words.extend(self.storing.iter().cloned());
        words.extend(["hook".to_owned(), host_name(host).to_owned()]);
        if let Some(threshold) = self.threshold {
            words.extend(["--threshold".to_owned(), threshold.to_string()]);
        }
        words
    }

    /// The hook as a shell takes it.
    fn hook(&self, host: Host) -> String {
        let words = [self.path.clone()].into_iter().chain(self.hook_words(host));
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    fn plugin(&self) -> String {
        let template = include_str!("plugin.js");
        let words = [self.path.clone()].into_iter().chain(self.hook_words(Host::Opencode));
        let words = words.collect::<Value>().to_string();
        template.replace("\"COMMAND\"", &words)
    }
}

/// Where this program is: by the path under which it is found, which may outlive a new version of it.
fn own_path() -> anyhow::Result<String> {
    let own = env::current_exe().context("where this program is is not known")?;
    let is_own = |path: &Path| match (fs::canonicalize(path), fs::canonicalize(&own)) {
        (Ok(path), Ok(own)) => path == own,
        _ => false,
    };
    let on_path = env::var_os("PATH").and_then(|paths| {
        let mut paths = env::split_paths(&paths).map(|folder| folder.join(NAME));
        paths.find(|path| path.is_absolute() && is_own(path))
    });
    let path = on_path.unwrap_or(own);
    let told = path.to_str().map(str::to_owned);
    told.ok_or_else(|| anyhow!("the path of this program, {}, is not UTF-8", path.display()))
}

/// Whether an option stands on the command line, and does not come from the environment.
fn is_given(option: &str) -> bool {
    let stands = |word: &OsString| {
        let rest = word.to_str().and_then(|word| word.strip_prefix(option));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    env::args_os().any(|word| stands(&word))
}

/// A store as it is named from any folder.
fn absolute(store: &str) -> anyhow::Result<String> {
    let Some(path) = as_path(store) else { return Ok(store.to_owned()) };
    let path = std::path::absolute(path).context("the store is not usable")?;
    path.to_str().map(str::to_owned).ok_or_else(|| anyhow!("the path of the store is not UTF-8"))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,\\".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && (cfg!(windows) || !word.contains('\\')) {
        return word.to_owned();
    }
    if cfg!(windows) {
        return format!("\"{word}\"");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("/usr/bin/toolstub", "/usr/bin/toolstub"),
            ("/Users/a b/toolstub", "'/Users/a b/toolstub'"),
            ("it's", r"'it'\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
