//! A proxy in front of any MCP server: what it returns that is too long leaves a stub.
//!
//! Frames go through as they are, byte for byte. What is changed is named here, and nothing else is:
//! the capability to have tools, the list of tools (the three retrieval tools behind the first page,
//! output schemas gone where structured content may be), and results that are too long. Calls of the
//! three tools are answered here.

mod asked;
mod child;
mod client;
mod frames;
mod headers;
mod http;
mod message;
mod pump;
mod shrink;
pub mod splice;
mod sse;
mod structured;
mod upstream;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use toolstub_core::SessionId;
use toolstub_session::{Config, FailureMode, Session};
use toolstub_store::ResultStore;

use self::asked::Asked;
use crate::{Tool, Tools};

pub use self::child::{Exit, UpstreamCommand};
pub use self::http::UpstreamUrl;

/// When the three retrieval tools are offered beside those of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inject {
    /// Unless the server has tools of these names itself.
    #[default]
    Auto,
    /// Whatever the server has: its tools of these names are hidden.
    Always,
    /// Not at all: another server offers them.
    Never,
}

/// What becomes of structured content, which some clients show a model in place of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Structured {
    /// What is too long goes out, unless a text says the same; output schemas are hidden.
    #[default]
    Strip,
    /// It stays.
    Keep,
    /// Long texts in it leave stubs where they stand, so that it fits its schema.
    Shrink,
}

/// How a proxy behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProxyOptions {
    /// When the retrieval tools are offered.
    pub inject: Inject,
    /// What becomes of structured content.
    pub structured: Structured,
}

/// A proxy for one client and one server.
#[derive(Debug)]
pub struct Proxy {
    session: Session,
    tools: Tools,
    options: ProxyOptions,
    /// The retrieval tools as items of a list.
    definitions: String,
    asked: Mutex<Asked>,
}

impl Proxy {
    /// A proxy whose results go to a session of a store.
    ///
    /// Each result is a turn of its own: it is judged by itself, and its blocks share the turn's budget.
    /// Whatever the failure mode, a result that cannot be stored stays as it is.
    pub fn new(
        store: ResultStore,
        session: SessionId,
        config: Config,
        options: ProxyOptions,
    ) -> Self {
        // What is not over the threshold is not over the budget either: the threshold was asked for.
        let budget = config.assistant_turn_inline_budget_chars;
        let budget = budget.max(config.threshold_chars.saturating_add(1));
        let config = Config {
            assistant_turn_inline_budget_chars: budget,
            failure_mode: FailureMode::PreserveRaw,
            ..config
        };
        let tools = Tools::new(store.clone(), session.clone(), &config);
        let definitions: Vec<_> = tools.definitions().iter().map(Value::to_string).collect();
        Self {
            session: Session::new(store, session, config),
            tools,
            options,
            definitions: definitions.join(","),
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tool of ours that a name stands for, unless it is the server's.
    fn own(&self, name: &str, asked: &Asked) -> Option<Tool> {
        let is_ours = match self.options.inject {
            Inject::Auto => !asked.upstream_has_them,
            Inject::Always => true,
            Inject::Never => false,
        };
        is_ours.then(|| self.tools.find(name)).flatten()
    }
}
