//! What each operation costs in requests and bytes, and the table that says so.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use toolstub_core::{Kind, OffsetUnit, Ref};
use toolstub_storage_tests::{Count, FakeS3, Operation};
use toolstub_store::{
    Backend, CollectRequest, Depth, ListOptions, ListRequest, MemoryBackend, ReadRequest,
    ResultStore, SearchRequest, Selector,
};

use crate::place::Place;
use crate::{lines, original, request, session, write};

const BLOCK: usize = 65_536;
const MIB: usize = 1 << 20;
/// The most that a small read may fetch of an output, in bytes.
const SMALL_READ: u64 = 256 << 10;

/// A row of the table: an operation and what it cost.
struct Row {
    operation: &'static str,
    requests: u64,
    /// The bytes uploaded.
    sent: u64,
    /// The bytes fetched of records and listings.
    beside: u64,
    /// The bytes fetched of outputs.
    outputs: u64,
    /// What stands before numbers that are bounds.
    at_most: &'static str,
}

impl Row {
    /// What the requests since the last count cost.
    fn take(operation: &'static str, fake: &FakeS3) -> Self {
        let requests = fake.requests();
        fake.forget();
        let all: Count = requests.iter().collect();
        let of_output = requests
            .iter()
            .filter(|one| one.operation == Operation::Get && one.key.ends_with("/output.txt"));
        let outputs = of_output.collect::<Count>().sent;
        let (sent, beside) = (all.received, all.sent - outputs);
        Self { operation, requests: all.requests, sent, beside, outputs, at_most: "" }
    }

    #[track_caller]
    fn within(self, requests: u64, outputs: u64) -> Self {
        let Self { operation, requests: made, outputs: fetched, .. } = self;
        assert!(made <= requests, "{operation}: {made} requests, over {requests}");
        assert!(fetched <= outputs, "{operation}: {fetched} bytes of outputs, over {outputs}");
        self
    }

    /// Tells bounds in place of numbers that are others in every run: what is asked for ahead may
    /// be given up before it is sent.
    #[track_caller]
    fn told_as_bounds(self, requests: u64, beside: u64) -> Self {
        let row = self.within(requests, 0);
        assert!(row.beside <= beside, "{}: {} bytes beside outputs", row.operation, row.beside);
        Self { requests, beside, at_most: "≤ ", ..row }
    }
}

/// A number of bytes to three digits.
fn bytes(bytes: u64) -> String {
    match bytes {
        0 => "–".to_owned(),
        1..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / MIB as f64),
    }
}

