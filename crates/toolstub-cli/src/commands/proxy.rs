//! `toolstub proxy`: in front of an MCP server.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use anyhow::anyhow;
use toolstub_core::SessionId;
use toolstub_mcp::{Exit, McpError, ProxyOptions, UpstreamCommand};

use super::Outcome;
use super::mcp::{config, log_to_stderr, with_streams};
use super::put::now;
use crate::args::{Inject, Proxy, Structured};
use crate::context::Context;
use crate::failure::Failure;
use crate::interrupt;

pub(crate) fn run(args: Proxy, context: &Context) -> Result<Outcome, Failure> {
    log_to_stderr();
    let mut config = config(&args.offered, context);
    if let Some(threshold) = args.threshold {
        config.threshold_chars = threshold;
    }
    let session = match context.session {
        Some(_) => context.session()?,
        None => fresh_session()?,
    };
    let options = ProxyOptions {
        inject: match args.inject {
            Inject::Auto => toolstub_mcp::Inject::Auto,
            Inject::Always => toolstub_mcp::Inject::Always,
            Inject::Never => toolstub_mcp::Inject::Never,
        },
        structured: match args.structured {
            Structured::Strip => toolstub_mcp::Structured::Strip,
            Structured::Keep => toolstub_mcp::Structured::Keep,
            Structured::Shrink => toolstub_mcp::Structured::Shrink,
        },
    };
    let proxy = toolstub_mcp::Proxy::new(context.open()?, session, config, options);
    let mut words = args.command.into_iter();
    let program = words.next().ok_or_else(|| Failure::input(anyhow!("no command is given")))?;
    let command = UpstreamCommand { program, arguments: words.collect() };
    with_streams(async {
        let (input, output) = toolstub_mcp::standard_streams();
        let exit = proxy.run_command(&command, input, output, interrupt::signalled()).await;
        match exit.map_err(failure)? {
            Exit::Client => Ok(Outcome::Done),
            Exit::Upstream(code) => Ok(Outcome::Code(code)),
            Exit::Stopped => Err(Failure::storage(anyhow!("interrupted"))),
        }
    })
}

fn failure(error: McpError) -> Failure {
    match error {
        McpError::Start { .. } | McpError::Upstream { .. } => Failure::input(error),
        _ => Failure::storage(error),
    }
}

/// A session of its own for each connection, by time and chance.
fn fresh_session() -> Result<SessionId, Failure> {
    let chance = RandomState::new().build_hasher().finish();
    let digits: String = now()?.chars().filter(char::is_ascii_digit).take(14).collect();
    SessionId::new(format!("mcp-{digits}-{:08x}", chance as u32)).map_err(Failure::input)
}
