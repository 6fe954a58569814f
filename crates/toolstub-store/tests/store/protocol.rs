//! Writing and removing, with faults.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use toolstub_core::{Kind, Receipt};
use toolstub_store::{
    Backend, BackendError, Body, Created, Head, Key, ListOptions, ListPage, ListRequest,
    MemoryBackend, Original, Ranged, ReadRequest, ResultStore, SpoolWriter, StoreError,
};

use crate::{memory_store, original, request, session, synopsis, write};

/// A backend that counts what is fetched of outputs, and fails where it is told to.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    inner: MemoryBackend,
    requests: AtomicU64,
    bytes: AtomicU64,
    /// The operations so far.
    operations: AtomicUsize,
    /// The operation that fails, from 1, and how.
    fault: Option<(usize, Fault)>,
    /// Whether nothing fails any more.
    healed: AtomicBool,
    /// Whether `create` overwrites, as where a server ignores the condition.
    creates_blindly: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing is done.
    Before,
    /// It is done, and an error answers.
    After,
    /// It is done, and a creation is answered as if there had been one before.
    ExistedLie,
    /// There is no room.
    Full,
}

const FAULTS: [Fault; 4] = [Fault::Before, Fault::After, Fault::ExistedLie, Fault::Full];

impl Watched {
    fn failing(operation: usize, fault: Fault) -> Self {
        Self { fault: Some((operation, fault)), ..Self::default() }
    }

    pub(crate) fn full() -> Self {
        Self::failing(1, Fault::Full)
    }

    pub(crate) fn creating_blindly() -> Self {
        Self { creates_blindly: true, ..Self::default() }
    }

    pub(crate) fn reset(&self) {
        self.requests.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// The requests for ranges of outputs, and their bytes.
    pub(crate) fn output_reads(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Does an operation, or fails in its place.
    async fn or_fail<T>(
        &self,
        key: &Key,
        operation: impl Future<Output = Result<T, BackendError>> + Send,
    ) -> Result<T, BackendError> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        let fault = self.fault_at(number);
        let error =
            |kind: std::io::ErrorKind| Err(BackendError::classify(key, std::io::Error::from(kind)));
        match fault {
            Some(Fault::Before) => error(std::io::ErrorKind::ConnectionReset),
            Some(Fault::Full) => error(std::io::ErrorKind::StorageFull),
            Some(Fault::After) => {
                operation.await?;
                error(std::io::ErrorKind::ConnectionReset)
            }
            Some(Fault::ExistedLie) | None => operation.await,
        }
    }

    fn fault_at(&self, operation: usize) -> Option<Fault> {
        let (at, fault) = self.fault?;
        (at == operation && !self.healed.load(Ordering::Relaxed)).then_some(fault)
    }

    /// Ends the faults; says whether there was one.
    fn heal(&self) -> bool {
        self.healed.store(true, Ordering::Relaxed);
        self.fault.is_some_and(|(at, _)| at <= self.operations.load(Ordering::Relaxed))
    }

    /// Counts on from a number.
    fn restart(&self, operations: usize) {
        self.operations.store(operations, Ordering::Relaxed);
    }
}

#[async_trait]
impl Backend for Watched {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        self.or_fail(key, self.inner.put(key, body)).await
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.inner.spool().await
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        if self.creates_blindly {
            self.put(key, body.into()).await?;
            return Ok(Created::New);
        }
        let fault = self.fault_at(self.operations.load(Ordering::Relaxed) + 1);
        let created = self.or_fail(key, self.inner.create(key, body)).await?;
        Ok(if fault == Some(Fault::ExistedLie) { Created::Existed } else { created })
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        self.or_fail(key, self.inner.get(key, max_bytes)).await
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(range.end - range.start, Ordering::Relaxed);
        self.or_fail(key, self.inner.get_range(key, range)).await
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        self.or_fail(key, self.inner.head(key)).await
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let key = options.folder.clone().unwrap_or_else(|| Key::new("root").unwrap());
        self.or_fail(&key, self.inner.list(options)).await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        self.or_fail(key, self.inner.delete(key)).await
    }

