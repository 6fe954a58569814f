//! The store on object storage, which counts, fails and is real.

mod contract;
mod fake;
mod faults;
mod flips;
mod layout;
mod place;
mod races;
mod requests;

use toolstub_core::{Kind, Receipt, SessionId, Synopsis};
use toolstub_store::{DEFAULT_HARD_CAP, Original, ReadRequest, ResultStore, WriteRequest};

fn session() -> SessionId {
    SessionId::new("s1").unwrap()
}

fn request(tool_id: &str, kind: Kind) -> WriteRequest {
    let (sample, notable_items) = Default::default();
    let (summary, structure) = (vec!["one".to_owned()], vec![]);
    let title = kind.to_string();
    let synopsis = Synopsis { kind, title, summary, structure, notable_items, sample };
    WriteRequest {
        tool_id: tool_id.to_owned(),
        tool_name: "bash".to_owned(),
        preview_chars: 2000,
        ..WriteRequest::new(session(), synopsis, "2026-01-02T03:04:05Z")
    }
}

fn original(content: impl Into<Vec<u8>>) -> Original {
    Original::new(content.into(), DEFAULT_HARD_CAP)
}

/// So many bytes of numbered lines, no two alike.
fn lines(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 40);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.extend_from_slice(format!("{number:08} a line of plain text\n").as_bytes());
    }
    text.truncate(bytes);
    text
}

/// A read of everything.
fn everything() -> ReadRequest {
    ReadRequest { limit: -1, ..ReadRequest::default() }
}

async fn write(store: &ResultStore, tool_id: &str, content: &Original) -> Receipt {
    store.write(content, request(tool_id, Kind::Text)).await.unwrap()
}
