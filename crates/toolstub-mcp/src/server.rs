//! The tools as an MCP server of their own, over standard streams or HTTP.
//!
//! Both eras of the protocol are spoken: with a handshake, up to 2025-11-25, and without, from
//! 2026-07-28 on.

mod connection;
mod frames;
mod lines;
mod over_http;

#[cfg(unix)]
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ResultType, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use self::connection::Connection;
pub use self::over_http::{HttpService, http_service};
use crate::{Answer, McpError, Tools};

const INSTRUCTIONS: &str = "Tool results that are too long for the context are kept here whole. \
    Where a tool result says that it was externalized, its ref leads to the original: search it, \
    or read the range that you need.";

/// How long a call may take: clients give one up after a minute, and are told nothing then.
const PATIENCE: Duration = Duration::from_secs(50);

/// The tools as a server that `rmcp` can run.
#[derive(Debug, Clone)]
pub struct ToolServer {
    tools: Arc<Tools>,
    definitions: Arc<[rmcp::model::Tool]>,
}

impl ToolServer {
    /// A server of the tools.
    pub fn new(tools: Tools) -> Self {
        let definition = |definition| serde_json::from_value(definition).ok();
        let definitions = tools.definitions().into_iter().filter_map(definition).collect();
        Self { tools: Arc::new(tools), definitions }
    }

    async fn answer(
        &self,
        name: &str,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let Some(tool) = self.tools.find(name) else {
            let names: Vec<_> = self.definitions.iter().map(|tool| tool.name.as_ref()).collect();
            let text = format!("there is no such tool; there are {}", names.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        };
        tokio::select! {
            answer = timeout(PATIENCE, self.tools.call(tool, arguments)) => Ok(answer.unwrap_or_else(|_| {
                Answer::error("the store does not answer in time; try again later")
            })),
            // Nobody is told.
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was called off", None))
            }
        }
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let mut implementation = Implementation::from_build_env();
        "toolstub".clone_into(&mut implementation.name);
        env!("CARGO_PKG_VERSION").clone_into(&mut implementation.version);
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = implementation;
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.definitions.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let answer = self.answer(&request.name, &arguments, &context).await?;
        let mut result: CallToolResult = serde_json::from_value(answer.to_result())
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        // It is taken away again for a client of the earlier era.
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result.into())
    }

    /// A call whose arguments are no object is none of the protocol's; models write such all the same.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "tools/call" {
            let text = unknown_method(&request.method);
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None));
        }
        let params = request.params.unwrap_or_default();
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            let text = "the call names no tool; give its name as params.name";
            return Err(ErrorData::invalid_params(text, None));
        };
        let arguments = params.get("arguments").unwrap_or(&Value::Null);
        let mut result = self.answer(name, arguments, &context).await?.to_result();
        let version = context.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            result["resultType"] = ResultType::COMPLETE.as_str().into();
        }
        Ok(CustomResult::new(result))
    }
}

/// What is told of a method that is none.
fn unknown_method(name: &str) -> String {
    let name = toolstub_core::text::clean(name, 80);
    format!(
        "there is no method `{name}`; there are initialize, ping, server/discover, tools/list and tools/call"
    )
}

/// Serves the tools to one client until it goes away. One that leaves before it said anything is no
/// failure.
pub async fn serve<R, W>(tools: Tools, input: R, output: W) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    match ToolServer::new(tools).serve(Connection::new(input, output)).await {
        Ok(running) => {
            running.waiting().await.map_err(|error| McpError::Server(error.to_string()))?;
            Ok(())
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(McpError::Server(error.to_string())),
    }
}

/// The standard streams of this process, on the system's own terms where they are pipes.
pub fn standard_streams() -> (impl AsyncRead + Send + Unpin, impl AsyncWrite + Send + Unpin) {
    rmcp::transport::io::stdio_pipes()
}

/// Returns once whoever was at the other end of this process's standard streams has been gone from
/// both for 10 seconds, even while there is something left to read.
pub async fn standard_streams_left() {
    const LOOK: Duration = Duration::from_millis(500);
    let mut seen = 0;
    while seen < 20 {
        tokio::time::sleep(LOOK).await;
        seen = if are_left(&std::io::stdin(), &std::io::stdout()) { seen + 1 } else { 0 };
    }
}

/// Whether nobody writes to an input any more, and nobody reads an output.
#[cfg(unix)]
fn are_left(input: &impl AsFd, output: &impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let none = PollFlags::empty();
    let mut ends = [PollFd::new(input, none), PollFd::new(output, none)];
    let looked = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    let gone = PollFlags::HUP | PollFlags::ERR;
    looked.is_ok() && ends.iter().all(|end| end.revents().intersects(gone))
}

/// Elsewhere that cannot be seen.
#[cfg(not(unix))]
fn are_left<I, O>(_: &I, _: &O) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Write as _, pipe};

    use super::*;

    #[test]
    fn streams_are_left_once_both_ends_are_gone() {
        let (input, mut said) = pipe().unwrap();
        let (heard, output) = pipe().unwrap();
        said.write_all(b"unread").unwrap();
        assert!(!are_left(&input, &output));
        drop(said);
        assert!(!are_left(&input, &output));
        drop(heard);
        assert!(are_left(&input, &output));
        let (_heard, output) = pipe().unwrap();
        assert!(!are_left(&input, &output));
    }
}
