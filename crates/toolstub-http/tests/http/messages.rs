//! Messages: taken in, shortened, appended, given out.

use std::io::ErrorKind;
use std::sync::Arc;

use axum::body::Body;
use hyper::Request;
use serde_json::{Value, json};
use toolstub_http::Options;
use toolstub_session::{Config, FailureMode};
use toolstub_store::MemoryBackend;
use toolstub_store::fault::{Fault, FaultyBackend, Operation};

use crate::{Server, log};

const MESSAGES: &str = "/api/v1/sessions/s1/messages";
const CONTEXT: &str = "/api/v1/sessions/s1/context";

fn tool(id: &str, output: &str) -> Value {
    json!({"type": "tool", "tool_id": id, "tool_name": "bash", "tool_output": output})
}

#[tokio::test]
async fn what_is_oversized_leaves_its_message() {
    let server = Server::new();
    let output = log(1, 30_000);
    let part = server.keep("s1", "c1", &output).await;
    let reference = part["tool_output_ref"].as_str().unwrap();
    assert!(reference.starts_with("viking://user/default/sessions/s1/tool-results/tr_c1_"));
    assert_eq!(part["tool_output_storage_uri"], reference);
    let stub = part["tool_output"].as_str().unwrap();
    assert!(stub.contains("kind: text") && stub.contains("openviking_tool_result_search"));
    assert!(stub.contains(&format!("ref: {reference}\n")), "{stub}");
    assert_eq!(part["tool_output_truncated"], true);
    assert_eq!(part["tool_output_original_chars"], 30_000);
    assert_eq!(part["tool_output_preview_chars"], stub.chars().count());
    assert_eq!(part["tool_output_externalized_reason"], "single_threshold");
    let context = server.get(CONTEXT).await.result();
    assert_eq!(part["tool_output_group_id"], context["messages"][0]["id"]);
}

