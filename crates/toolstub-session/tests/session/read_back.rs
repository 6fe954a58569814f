//! What the retrieval tools returned is never stored again.

use toolstub_core::Reason;
use toolstub_session::{Config, Owner, Session, ToolPart};
use toolstub_store::ListRequest;

use super::{log, session};

async fn stored(session: &Session) -> usize {
    session.results().list(&ListRequest::default()).await.unwrap().records.len()
}

async fn externalize(session: &Session, part: &mut ToolPart) {
    let parts = std::slice::from_mut(part);
    session.externalize_parts("m", &[], parts, Owner::Session).await.unwrap();
}

async fn original(session: &Session) -> String {
    let mut part = ToolPart::new("c1", "bash", &log("a", 60_000));
    externalize(session, &mut part).await;
    part.reference().unwrap()
}

fn read(input: serde_json::Value, output: &str) -> ToolPart {
    let mut part = ToolPart::new("c2", "openviking_tool_result_read", output);
    part.set("tool_input", input);
    part
}

#[tokio::test]
async fn a_large_read_back_points_at_its_source() {
    let session = session(Config::default());
    let reference = original(&session).await;
    let input = serde_json::json!({"ref": reference, "offset": 100, "limit": "30000"});
    let piece: String = log("a", 60_000).chars().skip(100).take(30_000).collect();
    let mut part = read(input, &piece);
    externalize(&session, &mut part).await;
    assert_eq!(stored(&session).await, 1);
    let reason = part.text("tool_output_externalized_reason");
    assert_eq!(reason.as_deref(), Some(Reason::SourceRead.as_str()));
    assert_eq!(part.text("tool_output_source_ref"), Some(reference.clone()));
    let number = |name| part.field(name).unwrap().get().to_owned();
    assert_eq!(number("tool_output_source_offset"), "100");
    assert_eq!(number("tool_output_source_limit"), "30000");
    assert_eq!(number("tool_output_original_chars"), "30000");
    let stub = part.output().unwrap();
    assert!(stub.contains(&format!("\nref: {reference}\n")), "{stub}");
    assert!(stub.contains("offset=100 limit=30000"), "{stub}");

    let once = serde_json::to_string(&part).unwrap();
    externalize(&session, &mut part).await;
    assert_eq!(serde_json::to_string(&part).unwrap(), once);
    let hydrated = session.hydrate_parts(&[part]).await.unwrap();
    assert_eq!(hydrated.messages[0].output().unwrap(), piece);
}

#[tokio::test]
async fn a_small_read_back_stays() {
    let session = session(Config::default());
    let reference = original(&session).await;
    let mut part = read(serde_json::json!({"uri": reference}), &log("a", 19_000));
    externalize(&session, &mut part).await;
    assert_eq!(part.output().unwrap(), log("a", 19_000));
    assert_eq!(stored(&session).await, 1);
}

#[tokio::test]
async fn a_search_points_at_its_source_too() {
    let session = session(Config::default());
    let reference = original(&session).await;
    let mut part = ToolPart::new("c2", "mcp__x__tool_result_search", &log("found", 25_000));
    part.set("tool_input", serde_json::json!({"tool_output_ref": reference, "query": "says"}));
    externalize(&session, &mut part).await;
    assert!(part.is_externalized() && part.field("tool_output_source_offset").is_none());
    assert_eq!(stored(&session).await, 1);
    let hydrated = session.hydrate_parts(std::slice::from_ref(&part)).await.unwrap();
    assert_eq!(hydrated.missing[0].reference, reference);
    assert_eq!(hydrated.messages[0].output(), part.output());
}

#[tokio::test]
async fn a_read_of_nothing_that_there_is_is_a_result_like_any_other() {
    let session = session(Config::default());
    let reference = original(&session).await;
    let unknown = reference.replace("tr_c1", "tr_c9");
    let mut part = read(serde_json::json!({"ref": unknown}), &log("odd", 25_000));
    externalize(&session, &mut part).await;
    assert!(part.is_externalized() && part.field("tool_output_source_ref").is_none());
    let mut part =
        read(serde_json::json!({"ref": reference.replace("s%3A1", "s2")}), &log("b", 25_000));
    externalize(&session, &mut part).await;
    assert_eq!(stored(&session).await, 3);
}
