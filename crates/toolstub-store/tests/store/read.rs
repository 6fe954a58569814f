//! Reading by range.

use std::sync::Arc;

use proptest::prelude::*;
use toolstub_core::{OffsetUnit, Ref};
use toolstub_store::{Piece, ReadRequest, ResultStore, StoreError};

use crate::protocol::Watched;
use crate::{memory_store, write};

const BLOCK: usize = 65_536;
const UNITS: [OffsetUnit; 3] = [OffsetUnit::UnicodeCodePoint, OffsetUnit::Byte, OffsetUnit::Line];

async fn read(
    store: &ResultStore,
    reference: &Ref,
    unit: OffsetUnit,
    offset: i128,
    limit: i128,
) -> Piece {
    let request = ReadRequest { offset, limit, unit, include_metadata: false };
    store.read(reference, &request).await.unwrap()
}

/// Reads all of `content` in pieces of `limit`, and checks each against the whole.
async fn joins(content: &[u8], unit: OffsetUnit, limit: i128) {
    let store = memory_store();
    let receipt = write(&store, content).await;
    let text = String::from_utf8_lossy(content);
    let (mut joined, mut shown, mut offset) = (Vec::new(), String::new(), 0);
    loop {
        let piece = read(&store, receipt.reference(), unit, i128::from(offset), limit).await;
        assert_eq!(piece.offset, offset);
        assert_eq!(piece.total_chars, text.chars().count() as u64);
        assert_eq!(piece.total_bytes, content.len() as u64);
        let units = match unit {
            OffsetUnit::UnicodeCodePoint => piece.content().chars().count() as u64,
            OffsetUnit::Byte => piece.bytes.len() as u64,
            OffsetUnit::Line => {
                let line_feeds = piece.content().matches('\n').count() as u64;
                line_feeds + u64::from(piece.bytes.last().is_some_and(|&byte| byte != b'\n'))
            }
        };
        assert_eq!(piece.next_offset, offset + units);
        let whole = !piece.has_more || i128::from(units) == limit || unit == OffsetUnit::Byte;
        assert!(whole, "a piece of {units} {unit} by {limit}");
        joined.extend_from_slice(&piece.bytes);
        shown.push_str(&piece.content());
        if !piece.has_more {
            break;
        }
        assert!(units > 0);
        offset = piece.next_offset;
    }
    assert!(joined == content, "by {limit} {unit}: the pieces do not join to the content");
    // Were a character cut, its halves would be shown as two.
    assert!(shown == text, "by {limit} {unit}: a character was cut");
}

