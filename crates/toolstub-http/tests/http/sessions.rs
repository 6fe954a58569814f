//! Sessions: made, listed, looked at, removed.

use serde_json::json;

use crate::{Server, log};

#[tokio::test]
async fn a_session_is_made_once() {
    let server = Server::new();
    let made = server.post("/api/v1/sessions", json!({"session_id": "s1"})).await.result();
    assert_eq!(made["uri"], "viking://user/default/sessions/s1");
    assert_eq!(made["user"], json!({"account_id": "default", "user_id": "default"}));
    let again = server.post("/api/v1/sessions", json!({"session_id": "s1"})).await;
    let message = "Resource already exists: Session 's1' already exists";
    assert_eq!(again.error(), (409, "ALREADY_EXISTS".into(), message.into()));
}

#[tokio::test]
async fn an_id_is_made_where_none_is_given() {
    let server = Server::new();
    let empty = server.call("POST", "/api/v1/sessions", None).await.result();
    let null = server.post("/api/v1/sessions", json!({"session_id": null})).await.result();
    let (one, two) = (empty["session_id"].as_str().unwrap(), null["session_id"].as_str().unwrap());
    assert_ne!(one, two);
    assert_eq!((one.len(), &one[8..9], &one[15..16]), (32, "-", "-"), "{one}");
}

#[tokio::test]
async fn ids_may_be_strange_and_stay_apart() {
    let server = Server::new();
    let ids = ["a b", "agent:main:7", "é😀", "..", "a%2Fb", "a?b#c", ".hid"];
    for id in ids {
        let made = server.post("/api/v1/sessions", json!({"session_id": id})).await.result();
        assert_eq!(made["session_id"], id);
    }
    let listed = server.get("/api/v1/sessions").await.result();
    assert_eq!(listed.as_array().unwrap().len(), ids.len());
    let found = server.get("/api/v1/sessions/agent%3Amain%3A7").await.result();
    assert_eq!(found["session_id"], "agent:main:7");
    for bad in ["a\nb", "\0", &"x".repeat(300)] {
        let refused = server.post("/api/v1/sessions", json!({"session_id": bad})).await;
        assert_eq!(refused.error().0, 400, "{bad:?}");
    }
}

#[tokio::test]
async fn counts_come_from_what_was_appended() {
    let server = Server::new();
    assert_eq!(server.get("/api/v1/sessions/s1").await.error().2, "Session s1 not found");
    server.keep("s1", "c1", "short").await;
    server.keep("s1", "c2", &log(1, 30_000)).await;
    let found = server.get("/api/v1/sessions/s1").await.result();
    assert_eq!((&found["message_count"], &found["total_message_count"]), (&json!(2), &json!(2)));
    assert_ne!(found["last_message_at"], "");
    assert!(found["pending_tokens"].as_u64().unwrap() < 1000, "{found}");
}

#[tokio::test]
async fn a_session_is_made_on_demand() {
    let server = Server::new();
    let found = server.get("/api/v1/sessions/new?auto_create=true").await.result();
    assert_eq!(found["message_count"], 0);
    assert_eq!(server.get("/api/v1/sessions/new").await.result()["session_id"], "new");
}

#[tokio::test]
async fn the_session_that_was_used_last_comes_first() {
    let server = Server::new();
    for id in ["a", "b", "c"] {
        server.post("/api/v1/sessions", json!({"session_id": id})).await.result();
    }
    // Times are told to the second.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    server.keep("b", "c1", "x").await;
    let listed = server.get("/api/v1/sessions").await.result();
    let ids: Vec<_> =
        listed.as_array().unwrap().iter().map(|one| one["session_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b", "a", "c"]);
}

