//! What a proxy changes, and that it changes nothing else.

use std::io::ErrorKind;
use std::sync::Arc;

use serde_json::{Value, json};
use toolstub_mcp::{Inject, ProxyOptions, Structured};
use toolstub_session::{Config, FailureMode};
use toolstub_store::fault::{Fault, FaultyBackend};
use toolstub_store::{Backend, MemoryBackend, ResultStore};

use super::odd::{panicking_store, silent_store};
use super::wire::{Wire, call};
use super::{put, store};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const OURS: [&str; 3] =
    ["openviking_tool_result_read", "openviking_tool_result_search", "openviking_tool_result_list"];

fn wire(options: ProxyOptions) -> Wire {
    Wire::new(&store(), Config::default(), options)
}

fn log(chars: usize) -> String {
    "2026-01-02 a line of a log, \"quoted\"\n".chars().cycle().take(chars).collect()
}

fn text_result(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, Value::from(text))
}

/// A field of a stub's header; nothing of what is no stub.
fn field<'a>(stub: &'a str, name: &str) -> Option<&'a str> {
    stub.strip_prefix("[tool result externalized: ")?;
    stub.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn is_stub(text: &str) -> bool {
    field(text, "ref").is_some_and(|reference| reference.starts_with("toolstub://session/p/"))
}

fn names(list: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(list).unwrap();
    let names = list["tools"].as_array().unwrap().iter();
    names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn frames_pass_as_they_are() {
    let mut wire = wire(ProxyOptions::default());
    for frame in [
        r#" {"jsonrpc":"2.0", "id" : 1, "method":"x/y","params":{"n":123456789012345678901234567890, "f":1.10}} "#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"s1","result":{"action":"accept","content":{"a":1.10}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tasks/list"}"#,
        "not json at all",
        "",
        "\r",
        "[]",
        r#"[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"ping"}]"#,
    ] {
        assert_eq!(wire.ask(frame).await, frame);
    }
    let long = "x".repeat(30_000);
    for frame in [
        r#" {"jsonrpc":"2.0", "id" : 1, "result":{"n":123456789012345678901234567890, "f":1.10,"f":2}} "#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"result":{"tasks":[{"taskId":"t","ttl":1e3}]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.to_owned(),
        // A request of the server's, whose id is one that the client has used too.
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{{"x":"{long}"}}}}"#),
        r#"{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
        "a line of a log on the wrong stream".to_owned(),
    ] {
        assert_eq!(wire.tell(&frame).await, frame);
    }
}

