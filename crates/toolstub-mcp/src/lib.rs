//! The retrieval tools for clients of the Model Context Protocol.

mod error;
mod server;
mod tools;

pub use error::McpError;
pub use server::{HttpService, ToolServer, http_service, serve, standard_streams};
pub use tools::{Answer, PieceRange, Reach, Tool, Tools};
