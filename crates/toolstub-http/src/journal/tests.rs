//! Several journals over one store: in every order of their operations, and with every fault.

mod faults;
mod orders;
mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toolstub_core::{Kind, Ref, SessionId, Synopsis};
use toolstub_store::fault::Operation;
use toolstub_store::{
    Backend, Created, DEFAULT_HARD_CAP, Original, ResultStore, StoreError, WriteRequest,
};

use self::shared::Shared;
use super::{Batch, Clock, Idempotency, Journal, SessionRecord, Sums, TRIES, chance, record_key};

const NOW: u64 = 1_796_061_332_000_000;

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn journal(backend: &Arc<dyn Backend>) -> Journal {
    journal_at(backend, NOW)
}

/// A journal whose clock begins at a time, and goes on by a microsecond each time that it is read.
fn journal_at(backend: &Arc<dyn Backend>, begin: u64) -> Journal {
    let time = AtomicU64::new(begin);
    let clock = Clock(Arc::new(move || time.fetch_add(1, Ordering::Relaxed)));
    Journal::new(ResultStore::new(Arc::clone(backend)), clock)
}

fn record() -> SessionRecord {
    SessionRecord {
        schema_version: 1,
        session_id: "s".to_owned(),
        incarnation: chance(),
        created_micros: NOW,
        account_id: "a".to_owned(),
        user_id: "u".to_owned(),
        memory_policy: None,
        auto_commit_policy: None,
        memory_extraction_config: None,
    }
}

/// Stores a result for each text and appends a message for each that refers to it, as a route does.
async fn send(journal: &Journal, texts: &[&str], key: Option<&str>) -> Result<Sums, StoreError> {
    for _ in 0..TRIES {
        let begun = journal.begin(&session(), &record()).await?;
        let mut lines = Vec::new();
        for text in texts {
            let synopsis = Synopsis {
                kind: Kind::Text,
                title: "text".to_owned(),
                summary: Vec::new(),
                structure: Vec::new(),
                notable_items: Vec::new(),
                sample: String::new(),
            };
            let request = WriteRequest::new(session(), synopsis, "2026-01-02T03:04:05Z");
            let original = Original::new(text.as_bytes().to_vec(), DEFAULT_HARD_CAP);
            let receipt = journal.store.write(&original, request).await?;
            lines.push(format!("{text} {}", receipt.reference()));
        }
        let request = [texts.first().map_or(0, |text| text.as_bytes()[0]); 32];
        let idempotency = key.map(|key| Idempotency { key: key.into(), request });
        let batch = Batch { lines, tokens: texts.len() as u64, idempotency };
        if let Some(appended) = journal.append(begun, batch).await? {
            return Ok(appended.sums);
        }
    }
    Err(super::busy(&session()))
}

/// The texts of a session's messages, as a new server shows them; `None` without a session.
///
/// What is seen is whole: each result is there, and what is counted is what is shown.
async fn seen(backend: &Arc<dyn Backend>) -> Option<Vec<String>> {
    let journal = journal(backend);
    let names = journal.names(&session()).await.unwrap();
    let opened = journal.open(&session()).await.unwrap();
    let listed = journal.sessions().await.unwrap();
    assert_eq!(opened.is_some(), names.is_some(), "a session is there and is not");
    assert_eq!(listed.len(), usize::from(names.is_some()), "a session is listed and is not");
    let opened = opened?;
    let mut texts = Vec::new();
    for name in names? {
        let object = journal.read(&session(), &name).await.unwrap().expect("it is listed");
        let object = String::from_utf8(object.to_vec()).unwrap();
        // Behind what came with a key stands a note.
        let lines: Vec<_> = object.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len() as u64, name.count);
        for line in lines {
            let (text, reference) = line.split_once(' ').unwrap();
            let reference: Ref = reference.parse().unwrap();
            journal.store.verify(&reference).await.expect("a message has its result");
            texts.push(text.to_owned());
        }
    }
    assert!(texts.is_empty() || opened.record.is_some(), "there are messages without a record");
    assert_eq!(opened.sums.count, texts.len() as u64, "what is counted is not what is shown");
    Some(texts)
}

