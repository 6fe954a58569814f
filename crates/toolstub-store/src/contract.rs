//! What every backend must do, as a suite that any backend can run.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use toolstub_store::{MemoryBackend, contract};
//!
//! contract::check(|| Arc::new(MemoryBackend::new())).await;
//! # });
//! ```

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;

use crate::{Backend, BackendError, Body, Created, Depth, Entry, Key, ListOptions};

/// Runs the suite. Each part asks for a backend that holds nothing.
///
/// # Panics
///
/// With what was found, if the backend breaks the contract.
pub async fn check(fresh: impl Fn() -> Arc<dyn Backend>) {
    check_unconditional(&fresh).await;
    create_does_not_replace(&*fresh()).await;
    one_of_many_creators_wins(&*fresh()).await;
}

/// Runs the suite but for what [`Backend::create`] does where there is an object already.
///
/// For places that ignore the condition and write. A store over one loses nothing by it.
///
/// # Panics
///
/// With what was found, if the backend breaks the contract.
pub async fn check_unconditional(fresh: impl Fn() -> Arc<dyn Backend>) {
    objects_come_back(&*fresh()).await;
    spools_are_put(&*fresh()).await;
    put_replaces(&*fresh()).await;
    ranges_are_exact(&*fresh()).await;
    large_objects_are_refused(&*fresh()).await;
    absence_is_told(&*fresh()).await;
    deleting_can_be_repeated(&*fresh()).await;
    folders_are_whole_parts_of_keys(&*fresh()).await;
    listings_are_in_order_by_the_page(&*fresh()).await;
    pruning_and_flushing_keep_objects(&*fresh()).await;
}

fn key(key: &str) -> Key {
    Key::new(key).expect("the suite's keys are keys")
}

#[track_caller]
fn done<T>(what: &str, result: Result<T, BackendError>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}

async fn put(backend: &dyn Backend, name: &str, body: &'static [u8]) {
    done(name, backend.put(&key(name), body.into()).await);
}

async fn get(backend: &dyn Backend, name: &str) -> Bytes {
    done(name, backend.get(&key(name), 1 << 30).await)
}

async fn objects_come_back(backend: &dyn Backend) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = every_byte.repeat(40_000);
    for (name, body) in
        [("a", Vec::new()), ("a%3Ab/c.d/é e/output.txt", every_byte), ("large/output.txt", large)]
    {
        let body = Bytes::from(body);
        done(name, backend.put(&key(name), body.clone().into()).await);
        assert!(get(backend, name).await == body, "{name} came back changed");
        let head = done(name, backend.head(&key(name)).await);
        assert_eq!(head.size, body.len() as u64, "the size of {name}");
    }
}

async fn spools_are_put(backend: &dyn Backend) {
    let part = Bytes::from((0..=255).cycle().take(3 << 20).collect::<Vec<u8>>());
    for (name, parts) in [("none/output.txt", 0), ("some/output.txt", 1), ("a/b.txt", 6)] {
        let mut writer = done("a spool", backend.spool().await);
        for _ in 0..parts {
            done("append", writer.append(part.clone()).await);
        }
        let spool = done("finish", writer.finish());
        let body = part.repeat(parts);
        // Putting is repeated where it is doubtful, and replaces.
        for _ in 0..2 {
            done(name, backend.put(&key(name), Body::Spool(spool.clone())).await);
            assert!(get(backend, name).await == body, "{name} came back changed");
            put(backend, name, b"other").await;
        }
        done(name, backend.put(&key(name), Body::Spool(spool.clone())).await);
        drop(spool);
        assert!(get(backend, name).await == body, "{name} went with its spool");
        done("delete", backend.delete(&key(name)).await);
    }
    let mut given_up = done("a spool", backend.spool().await);
    done("append", given_up.append(part).await);
    drop(given_up);
    assert_eq!(list(backend, None, Depth::All, 9).await, [""; 0], "a spool left something behind");
}

