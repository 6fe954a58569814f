//! A store in a folder of this machine.

use std::path::Path;

use toolstub_core::{Kind, SessionId, Synopsis};
use toolstub_store::{
    DEFAULT_HARD_CAP, ListRequest, Original, ReadRequest, ResultStore, WriteRequest,
};
use toolstub_store_object::{OpenOptions, open};

fn synopsis() -> Synopsis {
    Synopsis {
        kind: Kind::Text,
        title: "text".to_owned(),
        summary: vec![],
        structure: vec![],
        notable_items: vec![],
        sample: String::new(),
    }
}

fn store(root: &Path) -> ResultStore {
    ResultStore::new(open(root.to_str().unwrap(), &OpenOptions::default()).unwrap())
}

fn session(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

/// Every path below a folder, relative to it, in order.
fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn the_layout_is_the_documented_one() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let original = Original::new("hello\n", DEFAULT_HARD_CAP);
    let request = WriteRequest::new(session("agent:main:7"), synopsis(), "2026-01-02T03:04:05Z");
    let receipt = store.write(&original, request).await.unwrap();
    let id = receipt.reference().id();
    assert_eq!(
        tree(root.path()),
        [
            "sessions".to_owned(),
            "sessions/agent%3Amain%3A7".to_owned(),
            "sessions/agent%3Amain%3A7/tool-results".to_owned(),
            format!("sessions/agent%3Amain%3A7/tool-results/{id}"),
            format!("sessions/agent%3Amain%3A7/tool-results/{id}/metadata.json"),
            format!("sessions/agent%3Amain%3A7/tool-results/{id}/output.txt"),
        ]
    );
    let piece = store.read(receipt.reference(), &ReadRequest::default()).await.unwrap();
    assert_eq!(piece.content(), "hello\n");
    let listed = store.list(&session("agent:main:7"), &ListRequest::default()).await.unwrap();
    assert_eq!(listed.records, [receipt.metadata().clone()]);
    store.delete(receipt.reference()).await.unwrap();
    assert_eq!(tree(root.path()), Vec::<String>::new());
}
