//! Refs in a host's form: written in it, read in every form, stored in ours.

use toolstub_core::{RefForm, UserId};
use toolstub_session::{Call, Config, Context, Owner, Session, Shape, ToolPart};
use toolstub_store::ListRequest;

use super::{log, memory, result, session, session_in, turn};

fn viking(user: &str) -> RefForm {
    RefForm::Viking { user: UserId::new(user).unwrap() }
}

fn large(id: &str) -> ToolPart {
    ToolPart::new(id, "bash", &log(id, 30_000))
}

async fn externalize(session: &Session, parts: &mut [ToolPart]) {
    session.externalize_parts("m", &[], parts, Owner::Session).await.unwrap();
}

#[tokio::test]
async fn what_parts_name_begins_with_the_uri_of_the_session() {
    let session = session(Config::default()).with_refs(viking("a b"));
    let uri = session.refs().session_uri(session.id());
    assert_eq!(uri, "viking://user/a%20b/sessions/s%3A1");
    let raw = [large("c1")];
    let mut parts = raw.clone();
    externalize(&session, &mut parts).await;
    let reference = parts[0].reference().unwrap();
    assert!(reference.starts_with(&format!("{uri}/tool-results/tr_c1_")), "{reference}");
    assert_eq!(parts[0].text("tool_output_storage_uri"), Some(reference.clone()));
    let stub = parts[0].output().unwrap();
    assert!(stub.contains(&format!("\nref: {reference}\n")) && !stub.contains("toolstub://"));
    assert!(stub.contains(&format!("tool_output_ref={reference} ")));
    let chars = stub.chars().count().to_string();
    assert_eq!(parts[0].field("tool_output_preview_chars").unwrap().get(), chars);

    // The record keeps the form that does not name the user.
    let records = session.results().list(&ListRequest::default()).await.unwrap().records;
    let own = "toolstub://session/s%3A1/tool-results/tr_c1_";
    assert!(records[0].storage_uri.starts_with(own));
    let shown = records[0].clone().with_refs(session.refs());
    assert_eq!(shown.storage_uri, reference);
    assert_eq!(shown.output_uri, format!("{reference}/output.txt"));

    let once = serde_json::to_string(&parts).unwrap();
    externalize(&session, &mut parts).await;
    assert_eq!(serde_json::to_string(&parts).unwrap(), once);
    let hydrated = session.hydrate_parts(&parts).await.unwrap();
    assert_eq!(hydrated.messages[0].output(), raw[0].output());
}

#[tokio::test]
async fn refs_of_events_and_sources_have_the_form_too() {
    let session = session(Config::default()).with_refs(viking("u"));
    let event = toolstub_core::EventId::new("e:1").unwrap();
    let mut parts = [large("c1")];
    session.externalize_parts("m", &[], &mut parts, Owner::Event(event)).await.unwrap();
    let reference = parts[0].reference().unwrap();
    let begin = "viking://user/u/sessions/s%3A1/events/e%3A1/tool-results/tr_c1_";
    assert!(reference.starts_with(begin), "{reference}");

    // However the ref is given, it is the same result that was read.
    let (_, rest) = reference.split_once("/sessions/").unwrap();
    for given in [
        reference.clone(),
        format!("viking://user/another/sessions/{rest}"),
        format!("viking://~/sessions/{rest}"),
        format!("viking://session/{rest}"),
        format!("toolstub://session/{rest}"),
    ] {
        let mut part =
            ToolPart::new("c2", "mcp__x__openviking_tool_result_read", &log("c1", 25_000));
        part.set("tool_input", serde_json::json!({"uri": given, "limit": 25_000}));
        externalize(&session, std::slice::from_mut(&mut part)).await;
        assert_eq!(part.text("tool_output_source_ref"), Some(reference.clone()), "{given}");
        assert_eq!(part.reference(), Some(reference.clone()));
        let hydrated = session.hydrate_parts(&[part]).await.unwrap();
        assert_eq!(hydrated.messages[0].output().unwrap(), log("c1", 25_000));
    }
}

#[tokio::test]
async fn stubs_in_another_form_are_stubs_all_the_same() {
    let store = memory();
    // Everything is over its budget: what can get shorter is chosen.
    let config = Config { assistant_turn_inline_budget_chars: 1, ..Config::default() };
    let forms = [RefForm::Toolstub, viking("u"), viking("somebody else")];
    // The stub of code with long names is longer than the stub of that stub would be.
    let name = "a_name_of_a_function_that_takes_its_time_to_be_read_to_the_end".repeat(2);
    let code = |n| format!("pub fn {name}_{n}() -> u32 {{\n    helper({n})\n}}\n\n");
    let code: String = (0..60).map(code).collect();
    let raw = serde_json::json!([
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "cat"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": code},
    ])
    .to_string();
    let (shape, context) = (Shape::OpenAiChat, Context::default());
    for first in &forms {
        let session = session_in(&store, config.clone()).with_refs(first.clone());
        let once = session.externalize_json(shape, &raw, &context).await.unwrap().messages;
        assert!(once.contains(&first.session_uri(session.id())) && once.len() < raw.len());
        let mut part = large("c9");
        externalize(&session, std::slice::from_mut(&mut part)).await;
        let part_once = serde_json::to_string(&part).unwrap();
        for second in &forms {
            let session = session_in(&store, config.clone()).with_refs(second.clone());
            let twice = session.externalize_json(shape, &once, &context).await.unwrap();
            assert_eq!(twice.messages, once);
            let whole = session.hydrate_json(shape, &once, &Call::default()).await.unwrap();
            assert_eq!(whole.messages, raw);
            externalize(&session, std::slice::from_mut(&mut part)).await;
            assert_eq!(serde_json::to_string(&part).unwrap(), part_once);
        }
    }
}

#[tokio::test]
async fn stubs_are_measured_with_the_ref_as_it_is_written() {
    let content = format!("[{}0]", "0,".repeat(500));
    let config = Config { threshold_chars: 100, ..Config::default() };
    let turn = turn(vec![result("c1", content)]);
    let short = session(config.clone());
    assert!(short.externalize(&turn).await.unwrap().outcomes[0].replacement().is_some());
    let long = session(config).with_refs(viking(&"u".repeat(200)));
    assert!(long.externalize(&turn).await.unwrap().outcomes[0].replacement().is_none());
    // It was known before anything was stored.
    assert!(!long.has_stored_results().await.unwrap());
}
