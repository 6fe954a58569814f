//! Searching.

use std::sync::Arc;

use proptest::prelude::*;
use toolstub_store::{ResultStore, SearchMode, SearchRequest, Searched, StoreError};

use crate::protocol::Watched;
use crate::{memory_store, write};

async fn search(content: impl AsRef<[u8]>, request: &SearchRequest) -> Searched {
    let store = memory_store();
    let receipt = write(&store, content).await;
    store.search(receipt.reference(), request).await.unwrap()
}

fn literal(query: &str) -> SearchRequest {
    SearchRequest::new(query)
}

fn regex(query: &str) -> SearchRequest {
    SearchRequest { mode: SearchMode::Regex, ..SearchRequest::new(query) }
}

fn offsets(found: &Searched) -> Vec<u64> {
    found.matches.iter().map(|found| found.offset).collect()
}

#[tokio::test]
async fn offsets_count_characters_and_lines_count_line_feeds() {
    let found = search("añ🎯\r\nx needle\nneedle", &literal("needle")).await;
    let places: Vec<_> = found.matches.iter().map(|found| (found.offset, found.line)).collect();
    assert_eq!(places, [(7, 2), (14, 3)]);
    assert_eq!((found.has_more, found.complete, found.next_offset), (false, true, 20));
    assert_eq!(found.scanned_bytes, 24);
}

#[tokio::test]
async fn every_character_of_a_query_stands_for_itself() {
    let text = ".* [x] (y) \\d+ $end ^ ||= %s";
    for query in [".*", "[x]", "(y)", "\\d+", "$", "^", "||=", "%"] {
        let expected = text.find(query).unwrap() as u64;
        for ignore_case in [false, true] {
            let request = SearchRequest { ignore_case, ..literal(query) };
            assert_eq!(offsets(&search(text, &request).await), [expected], "{query}");
        }
    }
    assert_eq!(offsets(&search(text, &literal("a.*b")).await), [0; 0]);
}

#[tokio::test]
async fn the_answer_has_the_names_of_the_wire() {
    let found = search("a needle", &literal("needle")).await;
    let expected = serde_json::json!({
        "tool_result_id": found.tool_result_id,
        "matches": [{
            "offset": 2, "offset_unit": "unicode_code_point", "line": 1, "snippet": "a needle",
        }],
        "has_more": false, "next_offset": 8, "scanned_bytes": 8, "complete": true,
    });
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
}

#[tokio::test]
async fn matches_do_not_overlap() {
    assert_eq!(offsets(&search("aaaaa", &literal("aa")).await), [0, 2]);
}

