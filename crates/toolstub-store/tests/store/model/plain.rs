//! What a store is beside its promises on faults: a map from refs to contents.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use toolstub_core::{EventId, Kind, OffsetUnit, Ref, SessionId, Synopsis};
use toolstub_store::{
    Backend, CollectRequest, DEFAULT_HARD_CAP, Key, ListRequest, Original, ReadRequest,
    ResultStore, SearchRequest, StoreError, WriteRequest,
};

const SESSIONS: [&str; 3] = ["s1", "s10", "agent:main:7"];
const EVENTS: [Option<&str>; 4] = [None, Some("e1"), Some("e:1"), Some("e10")];
const TOOLS: [&str; 2] = ["bash", "grep"];
const KINDS: [Kind; 2] = [Kind::Text, Kind::Json];

/// Where a result is, by numbers into the lists above and of a content.
type Place = (usize, usize, usize);

/// What is done.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Put { place: Place, tool: usize, kind: usize },
    Read { place: Place, offset: u64, limit: i64, unit: usize },
    Search { place: Place, query: &'static str },
    List { session: usize, tool: Option<usize>, kind: Option<usize>, limit: i128 },
    Delete { place: Place },
    Purge { session: usize },
    PurgeEvent { session: usize, event: usize },
    Leave { session: usize },
    Collect,
    Verify,
    Reopen,
}

/// Up to so many actions.
pub(crate) fn actions(most: usize) -> impl Strategy<Value = Vec<Action>> {
    let place = || (0..SESSIONS.len(), 0..EVENTS.len(), 0..4_usize);
    let action = prop_oneof![
        6 => (place(), 0..2_usize, 0..2_usize)
            .prop_map(|(place, tool, kind)| Action::Put { place, tool, kind }),
        4 => (place(), 0..90_000_u64, -1..70_000_i64, 0..3_usize).prop_map(
            |(place, offset, limit, unit)| Action::Read { place, offset, limit, unit }
        ),
        2 => (place(), prop::sample::select(vec!["é", "line", "7", "absent"]))
            .prop_map(|(place, query)| Action::Search { place, query }),
        3 => (0..SESSIONS.len(), prop::option::of(0..2_usize), prop::option::of(0..2_usize), 1..7_i128)
            .prop_map(|(session, tool, kind, limit)| Action::List { session, tool, kind, limit }),
        2 => place().prop_map(|place| Action::Delete { place }),
        1 => (0..SESSIONS.len()).prop_map(|session| Action::Purge { session }),
        1 => (0..SESSIONS.len(), 1..EVENTS.len())
            .prop_map(|(session, event)| Action::PurgeEvent { session, event }),
        1 => (0..SESSIONS.len()).prop_map(|session| Action::Leave { session }),
        1 => Just(Action::Collect),
        1 => Just(Action::Verify),
        1 => Just(Action::Reopen),
    ];
    prop::collection::vec(action, 0..most)
}

static CONTENTS: LazyLock<[(String, Original); 4]> = LazyLock::new(|| {
    let numbered = (0..9000).map(|n| format!("line {n}\n")).collect();
    [String::new(), "one line".to_owned(), "é漢🎯\r\n".repeat(7000), numbered]
        .map(|content| (content.clone(), Original::new(content, DEFAULT_HARD_CAP)))
});

fn content(number: usize) -> &'static str {
    &CONTENTS[number].0
}

fn session(number: usize) -> SessionId {
    SessionId::new(SESSIONS[number]).unwrap()
}

fn event(number: usize) -> Option<EventId> {
    EVENTS[number].map(|event| EventId::new(event).unwrap())
}

fn original(number: usize) -> &'static Original {
    &CONTENTS[number].1
}

fn reference((session_id, event_id, number): Place) -> Ref {
    Ref::in_event(session(session_id), event(event_id), original(number).id("call"))
}

/// In the order of listings: those of the session first, then event by event.
fn order(place: Place) -> (String, String) {
    let event = event(place.1).map_or_else(String::new, |event| format!("{}/", event.encoded()));
    (event, reference(place).id().to_string())
}

/// Does the same to a store and to a map, and compares.
pub(crate) fn follow(open: impl Fn() -> Arc<dyn Backend>, actions: &[Action]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut store = ResultStore::new(open());
        let mut map: BTreeMap<Place, (usize, usize)> = BTreeMap::new();
        for action in actions {
            if let Action::Reopen = action {
                store = ResultStore::new(open());
            }
            apply(&store, &mut map, action).await;
        }
        for &place in map.keys() {
            let request = ReadRequest { limit: -1, ..ReadRequest::default() };
            let piece = store.read(&reference(place), &request).await.unwrap();
            assert!(piece.bytes == content(place.2));
        }
    });
}

