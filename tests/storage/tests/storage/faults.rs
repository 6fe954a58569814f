//! Every operation, with every fault at every request that it makes.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use hyper::Method;
use toolstub_core::{Kind, Ref};
use toolstub_storage_tests::{FakeS3, Fault, Operation, Recorded, Rule};
use toolstub_store::{
    Backend as _, BackendError, Body, CollectRequest, Key, ListRequest, Original, ResultStore,
    SearchRequest, StoreError,
};
use toolstub_store_object::ObjectBackend;

use crate::fake::client;
use crate::place::Place;
use crate::{everything, lines, original, request, session, write};

const FAULTS: [Fault; 10] = [
    Fault::Unavailable,
    Fault::Denied,
    Fault::ErrorBefore,
    Fault::ErrorAfter,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::HangBefore,
    Fault::HangAfter,
    Fault::Truncate,
    Fault::Slow(Duration::from_millis(1)),
];

/// Those that also go on and on.
const LASTING: [Fault; 5] =
    [Fault::Unavailable, Fault::Denied, Fault::ErrorAfter, Fault::ResetAfter, Fault::HangBefore];

/// How long the store waits for an answer that does not come: for a part of 8 MiB, longer.
const TIMEOUT: Duration = Duration::from_millis(700);
const LARGE_TIMEOUT: Duration = Duration::from_secs(3);

/// What is done while something goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Put,
    PutAgain,
    Read,
    Search,
    List,
    Delete,
    Purge,
    Verify,
    Collect,
}

/// A server of its own with a store that holds a result and a leftover.
struct World {
    fake: FakeS3,
    /// The store that things go wrong for.
    store: ResultStore,
    /// The same store, seen by somebody with patience.
    calm: ResultStore,
    /// What is written, or was.
    content: Original,
    reference: Ref,
}

const LEFTOVER: &str = "root/sessions/s1/tool-results/tr_leftover/output.txt";

impl World {
    async fn new(work: Work, content: &Original, fault: Option<Fault>) -> Self {
        let fake = FakeS3::start();
        let place = Place::fake(&fake);
        let calm = place.store("root");
        let hangs = matches!(fault, Some(Fault::HangBefore | Fault::HangAfter));
        let timeout = if content.size() < LARGE as u64 { TIMEOUT } else { LARGE_TIMEOUT };
        let store = if hangs { place.with_timeout(timeout).store("root") } else { calm.clone() };
        write(&calm, "other", &original(lines(30_000))).await;
        if work == Work::Collect {
            fake.insert(LEFTOVER, "left over".into());
        }
        if work != Work::Put {
            write(&calm, "call_1", content).await;
        }
        let reference = Ref::new(session(), content.id("call_1"));
        fake.forget();
        Self { fake, store, calm, content: content.clone(), reference }
    }

    /// Does the work; whatever is answered is right.
    async fn run(&self, work: Work, store: &ResultStore) -> Result<(), StoreError> {
        match work {
            Work::Put | Work::PutAgain => {
                let request = request("call_1", Kind::Text);
                let receipt = store.write(&self.content, request).await?;
                assert_eq!(*receipt.reference(), self.reference);
            }
            Work::Read => {
                let piece = store.read(&self.reference, &everything()).await?;
                let sha256 = original(piece.bytes.to_vec()).sha256();
                assert!(sha256 == self.content.sha256(), "wrong bytes");
            }
            Work::Search => {
                let request = SearchRequest::new("00000700 a line");
                let found = store.search(&self.reference, &request).await?;
                assert_eq!(found.matches.len(), 1);
                assert_eq!(found.matches[0].line, 701);
            }
            Work::List => {
                let listed = store.list(&session(), &ListRequest::default()).await?;
                assert_eq!(listed.records.len() as u64 + listed.unreadable, 2);
            }
            Work::Delete => match store.delete(&self.reference).await {
                // An earlier try got as far as that.
                Err(StoreError::NotFound { .. }) if self.is_gone(store).await => {}
                deleted => deleted?,
            },
            Work::Purge => {
                store.purge(&session()).await?;
                assert_eq!(self.fake.keys(), [""; 0]);
            }
            Work::Verify => {
                let verified = store.verify_all().await?;
                assert_eq!(verified.whole as usize + verified.damaged.len(), 2);
                for damaged in verified.damaged {
                    assert!(is_refusal(&damaged.error), "{:?}", damaged.error);
                }
            }
            Work::Collect => {
                self.collect(store).await?;
                assert_eq!(self.fake.object(LEFTOVER), None);
            }
        }
        Ok(())
    }

    async fn is_gone(&self, store: &ResultStore) -> bool {
        matches!(store.metadata(&self.reference).await, Err(StoreError::NotFound { .. }))
    }

    async fn collect(&self, store: &ResultStore) -> Result<(), StoreError> {
        let (older_than, now) = (Duration::ZERO, SystemTime::now());
        let request = CollectRequest { older_than, ..CollectRequest::new(now) };
        store.gc(&request).await.map(|_| ())
    }