#[tokio::test]
async fn small_and_unknown_results_stay_byte_for_byte() {
    let mut wire = wire(ProxyOptions::default());
    let long = Value::from(log(30_000)).to_string();
    for result in [
        r#"{"content":[{"type":"text","text":"a\u0062", "n":1.10}], "x" : 123456789012345678901234567890 }"#.to_owned(),
        format!(r#"{{"content":[{{"type":"image","data":{long},"mimeType":"image/png"}},{{"type":"audio","data":{long}}}]}}"#),
        format!(r#"{{"content":[{{"type":"resource","resource":{{"uri":"x","blob":{long}}}}},{{"type":"resource_link","uri":{long}}}]}}"#),
        format!(r#"{{"content":[{{"type":"sculpture","text":{long}}}]}}"#),
        format!(r#"{{"resultType":"input_required","content":[{{"type":"text","text":{long}}}]}}"#),
        format!(r#"{{"task":{{"taskId":"t1","statusMessage":{long}}}}}"#),
        format!(r#"{{"resultType":"task","taskId":"t2","note":{long}}}"#),
        format!(r#"{{"contents":[{{"text":{long}}}]}}"#),
        format!("[{long}]"),
    ] {
        assert_eq!(wire.call(&result).await, result);
    }
}

#[tokio::test]
async fn long_text_leaves_a_stub_and_comes_back() {
    let mut wire = wire(ProxyOptions::default());
    let text = log(50_000);
    let frame = |text: &str| {
        format!(
            r#"{{ "_meta":{{"n":1.10,"x":123456789012345678901234567890}},"content":[{{"type":"text","annotations":{{"priority":1.0}},"text":{},"_meta":{{}}}},{{"type":"odd"}}] , "isError":true,"vendor":[1e2]}}"#,
            Value::from(text)
        )
    };
    let heard = wire.call(&frame(&text)).await;
    let value: Value = serde_json::from_str(&heard).unwrap();
    let stub = value["content"][0]["text"].as_str().unwrap();
    assert_eq!(heard, frame(stub));
    let reference = field(stub, "ref").unwrap();
    assert!(
        reference.starts_with("toolstub://session/p/tool-results/tr_read_file_"),
        "{reference}"
    );
    assert!(stub.contains("tool_name: read_file\n"));

    // The same again has the same stub.
    assert_eq!(wire.call(&frame(&text)).await, heard);
    let list = wire.retrieve("list", &json!({})).await;
    let list = list["content"][0]["text"].as_str().unwrap();
    assert!(list.starts_with("1 tool result ") && list.contains(reference), "{list}");

    let (mut back, mut offset) = (String::new(), json!(0));
    loop {
        let piece = json!({"tool_output_ref": reference, "offset": offset, "limit": -1});
        let piece = wire.retrieve("read", &piece).await;
        let text = piece["content"][0]["text"].as_str().unwrap().to_owned();
        let range = &piece["_meta"]["toolstub/range"];
        offset = range["next_offset"].clone();
        if range["has_more"] == false {
            back.push_str(&text);
            break;
        }
        back.push_str(text.strip_suffix(&format!("\n[next_offset: {offset} of 50000]")).unwrap());
    }
    assert_eq!(back, text);
}

#[tokio::test]
async fn embedded_resource_leaves_a_stub() {
    let mut wire = wire(ProxyOptions::default());
    let frame = |text: &str| {
        format!(
            r#"{{"content":[{{"type":"resource","resource":{{"uri":"file:///x.md","mimeType":"text/markdown","text":{}}}}}]}}"#,
            Value::from(text)
        )
    };
    let heard = wire.call(&frame(&"# Head\n\ntext\n".repeat(3000))).await;
    let value: Value = serde_json::from_str(&heard).unwrap();
    let stub = value["content"][0]["resource"]["text"].as_str().unwrap();
    assert_eq!(heard, frame(stub));
    assert!(is_stub(stub));
}

#[tokio::test]
async fn threshold_is_in_characters_and_strict() {
    let config = Config { threshold_chars: 2000, ..Config::default() };
    let mut wire = Wire::new(&store(), config, ProxyOptions::default());
    let stays = text_result(&"é".repeat(2000));
    assert_eq!(wire.call(&stays).await, stays);
    let goes = text_result(&"é".repeat(2001));
    assert!(wire.call(&goes).await.contains("[tool result externalized: "));
    // A threshold over the budget of a turn is what counts.
    let config = Config { threshold_chars: 200_000, ..Config::default() };
    let mut wire = Wire::new(&store(), config, ProxyOptions::default());
    let stays = text_result(&log(200_000));
    assert_eq!(wire.call(&stays).await, stays);
}

#[tokio::test]
async fn structured_content_that_says_the_same_goes() {
    let mut wire = wire(ProxyOptions::default());
    let text = log(30_000);
    let rows: Vec<_> = (0..3000).map(|n| json!({"n": n, "s": "é"})).collect();
    let rows = json!({ "rows": rows });
    for (text, structured) in [
        (text.clone(), json!({"content": text}).to_string()),
        (text.clone(), json!({"result": [text]}).to_string()),
        (serde_json::to_string_pretty(&rows).unwrap(), rows.to_string()),
    ] {
        let frame = |text: &str, structured: &str| {
            format!(
                r#"{{"content":[{{"type":"text","text":{}}}]{structured},"isError":false}}"#,
                Value::from(text)
            )
        };
        let whole = frame(&text, &format!(r#","structuredContent":{structured}"#));
        let heard = wire.call(&whole).await;
        let value: Value = serde_json::from_str(&heard).unwrap();
        let stub = value["content"][0]["text"].as_str().unwrap();
        assert!(is_stub(stub));
        assert_eq!(heard, frame(stub, ""));
    }
    let list = wire.retrieve("list", &json!({})).await;
    assert!(list["content"][0]["text"].as_str().unwrap().starts_with("2 tool results"));
}

#[tokio::test]
async fn structured_content_that_says_more_is_stored_as_json() {
    let mut wire = wire(ProxyOptions::default());
    let rows: Vec<String> = (0..3000).map(|n| format!(r#"{{"n":{n},"f":1.10}}"#)).collect();
    let rows = format!(r#"{{"rows":[{}]}}"#, rows.join(","));
    for (before, after) in [
        (
            r#"{"content":[{"type":"text","text":"3000 rows"}],"structuredContent":@}"#,
            r#"{"content":[{"type":"text","text":"3000 rows"},{"type":"text","text":@}]}"#,
        ),
        (
            r#"{"content":[],"structuredContent":@,"isError":false}"#,
            r#"{"content":[{"type":"text","text":@}],"isError":false}"#,
        ),
        (r#"{"structuredContent":@}"#, r#"{"content":[{"type":"text","text":@}]}"#),
    ] {
        let heard = wire.call(&before.replace('@', &rows)).await;
        let value: Value = serde_json::from_str(&heard).unwrap();
        let stub = value["content"].as_array().unwrap().last().unwrap()["text"].clone();
        assert_eq!(heard, after.replace('@', &stub.to_string()));
        let stub = stub.as_str().unwrap();
        assert_eq!(field(stub, "kind"), Some("json"));
        let piece = json!({"ref": field(stub, "ref"), "pointer": "/rows/2"});
        let piece = wire.retrieve("read", &piece).await;
        assert_eq!(piece["content"][0]["text"], r#"{"n":2,"f":1.10}"#);
    }
}

#[tokio::test]
async fn list_that_is_said_in_many_short_blocks_goes_whole() {
    let mut wire = wire(ProxyOptions::default());
    let items: Vec<Value> = (0..2000).map(|n| json!({"n": n, "s": "short"})).collect();
    let blocks: Vec<Value> = items
        .iter()
        .map(|item| json!({"type": "text", "text": serde_json::to_string_pretty(item).unwrap()}))
        .collect();
    let whole =
        json!({"content": blocks, "structuredContent": {"result": items}, "isError": false});
    let heard: Value = serde_json::from_str(&wire.call(&whole.to_string()).await).unwrap();
    let [block] = &heard["content"].as_array().unwrap()[..] else { panic!("{heard}") };
    assert!(is_stub(block["text"].as_str().unwrap()) && heard.get("structuredContent").is_none());
    // With anything else among them, they stay.
    let mut more = whole.clone();
    more["content"][7] = json!({"type": "image", "data": "", "mimeType": "image/png"});
    let heard: Value = serde_json::from_str(&wire.call(&more.to_string()).await).unwrap();
    assert_eq!(heard["content"].as_array().unwrap().len(), 2001);
}

#[tokio::test]
async fn structured_content_stays_where_it_is_small_or_kept() {
    let mut stripping = wire(ProxyOptions::default());
    let small = r#"{"content":[{"type":"text","text":@}],"structuredContent":{"n":1.10}}"#;
    let heard = stripping.call(&small.replace('@', &Value::from(log(30_000)).to_string())).await;
    assert!(heard.ends_with(r#"}],"structuredContent":{"n":1.10}}"#) && heard.len() < 3000);

    let keep = ProxyOptions { structured: Structured::Keep, ..ProxyOptions::default() };
    let mut keeping = wire(keep);
    let text = log(30_000);
    let structured = json!({ "content": text }).to_string();
    let whole =
        format!(r#"{{"content":[{{"type":"text","text":@}}],"structuredContent":{structured}}}"#);
    let heard = keeping.call(&whole.replace('@', &Value::from(text).to_string())).await;
    let stub = serde_json::from_str::<Value>(&heard).unwrap()["content"][0]["text"].clone();
    assert_eq!(heard, whole.replace('@', &stub.to_string()));
}

#[tokio::test]
async fn structured_content_that_shrinks_keeps_its_shape() {
    let shrink = ProxyOptions { structured: Structured::Shrink, ..ProxyOptions::default() };
    let mut wire = wire(shrink);
    let text = Value::from(log(30_000)).to_string();
    let whole = r#"{"content":[{"type":"text","text":@}],"structuredContent":{"n":1.10,"content":@,"list":["short"]}}"#;
    let heard = wire.call(&whole.replace('@', &text)).await;
    let stub = serde_json::from_str::<Value>(&heard).unwrap()["content"][0]["text"].clone();
    assert!(is_stub(stub.as_str().unwrap()));
    assert_eq!(heard, whole.replace('@', &stub.to_string()));
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_no_text() {
    let mut wire = wire(ProxyOptions::default());
    let half = format!(r#"{{"type":"text","text":"{}\ud83d"}}"#, "x".repeat(30_000));
    let whole = format!(r#"{{"content":[{half},{{"type":"text","text":"short"}}]}}"#);
    assert_eq!(wire.call(&whole).await, whole);
    // A whole pair is one.
    let heard = wire.call(&whole.replace(r"\ud83d", r"\ud83d\ude00")).await;
    assert!(heard.contains("[tool result externalized: "));
}

#[tokio::test]
async fn retrieved_text_is_never_put_out_again() {
    let config = Config { threshold_chars: 1000, ..Config::default() };
    let mut wire = Wire::new(&store(), config, ProxyOptions::default());
    let result = text_result(&log(5000));
    for tool in ["tool_result_read", "x_tool_result_search", "mcp__y__openviking_tool_result_list"]
    {
        assert_eq!(wire.exchange(&call(tool), &result).await, result);
    }
}

#[tokio::test]
async fn tools_are_added_to_the_first_page() {
    let mut wire = wire(ProxyOptions::default());
    let page = |more: &str| {
        format!(
            r#"{{"tools":[{{"name":"a","inputSchema":{{"type":"object","default":1.10}},"outputSchema":{{"type":"object"}},"execution":{{"taskSupport":"optional"}}}}, {{"name":"b","outputSchema":{{}}}}]{more}}}"#
        )
    };
    let first = wire.exchange(LIST, &page(r#","nextCursor":"2","ttlMs":5"#)).await;
    let start = r#"{"tools":[{"name":"a","inputSchema":{"type":"object","default":1.10},"execution":{"taskSupport":"optional"}}, {"name":"b"},{"name":"openviking_tool_result_read","#;
    assert!(first.starts_with(start), "{first}");
    assert!(first.ends_with(r#"],"nextCursor":"2","ttlMs":5}"#));
    assert_eq!(names(&first)[2..], OURS);

    let second = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}"#;
    let second = wire.exchange(second, &page("")).await;
    assert_eq!(names(&second), ["a", "b"]);
    assert!(!second.contains("outputSchema"));

    let null = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":null}}"#;
    assert_eq!(names(&wire.exchange(null, r#"{"tools":[]}"#).await), OURS);
    for odd in [r#"{"tools":1}"#, "{}", "[]"] {
        assert_eq!(wire.exchange(LIST, odd).await, odd);
    }
}

#[tokio::test]
async fn tools_that_the_server_has_too_are_its_own_unless_ours_are_wanted() {
    let theirs = r#"{"tools":[{"name":"a"},{"name":"openviking_tool_result_read","mark":1.10}]}"#;
    let call = call("openviking_tool_result_read");

    let mut auto = wire(ProxyOptions::default());
    let listed = auto.exchange(LIST, theirs).await;
    assert!(listed.starts_with(theirs.strip_suffix("]}").unwrap()), "{listed}");
    assert_eq!(names(&listed), ["a", OURS[0], OURS[1], OURS[2]]);
    assert_eq!(auto.ask(&call).await, call);

    let mut never = wire(ProxyOptions { inject: Inject::Never, ..ProxyOptions::default() });
    assert_eq!(
        never.exchange(LIST, r#"{"tools":[{"name":"a"}]}"#).await,
        r#"{"tools":[{"name":"a"}]}"#
    );
    assert_eq!(never.ask(&call).await, call);
    let ours = retrieval("read", &json!({"ref": "toolstub://session/p/tool-results/tr_x"}));
    assert_eq!(never.ask(&ours).await, ours);

    let mut always = wire(ProxyOptions { inject: Inject::Always, ..ProxyOptions::default() });
    let listed = always.exchange(LIST, theirs).await;
    assert_eq!(names(&listed), ["a", OURS[0], OURS[1], OURS[2]]);
    assert!(!listed.contains("mark"));
    assert_eq!(always.retrieve("read", &json!({"ref": "tr_x"})).await["isError"], true);
    let foreign = json!({"ref": "viking://user/u/sessions/x/tool-results/tr_x"});
    assert_eq!(always.retrieve("read", &foreign).await["isError"], true);
}

/// A call of a retrieval tool.
fn retrieval(name: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": format!("openviking_tool_result_{name}"), "arguments": arguments}})
    .to_string()
}

#[tokio::test]
async fn stub_is_read_back_whatever_the_server_has() {
    let text = log(30_000);
    for theirs in [&[][..], &OURS[..1], &OURS[2..], &OURS[..]] {
        for is_listed in [false, true] {
            let mut wire = wire(ProxyOptions::default());
            let list =
                json!({"tools": theirs.iter().map(|n| json!({"name": n})).collect::<Vec<_>>()});
            if is_listed {
                let mut listed = names(&wire.exchange(LIST, &list.to_string()).await);
                listed.sort_unstable();
                assert_eq!(listed, [OURS[2], OURS[0], OURS[1]]);
            }
            let heard: Value = serde_json::from_str(&wire.call(&text_result(&text)).await).unwrap();
            let stub = heard["content"][0]["text"].as_str().unwrap();
            let reference = field(stub, "ref").unwrap();
            let read = wire.retrieve("read", &json!({"tool_output_ref": reference})).await;
            let piece = read["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(&piece[..10_000]));
            let found = wire.retrieve("search", &json!({"uri": reference, "query": "log"})).await;
            assert_eq!(found["isError"], false);
            // What is of another's goes there, if there may be such a tool.
            let foreign = json!({"uri": "viking://user/u/sessions/x/tool-results/tr_x"});
            for (name, own) in ["read", "search", "list"].into_iter().zip(OURS) {
                let has_it = theirs.contains(&own);
                if has_it || !is_listed {
                    let call = retrieval(name, &foreign);
                    assert_eq!(wire.ask(&call).await, call);
                } else {
                    wire.retrieve(name, &foreign).await;
                }
                if has_it && is_listed {
                    let call = retrieval(name, &json!({}));
                    assert_eq!(wire.ask(&call).await, call);
                } else {
                    wire.retrieve(name, &json!({})).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn ref_of_another_session_goes_to_whoever_keeps_it() {
    let store = store();
    let kept = put(&store, "yesterday", log(30_000)).await.to_string();
    let elsewhere = "toolstub://session/elsewhere/tool-results/tr_x".to_owned();
    let mut wire = Wire::new(&store, Config::default(), ProxyOptions::default());
    // Not known to have the tool, the server is not asked.
    for reference in [&kept, &elsewhere] {
        wire.retrieve("read", &json!({"ref": reference})).await;
    }
    let theirs = r#"{"tools":[{"name":"openviking_tool_result_read"}]}"#;
    wire.exchange(LIST, theirs).await;
    let read = wire.retrieve("read", &json!({"ref": kept})).await;
    assert_eq!(read["isError"], false);
    let read = retrieval("read", &json!({"ref": elsewhere}));
    assert_eq!(wire.ask(&read).await, read);
    let found = wire.retrieve("search", &json!({"ref": elsewhere, "query": "x"})).await;
    assert_eq!(found["isError"], true);
}

#[tokio::test]
async fn tool_of_a_later_page_is_hidden_where_ours_is_shown() {
    let mut wire = wire(ProxyOptions::default());
    let first = r#"{"tools":[{"name":"openviking_tool_result_list"}],"nextCursor":"2"}"#;
    assert_eq!(names(&wire.exchange(LIST, first).await), [OURS[2], OURS[0], OURS[1]]);
    let next = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}"#;
    let second = r#"{"tools":[{"name":"openviking_tool_result_read"}, {"name":"b","outputSchema":{},"n":1.10},{"name":"openviking_tool_result_list"}],"x":1.10}"#;
    let expected =
        r#"{"tools":[{"name":"b","n":1.10},{"name":"openviking_tool_result_list"}],"x":1.10}"#;
    assert_eq!(wire.exchange(next, second).await, expected);
    // Ours is shown, so ours is meant; a ref goes where it belongs all the same.
    assert_eq!(wire.retrieve("read", &json!({"ref": "tr_x"})).await["isError"], true);
    let foreign =
        retrieval("read", &json!({"ref": "viking://user/u/sessions/x/tool-results/tr_x"}));
    assert_eq!(wire.ask(&foreign).await, foreign);
    let list = retrieval("list", &json!({}));
    assert_eq!(wire.ask(&list).await, list);
    // The list may be another one later.
    assert_eq!(names(&wire.exchange(LIST, r#"{"tools":[]}"#).await), OURS);
    wire.retrieve("list", &json!({})).await;
}

#[tokio::test]
async fn server_without_tools_has_ours() {
    let init = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    for (before, after) in [
        (
            r#"{"capabilities":{"prompts":{} },"n":1.10}"#,
            r#"{"capabilities":{"prompts":{},"tools":{} },"n":1.10}"#,
        ),
        (r#"{"capabilities":{}}"#, r#"{"capabilities":{"tools":{}}}"#),
        (r#"{"capabilities":{"tools":null}}"#, r#"{"capabilities":{"tools":{}}}"#),
        (r#"{"n":1}"#, r#"{"n":1,"capabilities":{"tools":{}}}"#),
    ] {
        let mut wire = wire(ProxyOptions::default());
        assert_eq!(wire.exchange(init, before).await, after);
        // It may have what it does not say.
        assert_eq!(wire.ask(LIST).await, LIST);
        let missing =
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
        let listed: Value = serde_json::from_str(&wire.tell(missing).await).unwrap();
        assert_eq!(names(&listed["result"].to_string()), OURS);
        assert_eq!(wire.ask(LIST).await, LIST);
        let theirs = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"silent"}]}}"#;
        let listed: Value = serde_json::from_str(&wire.tell(theirs).await).unwrap();
        let all: Vec<_> = ["silent"].into_iter().chain(OURS).collect();
        assert_eq!(names(&listed["result"].to_string()), all);
    }
    let with_tools = r#"{"capabilities":{"tools":{"listChanged":true}}}"#;
    let mut wire = wire(ProxyOptions::default());
    let discover = r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    assert_eq!(wire.exchange(discover, with_tools).await, with_tools);
    assert_eq!(wire.ask(LIST).await, LIST);
    let missing =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    let listed: Value = serde_json::from_str(&wire.tell(missing).await).unwrap();
    assert_eq!(names(&listed["result"].to_string()), OURS);
    assert_eq!(wire.ask(LIST).await, LIST);
    let failed = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#;
    assert_eq!(wire.tell(failed).await, failed);
}

#[tokio::test]
async fn results_of_a_later_era_say_that_they_are_complete() {
    let mut wire = wire(ProxyOptions::default());
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"openviking_tool_result_list",{meta}}}}}"#
    );
    wire.client.say(&call).await;
    assert_eq!(wire.client.hear_json().await["result"]["resultType"], "complete");
    let list = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{{meta}}}}}"#);
    assert_eq!(wire.ask(&list).await, list);
    let missing = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"x"}}"#;
    let listed: Value = serde_json::from_str(&wire.tell(missing).await).unwrap();
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert!(wire.retrieve("list", &json!(null)).await.get("resultType").is_none());
}

#[tokio::test]
async fn batches_are_taken_apart_and_put_together() {
    let mut wire = wire(ProxyOptions::default());
    let ours = |id: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"openviking_tool_result_list"}}}}"#
        )
    };
    let theirs = call("read_file");
    wire.client.say(&format!("[{},{theirs},{}]", ours(1), ours(2))).await;
    assert_eq!(wire.server.hear().await, format!("[{theirs}]"));
    let answers = wire.client.hear_json().await;
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(1), &json!(2)));
    wire.client.say(&format!("[{}]", ours(3))).await;
    assert_eq!(wire.client.hear_json().await[0]["id"], 3);

    let answer = |text: &str| {
        format!(
            r#"[ {{"jsonrpc":"2.0","id":7,"result":{}}},{{"jsonrpc":"2.0","id":8,"result":{{"n":1.10}}}}]"#,
            text_result(text)
        )
    };
    let heard = wire.tell(&answer(&log(30_000))).await;
    let value: Value = serde_json::from_str(&heard).unwrap();
    let stub = value[0]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(is_stub(stub));
    assert_eq!(heard, answer(stub));
}

#[tokio::test]
async fn results_of_tasks_leave_stubs() {
    let mut wire = wire(ProxyOptions::default());
    let long = text_result(&log(30_000));
    let task = r#"{"task":{"taskId":"t1","status":"working"}}"#;
    let begin = call("research").replace(r#""arguments""#, r#""task":{"ttl":1000},"arguments""#);
    assert_eq!(wire.exchange(&begin, task).await, task);
    let result = r#"{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}"#;
    let heard = wire.exchange(result, &long).await;
    assert!(heard.len() < 3000 && heard.contains("tool_name: research"), "{heard}");

    let later = r#"{"resultType":"task","taskId":"t2","status":"working"}"#;
    assert_eq!(wire.exchange(&call("later"), later).await, later);
    // A result may say what it likes beside its content.
    let marked = long.replacen('{', r#"{"taskId":"t9","task":{"taskId":"t9"},"#, 1);
    assert!(wire.call(&marked).await.contains("[tool result externalized: "));
    let get = r#"{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t2"}}"#;
    let working = r#"{"taskId":"t2","status":"working"}"#;
    assert_eq!(wire.exchange(get, working).await, working);
    let done = |result: &str| {
        format!(r#"{{"taskId":"t2","status":"completed","result":{result},"ttl":1e3}}"#)
    };
    let heard = wire.exchange(get, &done(&long)).await;
    assert!(heard.len() < 3000 && heard.contains("tool_name: later"), "{heard}");
    assert!(heard.ends_with(r#","ttl":1e3}"#));
    let note = |result: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{}}}"#, done(result))
    };
    assert!(wire.tell(&note(&long)).await.len() < 3000);
}

#[tokio::test]
async fn answer_is_recognised_however_its_id_is_written() {
    let mut wire = wire(ProxyOptions::default());
    for (asked, answered) in [("5.0", "5"), ("1e2", "100"), ("-0", "0"), ("7", "7.0")] {
        let request = call("read_file").replace(r#""id":7"#, &format!(r#""id":{asked}"#));
        assert_eq!(wire.ask(&request).await, request);
        let result = text_result(&log(30_000));
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{answered},"result":{result}}}"#);
        let heard = wire.tell(&frame).await;
        assert!(heard.contains("[tool result externalized: "), "{asked}");
        assert!(heard.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{answered},"#)));
    }
    let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, text_result(&log(30_000)));
    assert_eq!(wire.tell(&frame).await, frame);
}

#[tokio::test]
async fn two_calls_of_one_id_both_leave_stubs() {
    let mut wire = wire(ProxyOptions::default());
    let batch = format!("[{},{}]", call("read_file"), call("grep"));
    assert_eq!(wire.ask(&batch).await, batch);
    for tool in ["read_file", "grep"] {
        let result = text_result(&log(30_000));
        let heard = wire.tell(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)).await;
        assert!(heard.contains(&format!("tool_name: {tool}")), "{heard}");
    }
    assert_eq!(wire.ask(&call("third")).await, call("third"));
    wire.server.hang_up().await;
    assert_eq!(wire.client.hear_json().await["error"]["code"], -32000);
    assert_eq!(wire.client.hear().await, "");
}

#[tokio::test]
async fn call_that_is_called_off_is_forgotten() {
    let mut wire = wire(ProxyOptions::default());
    let request = call("read_file");
    assert_eq!(wire.ask(&request).await, request);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert_eq!(wire.ask(cancel).await, cancel);
    wire.server.hang_up().await;
    assert_eq!(wire.client.hear().await, "");
}

#[tokio::test]
async fn server_that_ends_leaves_no_request_without_an_answer() {
    let mut wire = wire(ProxyOptions::default());
    for request in [call("read_file"), LIST.replace('1', "\"x\"")] {
        assert_eq!(wire.ask(&request).await, request);
    }
    wire.server.hang_up().await;
    for id in [json!(7), json!("x")] {
        let error = wire.client.hear_json().await;
        assert_eq!((&error["id"], &error["error"]["code"]), (&id, &json!(-32000)));
    }
    assert_eq!(wire.client.hear().await, "");
    wire.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn result_stays_where_the_store_fails() {
    let options = ProxyOptions { structured: Structured::Strip, ..ProxyOptions::default() };
    let whole = r#"{"content":[{"type":"text","text":@}],"structuredContent":{"n":[1.10,@]}}"#;
    let whole = whole.replace('@', &Value::from(log(30_000)).to_string());
    let mut stayed = 0;
    for nth in 0.. {
        let backend = Arc::new(FaultyBackend::new(Arc::new(MemoryBackend::new())));
        backend.fail(Fault::ErrorBefore(ErrorKind::StorageFull), nth);
        let store = ResultStore::new(Arc::clone(&backend) as Arc<dyn Backend>);
        let config = Config { failure_mode: FailureMode::PreviewOnly, ..Config::default() };
        let mut wire = Wire::new(&store, config, options);
        let heard = wire.call(&whole).await;
        let value: Value = serde_json::from_str(&heard).unwrap();
        let text = value["content"][0]["text"].as_str().unwrap();
        assert!(is_stub(text) || text == log(30_000), "{text}");
        stayed += usize::from(heard.len() > 30_000);
        if backend.heal().is_none() {
            assert!(heard.len() < 4000 && stayed > 0);
            break;
        }
    }
}

#[tokio::test]
async fn where_the_store_fails_nothing_is_taken_away_that_is_said_twice() {
    let text = Value::from(log(30_000)).to_string();
    let whole = r#"{"content":[{"type":"text","text":@}],"structuredContent":{"content":@}}"#;
    let whole = whole.replace('@', &text);
    let mut stayed = 0;
    for nth in 0.. {
        let backend = Arc::new(FaultyBackend::new(Arc::new(MemoryBackend::new())));
        backend.fail(Fault::ErrorBefore(ErrorKind::StorageFull), nth);
        let store = ResultStore::new(Arc::clone(&backend) as Arc<dyn Backend>);
        let mut wire = Wire::new(&store, Config::default(), ProxyOptions::default());
        let heard = wire.call(&whole).await;
        if heard.len() > 4000 {
            assert_eq!(heard, whole);
            stayed += 1;
        }
        if backend.heal().is_none() {
            assert!(heard.len() < 4000 && stayed > 0);
            break;
        }
    }
}

#[tokio::test]
async fn what_is_stored_holds_nothing_else_up() {
    let mut wire = wire(ProxyOptions::default());
    for id in 0..20 {
        let request = call("read_file").replace('7', &id.to_string());
        assert_eq!(wire.ask(&request).await, request);
    }
    for id in 0..20 {
        let result = text_result(&format!("{id} {}", log(100_000)));
        wire.server.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }
    wire.server.say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#).await;
    let mut ids = Vec::new();
    for _ in 0..21 {
        let heard = wire.client.hear_json().await;
        assert!(heard.to_string().len() < 4000);
        ids.extend(heard["id"].as_u64());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn result_of_sixty_megabytes_passes() {
    let mut wire = wire(ProxyOptions::default());
    let text = log(60_000_000);
    let request = call("read_file");
    assert_eq!(wire.ask(&request).await, request);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, text_result(&text));
    let begun = std::time::Instant::now();
    let ((), heard) = tokio::join!(wire.server.say(&frame), wire.client.hear());
    assert!(heard.len() < 3000 && heard.contains("original_chars: 60000000"), "{}", heard.len());
    // A build without optimization takes several times as long as one with.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn silent_store_holds_a_batch_up_once() {
    let mut wire = Wire::new(&silent_store(), Config::default(), ProxyOptions::default());
    let numbered = |frame: &str| {
        let frames: Vec<_> =
            (0..20).map(|id| frame.replace(r#""id":7"#, &format!(r#""id":{id}"#))).collect();
        format!("[{}]", frames.join(","))
    };
    let asked = numbered(&call("read_file"));
    assert_eq!(wire.ask(&asked).await, asked);
    let answer =
        numbered(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, text_result(&log(30_000))));
    let begun = tokio::time::Instant::now();
    assert_eq!(wire.tell(&answer).await, answer);
    let taken = begun.elapsed().as_secs();
    assert!((20..23).contains(&taken), "{taken}");
}

#[tokio::test]
async fn fault_of_ours_takes_no_result_away() {
    let mut wire = Wire::new(&panicking_store(), Config::default(), ProxyOptions::default());
    let whole = text_result(&log(30_000));
    for _ in 0..2 {
        assert_eq!(wire.call(&whole).await, whole);
    }
}

#[tokio::test(start_paused = true)]
async fn store_that_is_to_say_whose_a_ref_is_holds_no_frame_up() {
    let mut wire = Wire::new(&silent_store(), Config::default(), ProxyOptions::default());
    let tools = format!(r#"{{"tools":[{{"name":"{}"}}]}}"#, OURS[0]);
    wire.exchange(LIST, &tools).await;
    let begun = tokio::time::Instant::now();
    let reference = json!({"ref": "toolstub://session/x/tool-results/tr_x"});
    for id in 0..50 {
        let call = retrieval("read", &reference).replace(r#""id":7"#, &format!(r#""id":{id}"#));
        wire.client.say(&call).await;
    }
    let theirs = call("read_file");
    assert_eq!(wire.ask(&theirs).await, theirs);
    assert!(begun.elapsed().as_secs() < 1, "{:?}", begun.elapsed());
    for _ in 0..50 {
        assert_eq!(wire.client.hear_json().await["error"]["code"], -32000);
    }
    assert!(begun.elapsed().as_secs() < 65, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn call_that_is_the_servers_after_all_arrives_though_the_client_goes() {
    let mut wire = wire(ProxyOptions::default());
    let tools = format!(r#"{{"tools":[{{"name":"{}"}}]}}"#, OURS[0]);
    wire.exchange(LIST, &tools).await;
    let reference = json!({"ref": "toolstub://session/x/tool-results/tr_x"});
    let shared = retrieval("read", &reference);
    wire.client.say(&format!("[{shared},{}]", call("x"))).await;
    wire.client.hang_up().await;
    let mut heard = [wire.server.hear().await, wire.server.hear().await];
    heard.sort();
    assert_eq!(heard, [format!("[{}]", call("x")), shared]);
    assert_eq!(wire.server.hear().await, "");
}

#[tokio::test(start_paused = true)]
async fn silent_store_holds_no_frame_up() {
    let mut wire = Wire::new(&silent_store(), Config::default(), ProxyOptions::default());
    let begun = tokio::time::Instant::now();
    // Of so many calls some are answered at once, with an error; one is a batch.
    let count = 5000;
    for id in 0..count {
        let call = retrieval("read", &json!({"ref": "toolstub://session/p/tool-results/tr_x"}));
        let call = call.replace(r#""id":7"#, &format!(r#""id":{id}"#));
        let call = if id == 3 { format!("[{call},{call}]") } else { call };
        wire.client.say(&call).await;
    }
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert_eq!(wire.ask(cancel).await, cancel);
    let theirs = call("read_file");
    assert_eq!(wire.ask(&theirs).await, theirs);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    let mut refused = 0;
    for _ in 0..count {
        let answer = wire.client.hear().await;
        assert!(answer.contains(r#""error":{"code":-32000,"#), "{answer}");
        refused += usize::from(answer.contains("too many calls"));
    }
    assert!((500..1000).contains(&refused), "{refused}");
    assert!(begun.elapsed().as_secs() < 45, "{:?}", begun.elapsed());
}
