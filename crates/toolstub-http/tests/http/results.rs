//! Originals: listed, read, searched, removed.

use serde_json::{Value, json};
use toolstub_core::{Kind, SessionId, Synopsis};
use toolstub_store::{DEFAULT_HARD_CAP, Original, WriteRequest};

use crate::{Server, log};

/// A server with one result, and the address of that.
async fn with(output: &str) -> (Server, String) {
    let server = Server::new();
    let part = server.keep("s1", "c1", output).await;
    let reference = part["tool_output_ref"].as_str().unwrap();
    let id = reference.rsplit('/').next().unwrap();
    (server, format!("/api/v1/sessions/s1/tool-results/{id}"))
}

/// A server with one result of bytes that no message could carry.
async fn with_bytes(bytes: Vec<u8>) -> (Server, String) {
    let server = Server::new();
    let synopsis = Synopsis {
        kind: Kind::Unknown,
        title: String::new(),
        summary: Vec::new(),
        structure: Vec::new(),
        notable_items: Vec::new(),
        sample: String::new(),
    };
    let original = Original::new(bytes, DEFAULT_HARD_CAP);
    let session = SessionId::new("s1").unwrap();
    let request = WriteRequest::new(session, synopsis, "2026-01-02T03:04:05Z");
    let receipt = server.store.write(&original, request).await.unwrap();
    let id = receipt.reference().id().clone();
    (server, format!("/api/v1/sessions/s1/tool-results/{id}"))
}

#[tokio::test]
async fn pieces_join_to_the_original() {
    let output = log(1, 45_000);
    let (server, path) = with(&output).await;
    let (mut joined, mut offset) = (String::new(), json!(0));
    loop {
        let piece = server.get(&format!("{path}?offset={offset}&limit=7001")).await.result();
        joined.push_str(piece["content"].as_str().unwrap());
        assert_eq!(piece["total_chars"], 45_000);
        offset = piece["next_offset"].clone();
        if piece["has_more"] == false {
            break;
        }
    }
    assert_eq!(joined, output);
}