    async fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        self.or_fail(folder, self.inner.prune(folder)).await
    }

    async fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        self.or_fail(folder, self.inner.flush(folder)).await
    }
}

async fn whole(store: &ResultStore, receipt: &Receipt) -> Bytes {
    let request = ReadRequest { limit: -1, ..ReadRequest::default() };
    store.read(receipt.reference(), &request).await.unwrap().bytes
}

async fn listed(store: &ResultStore) -> usize {
    store.list(&session("s1"), &ListRequest::default()).await.unwrap().records.len()
}

fn key(receipt: &Receipt, name: &str) -> Key {
    let id = receipt.reference().id();
    Key::new(format!("sessions/s1/tool-results/{id}/{name}")).unwrap()
}

#[tokio::test]
async fn the_second_write_answers_with_the_first_record() {
    let store = memory_store();
    let first = write(&store, "content").await;
    assert!(!first.existed());
    let mut again = request("s1", "call_1");
    again.tool_name = "other".to_owned();
    again.synopsis = synopsis(Kind::Code);
    let second = store.write(&original("content"), again).await.unwrap();
    assert!(second.existed());
    assert_eq!(second.metadata(), first.metadata());
    assert_eq!(listed(&store).await, 1);
}

#[tokio::test]
async fn the_record_tells_what_was_left_out() {
    let store = memory_store();
    let cut = Original::new("0123456789", 4);
    let receipt = store.write(&cut, request("s1", "call_1")).await.unwrap();
    let metadata = receipt.metadata();
    assert_eq!((metadata.original_bytes, metadata.not_stored_bytes), (4, 6));
    assert_eq!(metadata.preview_chars, 4);
    // The whole of another content can be what was kept of this one.
    let whole = store.write(&original("0123"), request("s1", "call_1")).await.unwrap();
    assert!(whole.existed());
    assert_eq!(whole.metadata().not_stored_bytes, 0);
}

#[tokio::test]
async fn other_content_under_the_id_is_left_as_it_is() {
    let store = memory_store();
    let receipt = write(&store, "content").await;
    let metadata = key(&receipt, "metadata.json");
    let json = store.backend().get(&metadata, 1 << 20).await.unwrap();
    let json = String::from_utf8(json.to_vec()).unwrap();
    let other = json.replace(&receipt.metadata().sha256.to_string(), &"0".repeat(64));
    let other = other.replace("record_crc32c", "no_checksum");
    store.backend().put(&metadata, other.clone().into()).await.unwrap();
    let refused = store.write(&original("content"), request("s1", "call_1")).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(store.backend().get(&metadata, 1 << 20).await.unwrap(), other);
}

#[tokio::test]
async fn a_lost_output_is_put_back_by_the_next_write() {
    let store = memory_store();
    let receipt = write(&store, "content").await;
    for damage in [None, Some("cont")] {
        let output = key(&receipt, "output.txt");
        match damage {
            None => store.backend().delete(&output).await.unwrap(),
            Some(cut) => store.backend().put(&output, cut.into()).await.unwrap(),
        }
        for limit in [-1, 0] {
            let request = ReadRequest { limit, ..ReadRequest::default() };
            let error = store.read(receipt.reference(), &request).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        }
        assert!(write(&store, "content").await.existed());
        assert_eq!(whole(&store, &receipt).await, "content");
    }
}

#[tokio::test]
async fn damage_is_an_error_and_never_wrong_text() {
    let store = memory_store();
    let content = "a line of text\n".repeat(20_000);
    let receipt = write(&store, &content).await;
    let mut flipped = content.clone().into_bytes();
    flipped[100_000] ^= 1;
    store.backend().put(&key(&receipt, "output.txt"), flipped.into()).await.unwrap();
    let read = async |offset| {
        let request = ReadRequest { offset, limit: 10, ..ReadRequest::default() };
        store.read(receipt.reference(), &request).await
    };
    let error = read(99_999).await.unwrap_err().to_string();
    assert!(error.contains("corrupt") && error.contains("bytes 65536 to 131072"), "{error}");
    assert!(read(0).await.is_ok(), "other blocks can still be read");
}

