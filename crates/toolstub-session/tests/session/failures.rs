//! Stores that fail: each mode does what it says, and nothing is lost but what it says.

use std::sync::Arc;

use toolstub_session::{Config, FailureMode, Owner, SessionError, ToolPart};
use toolstub_store::ResultStore;

use super::failing::Failing;
use super::{log, result, session_in, turn};

fn config(failure_mode: FailureMode) -> Config {
    Config { failure_mode, ..Config::default() }
}

fn parts() -> [ToolPart; 3] {
    [
        ToolPart::new("c1", "bash", &log("a", 30_000)),
        ToolPart::new("c2", "bash", &log("b", 40_000)),
        ToolPart::new("c3", "bash", "small"),
    ]
}

#[tokio::test]
async fn preserve_raw_keeps_the_content_and_records_the_error() {
    let backend = Failing::after(0);
    let session =
        session_in(&ResultStore::new(Arc::new(backend.clone())), config(FailureMode::PreserveRaw));
    let mut parts = parts();
    let done = session.externalize_parts("m", &[], &mut parts, Owner::Session).await.unwrap();
    assert!(done.outcomes[0].error().unwrap().starts_with("no room for `sessions/s%3A1/"));
    let error = parts[0].text("tool_output_externalization_error").unwrap();
    assert!(error.contains("no room"), "{error}");
    assert_eq!(parts[0].output().unwrap(), log("a", 30_000));
    assert!(parts[0].reference().is_none());
    assert!(parts[2].field("tool_output_externalization_error").is_none());

    // Once there is room, the next pass makes up for it.
    backend.allow(100);
    session.externalize_parts("m", &[], &mut parts, Owner::Session).await.unwrap();
    assert!(parts[0].is_externalized());
    assert!(parts[0].field("tool_output_externalization_error").is_none());
}

#[tokio::test]
async fn preview_only_leaves_a_stub_that_promises_nothing() {
    let backend = Failing::after(0);
    let session =
        session_in(&ResultStore::new(Arc::new(backend.clone())), config(FailureMode::PreviewOnly));
    let mut parts = parts();
    session.externalize_parts("m", &[], &mut parts, Owner::Session).await.unwrap();
    let stub = parts[0].output().unwrap();
    assert!(stub.lines().next().unwrap().contains("cannot be retrieved"), "{stub}");
    assert!(!stub.contains("toolstub://") && parts[0].reference().is_none());
    let reason = parts[0].text("tool_output_externalized_reason").unwrap();
    assert_eq!(reason, "single_threshold:externalization_failed");

    // It is a stub for good: what is gone is not to be stored in its place.
    backend.allow(100);
    let before = serde_json::to_string(&parts).unwrap();
    session.externalize_parts("m", &[], &mut parts, Owner::Session).await.unwrap();
    assert_eq!(serde_json::to_string(&parts).unwrap(), before);
    let hydrated = session.hydrate_parts(&parts).await.unwrap();
    assert_eq!(hydrated.missing.len(), 2);
    assert!(hydrated.missing[0].why.contains("no room"));
}

#[tokio::test]
async fn reject_changes_nothing() {
    // The first original takes two writes; the second fails.
    let backend = Failing::after(2);
    let store = ResultStore::new(Arc::new(backend.clone()));
    let session = session_in(&store, config(FailureMode::Reject));
    let mut parts = parts();
    let before = serde_json::to_string(&parts).unwrap();
    let error = session.externalize_parts("m", &[], &mut parts, Owner::Session).await.unwrap_err();
    assert!(matches!(&error, SessionError::Rejected { tool_name, .. } if tool_name == "bash"));
    assert_eq!(serde_json::to_string(&parts).unwrap(), before);

    backend.allow(100);
    session.externalize_parts("m", &[], &mut parts, Owner::Session).await.unwrap();
    assert!(parts[0].is_externalized() && parts[1].is_externalized());
}

#[tokio::test]
async fn one_failure_does_not_stop_the_others() {
    for allowed in 0..6 {
        let store = ResultStore::new(Arc::new(Failing::after(allowed)));
        let session = session_in(&store, Config::default());
        let turn = turn((0..3).map(|n| result(&format!("c{n}"), log("a", 30_000))).collect());
        let done = session.externalize(&turn).await.unwrap();
        for outcome in &done.outcomes {
            match outcome.replacement() {
                // A ref is never promised in vain.
                Some(stub) => {
                    let reference = stub.reference.as_ref().unwrap();
                    store.verify(reference).await.unwrap();
                }
                None => assert!(outcome.error().is_some()),
            }
        }
        assert!(done.outcomes.iter().any(|outcome| outcome.error().is_some()));
    }
}
