//! A store in a folder of this machine.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolstub_core::{Kind, Receipt, SessionId, Synopsis};
use toolstub_store::{
    Backend, BackendError, CollectRequest, DEFAULT_HARD_CAP, ListRequest, Original, ReadRequest,
    ResultStore, StoreError, WriteRequest, contract,
};
use toolstub_store_object::{LocalBackend, ObjectBackend, OpenError, OpenOptions, open};

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
        for entry in fs::read_dir(folder).unwrap() {
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

async fn write(store: &ResultStore, session_id: &str, content: &str) -> Receipt {
    let request = WriteRequest::new(session(session_id), synopsis(), "2026-01-02T03:04:05Z");
    store.write(&Original::new(content.to_owned(), DEFAULT_HARD_CAP), request).await.unwrap()
}

async fn read(store: &ResultStore, receipt: &Receipt) -> Result<String, StoreError> {
    let request = ReadRequest { limit: -1, ..ReadRequest::default() };
    let piece = store.read(receipt.reference(), &request).await?;
    Ok(piece.content().into_owned())
}

async fn count(store: &ResultStore, session_id: &str) -> usize {
    store.list(&session(session_id), &ListRequest::default()).await.unwrap().records.len()
}

fn folder_of(root: &Path, receipt: &Receipt) -> PathBuf {
    let session = receipt.reference().session().encoded();
    root.join("sessions").join(session).join("tool-results").join(receipt.reference().id().as_str())
}

async fn keeps_the_contract(fsync: bool) {
    let roots = tempfile::tempdir().unwrap();
    contract::check(|| {
        let root = tempfile::tempdir_in(roots.path()).unwrap().keep();
        Arc::new(
            LocalBackend::open(&root, &OpenOptions { fsync, ..OpenOptions::default() }).unwrap(),
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_backend_keeps_the_contract() {
    keeps_the_contract(true).await;
    keeps_the_contract(false).await;
}

#[tokio::test]
async fn an_object_store_keeps_the_contract() {
    contract::check(|| {
        Arc::new(ObjectBackend::new(Arc::new(object_store::memory::InMemory::new())))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_writers_of_one_id_are_all_right() {
    let root = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let content = format!("content of round {round}\n").repeat(5000);
        let writers: Vec<_> = (0..16)
            .map(|writer| {
                // Each opens the store for itself, as processes do.
                let (store, content) = (store(root.path()), content.clone());
                let mut request =
                    WriteRequest::new(session("s1"), synopsis(), "2026-01-02T03:04:05Z");
                request.tool_name = format!("tool {writer}");
                tokio::spawn(async move {
                    let original = Original::new(content.clone(), DEFAULT_HARD_CAP);
                    let receipt = store.write(&original, request).await.unwrap();
                    assert!(read(&store, &receipt).await.unwrap() == content);
                    receipt
                })
            })
            .collect();
        let mut receipts = Vec::new();
        for writer in writers {
            receipts.push(writer.await.unwrap());
        }
        let first = receipts.iter().filter(|receipt| !receipt.existed()).count();
        assert_eq!(first, 1, "round {round}");
        assert!(receipts.iter().all(|receipt| receipt.metadata() == receipts[0].metadata()));
    }
    let store = store(root.path());
    assert_eq!(count(&store, "s1").await, 8);
    assert!(tree(root.path()).iter().all(|path| !path.contains('#')), "a temporary file is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_and_purgers_do_not_harm_each_other() {
    let root = tempfile::tempdir().unwrap();
    let purger = store(root.path());
    let purging = tokio::spawn(async move {
        for _ in 0..40 {
            purger.purge(&session("s1")).await.unwrap();
        }
    });
    let store = store(root.path());
    let other = write(&store, "s2", "other").await;
    let mut number = 0;
    while !purging.is_finished() {
        let request = WriteRequest::new(session("s1"), synopsis(), "2026-01-02T03:04:05Z");
        let content = Original::new(format!("content {number}"), DEFAULT_HARD_CAP);
        // A write may fail as its folder goes, but never with anything else.
        if let Err(error) = store.write(&content, request).await {
            assert!(
                matches!(error, StoreError::Backend(BackendError::NotFound { .. })),
                "{error:?}"
            );
        }
        number += 1;
    }
    purging.await.unwrap();
    store.purge(&session("s1")).await.unwrap();
    assert!(tree(root.path()).iter().all(|path| !path.starts_with("sessions/s1")));
    assert_eq!(read(&store, &other).await.unwrap(), "other");
}

#[tokio::test]
async fn nobody_else_may_read() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("a/b");
    let store = store(&root);
    let receipt = write(&store, "s1", "secret").await;
    write(&store, "s1", "secret").await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&root), 0o700);
    for path in tree(&root) {
        let expected = if root.join(&path).is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&root.join(&path)), expected, "{path}");
    }
    assert_eq!(mode(&folder_of(&root, &receipt)), 0o700);
}

#[tokio::test]
async fn a_root_can_be_moved() {
    let parent = tempfile::tempdir().unwrap();
    let (from, to) = (parent.path().join("from"), parent.path().join("to"));
    let receipt = write(&store(&from), "s1", "content").await;
    fs::rename(&from, &to).unwrap();
    assert_eq!(read(&store(&to), &receipt).await.unwrap(), "content");
}

#[tokio::test]
async fn a_purge_leaves_nothing_of_the_session() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let receipt = write(&store, "s1", "content").await;
    let other = write(&store, "s10", "content").await;
    let folder = folder_of(root.path(), &receipt);
    for name in ["output.txt.1234.tmp", ".tmpAbC", "metadata.json.part", "empty", "output.txt#1"] {
        fs::write(folder.join(name), "x").unwrap();
        fs::write(root.path().join("sessions/s1").join(name), "x").unwrap();
    }
    fs::create_dir_all(folder.join("deep/er")).unwrap();
    fs::write(folder.join("a\nname that is no key"), "x").unwrap();
    let not_utf8 = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff");
    fs::write(folder.join(not_utf8), "x").unwrap();
    let outside = root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "x").unwrap();
    symlink(&outside, folder.join("link")).unwrap();
    symlink("nowhere", folder.join("dangling")).unwrap();

    assert_eq!(count(&store, "s1").await, 1);
    assert_eq!(read(&store, &receipt).await.unwrap(), "content");
    let removed = store.purge(&session("s1")).await.unwrap();
    assert_eq!(removed.results, 1);
    assert!(!root.path().join("sessions/s1").exists());
    assert!(outside.join("file").exists(), "a link was followed");
    assert_eq!(read(&store, &other).await.unwrap(), "content");
    let again = read(&store, &receipt).await;
    assert!(matches!(again, Err(StoreError::NotFound { .. })), "{again:?}");
}

#[tokio::test]
async fn links_are_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let receipt = write(&store, "s1", "content").await;
    let folder = folder_of(root.path(), &receipt);

    let secret = elsewhere.path().join("secret");
    fs::write(&secret, "content").unwrap();
    fs::remove_file(folder.join("output.txt")).unwrap();
    symlink(&secret, folder.join("output.txt")).unwrap();
    let refused = read(&store, &receipt).await.unwrap_err().to_string();
    assert!(refused.contains("is a symbolic link where the store keeps a file"), "{refused}");

    // A session that is a link can be neither read nor written through, nor purged into.
    let target = elsewhere.path().join("target");
    fs::create_dir_all(target.join("tool-results")).unwrap();
    symlink(&target, root.path().join("sessions/s2")).unwrap();
    let request = WriteRequest::new(session("s2"), synopsis(), "2026-01-02T03:04:05Z");
    let content = Original::new("content", DEFAULT_HARD_CAP);
    let refused = store.write(&content, request).await.unwrap_err();
    assert!(matches!(refused, StoreError::Backend(BackendError::Misplaced { .. })), "{refused:?}");
    assert!(store.purge(&session("s2")).await.is_err());
    assert!(store.list(&session("s2"), &ListRequest::default()).await.is_err());
    assert_eq!(tree(&target), ["tool-results"]);

    symlink("..", root.path().join("sessions/s1/tool-results/loop")).unwrap();
    assert_eq!(count(&store, "s1").await, 1);
}

