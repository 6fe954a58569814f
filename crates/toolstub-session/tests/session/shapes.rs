//! Messages as hosts write them: nothing changes but the texts that tools returned.
//!
//! In the messages below, `"@large…@"` stands for a text over the threshold. What comes out must be the
//! same file, byte for byte, with the stub there instead.

use serde_json::Value;
use toolstub_session::{Call, Config, Context, Scope, Session, Shape, Style};
use toolstub_store::ListRequest;

use super::{log, session};

const ANTHROPIC: &str = include_str!("messages/anthropic.json");
const OPENAI_CHAT: &str = include_str!("messages/openai_chat.json");
const OPENAI_RESPONSES: &str = include_str!("messages/openai_responses.json");
const OPENVIKING: &str = include_str!("messages/openviking.json");
const MCP: &str = include_str!("messages/mcp.json");

/// The places in a template, in order.
fn places(template: &str) -> Vec<&str> {
    template.split('"').filter(|word| word.starts_with("@large")).collect()
}

fn fill(template: &str, text: impl Fn(usize, &str) -> String) -> String {
    let mut filled = template.to_owned();
    for (index, place) in places(template).into_iter().enumerate() {
        let json = serde_json::to_string(&text(index, place)).unwrap();
        filled = filled.replacen(&format!("\"{place}\""), &json, 1);
    }
    filled
}

