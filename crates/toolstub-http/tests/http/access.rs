//! Who may ask, and what is said around each answer.

use std::io::Write as _;

use axum::body::Body;
use hyper::Request;
use serde_json::json;
use toolstub_http::{Keys, Options};

use crate::{Answer, Server};

const USER: &str = "user-key-0123456789";
const OPERATOR: &str = "operator-key-0123456789";

fn guarded() -> Server {
    let mut keys = Keys::default();
    keys.add_user(USER).unwrap();
    keys.add_operator(OPERATOR).unwrap();
    Server::with(Options { keys, ..Options::default() })
}

async fn ask(server: &Server, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_key_is_needed_where_there_is_one() {
    let server = guarded();
    let path = "/api/v1/sessions";
    let missing = ask(&server, path, &[]).await.error();
    let message = "Missing API Key when resolving identity.";
    assert_eq!(missing, (401, "UNAUTHENTICATED".into(), message.into()));
    let wrong = ask(&server, path, &[("x-api-key", "wrong")]).await.error();
    assert_eq!(wrong, (401, "UNAUTHENTICATED".into(), "Invalid API key".into()));
    let bearer = format!("Bearer {USER}");
    assert_eq!(ask(&server, path, &[("x-api-key", USER)]).await.result(), json!([]));
    assert_eq!(ask(&server, path, &[("authorization", &bearer)]).await.result(), json!([]));
    let operator = ask(&server, path, &[("x-api-key", OPERATOR)]).await.error();
    assert_eq!((operator.0, operator.1.as_str()), (403, "PERMISSION_DENIED"));
    for path in ["/metrics", "/nowhere", "/api/v1/sessions/s1"] {
        assert_eq!(ask(&server, path, &[]).await.status, 401, "{path}");
    }
    assert_eq!(ask(&server, "/metrics", &[("x-api-key", OPERATOR)]).await.status, 200);
}

#[tokio::test]
async fn whether_it_runs_can_be_asked_without_a_key() {
    let server = guarded();
    let health = ask(&server, "/health", &[]).await.json();
    assert_eq!((&health["healthy"], &health["auth_mode"]), (&json!(true), &json!("api_key")));
    assert_eq!(ask(&server, "/ready", &[]).await.json()["status"], "ready");
    let api = ask(&server, "/openapi.json", &[]).await.json();
    assert!(api["paths"]["/api/v1/sessions/{session_id}/messages"]["post"].is_object(), "{api}");
    assert_eq!(api["components"]["securitySchemes"]["key"]["name"], "X-API-Key");
    let mut ids = Vec::new();
    for operation in api["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
    {
        ids.push(operation["operationId"].as_str().unwrap());
        for response in operation["responses"].as_object().unwrap().values() {
            assert_ne!(response["description"].as_str().unwrap(), "", "{operation}");
        }
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), count), (count, 16));
}