#[tokio::test]
async fn the_rest_comes_at_once_however_long() {
    let output = log(1, 3_000_000);
    let (server, path) = with(&output).await;
    let whole = server.get(&format!("{path}?limit=-1")).await.result();
    assert!(whole["content"] == output.as_str());
    assert_eq!((&whole["has_more"], &whole["limit"]), (&json!(false), &json!(-1)));
    assert_eq!(whole["metadata"]["original_chars"], 3_000_000);
    let most = server.get(&format!("{path}?offset=10&limit=2000000&include_metadata=0")).await;
    let most = most.result();
    let expected: String = output.chars().skip(10).take(2_000_000).collect();
    assert!(most["content"] == expected.as_str());
    assert_eq!((&most["has_more"], &most["next_offset"]), (&json!(true), &json!(2_000_010)));
    assert_eq!(most.get("metadata"), None);
    let file = server.get(&format!("{path}/output.txt")).await;
    assert!(file.text == output);
    assert_eq!(file.headers["content-length"], output.len().to_string().as_str());
    assert!(file.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
}

#[tokio::test]
async fn an_answer_has_all_that_clients_know() {
    let (server, path) = with(&log(1, 30_000)).await;
    let piece = server.get(&path).await.result();
    for (name, value) in [
        ("offset", json!(0)),
        ("limit", json!(20_000)),
        ("offset_unit", json!("unicode_code_point")),
        ("total_chars", json!(30_000)),
        ("has_more", json!(true)),
        ("next_offset", json!(20_000)),
    ] {
        assert_eq!(piece[name], value, "{name}");
    }
    let metadata = &piece["metadata"];
    let uri = metadata["storage_uri"].as_str().unwrap();
    assert!(uri.starts_with("viking://user/default/sessions/s1/tool-results/tr_c1_"), "{uri}");
    assert_eq!(metadata["output_uri"], format!("{uri}/output.txt"));
    for (name, value) in [
        ("session_id", json!("s1")),
        ("tool_id", json!("c1")),
        ("tool_name", json!("bash")),
        ("user_id", json!("default")),
        ("peer_id", Value::Null),
        ("mime_type", json!("text/plain")),
        ("synopsis_kind", json!("text")),
    ] {
        assert_eq!(metadata.get(name), Some(&value), "{name}");
    }
    assert_eq!(metadata.get("blocks"), None);
}

#[tokio::test]
async fn any_number_is_an_answer_or_a_clear_error() {
    let (server, path) = with(&log(1, 30_000)).await;
    let ask = async |query: &str| server.get(&format!("{path}?{query}")).await;
    let past = ask("offset=99999999999999999999999").await.result();
    assert_eq!((&past["content"], &past["has_more"]), (&json!(""), &json!(false)));
    let none = ask("limit=0&offset=5").await.result();
    assert_eq!(
        (&none["content"], &none["has_more"], &none["next_offset"]),
        (&json!(""), &json!(true), &json!(5))
    );
    assert_eq!(ask("limit=5.0&offset=+1").await.result()["next_offset"], 6);
    let negative = ask("limit=-2").await;
    assert_eq!(negative.error().2, "limit must be -1 or greater than or equal to 0");
    assert_eq!(negative.json()["error"]["details"], json!({"field": "limit", "value": -2}));
    for (query, message) in [
        ("offset=-1", "query.offset: Input should be greater than or equal to 0"),
        (
            "limit=x",
            "query.limit: Input should be a valid integer, unable to parse string as an integer",
        ),
        ("unit=words", "query.unit: Input should be 'unicode_code_point', 'byte' or 'line'"),
    ] {
        let error = ask(query).await.error();
        assert_eq!(error.2, format!("Invalid request parameters: {message}"));
    }
    assert_eq!(ask("rows=1&lines=1").await.error().0, 400);
}

#[tokio::test]
async fn parts_are_selected_by_structure() {
    let rows: Vec<_> = (0..3000).map(|nth| json!({"id": nth, "name": format!("n{nth}")})).collect();
    let (server, path) = with(&json!({"items": rows}).to_string()).await;
    let item = server.get(&format!("{path}?pointer=/items/2999")).await.result();
    assert_eq!(item["content"], r#"{"id":2999,"name":"n2999"}"#);
    let missing = server.get(&format!("{path}?pointer=/nothing")).await;
    assert_eq!(missing.error().0, 404);

    let (server, path) = with(&log(1, 30_000)).await;
    let lines = server.get(&format!("{path}?lines=2-3")).await.result();
    assert_eq!(lines["content"].as_str().unwrap().lines().count(), 2);
    let line = server.get(&format!("{path}?unit=line&offset=1&limit=2")).await.result();
    assert_eq!(line["content"], lines["content"]);
}

#[tokio::test]
async fn texts_are_found() {
    let output = format!("{}needle{}Needle", "é😀".repeat(20_000), " x".repeat(100));
    let (server, path) = with(&output).await;
    let found =
        server.get(&format!("{path}/search?q=needle&limit=1&context_chars=5")).await.result();
    let expected = json!([{
        "offset": 40_000,
        "offset_unit": "unicode_code_point",
        "line": 1,
        "snippet": "😀é😀é😀needle x x ",
    }]);
    assert_eq!(found["matches"], expected);
    let more =
        server.get(&format!("{path}/search?q=NEEDLE&ignore_case=1&count=true&from=40001")).await;
    assert_eq!(more.result()["total_matches"], 1);
    let regex = server.get(&format!("{path}/search?q=n.*e%24&regex=true")).await.result();
    assert_eq!(regex["matches"].as_array().unwrap().len(), 1);
    let none = server.get(&format!("{path}/search?q=nowhere")).await.result();
    assert_eq!((&none["matches"], &none["complete"]), (&json!([]), &json!(true)));
    for (query, message) in [
        ("", "query.q: Field required"),
        ("q=", "query.q: String should have at least 1 character"),
        ("q=a&limit=0", "query.limit: Input should be greater than or equal to 1"),
        ("q=a&context_chars=-1", "query.context_chars: Input should be greater than or equal to 0"),
    ] {
        let error = server.get(&format!("{path}/search?{query}")).await.error();
        assert_eq!(error.2, format!("Invalid request parameters: {message}"));
    }
    assert_eq!(server.get(&format!("{path}/search?q=(&regex=1")).await.error().0, 400);
}

#[tokio::test]
async fn results_are_listed_by_tool_and_page() {
    let server = Server::new();
    for nth in 0..5 {
        server.keep("s1", &format!("c{nth}"), &log(nth, 21_000)).await;
    }
    let path = "/api/v1/sessions/s1/tool-results";
    let all = server.get(path).await.result();
    assert_eq!((all["tool_results"].as_array().unwrap().len(), all.get("next_cursor")), (5, None));
    let page = server.get(&format!("{path}?limit=3")).await.result();
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = server.get(&format!("{path}?limit=3&cursor={cursor}")).await.result();
    let ids = |page: &Value| {
        let records = page["tool_results"].as_array().unwrap().clone();
        records.into_iter().map(|mut record| record["tool_id"].take())
    };
    let joined: Vec<_> = ids(&page).chain(ids(&rest)).collect();
    assert_eq!(joined, ["c0", "c1", "c2", "c3", "c4"]);
    for (query, count) in [
        ("tool_name=bash", 5),
        ("tool_name=", 5),
        ("tool_name=x", 0),
        ("kind=text", 5),
        ("kind=json", 0),
    ] {
        let listed = server.get(&format!("{path}?{query}")).await.result();
        assert_eq!(listed["tool_results"].as_array().unwrap().len(), count, "{query}");
    }
    assert_eq!(server.get(&format!("{path}?kind=song")).await.error().0, 400);
    let unknown = server.get("/api/v1/sessions/nope/tool-results").await;
    assert_eq!(unknown.error(), (404, "NOT_FOUND".into(), "Session not found: nope".into()));
}

#[tokio::test]
async fn a_result_is_reached_through_its_session_alone() {
    let (server, path) = with(&log(1, 30_000)).await;
    server.keep("s2", "c9", "short").await;
    let id = path.rsplit('/').next().unwrap();
    let other = format!("/api/v1/sessions/s2/tool-results/{id}");
    for path in [other.clone(), format!("{other}/search?q=done"), format!("{other}/output.txt")] {
        let (status, code, message) = server.get(&path).await.error();
        assert_eq!((status, code.as_str()), (404, "NOT_FOUND"), "{path}");
        assert!(message.contains("it may be mistyped"), "{message}");
    }
    assert_eq!(server.call("DELETE", &other, None).await.status, 404);
    let gone = server.call("DELETE", &path, None).await.result();
    assert_eq!(gone["tool_result_id"], id);
    assert_eq!(server.get(&path).await.error().0, 404);
    for bad in ["a%20b", "a%2Fb", "..%2F..%2Fsession.json"] {
        let refused = server.get(&format!("/api/v1/sessions/s1/tool-results/{bad}")).await.error();
        assert_eq!(refused.0, 400, "{bad}");
        assert!(refused.2.starts_with("Invalid tool_result_id"), "{}", refused.2);
    }
}

#[tokio::test]
async fn what_is_not_text_says_so() {
    let mut bytes = b"caf\xe9 ".repeat(1000);
    let (server, path) = with_bytes(bytes.clone()).await;
    let piece = server.get(&format!("{path}?limit=5")).await.result();
    assert_eq!((&piece["content"], &piece["lossy"]), (&json!("caf\u{fffd} "), &json!(true)));
    bytes.resize(bytes.len() + (2 << 20), b'x');
    let (server, path) = with_bytes(bytes).await;
    let whole = server.get(&format!("{path}?limit=-1")).await.result();
    assert_eq!(whole["lossy"], true);
    assert_eq!(whole["content"].as_str().unwrap().chars().count(), 5000 + (2 << 20));
}

#[tokio::test]
async fn damage_is_an_error_and_never_text() {
    let (server, path) = with(&log(1, 30_000)).await;
    let id = path.rsplit('/').next().unwrap();
    let key = format!("sessions/s1/tool-results/{id}/output.txt");
    let key = toolstub_store::Key::new(key).unwrap();
    let backend = server.store.backend();
    let mut bytes = backend.get(&key, 1 << 20).await.unwrap().to_vec();
    bytes[100] ^= 1;
    backend.put(&key, toolstub_store::Body::Bytes(bytes.into())).await.unwrap();
    let (status, code, _) = server.get(&path).await.error();
    assert_eq!((status, code.as_str()), (500, "CORRUPT"));
}
