//! Searches and selections beside plain ones of the whole, on contents of several windows.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use toolstub_core::{Kind, OffsetUnit, Synopsis};
use toolstub_store::{
    Piece, ReadRequest, SearchMode, SearchRequest, Searched, Selector, WriteRequest,
};

use crate::{memory_store, original, request, synopsis};

/// The size of a block, and how many are looked at together.
const BLOCK: usize = 65_536;
const WINDOW: usize = 16 * BLOCK;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn search(content: &[u8], request: &SearchRequest) -> Searched {
    block_on(async {
        let store = memory_store();
        let receipt = crate::write(&store, content).await;
        store.search(receipt.reference(), request).await.unwrap()
    })
}

fn read_selected(content: &[u8], kind: Kind, structure: &[String], selector: &Selector) -> Piece {
    read_all_selected(content, kind, structure, [selector]).remove(0)
}

fn read_all_selected<'a>(
    content: &[u8],
    kind: Kind,
    structure: &[String],
    selectors: impl IntoIterator<Item = &'a Selector>,
) -> Vec<Piece> {
    block_on(async {
        let store = memory_store();
        let synopsis = Synopsis { structure: structure.to_vec(), ..synopsis(kind) };
        let request = WriteRequest { synopsis, ..request("s1", "call_1") };
        let receipt = store.write(&original(content), request).await.unwrap();
        let whole = ReadRequest { limit: -1, unit: OffsetUnit::Byte, ..ReadRequest::default() };
        let mut pieces = Vec::new();
        for selector in selectors {
            let piece = store.read_selected(receipt.reference(), selector, &whole).await;
            pieces.push(piece.unwrap());
        }
        pieces
    })
}

/// Pieces that meet the borders of blocks and windows, in a filling.
fn contents() -> impl Strategy<Value = Vec<u8>> {
    let filling = select(vec!["x", "é", "漢\n", "🎯", "word word\r\n", ". ", "aab"]);
    let pieces = prop::collection::vec(
        (
            select(vec![1, 2, 15, 16, 17]),
            0..24_usize,
            prop::collection::vec(
                select(vec![
                    &b"needle"[..],
                    b"Needle",
                    b"nee",
                    b"dle",
                    "né🎯dle".as_bytes(),
                    b"\n",
                    b"\r\n",
                    b"a",
                    b"b",
                    b" ",
                    "é".as_bytes(),
                    "\u{212a}".as_bytes(),
                    b"\xff",
                    b"\xe2\x82",
                    b"\xf0\x9f\x8e",
                    b"\x80",
                    "\u{fffd}".as_bytes(),
                ]),
                1..12,
            ),
        ),
        1..5,
    );
    let size = select(vec![0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7, WINDOW + 70_000]);
    (filling, pieces, size, any::<bool>()).prop_map(|(filling, pieces, size, mark)| {
        let mut content = if mark { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        content.extend(filling.bytes().cycle().take(size));
        for (border, before, parts) in pieces {
            let piece = parts.concat();
            let at = (border * BLOCK).saturating_sub(before);
            match content.get_mut(at..at + piece.len()) {
                Some(place) => place.copy_from_slice(&piece),
                None => content.extend_from_slice(&piece),
            }
        }
        content
    })
}

/// Where characters begin in a content, each ill-formed sequence being one.
fn starts(content: &[u8]) -> Vec<usize> {
    let (mut starts, mut at) = (Vec::new(), 0);
    for chunk in content.utf8_chunks() {
        starts.extend(chunk.valid().char_indices().map(|(within, _)| at + within));
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            starts.push(at);
            at += chunk.invalid().len();
        }
    }
    starts
}

