//! Turns of several messages: each is judged with what stands before it, and changes none of it.

use serde_json::{Value, json};
use toolstub_session::{
    Config, Context, FailureMode, Owner, Place, Scope, Session, Shape, ToolPart,
};
use toolstub_store::ListRequest;

use super::{log, session};

fn part(id: &str, chars: usize) -> Value {
    json!({"type": "tool", "tool_id": id, "tool_name": "bash", "tool_output": log(id, chars)})
}

fn message(id: &str, turn: &str, parts: &[Value]) -> Value {
    json!({"id": id, "role": "assistant", "turn_id": turn, "parts": parts})
}

async fn run(session: &Session, scope: Scope, messages: &Value) -> Value {
    let context = Context { scope, ..Context::default() };
    let json = messages.to_string();
    let done = session.externalize_json(Shape::OpenViking, &json, &context).await.unwrap();
    serde_json::from_str(&done.messages).unwrap()
}

fn out(message: &Value) -> Vec<bool> {
    let parts = message["parts"].as_array().unwrap();
    parts.iter().map(|part| part["tool_output_truncated"] == json!(true)).collect()
}

#[tokio::test]
async fn a_later_step_counts_the_earlier_and_leaves_them() {
    let session = session(Config::default());
    let first: Vec<_> = (0..5).map(|n| part(&format!("a{n}"), 19_000)).collect();
    let second = [part("b0", 3000), part("b1", 4000)];
    let asked = json!({"id": "m0", "role": "user", "turn_id": "t", "parts": [{"type": "text"}]});
    let messages = json!([asked, message("m1", "t", &first)]);
    let once = run(&session, Scope::LastTurn, &messages).await;
    assert_eq!(out(&once[1]), [false; 5]);

    let mut messages = once.clone();
    messages.as_array_mut().unwrap().push(message("m2", "t", &second));
    let twice = run(&session, Scope::LastTurn, &messages).await;
    assert_eq!(twice[1].to_string(), once[1].to_string());
    assert_eq!(out(&twice[2]), [false, true]);
    let group = |field: &str| twice[2]["parts"][1][field].clone();
    assert_eq!(group("tool_output_group_original_chars"), json!(102_000));
    assert_eq!(group("tool_output_group_id"), json!("t"));
    assert_eq!(group("tool_output_externalized_reason"), json!("turn_budget"));
    // The record names the message that holds the result.
    let records = session.results().list(&ListRequest::default()).await.unwrap().records;
    let of: Vec<_> = records.iter().map(|record| record.message_id.as_str()).collect();
    assert_eq!(of, ["m2"]);

    for scope in [Scope::LastTurn, Scope::EveryTurn] {
        assert_eq!(run(&session, scope, &twice).await.to_string(), twice.to_string());
    }
}

#[tokio::test]
async fn steps_that_come_at_once_are_judged_one_after_the_other() {
    let steps: Vec<_> = (0..7)
        .map(|n| message(&format!("m{n}"), "t", &[part(&format!("c{n}"), 15_000 + n)]))
        .collect();
    let (whole, by_step) = (session(Config::default()), session(Config::default()));
    let mut messages = json!([]);
    for step in &steps {
        messages.as_array_mut().unwrap().push(step.clone());
        messages = run(&by_step, Scope::LastTurn, &messages).await;
    }
    let chosen: Vec<_> = messages.as_array().unwrap().iter().flat_map(out).collect();
    assert_eq!(chosen, [false, false, false, false, false, false, true]);
    for scope in [Scope::LastTurn, Scope::EveryTurn] {
        let raw = Value::from(steps.clone());
        assert_eq!(run(&whole, scope, &raw).await.to_string(), messages.to_string());
    }
    // By parts it is the same.
    let parts = session(Config::default());
    let mut earlier: Vec<ToolPart> = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let raw = step["parts"][0].to_string();
        let mut part = [serde_json::from_str::<ToolPart>(&raw).unwrap()];
        let id = format!("m{n}");
        let place = Place { turn_id: "t", message_id: &id };
        parts.externalize_parts(place, &earlier, &mut part, Owner::Session).await.unwrap();
        let written = serde_json::to_string(&part[0]).unwrap();
        assert_eq!(written, messages[n]["parts"][0].to_string());
        earlier.extend(part);
    }
    let records = parts.results().list(&ListRequest::default()).await.unwrap().records;
    assert_eq!(records[0].message_id, "m6");
}

