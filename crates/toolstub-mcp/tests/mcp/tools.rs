//! What the tools say, whatever they are asked.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolstub_mcp::{Answer, Reach, Tool, Tools};
use toolstub_session::Config;
use toolstub_store::ResultStore;

use super::{put, session_id, store};

fn tools(store: &ResultStore) -> Tools {
    Tools::new(store.clone(), session_id("s"), &Config::default())
}

/// 40,000 characters, a third of them not ASCII.
fn long() -> String {
    "aé🦀".repeat(13_334).chars().take(40_000).collect()
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

async fn read(tools: &Tools, arguments: Value) -> Answer {
    tools.call(Tool::Read, &arguments).await
}

#[tokio::test]
async fn whole_result_is_read_exactly() {
    let store = store();
    let reference = put(&store, "s", "one\ntwo é\n").await.to_string();
    for arguments in [
        json!({"tool_output_ref": reference}),
        json!({"ref": reference, "limit": -1}),
        json!({"uri": reference, "offset": "0", "limit": "-1"}),
        json!({"tool_output_ref": reference.replace("toolstub://session", "viking://session")}),
        json!({"tool_output_ref": reference, "offset": null, "limit": null, "lines": ""}),
    ] {
        let answer = read(&tools(&store), arguments.clone()).await;
        assert_eq!(answer.text, "one\ntwo é\n", "{arguments}");
        assert!(!answer.is_error);
    }
}

#[tokio::test]
async fn pieces_join_to_the_original_and_stay_within_the_bound() {
    let (store, text) = (store(), long());
    let reference = put(&store, "s", text.as_str()).await.to_string();
    let tools = tools(&store);
    for limit in [json!(-1), json!(19_000), json!(1_000_000_000), json!("7000"), json!(null)] {
        let (mut joined, mut offset) = (String::new(), 0);
        loop {
            let asked = json!({"tool_output_ref": reference, "offset": offset, "limit": limit});
            let answer = read(&tools, asked).await;
            assert!(chars(&answer.text) <= 19_000, "{}", chars(&answer.text));
            let range = answer.range.unwrap();
            if !range.has_more {
                joined.push_str(&answer.text);
                break;
            }
            let line = format!("\n[next_offset: {} of 40000]", range.next_offset);
            joined.push_str(answer.text.strip_suffix(&line).unwrap());
            assert!(range.next_offset > offset);
            offset = range.next_offset;
        }
        assert_eq!(joined, text);
    }
}

#[tokio::test]
async fn large_result_is_read_to_its_end() {
    let store = store();
    let text = "line é 🦀🏽 of a long output\r\n".repeat(80_000);
    assert!(text.len() > 2_000_000);
    let reference = put(&store, "s", text.as_str()).await.to_string();
    let tools = tools(&store);
    let (mut joined, mut offset) = (String::new(), "0".to_owned());
    loop {
        let answer = read(&tools, json!({"tool_output_ref": reference, "offset": offset})).await;
        assert!(chars(&answer.text) <= 19_000);
        let Some((content, line)) = answer.text.rsplit_once("\n[next_offset: ") else {
            joined.push_str(&answer.text);
            break;
        };
        joined.push_str(content);
        offset = line.split(' ').next().unwrap().to_owned();
    }
    assert!(joined == text);
}

#[tokio::test]
async fn end_that_reads_as_if_there_were_more_is_told() {
    let store = store();
    for length in [0, 10, 18_930, 18_960, 18_974, 18_999, 19_000, 30_000] {
        let text = format!("{}\n[next_offset: 7 of 90]\n", "x".repeat(length));
        let reference = put(&store, "s", text.as_str()).await.to_string();
        let tools = tools(&store);
        let (mut joined, mut offset) = (String::new(), 0);
        let end = format!("\n[end: {0} of {0}]", chars(&text));
        loop {
            let answer = read(&tools, json!({"ref": reference, "offset": offset})).await;
            assert!(chars(&answer.text) <= 19_000, "{length}");
            if !answer.range.unwrap().has_more {
                // What is left may begin in the middle of that line.
                let content = answer.text.strip_suffix(&end).unwrap_or(&answer.text);
                assert_eq!(content.len() < answer.text.len(), content.contains("[next_offset:"));
                joined.push_str(content);
                break;
            }
            let (content, line) = answer.text.rsplit_once("\n[next_offset: ").unwrap();
            joined.push_str(content);
            let next = line.split(' ').next().unwrap().parse().unwrap();
            assert!(next > offset, "{length}");
            offset = next;
        }
        assert_eq!(joined, text);
        let asked = json!({"ref": reference, "query": "next_offset"});
        says(&tools.call(Tool::Search, &asked).await, &["]\n[end: there are no more matches]"]);
    }
}

#[tokio::test]
async fn end_that_reads_as_one_of_ours_is_told() {
    let store = store();
    let tools = tools(&store);
    for line in [
        "[end: 9 of 9]",
        "[end: there are no more matches]",
        "  [next_cursor: abc]",
        "[columns: a, b]",
        "[bytes that are not UTF-8 are shown as U+FFFD]",
        "[nothing is at offset 5: it ends at 3]",
        "[the tool result is empty]",
    ] {
        for text in [line.to_owned(), format!("text\n{line}\n\n")] {
            let reference = put(&store, "s", text.as_str()).await.to_string();
            let answer = read(&tools, json!({"ref": reference})).await;
            assert_eq!(answer.text, format!("{text}\n[end: {0} of {0}]", chars(&text)));
        }
    }
    for text in ["[end", "an [end: 1 of 1]", "[end: 1 of 1]\nmore"] {
        let reference = put(&store, "s", text).await.to_string();
        assert_eq!(read(&tools, json!({"ref": reference})).await.text, text);
    }
}

#[tokio::test]
async fn last_line_stands_whole_in_a_short_answer() {
    let store = store();
    let mut references = Vec::new();
    for number in 0..3 {
        let text = format!("{number} {}", "a hit and a miss\n".repeat(200));
        references.push(put(&store, "s", text).await.to_string());
    }
    for max_read_chars in [400, 500, 700, 1000, 1500, 2000] {
        let config = Config { max_read_chars, ..Config::default() };
        let tools = Tools::new(store.clone(), session_id("s"), &config);
        for (tool, asked, line) in [
            (Tool::Read, json!({"ref": references[0]}), "\n[next_offset: "),
            (Tool::Search, json!({"ref": references[0], "query": "hit"}), "\n[next_offset: "),
            (Tool::List, json!({"limit": 1}), "\n[next_cursor: "),
        ] {
            let answer = tools.call(tool, &asked).await;
            assert!(chars(&answer.text) as u64 <= max_read_chars, "{}", answer.text);
            let last = answer.text.rsplit_once(line).map(|(_, last)| last);
            assert!(last.is_some_and(|last| last.ends_with(']')), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn piece_that_fits_to_the_character_is_whole() {
    let store = store();
    for (length, has_more) in [(18_999, false), (19_000, false), (19_001, true)] {
        let reference = put(&store, "s", "x".repeat(length)).await.to_string();
        let answer = read(&tools(&store), json!({"ref": reference, "limit": -1})).await;
        assert_eq!(answer.range.unwrap().has_more, has_more, "{length}");
        assert!(chars(&answer.text) <= 19_000);
    }
}

#[tokio::test]
async fn parts_are_read_by_lines_rows_and_pointer() {
    let store = store();
    let lines = put(&store, "s", "one\ntwo\nthree\nfour\n").await.to_string();
    let rows = put(&store, "s", "name,age\nann,41\nbob,42\ncid,43\n").await.to_string();
    let json = put(&store, "s", r#"{"items": [{"n": 1.10}, {"n": 2}]}"#).await.to_string();
    let tools = tools(&store);
    for (arguments, text) in [
        (json!({"ref": lines, "lines": "2-3"}), "two\nthree\n"),
        (json!({"ref": lines, "lines": 4}), "four\n"),
        (
            json!({"ref": lines, "lines": "2-3", "offset": 4, "limit": 3}),
            "thr\n[next_offset: 7 of 10]",
        ),
        (json!({"ref": rows, "rows": "2"}), "bob,42\n\n[columns: name, age]"),
        (json!({"ref": json, "pointer": "/items/0"}), r#"{"n": 1.10}"#),
    ] {
        assert_eq!(read(&tools, arguments.clone()).await.text, text, "{arguments}");
    }
}

#[track_caller]
fn says(answer: &Answer, words: &[&str]) {
    for word in words {
        assert!(answer.text.contains(word), "{word} is not in: {}", answer.text);
    }
}

#[tokio::test]
async fn nothing_to_read_is_told() {
    let store = store();
    let reference = put(&store, "s", "abc").await.to_string();
    let tools = tools(&store);
    let past = read(&tools, json!({"ref": reference, "offset": 9})).await;
    says(&past, &["nothing is at offset 9", "ends at 3"]);
    let lossy = put(&store, "s", b"ab\xffcd ef gh ij kl".to_vec()).await.to_string();
    let lossy = read(&tools, json!({"ref": lossy})).await;
    assert_eq!(
        lossy.text,
        "ab\u{fffd}cd ef gh ij kl\n[bytes that are not UTF-8 are shown as U+FFFD]"
    );
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let store = store();
    let reference = put(&store, "s", "abc").await.to_string();
    let tools = tools(&store);
    for (tool, arguments, words) in [
        (Tool::Read, json!({}), ["tool_output_ref is missing", "openviking_tool_result_list"]),
        (Tool::Read, json!({"ref": "readme.txt"}), ["no ref", "openviking_tool_result_list"]),
        (Tool::Read, json!({"ref": "../../x."}), ["`../../x.` is no ref", "copy the ref"]),
        (Tool::Read, json!({"ref": "tr_none"}), ["not found", "openviking_tool_result_list"]),
        (Tool::Read, json!({"ref": reference, "offset": -1}), ["offset -1", "Error: "]),
        (Tool::Read, json!({"ref": reference, "limit": -2}), ["limit -2", "Error: "]),
        (Tool::Read, json!({"ref": reference, "limit": 0}), ["limit 0 asks for nothing", "-1"]),
        (Tool::Read, json!({"ref": "https://x.y/z"}), ["no ref of a tool result;", "copy the ref"]),
        (Tool::List, json!({"cursor": "bogus"}), ["cursor is `bogus`", "next_cursor"]),
        (
            Tool::Read,
            json!({"ref": reference, "limit": "two"}),
            ["limit is \"two\"", "whole number"],
        ),
        (Tool::Read, json!({"ref": reference, "unit": "line"}), ["count characters", "lines"]),
        (Tool::Read, json!({"ref": reference, "lines": "1", "rows": "1"}), ["one of", "lines"]),
        (Tool::Read, json!({"ref": reference, "pointer": "a"}), ["pointer", "Error: "]),
        (Tool::Read, json!("what"), ["not an object", "by name"]),
        (Tool::Search, json!({"ref": reference}), ["query is missing", "text to find"]),
        (Tool::Search, json!({"ref": reference, "query": ""}), ["query", "at least one"]),
        (
            Tool::Search,
            json!({"ref": reference, "query": "(", "regex": true}),
            ["query", "Error: "],
        ),
        (Tool::Search, json!({"ref": reference, "query": "a", "limit": 0}), ["limit 0", "Error: "]),
        (Tool::List, json!({"limit": 0}), ["limit 0", "1 to 1000"]),
        (Tool::List, json!({"cursor": "a/b/c"}), ["cursor", "next_cursor"]),
        (Tool::List, json!({"session": "a\nb"}), ["control character", "leave session out"]),
        (Tool::List, json!({"session": "x".repeat(300)}), ["at most 200", "leave session out"]),
        (Tool::List, json!({"session": "toolstub://session/"}), ["not a ref", "leave session out"]),
        (Tool::List, json!({"session": ["s"]}), ["session is", "a text"]),
    ] {
        let answer = tools.call(tool, &arguments).await;
        assert!(answer.is_error, "{arguments}: {}", answer.text);
        says(&answer, &words);
    }
}

#[tokio::test]
async fn offset_of_a_match_is_one_that_read_takes() {
    let store = store();
    let mut text = long();
    text.insert_str(text.char_indices().nth(30_000).unwrap().0, "needle");
    let reference = put(&store, "s", text).await.to_string();
    let tools = tools(&store);
    let found = json!({"tool_output_ref": reference, "query": "needle", "contextChars": "5"});
    let answer = tools.call(Tool::Search, &found).await;
    says(&answer, &["1 match for \"needle\"", "## Match 1: offset 30000, line 1\n"]);
    assert!(answer.text.ends_with("é🦀needleaé🦀aé") || answer.text.contains("needle"));
    let asked = json!({"tool_output_ref": reference, "offset": 30_000, "limit": 6});
    says(&read(&tools, asked).await, &["needle\n[next_offset: 30006 of 40006]"]);
    // Blanks are looked for too, so they are shown.
    for (query, told) in [("needle ", "\"needle \""), ("a\nb\t\u{1b}", r#""a\nb\t\x1b""#)] {
        let none = json!({"tool_output_ref": reference, "query": query});
        says(&tools.call(Tool::Search, &none).await, &[&format!("No match for {told}.")]);
    }
    let none = json!({"tool_output_ref": reference, "query": "pin"});
    let none = tools.call(Tool::Search, &none).await;
    assert!(!none.is_error);
    says(&none, &["No match for \"pin\"", "ignore_case"]);
}

#[tokio::test]
async fn matches_go_on_where_an_answer_ends() {
    let store = store();
    let text: String = (0..2000).map(|n| format!("line {n} has a hit\n")).collect();
    let reference = put(&store, "s", text.as_str()).await.to_string();
    let tools = tools(&store);
    for (limit, context) in [(3, 0), (1000, 300), (20, 10_000), (1, 300)] {
        let (mut offset, mut seen) = (0_u64, Vec::new());
        loop {
            let answer = tools
                .call(
                    Tool::Search,
                    &json!({"ref": reference, "query": "hit", "limit": limit, "offset": offset,
                        "context_chars": context}),
                )
                .await;
            assert!(chars(&answer.text) <= 19_000);
            let heads = answer.text.lines().filter_map(|line| line.strip_prefix("## Match "));
            seen.extend(heads.map(|head| head.split("offset ").nth(1).unwrap().to_owned()));
            let last = answer.text.lines().last().unwrap();
            let Some(next) = last.strip_prefix("[next_offset: ") else { break };
            let next = next.split(' ').next().unwrap().parse().unwrap();
            assert!(next > offset, "{last}");
            offset = next;
            if seen.len() > 300 && limit < 20 {
                return;
            }
        }
        assert_eq!(seen.len(), 2000, "{limit} {context}");
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

#[tokio::test]
async fn listing_names_refs_and_goes_on() {
    let store = store();
    let tools = tools(&store);
    let empty = tools.call(Tool::List, &Value::Null).await;
    assert!(!empty.is_error);
    says(&empty, &["No tool result is stored in the session \"s\""]);
    // Any name may be a session's; it is told as it was given.
    for session in ["../..", "[x]", "a b."] {
        let none = tools.call(Tool::List, &json!({ "session": session })).await;
        assert!(!none.is_error);
        let told = format!("in the session \"{session}\". Refs name their session;");
        says(&none, &[&told, "those of \"s\" are listed"]);
    }
    let mut refs = Vec::new();
    for number in 0..150 {
        refs.push(put(&store, "s", format!("result {number}\n")).await.to_string());
    }
    for limit in [7, 1000] {
        let (mut cursor, mut seen) = (Value::Null, Vec::new());
        loop {
            let asked = json!({"limit": limit, "cursor": cursor});
            let answer = tools.call(Tool::List, &asked).await;
            assert!(chars(&answer.text) <= 19_000);
            let lines = answer.text.lines().filter_map(|line| line.trim().strip_prefix("ref: "));
            seen.extend(lines.map(str::to_owned));
            let last = answer.text.lines().last().unwrap();
            let Some(next) = last.strip_prefix("[next_cursor: ") else { break };
            cursor = next.strip_suffix(']').unwrap().into();
        }
        refs.sort();
        assert_eq!(seen, refs);
    }
    let filtered = tools.call(Tool::List, &json!({"toolName": "grep"})).await;
    says(&filtered, &["No tool result of the tool \"grep\""]);
}

#[tokio::test]
async fn empty_session_names_others_that_are_not() {
    let store = store();
    for number in 0..11 {
        put(&store, &format!("agent:{number:02}"), "theirs").await;
    }
    let all = tools(&store);
    let told = all.call(Tool::List, &Value::Null).await;
    says(&told, &["in the session \"s\". Other sessions have some", "\n- agent%3A00\n"]);
    assert!(told.text.ends_with("\n- agent%3A09\n- and others"), "{}", told.text);
    let listed = all.call(Tool::List, &json!({"session": "agent%3A09"})).await;
    says(&listed, &["1 tool result of the session \"agent:09\""]);
    // Neither where another is asked for, nor where the tools are bound to their own.
    for arguments in [json!({"session": "none"}), json!({"tool_name": "grep"})] {
        let told = all.call(Tool::List, &arguments).await;
        assert!(!told.text.contains("agent"), "{}", told.text);
    }
    let own = tools(&store).with_reach(Reach::Session);
    assert!(!own.call(Tool::List, &Value::Null).await.text.contains("agent"));
    put(&store, "s", "mine").await;
    assert!(!all.call(Tool::List, &Value::Null).await.text.contains("agent"));
}

#[tokio::test]
async fn ref_brings_its_session_as_far_as_the_reach_goes() {
    let store = store();
    let other = put(&store, "agent:other", "theirs").await.to_string();
    let all = tools(&store);
    let own = tools(&store).with_reach(Reach::Session);
    let asked = json!({ "tool_output_ref": other });
    assert_eq!(read(&all, asked.clone()).await.text, "theirs");
    assert!(read(&own, asked.clone()).await.is_error);
    for session in [json!("agent:other"), json!("agent%3Aother"), json!(other)] {
        let asked = json!({ "session": session });
        says(
            &all.call(Tool::List, &asked).await,
            &["1 tool result of the session \"agent:other\""],
        );
        assert!(own.call(Tool::List, &asked).await.is_error);
    }
    says(&all.call(Tool::List, &asked).await, &["agent:other"]);
}

#[tokio::test]
async fn bare_id_is_of_the_tools_own_session() {
    use toolstub_core::{Kind, Synopsis};
    use toolstub_store::{Original, WriteRequest};
    let store = store();
    let (title, sample) = Default::default();
    let (summary, structure, notable_items) = Default::default();
    let synopsis = Synopsis { kind: Kind::Text, title, summary, structure, notable_items, sample };
    let original = Original::new("mine", 100);
    let request = WriteRequest::new(session_id("s"), synopsis, "2026-01-02T03:04:05Z");
    let receipt = store.write(&original, request).await.unwrap();
    let id = receipt.reference().id().to_string();
    assert_eq!(read(&tools(&store), json!({ "ref": id })).await.text, "mine");
}

#[test]
fn definitions_are_portable() {
    let config = Config { tool_prefix: "kept_".to_owned(), ..Config::default() };
    let tools = Tools::new(store(), session_id("s"), &config);
    let definitions = tools.definitions();
    let names: Vec<_> = definitions.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["kept_tool_result_read", "kept_tool_result_search", "kept_tool_result_list"]
    );
    for definition in &definitions {
        assert!(definition.get("outputSchema").is_none());
        let schema = &definition["inputSchema"];
        assert_eq!(schema["type"], "object");
        for (name, field) in schema["properties"].as_object().unwrap() {
            assert!(field["type"].is_string(), "{name}");
            let keys: Vec<_> = field.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["type", "description"], "{name}");
        }
    }
    assert_eq!(tools.find("kept_tool_result_list"), Some(Tool::List));
    assert_eq!(tools.find("openviking_tool_result_list"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is asked of whatever bound, the answer keeps to it.
    #[test]
    fn answers_keep_to_their_bound(
        max_read_chars in 1..400_u64,
        offset in prop::option::of(-3..3000_i64),
        limit in prop::option::of(-3..3000_i64),
        query in ".{0,20}",
        tool in 0..3_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = store();
            let reference = put(&store, "s", long().chars().take(2000).collect::<String>()).await;
            let config = Config { max_read_chars, ..Config::default() };
            let tools = Tools::new(store, session_id("s"), &config);
            let asked = json!({"ref": reference.to_string(), "offset": offset, "limit": limit,
                "query": query});
            let answer = tools.call(Tool::ALL[tool], &asked).await;
            prop_assert!(chars(&answer.text) as u64 <= max_read_chars, "{}", answer.text);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn stub_is_shown_only_where_it_is_offered() {
    let store = store();
    let reference = put(&store, "s", "a line of text\n".repeat(2000)).await.to_string();
    let name = "openviking_tool_result_stub";
    assert_eq!(tools(&store).find(name), None);
    assert_eq!(tools(&store).definitions().len(), 3);
    let tools = tools(&store).with_stubs(&Config::default());
    assert_eq!(tools.definitions()[3]["name"], name);
    let tool = tools.find(name).unwrap();
    let answer = tools.call(tool, &json!({"tool_output_ref": reference})).await;
    assert!(!answer.is_error && answer.text.starts_with("[tool result externalized: "));
    assert!(answer.text.contains(&format!("\nref: {reference}\n")), "{}", answer.text);
    assert!(tools.call(tool, &json!({"ref": "tr_unknown"})).await.is_error);
}