#[tokio::test]
async fn names_that_others_have_made_lead_nowhere() {
    let server = Server::new();
    for (host, status) in
        [("localhost:1933", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("rebound.example", 403)]
    {
        let answer = ask(&server, "/health", &[("host", host)]).await;
        assert_eq!(answer.status.as_u16(), status, "{host}: {}", answer.text);
    }
    let named =
        Server::with(Options { hosts: vec!["tools.internal".into()], ..Options::default() });
    assert_eq!(ask(&named, "/health", &[("host", "tools.internal:80")]).await.status, 200);
    assert_eq!(ask(&guarded(), "/health", &[("host", "any.example")]).await.status, 200);
}

#[tokio::test]
async fn pages_of_other_sites_are_not_answered() {
    let server = Server::new();
    for (origin, status) in [
        ("http://localhost:1933", 200),
        ("http://evil.example", 403),
        ("http://localhost:8080", 403),
        ("null", 403),
    ] {
        let headers = [("host", "localhost:1933"), ("origin", origin)];
        assert_eq!(ask(&server, "/api/v1/sessions", &headers).await.status, status, "{origin}");
    }
}

#[tokio::test]
async fn what_a_browser_fetches_for_another_site_is_not_answered() {
    let server = Server::new();
    for (site, status) in
        [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
    {
        let headers = [("host", "localhost:1933"), ("sec-fetch-site", site)];
        let path = "/api/v1/sessions/x?auto_create=true";
        assert_eq!(ask(&server, path, &headers).await.status, status, "{site}");
        assert_eq!(ask(&server, "/", &headers).await.status, 200, "{site}");
    }
    let headers = [("host", "localhost:1933"), ("host", "evil.example")];
    assert_eq!(ask(&server, "/health", &headers).await.status, 403);
}

#[tokio::test]
async fn packed_bodies_are_measured_unpacked() {
    let server = Server::with(Options { body_limit: 100_000, ..Options::default() });
    let pack = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let send = async |encoding: &str, body: Vec<u8>| {
        let request = Request::post("/api/v1/sessions/s1/messages")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("content-encoding", encoding)
            .body(Body::from(body));
        server.send(request.unwrap()).await
    };
    let message = json!({"role": "user", "content": "x"}).to_string();
    assert_eq!(send("gzip", pack(&message)).await.status, 200);
    assert_eq!(send("identity", message.clone().into_bytes()).await.status, 200);
    assert_eq!(send("br", message.into_bytes()).await.error().0, 400);
    let bomb = json!({"role": "user", "content": "x".repeat(1_000_000)}).to_string();
    assert_eq!(send("gzip", pack(&bomb)).await.error().0, 413);
}

#[tokio::test]
async fn answers_carry_the_id_of_their_request() {
    let server = Server::new();
    let headers = [("host", "localhost"), ("x-request-id", "my-id-1")];
    let answer = ask(&server, "/api/v1/sessions/nope", &headers).await;
    assert_eq!(answer.headers["x-request-id"], "my-id-1");
    assert_eq!(answer.headers["content-type"], "application/json");
    let seconds: f64 = answer.headers["x-process-time"].to_str().unwrap().parse().unwrap();
    assert!((0.0..10.0).contains(&seconds));
}

#[tokio::test]
async fn what_is_not_there_is_told_in_the_same_form() {
    let server = Server::new();
    let nothing = server.get("/api/v1/nothing").await.error();
    assert_eq!(nothing, (404, "NOT_FOUND".into(), "Not Found".into()));
    let method = server.call("PUT", "/api/v1/sessions", None).await;
    assert_eq!(method.error(), (405, "UNKNOWN".into(), "Method Not Allowed".into()));
    let archives = server.post("/api/v1/sessions/s1/commit", json!({})).await.error();
    assert_eq!((archives.0, archives.1.as_str()), (501, "UNIMPLEMENTED"));
    let slash = server.get("/api/v1/sessions/?x=1").await;
    assert_eq!(
        (slash.status.as_u16(), slash.headers["location"].to_str().unwrap()),
        (307, "/api/v1/sessions?x=1")
    );
}

#[tokio::test]
async fn bodies_have_a_largest_size() {
    let server = Server::with(Options { body_limit: 1000, ..Options::default() });
    let content = json!({"role": "user", "content": "x".repeat(1000)});
    let (status, code, message) =
        server.post("/api/v1/sessions/s1/messages", content).await.error();
    assert_eq!((status, code.as_str()), (413, "INVALID_ARGUMENT"));
    assert!(message.contains("1000 bytes"), "{message}");
    let text = Request::post("/api/v1/sessions").header("host", "localhost").body(Body::from("{}"));
    assert_eq!(server.send(text.unwrap()).await.error().0, 400);
}

#[tokio::test]
async fn what_was_done_is_counted() {
    let server = Server::new();
    server.keep("s1", "c1", &"word ".repeat(10_000)).await;
    server.get("/nowhere").await;
    let metrics = ask(&server, "/metrics", &[("host", "localhost")]).await.text;
    for line in [
        "toolstub_messages_appended_total 1",
        "toolstub_externalized_original_chars_total 50000",
        r#"toolstub_externalized_total{reason="single_threshold"} 1"#,
        r#"toolstub_requests_total{method="GET",route="none",status="404"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}