fn run(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

/// Bytes that meet in every way in which UTF-8 can go wrong.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => "[a-z\n ]{1,9}".prop_map(String::into_bytes),
        3 => prop::sample::select(vec!["é", "漢", "🎯", "\r\n", "\u{2028}"])
            .prop_map(|text| text.as_bytes().to_vec()),
        3 => prop::collection::vec(prop::sample::select(vec![
            0x80, 0xbf, 0xc0, 0xc3, 0xe0, 0xe2, 0x82, 0xed, 0xa0, 0xf0, 0x9f, 0x8e, 0xf4, 0xff, b'\n',
        ]), 1..6),
    ];
    prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pieces_join_to_any_bytes(content in bytes(), limit in 1_i128..12) {
        run(async {
            for unit in UNITS {
                joins(&content, unit, limit).await;
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pieces_join_across_blocks(
        head in bytes(),
        first in BLOCK - 12..BLOCK + 3,
        filler in prop::sample::select(vec![&b"x"[..], "é".as_bytes(), b"\x80", b"\n", "漢".as_bytes()]),
        middle in bytes(),
        tail in bytes(),
        limit in 1_i128..70_000,
    ) {
        let fill = |len: usize| filler.iter().copied().cycle().take(len).collect::<Vec<_>>();
        let content = [head, fill(first), middle, fill(BLOCK), tail].concat();
        let limit = limit.max(content.len() as i128 / 200);
        run(async {
            for unit in UNITS {
                joins(&content, unit, limit).await;
            }
        });
    }
}

#[tokio::test]
async fn every_offset_at_a_block_border_is_right() {
    // A character of four bytes stands in each position across the border, after whole ones, ill-formed
    // ones and stray continuation bytes.
    for lead in [&b""[..], b"\x80\x80", b"\xf0\x9f", b"\xe2\x82", b"\xff"] {
        for shift in 0..6 {
            let mut content = vec![b'a'; BLOCK - shift - lead.len()];
            content.extend_from_slice(lead);
            content.extend_from_slice("🎯é\n漢z\u{fffd}".as_bytes());
            content.extend_from_slice(b"\xf0\x9f\x8e");
            content.extend(vec![b'b'; BLOCK]);
            let store = memory_store();
            let receipt = write(&store, &content).await;
            let text: Vec<char> = String::from_utf8_lossy(&content).chars().collect();
            for offset in BLOCK - 10..(BLOCK + 6).min(text.len()) {
                for limit in [1, 5] {
                    let unit = OffsetUnit::UnicodeCodePoint;
                    let (at, len) = (offset as i128, limit as i128);
                    let piece = read(&store, receipt.reference(), unit, at, len).await;
                    let expected: String = text[offset..].iter().take(limit).collect();
                    assert_eq!(piece.content(), expected, "{lead:x?} {shift} {offset} {limit}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_read_has_clear_edges() {
    let store = memory_store();
    let receipt = write(&store, "añ🎯\nz").await;
    #[rustfmt::skip]
    let rows: &[(OffsetUnit, i128, i128, &str, u64, bool, u64)] = &[
        // unit, offset, limit: content, offset, has_more, next_offset
        (OffsetUnit::UnicodeCodePoint, 0, 20_000, "añ🎯\nz", 0, false, 5),
        (OffsetUnit::UnicodeCodePoint, 1, -1, "ñ🎯\nz", 1, false, 5),
        (OffsetUnit::UnicodeCodePoint, 1, 2, "ñ🎯", 1, true, 3),
        (OffsetUnit::UnicodeCodePoint, 2, 0, "", 2, true, 2),
        (OffsetUnit::UnicodeCodePoint, 5, 9, "", 5, false, 5),
        (OffsetUnit::UnicodeCodePoint, 9, 9, "", 9, false, 9),
        (OffsetUnit::UnicodeCodePoint, 9, 0, "", 9, false, 9),
        (OffsetUnit::UnicodeCodePoint, i128::MAX, -1, "", u64::MAX, false, u64::MAX),
        (OffsetUnit::UnicodeCodePoint, 1, i128::MAX, "ñ🎯\nz", 1, false, 5),
        (OffsetUnit::Byte, 0, 4, "añ", 0, true, 3),
        (OffsetUnit::Byte, 3, 1, "🎯", 3, true, 7),
        (OffsetUnit::Byte, 3, 3, "🎯", 3, true, 7),
        (OffsetUnit::Byte, 5, 4, "🎯\nz", 3, false, 9),
        (OffsetUnit::Byte, 5, 0, "", 5, true, 5),
        (OffsetUnit::Byte, 9, 4, "", 9, false, 9),
        (OffsetUnit::Line, 0, 1, "añ🎯\n", 0, true, 1),
        (OffsetUnit::Line, 1, 1, "z", 1, false, 2),
        (OffsetUnit::Line, 2, 1, "", 2, false, 2),
        (OffsetUnit::Line, 0, -1, "añ🎯\nz", 0, false, 2),
    ];
    for &(unit, offset, limit, content, at, has_more, next_offset) in rows {
        let piece = read(&store, receipt.reference(), unit, offset, limit).await;
        let seen = (&*piece.content(), piece.offset, piece.has_more, piece.next_offset);
        assert_eq!(seen, (content, at, has_more, next_offset), "{offset} {limit} {unit}");
    }
    let piece = read(&store, receipt.reference(), OffsetUnit::Line, 0, 1).await;
    assert_eq!((piece.total_chars, piece.total_bytes, piece.total_lines), (5, 9, 2));
}

#[tokio::test]
async fn numbers_that_make_no_sense_are_refused_with_those_that_do() {
    let store = memory_store();
    let receipt = write(&store, "a").await;
    for (offset, limit, says) in [
        (-1, 5, "offset -1 is not accepted; give 0 or more"),
        (i128::MIN, 5, "offset -170141183460469231731687303715884105728 is not accepted"),
        (0, -2, "limit -2 is not accepted; give 0 or more, or -1 for the rest"),
    ] {
        let request = ReadRequest { offset, limit, ..ReadRequest::default() };
        let error = store.read(receipt.reference(), &request).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }));
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn an_empty_original_can_be_read() {
    let store = memory_store();
    let receipt = write(&store, "").await;
    for unit in UNITS {
        let piece = read(&store, receipt.reference(), unit, 0, -1).await;
        assert_eq!((piece.bytes.len(), piece.has_more, piece.next_offset), (0, false, 0));
    }
}

#[tokio::test]
async fn the_answer_has_the_names_of_the_wire() {
    let store = memory_store();
    let receipt = write(&store, b"a\xffb").await;
    let request = ReadRequest { limit: 2, include_metadata: true, ..ReadRequest::default() };
    let piece = store.read(receipt.reference(), &request).await.unwrap();
    let answer = serde_json::to_value(piece.to_answer()).unwrap();
    let metadata = &answer["metadata"];
    assert_eq!(metadata["original_bytes"], 3);
    assert!(metadata.get("blocks").is_none());
    let expected = serde_json::json!({
        "tool_result_id": receipt.reference().id().as_str(),
        "content": "a\u{fffd}", "offset": 0, "limit": 2, "offset_unit": "unicode_code_point",
        "total_chars": 3, "total_bytes": 3, "total_lines": 1, "has_more": true, "next_offset": 2,
        "lossy": true, "metadata": metadata,
    });
    assert_eq!(answer, expected);

    let request = ReadRequest { limit: -1, ..ReadRequest::default() };
    let piece = store.read(receipt.reference(), &request).await.unwrap();
    let answer = serde_json::to_value(piece.to_base64_answer()).unwrap();
    assert_eq!((&answer["content_base64"], &answer["limit"]), (&"Yf9i".into(), &(-1).into()));
    for left_out in ["content", "lossy", "metadata"] {
        assert!(answer.get(left_out).is_none(), "{left_out}");
    }
}

#[tokio::test]
async fn a_small_read_fetches_little_wherever_it_is() {
    let watched = Arc::new(Watched::default());
    let store = ResultStore::new(watched.clone());
    let line = "naïve 漢字 line of text\n";
    let receipt = write(&store, line.repeat(16 << 20 >> 5)).await;
    let metadata = receipt.metadata();
    for (unit, total) in UNITS.into_iter().zip([
        metadata.original_chars,
        metadata.original_bytes,
        metadata.line_count,
    ]) {
        for part in 0..50_u64 {
            watched.reset();
            let offset = i128::from(total) * i128::from(part) / 50;
            read(&store, receipt.reference(), unit, offset, 2000.min(i128::from(total) / 50)).await;
            let (requests, bytes) = watched.output_reads();
            assert!(requests <= 2 && bytes <= 256 << 10, "{unit} {offset}: {requests} {bytes}");
        }
    }
}