#[tokio::test]
async fn each_senders_messages_stay_in_order_whatever_the_clocks_say() {
    const HOUR: u64 = 3_600_000_000;
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let journals =
        [journal_at(&backend, NOW + HOUR), journal_at(&backend, NOW), journal_at(&backend, 0)];
    let journals = &journals;
    let sender = |sender: usize| async move {
        for number in 0..20 {
            let text = format!("{sender}:{number}");
            send(&journals[(sender + number) % 3], &[&text], None).await.unwrap();
        }
    };
    futures::future::join_all((0..8).map(sender)).await;
    let texts = seen(&backend).await.unwrap();
    assert_eq!(texts.len(), 160);
    for sender in 0..8 {
        let own: Vec<_> =
            texts.iter().filter(|text| text.starts_with(&format!("{sender}:"))).collect();
        let sent: Vec<_> = (0..20).map(|number| format!("{sender}:{number}")).collect();
        assert_eq!(own, sent.iter().collect::<Vec<_>>());
    }
    for journal in journals {
        assert_eq!(journal.open(&session()).await.unwrap().unwrap().sums.count, 160);
    }
}

#[tokio::test]
async fn one_process_gives_no_time_twice() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let stopped = Clock(Arc::new(|| NOW));
    let journal = Journal::new(ResultStore::new(Arc::clone(&backend)), stopped);
    let texts: Vec<[&str; 1]> =
        "abcdefghi".split("").filter(|c| !c.is_empty()).map(|c| [c]).collect();
    let sent = texts.iter().map(|text| send(&journal, text, None));
    futures::future::try_join_all(sent).await.unwrap();
    let names = journal.names(&session()).await.unwrap().unwrap();
    let times: std::collections::BTreeSet<_> = names.iter().map(|name| name.micros).collect();
    assert_eq!(times.len(), 9);
}

#[tokio::test]
async fn a_batch_is_one_object() {
    let shared = Arc::new(Shared::default());
    let backend: Arc<dyn Backend> = Arc::clone(&shared) as _;
    let journal = journal(&backend);
    let sums = send(&journal, &["a", "b", "c"], None).await.unwrap();
    assert_eq!((sums.count, sums.tokens), (3, 3));
    let names = journal.names(&session()).await.unwrap().unwrap();
    assert_eq!(names.iter().map(|name| name.count).collect::<Vec<_>>(), [3]);
    assert_eq!(seen(&backend).await.unwrap(), ["a", "b", "c"]);
}

#[tokio::test]
async fn what_is_sent_again_with_its_key_is_there_once() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let (one, other) = (journal(&backend), journal(&backend));
    for journal in [&one, &other, &one] {
        assert_eq!(send(journal, &["a", "b"], Some("key")).await.unwrap().count, 2);
    }
    assert_eq!(send(&one, &["a", "b"], Some("another key")).await.unwrap().count, 4);
    // A key counts within one session of an id.
    assert!(other.remove(&session()).await.unwrap());
    assert_eq!(send(&one, &["a", "b"], Some("key")).await.unwrap().count, 2);
    assert_eq!(seen(&backend).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_session_made_again_has_nothing_of_the_first() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let (one, other) = (journal(&backend), journal(&backend));
    for round in 0..3 {
        send(&one, &["a"], None).await.unwrap();
        send(&other, &["b"], None).await.unwrap();
        assert_eq!(seen(&backend).await.unwrap(), ["a", "b"], "round {round}");
        assert_eq!(one.create(&session(), &record()).await.unwrap(), Created::Existed);
        assert!(one.remove(&session()).await.unwrap());
        assert!(!other.remove(&session()).await.unwrap());
        assert_eq!(seen(&backend).await, None);
        assert!(other.open(&session()).await.unwrap().is_none());
        assert_eq!(other.create(&session(), &record()).await.unwrap(), Created::New);
        assert_eq!(one.open(&session()).await.unwrap().unwrap().sums, Sums::default());
    }
}

