//! Checking and clearing up.

use std::time::{Duration, SystemTime};

use toolstub_store::{CheckStatus, CollectRequest, Depth, Entry, Key, ListOptions, ResultStore};

use crate::protocol::Watched;
use crate::{event, memory_store, original, request, session, write};

async fn put(store: &ResultStore, key: &str) {
    store.backend().put(&Key::new(key).unwrap(), "leftover".into()).await.unwrap();
}

async fn keys(store: &ResultStore) -> Vec<String> {
    let options = ListOptions { folder: None, depth: Depth::All, after: None, limit: 100 };
    let page = store.backend().list(options).await.unwrap();
    page.entries.iter().map(Entry::marker).collect()
}

#[tokio::test]
async fn leftovers_go_once_they_are_old_and_nothing_else() {
    let store = memory_store();
    write(&store, "kept").await;
    let mut in_event = request("s1", "call_1");
    in_event.event = Some(event("e1"));
    store.write(&original("kept"), in_event).await.unwrap();
    let others = ["sessions/s1/session.json", "sessions/s1/messages/1.json", "top.txt"];
    for key in others {
        put(&store, key).await;
    }
    let kept = keys(&store).await;
    for key in [
        "sessions/s1/tool-results/tr_a/output.txt",
        "sessions/s1/tool-results/tr_a/output.txt#1",
        "sessions/s1/tool-results/tr_b/metadata.json#3",
        "sessions/s1/tool-results/stray",
        "sessions/s2/events/e/tool-results/tr_c/output.txt",
        "sessions/s2/session.json#12",
    ] {
        put(&store, key).await;
    }
    let all = keys(&store).await;
    let now = SystemTime::now();
    let day = Duration::from_secs(24 * 60 * 60);

    let removed = store.gc(&CollectRequest::new(now)).await.unwrap();
    assert_eq!((removed.objects, keys(&store).await), (0, all.clone()));
    let old = CollectRequest::new(now + 2 * day);
    let removed = store.gc(&CollectRequest { dry_run: true, ..old }).await.unwrap();
    assert_eq!((removed.objects, removed.bytes, keys(&store).await), (6, 48, all));
    let removed = store.gc(&old).await.unwrap();
    assert_eq!((removed.objects, keys(&store).await), (6, kept));
}

#[tokio::test]
async fn a_check_finds_what_is_damaged() {
    let store = memory_store();
    let whole = write(&store, "whole").await;
    write(&store, "é".repeat(100_000)).await;
    assert_eq!(store.verify(whole.reference()).await.unwrap(), 5);
    let verified = store.verify_all().await.unwrap();
    assert_eq!((verified.whole, verified.bytes, verified.damaged.len()), (2, 200_005, 0));

    put(&store, "sessions/s1/tool-results/tr_a/output.txt").await;
    let id = whole.reference().id();
    put(&store, &format!("sessions/s1/tool-results/{id}/output.txt")).await;
    let verified = store.verify_all().await.unwrap();
    assert_eq!((verified.whole, verified.damaged.len()), (1, 1));
    assert_eq!(verified.damaged[0].reference, *whole.reference());
    let text = verified.damaged[0].error.to_string();
    assert!(text.contains("output.txt holds 8 bytes in place of 5"), "{text}");
}

#[tokio::test]
async fn stats_are_told_by_kind_and_tool() {
    let store = memory_store();
    write(&store, "é".repeat(5000)).await;
    for (session, tool_name) in [("s1", "grep"), ("s2", "grep"), ("s2", "")] {
        let request = toolstub_store::WriteRequest {
            tool_name: tool_name.to_owned(),
            ..request(session, tool_name)
        };
        store.write(&original("x".repeat(30)), request).await.unwrap();
    }
    put(&store, "sessions/s2/tool-results/tr_a/metadata.json").await;
    let stats = store.stats(None, |_| 40).await.unwrap();
    assert_eq!((stats.sessions, stats.unreadable), (2, 1));
    assert_eq!((stats.all.results, stats.all.bytes, stats.all.kept_out_bytes), (4, 10_090, 9960));
    assert_eq!(stats.by_kind.len(), 1);
    let tools: Vec<_> =
        stats.by_tool.iter().map(|(name, tally)| (&name[..], tally.results)).collect();
    assert_eq!(tools, [("", 1), ("bash", 1), ("grep", 2)]);
    let one = store.stats(Some(&session("s1")), |_| 0).await.unwrap();
    assert_eq!((one.all.results, one.all.kept_out_bytes), (2, 10_030));
}

#[tokio::test]
async fn a_probe_tells_what_a_backend_does_and_leaves_nothing() {
    let probe = async |store: &ResultStore| {
        let checks = store.probe("1-a", SystemTime::now()).await.unwrap();
        assert_eq!(keys(store).await, [""; 0]);
        checks.into_iter().map(|check| (check.name, check.status)).collect::<Vec<_>>()
    };
    let (ok, warning) = (CheckStatus::Ok, CheckStatus::Warning);
    let names = ["write", "read", "create-if-absent", "list", "clock", "delete"];
    assert_eq!(probe(&memory_store()).await, names.map(|name| (name, ok)));
    let blind = ResultStore::new(std::sync::Arc::new(Watched::creating_blindly()));
    let mut expected = names.map(|name| (name, ok));
    expected[2].1 = warning;
    assert_eq!(probe(&blind).await, expected);
    let full = ResultStore::new(std::sync::Arc::new(Watched::full()));
    assert_eq!(probe(&full).await, [("write", CheckStatus::Failed)]);
    assert!(memory_store().probe("../x", SystemTime::now()).await.is_err());
}