async fn put_replaces(backend: &dyn Backend) {
    for body in [&b"first"[..], b"", b"the last"] {
        put(backend, "a/b", body).await;
        assert_eq!(get(backend, "a/b").await, body);
    }
}

async fn create_does_not_replace(backend: &dyn Backend) {
    let create = async |body: &'static [u8]| {
        done("create", backend.create(&key("a/b"), Bytes::from_static(body)).await)
    };
    assert_eq!(create(b"first").await, Created::New);
    assert_eq!(create(b"second").await, Created::Existed);
    assert_eq!(get(backend, "a/b").await, &b"first"[..]);
    done("delete", backend.delete(&key("a/b")).await);
    assert_eq!(create(b"third").await, Created::New);
    put(backend, "a/b", b"fourth").await;
    assert_eq!(create(b"fifth").await, Created::Existed);
    assert_eq!(get(backend, "a/b").await, &b"fourth"[..]);
}

async fn one_of_many_creators_wins(backend: &dyn Backend) {
    let race = key("race/output.txt");
    let bodies: Vec<Bytes> = (0..16_u8).map(|n| Bytes::from(vec![n; 10_000])).collect();
    let created = join_all(bodies.iter().map(|body| backend.create(&race, body.clone()))).await;
    let winners: Vec<_> = created
        .into_iter()
        .zip(&bodies)
        .filter_map(|(created, body)| (done("race", created) == Created::New).then_some(body))
        .collect();
    assert_eq!(winners.len(), 1, "the creators that won");
    assert!(get(backend, race.as_str()).await == winners[0], "the winner's body stands");
}

async fn ranges_are_exact(backend: &dyn Backend) {
    put(backend, "a", b"0123456789").await;
    let range = async |range: Range<u64>| backend.get_range(&key("a"), range).await;
    for (from, to) in [(0, 10), (0, 1), (9, 10), (3, 7)] {
        let ranged = done("a range", range(from..to).await);
        assert_eq!(ranged.bytes, b"0123456789"[from as usize..to as usize], "{from}..{to}");
        assert_eq!(ranged.size, 10, "the size told with {from}..{to}");
    }
    for (from, to) in [(0, 11), (9, 1 << 40), (10, 11), (1 << 40, 1 << 41)] {
        let refused = range(from..to).await;
        assert!(
            matches!(refused, Err(BackendError::OutOfRange { size: 10, .. })),
            "{from}..{to} of 10 bytes: {refused:?}"
        );
    }
}

async fn large_objects_are_refused(backend: &dyn Backend) {
    put(backend, "a", b"0123456789").await;
    assert_eq!(done("at the cap", backend.get(&key("a"), 10).await).len(), 10);
    let refused = backend.get(&key("a"), 9).await;
    assert!(matches!(refused, Err(BackendError::TooLarge { size: 10, .. })), "{refused:?}");
}

async fn absence_is_told(backend: &dyn Backend) {
    put(backend, "a/b", b"x").await;
    for name in ["b", "a/c", "a/bc", "c/d/e"] {
        let absent = |what, error: Option<BackendError>| {
            let told = matches!(error, Some(BackendError::NotFound { .. }));
            assert!(told, "{what} of {name}: {error:?}");
        };
        absent("get", backend.get(&key(name), 10).await.err());
        absent("get_range", backend.get_range(&key(name), 0..1).await.err());
        absent("head", backend.head(&key(name)).await.err());
    }
}

async fn deleting_can_be_repeated(backend: &dyn Backend) {
    put(backend, "a/b", b"x").await;
    put(backend, "a/c", b"x").await;
    for _ in 0..2 {
        done("delete", backend.delete(&key("a/b")).await);
    }
    done("delete what never was", backend.delete(&key("x/y/z")).await);
    let gone = backend.get(&key("a/b"), 10).await;
    assert!(matches!(gone, Err(BackendError::NotFound { .. })), "{gone:?}");
    assert_eq!(list(backend, Some("a"), Depth::All, 9).await, ["c"]);
}