#[tokio::test]
async fn the_rest_of_a_removal_that_broke_off_is_not_seen() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let journal = journal(&backend);
    send(&journal, &["a"], None).await.unwrap();
    backend.delete(&record_key(&session())).await.unwrap();
    // Its result is there, and a session of a result alone is one.
    assert_eq!(seen(&backend).await.unwrap(), [""; 0]);
    assert_eq!(send(&journal, &["b"], None).await.unwrap().count, 1);
    assert_eq!(seen(&backend).await.unwrap(), ["b"]);
}

#[tokio::test]
async fn a_request_that_took_too_long_begins_anew() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    // Each look at the clock takes a minute.
    let time = AtomicU64::new(NOW);
    let slow = Clock(Arc::new(move || time.fetch_add(200_000_000, Ordering::Relaxed)));
    let slow = Journal::new(ResultStore::new(Arc::clone(&backend)), slow);
    let failed = send(&slow, &["a"], None).await;
    assert!(matches!(failed, Err(StoreError::Busy { .. })), "{failed:?}");
    assert_eq!(seen(&backend).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn wrong_bytes_are_no_messages() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let writer = journal(&backend);
    send(&writer, &["a"], None).await.unwrap();
    let name = writer.names(&session()).await.unwrap().unwrap()[0];
    let key = super::message_key(&session(), &name).unwrap();
    backend.put(&key, "b something else\n".into()).await.unwrap();
    let read = journal(&backend).read(&session(), &name).await;
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
}

#[tokio::test]
async fn many_names_are_listed_by_the_page() {
    let backend: Arc<dyn Backend> = Arc::new(Shared::default());
    let journal = journal(&backend);
    send(&journal, &["a"], None).await.unwrap();
    let first = journal.names(&session()).await.unwrap().unwrap()[0];
    // More of one time than fit a page, as nobody makes them, and what is no message.
    for number in 0..2500_u64 {
        let unique = super::name::Unique::of_chance(number);
        let micros = first.micros + 1 + if number < 1500 { 0 } else { number };
        let name = super::Name { micros, unique, ..first };
        let key = super::message_key(&session(), &name).unwrap();
        backend.put(&key, "a".into()).await.unwrap();
    }
    let stray = super::messages(&session()).join("0.txt").unwrap();
    backend.put(&stray, "a".into()).await.unwrap();
    let names = journal.names(&session()).await.unwrap().unwrap();
    assert_eq!(names.len(), 2501);
    assert!(names.is_sorted());
}

/// The operations of one call, in order.
#[track_caller]
fn costs(shared: &Shared, operations: &[Operation]) {
    assert_eq!(shared.take_operations(), operations);
}

#[tokio::test]
async fn a_message_costs_few_requests() {
    use Operation::{Create, Delete, Get, List, Prune, Put};

    let shared = Arc::new(Shared::default());
    let backend: Arc<dyn Backend> = Arc::clone(&shared) as _;
    let one = journal(&backend);
    send(&one, &[], None).await.unwrap();
    costs(&shared, &[Get, List, Get, Create]);
    let batch = || Batch { lines: vec!["a".to_owned()], tokens: 1, idempotency: None };
    for _ in 0..2 {
        let begun = one.begin(&session(), &record()).await.unwrap();
        costs(&shared, &[Get, List]);
        one.append(begun, batch()).await.unwrap().unwrap();
        costs(&shared, &[Put, Get]);
    }
    one.open(&session()).await.unwrap();
    costs(&shared, &[Get, List]);
    one.names(&session()).await.unwrap();
    costs(&shared, &[Get, List]);
    one.create(&session(), &record()).await.unwrap();
    costs(&shared, &[List, Get]);
    one.remove(&session()).await.unwrap();
    costs(&shared, &[Get, Delete, List, Delete, Delete, List, Prune]);
    one.create(&session(), &record()).await.unwrap();
    // There may be results without a record: of the session, and of its events.
    costs(&shared, &[List, Get, List, List, Create, Get]);
}
