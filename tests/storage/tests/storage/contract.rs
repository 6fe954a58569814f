//! The contract of backends, wherever they keep their objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use object_store::memory::InMemory;
use toolstub_storage_tests::{FakeS3, Options};
use toolstub_store::{Backend, MemoryBackend, contract};
use toolstub_store_object::{ObjectBackend, OpenOptions, open};

use crate::place::{Place, fresh_name};

#[tokio::test]
async fn memory_keeps_the_contract() {
    contract::check(|| Arc::new(MemoryBackend::new())).await;
}

#[tokio::test]
async fn an_object_store_in_memory_keeps_the_contract() {
    contract::check(|| Arc::new(ObjectBackend::new(Arc::new(InMemory::new())))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_keep_the_contract_with_and_without_fsync() {
    for fsync in [true, false] {
        let folders = tempfile::tempdir().unwrap();
        let next = AtomicUsize::new(0);
        let fresh = || -> Arc<dyn Backend> {
            let folder = folders.path().join(next.fetch_add(1, Ordering::Relaxed).to_string());
            let options = OpenOptions { fsync, ..OpenOptions::default() };
            open(folder.to_str().unwrap(), &options).unwrap()
        };
        contract::check(fresh).await;
    }
}

#[tokio::test]
async fn s3_keeps_the_contract() {
    let fake = FakeS3::start();
    check(&Place::fake(&fake)).await;
    assert_eq!(fake.open_uploads(), 0);
}

#[tokio::test]
async fn without_conditional_writes_all_else_of_the_contract_is_kept() {
    let fake = FakeS3::with(Options { conditional_writes: false });
    let place = Place::fake(&fake);
    let next = AtomicUsize::new(0);
    contract::check_unconditional(|| fresh(&place, "contract", &next)).await;
}

#[tokio::test]
async fn seaweedfs_keeps_the_contract() {
    let Some(place) = Place::real("seaweedfs") else { return };
    check(&place).await;
}

#[tokio::test]
async fn moto_keeps_the_contract() {
    let Some(place) = Place::real("moto") else { return };
    check(&place).await;
}

async fn check(place: &Place) {
    let next = AtomicUsize::new(0);
    let run = format!("contract-{}", fresh_name());
    contract::check(|| fresh(place, &run, &next)).await;
}

fn fresh(place: &Place, run: &str, next: &AtomicUsize) -> Arc<dyn Backend> {
    place.backend(&format!("{run}/{}", next.fetch_add(1, Ordering::Relaxed)))
}
