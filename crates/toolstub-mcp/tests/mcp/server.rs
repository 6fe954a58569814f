//! The tools as a server, in both eras of the protocol, over streams and over HTTP.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolstub_mcp::{Tools, http_service, serve};
use toolstub_session::Config;
use toolstub_store::fault::{Fault, FaultyBackend};
use toolstub_store::{MemoryBackend, ResultStore};

use super::odd::silent_store;
use super::{put, session_id, store};

const LATER: &str = "2026-07-28";

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": LATER,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// The tools over a store that holds one result.
async fn tools() -> Tools {
    let store = store();
    put(&store, "s", "one\ntwo\n").await;
    Tools::new(store, session_id("s"), &Config::default())
}

/// What a server says to frames, one answer for each that has an id.
async fn say(frames: &[Value]) -> Vec<Value> {
    say_to(tools().await, frames).await
}

async fn say_to(tools: Tools, frames: &[Value]) -> Vec<Value> {
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

/// The handshake of the earlier era.
fn handshake() -> [Value; 2] {
    [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

#[tokio::test]
async fn client_with_a_handshake_is_served() {
    let [initialize, initialized] = handshake();
    let answers = say(&[
        initialize,
        initialized,
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

/// A call with arguments that are no object, and what is to be in its answer.
fn odd_calls() -> Vec<(Value, bool, &'static str)> {
    let list = "openviking_tool_result_list";
    let call = |name: Value, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}})
    };
    let by_name = "give them by name";
    vec![
        (call(list.into(), r#"{"limit": "2"}"#.into()), true, "1 tool result"),
        (call(list.into(), "".into()), true, "1 tool result"),
        (call(list.into(), Value::Null), true, "1 tool result"),
        (call(list.into(), json!([])), true, by_name),
        (call(list.into(), json!(5)), true, by_name),
        (call(list.into(), json!(true)), true, by_name),
        (call(list.into(), "tr_1".into()), true, by_name),
        (call("nothing".into(), "{}".into()), false, "tool_result_read"),
        (call(Value::Null, json!({})), false, "params.name"),
        (json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call"}), false, "params.name"),
    ]
}

#[track_caller]
fn is_told(answer: &Value, has_result: bool, words: &str, is_modern: bool) {
    if has_result {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(words), "{answer}");
        assert_eq!(answer["result"]["isError"], text.starts_with("Error: "), "{answer}");
        let modern = is_modern.then(|| json!("complete"));
        assert_eq!(answer["result"].get("resultType"), modern.as_ref(), "{answer}");
    } else {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_taken_or_told() {
    for (mut frame, has_result, words) in odd_calls() {
        let [initialize, initialized] = handshake();
        let answers = say(&[initialize, initialized, frame.clone()]).await;
        is_told(&answers[1], has_result, words, false);
        is_told(&post("localhost", &[], &frame).await.1, has_result, words, false);
        if frame.get("params").is_some() {
            frame["params"]["_meta"] = meta();
            is_told(&say(std::slice::from_ref(&frame)).await[0], has_result, words, true);
            is_told(&post("localhost", &[], &frame).await.1, has_result, words, true);
        }
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/fetch"});
    let [initialize, initialized] = handshake();
    let listed = json!({"jsonrpc": "2.0", "id": 8, "method": "prompts/list"});
    let answers = say(&[initialize, initialized, unknown, listed]).await;
    for (answer, name) in answers[1..].iter().zip(["`tools/fetch`", "`prompts/list`"]) {
        assert_eq!(answer["error"]["code"], -32601);
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains(name) && text.contains("tools/call"), "{text}");
    }
}

/// What a server says to lines after the handshake, line by line until it has no more to say.
async fn say_lines(said: &str) -> Vec<Value> {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools().await, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    let [initialize, initialized] = handshake();
    let said = format!("{initialize}\n{initialized}\n{said}");
    let saying = tokio::spawn(async move {
        writer.write_all(said.as_bytes()).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut lines = BufReader::new(reader).lines();
    let mut heard = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        heard.push(serde_json::from_str(&line).unwrap());
    }
    saying.await.unwrap();
    serving.await.unwrap().unwrap();
    heard.remove(0);
    heard
}

#[tokio::test]
async fn line_that_is_no_message_is_answered() {
    for (line, code, id) in [
        ("garbage", -32700, Value::Null),
        ("{\"jsonrpc\":", -32700, Value::Null),
        ("\u{feff}nothing", -32700, Value::Null),
        ("7", -32600, Value::Null),
        ("[]", -32600, Value::Null),
        ("{\"id\": 5}", -32600, json!(5)),
        ("{\"id\": \"a\", \"method\": 7}", -32600, json!("a")),
    ] {
        let heard = say_lines(&format!("{line}\n{}\n", list(9, None))).await;
        assert_eq!(heard.len(), 2, "{line}: {heard:?}");
        let told = heard.iter().find(|answer| answer.get("error").is_some()).unwrap();
        assert_eq!((&told["error"]["code"], &told["id"]), (&json!(code), &id), "{line}");
        assert!(heard.iter().any(|answer| answer["id"] == 9));
    }
    // What wants no answer has none.
    for line in ["", " ", "\r", "{\"method\": \"notifications/other\"}"] {
        assert_eq!(say_lines(&format!("{line}\n{}\n", list(9, None))).await.len(), 1, "{line}");
    }
}

/// What a server says to one line after the handshake, as it writes it.
async fn say_line(line: &[u8]) -> Vec<String> {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools().await, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    for frame in handshake() {
        writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }
    writer.write_all(line).await.unwrap();
    writer.shutdown().await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    let mut heard = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        heard.push(line);
    }
    serving.await.unwrap().unwrap();
    heard.remove(0);
    heard
}

/// A call with an id and arguments as they are written.
fn raw_call(id: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"openviking_tool_result_list","arguments":{arguments}}}}}"#
    )
}

#[tokio::test]
async fn call_that_cannot_be_read_is_answered_under_its_id() {
    let digits = "9".repeat(400);
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let list = "{}";
    for (id, arguments, code) in [
        ("5", r#"{"limit":1e999}"#, -32602),
        ("\"a\\u00e9\"", &format!(r#"{{"limit":-1e{digits}}}"#), -32602),
        ("6", &format!(r#"{{"limit":1e{digits}}}"#), -32602),
        ("-7", &deep, -32602),
        (r#""\ud83d""#, list, -32600),
        ("1.5", list, -32600),
        ("1e400", list, -32600),
        ("9223372036854775808", list, -32600),
        (&digits, list, -32600),
        (r#""\ud83d""#, &deep, -32602),
    ] {
        let call = raw_call(id, arguments);
        for line in [call.clone(), format!("[{call}]")] {
            let heard = say_line(line.as_bytes()).await;
            assert_eq!(heard.len(), 1, "{line}: {heard:?}");
            let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
            assert!(heard[0].trim_start_matches('[').starts_with(&begin), "{line}: {heard:?}");
        }
    }
    let null = say_line(raw_call("null", list).as_bytes()).await;
    assert!(null[0].contains(r#""id":null,"error":{"code":-32600"#), "{null:?}");
    let not_utf8 = say_line(b"{\"id\":3,\"method\":\"ping\",\"x\":\"\xff\"}").await;
    assert!(not_utf8[0].contains(r#""id":3,"error":{"code":-32700"#), "{not_utf8:?}");
    // Nobody waits for an answer to these.
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/other","params":{"n":1e999}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"n":1e999}}"#,
    ] {
        assert_eq!(say_line(line.as_bytes()).await, Vec::<String>::new(), "{line}");
    }
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_a_character_of_its_own() {
    for (name, shown) in [
        (r"a\ud83d", "a\u{fffd}"),
        (r"\udd80a\uD83E\uDD80", "\u{fffd}a\u{1f980}"),
        (r"\ud83e\ud83e\udd80", "\u{fffd}\u{1f980}"),
        (r"\\ud83d\ud83d", "\\ud83d\u{fffd}"),
    ] {
        let heard =
            say_line(raw_call("5", &format!(r#"{{"tool_name":"{name}"}}"#)).as_bytes()).await;
        let answer: Value = serde_json::from_str(&heard[0]).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(answer["id"], 5);
        assert!(text.contains(shown), "{name}: {text}");
    }
}

#[tokio::test]
async fn line_that_is_too_long_is_answered() {
    let long = "x".repeat((16 << 20) + 1);
    let heard = say_lines(&format!("{long}\n{}\n", list(9, None))).await;
    let told = heard.iter().find(|answer| answer["id"].is_null()).unwrap();
    assert!(told["error"]["message"].as_str().unwrap().contains("16777216 bytes"), "{told}");
    assert!(heard.iter().any(|answer| answer["id"] == 9));
}

#[tokio::test]
async fn batch_has_one_line_for_all_its_answers() {
    let note = json!({"jsonrpc": "2.0", "method": "notifications/other"});
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    let unknown = json!({"jsonrpc": "2.0", "id": 4, "method": "nope"});
    let batch = json!([list(1, None), note, ping, unknown, {"id": 5}, list(1, None), 6]);
    let heard = say_lines(&format!("{batch}\n{}\n", json!([note]))).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    let answers = heard[0].as_array().unwrap();
    let of = |id: Value| answers.iter().filter(|it| it["id"] == id).collect::<Vec<_>>();
    assert_eq!(answers.len(), 6, "{answers:?}");
    let listed = of(json!(1));
    assert!(listed.iter().any(|it| it["result"]["isError"] == false), "{listed:?}");
    assert!(listed.iter().any(|it| it["error"]["code"] == -32600), "{listed:?}");
    assert_eq!(of(json!("p"))[0]["result"], json!({}));
    assert_eq!(of(json!(4))[0]["error"]["code"], -32601);
    assert_eq!(of(json!(5))[0]["error"]["code"], -32600);
    assert_eq!(of(Value::Null).len(), 1);
    // An id may be used again once it is answered.
    let heard = say_lines(&format!("{}\n{}\n", json!([ping]), list(1, None))).await;
    assert_eq!(heard.len(), 2);
    let many = Value::from(vec![ping; 101]);
    assert_eq!(say_lines(&format!("{many}\n")).await[0]["error"]["code"], -32600);
}

#[tokio::test]
async fn call_that_is_called_off_keeps_no_batch_from_its_answers() {
    let backend = FaultyBackend::new(Arc::new(MemoryBackend::new()));
    backend.fail(Fault::Delay(Duration::from_secs(1000)), 1);
    let store = ResultStore::new(Arc::new(backend));
    let tools = Tools::new(store, session_id("s"), &Config::default());
    let (near, far) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let off =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let [initialize, initialized] = handshake();
    let said = format!("{initialize}\n{initialized}\n{}\n{off}\n", json!([list(1, None), ping]));
    writer.write_all(said.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    lines.next_line().await.unwrap().unwrap();
    let heard: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(heard.as_array().unwrap().len(), 1, "{heard}");
    assert_eq!(heard[0]["id"], 2);
    writer.shutdown().await.unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_keep_nothing_else_from_being_heard() {
    const CALLS: u64 = 300;
    let tools = Tools::new(silent_store(), session_id("s"), &Config::default());
    let (near, far) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    let mut said = handshake().to_vec();
    said.extend((1..=CALLS).map(|id| list(id, None)));
    said.extend([
        json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list"}),
    ]);
    // Of those that are under way, of those that are held, and one of which nobody knows.
    let called_off = (1..=64).chain(100..=200).chain([1_000_000]);
    said.extend(called_off.clone().map(|id| {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
    }));
    // One of an id that is under way, and one of an id that is held.
    said.extend([list(65, None), list(201, None)]);
    said.push(json!({"jsonrpc": "2.0", "id": "q", "method": "ping"}));
    for frame in said {
        writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }
    let begun = tokio::time::Instant::now();
    let mut lines = BufReader::new(reader).lines();
    let mut ids = Vec::new();
    while ids.len() < 6 {
        let line = lines.next_line().await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let is_refused = answer["error"]["code"] == -32600;
        ids.push(format!("{}{}", answer["id"], if is_refused { " refused" } else { "" }));
    }
    ids.sort();
    assert_eq!(ids, ["\"l\"", "\"p\"", "\"q\"", "0", "201 refused", "65 refused"]);
    assert!(begun.elapsed() < Duration::from_secs(1));
    writer.shutdown().await.unwrap();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["result"]["isError"].is_boolean(), "{answer}");
        assert!(seen.insert(answer["id"].as_u64().unwrap()));
    }
    serving.await.unwrap().unwrap();
    assert!(seen.into_iter().eq((65..100).chain(201..=CALLS)));
}

#[tokio::test(start_paused = true)]
async fn client_that_takes_nothing_any_more_is_waited_for_no_longer() {
    for calls in [0, 1, 300] {
        let tools = Tools::new(silent_store(), session_id("s"), &Config::default());
        let (mut writer, input) = tokio::io::duplex(1 << 20);
        let (output, far) = tokio::io::duplex(1 << 20);
        let begun = tokio::time::Instant::now();
        let serving = tokio::spawn(serve(tools, input, output));
        let mut lines = BufReader::new(far).lines();
        let mut said = handshake().to_vec();
        said.extend((1..=calls).map(|id| list(id, None)));
        for frame in said {
            writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
        }
        lines.next_line().await.unwrap().unwrap();
        drop(lines);
        let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
        writer.write_all(format!("{ping}\n").as_bytes()).await.unwrap();
        serving.await.unwrap().unwrap();
        // The library gives what is under way a few seconds.
        assert!(begun.elapsed() < Duration::from_secs(10), "{calls}: {:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn store_that_does_not_answer_is_told() {
    let backend = FaultyBackend::new(Arc::new(MemoryBackend::new()));
    backend.fail(Fault::Delay(Duration::from_secs(1000)), 1);
    let store = ResultStore::new(Arc::new(backend));
    let tools = Tools::new(store, session_id("s"), &Config::default());
    let [initialize, initialized] = handshake();
    let answers = say_to(tools, &[initialize, initialized, list(1, None), list(2, None)]).await;
    assert_eq!(answers[1]["result"]["isError"], true);
    let text = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("in time; try again later"), "{text}");
    assert_eq!(answers[2]["result"]["isError"], false);
}

#[tokio::test]
async fn what_is_said_before_the_beginning_ends_nothing() {
    let off = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 5}});
    let discover = json!({"jsonrpc": "2.0", "id": 5, "method": "server/discover",
        "params": {"_meta": meta()}});
    let early = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"});
    let [initialize, initialized] = handshake();
    let frames = [off.clone(), discover, early, off, initialize, initialized, list(7, None)];
    let answers = say(&frames).await;
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [5, 6, 0, 7]);
    assert_eq!(answers[1]["error"]["code"], -32602);
    assert!(answers[3]["result"]["content"].is_array());
}

#[tokio::test]
async fn last_frame_needs_no_line_end() {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools().await, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    let [initialize, initialized] = handshake();
    let said = format!("{initialize}\n{initialized}\n{}", list(9, None));
    writer.write_all(said.as_bytes()).await.unwrap();
    writer.shutdown().await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    lines.next_line().await.unwrap().unwrap();
    let last: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(last["id"], 9);
    assert_eq!(lines.next_line().await.unwrap(), None);
    serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn client_that_reads_slowly_has_every_answer() {
    const CALLS: u64 = 300;
    // Less than one answer fits between the two.
    let (near, far) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(far);
    let serving = tokio::spawn(serve(tools().await, input, output));
    let (reader, mut writer) = tokio::io::split(near);
    let saying = tokio::spawn(async move {
        for frame in handshake() {
            writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
        }
        for id in 1..=CALLS {
            let frame = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
            writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
        }
        writer.shutdown().await.unwrap();
    });
    let mut lines = BufReader::with_capacity(1 << 10, reader).lines();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        tokio::time::sleep(Duration::from_secs(100)).await;
        let answer: Value = serde_json::from_str(&line).unwrap();
        seen.insert(answer["id"].as_u64().unwrap());
    }
    assert!(seen.into_iter().eq(0..=CALLS));
    saying.await.unwrap();
    serving.await.unwrap().unwrap();
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

    let tools = tools().await;
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

/// What the service answers to a body of one type.
async fn post_raw(host: &str, content_type: &str, body: impl Into<bytes::Bytes>) -> (u16, String) {
    use http_body_util::{BodyExt as _, Full};
    use tower_service::Service as _;

    let request = http::Request::post("/mcp")
        .header("host", host)
        .header("content-type", content_type)
        .header("accept", "application/json, text/event-stream")
        .body(Full::new(body.into()))
        .unwrap();
    let response = http_service(tools().await, Some(&[])).call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn body_that_cannot_be_read_is_answered() {
    let json = "application/json; charset=utf-8";
    for (body, status, begin) in [
        (raw_call("5", r#"{"limit":1e999}"#), 200, r#""id":5,"error":{"code":-32602"#),
        (raw_call(r#""\ud83d""#, "{}"), 200, r#""id":"\ud83d","error":{"code":-32600"#),
        (raw_call("1.5", "{}"), 200, r#""id":1.5,"error":{"code":-32600"#),
        ("garbage".to_owned(), 400, r#""id":null,"error":{"code":-32700"#),
        (String::new(), 400, r#""id":null,"error":{"code":-32600"#),
        (format!("[{}]", list(1, None)), 400, r#""id":null,"error":{"code":-32600"#),
    ] {
        let (answered, answer) = post_raw("localhost", json, body.clone()).await;
        assert_eq!(answered, status, "{body}: {answer}");
        assert!(answer.contains(begin), "{body}: {answer}");
        assert_eq!(post_raw("evil.example", json, body.clone()).await.0, 403);
        assert_eq!(post_raw("localhost", "text/plain", body).await.0, 415);
    }
    let half = raw_call("5", r#"{"tool_name":"a\ud83d"}"#);
    let (status, answer) = post_raw("localhost", json, half).await;
    assert_eq!(status, 200);
    assert!(answer.contains("a\u{fffd}") && answer.contains(r#""id":5"#), "{answer}");
    assert_eq!(post_raw("localhost", json, " ".repeat(4 << 20) + "{}").await.0, 413);
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