#[tokio::test]
async fn a_record_is_never_trusted() {
    let store = memory_store();
    let receipt = write(&store, "é".repeat(70_000)).await;
    let metadata = key(&receipt, "metadata.json");
    let json = store.backend().get(&metadata, 1 << 20).await.unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let checksum = json.as_object_mut().unwrap().remove("record_crc32c").unwrap();
    let forgeries: [(&str, serde_json::Value); 10] = [
        ("original_bytes", u64::MAX.into()),
        ("original_bytes", 1.into()),
        ("original_chars", 69_999.into()),
        ("line_count", 3.into()),
        ("line_count", u64::MAX.into()),
        ("blocks", "".into()),
        ("blocks", "AAAA".into()),
        ("sha256", "xyz".into()),
        ("tool_result_id", "tr_other".into()),
        ("session_id", "s2".into()),
    ];
    for (field, value) in forgeries {
        let mut changed = json.clone();
        changed[field] = value.clone();
        store.backend().put(&metadata, changed.to_string().into()).await.unwrap();
        let read = store.read(receipt.reference(), &ReadRequest::default()).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{field} {value}: {read:?}");
    }
    let empty = write(&store, "").await;
    let metadata_of_empty = key(&empty, "metadata.json");
    let record = store.backend().get(&metadata_of_empty, 1 << 20).await.unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    record["line_count"] = 1.into();
    record.as_object_mut().unwrap().remove("record_crc32c").unwrap();
    store.backend().put(&metadata_of_empty, record.to_string().into()).await.unwrap();
    let read = store.read(empty.reference(), &ReadRequest::default()).await;
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
    // Where a record says that things are is of no account.
    let mut changed = json.clone();
    changed["output_uri"] = "toolstub://session/s2/tool-results/tr_x/output.txt".into();
    changed["from_a_later_version"] = serde_json::json!({"a": [1]});
    changed["record_crc32c"] = checksum;
    store.backend().put(&metadata, changed.to_string().into()).await.unwrap();
    assert_eq!(whole(&store, &receipt).await.len(), 140_000);
    let told = store.metadata(receipt.reference()).await.unwrap();
    assert_eq!(told.output_uri, format!("{}/output.txt", receipt.reference()));
    for broken in ["", "{", "[]", "null", "{}"] {
        store.backend().put(&metadata, broken.into()).await.unwrap();
        let read = store.read(receipt.reference(), &ReadRequest::default()).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{broken}: {read:?}");
    }
}

#[tokio::test]
async fn the_record_has_the_documented_form() {
    let store = memory_store();
    let receipt = write(&store, "é\n".repeat(3)).await;
    let bytes = store.backend().get(&key(&receipt, "metadata.json"), 1 << 20).await.unwrap();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let uri = receipt.reference().to_string();
    let expected = serde_json::json!({
        "schema_version": 1, "tool_result_id": receipt.reference().id().as_str(),
        "session_id": "s1", "message_id": "", "tool_id": "call_1", "tool_name": "bash",
        "created_at": "2026-01-02T03:04:05Z", "original_chars": 6, "original_bytes": 9,
        "line_count": 3, "preview_chars": 6, "sha256": receipt.metadata().sha256.to_string(),
        "mime_type": "text/plain", "synopsis_kind": "text",
        "synopsis": serde_json::to_value(synopsis(Kind::Text)).unwrap(),
        "storage_uri": uri, "output_uri": format!("{uri}/output.txt"),
        "offset_unit": "unicode_code_point", "not_stored_bytes": 0,
        // 65,536 - 6, then 3, then the checksum.
        "blocks": json["blocks"],
        "record_crc32c": json["record_crc32c"],
    });
    assert_eq!(json, expected);
    assert_eq!(json["blocks"].as_str().map(str::len), Some(16));
    assert!(json["blocks"].as_str().unwrap().starts_with("+v8DAAAA"));
    // The checksum is of the other fields as they stand, in this order.
    let mut covered = String::from_utf8(bytes.to_vec()).unwrap();
    let at = covered.find(",\"record_crc32c\"").unwrap();
    covered.replace_range(at.., "}");
    let checksum = format!("{:08x}", crc32c::crc32c(covered.as_bytes()));
    assert_eq!(json["record_crc32c"], checksum);
}

