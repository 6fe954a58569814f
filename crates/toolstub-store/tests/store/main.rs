//! The store over the memory backend, and over one that fails.

mod faults;
mod list;
mod model;
mod plainly;
mod protocol;
mod read;
mod schedules;
mod search;
mod select;
mod upkeep;

use std::sync::Arc;

use toolstub_core::{EventId, Kind, Receipt, SessionId, Synopsis};
use toolstub_store::{DEFAULT_HARD_CAP, MemoryBackend, Original, ResultStore, WriteRequest};

/// Whether to go far through what a quick run takes samples of.
fn is_full() -> bool {
    std::env::var_os("TOOLSTUB_FULL").is_some()
}

fn memory_store() -> ResultStore {
    ResultStore::new(Arc::new(MemoryBackend::new()))
}

fn session(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

fn event(id: &str) -> EventId {
    EventId::new(id).unwrap()
}

fn synopsis(kind: Kind) -> Synopsis {
    Synopsis {
        kind,
        title: kind.to_string(),
        summary: vec!["one".to_owned()],
        structure: vec![],
        notable_items: vec![],
        sample: String::new(),
    }
}

fn request(session_id: &str, tool_id: &str) -> WriteRequest {
    WriteRequest {
        tool_id: tool_id.to_owned(),
        tool_name: "bash".to_owned(),
        preview_chars: 2000,
        ..WriteRequest::new(session(session_id), synopsis(Kind::Text), "2026-01-02T03:04:05Z")
    }
}

fn original(content: impl AsRef<[u8]>) -> Original {
    Original::new(content.as_ref().to_vec(), DEFAULT_HARD_CAP)
}

async fn write(store: &ResultStore, content: impl AsRef<[u8]>) -> Receipt {
    store.write(&original(content), request("s1", "call_1")).await.unwrap()
}

#[tokio::test]
async fn every_operation_can_run_on_any_thread() {
    fn sendable<T: Send>(_: T) {}
    let store = memory_store();
    let receipt = write(&store, "content").await;
    let (reference, session) = (receipt.reference(), session("s1"));
    sendable(store.write(&original("content"), request("s1", "call_1")));
    sendable(store.read(reference, &toolstub_store::ReadRequest::default()));
    sendable(store.search(reference, &toolstub_store::SearchRequest::new("x")));
    let selector = toolstub_store::Selector::lines("1").unwrap();
    sendable(store.read_selected(reference, &selector, &toolstub_store::ReadRequest::default()));
    sendable(store.list(&session, &toolstub_store::ListRequest::default()));
    sendable(store.delete(reference));
    sendable(store.purge(&session));
    sendable(store.verify_all());
    sendable(store.gc(&toolstub_store::CollectRequest::new(std::time::SystemTime::now())));
}
