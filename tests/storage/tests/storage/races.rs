//! Writers that race for one id.

use futures::future::join_all;
use toolstub_core::Kind;
use toolstub_storage_tests::{FakeS3, Options};
use toolstub_store::{CollectRequest, ListRequest};

use crate::place::Place;
use crate::{everything, lines, original, request, session};

const WRITERS: usize = 16;

async fn race(conditional_writes: bool) {
    let fake = FakeS3::with(Options { conditional_writes });
    let place = Place::fake(&fake);
    for round in 0..10 {
        let content = lines(1000 + round);
        let writers = (0..WRITERS).map(|writer| {
            // Each has connections of its own, as another process has.
            let store = place.store("race");
            let content = original(content.clone());
            let mut request = request("call_1", Kind::Text);
            request.tool_name = format!("writer_{writer}");
            tokio::spawn(async move {
                let receipt = store.write(&content, request).await.unwrap();
                // What is acknowledged can be read at once, by whoever got the receipt.
                let piece = store.read(receipt.reference(), &everything()).await.unwrap();
                (receipt, piece.bytes)
            })
        });
        let written = join_all(writers).await.into_iter().map(Result::unwrap);
        let mut names = Vec::new();
        for (receipt, read) in written {
            assert!(read == content, "round {round}");
            names.push(receipt.metadata().tool_name.clone());
        }
        if conditional_writes {
            assert!(names.iter().all(|name| *name == names[0]), "one record for all: {names:?}");
        }
        let store = place.store("race");
        let records = store.list(&session(), &ListRequest::default()).await.unwrap().records;
        assert_eq!(records.len(), round + 1);
        // A later writer of the same gets the record that stands.
        let again = store.write(&original(content), request("call_1", Kind::Text)).await.unwrap();
        assert!(again.existed() && names.contains(&again.metadata().tool_name));
    }
    let store = place.store("race");
    let verified = store.verify_all().await.unwrap();
    assert_eq!((verified.whole, verified.damaged.len()), (10, 0));
    let now = std::time::SystemTime::now();
    let request =
        CollectRequest { older_than: std::time::Duration::ZERO, ..CollectRequest::new(now) };
    assert_eq!(store.gc(&request).await.unwrap().objects, 0);
    assert_eq!((fake.keys().len(), fake.open_uploads()), (20, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_writers_get_one_record() {
    race(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_writers_lose_nothing_without_conditional_writes() {
    race(false).await;
}
