//! Listing and removing.

use toolstub_core::{Kind, Receipt};
use toolstub_store::{Key, ListRequest, ReadRequest, ResultStore, StoreError};

use crate::{event, memory_store, original, request, session, synopsis};

/// Writes a result; the content is made of all that tells it apart.
async fn put(
    store: &ResultStore,
    session_id: &str,
    event_id: Option<&str>,
    tool: &str,
    kind: Kind,
) -> Receipt {
    let mut request = request(session_id, "call");
    request.event = event_id.map(event);
    request.tool_name = tool.to_owned();
    request.synopsis = synopsis(kind);
    let content = format!("{session_id} {event_id:?} {tool} {kind}");
    store.write(&original(content), request).await.unwrap()
}

/// The refs of a listing, page by page.
async fn refs(store: &ResultStore, session_id: &str, mut request: ListRequest) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = store.list(&session(session_id), &request).await.unwrap();
        assert!(page.records.len() as i128 <= request.limit);
        found.extend(page.records.into_iter().map(|metadata| metadata.storage_uri));
        request.cursor = page.next_cursor;
        if request.cursor.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn pages_join_in_every_size() {
    let store = memory_store();
    let mut expected = Vec::new();
    for event_id in [None, Some("a"), Some("a:b"), Some("b")] {
        let mut here = Vec::new();
        for tool in ["t1", "t2", "t3", "t4", "t5"] {
            let receipt = put(&store, "s1", event_id, tool, Kind::Text).await;
            here.push(receipt.reference().to_string());
        }
        here.sort();
        expected.push(here);
    }
    // Events are in the order of their encoded ids, each with a slash behind.
    expected.swap(1, 2);
    let expected = expected.concat();
    for limit in [1, 2, 3, 5, 7, 20, 1000, i128::MAX] {
        let request = ListRequest { limit, ..ListRequest::default() };
        assert_eq!(refs(&store, "s1", request).await, expected, "by {limit}");
    }
}

#[tokio::test]
async fn the_answer_holds_records_without_blocks() {
    let store = memory_store();
    let receipt = put(&store, "s1", Some("e1"), "bash", Kind::Text).await;
    let page = store.list(&session("s1"), &ListRequest::default()).await.unwrap();
    let answer = serde_json::to_value(page.into_answer()).unwrap();
    let record = serde_json::to_value(receipt.metadata()).unwrap();
    assert!(record.get("blocks").is_none());
    assert_eq!(answer, serde_json::json!({"tool_results": [record], "next_cursor": null}));
}

#[tokio::test]
async fn filters_come_before_the_limit() {
    let store = memory_store();
    for tool in ["bash", "grep"] {
        for kind in Kind::ALL {
            put(&store, "s1", None, tool, kind).await;
            put(&store, "s1", Some("e1"), tool, kind).await;
        }
    }
    let count = async |limit, tool: Option<&str>, kind, event_id: Option<&str>| {
        let tool_name = tool.map(str::to_owned);
        let event = event_id.map(event);
        let request = ListRequest { limit, tool_name, kind, event, cursor: None };
        let page = store.list(&session("s1"), &request).await.unwrap();
        (page.records.len(), page.next_cursor.is_some())
    };
    assert_eq!(count(50, None, None, None).await, (32, false));
    assert_eq!(count(16, Some("grep"), None, None).await, (16, false));
    assert_eq!(count(15, Some("grep"), None, None).await, (15, true));
    assert_eq!(count(50, None, Some(Kind::Csv), None).await, (4, false));
    assert_eq!(count(50, Some("bash"), Some(Kind::Csv), Some("e1")).await, (1, false));
    assert_eq!(count(50, None, None, Some("e2")).await, (0, false));
}

