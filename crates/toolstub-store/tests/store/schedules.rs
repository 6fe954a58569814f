//! Writers, readers, removals and clean-ups that run at once, operation by operation, in every order.
//!
//! Each works on a backend that parks every operation until it is let through. Orders that differ
//! only in operations that have nothing to do with one another are gone through once.

use std::future::poll_fn;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use toolstub_core::Ref;
use toolstub_store::fault::Operation;
use toolstub_store::{
    Backend, BackendError, Body, CollectRequest, Created, Depth, Entry, Head, Key, ListOptions,
    ListPage, MemoryBackend, Ranged, ReadRequest, ResultStore, SpoolWriter, StoreError,
};

use crate::{original, request};

const CONTENT: &str = "content of everybody";

/// An operation, and the key or folder that it is for.
type Step = (Operation, String);

/// Lets an actor's operations through, one at a time.
#[derive(Debug, Default)]
struct Gate {
    open: bool,
    /// The operations that wait; which of them passes is the same in each run.
    parked: Vec<Step>,
    wakers: Vec<Waker>,
    passed: Option<Step>,
}

#[derive(Debug)]
struct Stepped {
    inner: Arc<MemoryBackend>,
    gate: Arc<Mutex<Gate>>,
}

impl Stepped {
    async fn pass(&self, operation: Operation, key: &Key) {
        let step = (operation, key.to_string());
        poll_fn(|context| {
            let mut gate = self.gate.lock().unwrap();
            if std::mem::take(&mut gate.open) {
                gate.passed = Some(step.clone());
                return Poll::Ready(());
            }
            gate.parked.push(step.clone());
            gate.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[async_trait]
impl Backend for Stepped {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        self.pass(Operation::Put, key).await;
        self.inner.put(key, body).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.inner.spool().await
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        self.pass(Operation::Create, key).await;
        self.inner.create(key, body).await
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.pass(Operation::Get, key).await;
        self.inner.get(key, max_bytes).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        self.pass(Operation::GetRange, key).await;
        self.inner.get_range(key, range).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.pass(Operation::Head, key).await;
        self.inner.head(key).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        // The root holds the spools; none of the actors has one.
        if let Some(folder) = &options.folder {
            self.pass(Operation::List, folder).await;
        }
        self.inner.list(options).await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.pass(Operation::Delete, key).await;
        self.inner.delete(key).await
    }

    // Nothing to do in memory, so that no order matters.
    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        self.inner.prune(folder).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        self.inner.flush(folder).await
    }
}

/// Whether the order of two steps matters.
fn depend(a: &Step, b: &Step) -> bool {
    let writes =
        |step: &Step| matches!(step.0, Operation::Put | Operation::Create | Operation::Delete);
    let concerns = |a: &Step, b: &Step| {
        a.1 == b.1 || (a.0 == Operation::List && b.1.starts_with(&format!("{}/", a.1)))
    };
    (writes(a) || writes(b)) && (concerns(a, b) || concerns(b, a))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Write,
    Read,
    Delete,
    Collect,
}

/// How the store is before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Empty,
    Leftover,
    Committed,
}

type Outcome = Result<Option<Bytes>, StoreError>;

async fn act(role: Role, store: ResultStore, reference: Ref) -> Outcome {
    match role {
        Role::Write => store.write(&original(CONTENT), request("s1", "call_1")).await.map(|_| None),
        Role::Read => {
            let request = ReadRequest { limit: -1, ..ReadRequest::default() };
            store.read(&reference, &request).await.map(|piece| Some(piece.bytes))
        }
        Role::Delete => store.delete(&reference).await.map(|()| None),
        Role::Collect => store.gc(&everything()).await.map(|_| None),
    }
}

fn everything() -> CollectRequest {
    let now = SystemTime::now() + Duration::from_secs(3600);
    CollectRequest { now, older_than: Duration::ZERO, dry_run: false }
}

/// One run of the actors under way.
struct Stage {
    backend: Arc<MemoryBackend>,
    gates: Vec<Arc<Mutex<Gate>>>,
    actors: Vec<Option<LocalBoxFuture<'static, Outcome>>>,
    outcomes: Vec<Option<Outcome>>,
    trace: Vec<(usize, Step)>,
}

impl Stage {
    fn new(roles: &[Role], before: Before) -> Self {
        let backend = Arc::new(MemoryBackend::new());
        let store = ResultStore::new(backend.clone());
        match before {
            Before::Empty => {}
            Before::Leftover => {
                let output = output();
                let put = backend.put(&output, "cont".into());
                put.now_or_never().unwrap().unwrap();
            }
            Before::Committed => {
                let content = original(CONTENT);
                let write = store.write(&content, request("s1", "call_1"));
                write.now_or_never().unwrap().unwrap();
            }
        }
        let gates: Vec<_> = roles.iter().map(|_| Arc::new(Mutex::new(Gate::default()))).collect();
        let actors = roles.iter().zip(&gates).map(|(&role, gate)| {
            let stepped = Stepped { inner: backend.clone(), gate: gate.clone() };
            let store = ResultStore::new(Arc::new(stepped));
            Some(act(role, store, reference()).boxed_local())
        });
        let actors = actors.collect();
        let outcomes = roles.iter().map(|_| None).collect();
        let mut stage = Self { backend, gates, actors, outcomes, trace: Vec::new() };
        for actor in 0..roles.len() {
            stage.poll(actor);
        }
        stage
    }

