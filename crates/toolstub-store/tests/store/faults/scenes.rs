//! What is done to a store, and what must hold whatever befalls it.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use toolstub_core::{EventId, Kind, OffsetUnit, Receipt, Ref, SessionId, Synopsis};
use toolstub_store::fault::{self, Fault, FaultyBackend, Run};
use toolstub_store::{
    Backend, CollectRequest, DEFAULT_HARD_CAP, Depth, Entry, Key, ListOptions, ListRequest,
    Original, ReadRequest, ResultStore, SearchMode, SearchRequest, Selector, StoreError,
    WriteRequest,
};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    Write,
    WriteAgain,
    WriteRuined,
    WriteStream,
    Read(OffsetUnit),
    Pointer,
    Rows,
    Lines,
    Literal,
    Regex,
    List,
    Delete,
    Purge,
    PurgeEvent,
    Collect,
    Verify,
    Stats,
    Probe,
}

impl Scenario {
    pub(crate) const WRITES: [Self; 4] =
        [Self::Write, Self::WriteAgain, Self::WriteRuined, Self::Probe];
    pub(crate) const READS: [Self; 11] = [
        Self::Read(OffsetUnit::UnicodeCodePoint),
        Self::Read(OffsetUnit::Byte),
        Self::Read(OffsetUnit::Line),
        Self::Pointer,
        Self::Rows,
        Self::Lines,
        Self::Literal,
        Self::Regex,
        Self::List,
        Self::Verify,
        Self::Stats,
    ];
    pub(crate) const REMOVALS: [Self; 4] =
        [Self::Delete, Self::Purge, Self::PurgeEvent, Self::Collect];

    /// Whether a result is gone once the scenario has come to its end.
    fn removes(self, reference: &Ref) -> bool {
        let session = reference.session().as_str();
        match self {
            Self::Delete => *reference == TEXT.reference,
            Self::Purge => session == "s1",
            Self::PurgeEvent => reference.event().is_some(),
            _ => false,
        }
    }

    /// The result that the scenario makes, where it makes one.
    fn makes(self) -> Option<&'static Content> {
        match self {
            Self::Write => Some(&NEW),
            Self::WriteStream => Some(&LARGE),
            _ => None,
        }
    }
}

/// A content, and what is told of it.
#[derive(Debug, Clone)]
struct Content {
    reference: Ref,
    synopsis: Synopsis,
    original: Original,
    bytes: Bytes,
}

impl Content {
    fn new(session: &str, event: Option<&str>, kind: Kind, content: String) -> Self {
        let structure = match kind {
            Kind::Csv => vec!["column_count: 2".to_owned(), "rows: 6000".to_owned()],
            _ => vec![],
        };
        let bytes = Bytes::from(content);
        let original = Original::new(bytes.clone(), DEFAULT_HARD_CAP);
        let session = SessionId::new(session).unwrap();
        let event = event.map(|event| EventId::new(event).unwrap());
        Self {
            reference: Ref::in_event(session, event, original.id("call")),
            synopsis: Synopsis {
                kind,
                title: kind.to_string(),
                summary: vec![],
                structure,
                notable_items: vec![],
                sample: String::new(),
            },
            original,
            bytes,
        }
    }

    fn request(&self) -> WriteRequest {
        let session = self.reference.session().clone();
        WriteRequest {
            event: self.reference.event().cloned(),
            tool_id: "call".to_owned(),
            ..WriteRequest::new(session, self.synopsis.clone(), "2026-01-02T03:04:05Z")
        }
    }

    async fn write(&self, store: &ResultStore) -> Result<Receipt, StoreError> {
        store.write(&self.original, self.request()).await
    }
}

// Each takes a little more than one block.
static TEXT: LazyLock<Content> =
    LazyLock::new(|| Content::new("s1", None, Kind::Text, "é needle 漢\n".repeat(5000)));
static JSON: LazyLock<Content> = LazyLock::new(|| {
    let items: Vec<_> = (0..4000).map(|n| format!("{{\"n\":{n},\"é\":\"漢\"}}")).collect();
    Content::new("s1", None, Kind::Json, format!("{{\"items\":[{}]}}", items.join(",")))
});
static CSV: LazyLock<Content> = LazyLock::new(|| {
    let rows: String = (1..=6000).map(|n| format!("{n},\"é,漢\"\n")).collect();
    Content::new("s1", Some("e1"), Kind::Csv, format!("id,name\n{rows}"))
});
static OTHER: LazyLock<Content> =
    LazyLock::new(|| Content::new("s2", None, Kind::Text, "another session's".to_owned()));