async fn apply(store: &ResultStore, map: &mut BTreeMap<Place, (usize, usize)>, action: &Action) {
    match *action {
        Action::Put { place, tool, kind } => {
            let synopsis = Synopsis {
                kind: KINDS[kind],
                title: String::new(),
                summary: vec![],
                structure: vec![],
                notable_items: vec![],
                sample: String::new(),
            };
            let request = WriteRequest {
                event: event(place.1),
                tool_id: "call".to_owned(),
                tool_name: TOOLS[tool].to_owned(),
                ..WriteRequest::new(session(place.0), synopsis, "2026-01-02T03:04:05Z")
            };
            let receipt = store.write(original(place.2), request).await.unwrap();
            assert_eq!(receipt.existed(), map.contains_key(&place));
            let first = map.entry(place).or_insert((tool, kind));
            assert_eq!(receipt.metadata().tool_name, TOOLS[first.0]);
            assert_eq!(receipt.metadata().synopsis_kind, KINDS[first.1]);
        }
        Action::Read { place, offset, limit, unit } => {
            let unit = [OffsetUnit::UnicodeCodePoint, OffsetUnit::Byte, OffsetUnit::Line][unit];
            let request = ReadRequest {
                offset: offset.into(),
                limit: limit.into(),
                unit,
                include_metadata: false,
            };
            let read = store.read(&reference(place), &request).await;
            if !map.contains_key(&place) {
                assert!(matches!(read, Err(StoreError::NotFound { .. })), "{read:?}");
                return;
            }
            let text = content(place.2);
            let count = |limit: i64| usize::try_from(limit).unwrap_or(usize::MAX);
            let offset = offset as usize;
            let expected: String = match unit {
                OffsetUnit::UnicodeCodePoint => {
                    text.chars().skip(offset).take(count(limit)).collect()
                }
                OffsetUnit::Line => {
                    text.split_inclusive('\n').skip(offset).take(count(limit)).collect()
                }
                OffsetUnit::Byte => {
                    let floor = |at: usize| {
                        let at = at.min(text.len());
                        (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
                    };
                    let (start, end) = (floor(offset), floor(offset.saturating_add(count(limit))));
                    let first = text[start..].chars().next().map_or(0, char::len_utf8);
                    let few = limit != 0 && end <= start && offset < text.len();
                    let end = if few { start + first } else { end.max(start) };
                    if limit == 0 { String::new() } else { text[start..end].to_owned() }
                }
            };
            assert!(read.unwrap().content() == expected, "{action:?}");
        }
        Action::Search { place, query } => {
            let request = SearchRequest { limit: 10_000, ..SearchRequest::new(query) };
            let searched = store.search(&reference(place), &request).await;
            if !map.contains_key(&place) {
                assert!(matches!(searched, Err(StoreError::NotFound { .. })), "{searched:?}");
                return;
            }
            let text = content(place.2);
            let found = searched.unwrap();
            let (mut chars, mut at) = (0, 0);
            let expected: Vec<u64> = text
                .match_indices(query)
                .map(|(start, _)| {
                    chars += text[at..start].chars().count() as u64;
                    at = start;
                    chars
                })
                .take(10_000)
                .collect();
            assert!(found.matches.iter().map(|found| found.offset).eq(expected), "{action:?}");
        }
        Action::List { session: session_id, tool, kind, limit } => {
            let mut expected: Vec<_> = map
                .iter()
                .filter(|(place, about)| {
                    place.0 == session_id
                        && tool.is_none_or(|tool| tool == about.0)
                        && kind.is_none_or(|kind| kind == about.1)
                })
                .map(|(&place, _)| place)
                .collect();
            expected.sort_by_key(|&place| order(place));
            let expected: Vec<_> =
                expected.into_iter().map(|place| reference(place).to_string()).collect();
            let mut request = ListRequest {
                tool_name: tool.map(|tool| TOOLS[tool].to_owned()),
                kind: kind.map(|kind| KINDS[kind]),
                limit,
                ..ListRequest::default()
            };
            let mut listed = Vec::new();
            loop {
                let page = store.list(&session(session_id), &request).await.unwrap();
                assert!(page.records.len() as i128 <= limit);
                listed.extend(page.records.into_iter().map(|record| record.storage_uri));
                request.cursor = page.next_cursor;
                if request.cursor.is_none() {
                    break;
                }
            }
            assert_eq!(listed, expected);
            let any = map.keys().any(|place| place.0 == session_id);
            assert_eq!(store.has_results(&session(session_id)).await.unwrap(), any);
        }
        Action::Delete { place } => {
            let deleted = store.delete(&reference(place)).await;
            match map.remove(&place) {
                Some(_) => deleted.unwrap(),
                None => assert!(matches!(deleted, Err(StoreError::NotFound { .. }))),
            }
        }
        Action::Purge { session: session_id } => {
            let removed = store.purge(&session(session_id)).await.unwrap();
            let before = map.len();
            map.retain(|place, _| place.0 != session_id);
            assert_eq!(removed.results, (before - map.len()) as u64);
        }
        Action::PurgeEvent { session: session_id, event: event_id } => {
            let event = event(event_id).unwrap();
            let removed = store.purge_event(&session(session_id), &event).await.unwrap();
            let before = map.len();
            map.retain(|place, _| (place.0, place.1) != (session_id, event_id));
            assert_eq!(removed.results, (before - map.len()) as u64);
        }
        Action::Leave { session: session_id } => {
            let session = session(session_id);
            let name = format!("sessions/{}/tool-results/tr_left/output.txt", session.encoded());
            store.backend().put(&Key::new(name).unwrap(), "left".into()).await.unwrap();
        }
        Action::Collect => {
            let now = SystemTime::now() + Duration::from_secs(3600);
            let request = CollectRequest { now, older_than: Duration::ZERO, dry_run: false };
            store.gc(&request).await.unwrap();
            assert_eq!(store.gc(&request).await.unwrap().objects, 0);
        }
        Action::Verify => {
            let verified = store.verify_all().await.unwrap();
            assert_eq!((verified.whole, verified.damaged.len()), (map.len() as u64, 0));
        }
        Action::Reopen => {}
    }
}