#[tokio::test]
async fn stubs_of_earlier_steps_count_as_they_stand() {
    let session = session(Config::default());
    let first: Vec<_> = (0..6).map(|n| part(&format!("a{n}"), 30_000)).collect();
    let second: Vec<_> = (0..5).map(|n| part(&format!("b{n}"), 17_000)).collect();
    let messages = json!([message("m1", "t", &first), message("m2", "t", &second)]);
    let done = run(&session, Scope::LastTurn, &messages).await;
    assert_eq!((out(&done[0]), out(&done[1])), (vec![true; 6], vec![false; 5]));
    let group = |n: usize| done[n]["parts"][0]["tool_output_group_original_chars"].clone();
    assert_eq!((group(0), group(1)), (json!(180_000), json!(265_000)));
}

#[tokio::test]
async fn a_turn_that_is_over_is_not_the_last() {
    let session = session(Config::default());
    let said = json!({"id": "m3", "role": "user", "parts": [{"type": "text", "text": "thanks"}]});
    let before = message("m1", "t1", &[part("a", 30_000)]);
    let last = message("m2", "t2", &[part("b", 30_000)]);
    let messages = json!([before, last, said]);
    let done = run(&session, Scope::LastTurn, &messages).await;
    assert_eq!((out(&done[0]), out(&done[1])), (vec![false], vec![true]));
    assert_eq!(done[0].to_string(), messages[0].to_string());

    // Results may come in a message that says that it is the user's.
    let mut carried = message("m4", "t3", &[part("c", 30_000)]);
    carried["role"] = json!("user");
    let mut messages = done.clone();
    messages.as_array_mut().unwrap().push(carried);
    let done = run(&session, Scope::LastTurn, &messages).await;
    assert_eq!(out(&done[3]), [true]);
}

#[tokio::test]
async fn an_event_that_is_made_is_one_for_the_turn() {
    let session = session(Config::default());
    let messages = json!([
        message("m1", "t", &[part("a", 30_000)]),
        message("m2", "t", &[part("b", 30_000), part("c", 30_000)]),
        message("m3", "t2", &[part("d", 30_000)]),
    ]);
    let context = Context { scope: Scope::EveryTurn, owner: Owner::NewEvent, ..Context::default() };
    let json = messages.to_string();
    let done = session.externalize_json(Shape::OpenViking, &json, &context).await.unwrap();
    let handles: Vec<_> = done
        .outcomes()
        .map(|outcome| serde_json::to_value(outcome.replacement().unwrap().handle.clone()).unwrap())
        .map(|handle| format!("{}/{}", handle["event_id"].as_str().unwrap(), handle["index"]))
        .collect();
    assert_eq!(handles, ["made:0/0", "made:0/1", "made:0/2", "made:1/0"]);
}

#[tokio::test]
async fn a_rejected_step_changes_no_message() {
    let store =
        toolstub_store::ResultStore::new(std::sync::Arc::new(super::failing::Failing::after(2)));
    let config = Config { failure_mode: FailureMode::Reject, ..Config::default() };
    let session = super::session_in(&store, config);
    let steps =
        [message("m1", "t", &[part("a", 30_000)]), message("m2", "t", &[part("b", 30_000)])];
    let mut messages = Value::from(steps.to_vec());
    let before = messages.clone();
    let context = Context::default();
    session.externalize_value(Shape::OpenViking, &mut messages, &context).await.unwrap_err();
    assert_eq!(messages, before);
}
