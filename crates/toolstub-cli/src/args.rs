//! What can be said on the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::Deserialize;
use toolstub_core::{Kind, OffsetUnit};

/// Keeps oversized tool results out of an agent's context, and within reach.
#[derive(Debug, Parser)]
#[command(name = "toolstub", version, propagate_version = true)]
pub(crate) struct Args {
    /// Print the answer as one JSON object, errors too.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Where results are kept: a path, a file: URL, `s3://bucket/prefix` or memory: [default: a folder in the data directory]
    #[arg(long, global = true, env = "TOOLSTUB_STORE", value_name = "URL-OR-PATH")]
    pub(crate) store: Option<String>,
    /// The session that results belong to [default: default; hook and proxy have their own, purge has none]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The event that results belong to.
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) event: Option<String>,

    /// Whether a write to a folder waits until it is on the disk; a power cut can lose what did not.
    #[arg(
        long,
        global = true,
        env = "TOOLSTUB_FSYNC",
        value_name = "BOOL",
        default_value = "true",
        action = ArgAction::Set,
        value_parser = BoolishValueParser::new()
    )]
    pub(crate) fsync: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the stub of a tool result; store nothing.
    Stub(Stub),
    /// Store a tool result and print its stub.
    Put(Put),
    /// Print a range of a stored result, byte for byte.
    Read(Read),
    /// Find a text in a stored result.
    Search(Search),
    /// List the results of the session, or the sessions.
    List(List),
    /// Remove a stored result.
    Rm(Rm),
    /// Remove all of a session or event: its results, and the messages of a service.
    Purge(Purge),
    /// Check stored results against their records.
    Verify(Verify),
    /// Remove what interrupted writes left behind, in the whole store.
    Gc(Gc),
    /// Count what is stored, and what it keeps out of the context.
    Stats,
    /// Serve the retrieval tools to an MCP client over standard input and output.
    Mcp(Mcp),
    /// Stand in front of an MCP server, and put what is too long of its results out of the context.
    Proxy(Proxy),
    /// Serve sessions, messages and results over HTTP.
    Serve(Serve),
    /// Answer an agent's host that has run a tool: a stub for a result that is too long, or nothing.
    Hook(Hook),
    /// Have an agent's host run the hook and offer the retrieval tools.
    Init(Init),
    /// Try out the store and say what it guarantees.
    Doctor,
    /// Show on an example what enters the context, and how the original is read.
    Demo,
    /// Print what a shell needs to complete command lines.
    Completions(Completions),
    /// Print the manual page of the program, or of one command.
    Man(Man),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Man {
    /// The command; without it, the program.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// An agent's host. Its payload is read from standard input; the answer, if there is one, goes to standard
/// output. Whatever goes wrong is told on standard error, and the result stays as it is.
#[derive(Debug, ClapArgs)]
pub(crate) struct Hook {
    /// The host that runs this; without it, known by what it sends. What another sends is not answered.
    #[arg(value_enum, value_name = "HOST")]
    pub(crate) host: Option<Host>,
    /// A result of more characters leaves a stub, if that is shorter [default: 20000; of Codex, which cuts
    /// what commands put out, 8000]
    #[arg(long, value_name = "CHARS")]
    pub(crate) threshold: Option<u64>,
    /// For Gemini CLI: the tool that returns the stub of a ref, as the host names it.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tail_tool: Option<String>,
}

/// A program that runs an agent's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Cursor: what MCP servers return.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
}

#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word on the command line")]
pub(crate) struct Init {
    /// The host whose configuration is changed.
    #[arg(value_enum, value_name = "HOST")]
    pub(crate) host: Host,
    /// Print what the files would hold, and change nothing.
    #[arg(long)]
    pub(crate) show: bool,
    /// Take out what was added, and nothing else.
    #[arg(long)]
    pub(crate) uninstall: bool,
    /// Change the configuration of the user: the default.
    #[arg(long, group = "scope")]
    pub(crate) user: bool,
    /// Change the configuration of the project in the current folder.
    #[arg(long, group = "scope")]
    pub(crate) project: bool,
    /// Have results of more characters leave stubs [default: that of `hook`]
    #[arg(long, value_name = "CHARS")]
    pub(crate) threshold: Option<u64>,
}

