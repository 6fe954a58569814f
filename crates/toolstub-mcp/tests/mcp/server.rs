//! The tools as a server, in both eras of the protocol, over streams and over HTTP.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolstub_mcp::{Tools, http_service, serve};
use toolstub_session::Config;

use super::{put, session_id, store};

const LATER: &str = "2026-07-28";

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": LATER,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// What a server says to frames, one answer for each that has an id.
async fn say(frames: &[Value]) -> Vec<Value> {
    let store = store();
    put(&store, "s", "one\ntwo\n").await;
    let tools = Tools::new(store, session_id("s"), &Config::default());
    let (near, far) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    let mut lines = BufReader::new(reader).lines();
    let mut answers = Vec::new();
    for frame in frames {
        writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
        if frame.get("id").is_some() {
            let line = lines.next_line().await.unwrap().unwrap();
            answers.push(serde_json::from_str(&line).unwrap());
        }
    }
    writer.shutdown().await.unwrap();
    serving.await.unwrap().unwrap();
    answers
}

fn list(id: u64, meta: Option<Value>) -> Value {
    let mut params = json!({"name": "openviking_tool_result_list", "arguments": {"limit": "2"}});
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[tokio::test]
async fn client_with_a_handshake_is_served() {
    let answers = say(&[
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        list(2, None),
        json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "nothing"}}),
    ])
    .await;
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "toolstub");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 3);
    let called = &answers[2]["result"];
    assert!(called["content"][0]["text"].as_str().unwrap().contains("1 tool result"));
    assert_eq!(called["isError"], false);
    assert!(called.get("resultType").is_none());
    assert_eq!(answers[3]["result"], json!({}));
    assert!(answers[4]["error"]["message"].as_str().unwrap().contains("tool_result_read"));
}

#[tokio::test]
async fn client_without_a_handshake_is_served() {
    let of = |id: u64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta()}});
    let answers =
        say(&[of(0, "server/discover"), of(1, "tools/list"), list(2, Some(meta()))]).await;
    let versions = answers[0]["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(LATER)), "{versions:?}");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 3);
    assert!(answers[1]["result"].get("ttlMs").is_some());
    assert_eq!(answers[2]["result"]["resultType"], "complete");
}

#[tokio::test]
async fn client_that_says_nothing_is_no_failure() {
    assert_eq!(say(&[]).await, Vec::<Value>::new());
}

/// What the service answers to one request over HTTP.
async fn post(host: &str, allowed: &[String], frame: &Value) -> (u16, Value) {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    use tower_service::Service as _;

    let store = store();
    put(&store, "s", "one\ntwo\n").await;
    let tools = Tools::new(store, session_id("s"), &Config::default());
    let mut request = http::Request::post("/mcp")
        .header("host", host)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if frame["params"].get("_meta").is_some() {
        request = request
            .header("mcp-protocol-version", LATER)
            .header("mcp-method", frame["method"].as_str().unwrap())
            .header("mcp-name", frame["params"]["name"].as_str().unwrap_or_default());
    }
    let request = request.body(Full::new(Bytes::from(frame.to_string()))).unwrap();
    let response = http_service(tools, Some(allowed)).call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn requests_over_http_stand_for_themselves() {
    for frame in [list(1, None), list(1, Some(meta()))] {
        let (status, answer) = post("127.0.0.1:8931", &[], &frame).await;
        assert_eq!(status, 200, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("1 tool result"), "{answer}");
    }
}

#[tokio::test]
async fn hosts_that_are_not_allowed_are_refused() {
    let frame = list(1, None);
    assert_eq!(post("evil.example", &[], &frame).await.0, 403);
    let allowed = ["tools.example".to_owned()];
    assert_eq!(post("tools.example", &allowed, &frame).await.0, 200);
    assert_eq!(post("127.0.0.1", &allowed, &frame).await.0, 403);
}