#[tokio::test]
async fn one_wrong_bit_in_a_record_is_damage_or_changes_nothing() {
    let store = memory_store();
    let receipt = write(&store, "é\n".repeat(40_000)).await;
    let metadata = key(&receipt, "metadata.json");
    let bytes = store.backend().get(&metadata, 1 << 20).await.unwrap();
    let mut harmless = 0;
    for bit in 0..bytes.len() * 8 {
        let mut wrong = bytes.to_vec();
        wrong[bit / 8] ^= 1 << (bit % 8);
        store.backend().put(&metadata, wrong.into()).await.unwrap();
        match store.metadata(receipt.reference()).await {
            Ok(told) => {
                assert_eq!(told, *receipt.metadata(), "bit {bit}");
                assert_eq!(whole(&store, &receipt).await, "é\n".repeat(40_000));
                harmless += 1;
            }
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
        }
    }
    // The name of the checksum, and where the result is said to lie.
    assert!(harmless < bytes.len() * 2, "{harmless} of {}", bytes.len() * 8);
}

#[tokio::test]
async fn a_record_without_a_checksum_is_read() {
    let store = memory_store();
    let receipt = write(&store, "content").await;
    let metadata = key(&receipt, "metadata.json");
    let json = store.backend().get(&metadata, 1 << 20).await.unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    json.as_object_mut().unwrap().remove("record_crc32c").unwrap();
    store.backend().put(&metadata, json.to_string().into()).await.unwrap();
    assert_eq!(whole(&store, &receipt).await, "content");
    assert!(write(&store, "content").await.existed());
}

#[tokio::test]
async fn a_ruined_record_is_written_again_and_no_other() {
    let store = memory_store();
    let receipt = write(&store, "content").await;
    let metadata = key(&receipt, "metadata.json");
    let good = store.backend().get(&metadata, 1 << 20).await.unwrap();
    let good = String::from_utf8(good.to_vec()).unwrap();
    let without_checksum = good.replace("record_crc32c", "no_checksum");
    for ruined in [
        String::new(),
        "{".to_owned(),
        good.replace("call_1\"", "call_2\""),
        good.replace("\"s1\"", "\"s2\""),
        without_checksum.replace("\"line_count\":1", "\"line_count\":5"),
    ] {
        store.backend().put(&metadata, ruined.clone().into()).await.unwrap();
        assert!(!write(&store, "content").await.existed(), "{ruined}");
        assert_eq!(whole(&store, &receipt).await, "content");
        assert_eq!(store.verify(receipt.reference()).await.unwrap(), 7);
    }
    for readable in [
        // Of another result, and of a version to come.
        without_checksum.replace("\"s1\"", "\"s2\""),
        "{\"schema_version\":2}".to_owned(),
    ] {
        store.backend().put(&metadata, readable.clone().into()).await.unwrap();
        let refused = store.write(&original("content"), request("s1", "call_1")).await;
        assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
        assert_eq!(store.backend().get(&metadata, 1 << 20).await.unwrap(), readable);
    }
}