/// Keys come from files or the environment: everybody can read a command line.
#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Where to listen; elsewhere than on this machine alone only with a key.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1933")]
    pub(crate) listen: String,
    /// A file of keys that open the service, one a line; `TOOLSTUB_API_KEY` holds one.
    #[arg(long, value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// A file of keys that open the metrics alone; `TOOLSTUB_OPERATOR_KEY` holds one.
    #[arg(long, value_name = "FILE")]
    pub(crate) operator_key_file: Option<PathBuf>,
    /// A name by which clients call the service, beside localhost; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Whom the sessions belong to, as it stands in their addresses.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) user: String,
    /// What is longer leaves its message, in characters [default: 20000]
    #[arg(long, value_name = "CHARS")]
    pub(crate) threshold: Option<u64>,
    /// The most bytes of a request's body, unpacked.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(crate) body_limit: usize,
    /// How long a request may take until its answer begins.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// How long requests under way have when the service is to end.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) grace: Duration,
    /// What is told on standard error.
    #[arg(long, value_enum, env = "TOOLSTUB_LOG", default_value_t = Log::Warn)]
    pub(crate) log: Log,
}

/// How much is told of what goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// What failed.
    Error,
    /// What is suspicious too.
    Warn,
    /// Each request too.
    Info,
    /// More than anybody wants to know.
    Debug,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stub {
    /// The file that holds the tool result, or `-` for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) described: Described,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Put {
    /// The file that holds the tool result, or `-` for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) described: Described,
    /// The id of the tool call.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub(crate) tool_id: String,
    /// The message that holds the result.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub(crate) message_id: String,
    /// Pass a result of at most so many characters through unchanged.
    #[arg(long, value_name = "CHARS")]
    pub(crate) threshold: Option<u64>,
    /// The most bytes of a result that are kept [default: 1073741824]
    #[arg(long, value_name = "BYTES")]
    pub(crate) hard_cap: Option<u64>,
}

/// What is known of a tool result, and how its stub is written.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Described {
    /// The tool's name, for the stub's header.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) tool_name: String,
    /// The media type that the tool declared.
    #[arg(long, value_name = "TYPE")]
    pub(crate) mime: Option<String>,
    /// The cap of a sample or head, in characters [default: 2000]
    #[arg(long, value_name = "CHARS", allow_negative_numbers = true)]
    pub(crate) preview_chars: Option<i64>,
    /// What stands in the stub: a typed synopsis, or the first lines [default: typed]
    #[arg(long, value_enum)]
    pub(crate) style: Option<Style>,
    /// How many lines a head has [default: 40]
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    pub(crate) head_lines: Option<i64>,
    /// What stands before the retrieval tools' names in the stub [default: openviking_]
    #[arg(long, value_name = "PREFIX", value_parser = tool_prefix)]
    pub(crate) tool_prefix: Option<String>,
}

/// Takes any integer; what no count reaches is taken for the largest.
fn integer(given: &str) -> Result<i128, String> {
    let digits = given.strip_prefix(['-', '+']).unwrap_or(given);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("an integer is wanted".to_owned());
    }
    let clamped = if given.starts_with('-') { i128::MIN } else { i128::MAX };
    Ok(given.parse().unwrap_or(clamped))
}

