//! The tools, the server and the proxy, as a client sees them.

mod child;
mod odd;
mod proxy;
mod remote;
mod server;
mod tools;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use toolstub_core::{Ref, SessionId};
use toolstub_session::{Call, Config, Session, ToolResult};
use toolstub_store::fault::{Fault, FaultyBackend};
use toolstub_store::{MemoryBackend, ResultStore};

/// An empty store.
fn store() -> ResultStore {
    ResultStore::new(Arc::new(MemoryBackend::new()))
}

/// A store that does not answer.
fn deaf_store() -> ResultStore {
    let backend = FaultyBackend::new(Arc::new(MemoryBackend::new()));
    backend.fail(Fault::Delay(Duration::from_secs(1000)), 1);
    ResultStore::new(Arc::new(backend))
}

fn session_id(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

/// Stores a result of the tool `bash` and returns its ref.
async fn put(store: &ResultStore, session: &str, content: impl Into<Vec<u8>>) -> Ref {
    let session = Session::new(store.clone(), session_id(session), Config::default());
    let result = ToolResult {
        call: Call { id: "c1".to_owned(), name: "bash".to_owned(), input: None },
        content: content.into().into(),
        ..ToolResult::default()
    };
    let event = toolstub_core::EventId::new("e1").unwrap();
    session.register(Some(event), &result).await.unwrap().reference.unwrap()
}
