//! Reading parts named by their structure.

use toolstub_core::{Kind, OffsetUnit, Receipt, Synopsis};
use toolstub_store::{
    Piece, ReadRequest, ResultStore, Selection, Selector, StoreError, WriteRequest,
};

use crate::{memory_store, original, request, synopsis};

async fn keep(store: &ResultStore, content: &str, kind: Kind, structure: &[&str]) -> Receipt {
    let structure = structure.iter().map(ToString::to_string).collect();
    let synopsis = Synopsis { structure, ..synopsis(kind) };
    let request = WriteRequest { synopsis, ..request("s1", "call_1") };
    store.write(&original(content), request).await.unwrap()
}

/// Reads a part in pieces of `limit` and joins them.
async fn select(
    store: &ResultStore,
    receipt: &Receipt,
    selector: &Selector,
    unit: OffsetUnit,
    limit: i128,
) -> Result<(String, Piece), StoreError> {
    let mut joined = Vec::new();
    let mut offset = 0;
    loop {
        let request = ReadRequest { offset, limit, unit, include_metadata: false };
        let piece = store.read_selected(receipt.reference(), selector, &request).await?;
        joined.extend_from_slice(&piece.bytes);
        if !piece.has_more {
            return Ok((String::from_utf8(joined).unwrap(), piece));
        }
        assert!(i128::from(piece.next_offset) > offset);
        offset = i128::from(piece.next_offset);
    }
}

async fn selects_of(
    store: &ResultStore,
    receipt: &Receipt,
    selector: Selector,
    expected: &str,
) -> Selection {
    let mut selection = None;
    for unit in [OffsetUnit::UnicodeCodePoint, OffsetUnit::Byte, OffsetUnit::Line] {
        let few = 1 + expected.len() as i128 / 10;
        for limit in [few, 20_000_000, -1] {
            let (joined, piece) = select(store, receipt, &selector, unit, limit).await.unwrap();
            assert!(joined == expected, "{selector} by {limit} {unit}: {joined}");
            assert_eq!(piece.total_chars, expected.chars().count() as u64);
            assert_eq!(piece.total_bytes, expected.len() as u64);
            assert_eq!(piece.total_lines, expected.lines().count() as u64);
            selection = piece.selection;
        }
    }
    selection.unwrap()
}

async fn selects(
    content: &str,
    (kind, structure): (Kind, &[&str]),
    selector: Selector,
    expected: &str,
) -> Selection {
    let store = memory_store();
    let receipt = keep(&store, content, kind, structure).await;
    selects_of(&store, &receipt, selector, expected).await
}

async fn fails(content: &str, kind: Kind, selector: Selector, says: &str) {
    let store = memory_store();
    let receipt = keep(&store, content, kind, &[]).await;
    let unit = OffsetUnit::default();
    let error = select(&store, &receipt, &selector, unit, -1).await.unwrap_err();
    assert!(matches!(error, StoreError::NothingSelected { .. }), "{error:?}");
    assert_eq!(error.to_string(), says);
}

#[tokio::test]
async fn a_pointer_selects_the_source_of_a_value() {
    let content = "\u{feff}{\n \"é\": [1, {\"漢\": \"🎯\\n\",\n \"x\":1.0e0 }]}\n";
    let json = (Kind::Json, &[][..]);
    let pointer = |text| Selector::pointer(text).unwrap();
    let found =
        selects(content, json, pointer("/é/1"), "{\"漢\": \"🎯\\n\",\n \"x\":1.0e0 }").await;
    assert_eq!((found.offset, found.byte_offset, found.line), (13, 16, 2));
    assert_eq!(found.columns, None);
    selects(content, json, pointer("/é/1/x"), "1.0e0").await;
    selects(content, json, pointer(""), content[3..].trim_end()).await;

    let says = "cannot select pointer `/e`: the object at the top has no key `e`; its keys: é";
    fails(content, Kind::Json, pointer("/e"), says).await;
    let says = "cannot select pointer `/a`: the result is text, not JSON; read its 3 lines instead";
    fails(content, Kind::Text, pointer("/a"), says).await;
}

