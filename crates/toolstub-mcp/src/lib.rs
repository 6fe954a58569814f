//! The retrieval tools for clients of the Model Context Protocol, and a proxy in front of any server.
//!
//! [`Tools`] are `read`, `search` and `list` as a model calls them, whatever way a call comes: arguments
//! are taken as models write them, answers are text that says how to go on and never longer than is
//! configured. [`serve`] and [`http_service`] offer them as a server, in both eras of the protocol.
//! A [`Proxy`] stands between a client and a server: what is too long of a tool's results leaves a stub,
//! and everything else passes byte for byte.
//!
//! This crate never opens a store by an address, never keeps a result from a client because a store
//! fails, never puts out again what a retrieval tool returned, and never writes to standard output by
//! itself.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use toolstub_core::SessionId;
//! use toolstub_mcp::{Tool, Tools};
//! use toolstub_session::{Call, Config, Session, ToolResult};
//! use toolstub_store::{MemoryBackend, ResultStore};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = ResultStore::new(Arc::new(MemoryBackend::new()));
//! let (id, config) = (SessionId::new("s1")?, Config::default());
//! let session = Session::new(store.clone(), id.clone(), config.clone());
//! let call = Call { id: "c1".to_owned(), name: "bash".to_owned(), input: None };
//! let result = ToolResult { call, content: "one\ntwo\n".into(), ..ToolResult::default() };
//! let reference = session.register(None, &result).await?.reference.ok_or("it is stored")?;
//!
//! let tools = Tools::new(store, id, &config);
//! let asked = json!({"ref": reference.to_string(), "offset": "4", "limit": 3.0});
//! let answer = tools.call(Tool::Read, &asked).await;
//! assert_eq!(answer.text, "two\n[next_offset: 7 of 8]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Next: `docs/mcp.md` says what a proxy changes; `toolstub mcp` and `toolstub proxy` are the program's.

mod error;
mod proxy;
mod server;
mod tools;

pub use error::McpError;
pub use proxy::{Exit, Inject, Proxy, ProxyOptions, Structured, UpstreamCommand, UpstreamUrl};
pub use server::{
    HttpService, ToolServer, http_service, serve, standard_streams, standard_streams_left,
};
pub use tools::{Answer, PieceRange, Reach, Tool, Tools};
