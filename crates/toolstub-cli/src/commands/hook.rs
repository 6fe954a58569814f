//! `toolstub hook`: what an agent's host runs after each tool, to have a long result replaced.
//!
//! A host sends what the tool returned on standard input and takes its replacement, in words of its own,
//! from standard output. Saying nothing leaves the result as it is; so whatever goes wrong here, and
//! whatever needs no replacement, says nothing there and ends with success: to the hosts, 2 means to
//! block the tool.

mod claude;
mod codex;
mod cursor;
mod gemini;
mod opencode;
mod taken;

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use anyhow::anyhow;
use toolstub_core::SessionId;
use toolstub_core::utf8::count_chars;
use toolstub_session::splice::Object;
use toolstub_session::{
    Call, Config, FailureMode, Identity, Owner, Replacement, Session, Turn, is_retrieval,
};

use self::taken::Taken;
use super::Outcome;
use crate::args::{Hook, Host};
use crate::context::{Context, block_within};
use crate::failure::Failure;
use crate::output;

/// The largest payload that is looked at, in bytes; so much of a host's own file is read at most.
const LARGEST: u64 = 256 << 20;
/// How long storing may take: hosts wait for a hook, and a result is not worth more.
const PATIENCE: Duration = Duration::from_secs(20);
/// What a host that runs another's hooks tells them who it is by.
const CURSOR: &str = "CURSOR_VERSION";

/// Answers a host. `context` is asked for only where there is something to store.
pub(crate) fn run(args: &Hook, context: impl FnOnce() -> Result<Context, Failure>) -> Outcome {
    // Nothing here is known to panic; but a host takes the code of one for more than it is, too.
    let answered = match catch_unwind(AssertUnwindSafe(|| answer(args, context))) {
        Ok(Ok(Some(answer))) => output::write(answer.as_bytes()),
        Ok(Ok(None)) => Ok(()),
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::input(anyhow!("the result stays as it is"))),
    };
    if let Err(failure) = answered {
        // The code is for those who asked; a host takes any but 0 for more than it is.
        let _ = failure.report(false);
    }
    Outcome::Done
}

/// Whether a command line is that of a hook, though nothing else of it may be understood.
pub(crate) fn is_called(arguments: impl IntoIterator<Item = OsString>) -> bool {
    let mut arguments = arguments.into_iter().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--store" | "--session" | "--event" | "--fsync") => drop(arguments.next()),
            Some(option) if option.starts_with('-') => {}
            word => return word == Some("hook"),
        }
    }
    false
}

