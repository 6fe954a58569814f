//! A proxy in front of any MCP server: what it returns that is too long leaves a stub.
//!
//! Frames go through as they are, byte for byte. What is changed is named here, and nothing else is:
//! the capability to have tools, the list of tools (the three retrieval tools behind the first page,
//! as far as the server has them not; output schemas gone where structured content may be), and
//! results that are too long. Calls of the three tools are answered here, unless they are meant for
//! the server's own.

mod asked;
mod child;
mod client;
mod exchanges;
mod frames;
mod headers;
mod hello;
mod http;
mod message;
mod overlong;
mod pump;
mod shrink;
mod sse;
mod structured;
mod upstream;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
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
    /// Those that the server has not itself.
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
    /// The retrieval tools, each as an item of a list.
    definitions: Vec<(Tool, String)>,
    asked: Mutex<Asked>,
    /// How long the store has for a result, and for an answer.
    patience: Duration,
    /// Whether the end is near: what is being stored passes as it is.
    hurries: watch::Sender<bool>,
}

/// How long a store has that is slow; one that takes longer has failed.
const STORING: Duration = Duration::from_secs(20);

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
        let definitions = tools.definitions().into_iter().map(|definition| definition.to_string());
        let definitions = Tool::ALL.into_iter().zip(definitions).collect();
        Self {
            session: Session::new(store, session, config),
            tools,
            options,
            definitions,
            asked: Mutex::default(),
            patience: STORING,
            hurries: watch::Sender::default(),
        }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the store no longer.
    fn hurry(&self) {
        self.hurries.send_replace(true);
    }

    /// Ends once the store is not to be waited for.
    async fn hurried(&self) {
        // There is a sender for as long as there is a proxy.
        let _ = self.hurries.subscribe().wait_for(|hurries| *hurries).await;
    }

    /// Our tools that are to be in a list, as its items.
    fn definitions(&self, is_in: impl Fn(Tool) -> bool) -> String {
        let own = self.definitions.iter().filter(|(tool, _)| is_in(*tool));
        own.map(|(_, definition)| definition.as_str()).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::Poll;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use toolstub_store::MemoryBackend;
    use toolstub_store::fault::{Fault, FaultyBackend};

    use super::*;

    /// A stream that fails.
    struct Broken;

    impl tokio::io::AsyncRead for Broken {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        }
    }

    #[tokio::test]
    async fn server_whose_stream_fails_has_said_what_it_said() {
        let store = ResultStore::new(Arc::new(MemoryBackend::new()));
        let (session, config) = (SessionId::new("p").unwrap(), Config::default());
        let proxy = Proxy::new(store, session, config, ProxyOptions::default());
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
        let from = proxy.client_says(asked);
        assert_eq!(from.asked.len(), 1);
        let text = "a line\\n".repeat(10_000);
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        let stdout = Cursor::new(format!("{answer}\n")).chain(Broken);
        let (client, mut heard) = tokio::io::duplex(1 << 20);
        let streams = ((tokio::io::empty(), client), (stdout, tokio::io::sink()));
        proxy.run_streams(streams.0, streams.1).await.unwrap();
        let mut text = String::new();
        heard.read_to_string(&mut text).await.unwrap();
        assert!(text.contains("[tool result externalized: "), "{text}");
    }

    #[tokio::test]
    async fn store_that_does_not_answer_takes_no_result_away() {
        let backend = FaultyBackend::new(Arc::new(MemoryBackend::new()));
        backend.fail(Fault::Delay(Duration::from_secs(1000)), 1);
        let store = ResultStore::new(Arc::new(backend));
        let (session, config) = (SessionId::new("p").unwrap(), Config::default());
        let mut proxy = Proxy::new(store, session, config, ProxyOptions::default());
        proxy.patience = Duration::from_millis(100);
        let (mut client, at_client) = tokio::io::duplex(1 << 20);
        let (mut server, at_server) = tokio::io::duplex(1 << 20);
        let streams = (tokio::io::split(at_client), tokio::io::split(at_server));
        let running = tokio::spawn(proxy.run_streams(streams.0, streams.1));
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
        client.write_all(format!("{asked}\n").as_bytes()).await.unwrap();
        server.read_exact(&mut vec![0; asked.len() + 1]).await.unwrap();
        let text = "a line\\n".repeat(10_000);
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        // The server ends before the store has been given up.
        server.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        drop(server);
        running.await.unwrap().unwrap();
        let mut heard = String::new();
        client.read_to_string(&mut heard).await.unwrap();
        assert!(heard == format!("{answer}\n"), "{} of {}", heard.len(), answer.len());
    }
}
