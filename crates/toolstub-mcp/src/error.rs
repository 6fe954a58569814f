//! What can go wrong where the protocol is spoken.

use std::io;

/// A failure of the server or the proxy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The server could not go on.
    #[error("the MCP server ended: {0}")]
    Server(String),
    /// The upstream server could not be started.
    #[error("cannot start the MCP server `{command}`; is it installed, and on the PATH?")]
    Start {
        /// The command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// The upstream server cannot be reached over HTTP as it was given.
    #[error("cannot use the MCP server at {url}: {reason}")]
    Upstream {
        /// Where it is, without what may be a secret in it.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The client's streams, or the upstream server's, failed.
    #[error("cannot {what}")]
    Stream {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}