fn answer(
    args: &Hook,
    context: impl FnOnce() -> Result<Context, Failure>,
) -> Result<Option<String>, Failure> {
    let payload = payload()?;
    let fields = Object::parse(&payload)
        .ok_or_else(|| Failure::input(anyhow!("what came in is not a JSON object")))?;
    let in_cursor = std::env::var_os(CURSOR).is_some_and(|version| !version.is_empty());
    let host = match (sender(&fields, in_cursor), args.host) {
        (Sender::Host(host), None) => host,
        (Sender::Host(host), Some(named)) if host == named => host,
        (Sender::Unknown, Some(named)) => named,
        (Sender::Unknown, None) => {
            return Err(Failure::input(anyhow!(
                "what came in is no host's that is known; name the host behind `hook`"
            )));
        }
        (Sender::Host(_) | Sender::Other, _) => return Ok(None),
    };
    let tool = fields.text("tool_name").unwrap_or_default();
    if tool.is_empty() || is_retrieval(&tool) {
        return Ok(None);
    }
    let Some(mut taken) = take(host, &fields, &tool)? else { return Ok(None) };
    let context = context()?;
    let mut config = context.config.of_sessions().map_err(Failure::input)?;
    config.failure_mode = FailureMode::PreserveRaw;
    config.threshold_chars = threshold(args, host, &context, &config);
    let mut chars = taken.texts.iter().map(|text| count_chars(&text.result.content));
    let (longest, all) = chars
        .try_fold((0, 0_u64), |(longest, all), chars| {
            Some((chars.max(longest), all.checked_add(chars)?))
        })
        .unwrap_or((u64::MAX, u64::MAX));
    if longest <= config.threshold_chars && all < config.assistant_turn_inline_budget_chars {
        return Ok(None);
    }

    let id = fields.text("tool_use_id").filter(|id| !id.is_empty());
    // Where a host gives none, the same content of the same tool is stored once.
    let call = Call { id: id.unwrap_or_else(|| tool.clone()), name: tool, input: None };
    let mut results = Vec::with_capacity(taken.texts.len());
    for text in &mut taken.texts {
        text.result.call = call.clone();
        results.push(text.result.clone());
    }
    let session = Session::new(context.open_lasting()?, session_id(&context, &fields)?, config)
        .with_identity(Identity { agent_id: fields.text("agent_id"), ..Identity::default() });
    let owner = context.event()?.map_or(Owner::Session, Owner::Event);
    let turn = Turn { results, owner, ..Turn::default() };
    let stored = async { session.externalize(&turn).await.map_err(Failure::storage) };
    let done = block_within(PATIENCE, stored)?.ok_or_else(|| {
        let seconds = PATIENCE.as_secs();
        Failure::storage(anyhow!("the store did not answer within {seconds} seconds"))
    })?;
    let errors = done.outcomes.iter().filter_map(toolstub_session::Outcome::error);
    for error in errors {
        output::remark(&format!("a result stays as it is: {error}"));
    }
    let replacements = done.outcomes.iter().map(toolstub_session::Outcome::replacement);
    let stubs: Vec<Option<&Replacement>> = taken
        .texts
        .iter()
        .zip(replacements)
        .map(|(text, stub)| stub.filter(|stub| taken.is_shorter(stub, text)))
        .collect();
    if stubs.iter().all(Option::is_none) {
        return Ok(None);
    }
    Ok(match host {
        Host::Claude => claude::answer(&taken, &stubs),
        Host::Codex => Some(codex::answer(&taken, &stubs)),
        Host::Cursor => cursor::answer(&taken, &stubs),
        Host::Gemini => Some(gemini::answer(&taken, &stubs, args.tail_tool.as_deref())),
        Host::Opencode => opencode::answer(&taken, &stubs),
    })
}

/// How long a text has to be: as it is asked for, else as it is configured, else as it makes sense for a host.
fn threshold(args: &Hook, host: Host, context: &Context, config: &Config) -> u64 {
    let table = context.config.session.as_ref();
    let is_configured = table.is_some_and(|table| table.contains_key("threshold_chars"));
    match args.threshold {
        Some(threshold) => threshold,
        None if host == Host::Codex && !is_configured => codex::THRESHOLD,
        None => config.threshold_chars,
    }
}

fn take<'a>(host: Host, fields: &Object<'a>, tool: &str) -> Result<Option<Taken<'a>>, Failure> {
    let taken = match host {
        Host::Claude => claude::take(fields, tool)?,
        Host::Codex => codex::take(fields),
        Host::Cursor => cursor::take(fields, tool),
        Host::Gemini => gemini::take(fields),
        Host::Opencode => opencode::take(fields)?,
    };
    Ok(taken.filter(|taken| !taken.texts.is_empty()))
}