static NEW: LazyLock<Content> =
    LazyLock::new(|| Content::new("s1", None, Kind::Text, "new é\n".repeat(10_000)));
/// Large enough for a spool.
static LARGE: LazyLock<Content> =
    LazyLock::new(|| Content::new("s3", None, Kind::Text, "x".repeat((8 << 20) + 1)));

/// A store with some results, and leftovers.
struct Scene {
    backend: Arc<FaultyBackend>,
    store: ResultStore,
    kept: [&'static Content; 4],
}

async fn prepare(scenario: Scenario, backend: Arc<FaultyBackend>) -> Scene {
    let store = ResultStore::new(Arc::clone(&backend) as Arc<dyn Backend>);
    let kept = [&*TEXT, &*JSON, &*CSV, &*OTHER];
    for content in kept {
        content.write(&store).await.unwrap();
    }
    for name in ["tr_orphan/output.txt", "tr_orphan/stray", "tr_2/output.txt"] {
        let key = Key::new(format!("sessions/s1/tool-results/{name}")).unwrap();
        backend.put(&key, "left".into()).await.unwrap();
    }
    if scenario == Scenario::WriteRuined {
        let ruined =
            Key::new(format!("sessions/s1/tool-results/{}/metadata.json", TEXT.reference.id()));
        backend.put(&ruined.unwrap(), "{\"ruin".into()).await.unwrap();
    }
    Scene { backend, store, kept }
}

/// What a scenario answers; it may admit that not everything could be read.
type Told = Result<(String, bool), StoreError>;

async fn act(scenario: Scenario, store: &ResultStore) -> Told {
    let told = |answer: &dyn std::fmt::Debug| Ok((format!("{answer:?}"), false));
    let done = Ok((String::new(), false));
    let select = async |content: &Content, selector: Result<Selector, StoreError>| {
        let request = ReadRequest { limit: -1, ..ReadRequest::default() };
        let piece = store.read_selected(&content.reference, &selector?, &request).await?;
        told(&piece)
    };
    let session = SessionId::new("s1")?;
    match scenario {
        Scenario::Write => told(scenario.makes().unwrap().write(store).await?.metadata()),
        Scenario::WriteAgain | Scenario::WriteRuined => told(TEXT.write(store).await?.metadata()),
        Scenario::WriteStream => {
            let content = scenario.makes().unwrap();
            let original = store.take_in(&content.bytes[..], DEFAULT_HARD_CAP).await?;
            told(store.write(&original, content.request()).await?.metadata())
        }
        Scenario::Read(unit) => {
            let (offset, limit) = match unit {
                OffsetUnit::Line => (2000, 2999),
                _ => (40_000, 20_000),
            };
            let request = ReadRequest { offset, limit, unit, include_metadata: true };
            told(&store.read(&TEXT.reference, &request).await?)
        }
        Scenario::Pointer => select(&JSON, Selector::pointer("/items/3900")).await,
        Scenario::Rows => select(&CSV, Selector::rows("5000-5010")).await,
        Scenario::Lines => select(&TEXT, Selector::lines("3000-4999")).await,
        Scenario::Literal => {
            let request =
                SearchRequest { offset: 40_000, count: true, ..SearchRequest::new("needle 漢") };
            told(&store.search(&TEXT.reference, &request).await?)
        }
        Scenario::Regex => {
            let request = SearchRequest {
                mode: SearchMode::Regex,
                limit: 1000,
                ..SearchRequest::new(r"(?i)NEED\w+ 漢\né$|\z")
            };
            told(&store.search(&TEXT.reference, &request).await?)
        }
        Scenario::List => {
            let listed = store.list(&session, &ListRequest::default()).await?;
            Ok((format!("{listed:?}"), listed.unreadable > 0))
        }
        Scenario::Delete => {
            store.delete(&TEXT.reference).await?;
            done
        }
        Scenario::Purge => {
            store.purge(&session).await?;
            done
        }
        Scenario::PurgeEvent => {
            store.purge_event(&session, &EventId::new("e1")?).await?;
            done
        }
        Scenario::Collect => {
            store.gc(&everything()).await?;
            done
        }
        Scenario::Verify => {
            let verified = store.verify_all().await?;
            Ok((format!("{verified:?}"), !verified.damaged.is_empty()))
        }
        Scenario::Stats => {
            let stats = store.stats(None, |_| 100).await?;
            Ok((format!("{stats:?}"), stats.unreadable > 0))
        }
        Scenario::Probe => {
            let checks = store.probe("1", SystemTime::now()).await?;
            let status: Vec<_> = checks.iter().map(|check| (check.name, check.status)).collect();
            Ok((format!("{status:?}"), true))
        }
    }
}

fn everything() -> CollectRequest {
    let now = SystemTime::now() + Duration::from_secs(3600);
    CollectRequest { now, older_than: Duration::ZERO, dry_run: false }
}

/// Every object that there is.
async fn keys(store: &ResultStore) -> Vec<String> {
    let options = ListOptions { folder: None, depth: Depth::All, after: None, limit: 1000 };
    let page = store.backend().list(options).await.unwrap();
    page.entries.iter().map(Entry::marker).collect()
}

/// A content as it can be read; `None` where there is none.
async fn readable(store: &ResultStore, content: &Content, told: &str) -> bool {
    let reference = &content.reference;
    let request = ReadRequest { limit: -1, ..ReadRequest::default() };
    match store.read(reference, &request).await {
        Ok(piece) => {
            assert!(piece.bytes == content.bytes, "{told}: {reference} came back changed");
            store.verify(reference).await.unwrap_or_else(|error| panic!("{told}: {error}"));
            true
        }
        Err(StoreError::NotFound { .. }) => false,
        Err(error) => panic!("{told}: {error}"),
    }
}

/// Runs a scenario with a fault at each of its operations; returns how many there are. `exact`
/// tells that nothing goes on behind a drop.
pub(crate) async fn sweep(
    scenario: Scenario,
    fault: Fault,
    fresh: impl Fn() -> Arc<dyn Backend>,
    exact: bool,
) -> usize {
    let scene = prepare(scenario, Arc::new(FaultyBackend::new(fresh()))).await;
    let (expected, _) = act(scenario, &scene.store).await.unwrap();
    fault::sweep(
        fault,
        fresh,
        async |backend| prepare(scenario, backend).await,
        async |scene: &Scene| act(scenario, &scene.store).await,
        async |scene, run| check(scenario, scene, run, &expected, exact).await,
    )
    .await
}

async fn check(scenario: Scenario, scene: Scene, run: Run<Told>, expected: &str, exact: bool) {
    let Scene { backend, store, kept } = scene;
    let told = match &run.met {
        Some(met) => format!("{scenario:?} with {met}"),
        None => format!("{scenario:?} without a fault"),
    };
    let succeeded = match run.outcome {
        Some(Ok((answer, admits))) => {
            assert!(answer == expected || (admits && run.met.is_some()), "{told}: {answer}");
            true
        }
        Some(Err(error)) => {
            assert!(run.met.is_some(), "{told}: {error}");
            false
        }
        None => false,
    };

    // What was acknowledged holds; what was under way holds whole or is not there.
    let mut after = BTreeMap::new();
    for content in kept.into_iter().chain(scenario.makes()) {
        let reference = &content.reference;
        let is_made = scenario.makes().is_some_and(|made| made.reference == *reference);
        let is_removed = scenario.removes(reference);
        let is_ruined = scenario == Scenario::WriteRuined && *reference == TEXT.reference;
        if succeeded || !is_ruined {
            let is_there = readable(&store, content, &told).await;
            if succeeded || !(is_made || is_removed) {
                assert_eq!(is_there, !is_removed, "{told}: {reference}");
            }
        }
        if !is_removed {
            after.insert(reference.to_string(), content);
        }
    }

    // The same once more comes to its end.
    match act(scenario, &store).await {
        Ok((answer, _)) => assert_eq!(answer, expected, "{told}, and once more"),
        Err(StoreError::NotFound { .. }) if scenario == Scenario::Delete => {}
        Err(error) => panic!("{told}, and once more: {error}"),
    }
    for content in after.values() {
        assert!(readable(&store, content, &told).await, "{told}: {}", content.reference);
    }

    // Then nothing is left but results.
    store.gc(&everything()).await.unwrap();
    if exact {
        let mut objects: Vec<_> = after
            .values()
            .flat_map(|content| {
                let reference = &content.reference;
                let session = reference.session().encoded();
                let event = reference
                    .event()
                    .map_or_else(String::new, |event| format!("events/{}/", event.encoded()));
                let id = reference.id();
                ["metadata.json", "output.txt"]
                    .map(|name| format!("sessions/{session}/{event}tool-results/{id}/{name}"))
            })
            .collect();
        objects.sort();
        assert_eq!(keys(&store).await, objects, "{told}");
    }
    drop(backend);
}