async fn folders_are_whole_parts_of_keys(backend: &dyn Backend) {
    for name in ["a/x", "a/y/z", "ab/x", "a.b/x", "a"] {
        // Not every place can hold both an object and a folder of one name.
        if name != "a" {
            put(backend, name, b"x").await;
        }
    }
    assert_eq!(list(backend, Some("a"), Depth::Children, 9).await, ["x", "y/"]);
    assert_eq!(list(backend, Some("a"), Depth::All, 9).await, ["x", "y/z"]);
    assert_eq!(list(backend, Some("a/y"), Depth::All, 9).await, ["z"]);
    assert_eq!(list(backend, None, Depth::Children, 9).await, ["a.b/", "a/", "ab/"]);
    assert_eq!(list(backend, Some("b"), Depth::All, 9).await, [""; 0]);
    assert_eq!(list(backend, Some("b/c"), Depth::Children, 9).await, [""; 0]);
}

async fn listings_are_in_order_by_the_page(backend: &dyn Backend) {
    let names = [
        "f/a-b/x",
        "f/a.txt",
        "f/a/1",
        "f/a/2/x",
        "f/a/2/y",
        "f/a/3",
        "f/a0",
        "f/b%3A/x",
        "f/ba",
        "f/c/d/e/f",
        "f/c/d/e0",
        "g/x",
    ];
    for name in names {
        put(backend, name, b"12345").await;
    }
    let all: Vec<_> = names.iter().filter_map(|name| name.strip_prefix("f/")).collect();
    let children = ["a-b/", "a.txt", "a/", "a0", "b%3A/", "ba", "c/"];
    for limit in [1, 2, 3, 5, 100] {
        assert_eq!(list(backend, Some("f"), Depth::All, limit).await, all, "by {limit}");
        assert_eq!(list(backend, Some("f"), Depth::Children, limit).await, children, "by {limit}");
    }
    // A page goes on behind an entry that is gone by then.
    let options = ListOptions {
        folder: Some(key("f")),
        depth: Depth::Children,
        after: Some("aa/".to_owned()),
        limit: 2,
    };
    let page = done("list", backend.list(options).await);
    let markers: Vec<_> = page.entries.iter().map(Entry::marker).collect();
    assert_eq!((markers, page.more), (vec!["b%3A/".to_owned(), "ba".to_owned()], true));
    assert!(
        matches!(page.entries[1], Entry::Object { head, .. } if head.size == 5),
        "an entry tells its size: {:?}",
        page.entries[1]
    );
}

async fn pruning_and_flushing_keep_objects(backend: &dyn Backend) {
    for name in ["a/b/c", "a/d/e"] {
        put(backend, name, b"x").await;
    }
    done("flush", backend.flush(&key("a/b")).await);
    done("flush what is not there", backend.flush(&key("x/y")).await);
    done("delete", backend.delete(&key("a/b/c")).await);
    for folder in ["a/b", "a", "x/y"] {
        done("prune", backend.prune(&key(folder)).await);
    }
    assert_eq!(list(backend, None, Depth::All, 9).await, ["a/d/e"]);
    // A folder that holds nothing may still be listed where folders are only names.
    let children = list(backend, Some("a"), Depth::Children, 9).await;
    assert!(children == ["d/"] || children == ["b/", "d/"], "{children:?}");
    assert_eq!(get(backend, "a/d/e").await, &b"x"[..]);
}

/// Every marker of a folder, asked for by pages of `limit`.
async fn list(
    backend: &dyn Backend,
    folder: Option<&str>,
    depth: Depth,
    limit: usize,
) -> Vec<String> {
    let mut markers: Vec<String> = Vec::new();
    loop {
        let options =
            ListOptions { folder: folder.map(key), depth, after: markers.last().cloned(), limit };
        let page = done("list", backend.list(options).await);
        assert!(page.entries.len() <= limit, "a page of {} by {limit}", page.entries.len());
        let before = markers.len();
        markers.extend(page.entries.iter().map(Entry::marker));
        if !page.more {
            return markers;
        }
        assert!(markers.len() > before, "a page says that there is more and holds nothing");
    }
}