#[tokio::test]
async fn a_session_goes_with_all_it_has() {
    let server = Server::new();
    let part = server.keep("s1", "c1", &log(1, 30_000)).await;
    let id = part["tool_output_ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    server.keep("s2", "c1", &log(1, 30_000)).await;
    let gone = server.call("DELETE", "/api/v1/sessions/s1", None).await.result();
    assert_eq!(gone, json!({"session_id": "s1"}));
    let again = server.call("DELETE", "/api/v1/sessions/s1", None).await;
    assert_eq!(again.error(), (404, "NOT_FOUND".into(), "Session not found: s1".into()));
    assert_eq!(server.get(&format!("/api/v1/sessions/s1/tool-results/{id}")).await.status, 404);
    assert_eq!(server.get("/api/v1/sessions/s1/context").await.status, 404);
    assert_eq!(server.get(&format!("/api/v1/sessions/s2/tool-results/{id}")).await.status, 200);

    // Made again, it is another session.
    server.post("/api/v1/sessions", json!({"session_id": "s1"})).await.result();
    let context = server.get("/api/v1/sessions/s1/context").await.result();
    assert_eq!(context["messages"], json!([]));
}

#[tokio::test]
async fn a_session_that_has_results_alone_is_a_session() {
    let server = Server::new();
    server.keep("s1", "c1", &log(1, 30_000)).await;
    // As the command line leaves it.
    let store = server.store.backend();
    let record = toolstub_store::Key::new("sessions/s1/session.json").unwrap();
    store.delete(&record).await.unwrap();
    assert_eq!(server.get("/api/v1/sessions/s1").await.result()["message_count"], 0);
    let results = server.get("/api/v1/sessions/s1/tool-results").await.result();
    assert_eq!(results["tool_results"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/api/v1/sessions").await.result().as_array().unwrap().len(), 1);
    let taken = server.post("/api/v1/sessions", json!({"session_id": "s1"})).await;
    assert_eq!(taken.error().0, 409);
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_told() {
    let server = Server::new();
    for (body, message) in [
        (json!({"session_id": 5}), "body.session_id: Input should be a valid string"),
        (json!({"memory_policy": "x"}), "body.memory_policy: Input should be a valid dictionary"),
        (
            json!({"auto_commit_policy": {"foo": 1}}),
            "body.auto_commit_policy.foo: Extra inputs are not permitted",
        ),
        (
            json!({"memory_extraction_config": {"events": {"tags": "a"}}}),
            "body.memory_extraction_config.events.tags: Input should be a valid list",
        ),
        (json!([]), "body: Input should be a valid dictionary or object to extract fields from"),
    ] {
        let (status, code, told) = server.post("/api/v1/sessions", body).await.error();
        assert_eq!((status, code.as_str()), (400, "INVALID_ARGUMENT"));
        assert_eq!(told, format!("Invalid request parameters: {message}"));
    }
    let policy = json!({"auto_commit_policy": {"keep_recent_count": 7}});
    let made = server.post("/api/v1/sessions", policy).await.result();
    assert_eq!(made["auto_commit_policy"]["keep_recent_count"], 7);
    assert_eq!(made["auto_commit_policy"]["pending_token_threshold"], 150_000);
}

#[tokio::test]
async fn policies_come_back_as_they_were_written() {
    let server = Server::new();
    let policy = r#"{"self":{"n":123456789012345678901234567890,"x":1.10,"y":1e400}}"#;
    let body = format!(r#"{{"session_id":"s1","memory_policy":{policy}}}"#);
    let request = axum::http::Request::post("/api/v1/sessions")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(axum::body::Body::from(body));
    server.send(request.unwrap()).await.result();
    let found = server.get("/api/v1/sessions/s1").await.text;
    assert!(found.contains(policy), "{found}");
    let long = json!({"memory_policy": {"self": "x".repeat(70_000)}});
    assert_eq!(server.post("/api/v1/sessions", long).await.error().0, 400);
}

#[tokio::test]
async fn a_damaged_session_hides_no_other_and_can_be_removed() {
    let server = Server::new();
    for id in ["a", "b"] {
        server.post("/api/v1/sessions", json!({"session_id": id})).await.result();
    }
    let record = toolstub_store::Key::new("sessions/a/session.json").unwrap();
    let half = toolstub_store::Body::Bytes(b"{".as_slice().into());
    server.store.backend().put(&record, half).await.unwrap();
    assert_eq!(server.get("/api/v1/sessions").await.result().as_array().unwrap().len(), 2);
    assert_eq!(server.get("/api/v1/sessions/a").await.error().1, "CORRUPT");
    server.call("DELETE", "/api/v1/sessions/a", None).await.result();
    assert_eq!(server.get("/api/v1/sessions").await.result().as_array().unwrap().len(), 1);
}
