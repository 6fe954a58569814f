//! The retrieval tools for clients of the Model Context Protocol.

mod error;
mod proxy;
mod server;
mod tools;

pub use error::McpError;
pub use proxy::splice;
pub use proxy::{Exit, Inject, Proxy, ProxyOptions, Structured, UpstreamCommand, UpstreamUrl};
pub use server::{HttpService, ToolServer, http_service, serve, standard_streams};
pub use tools::{Answer, PieceRange, Reach, Tool, Tools};