#[tokio::test]
async fn a_named_pipe_does_not_block() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let receipt = write(&store, "s1", "content").await;
    let other = write(&store, "s1", "other").await;
    for name in ["output.txt", "metadata.json"] {
        let path = folder_of(root.path(), &receipt).join(name);
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success() && fs::metadata(&path).unwrap().file_type().is_fifo());
        let asked = tokio::time::timeout(Duration::from_secs(5), read(&store, &receipt)).await;
        let refused = asked.expect("the read hangs").unwrap_err().to_string();
        assert!(refused.contains("is a special file"), "{refused}");
    }
    assert_eq!(count(&store, "s1").await, 1);
    assert_eq!(read(&store, &other).await.unwrap(), "other");
    store.purge(&session("s1")).await.unwrap();
    assert_eq!(tree(root.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_root_that_is_no_folder_is_a_clear_error() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("root");
    fs::write(&root, "a file").unwrap();
    let error = open(root.to_str().unwrap(), &OpenOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::Folder { .. }), "{error:?}");
    assert!(open(root.join("below").to_str().unwrap(), &OpenOptions::default()).is_err());
    fs::remove_file(&root).unwrap();

    // The folder can become a file while the store is open.
    let store = store(&root);
    let receipt = write(&store, "s1", "content").await;
    let aside = parent.path().join("aside");
    fs::rename(&root, &aside).unwrap();
    fs::write(&root, "a file").unwrap();
    let request = WriteRequest::new(session("s1"), synopsis(), "2026-01-02T03:04:05Z");
    let failed = store.write(&Original::new("more", DEFAULT_HARD_CAP), request).await;
    let text = failed.unwrap_err().to_string();
    assert!(text.contains("is a file where the store keeps its root folder"), "{text}");
    assert!(read(&store, &receipt).await.is_err());
    fs::remove_file(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    assert_eq!(read(&store, &receipt).await.unwrap(), "content");
}

#[tokio::test]
async fn a_session_that_is_a_file_harms_no_other() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let receipt = write(&store, "s1", "content").await;
    fs::write(root.path().join("sessions/s2"), "a file").unwrap();
    let request = WriteRequest::new(session("s2"), synopsis(), "2026-01-02T03:04:05Z");
    let failed = store.write(&Original::new("more", DEFAULT_HARD_CAP), request).await;
    let text = failed.unwrap_err().to_string();
    assert!(text.contains("`sessions/s2` is a file where the store keeps a folder"), "{text}");
    assert_eq!(count(&store, "s1").await, 1);
    assert_eq!(read(&store, &receipt).await.unwrap(), "content");
    assert_eq!(store.verify_all().await.unwrap().whole, 1);
}

