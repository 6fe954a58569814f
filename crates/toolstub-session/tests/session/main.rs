//! Sessions over the memory backend, and over one that fails.

mod events;
mod failing;
mod failures;
mod faults;
mod odd;
mod policy;
mod read_back;
mod refs;
mod shapes;
mod steps;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toolstub_core::{EventId, SessionId};
use toolstub_session::{Call, Config, Host, Session, Standing, ToolResult, Turn};
use toolstub_store::{MemoryBackend, ResultStore};

/// A host whose clock stands still, and whose ids are counted.
#[derive(Debug, Default)]
struct Still {
    made: AtomicU64,
}

impl Host for Still {
    fn now(&self) -> String {
        "2026-01-02T03:04:05Z".to_owned()
    }

    fn new_event_id(&self) -> EventId {
        EventId::new(format!("made:{}", self.made.fetch_add(1, Ordering::Relaxed))).unwrap()
    }
}

fn memory() -> ResultStore {
    ResultStore::new(Arc::new(MemoryBackend::new()))
}

fn session_in(store: &ResultStore, config: Config) -> Session {
    let id = SessionId::new("s:1").unwrap();
    Session::new(store.clone(), id, config).with_host(Arc::new(Still::default()))
}

fn session(config: Config) -> Session {
    session_in(&memory(), config)
}

/// Lines of plain output, so many characters of them.
fn log(name: &str, chars: usize) -> String {
    let line = |number| format!("{name}: line {number} says é\n");
    // No line is shorter than ten characters.
    let lines: String = (0..=chars / 10).map(line).collect();
    lines.chars().take(chars).collect()
}

fn result(id: &str, content: impl Into<String>) -> ToolResult {
    ToolResult {
        call: Call { id: id.to_owned(), name: "bash".to_owned(), input: None },
        content: content.into().into(),
        mime_type: None,
        standing: Standing::Raw,
    }
}

fn turn(results: Vec<ToolResult>) -> Turn {
    Turn { id: "m1".to_owned(), results, ..Turn::default() }
}