#[tokio::test]
async fn parts_are_found_wherever_blocks_end() {
    let items: Vec<_> = (0..8_000).map(|n| format!("{{\"n\":{n},\"é\":\"漢]\"}}")).collect();
    let content =
        format!("{{\"skipped\":[{}],\n\"items\":[{}]}}", items.join(","), items.join(",\n"));
    let store = memory_store();
    let receipt = keep(&store, &content, Kind::Json, &[]).await;
    for item in [0, 3, 5_000, 7_999] {
        let pointer = Selector::pointer(&format!("/items/{item}")).unwrap();
        let found = selects_of(&store, &receipt, pointer, &items[item]).await;
        assert_eq!(found.line, item as u64 + 2);
    }
    let all = format!("[{}]", items.join(",\n"));
    selects_of(&store, &receipt, Selector::pointer("/items").unwrap(), &all).await;

    let rows: Vec<_> = (1..=12_000).map(|n| format!("{n},\"é,\n漢\"\n")).collect();
    let content = format!("id,name\n{}", rows.concat());
    let receipt = keep(&store, &content, Kind::Csv, &["column_count: 2", "rows: 12000"]).await;
    for (first, last) in [(1, 1), (7, 20), (9_000, 9_010), (11_999, 12_000)] {
        let selector = Selector::rows(&format!("{first}-{last}")).unwrap();
        let found = selects_of(&store, &receipt, selector, &rows[first - 1..last].concat()).await;
        assert_eq!(found.columns.unwrap(), ["id", "name"]);
        assert_eq!(found.line, first as u64 * 2);
    }
}

#[tokio::test]
async fn lines_are_counted_from_one() {
    let content = "é\r\n\n漢\nlast";
    let text = (Kind::Text, &[][..]);
    let lines = |text| Selector::lines(text).unwrap();
    assert_eq!(selects(content, text, lines("1"), "é\r\n").await.offset, 0);
    assert_eq!(selects(content, text, lines("2-3"), "\n漢\n").await.line, 2);
    selects(content, text, lines("3-99"), "漢\nlast").await;
    selects(content, text, lines("4-"), "last").await;
    fails(content, Kind::Text, lines("5-6"), "cannot select lines 5-6: the result has 4 lines")
        .await;
    fails("", Kind::Unknown, lines("1"), "cannot select lines 1: the result has 0 lines").await;
}

#[tokio::test]
async fn quotes_are_read_as_the_number_of_rows_demands() {
    // A cell begins with an inch mark that encloses nothing.
    let content = "size,name\n\"5 inch,a\n6,b\n\"7 inch,c\n8,d\n";
    let told = (Kind::Csv, &["column_count: 2", "rows: 4"][..]);
    selects(content, told, Selector::rows("2").unwrap(), "6,b\n").await;
    let content = "size\tname\n\"5\n\"\ta\n6\tb\n";
    let told = (Kind::Tsv, &["column_count: 2", "rows: 2"][..]);
    selects(content, told, Selector::rows("1").unwrap(), "\"5\n\"\ta\n").await;

    let rows = Selector::rows("3-4").unwrap();
    fails(
        "a,b\n1,2\n3,4\n",
        Kind::Csv,
        rows.clone(),
        "cannot select rows 3-4: the table has 2 rows",
    )
    .await;
    let says =
        "cannot select rows 3-4: the result is yaml, not csv or tsv; read its 1 lines instead";
    fails("a: b\n", Kind::Yaml, rows, says).await;
}

#[test]
fn selectors_that_make_no_sense_are_refused() {
    for given in ["", "0", "0-1", "2-1", "a", "-1", "1-2-3", "+1", "1.5"] {
        let error = Selector::rows(given).unwrap_err().to_string();
        let says = "is not accepted; give first-last, counted from 1 and inclusive";
        assert!(error.contains(says), "{given}: {error}");
    }
    assert!(Selector::lines(" 3-99999999999999999999999 ").is_ok());
    assert!(Selector::pointer("a").unwrap_err().to_string().contains("begins with a slash"));
}