#[tokio::test]
async fn a_cut_output_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let receipt = write(&store, "s1", &"0123456789".repeat(20_000)).await;
    let output = folder_of(root.path(), &receipt).join("output.txt");
    fs::OpenOptions::new().write(true).open(&output).unwrap().set_len(150_000).unwrap();
    let error = read(&store, &receipt).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    // A part that is still there is not passed off as part of something whole.
    let start = store.read(receipt.reference(), &ReadRequest::default()).await;
    assert!(matches!(start, Err(StoreError::Corrupt { .. })), "{start:?}");
    assert_eq!(count(&store, "s1").await, 1);
}

#[tokio::test]
async fn clearing_up_leaves_nothing_but_results() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let receipt = write(&store, "s1", "content").await;
    let before = tree(root.path());
    let leftover = folder_of(root.path(), &receipt).with_file_name("tr_leftover");
    fs::create_dir_all(leftover.join("empty")).unwrap();
    fs::create_dir_all(root.path().join("sessions/s3/events/e1")).unwrap();
    for name in ["output.txt", "output.txt#7", "metadata.json#1"] {
        fs::write(leftover.join(name), "x").unwrap();
    }
    let later = std::time::SystemTime::now() + Duration::from_secs(25 * 60 * 60);
    let removed = store.gc(&CollectRequest::new(later)).await.unwrap();
    assert_eq!((removed.objects, removed.bytes), (3, 3));
    assert_eq!(tree(root.path()), before);
}