/// Takes a prefix that can stand in a tool's name.
pub(crate) fn tool_prefix(given: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if given.len() <= 64 && given.bytes().all(fits) {
        Ok(given.to_owned())
    } else {
        Err("a prefix holds at most 64 of A-Z a-z 0-9 _ . -".to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Style {
    Typed,
    Head,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Where to begin, 0-based.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = integer)]
    pub(crate) offset: i128,
    /// How much to read; -1 is the rest.
    #[arg(long, value_name = "N", default_value_t = 20_000, allow_negative_numbers = true, value_parser = integer)]
    pub(crate) limit: i128,
    /// What offset and limit count: code-point, byte or line.
    #[arg(long, default_value = "code-point")]
    pub(crate) unit: OffsetUnit,
    /// Read the value that a JSON Pointer names; offset and limit count within it.
    #[arg(long, value_name = "POINTER", group = "selector", allow_hyphen_values = true)]
    pub(crate) pointer: Option<String>,
    /// Read rows of a table, 1-based and inclusive, such as 100-120.
    #[arg(long, value_name = "ROWS", group = "selector")]
    pub(crate) rows: Option<String>,
    /// Read lines, 1-based and inclusive, such as 40-80.
    #[arg(long, value_name = "LINES", group = "selector")]
    pub(crate) lines: Option<String>,
    /// With --json: the piece in base64 instead of text.
    #[arg(long)]
    pub(crate) base64: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Search {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The text to find; without --regex, every character stands for itself.
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Take the query for a regular expression; ^ and $ match at the borders of lines.
    #[arg(long, short = 'e')]
    pub(crate) regex: bool,
    /// Go on to the end, and say how many matches there are.
    #[arg(long)]
    pub(crate) count: bool,
    /// Take characters that differ only in case for the same.
    #[arg(long, short)]
    pub(crate) ignore_case: bool,
    /// The character at which to begin.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = integer)]
    pub(crate) offset: i128,
    /// The most matches to print.
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = integer)]
    pub(crate) limit: i128,
    /// How many characters to show on either side of a match.
    #[arg(long, value_name = "N", default_value_t = 300, allow_negative_numbers = true, value_parser = integer)]
    pub(crate) context_chars: i128,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct List {
    /// List the sessions of the store instead.
    #[arg(long, conflicts_with_all = ["limit", "cursor", "tool_name", "kind"])]
    pub(crate) sessions: bool,
    /// The most results to print, up to 1000.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true, value_parser = integer)]
    pub(crate) limit: i128,
    /// Where to go on: the cursor that the previous page ended with.
    #[arg(long)]
    pub(crate) cursor: Option<String>,
    /// Only results of this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool_name: Option<String>,
    /// Only results of this kind.
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Rm {
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Purge {
    /// Do it: what is removed cannot be brought back.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Verify {
    /// Check only the result of this ref [default: all, or those of the session given]
    #[arg(value_name = "REF")]
    pub(crate) reference: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Gc {
    /// Spare what is younger, such as 0s, 30m, 24h or 7d: a write may be under way.
    #[arg(long, value_name = "AGE", default_value = "24h", value_parser = duration)]
    pub(crate) older_than: Duration,
    /// Only say what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    #[command(flatten)]
    pub(crate) offered: Offered,
    /// Offer a tool that shows stubs too, for hosts that put its result in the place of another's.
    #[arg(long)]
    pub(crate) stub_tool: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Proxy {
    /// A text of more characters leaves a stub [default: 20000]
    #[arg(long, value_name = "CHARS")]
    pub(crate) threshold: Option<u64>,
    /// When the retrieval tools are offered beside those of the server: those that it has not, all
    /// whatever it has, or none.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) inject: Inject,
    /// What becomes of structured content: too much of it goes out, it stays, or long texts in it leave
    /// stubs where they stand.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) structured: Structured,
    #[command(flatten)]
    pub(crate) offered: Offered,
    /// A header for a server at a URL; ${VARIABLE} in it stands for a variable of the environment.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// The command that starts the server, with its arguments, or the URL at which it is.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND|URL")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inject {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Structured {
    #[default]
    Strip,
    Keep,
    Shrink,
}

/// How the retrieval tools are offered to a model.
#[derive(Debug, ClapArgs)]
pub(crate) struct Offered {
    /// What stands before the retrieval tools' names [default: openviking_]
    #[arg(long, value_name = "PREFIX", value_parser = tool_prefix)]
    pub(crate) tool_prefix: Option<String>,
    /// The longest answer of a retrieval tool [default: 19000]
    #[arg(long, value_name = "CHARS")]
    pub(crate) max_read_chars: Option<u64>,
}

/// Takes a header as it is written in a request.
fn header(given: &str) -> Result<(String, String), String> {
    let (name, value) = given.split_once(':').ok_or("a name, a colon and a value are wanted")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Reads a duration: a number and one of `s m h d`.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.char_indices().next_back().and_then(|(at, unit)| {
        let unit = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            _ => return None,
        };
        let digits = &text[..at];
        let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
        plain.then(|| digits.parse::<u64>().ok()?.checked_mul(unit)).flatten()
    });
    let seconds = seconds.ok_or("give a number and a unit, such as 0s, 30m, 24h or 7d")?;
    Ok(Duration::from_secs(seconds))
}

/// The result that a command is about.
#[derive(Debug, ClapArgs)]
pub(crate) struct Target {
    /// The ref from a stub (it brings its session), or a bare `tr_…` of the session.
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
}