fn table(rows: &[Row]) -> String {
    let mut table =
        "| operation | requests | sent | fetched of records and listings | fetched of outputs |\n\
                     |---|---|---|---|---|\n"
            .to_owned();
    for Row { operation, requests, sent, beside, outputs, at_most } in rows {
        let (sent, beside, outputs) = (bytes(*sent), bytes(*beside), bytes(*outputs));
        let _ = writeln!(
            table,
            "| {operation} | {at_most}{requests} | {sent} | {at_most}{beside} | {outputs} |"
        );
    }
    table
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_of_requests_and_bytes_is_as_documented() {
    let fake = FakeS3::start();
    let store = Place::fake(&fake).store("root");
    let mut rows = Vec::new();
    writes(&fake, &store, &mut rows).await;
    reads(&fake, &store, &mut rows).await;
    sessions(&fake, &store, &mut rows).await;

    let table = table(&rows);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/storage-backends.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(docs.contains(&table), "the table of docs/storage-backends.md should read\n\n{table}");
}

async fn writes(fake: &FakeS3, store: &ResultStore, rows: &mut Vec<Row>) {
    let small = original(lines(20_000));
    write(store, "small", &small).await;
    rows.push(Row::take("put 20 KB", fake).within(6, 0));
    write(store, "small", &small).await;
    rows.push(Row::take("put 20 KB that is there", fake).within(4, 20_000));

    let large = original(lines(64 * MIB));
    let receipt = write(store, "large", &large).await;
    rows.push(Row::take("put 64 MiB", fake).within(20, 0));
    write(store, "large", &large).await;
    rows.push(Row::take("put 64 MiB that is there", fake).within(16, 64 * MIB as u64));

    let request = SearchRequest::new("no line holds this");
    let found = store.search(receipt.reference(), &request).await.unwrap();
    assert!(found.matches.is_empty() && found.complete);
    rows.push(Row::take("search 64 MiB for what is not there", fake).within(80, 72 * MIB as u64));
    assert_eq!(store.verify(receipt.reference()).await.unwrap(), 64 * MIB as u64);
    rows.push(Row::take("verify 64 MiB", fake).within(20, 64 * MIB as u64));
}

async fn reads(fake: &FakeS3, store: &ResultStore, rows: &mut Vec<Row>) {
    let ascii = Huge::new(lines(BLOCK), 16_383, lines(BLOCK));
    let reference = ascii.insert(fake, Kind::Text).await;
    let unit = OffsetUnit::UnicodeCodePoint;
    let read = ascii.read_the_end(fake, store, &reference, unit, 20_000).await;
    assert!(read.is_ascii());
    let at_the_end = "read 20,000 characters at the end of 1 GiB";
    rows.push(Row::take(at_the_end, fake).within(2, SMALL_READ));

    let cjk = Huge::new(cjk(3 * BLOCK), 5461, cjk(BLOCK - 1));
    let reference = cjk.insert(fake, Kind::Text).await;
    for (operation, unit, limit) in [
        ("the same, CJK", OffsetUnit::UnicodeCodePoint, 20_000),
        ("the same, 20,000 bytes", OffsetUnit::Byte, 20_000),
        ("the same, 100 lines", OffsetUnit::Line, 100),
    ] {
        cjk.read_the_end(fake, store, &reference, unit, limit).await;
        rows.push(Row::take(operation, fake).within(2, SMALL_READ));
    }
    let selector = Selector::lines("5000000-5000100").unwrap();
    let request = ReadRequest::default();
    let selected = store.read_selected(&reference, &selector, &request).await.unwrap();
    assert_eq!(selected.total_lines, 101);
    rows.push(Row::take("read the lines 5,000,000 to 5,000,100", fake).within(8, 8 * BLOCK as u64));

    let json = format!("{{\"first\":{{\"a\":1}},\"items\":[{}0]}}", "1234567,".repeat(MIB));
    let receipt = store.write(&original(json), crate::request("json", Kind::Json)).await.unwrap();
    fake.forget();
    for (operation, pointer, expected, fetched) in [
        ("read `/first/a` of 8 MiB of JSON", "/first/a", "1", MIB),
        ("read `/items/1000000` of it", "/items/1000000", "1234567", 9 * MIB),
    ] {
        let selector = Selector::pointer(pointer).unwrap();
        let selected = store.read_selected(receipt.reference(), &selector, &request).await;
        assert_eq!(selected.unwrap().content(), expected);
        rows.push(Row::take(operation, fake).within(20, fetched as u64 + SMALL_READ));
    }
}

async fn sessions(fake: &FakeS3, store: &ResultStore, rows: &mut Vec<Row>) {
    for key in fake.keys() {
        fake.remove(&key);
    }
    // What the store writes, as it would stand in the bucket.
    let memory = Arc::new(MemoryBackend::new());
    let written = ResultStore::new(memory.clone());
    let mut last = None;
    for number in 0..10_000 {
        let content = original(format!("result {number}"));
        last = Some(write(&written, &format!("call_{number:05}"), &content).await);
    }
    copy(&memory, fake).await;

    let listed = store.list(&session(), &ListRequest::default()).await.unwrap();
    assert!(listed.records.len() == 50 && listed.next_cursor.is_some());
    rows.push(Row::take("list 50 of 10,000", fake).told_as_bounds(70, 100 << 10));
    let request = ListRequest { cursor: listed.next_cursor, ..ListRequest::default() };
    assert_eq!(store.list(&session(), &request).await.unwrap().records.len(), 50);
    rows.push(Row::take("list the next 50", fake).told_as_bounds(70, 100 << 10));

    let now = SystemTime::now() + Duration::from_secs(2 * 24 * 60 * 60);
    let request = CollectRequest { dry_run: true, ..CollectRequest::new(now) };
    assert_eq!(store.gc(&request).await.unwrap().objects, 0);
    rows.push(Row::take("`gc --dry-run` over 10,000", fake).within(120, 0));

    store.delete(last.unwrap().reference()).await.unwrap();
    rows.push(Row::take("delete one", fake).within(12, 0));

    for key in fake.keys().split_off(200) {
        fake.remove(&key);
    }
    let removed = store.purge(&session()).await.unwrap();
    assert_eq!((removed.results, removed.objects), (100, 200));
    assert_eq!(fake.keys(), [""; 0]);
    rows.push(Row::take("purge a session of 100", fake).within(500, 0));
}

/// Copies every object of a store in memory under the root in a bucket.
async fn copy(memory: &MemoryBackend, fake: &FakeS3) {
    let options = ListOptions { folder: None, depth: Depth::All, after: None, limit: usize::MAX };
    for entry in memory.list(options).await.unwrap().entries {
        let key = toolstub_store::Key::new(entry.marker()).unwrap();
        fake.insert(&format!("root/{key}"), memory.get(&key, u64::MAX).await.unwrap());
    }
}

/// So many bytes of lines of Chinese characters, and a number where a whole character has no room.
fn cjk(bytes: usize) -> Vec<u8> {
    let line = format!("{}\n", "工具結果的原文在此".repeat(7));
    let mut text = line.repeat(bytes / line.len());
    let left = bytes - text.len();
    text.push_str(&"漢".repeat(left / 3));
    text.push_str(&"0".repeat(left % 3));
    text.into_bytes()
}

/// An original of a gigabyte: a unit of whole blocks and characters so many times, then a tail.
struct Huge {
    unit: Vec<u8>,
    times: usize,
    tail: Vec<u8>,
}

impl Huge {
    fn new(unit: Vec<u8>, times: usize, tail: Vec<u8>) -> Self {
        assert!(unit.len().is_multiple_of(BLOCK) && std::str::from_utf8(&unit).is_ok());
        let huge = Self { unit, times, tail };
        assert!((1 << 30) - huge.len() < 3, "{} bytes", huge.len());
        huge
    }

    fn len(&self) -> usize {
        self.unit.len() * self.times + self.tail.len()
    }

    /// Puts the original and its record into a bucket.
    ///
    /// The record is the one that the store writes of a single unit and the tail, with the unit's
    /// blocks repeated: no block knows how many stand before it.
    async fn insert(&self, fake: &FakeS3, kind: Kind) -> Ref {
        let memory = Arc::new(MemoryBackend::new());
        let once = original([&self.unit[..], &self.tail].concat());
        let written = ResultStore::new(memory.clone());
        let receipt = written.write(&once, request("huge", kind)).await.unwrap();
        let folder = format!("sessions/s1/tool-results/{}", receipt.reference().id());
        let record = toolstub_store::Key::new(format!("{folder}/metadata.json")).unwrap();
        let record = memory.get(&record, u64::MAX).await.unwrap();
        let mut record: serde_json::Value = serde_json::from_slice(&record).unwrap();

        let blocks = BASE64.decode(record["blocks"].as_str().unwrap()).unwrap();
        let entry = blocks.len() / (once.size() as usize).div_ceil(BLOCK);
        let (of_unit, of_tail) = blocks.split_at(entry * (self.unit.len() / BLOCK));
        let blocks = [of_unit.repeat(self.times), of_tail.to_vec()].concat();
        let unit = original(self.unit.clone());
        let more = |name: &str, of_unit: u64| {
            (record[name].as_u64().unwrap() + of_unit * (self.times as u64 - 1)).into()
        };
        let chars: serde_json::Value = more("original_chars", unit.chars());
        let line_feeds = memchr::memchr_iter(b'\n', &self.unit).count() as u64;
        let lines: serde_json::Value = more("line_count", line_feeds);

        let mut hasher = Sha256::new();
        (0..self.times).for_each(|_| hasher.update(&self.unit));
        hasher.update(&self.tail);
        let sha256: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let id = format!("tr_huge_{}", &sha256[..32]);
        let reference: Ref = format!("toolstub://session/s1/tool-results/{id}").parse().unwrap();
        for (name, value) in [
            ("original_bytes", self.len().into()),
            ("original_chars", chars),
            ("line_count", lines),
            ("blocks", BASE64.encode(blocks).into()),
            ("sha256", sha256.into()),
            ("tool_result_id", id.clone().into()),
            ("storage_uri", reference.to_string().into()),
            ("output_uri", format!("{reference}/output.txt").into()),
        ] {
            record[name] = value;
        }
        // The checksum is that of the record that the store wrote.
        record.as_object_mut().unwrap().remove("record_crc32c");
        let folder = format!("root/sessions/s1/tool-results/{id}");
        fake.insert(&format!("{folder}/metadata.json"), record.to_string().into());
        let (unit, tail) = (Bytes::from(self.unit.clone()), Bytes::from(self.tail.clone()));
        fake.insert_repeated(&format!("{folder}/output.txt"), unit, self.times, tail);
        reference
    }

    /// Reads the last of the original, checks it, and returns it.
    async fn read_the_end(
        &self,
        fake: &FakeS3,
        store: &ResultStore,
        reference: &Ref,
        unit: OffsetUnit,
        limit: u64,
    ) -> String {
        let metadata = store.metadata(reference).await.unwrap();
        let total = match unit {
            OffsetUnit::UnicodeCodePoint => metadata.original_chars,
            OffsetUnit::Byte => metadata.original_bytes,
            OffsetUnit::Line => metadata.line_count,
        };
        // Counted is the read alone.
        fake.forget();
        let offset = i128::from(total - limit);
        let request = ReadRequest { offset, limit: limit.into(), unit, include_metadata: false };
        let piece = store.read(reference, &request).await.unwrap();
        assert!(!piece.has_more && piece.next_offset == total);
        let before_tail = self.unit.repeat(2);
        let end = [&before_tail[..], &self.tail].concat();
        let expected = &end[end.len() - piece.bytes.len()..];
        assert!(piece.bytes == expected, "the end by {unit:?}");
        match unit {
            OffsetUnit::UnicodeCodePoint => {
                assert_eq!(piece.content().chars().count() as u64, limit);
            }
            OffsetUnit::Byte => assert!(piece.bytes.len() as u64 - limit < 4),
            OffsetUnit::Line => assert_eq!(piece.content().lines().count() as u64, limit),
        }
        piece.content().into_owned()
    }
}