#[tokio::test]
async fn any_single_fault_leaves_all_or_nothing() {
    for fault in FAULTS {
        let mut writes_failed = 0;
        for operation in 1.. {
            let watched = Arc::new(Watched::failing(operation, fault));
            let store = ResultStore::new(watched.clone());
            let content = original("content\n");
            let written = store.write(&content, request("s1", "call_1")).await;
            if !watched.heal() {
                break;
            }
            match written {
                Ok(receipt) => assert_eq!(whole(&store, &receipt).await, "content\n"),
                Err(_) => writes_failed += 1,
            }
            // What can be seen is whole, and the same write succeeds.
            let page = store.list(&session("s1"), &ListRequest::default()).await.unwrap();
            assert_eq!(page.unreadable, 0);
            for metadata in page.records {
                let reference = metadata.storage_uri.parse().unwrap();
                let piece = store.read(&reference, &ReadRequest::default()).await.unwrap();
                assert_eq!(piece.content(), "content\n");
            }
            let receipt = store.write(&content, request("s1", "call_1")).await.unwrap();
            assert_eq!(whole(&store, &receipt).await, "content\n", "{fault:?} {operation}");
            assert_eq!(listed(&store).await, 1);
        }
        let tolerated = fault == Fault::ExistedLie;
        assert_eq!(writes_failed == 0, tolerated, "{fault:?} never made a write fail");
    }
}

#[tokio::test]
async fn an_own_commit_is_recognised() {
    for fault in [Fault::After, Fault::ExistedLie] {
        // The operations of a write: look, create the output, create the record, look at the output.
        let store = ResultStore::new(Arc::new(Watched::failing(3, fault)));
        let receipt = write(&store, "content").await;
        assert!(!receipt.existed(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_backend_without_conditions_loses_nothing() {
    let backend = Watched::creating_blindly();
    let store = ResultStore::new(Arc::new(backend));
    let writes = (0..16).map(|_| write(&store, "content"));
    let receipts = futures::future::join_all(writes).await;
    for receipt in &receipts {
        assert_eq!(whole(&store, receipt).await, "content");
    }
    assert_eq!(listed(&store).await, 1);
    assert!(write(&store, "content").await.existed());
}

#[tokio::test]
async fn purging_after_a_fault_finishes_the_work() {
    for operation in 1.. {
        let watched = Arc::new(Watched::failing(operation + 100, Fault::Before));
        let store = ResultStore::new(watched.clone());
        write(&store, "one").await;
        write(&store, "two").await;
        watched.restart(100);
        let purged = store.purge(&session("s1")).await;
        if !watched.heal() {
            break;
        }
        assert!(purged.is_err());
        let page = store.list(&session("s1"), &ListRequest::default()).await.unwrap();
        for metadata in page.records {
            let reference = metadata.storage_uri.parse().unwrap();
            let read = store.read(&reference, &ReadRequest::default()).await;
            assert!(read.is_ok(), "a record whose output is gone can be seen: {read:?}");
        }
        store.purge(&session("s1")).await.unwrap();
        let options =
            ListOptions { folder: None, depth: toolstub_store::Depth::All, after: None, limit: 9 };
        assert_eq!(watched.inner.list(options).await.unwrap().entries, []);
    }
}

#[tokio::test]
async fn a_record_of_a_later_version_is_not_written_over() {
    let store = memory_store();
    let receipt = write(&store, "content").await;
    let metadata = key(&receipt, "metadata.json");
    let json = store.backend().get(&metadata, 1 << 20).await.unwrap();
    let mut later: serde_json::Value = serde_json::from_slice(&json).unwrap();
    later["schema_version"] = 99.into();
    later["of_that_version"] = true.into();
    let later = later.to_string();
    store.backend().put(&metadata, later.clone().into()).await.unwrap();
    let again = store.write(&original("content"), request("s1", "call_1")).await;
    assert!(matches!(again, Err(StoreError::Corrupt { .. })), "{again:?}");
    assert_eq!(store.backend().get(&metadata, 1 << 20).await.unwrap(), later);
}
