//! What is JSON, what is not, and what is said of it; with an independent reader as a witness.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::machine::Events;
use super::*;

fn scanned(mut text: &[u8], declared: MediaType) -> Option<Json> {
    let Ok(census) = Census::of(&mut text, 0);
    let Ok(json) = scan(&mut text, &census, declared);
    json
}

#[track_caller]
fn json(text: &str) -> Json {
    scanned(text.as_bytes(), MediaType::Other).unwrap_or_else(|| panic!("not JSON: {text}"))
}

#[track_caller]
fn is_none(text: &str) {
    assert_eq!(scanned(text.as_bytes(), MediaType::Other), None, "{text}");
}

#[track_caller]
fn is_array(text: &str, length: u64) {
    match json(text).root {
        Node::Array(counted, _) => assert_eq!(counted, length, "{text}"),
        other => panic!("{text}: {other:?}"),
    }
}

fn keys(node: &Node) -> (u64, Vec<&str>) {
    match node {
        Node::Object(count, members) => {
            (count.at_least, members.iter().map(|(key, _)| key.as_str()).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_agents_meet_is_json() {
    is_array("[]", 0);
    is_array(" \u{feff}\n[1, 2,3 ]\n", 3);
    is_array("[NaN, Infinity, -Infinity, 1e400, -0.5e-7, 123456789012345678901234567890]", 6);
    is_array(r#"["\ud83d", "\u00e9", "\/\b\f"]"#, 3);
    is_array(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), 1);
}

#[test]
fn what_does_not_decode_is_not() {
    for text in [
        "",
        "{",
        "[1,",
        "[1 2]",
        "[1,]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a: 1}",
        "{'a': 1}",
        "[01]",
        "[+1]",
        "[1.]",
        "[.5]",
        "[1e]",
        "[\"a\nb\"]",
        "[\"\\x\"]",
        "[\"\\u12g4\"]",
        "[nul]",
        "[nan]",
        "[}",
        "{]",
        "[--1]",
        "[-]",
        "[tru",
        "[\"a",
        "// x\n{}",
        "\"text\"",
        "7",
    ] {
        is_none(text);
    }
    is_none(&"[".repeat(100_000));
    is_none(&"{\"a\":".repeat(100_000));
}

#[test]
fn a_bare_value_is_json_only_if_declared() {
    for (text, root) in [
        ("\"a b\"", Node::String),
        (" 7 ", Node::Number),
        ("-1.5", Node::Number),
        ("null", Node::Null),
    ] {
        is_none(text);
        let json = scanned(text.as_bytes(), MediaType::Json).unwrap();
        assert_eq!((json.root, json.scalars.len()), (root, 0), "{text}");
    }
    assert_eq!(scanned(b"7 up", MediaType::Json).unwrap().trailing_chars, 2);
    assert_eq!(scanned(b"- 7", MediaType::Json), None);
}

#[test]
fn what_follows_the_first_value_is_counted() {
    let several = json("{\"a\": 1}\n{\"a\": 2}\n7\n");
    assert_eq!((several.values, several.trailing_chars, several.cut_off), (Some(3), 10, false));
    let cut = json("{\"a\": 1}\n{\"a\": 2}\n{\"a\": ");
    assert_eq!((cut.values, cut.cut_off), (Some(2), true));
    let status = json("{\"a\": 1}\n  HTTP 200 é\n");
    assert_eq!((status.values, status.trailing_chars), (None, 10));
    let alone = json("[1]\n\n");
    assert_eq!((alone.values, alone.trailing_chars), (None, 0));
}

#[test]
fn a_value_at_the_start_of_a_text_does_not_make_it_json() {
    is_none(&format!("[1] 4242 done\n{}", "plain text\n".repeat(20)));
    is_none(&"[    0.000000] Linux version 6\n".repeat(20));
    let lines = "{\"id\": 1}\n".repeat(50) + "Traceback\n";
    assert_eq!(json(&lines).values, None);
    let declared = format!("[1] {}", "x".repeat(100));
    assert_eq!(scanned(declared.as_bytes(), MediaType::Json).unwrap().trailing_chars, 100);
}

#[test]
fn keys_are_counted_once_in_every_spelling() {
    let json = json(r#"{"a": 1, "b": [1,2], "\u0061": {"x": 1, "x": 2, "y": 3}, "c": null}"#);
    assert_eq!(json.duplicate_keys, 1);
    assert_eq!(keys(&json.root), (3, vec!["a", "b", "c"]));
    let Node::Object(_, members) = &json.root else { unreachable!() };
    assert_eq!(keys(&members[0].1), (2, vec!["x", "y"]));
    assert_eq!(members[1].1, Node::Array(2, vec![Node::Number, Node::Number]));
}

#[test]
fn outlines_go_two_levels_deep() {
    let json = json(r#"[[1, "a", [2, 3], 4], {"k": {"deep": 1}}, true, null, [5]]"#);
    let items = vec![
        Node::Array(4, vec![Node::Number, Node::String, Node::Array(0, vec![])]),
        Node::Object(
            Count::exact(1),
            vec![("k".to_owned(), Node::Object(Count::default(), vec![]))],
        ),
        Node::Boolean,
    ];
    assert_eq!(json.root, Node::Array(5, items));
}

#[test]
fn scalars_have_their_path_and_stand_as_written() {
    let json = json(
        r#"{"a": {"b": [{}, {"c": 1.10}]}, "d": "\u00e9", "e": [[], [true, NaN]], "f": 1, "g": 2}"#,
    );
    let scalars: Vec<_> =
        json.scalars.iter().map(|(path, value)| format!("{path}: {value}")).collect();
    assert_eq!(
        scalars,
        ["a.b[1].c: 1.10", "d: \"\\u00e9\"", "e[1][0]: true", "e[1][1]: NaN", "f: 1"]
    );
}

#[test]
fn many_keys_are_counted_exactly() {
    let members: Vec<_> = (0..5000).map(|i| format!("\"k{i}\": {{\"v\": {i}}}")).collect();
    let json = json(&format!("{{{}}}", members.join(",")));
    assert_eq!(keys(&json.root).0, 5000);
    assert_eq!(keys(&json.root).1.len(), 10);
}

/// Feeds a content to the machine in pieces, and tells whether it is one value and nothing else.
fn is_one_value(text: &[u8], piece: usize) -> bool {
    let mut machine = Machine::new();
    let mut outline = Outline::default();
    let mut complete = false;
    for piece in text.chunks(piece) {
        let mut at = 0;
        while at < piece.len() {
            if complete {
                at = skip_white_space(piece, at);
                if at < piece.len() {
                    return false;
                }
                break;
            }
            match machine.run(piece, &mut at, 0, &mut Listening(&mut outline)) {
                Pause::Complete => complete = true,
                Pause::Piece => {}
                Pause::Refused => return false,
                Pause::Unwanted => unreachable!("everything is wanted"),
            }
        }
    }
    complete || machine.ends_here(&mut Silence)
}

/// Listens to everything, so that pieces may end anywhere.
struct Listening<'a>(&'a mut Outline);

impl Events for Listening<'_> {
    const LISTENS: bool = true;

    fn open(&mut self, object: bool) -> bool {
        self.0.open(object);
        false
    }
    fn close(&mut self) {
        self.0.close();
    }
    fn key(&mut self, raw: &[u8]) {
        self.0.key(raw);
    }
    fn scalar(&mut self, raw: &[u8]) {
        self.0.scalar(raw);
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9_f64).prop_map(Value::from),
        "[a-z\"\\\\é🎯\n\u{1}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec(("[a-e\"é]{0,3}", inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn agrees(node: &Node, value: &Value, depth: usize) -> bool {
    match (node, value) {
        (Node::Object(count, members), Value::Object(map)) => {
            let in_order = |(key, node): &(String, Node)| {
                let key: String = serde_json::from_str(&format!("\"{key}\"")).unwrap();
                map.get(&key).is_some_and(|value| agrees(node, value, depth + 1))
            };
            depth >= 2
                || count.at_least == map.len() as u64
                    && members.len() == map.len().min(10)
                    && members.iter().all(in_order)
        }
        (Node::Array(length, items), Value::Array(values)) => {
            let mut pairs = items.iter().zip(values);
            depth >= 2
                || *length == values.len() as u64
                    && items.len() == values.len().min(3)
                    && pairs.all(|(node, value)| agrees(node, value, depth + 1))
        }
        (Node::String, Value::String(_))
        | (Node::Number, Value::Number(_))
        | (Node::Boolean, Value::Bool(_))
        | (Node::Null, Value::Null) => true,
        _ => false,
    }
}

proptest! {
    #[test]
    fn outlines_agree_with_an_independent_reader(value in value(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let json = scanned(text.as_bytes(), MediaType::Json);
        prop_assert!(json.is_some_and(|json| agrees(&json.root, &value, 0)), "{}", text);
    }

    #[test]
    fn refusals_agree_with_an_independent_reader(
        value in value(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3, "[\\[\\]{}\",:0-9.eE+tfnul\\\\ -]"), 0..4),
        piece in 1_usize..9,
    ) {
        let mut text = value.to_string().into_bytes();
        for (index, kind, byte) in edits {
            let at = index.index(text.len().max(1)).min(text.len());
            match kind {
                0 => text.insert(at, byte.as_bytes()[0]),
                1 if at < text.len() => text[at] = byte.as_bytes()[0],
                _ if at < text.len() => { text.remove(at); }
                _ => {}
            }
        }
        let accepted = serde_json::from_slice::<IgnoredAny>(&text).is_ok();
        let shown = String::from_utf8_lossy(&text);
        prop_assert_eq!(is_one_value(&text, text.len().max(1)), accepted, "{}", &shown);
        prop_assert_eq!(is_one_value(&text, piece), accepted, "{} in pieces of {}", &shown, piece);
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        scanned(&bytes, MediaType::Json);
        scanned(&[b"[", &bytes[..]].concat(), MediaType::Other);
    }
}