    /// How many uploads nobody can know of: those whose beginning had no answer that came, since
    /// every other one has a marker. While the fault lasts, the marker may be refused as well.
    fn lost_uploads(&self, lasting: bool) -> usize {
        let done = |one: &&Recorded| one.fault.is_none_or(Fault::is_done);
        let requests = self.fake.requests();
        let begun = requests.iter().filter(|one| one.operation == Operation::Begin).filter(done);
        let marked: BTreeSet<&str> = requests
            .iter()
            .filter(|one| one.operation == Operation::Put && one.key.contains('#'))
            .filter(|one| !lasting || done(one))
            .map(|one| &*one.key)
            .collect();
        begun.count() - marked.len()
    }

    /// Everything that can be seen is whole; says how much it is.
    async fn check_what_is_seen(&self, told: &str) -> usize {
        let listed = self.calm.list(&session(), &ListRequest::default()).await.unwrap();
        assert_eq!(listed.unreadable, 0, "{told}");
        let verified = self.calm.verify_all().await.unwrap();
        assert_eq!(verified.whole as usize, listed.records.len(), "{told}");
        assert!(verified.damaged.is_empty(), "{told}: {:?}", verified.damaged);
        listed.records.len()
    }
}

fn is_refusal(error: &StoreError) -> bool {
    matches!(error, StoreError::Backend(BackendError::PermissionDenied { .. }))
}

/// Whether an error says what is the matter, and nothing that is not.
fn is_clear(error: &StoreError, fault: Fault) -> bool {
    match error {
        StoreError::Backend(BackendError::PermissionDenied { .. }) => fault == Fault::Denied,
        StoreError::Backend(BackendError::Other { .. }) => fault != Fault::Denied,
        _ => false,
    }
}

/// One world, in which requests go wrong from the N-th on, or that one alone.
async fn fail(work: Work, content: &Original, fault: Fault, nth: usize, lasting: bool) -> bool {
    let world = World::new(work, content, Some(fault)).await;
    let rule = Rule::new(fault).nth(nth);
    world.fake.script(if lasting { rule.lasting() } else { rule });
    let done = world.run(work, &world.store).await;
    if world.fake.heal() == 0 {
        return false;
    }
    let told = format!("{work:?}, {fault:?} at {nth}, lasting: {lasting}, {done:?}");
    if let Err(error) = &done {
        assert!(is_clear(error, fault), "{told}");
    }

    let seen = world.check_what_is_seen(&told).await;
    let expected = match (work, &done) {
        (Work::Put, Ok(()))
        | (
            Work::PutAgain | Work::Read | Work::Search | Work::List | Work::Verify | Work::Collect,
            _,
        ) => 2..=2,
        (Work::Put | Work::Delete, Err(_)) => 1..=2,
        (Work::Delete, Ok(())) => 1..=1,
        (Work::Purge, Err(_)) => 0..=2,
        (Work::Purge, Ok(())) => 0..=0,
    };
    assert!(expected.contains(&seen), "{told}: {seen} results");

    // Without the fault the same is done, and nothing but results is left.
    world.run(work, &world.calm).await.unwrap_or_else(|error| panic!("{told}, then {error:?}"));
    world.collect(&world.calm).await.unwrap();
    let seen = world.check_what_is_seen(&told).await;
    let left = match work {
        Work::Delete => 1,
        Work::Purge => 0,
        _ => 2,
    };
    assert_eq!(
        (seen, world.fake.keys().len()),
        (left, 2 * left),
        "{told}: {:?}",
        world.fake.keys()
    );
    assert!(world.fake.open_uploads() <= world.lost_uploads(lasting), "{told}: one is left open");
    true
}

/// Every fault at every request of some work; `at_once` is how many worlds are gone through at once.
async fn sweep(work: Work, content: Vec<u8>, at_once: usize) {
    let content = &original(content);
    let world = World::new(work, content, None).await;
    world.run(work, &world.calm).await.unwrap();
    let requests = world.fake.requests().len();
    assert!(requests > 0);
    let once = FAULTS.into_iter().map(|fault| (fault, false));
    let lasting = LASTING.into_iter().map(|fault| (fault, true));
    let worlds = once.chain(lasting).flat_map(|(fault, lasting)| {
        // An answer that goes wrong can bring further requests.
        (1..=requests + 2).map(move |nth| (fault, lasting, nth))
    });
    let struck = futures::stream::iter(worlds)
        .map(|(fault, lasting, nth)| fail(work, content, fault, nth, lasting))
        .buffer_unordered(at_once)
        .collect::<Vec<_>>()
        .await;
    let struck = struck.into_iter().filter(|struck| *struck).count();
    assert!(struck >= requests * (FAULTS.len() + LASTING.len()), "only {struck} faults struck");
}

const SMALL: usize = 100_000;
/// Large enough to be uploaded in parts.
const LARGE: usize = (9 << 20) + 1;