#[tokio::test]
async fn case_folds_character_by_character() {
    let ignoring = |query| SearchRequest { ignore_case: true, ..literal(query) };
    let kelvin = "\u{212a}elvin KELVIN kelvin";
    assert_eq!(offsets(&search(kelvin, &ignoring("kelvin")).await), [0, 7, 14]);
    assert_eq!(offsets(&search(kelvin, &literal("kelvin")).await), [14]);
    assert_eq!(offsets(&search("İ STRASSE straße", &ignoring("straße")).await), [10]);
    assert_eq!(offsets(&search("ΣΑΣ σας", &ignoring("σας")).await), [0, 4]);
    let store = memory_store();
    let receipt = write(&store, "x").await;
    let long = SearchRequest { ignore_case: true, ..SearchRequest::new("x".repeat(1025)) };
    let refused = store.search(receipt.reference(), &long).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_limit_that_cuts_says_so_and_leads_on() {
    let content = "def run_\n".repeat(504);
    for (limit, count, has_more) in [(50, 50, true), (504, 504, false), (1000, 504, false)] {
        let found = search(&content, &SearchRequest { limit, ..literal("def run_") }).await;
        let seen = (found.matches.len(), found.has_more, found.complete);
        assert_eq!(seen, (count, has_more, !has_more));
    }
    let mut request = SearchRequest { limit: 100, ..literal("def run_") };
    let mut all = Vec::new();
    let mut scanned = 0;
    loop {
        let found = search(&content, &request).await;
        all.extend(offsets(&found));
        scanned += found.scanned_bytes;
        if !found.has_more {
            break;
        }
        request.offset = i128::from(found.next_offset);
    }
    assert_eq!(all, (0..504).map(|line| line * 9).collect::<Vec<_>>());
    assert_eq!(scanned, content.len() as u64);
}

#[tokio::test]
async fn snippets_are_cut_between_characters() {
    let show = async |content: &[u8], context_chars| {
        let request = SearchRequest { context_chars, ..literal("X") };
        search(content, &request).await.matches[0].snippet.clone()
    };
    let text = "漢字é🎯Xé漢🎯字";
    assert_eq!(show(text.as_bytes(), 0).await, "X");
    assert_eq!(show(text.as_bytes(), 1).await, "🎯Xé");
    assert_eq!(show(text.as_bytes(), 3).await, "字é🎯Xé漢🎯");
    assert_eq!(show(text.as_bytes(), i128::MAX).await, text);
    assert_eq!(show(b"a\xff\xe2\x82X\x80\x80b", 2).await, "\u{fffd}\u{fffd}X\u{fffd}\u{fffd}");
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let store = memory_store();
    let receipt = write(&store, "a").await;
    for (request, says) in [
        (literal(""), "query of nothing is not accepted; give at least one character"),
        (literal(&"x".repeat(70_000)), "query of 70000 bytes is not accepted; give a shorter one"),
        (SearchRequest { limit: 0, ..literal("a") }, "limit 0 is not accepted; give 1 or more"),
        (SearchRequest { offset: -1, ..literal("a") }, "offset -1 is not accepted"),
        (SearchRequest { context_chars: -1, ..literal("a") }, "context_chars -1 is not accepted"),
    ] {
        let error = store.search(receipt.reference(), &request).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn matches_are_found_wherever_windows_end() {
    // Windows end at multiples of a block; a needle lies across each of the first blocks' borders.
    let mut content = "é\n".repeat(2_000_000).into_bytes();
    let needle = "Nadel🎯";
    let mut expected = Vec::new();
    for (number, border) in (1..80).map(|block| (block, block * 65_536)) {
        let at = (border - number % 12) / 3 * 3;
        // Nine bytes take the place of three times é and LF.
        content.splice(at..at + 9, needle.bytes());
        expected.push(at);
    }
    let text = String::from_utf8(content).unwrap();
    let expected: Vec<_> = expected.iter().map(|&at| text[..at].chars().count() as u64).collect();
    for ignore_case in [false, true] {
        for context_chars in [0, 300, 9999] {
            let request =
                SearchRequest { ignore_case, limit: 1000, context_chars, ..literal(needle) };
            let found = search(&text, &request).await;
            assert_eq!(offsets(&found), expected);
            assert!(found.matches.iter().all(|found| found.snippet.contains(needle)));
        }
    }
}

#[tokio::test]
async fn an_original_is_fetched_about_once() {
    let watched = Arc::new(Watched::default());
    let store = ResultStore::new(watched.clone());
    let content = "nothing to see here\n".repeat(1 << 20);
    let receipt = write(&store, &content).await;
    watched.reset();
    store.search(receipt.reference(), &literal("needle")).await.unwrap();
    let (_, bytes) = watched.output_reads();
    assert!(bytes < content.len() as u64 * 6 / 5, "{bytes} of {}", content.len());
}

#[tokio::test]
async fn regular_expressions_find_by_lines_and_across_them() {
    let text = "é one\nError: two\r\nan error\n\nend";
    for (pattern, expected) in [
        ("^[a-z]+ ", &[18_u64][..]),
        ("(?i)error", &[6, 21]),
        ("(?i)^error", &[6]),
        (r"two\s+an", &[13]),
        ("^$", &[27]),
        (r"\A.|\z", &[0, 31]),
        (r"\b\w+\z", &[28]),
        ("(?s)one.*end", &[2]),
        ("absent.*", &[]),
    ] {
        let found = search(text, &regex(pattern)).await;
        assert_eq!(offsets(&found), expected, "{pattern}");
        assert!(found.complete && !found.has_more, "{pattern}");
    }
    let ignoring = SearchRequest { ignore_case: true, ..regex("É|ERR") };
    assert_eq!(offsets(&search(text, &ignoring).await), [0, 6, 21]);
    assert_eq!(offsets(&search("", &regex("^")).await), [0]);
}

#[tokio::test]
async fn regular_expressions_that_cost_too_much_are_refused() {
    let store = memory_store();
    let receipt = write(&store, "a").await;
    let deep = format!("{}a{}", "(".repeat(60), ")".repeat(60));
    let long = "a".repeat(1025);
    for (pattern, says) in [
        (
            "x{1000000}",
            "query `x{1000000}` is not accepted; a regular expression may take at most 1 MiB",
        ),
        ("((a{100}){100}){100}", "may take at most 1 MiB"),
        (&deep, "nested at most 50 deep"),
        (
            &long,
            "query of 1025 bytes is not accepted; give a regular expression of at most 1024 bytes",
        ),
        ("a(b", "query `a(b` (unclosed group, at byte 1) is not accepted"),
        (r"(?-u:\xff)", "can match invalid UTF-8"),
        ("", "give at least one character"),
    ] {
        let error = store.search(receipt.reference(), &regex(pattern)).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn counting_goes_on_to_the_end() {
    let content = "x = 1\n".repeat(40_000);
    for request in [literal("x"), regex(r"\w = \d"), regex(r"\bx\b"), regex("X")] {
        let request = SearchRequest { count: true, limit: 3, ignore_case: true, ..request };
        let found = search(&content, &request).await;
        assert_eq!((found.total_matches, found.matches.len()), (Some(40_000), 3));
        assert_eq!((found.has_more, found.complete), (true, true));
        assert_eq!(found.scanned_bytes, content.len() as u64);
        // What is counted begins where the search does.
        let next = SearchRequest { offset: i128::from(found.next_offset), ..request };
        assert_eq!(search(&content, &next).await.total_matches, Some(39_997));
    }
    let none = search("abc", &SearchRequest { count: true, ..literal("x") }).await;
    assert_eq!((none.total_matches, none.complete), (Some(0), true));
}

#[tokio::test]
async fn pages_of_a_regular_expression_join() {
    let content = "aé\n漢b a🎯\n\n".repeat(50);
    for pattern in ["a*", r"\b", "^", "(?s)a.", r"\w+"] {
        let all = search(&content, &SearchRequest { limit: 5000, ..regex(pattern) }).await;
        let mut request = SearchRequest { limit: 7, ..regex(pattern) };
        let mut joined = Vec::new();
        loop {
            let page = search(&content, &request).await;
            joined.extend(page.matches);
            if !page.has_more {
                break;
            }
            assert!(i128::from(page.next_offset) > request.offset);
            request.offset = i128::from(page.next_offset);
        }
        assert_eq!(joined, all.matches, "{pattern}");
    }
}

#[tokio::test]
async fn a_preferred_match_that_never_comes_is_not_waited_for() {
    let content = "a".repeat(1_000_000);
    let begun = std::time::Instant::now();
    let found = search(&content, &regex("a*b|a")).await;
    assert_eq!(offsets(&found), (0..20).collect::<Vec<_>>());
    assert_eq!((found.has_more, found.complete), (true, false));
    let counted = search(&content, &SearchRequest { count: true, ..regex("a*b|a") }).await;
    assert!(!counted.complete && counted.has_more);
    assert!(counted.total_matches > Some(1000), "{:?}", counted.total_matches);
    // The two take milliseconds and seconds; without a bound the second would take an hour.
    assert!(begun.elapsed().as_secs() < 120);
}

#[tokio::test]
async fn a_match_longer_than_any_window_is_found_and_shown_by_its_start() {
    let content = format!("é BEGIN{}END é", "漢\n".repeat(1_000_000));
    let found = search(&content, &regex("(?s)BEGIN.*?END")).await;
    assert_eq!((offsets(&found), found.complete), (vec![2], true));
    let snippet = &found.matches[0].snippet;
    assert!(snippet.starts_with("é BEGIN漢\n"), "{snippet}");
    assert_eq!(snippet.chars().count(), 1002);
    let absent = search(&content, &regex("(?s)BEGIN.*END\\d")).await;
    assert_eq!((absent.matches.len(), absent.complete), (0, true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn search_agrees_with_a_plain_one(
        parts in prop::collection::vec(prop::sample::select(vec![
            &b"a"[..], b"b", b"\n", "é".as_bytes(), "漢".as_bytes(), "🎯".as_bytes(),
            b"\xff", b"\x80", b"\xe2\x82",
        ]), 0..60),
        shift in prop::sample::select(vec![0_usize, 65_530, 131_060]),
        query in "[abé漢]{1,3}",
        offset in 0_u64..40,
    ) {
        let mut content = vec![b'x'; shift];
        content.extend(parts.concat());
        let offset = offset + shift as u64;
        // Lossy decoding keeps what a query can find, and counts the same characters.
        let text = String::from_utf8_lossy(&content);
        let from: usize = text.chars().take(offset as usize).map(char::len_utf8).sum();
        let expected: Vec<u64> = text[from..]
            .match_indices(query.as_str())
            .map(|(at, _)| text[..from + at].chars().count() as u64)
            .collect();
        let request = SearchRequest { offset: i128::from(offset), limit: 100, ..literal(&query) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found = runtime.block_on(search(&content, &request));
        prop_assert_eq!(offsets(&found), expected);
    }
}
