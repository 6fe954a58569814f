//! Bits that flip on the way or in the store.

use bytes::{Bytes, BytesMut};
use hyper::Method;
use toolstub_core::{OffsetUnit, Receipt};
use toolstub_storage_tests::{FakeS3, Fault, Rule};
use toolstub_store::{ReadRequest, ResultStore, SearchRequest, StoreError};

use crate::place::Place;
use crate::{everything, lines, original, write};

async fn written(fake: &FakeS3, content: &[u8]) -> (ResultStore, Receipt) {
    let store = Place::fake(fake).store("root");
    let receipt = write(&store, "call_1", &original(content)).await;
    (store, receipt)
}

/// The key of the only object with a name.
fn key(fake: &FakeS3, name: &str) -> String {
    fake.keys().into_iter().find(|key| key.ends_with(name)).unwrap()
}

fn flipped(bytes: &Bytes, bit: usize) -> Bytes {
    let mut bytes = BytesMut::from(&bytes[..]);
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes.freeze()
}

#[tokio::test]
async fn a_bit_that_flips_on_the_way_is_told_and_gone_at_the_next_try() {
    let fake = FakeS3::start();
    let content = lines(300_000);
    let (store, receipt) = written(&fake, &content).await;
    let reference = receipt.reference();
    for object in ["output.txt", "metadata.json"] {
        fake.script(Rule::new(Fault::Flip).method(Method::GET).key(object).times(3));
        match store.read(reference, &everything()).await {
            Ok(piece) => assert!(piece.bytes == content, "{object}: wrong text"),
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
        }
        match store.search(reference, &SearchRequest::new("00003000 a")).await {
            Ok(found) => assert_eq!(found.matches.len(), 1, "{object}"),
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
        }
        match store.verify(reference).await {
            Ok(bytes) => assert_eq!(bytes, 300_000, "{object}"),
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
        }
        assert!(fake.heal() > 0);
        assert!(store.read(reference, &everything()).await.unwrap().bytes == content);
    }
}

#[tokio::test]
async fn a_bit_that_flips_in_an_output_is_damage() {
    let fake = FakeS3::start();
    let content = lines(70_000);
    let (store, receipt) = written(&fake, &content).await;
    let output = key(&fake, "output.txt");
    let whole = fake.object(&output).unwrap();
    for bit in (0..whole.len() * 8).step_by(4999) {
        fake.insert(&output, flipped(&whole, bit));
        let read = store.read(receipt.reference(), &everything()).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "bit {bit}: {read:?}");
    }
    // The same write puts the good bytes back.
    assert!(write(&store, "call_1", &original(content.clone())).await.existed());
    let read = store.read(receipt.reference(), &everything()).await.unwrap();
    assert!(read.bytes == content);
}

#[tokio::test]
async fn a_bit_that_flips_in_a_record_is_never_wrong_text() {
    let fake = FakeS3::start();
    let text = "añ漢🎯\n".repeat(11_000);
    let (store, receipt) = written(&fake, text.as_bytes()).await;
    let record = key(&fake, "metadata.json");
    let whole = fake.object(&record).unwrap();
    let chars: String = text.chars().skip(20_001).take(10).collect();
    let reads = [
        (OffsetUnit::UnicodeCodePoint, 20_001, 10, chars.as_str()),
        (OffsetUnit::Byte, 66_000, 11, &text[66_000..66_011]),
        (OffsetUnit::Line, 10_998, 2, "añ漢🎯\nañ漢🎯\n"),
    ];
    for (place, byte) in (0..whole.len()).enumerate() {
        fake.insert(&record, flipped(&whole, byte * 8 + place % 8));
        let (unit, offset, limit, expected) = reads[byte % reads.len()];
        let request = ReadRequest { unit, offset, limit, ..ReadRequest::default() };
        match store.read(receipt.reference(), &request).await {
            Ok(piece) => assert_eq!(piece.content(), expected, "byte {byte}"),
            Err(error) => {
                assert!(matches!(error, StoreError::Corrupt { .. }), "byte {byte}: {error:?}");
            }
        }
    }
}