#[tokio::test(flavor = "multi_thread")]
async fn a_small_put_is_done_or_not_seen() {
    sweep(Work::Put, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_put_is_done_or_not_seen() {
    sweep(Work::Put, lines(LARGE), 16).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_again_finds_what_is_there() {
    sweep(Work::PutAgain, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_right_or_an_error() {
    sweep(Work::Read, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_right_or_an_error() {
    sweep(Work::Search, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_right_or_an_error() {
    sweep(Work::List, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_leaves_nothing_half_visible() {
    sweep(Work::Delete, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_leaves_nothing_half_visible() {
    sweep(Work::Purge, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verification_is_right_or_an_error() {
    sweep(Work::Verify, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_up_touches_no_result() {
    sweep(Work::Collect, lines(SMALL), 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_fails_half_way_gives_its_parts_up() {
    for fault in [Fault::Denied, Fault::Unavailable, Fault::ErrorAfter, Fault::ResetAfter] {
        for nth in 1..=3 {
            let content = original(lines(LARGE));
            let world = World::new(Work::Put, &content, Some(fault)).await;
            let parts = Rule::new(fault).method(Method::PUT).key("output.txt").nth(nth).lasting();
            world.fake.script(parts);
            let error = world.run(Work::Put, &world.store).await.unwrap_err();
            assert!(is_clear(&error, fault), "{fault:?}: {error:?}");
            assert_eq!(world.fake.open_uploads(), 0, "{fault:?} from part {nth} on");
            world.fake.heal();
            world.run(Work::Put, &world.store).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_upload_that_cannot_be_given_up_is_left_to_a_clean_up() {
    let aborts = Rule::new(Fault::Denied).method(Method::DELETE).lasting();
    for (method, nth) in [(Method::PUT, 2), (Method::PUT, 3), (Method::POST, 2)] {
        let content = original(lines(LARGE));
        let world = World::new(Work::Put, &content, None).await;
        // The marker, the parts; the beginning, the end.
        world.fake.script(Rule::new(Fault::Denied).method(method.clone()).key("output").nth(nth));
        world.fake.script(aborts.clone());
        world.run(Work::Put, &world.store).await.unwrap_err();
        world.fake.heal();
        let open = world.fake.open_uploads();
        let marked = world.fake.keys().iter().any(|key| key.contains('#'));
        assert!(open == 1 && marked, "{method} {nth}: {open} {:?}", world.fake.keys());
        world.collect(&world.store).await.unwrap();
        assert_eq!((world.fake.open_uploads(), world.fake.keys().len()), (0, 2));
    }
}

#[tokio::test]
async fn an_upload_that_is_dropped_is_given_up() {
    for (method, nth) in [(Method::PUT, 1), (Method::PUT, 2), (Method::PUT, 3), (Method::POST, 2)] {
        let content = original(lines(LARGE));
        let world = World::new(Work::Put, &content, None).await;
        let rule = Rule::new(Fault::HangAfter).method(method.clone()).key("output").nth(nth);
        world.fake.script(rule);
        {
            let mut work = pin!(world.run(Work::Put, &world.store));
            while world.fake.requests().iter().all(|one| one.fault.is_none()) {
                let wait = Duration::from_millis(5);
                assert!(tokio::time::timeout(wait, work.as_mut()).await.is_err());
            }
        }
        world.fake.heal();
        for _ in 0..1000 {
            if world.fake.open_uploads() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(world.fake.open_uploads(), 0, "{method} {nth}");
    }
}

#[tokio::test]
async fn a_large_spool_goes_up_in_parts_anywhere() {
    let key = Key::new("large").unwrap();
    let content = lines(2 * (8 << 20) + 1);
    for (fault, parts) in [(None, 3), (Some(Fault::Denied), 2)] {
        let fake = FakeS3::start();
        let backend = ObjectBackend::new(Arc::new(client(&fake)));
        let mut spool = backend.spool().await.unwrap();
        spool.append(content.clone().into()).await.unwrap();
        let body = Body::Spool(spool.finish().unwrap());
        if let Some(fault) = fault {
            fake.script(Rule::new(fault).method(Method::PUT).nth(2));
        }
        assert_eq!(backend.put(&key, body).await.is_ok(), fault.is_none());
        let sent = fake.requests();
        let sent = sent.iter().filter(|one| one.operation == Operation::Part);
        let sizes: Vec<u64> = sent.map(|one| one.received).collect();
        assert_eq!(sizes, [8 << 20, 8 << 20, 1][..parts]);
        assert_eq!(fake.object("large").is_some_and(|found| found == content), fault.is_none());
        assert_eq!(fake.open_uploads(), 0, "{fault:?}");
    }
}

#[tokio::test]
async fn a_wrong_secret_is_a_refusal() {
    let Some(place) = Place::real("seaweedfs") else { return };
    let store = place.with_secret("wrong").store("refused");
    let content = original("content");
    let reference = Ref::new(session(), content.id("call_1"));
    let written = store.write(&content, request("call_1", Kind::Text)).await.unwrap_err();
    let read = store.read(&reference, &everything()).await.unwrap_err();
    let listed = store.list(&session(), &ListRequest::default()).await.unwrap_err();
    for error in [written, read, listed] {
        assert!(is_refusal(&error), "{error:?}");
    }
}