#[tokio::test]
async fn many_entries_are_listed_by_the_page() {
    let root = tempfile::tempdir().unwrap();
    let backend =
        LocalBackend::open(root.path(), &OpenOptions { fsync: false, ..OpenOptions::default() })
            .unwrap();
    for number in 0..3000 {
        let folder = root.path().join(format!("f/{:02}/{number:05}", number % 7));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("x"), "").unwrap();
    }
    let mut markers = Vec::new();
    loop {
        let options = toolstub_store::ListOptions {
            folder: Some(toolstub_store::Key::new("f").unwrap()),
            depth: toolstub_store::Depth::All,
            after: markers.last().cloned(),
            limit: 700,
        };
        let page = backend.list(options).await.unwrap();
        markers.extend(page.entries.iter().map(toolstub_store::Entry::marker));
        if !page.more {
            break;
        }
    }
    assert!(markers.is_sorted());
    assert_eq!(markers.len(), 3000);
}

#[tokio::test]
async fn the_spool_of_a_dead_process_is_collected() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let mut intake = store.intake(DEFAULT_HARD_CAP);
    let content = "a line of nineteen\n".repeat(700_000);
    intake.push(content.as_bytes()).await.unwrap();
    let spools = || tree(root.path()).into_iter().filter(|path| path.starts_with("spool-")).count();
    assert_eq!(spools(), 1, "{:?}", tree(root.path()));
    let original = intake.finish().await.unwrap();
    let request = WriteRequest::new(session("s"), synopsis(), "2026-01-02T03:04:05Z");
    let receipt = store.write(&original, request).await.unwrap();
    assert_eq!(spools(), 0, "it was moved into its place");
    let output = root
        .path()
        .join(format!("sessions/s/tool-results/{}/output.txt", receipt.reference().id()));
    assert_eq!(fs::read_to_string(&output).unwrap(), content);
    assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);

    fs::write(root.path().join("spool-dead#1"), "x").unwrap();
    let now = std::time::SystemTime::now();
    let young = store.gc(&CollectRequest::new(now)).await.unwrap();
    assert_eq!((young.objects, spools()), (0, 1));
    let tomorrow = now + Duration::from_secs(25 * 60 * 60);
    let old = store.gc(&CollectRequest::new(tomorrow)).await.unwrap();
    assert_eq!((old.objects, old.bytes, spools()), (1, 1, 0));
}

#[tokio::test]
async fn a_clean_up_goes_on_past_what_is_in_its_way() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let results = root.path().join("sessions/s/tool-results");
    for id in ["tr_1", "tr_2", "tr_3"] {
        fs::create_dir_all(results.join(id)).unwrap();
        fs::write(results.join(id).join("output.txt"), "leftover").unwrap();
    }
    fs::create_dir(results.join("tr_2/metadata.json")).unwrap();
    fs::write(results.join("tr_2/metadata.json/x"), "").unwrap();
    let tomorrow = std::time::SystemTime::now() + Duration::from_secs(25 * 60 * 60);
    let told = store.gc(&CollectRequest::new(tomorrow)).await;
    assert!(
        matches!(told, Err(StoreError::Backend(BackendError::Misplaced { .. })) | Ok(_)),
        "{told:?}"
    );
    assert!(!results.join("tr_1").exists() && !results.join("tr_3").exists());
}
