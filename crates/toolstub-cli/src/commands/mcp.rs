//! `toolstub mcp`: the retrieval tools as an MCP server over standard input and output.

use std::future::Future;
use std::io;

use anyhow::anyhow;
use toolstub_mcp::Tools;
use toolstub_session::Config;

use super::Outcome;
use crate::args::{Mcp, Offered};
use crate::context::{Context, runtime};
use crate::failure::Failure;
use crate::{interrupt, late};

pub(crate) fn run(args: &Mcp, context: &Context) -> Result<Outcome, Failure> {
    log_to_stderr();
    let config = config(&args.offered, context)?;
    let store = late::open(context, "nothing that is stored can be read")?;
    let mut tools = Tools::new(store, context.session()?, &config);
    if args.stub_tool {
        tools = tools.with_stubs(&config);
    }
    with_streams(async {
        let (input, output) = toolstub_mcp::standard_streams();
        tokio::select! {
            served = toolstub_mcp::serve(tools, input, output) => served.map_err(Failure::storage)?,
            () = interrupt::signalled() => return Err(Failure::storage(anyhow!("interrupted"))),
        }
        Ok(Outcome::Done)
    })
}

/// How a session behaves whose tools are offered so.
pub(super) fn config(offered: &Offered, context: &Context) -> Result<Config, Failure> {
    let mut config = context.config.of_sessions().map_err(Failure::input)?;
    if let Some(prefix) = &offered.tool_prefix {
        config.tool_prefix.clone_from(prefix);
    }
    if let Some(max) = offered.max_read_chars {
        config.max_read_chars = max;
    }
    Ok(config)
}

/// Runs what reads standard input. A read that is under way then is not waited for: nobody may ever
/// write again.
pub(super) fn with_streams<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = runtime(&mut tokio::runtime::Builder::new_current_thread())?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Warnings go to standard error: standard output is the protocol's.
pub(super) fn log_to_stderr() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(io::stderr)
        .with_ansi(false)
        .without_time()
        .finish();
    // Whoever has one already has asked for it.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
