//! The fake does as S3 does, and goes wrong as it is told.

use std::time::{Duration, Instant};

use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{
    ClientOptions, GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _, PutMode,
    RetryConfig,
};
use toolstub_storage_tests::{Count, FakeS3, Fault, Operation, Rule};

/// A client that never tries again.
pub(crate) fn client(fake: &FakeS3) -> object_store::aws::AmazonS3 {
    // The way over TLS is set up for the process by whoever opens a bucket first.
    crate::place::Place::fake(fake).backend("unused");
    let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    AmazonS3Builder::new()
        .with_endpoint(fake.endpoint())
        .with_bucket_name(FakeS3::BUCKET)
        .with_access_key_id("any")
        .with_secret_access_key("any")
        .with_checksum_algorithm(object_store::aws::Checksum::SHA256)
        .with_client_options(
            ClientOptions::new().with_allow_http(true).with_timeout(Duration::from_millis(500)),
        )
        .with_retry(retry)
        .build()
        .unwrap()
}

fn path(path: &str) -> Path {
    Path::parse(path).unwrap()
}

#[tokio::test]
async fn what_is_asked_for_is_counted() {
    let fake = FakeS3::start();
    let client = client(&fake);
    client.put(&path("a/b"), "0123456789".into()).await.unwrap();
    assert_eq!(client.get_range(&path("a/b"), 3..7).await.unwrap(), "3456");
    assert_eq!(client.head(&path("a/b")).await.unwrap().size, 10);
    client.delete(&path("a/b")).await.unwrap();
    let count = |operation| {
        let requests = fake.requests();
        requests.iter().filter(|one| one.operation == operation).collect::<Count>()
    };
    assert_eq!(count(Operation::Put), Count { requests: 1, received: 10, sent: 0 });
    assert_eq!(count(Operation::Get), Count { requests: 1, received: 0, sent: 4 });
    assert_eq!(count(Operation::Head), Count { requests: 1, received: 0, sent: 0 });
    assert_eq!(fake.count().requests, 4);
    fake.forget();
    assert_eq!(fake.count(), Count::default());
}

#[tokio::test]
async fn ranges_and_conditions_are_kept() {
    let fake = FakeS3::start();
    let client = client(&fake);
    let key = path("a%20b/é.txt");
    client.put(&key, "0123456789".into()).await.unwrap();
    assert_eq!(fake.keys(), ["a%20b/é.txt"]);
    let get = async |range| {
        let options = GetOptions { range: Some(range), ..GetOptions::default() };
        client.get_opts(&key, options).await?.bytes().await
    };
    assert_eq!(get(GetRange::Suffix(3)).await.unwrap(), "789");
    assert_eq!(get(GetRange::Offset(8)).await.unwrap(), "89");
    assert_eq!(get(GetRange::Bounded(8..99)).await.unwrap(), "89");
    assert!(get(GetRange::Offset(10)).await.is_err());
    let create = client.put_opts(&key, "x".into(), PutMode::Create.into()).await;
    assert!(matches!(create, Err(object_store::Error::AlreadyExists { .. })), "{create:?}");
}

#[tokio::test]
async fn a_gigabyte_takes_no_memory() {
    let fake = FakeS3::start();
    fake.insert_repeated("huge", "0123456789abcdef".into(), 1 << 26, "the end".into());
    let client = client(&fake);
    let size = client.head(&path("huge")).await.unwrap().size;
    assert_eq!(size, (1 << 30) + 7);
    assert_eq!(client.get_range(&path("huge"), size - 9..size).await.unwrap(), "efthe end");
}

#[tokio::test]
async fn faults_strike_before_or_after_the_deed() {
    for (fault, done) in [
        (Fault::Unavailable, false),
        (Fault::Denied, false),
        (Fault::ErrorBefore, false),
        (Fault::ErrorAfter, true),
        (Fault::ResetBefore, false),
        (Fault::ResetAfter, true),
        (Fault::HangBefore, false),
        (Fault::HangAfter, true),
    ] {
        let fake = FakeS3::start();
        fake.script(Rule::new(fault));
        let client = client(&fake);
        let error = client.put(&path("a"), "x".into()).await.unwrap_err();
        assert_eq!(fake.object("a").is_some(), done, "{fault:?}: {error:?}");
        assert_eq!(fake.requests()[0].fault, Some(fault));
        if matches!(fault, Fault::ResetBefore | Fault::ResetAfter) {
            let told = format!("{error:?}");
            assert!(told.contains("ConnectionReset"), "{told}");
        }
        client.put(&path("a"), "y".into()).await.unwrap();
    }
}

#[tokio::test]
async fn bodies_are_cut_changed_and_delayed() {
    let fake = FakeS3::start();
    let client = client(&fake);
    fake.insert("a", "0123456789".into());
    let get = async || client.get(&path("a")).await?.bytes().await;

    fake.script(Rule::new(Fault::Truncate));
    assert!(get().await.is_err());
    assert_eq!(fake.count().sent, 5);
    assert_eq!(fake.heal(), 1);

    fake.script(Rule::new(Fault::Flip));
    assert_eq!(get().await.unwrap(), "0123446789");
    fake.heal();

    fake.script(Rule::new(Fault::Slow(Duration::from_millis(10))));
    let began = Instant::now();
    assert_eq!(get().await.unwrap(), "0123456789");
    assert!(began.elapsed() >= Duration::from_millis(100));
}
