//! A proxy between a client and a server that a test plays both of, frame by frame.

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use toolstub_mcp::{McpError, Proxy, ProxyOptions};
use toolstub_session::Config;
use toolstub_store::ResultStore;

use super::session_id;

/// One end of a connection.
pub(super) struct End {
    lines: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl End {
    fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { lines: BufReader::new(reader), writer }
    }

    /// Says a frame.
    pub(super) async fn say(&mut self, frame: &str) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }

    /// The next frame that comes in; nothing at the end.
    pub(super) async fn hear(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).await.unwrap();
        line.truncate(line.trim_end_matches('\n').len());
        line
    }

    pub(super) async fn hear_json(&mut self) -> Value {
        serde_json::from_str(&self.hear().await).unwrap()
    }

    /// Says that there is no more.
    pub(super) async fn hang_up(&mut self) {
        self.writer.shutdown().await.unwrap();
    }
}

/// A client, a proxy and a server.
pub(super) struct Wire {
    pub(super) client: End,
    pub(super) server: End,
    pub(super) running: JoinHandle<Result<(), McpError>>,
}

impl Wire {
    pub(super) fn new(store: &ResultStore, config: Config, options: ProxyOptions) -> Self {
        let ours = |size| {
            let (near, far) = tokio::io::duplex(size);
            (End::new(near), tokio::io::split(far))
        };
        let (client, at_client) = ours(1 << 20);
        let (server, at_server) = ours(1 << 20);
        let proxy = Proxy::new(store.clone(), session_id("p"), config, options);
        let running = tokio::spawn(proxy.run_streams(at_client, at_server));
        Self { client, server, running }
    }

    /// What the server hears of what the client says.
    pub(super) async fn ask(&mut self, frame: &str) -> String {
        self.client.say(frame).await;
        self.server.hear().await
    }

    /// What the client hears of what the server says.
    pub(super) async fn tell(&mut self, frame: &str) -> String {
        self.server.say(frame).await;
        self.client.hear().await
    }

    /// What the client hears of the server's result to a request.
    pub(super) async fn exchange(&mut self, request: &str, result: &str) -> String {
        assert_eq!(self.ask(request).await, request);
        let id = serde_json::from_str::<Value>(request).unwrap()["id"].clone();
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let heard = self.tell(&frame).await;
        let prefix = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        heard.strip_prefix(&prefix).unwrap().strip_suffix('}').unwrap().to_owned()
    }

    /// What the client hears of a tool's result.
    pub(super) async fn call(&mut self, result: &str) -> String {
        self.exchange(&call("read_file"), result).await
    }

    /// What a retrieval tool answers.
    pub(super) async fn retrieve(&mut self, name: &str, arguments: &Value) -> Value {
        let name = format!("openviking_tool_result_{name}");
        let request = serde_json::json!({"jsonrpc": "2.0", "id": "r", "method": "tools/call",
            "params": {"name": name, "arguments": arguments}});
        self.client.say(&request.to_string()).await;
        let answer = self.client.hear_json().await;
        assert_eq!(answer["id"], "r");
        answer["result"].clone()
    }
}

/// A call of a tool of the server's.
pub(super) fn call(tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
    )
}