#[tokio::test]
async fn what_was_read_back_is_not_stored_again() {
    let server = Server::new();
    let output = log(1, 60_000);
    let part = server.keep("s1", "c1", &output).await;
    let input = json!({"tool_output_ref": part["tool_output_ref"], "offset": 5, "limit": 30_000});
    let read: String = output.chars().skip(5).take(30_000).collect();
    let back = json!({
        "type": "tool", "tool_id": "c2", "tool_name": "openviking_tool_result_read",
        "tool_input": input, "tool_output": read,
    });
    server.post(MESSAGES, json!({"role": "assistant", "parts": [back]})).await.result();
    let context = server.get(CONTEXT).await.result();
    let again = &context["messages"][1]["parts"][0];
    assert_eq!(again["tool_output_externalized_reason"], "source_read", "{again}");
    assert_eq!(again["tool_output_source_ref"], part["tool_output_ref"]);
    assert_eq!(again["tool_output_source_offset"], 5);
    let listed = server.get("/api/v1/sessions/s1/tool-results").await.result();
    assert_eq!(listed["tool_results"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_steps_of_a_turn_share_a_budget() {
    let server = Server::new();
    let step = |nth: u64| {
        let parts: Vec<_> =
            (0..3).map(|one| tool(&format!("c{nth}{one}"), &log(nth * 3 + one, 19_000))).collect();
        json!({"role": "assistant", "turn_id": "t1", "parts": parts})
    };
    server.post(MESSAGES, step(0)).await.result();
    let first = server.get(CONTEXT).await.result()["messages"][0].take();
    server.post(MESSAGES, step(1)).await.result();
    let context = server.get(CONTEXT).await.result();
    // 114,000 characters are over the budget; what an earlier step holds is never changed.
    assert_eq!(context["messages"][0], first);
    let reasons: Vec<_> = context["messages"][1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["tool_output_externalized_reason"].as_str())
        .collect();
    assert_eq!(reasons, [Some("turn_budget"), None, None]);

    // Another turn begins anew.
    let mut other = step(2);
    other["turn_id"] = json!("t2");
    server.post(MESSAGES, other).await.result();
    let context = server.get(CONTEXT).await.result();
    assert_eq!(context["messages"][2]["parts"][0].get("tool_output_ref"), None);
}

#[tokio::test]
async fn fields_of_a_message_come_back() {
    let server = Server::new();
    let message = json!({
        "role": "user", "content": "hello", "created_at": "yesterday", "peer_id": "agent-1",
        "turn_id": "", "message_kind": "checkpoint", "source_message_ids": [], "unknown": 1,
    });
    let answer = server.post(MESSAGES, message).await.result();
    assert_eq!(answer, json!({"session_id": "s1", "message_count": 1, "pending_tokens": 2}));
    let mut kept = server.get(CONTEXT).await.result()["messages"][0].take();
    let id = kept["id"].take();
    assert!(id.as_str().unwrap().starts_with("msg_") && id.as_str().unwrap().len() == 36, "{id}");
    let expected = json!({
        "id": null, "role": "user", "parts": [{"type": "text", "text": "hello"}],
        "created_at": "yesterday", "peer_id": "agent-1", "turn_id": "",
        "message_kind": "checkpoint", "source_message_ids": [],
    });
    assert_eq!(kept, expected);
}

#[tokio::test]
async fn numbers_and_unknown_parts_stay_as_they_were_written() {
    let server = Server::new();
    let part = r#"{"type":"video","x":1.10,"n":123456789012345678901234567890,"a":{ "b" : [] }}"#;
    let input = r#"{"z":1e400,"a":1.0}"#;
    let body = format!(
        r#"{{"role":"user","parts":[{part},{{"type":"tool","tool_input":{input},"tool_output":"x"}}]}}"#
    );
    let request = Request::post(MESSAGES)
        .header("host", "localhost")
        .header("content-type", "application/json; charset=utf-8")
        .body(Body::from(body));
    server.send(request.unwrap()).await.result();
    let context = server.get(CONTEXT).await.text;
    assert!(context.contains(part) && context.contains(input), "{context}");
}

#[tokio::test]
async fn a_message_that_makes_no_sense_is_refused() {
    let server = Server::new();
    for (body, status, message) in [
        (json!({}), 400, "Invalid request parameters: body.role: Field required"),
        (
            json!({"role": "user"}),
            400,
            "Invalid request parameters: body: Value error, Either 'content' or 'parts' must be provided",
        ),
        (
            json!({"role": "user", "content": "c", "message_kind": "x"}),
            400,
            "Invalid request parameters: body.message_kind: Input should be 'user_query', \
             'assistant_step', 'tool_transport' or 'checkpoint'",
        ),
        (
            json!({"role": "user", "parts": [tool("c", "x"), "x"]}),
            400,
            "Invalid request parameters: body.parts.1: Input should be a valid dictionary",
        ),
        (
            json!({"role": "user", "parts": [{"type": "image_url"}]}),
            400,
            "image_url part requires a non-empty URL",
        ),
        (
            json!({"role": "user", "content": "c", "peer_id": "a b"}),
            400,
            "Invalid request parameters: body.peer_id: Value error, Invalid peer_id: peer_id must \
             be alpha_numeric string.",
        ),
    ] {
        let answer = server.post(MESSAGES, body).await;
        let (found, _, told) = answer.error();
        assert_eq!((found, told.as_str()), (status, message));
    }
    assert_eq!(server.get("/api/v1/sessions/s1").await.status, 404);
}

#[tokio::test]
async fn a_batch_is_appended_wholly_or_not_at_all() {
    let server = Server::new();
    let batch = "/api/v1/sessions/s1/messages/batch";
    let message = |nth: u64| json!({"role": "user", "content": format!("message {nth}")});
    let none = server.post(batch, json!({"messages": []})).await.result();
    assert_eq!(none["added"], 0);
    let many: Vec<_> = (0..100).map(message).collect();
    let added = server.post(batch, json!({"messages": many})).await.result();
    assert_eq!((&added["added"], &added["message_count"]), (&json!(100), &json!(100)));
    let mut bad: Vec<_> = (0..3).map(message).collect();
    bad[1] = json!({"role": "user", "parts": [{"type": "image_url"}]});
    assert_eq!(server.post(batch, json!({"messages": bad})).await.status, 400);
    let too_many: Vec<_> = (0..101).map(message).collect();
    let refused = server.post(batch, json!({"messages": too_many})).await;
    let message = "Invalid request parameters: body.messages: List should have at most 100 items \
                   after validation, not 101";
    assert_eq!(refused.error().2, message);
    let context = server.get(CONTEXT).await.result();
    let texts: Vec<_> = context["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<_> = (0..100).map(|nth| format!("message {nth}")).collect();
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_appended_once() {
    let server = Server::new();
    for key in ["k1", "k1", "k2"] {
        let request = Request::post(MESSAGES)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(r#"{"role":"user","content":"once"}"#));
        server.send(request.unwrap()).await.result();
    }
    assert_eq!(server.get("/api/v1/sessions/s1").await.result()["message_count"], 2);
}

#[tokio::test]
async fn another_request_with_the_same_key_is_refused() {
    let server = Server::new();
    let send = async |key: &str, content: &str| {
        let part = tool("c1", &content.repeat(30_000));
        let body = json!({"role": "user", "parts": [{"type": "text", "text": content}, part]});
        let request = Request::post(MESSAGES)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body.to_string()));
        server.send(request.unwrap()).await
    };
    assert_eq!(send("k1", "a").await.status, 200);
    assert_eq!(send("k1", "a").await.status, 200);
    let (status, code, message) = send("k1", "b").await.error();
    assert_eq!((status, code.as_str()), (409, "CONFLICT"), "{message}");
    assert!(message.contains("Idempotency-Key"), "{message}");
    // What a step of a turn becomes depends on what stands there; the request does not.
    let step = async |key: &str| {
        let part = tool("c2", &log(1, 30_000));
        let body = json!({"role": "assistant", "turn_id": "t1", "parts": [part]});
        let request = Request::post(MESSAGES)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body.to_string()));
        server.send(request.unwrap()).await.status.as_u16()
    };
    assert_eq!((step("k2").await, step("k2").await, step("k1").await), (200, 200, 409));
    // Of several at the same moment one is kept at most, and the others are told.
    let (one, two, three) = tokio::join!(send("k3", "x"), send("k3", "y"), send("k3", "z"));
    let statuses = [one, two, three].map(|answer| answer.status.as_u16());
    assert!(statuses.iter().filter(|status| **status == 200).count() <= 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
    let context = server.get("/api/v1/sessions/s1/context").await.result();
    for (text, status) in ["x", "y", "z"].iter().zip(statuses) {
        let is_kept = |message: &Value| message["parts"][0]["text"] == *text;
        let kept = context["messages"].as_array().unwrap().iter().filter(|m| is_kept(m)).count();
        assert_eq!(kept, usize::from(status == 200), "{text}: {context}");
    }
    let before =
        server.get("/api/v1/sessions/s1").await.result()["message_count"].as_u64().unwrap();
    // An empty key is none.
    assert_eq!(send("", "c").await.status, 200);
    assert_eq!(send("", "d").await.status, 200);
    let after = server.get("/api/v1/sessions/s1").await.result()["message_count"].as_u64().unwrap();
    assert_eq!(after, before + 2);
}

#[tokio::test]
async fn a_request_that_is_wrong_everywhere_gets_a_short_answer() {
    let server = Server::new();
    let parts = vec![0; 9999];
    let answer = server.post(MESSAGES, json!({"role": "user", "parts": parts})).await;
    let details = &answer.json()["error"]["details"];
    assert_eq!(details["validation_errors"].as_array().unwrap().len(), 100);
    let too_many = vec![json!({}); 10_001];
    let answer = server.post(MESSAGES, json!({"role": "user", "parts": too_many})).await;
    assert!(answer.error().2.contains("at most 10000 items"), "{}", answer.text);
}

#[tokio::test]
async fn the_outputs_of_a_turn_are_found_behind_its_texts() {
    let server = Server::new();
    let step = |parts: Value| json!({"role": "assistant", "turn_id": "t1", "parts": parts});
    for nth in 0..5 {
        let parts = json!([tool(&format!("c{nth}"), &log(nth, 19_000))]);
        server.post(MESSAGES, step(parts)).await.result();
    }
    let batch = json!({"messages": [
        step(json!([{"type": "text", "text": "so"}])),
        step(json!([tool("c5", &log(5, 19_000))])),
    ]});
    server.post(&format!("{MESSAGES}/batch"), batch).await.result();
    let context = server.get(CONTEXT).await.result();
    let last = &context["messages"][6]["parts"][0];
    assert_eq!(last["tool_output_externalized_reason"], "turn_budget", "{last}");
}

#[tokio::test]
async fn tool_parts_stay_where_they_stood() {
    let server = Server::new();
    let text = |nth: usize| json!({"type": "text", "text": format!("t{nth}")});
    let parts: Vec<_> = (0..40)
        .map(|nth| if nth % 3 == 0 { tool(&format!("c{nth}"), "x") } else { text(nth) })
        .collect();
    server.post(MESSAGES, json!({"role": "user", "parts": parts})).await.result();
    let kept = server.get(CONTEXT).await.result()["messages"][0]["parts"].take();
    for (nth, part) in kept.as_array().unwrap().iter().enumerate() {
        let name =
            if nth % 3 == 0 { ("tool_id", format!("c{nth}")) } else { ("text", format!("t{nth}")) };
        assert_eq!(part[name.0], name.1, "{nth}");
    }
}

#[tokio::test]
async fn the_newest_turns_fit_a_budget() {
    let server = Server::new();
    for nth in 0..6 {
        let role = if nth % 2 == 0 { "user" } else { "assistant" };
        let message = json!({"role": role, "content": "x".repeat(40)});
        server.post(MESSAGES, message).await.result();
    }
    for (budget, shown) in [("60", 6), ("59", 4), ("20", 2), ("19", 1), ("0", 0)] {
        let path = format!("{CONTEXT}?token_budget={budget}");
        let context = server.get(&path).await.result();
        assert_eq!(context["messages"].as_array().unwrap().len(), shown, "{budget}");
        assert_eq!(context["estimatedTokens"], shown * 10, "{budget}");
    }
    let refused = server.get(&format!("{CONTEXT}?token_budget=-1")).await;
    assert_eq!(refused.json()["error"]["details"], json!({"field": "token_budget", "value": -1}));
    let unknown = server.get("/api/v1/sessions/nope/context").await;
    assert_eq!(unknown.error().2, "Session not found: nope");
}

#[tokio::test]
async fn a_long_context_comes_whole() {
    let server = Server::new();
    for nth in 0..100 {
        let content = format!("message {nth}");
        server.post(MESSAGES, json!({"role": "user", "content": content})).await.result();
    }
    let context = server.get(CONTEXT).await.result();
    let messages = context["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 100);
    assert_eq!(messages[99]["parts"][0]["text"], "message 99");
}

#[tokio::test]
async fn where_storing_fails_the_content_stays() {
    for (mode, status) in [(FailureMode::PreserveRaw, 200), (FailureMode::Reject, 412)] {
        let backend = Arc::new(FaultyBackend::new(Arc::new(MemoryBackend::new())));
        let config = Config { failure_mode: mode, ..Config::default() };
        let options = Options { config, ..Options::default() };
        let server = Server::over(Arc::clone(&backend) as _, options);
        let output = log(1, 30_000);
        // The session's record is there: what fails is the original.
        server.post("/api/v1/sessions", json!({"session_id": "s1"})).await.result();
        backend.fail_at(Fault::ErrorBefore(ErrorKind::StorageFull), Operation::Create, 0);
        let message = json!({"role": "assistant", "parts": [tool("c1", &output)]});
        let answer = server.post(MESSAGES, message).await;
        backend.heal();
        assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
        let context = server.get(CONTEXT).await.result();
        if mode == FailureMode::Reject {
            assert_eq!(context["messages"], json!([]));
        } else {
            let part = &context["messages"][0]["parts"][0];
            assert_eq!(part["tool_output"], output);
            assert_ne!(part["tool_output_externalization_error"], Value::Null);
        }
    }
}