/// Reads the payload whole. One that is too large is read to its end all the same, or the host would
/// write into a pipe that nobody holds.
fn payload() -> Result<String, Failure> {
    let mut stdin = io::stdin().lock();
    let failed =
        |error| Failure::input(anyhow::Error::new(error).context("cannot read standard input"));
    let mut bytes = Vec::new();
    stdin.by_ref().take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        drop(bytes);
        io::copy(&mut stdin, &mut io::sink()).map_err(failed)?;
        return Err(Failure::input(anyhow!("what came in is over {LARGEST} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::input(anyhow!("what came in is not UTF-8")))
}

/// Who sent a payload, by its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Host(Host),
    /// Nobody that wants a result replaced.
    Other,
    Unknown,
}

fn sender(fields: &Object<'_>, in_cursor: bool) -> Sender {
    let has = |name| fields.given(name).is_some();
    if has("cursor_version") {
        return Sender::Host(Host::Cursor);
    }
    match fields.text("hook_event_name").as_deref() {
        Some("AfterTool") => Sender::Host(Host::Gemini),
        Some("postToolUse") => Sender::Host(Host::Cursor),
        Some("tool.execute.after") => Sender::Host(Host::Opencode),
        Some("PostToolUse") | None if has("turn_id") => Sender::Host(Host::Codex),
        Some("PostToolUse") | None if in_cursor => Sender::Host(Host::Cursor),
        Some("PostToolUse") => Sender::Host(Host::Claude),
        Some(_) => Sender::Other,
        None => Sender::Unknown,
    }
}

/// The session that was given, else the host's.
fn session_id(context: &Context, fields: &Object<'_>) -> Result<SessionId, Failure> {
    if context.session.is_some() {
        return context.session();
    }
    let mut ids = ["session_id", "conversation_id"].into_iter();
    match ids.find_map(|name| fields.text(name).filter(|id| !id.is_empty())) {
        Some(id) => SessionId::new(id).map_err(Failure::input),
        None => context.session(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn sends(payload: &str, in_cursor: bool, expected: Sender) {
        assert_eq!(sender(&Object::parse(payload).unwrap(), in_cursor), expected, "{payload}");
    }

    #[test]
    fn sender_is_known_by_the_fields() {
        sends(r#"{"hook_event_name":"PostToolUse"}"#, false, Sender::Host(Host::Claude));
        sends(r#"{"hook_event_name":"PostToolUse"}"#, true, Sender::Host(Host::Cursor));
        let cursor = r#"{"hook_event_name":"PostToolUse","cursor_version":"2.0"}"#;
        sends(cursor, false, Sender::Host(Host::Cursor));
        sends(r#"{"hook_event_name":"postToolUse"}"#, false, Sender::Host(Host::Cursor));
        let codex = r#"{"hook_event_name":"PostToolUse","turn_id":"1"}"#;
        sends(codex, false, Sender::Host(Host::Codex));
        sends(codex, true, Sender::Host(Host::Codex));
        sends(r#"{"turn_id":"1"}"#, false, Sender::Host(Host::Codex));
        sends(r#"{"hook_event_name":"AfterTool"}"#, true, Sender::Host(Host::Gemini));
        sends(r#"{"hook_event_name":"tool.execute.after"}"#, false, Sender::Host(Host::Opencode));
        sends(r#"{"hook_event_name":"PreToolUse"}"#, false, Sender::Other);
        sends(r#"{"hook_event_name":"PostToolUseFailure"}"#, false, Sender::Other);
        sends(r#"{"hook_event_name":7,"turn_id":null}"#, false, Sender::Unknown);
    }

    #[track_caller]
    fn calls(line: &str, expected: bool) {
        assert_eq!(is_called(line.split(' ').map(OsString::from)), expected, "{line}");
    }

    #[test]
    fn hook_is_known_though_its_options_are_not() {
        calls("toolstub hook claude --nonsense", true);
        calls("toolstub --store x --json hook", true);
        calls("toolstub --session=hook list", false);
        calls("toolstub --session hook list", false);
        calls("toolstub search hook", false);
        calls("toolstub", false);
    }

    #[test]
    fn retrieval_tools_are_known_by_the_end_of_their_names() {
        for tool in [
            "openviking_tool_result_read",
            "mcp__toolstub__openviking_tool_result_search",
            "MCP:tool_result_list",
            "mcp_toolstub_own_tool_result_stub",
        ] {
            assert!(is_retrieval(tool), "{tool}");
        }
        assert!(!is_retrieval("mcp__fs__read_text_file"));
    }
}
