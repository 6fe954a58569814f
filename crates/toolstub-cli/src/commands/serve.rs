//! `toolstub serve`: the HTTP service.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::ToSocketAddrs as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axum::Router;
use serde::Serialize;
use tokio::net::TcpListener;
use toolstub_core::{RefForm, SessionId, UserId};
use toolstub_http::{Keys, Limits, Options, Service};
use toolstub_mcp::Tools;
use toolstub_store::ResultStore;
use tracing::level_filters::LevelFilter;

use super::Outcome;
use crate::args::{Log, Serve};
use crate::context::{Context, runtime};
use crate::failure::Failure;
use crate::{interrupt, output};

/// How many files are asked for.
const MAX_FILES: u64 = 16_384;
/// How many threads work on files at most.
const MAX_FILE_THREADS: usize = 512;
/// The longest time that a request may take: servers on one store count on an end.
const MAX_TIMEOUT: Duration = Duration::from_secs(240);

pub(crate) fn run(args: &Serve, context: &Context) -> Result<Outcome, Failure> {
    let keys = keys(args)?;
    if args.timeout.is_zero() || args.timeout > MAX_TIMEOUT {
        return Err(Failure::input(anyhow!(
            "--timeout is 1s to 4m; a request that takes longer has failed"
        )));
    }
    let options = Options {
        user: UserId::new(args.user.as_str()).map_err(Failure::input)?,
        config: config(args, context)?,
        hosts: args.allow_host.clone(),
        body_limit: args.body_limit,
        timeout: args.timeout,
        keys,
        ..Options::default()
    };
    let files = files();
    let default = Limits::default();
    let limits = Limits {
        grace: args.grace,
        connections: default.connections.min(files / 2).max(1),
        ..default
    };
    let store = context.open()?;
    let session = context.session()?;
    log(args.log);
    interrupt::give_grace(args.grace);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Each of these may have a few files open at once.
    builder.max_blocking_threads((files / 8).clamp(4, MAX_FILE_THREADS));
    let runtime = runtime(&mut builder)?;
    let all_ended =
        runtime.block_on(listen(args, context.json, store, session, options, limits))?;
    // What is still under way was given its time.
    runtime.shutdown_background();
    if !all_ended {
        output::remark("some requests did not come to their end in time");
    }
    Ok(Outcome::Done)
}

async fn listen(
    args: &Serve,
    json: bool,
    store: ResultStore,
    session: SessionId,
    options: Options,
    limits: Limits,
) -> Result<bool, Failure> {
    let addresses: Vec<_> = args
        .listen
        .to_socket_addrs()
        .with_context(|| format!("cannot listen on `{}`; give HOST:PORT", args.listen))
        .map_err(Failure::input)?
        .collect();
    if options.keys.is_empty() && addresses.iter().any(|address| !address.ip().is_loopback()) {
        return Err(Failure::input(anyhow!(
            "without a key the service listens on this machine alone; to listen on `{}` set \
             TOOLSTUB_API_KEY or give --api-key-file",
            args.listen
        )));
    }
    let listener = TcpListener::bind(&addresses[..])
        .await
        .with_context(|| format!("cannot listen on `{}`", args.listen))
        .map_err(Failure::input)?;
    let address = listener.local_addr().map_err(|error| Failure::storage(anyhow!(error)))?;
    let url = format!("http://{address}");
    if json {
        output::write_json(&Listening { listening: &url })?;
    } else {
        output::remark(&format!("listening on {url}"));
    }
    // The retrieval tools, for whoever speaks MCP; a ref brings its session.
    let refs = RefForm::Viking { user: options.user.clone() };
    let tools = Tools::new(store.clone(), session, &options.config).with_refs(refs);
    let mcp = Router::new().route_service("/mcp", toolstub_mcp::http_service(tools, None));
    let router = Service::new(store, options).into_router_with(mcp);
    toolstub_http::serve(listener, router, limits, interrupt::signalled())
        .await
        .map_err(|error| Failure::storage(anyhow!(error)))
}

/// How many files, connections among them, the process may have open: as many as it is allowed to ask for.
#[cfg(unix)]
fn files() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MAX_FILES).min(MAX_FILES);
    let allowed = match current {
        Some(current) if current < wanted => {
            let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
            if raised.is_ok() { wanted } else { current }
        }
        Some(current) => current,
        None => MAX_FILES,
    };
    usize::try_from(allowed).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn files() -> usize {
    MAX_FILES as usize
}

/// Said once the service listens.
#[derive(Debug, Serialize)]
struct Listening<'a> {
    listening: &'a str,
}

/// What leaves a message: the configuration file's table, then what holds for all commands, then flags.
fn config(args: &Serve, context: &Context) -> Result<toolstub_session::Config, Failure> {
    let mut config = context.config.of_sessions().map_err(Failure::input)?;
    if let Some(threshold) = args.threshold {
        config.threshold_chars = threshold;
    }
    Ok(config)
}

fn keys(args: &Serve) -> Result<Keys, Failure> {
    let mut keys = Keys::default();
    for key in given("TOOLSTUB_API_KEY", args.api_key_file.as_deref())? {
        keys.add_user(&key).map_err(Failure::input)?;
    }
    for key in given("TOOLSTUB_OPERATOR_KEY", args.operator_key_file.as_deref())? {
        keys.add_operator(&key).map_err(Failure::input)?;
    }
    if !keys.is_empty() && !keys.has_user() {
        return Err(Failure::input(anyhow!(
            "a key for the metrics alone leaves the sessions without one; set TOOLSTUB_API_KEY or \
             give --api-key-file too"
        )));
    }
    Ok(keys)
}

/// The keys of a variable and a file.
fn given(variable: &str, file: Option<&Path>) -> Result<Vec<String>, Failure> {
    let mut keys = Vec::new();
    if let Some(key) = std::env::var_os(variable) {
        let key = key.into_string();
        keys.push(key.map_err(|_| Failure::input(anyhow!("the key in {variable} is not UTF-8")))?);
    }
    if let Some(file) = file {
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read the keys in {}", file.display()))
            .map_err(Failure::input)?;
        let lines = text.lines().map(str::trim);
        let found: Vec<_> =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        if found.is_empty() {
            let file = file.display();
            return Err(Failure::input(anyhow!("there is no key in {file}; give one a line")));
        }
        keys.extend(found.into_iter().map(str::to_owned));
    }
    Ok(keys)
}

fn log(log: Log) {
    let level = match log {
        Log::Error => LevelFilter::ERROR,
        Log::Warn => LevelFilter::WARN,
        Log::Info => LevelFilter::INFO,
        Log::Debug => LevelFilter::DEBUG,
    };
    let is_terminal = io::stderr().is_terminal();
    // It fails where somebody logs already, which nobody does in this program.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(is_terminal)
        .with_target(false)
        .try_init();
}