#[track_caller]
fn agrees(content: &[u8], pattern: &str, request: &SearchRequest) {
    let regex = regex::bytes::RegexBuilder::new(pattern)
        .multi_line(true)
        .case_insensitive(request.ignore_case)
        .build()
        .unwrap();
    let starts = starts(content);
    let chars = |at: usize| starts.partition_point(|&start| start < at);
    let text: Vec<char> = String::from_utf8_lossy(content).chars().collect();
    let searched = search(content, request);
    let number = |given: i128| usize::try_from(given).unwrap();
    let from = starts.get(number(request.offset)).copied().unwrap_or(content.len());
    let mut expected = Vec::new();
    let mut at = from;
    while let Some(next) = regex.find_at(content, at) {
        at = next.end();
        expected.push(next.range());
    }
    assert_eq!(searched.total_matches, Some(expected.len() as u64), "{request:?}");
    assert!(searched.complete, "{request:?}");
    assert_eq!(searched.matches.len(), expected.len().min(number(request.limit)));
    let around = number(request.context_chars);
    let (mut line, mut behind) = (1, 0);
    for (found, range) in searched.matches.iter().zip(&expected) {
        line += memchr::memchr_iter(b'\n', &content[behind..range.start]).count() as u64;
        behind = range.start;
        let (start, end) = (chars(range.start), chars(range.end));
        assert_eq!((found.offset, found.line), (start as u64, line), "{request:?}");
        let shown = start.saturating_sub(around)..text.len().min(end + around);
        let snippet: String = text[shown].iter().collect();
        assert_eq!(found.snippet, snippet, "{request:?}");
    }
    if let (true, Some(last)) = (searched.has_more, searched.matches.len().checked_sub(1)) {
        assert_eq!(searched.next_offset, chars(expected[last].end) as u64, "{request:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn a_literal_search_is_that_of_the_whole(
        content in contents(),
        query in select(vec!["needle", "né🎯dle", "e", "\n", "dle\n", "aab", "\u{fffd}", "k", "漢\n漢"]),
        ignore_case: bool,
        limit in select(vec![1_i128, 3, 500]),
        context_chars in select(vec![0_i128, 1, 40, 5000]),
        skip in select(vec![0_usize, 1, BLOCK - 2, BLOCK]),
    ) {
        let offset = skip.min(starts(&content).len()) as i128;
        let request = SearchRequest {
            ignore_case, limit, context_chars, offset, count: true, ..SearchRequest::new(query)
        };
        agrees(&content, &regex::escape(query), &request);
    }

    #[test]
    fn a_regular_expression_finds_what_it_finds_in_the_whole(
        content in contents(),
        pattern in select(vec![
            "needle", "n.{1,30}e", r"(?s)n.{1,9}e", "^a", "e$", "é{1,5}", r"[^\n]\n", r"\r?\nw\w+",
            "(?-u:\\b)needle", "🎯|é", r"\pL{3}", "aab(aab)?", r"(?s)\A.", r"(?s).\z", "k",
        ]),
        ignore_case: bool,
        limit in select(vec![1_i128, 7, 500]),
        context_chars in select(vec![0_i128, 2, 300]),
        skip in select(vec![0_usize, 1, BLOCK - 2, BLOCK]),
    ) {
        let offset = skip.min(starts(&content).len()) as i128;
        let request = SearchRequest {
            mode: SearchMode::Regex,
            ignore_case, limit, context_chars, offset, count: true,
            ..SearchRequest::new(pattern)
        };
        agrees(&content, pattern, &request);
    }

    #[test]
    fn lines_are_what_line_feeds_end(content in contents(), first: Index, more in 0..3_usize) {
        let lines: Vec<&[u8]> = content.split_inclusive(|&byte| byte == b'\n').collect();
        if lines.is_empty() {
            return Ok(());
        }
        let first = first.index(lines.len());
        let last = (first + more).min(lines.len() - 1);
        let selector = Selector::lines(&format!("{}-{}", first + 1, last + 1)).unwrap();
        let piece = read_selected(&content, Kind::Text, &[], &selector);
        prop_assert!(piece.bytes == lines[first..=last].concat());
        let before: usize = lines[..first].iter().map(|line| line.len()).sum();
        let selection = piece.selection.unwrap();
        prop_assert_eq!(selection.byte_offset, before as u64);
        prop_assert_eq!(selection.line, first as u64 + 1);
        // A character is never cut, so that one that is not UTF-8 may not begin here.
        let chars = starts(&content).partition_point(|&start| start < before) as u64;
        prop_assert_eq!(selection.offset, chars);
        prop_assert_eq!(piece.total_lines, (last - first + 1) as u64);
    }

    #[test]
    fn rows_are_what_a_reader_of_tables_reads(
        cells in prop::collection::vec(
            (select(vec!["1", "", "é漢", "a b", "-"]), select(vec!["x", "q\"q", "l\nl", "c,c", "🎯", "l\r\nl"])),
            1..40,
        ),
        repeat in select(vec![1_usize, 3000, 9000]),
        end in select(vec!["\n", "\r\n"]),
        last_end: bool,
        mark: bool,
        first: Index,
        more in 0..3_usize,
    ) {
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let mut content = if mark { "\u{feff}".to_owned() } else { String::new() };
        content += "id,na\u{e9}me,n";
        content += end;
        let mut rows = Vec::new();
        for number in 0..(cells.len() * repeat).min(40_000) {
            let (plain, odd) = cells[number % cells.len()];
            rows.push(format!("{plain},{},{number}{end}", quoted(odd)));
        }
        let count = rows.len();
        if !last_end {
            let last = rows.last_mut().unwrap();
            last.truncate(last.len() - end.len());
        }
        content.extend(rows.iter().map(String::as_str));
        let read = csv::Reader::from_reader(content.as_bytes()).records().count();
        prop_assert_eq!(read, count);
        let first = first.index(count);
        let last = (first + more).min(count - 1);
        let selector = Selector::rows(&format!("{}-{}", first + 1, last + 1)).unwrap();
        let structure = ["column_count: 3".to_owned(), format!("rows: {count}")];
        let piece = read_selected(content.as_bytes(), Kind::Csv, &structure, &selector);
        prop_assert_eq!(piece.content(), rows[first..=last].concat());
        let columns = piece.selection.unwrap().columns.unwrap();
        prop_assert_eq!(columns, ["id", "na\u{e9}me", "n"]);
    }

    #[test]
    fn a_pointer_leads_where_it_leads_in_the_tree(
        value in json(),
        before in select(vec![0_usize, BLOCK - 40, BLOCK - 9, WINDOW - 30]),
        pretty: bool,
        mark: bool,
    ) {
        let document = serde_json::json!({"skipped": "é".repeat(before / 2), "value": value});
        let text = if pretty {
            serde_json::to_string_pretty(&document).unwrap()
        } else {
            document.to_string()
        };
        let content = if mark { format!("\u{feff}{text}\n") } else { text };
        let selectors: Vec<_> = pointers(&document["value"])
            .into_iter()
            .take(12)
            .map(|(pointer, expected)| {
                (Selector::pointer(&format!("/value{pointer}")).unwrap(), expected)
            })
            .collect();
        let parts = selectors.iter().map(|(selector, _)| selector);
        let pieces = read_all_selected(content.as_bytes(), Kind::Json, &[], parts);
        for (piece, (selector, expected)) in pieces.iter().zip(&selectors) {
            let found: Value = serde_json::from_slice(&piece.bytes).unwrap();
            prop_assert_eq!(&found, *expected, "{}", selector);
            prop_assert!(!piece.bytes[0].is_ascii_whitespace());
            prop_assert!(!piece.bytes[piece.bytes.len() - 1].is_ascii_whitespace());
        }
    }
}

/// Documents with keys and strings that are hard to pass over.
fn json() -> impl Strategy<Value = Value> {
    let text = || select(vec!["", "a", "/", "~", "é\"", "\\", "]}", "漢\u{1}", "🎯,", "0"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Quarters are read back as they were written.
        (-999..999_i32).prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..5).prop_map(|map| {
                Value::Object(map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// Every pointer into a value, with what it names.
fn pointers(value: &Value) -> Vec<(String, &Value)> {
    let mut found = vec![(String::new(), value)];
    let mut next = 0;
    while let Some((pointer, value)) = found.get(next).cloned() {
        next += 1;
        match value {
            Value::Array(items) => found.extend(
                items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), item)),
            ),
            Value::Object(map) => found.extend(map.iter().map(|(key, item)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                (format!("{pointer}/{key}"), item)
            })),
            _ => {}
        }
    }
    found
}