#[tokio::test]
async fn folders_without_a_readable_record_are_left_out() {
    let store = memory_store();
    let receipt = put(&store, "s1", None, "bash", Kind::Text).await;
    for (name, body) in [
        ("tr_leftover/output.txt", "x"),
        ("tr_broken/metadata.json", "{"),
        ("tr_empty/metadata.json", ""),
        ("stray.txt", "x"),
        ("with space/metadata.json", "{}"),
    ] {
        let key = Key::new(format!("sessions/s1/tool-results/{name}")).unwrap();
        store.backend().put(&key, body.into()).await.unwrap();
    }
    let page = store.list(&session("s1"), &ListRequest::default()).await.unwrap();
    assert_eq!(page.records, [receipt.metadata().clone()]);
    assert_eq!(page.unreadable, 2);
    assert!(store.has_results(&session("s1")).await.unwrap());
    assert!(!store.has_results(&session("s2")).await.unwrap());
}

#[tokio::test]
async fn a_bad_limit_or_cursor_is_refused() {
    let store = memory_store();
    let error = async |request: ListRequest| {
        store.list(&session("s1"), &request).await.unwrap_err().to_string()
    };
    let low = ListRequest { limit: 0, ..ListRequest::default() };
    assert_eq!(error(low).await, "limit 0 is not accepted; give 1 to 1000");
    for cursor in ["", "../x", "a/b/c", "%zz/tr_1"] {
        let request = ListRequest { cursor: Some(cursor.to_owned()), ..ListRequest::default() };
        assert!(error(request).await.contains("next_cursor of an earlier page"), "{cursor}");
    }
}

#[tokio::test]
async fn a_purge_takes_one_session_or_event_whole() {
    let store = memory_store();
    for session_id in ["s1", "s10"] {
        for event_id in [None, Some("e1"), Some("e10")] {
            put(&store, session_id, event_id, "bash", Kind::Text).await;
        }
    }
    let stray = Key::new("sessions/s1/events/e1/stray/deep/file").unwrap();
    store.backend().put(&stray, "x".into()).await.unwrap();
    let count = async |session_id| refs(&store, session_id, ListRequest::default()).await.len();

    let removed = store.purge_event(&session("s1"), &event("e1")).await.unwrap();
    assert_eq!((removed.results, removed.objects), (1, 3));
    assert_eq!((count("s1").await, count("s10").await), (2, 3));
    let removed = store.purge(&session("s1")).await.unwrap();
    assert_eq!((removed.results, removed.objects), (2, 4));
    assert_eq!((count("s1").await, count("s10").await), (0, 3));
    let removed = store.purge(&session("s1")).await.unwrap();
    assert_eq!((removed.results, removed.objects, removed.bytes), (0, 0, 0));
}

#[tokio::test]
async fn what_is_gone_is_not_found() {
    let store = memory_store();
    let receipt = put(&store, "s1", None, "bash", Kind::Text).await;
    store.delete(receipt.reference()).await.unwrap();
    let read = store.read(receipt.reference(), &ReadRequest::default()).await.unwrap_err();
    let text = read.to_string();
    for word in ["not found", "mistyped", "purged with its session or event", "never stored"] {
        assert!(text.contains(word), "{text}");
    }
    let again = store.delete(receipt.reference()).await;
    assert!(matches!(again, Err(StoreError::NotFound { .. })), "{again:?}");
}

#[tokio::test]
async fn a_session_sees_its_own_results_only() {
    let store = memory_store();
    let receipt = put(&store, "s1", None, "bash", Kind::Text).await;
    let own = store.session(session("s1"));
    let other = store.session(session("s2"));
    let uri = receipt.reference().to_string();
    assert_eq!(own.resolve(&uri).unwrap(), *receipt.reference());
    assert_eq!(own.resolve(receipt.reference().id().as_str()).unwrap(), *receipt.reference());
    assert!(own.read(receipt.reference(), &ReadRequest::default()).await.is_ok());

    let refused = other.read(receipt.reference(), &ReadRequest::default()).await.unwrap_err();
    let absent = "toolstub://session/s1/tool-results/tr_none".parse().unwrap();
    let unknown = own.read(&absent, &ReadRequest::default()).await.unwrap_err();
    let told = |error: StoreError, uri: &str| error.to_string().replace(uri, "REF");
    assert_eq!(told(refused, &uri), told(unknown, &absent.to_string()));
    assert!(matches!(other.resolve(&uri), Err(StoreError::NotFound { .. })));
    assert!(matches!(other.delete(receipt.reference()).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(own.resolve("tr_1/.."), Err(StoreError::Id(_))));
}