    fn poll(&mut self, actor: usize) {
        let Some(future) = &mut self.actors[actor] else { return };
        let waker = futures::task::noop_waker();
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.actors[actor] = None;
            self.outcomes[actor] = Some(outcome);
        }
    }

    /// Lets one operation of an actor through, and what it does up to its next one.
    fn step(&mut self, actor: usize) {
        let wakers = {
            let mut gate = self.gates[actor].lock().unwrap();
            gate.open = true;
            gate.parked.clear();
            std::mem::take(&mut gate.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
        self.poll(actor);
        let passed = self.gates[actor].lock().unwrap().passed.take();
        self.trace.push((actor, passed.expect("an actor that waits has an operation")));
    }

    fn enabled(&self) -> Vec<usize> {
        (0..self.actors.len()).filter(|&actor| self.actors[actor].is_some()).collect()
    }

    fn parked(&self) -> Vec<Vec<Step>> {
        self.gates.iter().map(|gate| gate.lock().unwrap().parked.clone()).collect()
    }
}

fn reference() -> Ref {
    let session = crate::session("s1");
    Ref::new(session, original(CONTENT).id("call_1"))
}

fn folder() -> String {
    format!("sessions/s1/tool-results/{}", reference().id())
}

fn output() -> Key {
    Key::new(format!("{}/output.txt", folder())).unwrap()
}

/// A state on the way, and what was chosen there.
struct Choice {
    enabled: Vec<usize>,
    parked: Vec<Vec<Step>>,
    /// Actors whose next step leads to orders that were gone through.
    asleep: Vec<usize>,
    chosen: usize,
}

/// Goes through every order; returns how many there were.
fn every_order(roles: &[Role], before: Before, most: usize) -> (usize, usize) {
    let mut path: Vec<Choice> = Vec::new();
    let (mut orders, mut residual) = (0, 0);
    loop {
        let mut stage = Stage::new(roles, before);
        for choice in &path {
            stage.step(choice.chosen);
        }
        let whole = loop {
            let enabled = stage.enabled();
            let asleep = path.last().map_or_else(Vec::new, |last| {
                let independent = |actor: &usize| {
                    let (here, there) = (&last.parked[*actor], &last.parked[last.chosen]);
                    !here.iter().any(|a| there.iter().any(|b| depend(a, b)))
                };
                last.asleep.iter().copied().filter(independent).collect()
            });
            if enabled.is_empty() {
                break true;
            }
            let Some(&chosen) = enabled.iter().find(|actor| !asleep.contains(actor)) else {
                break false;
            };
            path.push(Choice { enabled, parked: stage.parked(), asleep, chosen });
            stage.step(chosen);
        };
        if whole {
            orders += 1;
            residual += usize::from(holds(roles, before, stage));
        }
        // On to the next choice that is left.
        loop {
            let Some(last) = path.last_mut() else { return (orders, residual) };
            last.asleep.push(last.chosen);
            let next = last.enabled.iter().find(|actor| !last.asleep.contains(actor));
            if let Some(&next) = next {
                last.chosen = next;
                break;
            }
            path.pop();
        }
        if orders >= most {
            return (orders, residual);
        }
    }
}

/// Checks what came of an order; says whether the documented race took the output of a write.
fn holds(roles: &[Role], before: Before, stage: Stage) -> bool {
    let Stage { backend, outcomes, trace, .. } = stage;
    let store = ResultStore::new(backend.clone());
    let told = || format!("{roles:?} {before:?} {trace:#?} {outcomes:#?}");
    let now = |role| act(role, store.clone(), reference()).now_or_never().unwrap();
    let deletes = roles.contains(&Role::Delete);
    let residual = is_residual(roles, &trace);
    let mut written = before == Before::Committed;
    for (role, outcome) in roles.iter().zip(&outcomes) {
        match (role, outcome.as_ref().unwrap()) {
            (Role::Write, Ok(_)) => written = true,
            // A removal that takes the output again and again is told to the writer.
            (Role::Write, Err(StoreError::Backend(BackendError::Other { .. }))) if deletes => {}
            (Role::Read, Ok(Some(bytes))) => assert_eq!(bytes, CONTENT, "{}", told()),
            (Role::Read, Err(StoreError::NotFound { .. })) => {
                assert!(before != Before::Committed || deletes, "{}", told());
            }
            (Role::Read, Err(StoreError::Corrupt { .. })) if is_mended(&trace) => {}
            // Busy tells that writers added to what was removed, time and again.
            (Role::Delete, Err(StoreError::NotFound { .. } | StoreError::Busy { .. }))
            | (Role::Delete | Role::Collect, Ok(_)) => {}
            _ => panic!("{}", told()),
        }
    }
    let lost = match now(Role::Read) {
        Ok(bytes) => {
            assert_eq!(bytes.unwrap(), CONTENT, "{}", told());
            false
        }
        Err(StoreError::NotFound { .. }) => {
            assert!(!written || deletes, "{}", told());
            false
        }
        Err(StoreError::Corrupt { .. }) => {
            assert!(residual, "{}", told());
            true
        }
        Err(error) => panic!("{error} {}", told()),
    };
    // The next write makes it whole, and nothing is left behind it.
    now(Role::Write).unwrap();
    assert_eq!(now(Role::Read).unwrap().unwrap(), CONTENT, "{}", told());
    now(Role::Collect).unwrap();
    let options = ListOptions { folder: None, depth: Depth::All, after: None, limit: 9 };
    let page = backend.list(options).now_or_never().unwrap().unwrap();
    let keys: Vec<_> = page.entries.iter().map(Entry::marker).collect();
    assert_eq!(keys, [format!("{}/metadata.json", folder()), format!("{}/output.txt", folder())]);
    lost
}

/// Whether a clean-up looked for a record before there was one, and removed the output behind
/// every writer's last look at it.
fn is_residual(roles: &[Role], trace: &[(usize, Step)]) -> bool {
    let record = format!("{}/metadata.json", folder());
    let last = |role, of: &[Operation], key: &str| {
        trace.iter().rposition(|(actor, (operation, on))| {
            roles[*actor] == role && of.contains(operation) && on == key
        })
    };
    let seen = [Operation::Put, Operation::Create, Operation::Head, Operation::GetRange];
    let removed = last(Role::Collect, &[Operation::Delete], output().as_str());
    let looked = last(Role::Collect, &[Operation::Head], &record);
    let committed = last(Role::Write, &[Operation::Create], &record);
    let kept = last(Role::Write, &seen, output().as_str());
    looked < committed && committed < removed && kept < removed
}

/// Whether an output was removed behind its writer, who sees that and mends it.
fn is_mended(trace: &[(usize, Step)]) -> bool {
    let mut steps = trace.iter().filter(|(_, (_, on))| on == output().as_str());
    let writes = [Operation::Create, Operation::Put];
    steps.any(|(_, (operation, _))| writes.contains(operation))
        && steps.any(|(_, (operation, _))| *operation == Operation::Delete)
}

#[track_caller]
fn withstands(roles: &[Role], befores: &[Before], most: usize) {
    for &before in befores {
        let (orders, residual) = every_order(roles, before, most);
        assert!(orders > 0, "{roles:?} {before:?}");
        // What is committed before, and stays, is no leftover to any clean-up.
        let may_commit = before != Before::Committed || roles.contains(&Role::Delete);
        let may_lose = may_commit && roles.contains(&Role::Collect);
        assert!(residual == 0 || may_lose, "{roles:?} {before:?}: {residual}");
    }
}

const ALL: [Before; 3] = [Before::Empty, Before::Leftover, Before::Committed];

/// At most so many orders, or very many where as much as possible is to be gone through.
fn most(orders: usize) -> usize {
    if crate::is_full() { 50_000 } else { orders }
}

#[test]
fn two_of_anything_may_run_at_once() {
    use Role::{Collect, Delete, Read, Write};
    for a in [Write, Read, Delete, Collect] {
        for b in [Write, Read, Delete, Collect] {
            if (a, b) != (Read, Read) {
                withstands(&[a, b], &ALL, usize::MAX);
            }
        }
    }
}

#[test]
fn two_writers_and_a_clean_up_may_run_at_once() {
    use Role::{Collect, Write};
    withstands(&[Write, Write, Collect], &ALL, usize::MAX);
}

#[test]
fn a_writer_a_clean_up_and_a_reader_may_run_at_once() {
    use Role::{Collect, Read, Write};
    withstands(&[Write, Collect, Read], &ALL, usize::MAX);
}

#[test]
fn a_writer_a_removal_and_a_clean_up_may_run_at_once() {
    use Role::{Collect, Delete, Write};
    withstands(&[Write, Delete, Collect], &ALL, usize::MAX);
}

#[test]
fn two_writers_and_a_removal_may_run_at_once() {
    use Role::{Delete, Write};
    withstands(&[Write, Write, Delete], &ALL, most(1000));
}

#[test]
fn a_writer_a_removal_and_a_reader_may_run_at_once() {
    use Role::{Delete, Read, Write};
    withstands(&[Write, Delete, Read], &ALL, most(2000));
}

#[test]
fn any_four_may_run_at_once() {
    use Role::{Collect, Delete, Read, Write};
    withstands(&[Write, Write, Collect, Read], &ALL, most(500));
    withstands(&[Write, Write, Collect, Delete], &ALL, most(500));
}