fn mcp_call() -> Call {
    let input = Some(r#"{"path":"/x"}"#.to_owned());
    Call { id: "call_9".to_owned(), name: "read_text_file".to_owned(), input }
}

/// Puts every turn of a template out, compares byte for byte, and brings everything back.
async fn check(shape: Shape, template: &str, tools: &[&str]) -> Session {
    let session = session(Config::default());
    let original = fill(template, |_, place| log(place, 21_000));
    let call = if shape == Shape::Mcp { mcp_call() } else { Call::default() };
    let context = Context { scope: Scope::EveryTurn, call: call.clone(), ..Context::default() };
    let done = session.externalize_json(shape, &original, &context).await.unwrap();
    let stubs: Vec<String> = done
        .outcomes()
        .filter_map(|outcome| outcome.replacement().map(|stub| stub.stub.clone()))
        .collect();
    assert_eq!(stubs.len(), places(template).len());
    let named = stubs.iter().map(|stub| {
        stub.lines().find_map(|line| line.strip_prefix("tool_name: ")).unwrap_or_default()
    });
    assert_eq!(named.collect::<Vec<_>>(), tools);
    if shape != Shape::OpenViking {
        assert_eq!(done.messages, fill(template, |index, _| stubs[index].clone()));
    }

    // The same again gives the same bytes; so does a second pass over what came out.
    let again = session.externalize_json(shape, &original, &context).await.unwrap();
    assert_eq!(again.messages, done.messages);
    let second = session.externalize_json(shape, &done.messages, &context).await.unwrap();
    assert_eq!(second.messages, done.messages);

    // As a value, the same values in the same order.
    let mut value: Value = serde_json::from_str(&original).unwrap();
    session.externalize_value(shape, &mut value, &context).await.unwrap();
    let expected: Value = serde_json::from_str(&done.messages).unwrap();
    assert_eq!(value.to_string(), expected.to_string());

    let hydrated = session.hydrate_json(shape, &done.messages, &call).await.unwrap();
    assert_eq!(hydrated.missing, []);
    if shape != Shape::OpenViking {
        assert_eq!(hydrated.messages, original);
    }
    let hydrated = session.hydrate_value(shape, &value, &call).await.unwrap();
    if shape != Shape::OpenViking {
        let raw: Value = serde_json::from_str(&original).unwrap();
        assert_eq!(hydrated.messages.to_string(), raw.to_string());
    }
    session
}

#[tokio::test]
async fn anthropic_messages_round_trip() {
    let tools = ["read_file", "bash", "bash", "web_search", "fetch", "fetch", "read_file"];
    check(Shape::Anthropic, ANTHROPIC, &tools).await;
}

#[tokio::test]
async fn openai_chat_messages_round_trip() {
    check(Shape::OpenAiChat, OPENAI_CHAT, &["bash", "grep", "apply_patch", "tool"]).await;
}

#[tokio::test]
async fn openai_response_items_round_trip() {
    let tools = ["shell", "shell", "lookup", "lookup", "sql"];
    check(Shape::OpenAiResponses, OPENAI_RESPONSES, &tools).await;
}

#[tokio::test]
async fn mcp_results_round_trip() {
    let session = check(Shape::Mcp, MCP, &["read_text_file"; 3]).await;
    let records = session.results().list(&ListRequest::default()).await.unwrap().records;
    assert!(records.iter().any(|record| record.mime_type == "text/markdown"));
    assert!(records.iter().all(|record| record.tool_id == "call_9"));
}

#[tokio::test]
async fn mcp_results_that_are_not_final_stay() {
    let session = session(Config::default());
    let context = Context { call: mcp_call(), ..Context::default() };
    for template in [
        r#"{"resultType":"input_required","content":[{"type":"text","text":"@large@"}]}"#,
        r#"{"task":{"taskId":"@large@"}}"#,
        r#"{"content":[{"type":"text","text":1}],"structuredContent":{"text":"@large@"}}"#,
        r#"{"content":"@large@"}"#,
        r#"["@large@"]"#,
        r#""@large@""#,
        "null",
    ] {
        let json = fill(template, |_, place| log(place, 21_000));
        let done = session.externalize_json(Shape::Mcp, &json, &context).await.unwrap();
        assert_eq!(done.messages, json);
    }
}

#[tokio::test]
async fn openviking_parts_round_trip() {
    let tools = ["bash", "read_file", "web"];
    let session = check(Shape::OpenViking, OPENVIKING, &tools).await;
    let original = fill(OPENVIKING, |_, place| log(place, 21_000));
    let context = Context { scope: Scope::EveryTurn, ..Context::default() };
    let done = session.externalize_json(Shape::OpenViking, &original, &context).await.unwrap();
    // A turn that is spread over two messages is one group, in two steps.
    assert_eq!(done.turns.iter().map(|turn| turn.outcomes.len()).collect::<Vec<_>>(), [1, 2, 1]);
    let groups = done.turns.iter().map(|turn| (turn.group_id.as_str(), turn.group_original_chars));
    let expected = [("turn-1", 21_000), ("turn-1", 42_002), ("msg_4", 21_000)];
    assert_eq!(groups.collect::<Vec<_>>(), expected);
    // Without the marks, everything is as it was, byte for byte, but for the texts.
    let stubs: Vec<_> = done.outcomes().filter_map(|outcome| outcome.replacement()).collect();
    let expected = fill(OPENVIKING, |index, _| stubs[index].stub.clone());
    assert_eq!(without_marks(&done.messages), expected);
    assert!(done.messages.len() > expected.len());
    let hydrated =
        session.hydrate_json(Shape::OpenViking, &done.messages, &Call::default()).await.unwrap();
    for part in ["\"tool_output_ref\"", "\"tool_output_truncated\""] {
        assert!(done.messages.contains(part) && !hydrated.messages.contains(part));
    }
    assert_eq!(without_marks(&hydrated.messages), original);
}

/// A text without the fields that the policy adds to tool parts.
fn without_marks(json: &str) -> String {
    let mut rest = json;
    let mut kept = String::new();
    while let Some(at) = rest.find(",\"tool_output_") {
        let (before, field) = rest.split_at(at);
        let (name, value) = field.split_once("\":").unwrap();
        kept.push_str(before);
        if name.ends_with("_mime_type") {
            // The host's own.
            kept.push_str(name);
            rest = &field[name.len()..];
        } else {
            // No value of a mark holds a comma or a brace.
            rest = &value[value.find([',', '}']).unwrap()..];
        }
    }
    kept + rest
}

#[tokio::test]
async fn earlier_turns_stay_byte_for_byte() {
    for (shape, template, large) in [
        (Shape::Anthropic, ANTHROPIC, 1),
        (Shape::OpenAiChat, OPENAI_CHAT, 2),
        (Shape::OpenAiResponses, OPENAI_RESPONSES, 1),
    ] {
        let session = session(Config::default());
        let original = fill(template, |_, place| log(place, 21_000));
        let done = session.externalize_json(shape, &original, &Context::default()).await.unwrap();
        assert_eq!(done.turns.len(), 1, "{shape:?}");
        let stubs: Vec<_> = done.outcomes().filter_map(|outcome| outcome.replacement()).collect();
        assert_eq!(stubs.len(), large, "{shape:?}");
        let count = places(template).len();
        let expected = fill(template, |index, place| match index.checked_sub(count - large) {
            Some(index) => stubs[index].stub.clone(),
            None => log(place, 21_000),
        });
        assert_eq!(done.messages, expected);
    }
}

#[tokio::test]
async fn stubs_are_told_by_the_store_where_no_field_tells() {
    // A budget that everything is over: whatever can get shorter is chosen.
    for style in [Style::Typed, Style::Head] {
        let config = Config { assistant_turn_inline_budget_chars: 1, style, ..Config::default() };
        let session = session(config);
        // The stub of code with long names is longer than the stub of that stub would be.
        let name = "a_name_of_a_function_that_takes_its_time_to_be_read_to_the_end".repeat(2);
        let code = |n| format!("pub fn {name}_{n}() -> u32 {{\n    helper({n})\n}}\n\n");
        let code: String = (0..60).map(code).collect();
        let messages = |id: &str, name: &str, input: &str, content: &str| {
            let input: Value = serde_json::from_str(input).unwrap();
            serde_json::json!([
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": id, "name": name, "input": input}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": id, "content": content}]},
            ])
            .to_string()
        };
        let context = Context::default();
        let run = async |messages: &str| {
            session.externalize_json(Shape::Anthropic, messages, &context).await.unwrap()
        };
        let raw = messages("c1", "cat", "{}", &code);
        let once = run(&raw).await;
        let stub = once.outcomes().next().unwrap().replacement().unwrap().clone();
        assert!(stub.stub.chars().count() > 2000);
        assert_eq!(run(&once.messages).await.messages, once.messages);

        // With one character more it is no stub, whatever it reads like.
        let forged = messages("c1", "cat", "{}", &format!("{}.", stub.stub));
        if style == Style::Typed {
            assert_ne!(run(&forged).await.messages, forged);
        }

        let input = format!(r#"{{"ref": "{}", "offset": 3}}"#, stub.reference.unwrap());
        let piece: String = code.chars().skip(3).take(19_000).collect();
        let read = messages("c2", "tool_result_read", &input, &piece);
        let once = run(&read).await;
        let reason = once.outcomes().next().unwrap().replacement().unwrap().reason;
        assert_eq!(reason.as_str(), "source_read");
        assert_eq!(run(&once.messages).await.messages, once.messages);
        let none = Call::default();
        let whole = session.hydrate_json(Shape::Anthropic, &once.messages, &none).await.unwrap();
        assert_eq!(whole.messages, read);
    }
}

#[tokio::test]
async fn a_stub_that_another_call_shows_is_a_text_like_any_other() {
    let session = session(Config::default());
    let messages = |id: &str, name: &str, content: &str| {
        serde_json::json!([
            {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": name}}]},
            {"role": "tool", "tool_call_id": id, "content": content},
        ])
        .to_string()
    };
    let (shape, context, none) = (Shape::OpenAiChat, Context::default(), Call::default());
    let raw = messages("c1", "bash", &log("a", 21_000));
    let once = session.externalize_json(shape, &raw, &context).await.unwrap();
    let stub = once.outcomes().next().unwrap().replacement().unwrap().stub.clone();
    for shown in [messages("c2", "cat", &stub), messages("c2", "tool_result_read", &stub)] {
        let hydrated = session.hydrate_json(shape, &shown, &none).await.unwrap();
        assert_eq!(hydrated.messages, shown);
    }
    let hydrated = session.hydrate_json(shape, &once.messages, &none).await.unwrap();
    assert_eq!(hydrated.messages, raw);
}

#[tokio::test]
async fn results_that_an_assistant_has_answered_are_of_an_earlier_step() {
    let session = session(Config::default());
    let text = log("a", 21_000);
    let messages = serde_json::json!([
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "bash"}}]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "and now?"},
    ]);
    let mut value = messages.clone();
    let turns = session
        .externalize_value(Shape::OpenAiChat, &mut value, &Context::default())
        .await
        .unwrap();
    assert!(turns.is_empty() && value == messages);
}

#[tokio::test]
async fn results_of_one_assistant_message_share_a_budget() {
    let session = session(Config::default());
    let calls: Vec<_> =
        (0..8).map(|n| serde_json::json!({"type": "tool_use", "id": format!("c{n}"), "name": "t", "input": {}})).collect();
    let answer = |n: usize| {
        let id = format!("c{n}");
        serde_json::json!({"type": "tool_result", "tool_use_id": id, "content": log(&id, 15_000)})
    };
    // The results come in two messages.
    let mut messages = serde_json::json!([
        {"role": "assistant", "content": calls},
        {"role": "user", "content": (0..5).map(answer).collect::<Vec<_>>()},
        {"role": "user", "content": (5..8).map(answer).collect::<Vec<_>>()},
    ]);
    let turns = session
        .externalize_value(Shape::Anthropic, &mut messages, &Context::default())
        .await
        .unwrap();
    let chosen: Vec<bool> =
        turns[0].outcomes.iter().map(|outcome| outcome.replacement().is_some()).collect();
    assert_eq!(chosen, [true, true, false, false, false, false, false, false]);
}

#[tokio::test]
async fn what_is_not_json_is_an_error_and_what_is_odd_is_left() {
    let session = session(Config::default());
    let context = Context { scope: Scope::EveryTurn, ..Context::default() };
    let shapes = [
        Shape::Anthropic,
        Shape::OpenAiChat,
        Shape::OpenAiResponses,
        Shape::OpenViking,
        Shape::Mcp,
    ];
    for shape in shapes {
        assert!(session.externalize_json(shape, "[{", &context).await.is_err());
        let lone = format!(r#"[{{"role":"tool","content":"{}\ud800"}}]"#, "x".repeat(30_000));
        for odd in
            ["[]", "{}", "7", "[1,null,[[]],{\"role\":5,\"content\":{\"a\":1}}]", lone.as_str()]
        {
            let done = session.externalize_json(shape, odd, &context).await.unwrap();
            assert_eq!(done.messages, odd);
        }
    }
}
