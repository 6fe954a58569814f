//! Each kind's lines, and the bounds that hold for every content.

use proptest::prelude::*;
use toolstub_core::{Kind, Synopsis};
use toolstub_summarize::describe;

fn synopsis_of(mut content: &[u8], mime: Option<&str>, preview_chars: i64) -> Synopsis {
    let Ok((_, synopsis)) = describe(&mut content, mime, preview_chars);
    synopsis
}

#[track_caller]
fn says(content: &str, kind: Kind, summary: &[&str], structure: &[&str], notable: &[&str]) {
    let synopsis = synopsis_of(content.as_bytes(), None, 2000);
    assert_eq!(synopsis.kind, kind, "{synopsis:#?}");
    assert_eq!(synopsis.summary, summary);
    assert_eq!(synopsis.structure, structure);
    assert_eq!(synopsis.notable_items, notable);
    assert_eq!(synopsis.sample, "");
}

#[test]
fn an_object_names_its_keys() {
    says(
        r#"{"id": 12345678901234567890, "tags": ["a"], "owner": {"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}}"#,
        Kind::Json,
        &["top-level type: object", "top-level keys: id, tags, owner"],
        &[
            "shape: object(keys=3: id, tags, owner)",
            "id: number",
            "tags: array length: 1",
            "owner: object keys: a, b, c, d, e (+1 more)",
        ],
        &["id: 12345678901234567890", "tags[0]: \"a\"", "owner.a: 1", "owner.b: 2", "owner.c: 3"],
    );
}

#[test]
fn an_array_shows_its_first_items() {
    says(
        "[{\"k\": 1, \"k\": 2}, [1, [2], {}, 4], \"x\", null]\n[]\n",
        Kind::Json,
        &["top-level type: array", "array length: 4"],
        &[
            "shape: array(len=4, sample=[object(keys=1: k), array(len=4, sample=[number, array, object]), string])",
            "first item type: object",
        ],
        &[
            "[0].k: 1",
            "[0].k: 2",
            "[1][0]: 1",
            "[1][1][0]: 2",
            "[1][3]: 4",
            "trailing_chars_after_first_json_value: 2",
            "json_values: 2",
        ],
    );
}

#[test]
fn a_long_list_says_how_much_it_leaves_out() {
    let members: Vec<_> = (0..12).map(|i| format!("\"k{i}\": {i}")).collect();
    let synopsis = synopsis_of(format!("{{{}}}", members.join(",")).as_bytes(), None, 0);
    assert!(synopsis.summary[1].ends_with("k8, k9 (+2 more)"), "{synopsis:#?}");
    assert_eq!(synopsis.structure.last().unwrap(), "(+2 more)");
}

#[test]
fn a_table_names_its_columns() {
    says(
        "# made today\nid;name;\n1,5;ann;x\n2,5;bob;y\n",
        Kind::Csv,
        &["2 data rows, 3 columns"],
        &[
            "columns: id, name, column_3",
            "column_count: 3",
            "rows: 2",
            "first row sample: 1,5, ann, x",
            "delimiter: ;",
            "preamble_lines: 1",
        ],
        &[],
    );
    says(
        "47\t0\tsrc/a.c\n3\t1\tsrc/b.c\n",
        Kind::Tsv,
        &["2 data rows, 3 columns"],
        &[
            "columns: column_1, column_2, column_3",
            "column_count: 3",
            "rows: 2",
            "first row sample: 47, 0, src/a.c",
            "header: none",
        ],
        &[],
    );
}

#[test]
fn yaml_keys_stand_as_written() {
    says(
        "---\nNO: 1\n1.10: {a: b}\non:\n  - x\n---\nb: 1\n",
        Kind::Yaml,
        &["top-level type: object", "top-level keys: NO, 1.10, on", "key_count: 3", "documents: 2"],
        &["NO: number", "1.10: object", "on: array"],
        &[],
    );
}

#[test]
fn xml_counts_the_root_s_children() {
    says(
        "<a:r xmlns:a='u' x='1'><a:b/><c/><a:b/></a:r>",
        Kind::Xml,
        &["root element: a:r"],
        &["root: a:r", "attributes: 1", "a:b: 2", "c: 1"],
        &[],
    );
}

#[test]
fn code_lists_imports_and_symbols() {
    let source = "use std::fmt;\n\npub struct Version {\n    major: u64,\n}\n\nimpl fmt::Display for Version {\n}\n\npub fn parse(text: &str) -> Version {\n    todo(text)\n}\n";
    let synopsis = synopsis_of(source.as_bytes(), None, 2000);
    assert_eq!(synopsis.summary, ["12 lines of rust"]);
    assert_eq!(synopsis.structure, ["line_count: 12", "imports: std::fmt"]);
    assert_eq!(synopsis.notable_items[0], "pub struct Version");
    assert!(synopsis.notable_items.contains(&"pub fn parse".to_owned()));
}

#[test]
fn text_is_counted_and_quoted() {
    let text = "# Title\n\nSome words here.\n\u{1b}[31mred\u{1b}[0m\n";
    says(
        text,
        Kind::Text,
        &[
            "plain text",
            "Characters: 39.",
            "Words: 6.",
            "Lines: 4.",
            "Detected section headers: # Title.",
            "Opening excerpt: # Title Some words here. red.",
            "Closing excerpt: # Title Some words here. red.",
        ],
        &[],
        &[],
    );
}

#[test]
fn unknown_says_why_and_shows_both_ends() {
    let synopsis = synopsis_of(b"\x7fELF\x00\x01", None, 2000);
    assert_eq!(synopsis.summary[0], "unknown content: binary: it contains NUL bytes");
    assert_eq!(synopsis.sample, "\\x7fELF\\x00\\x01");
    let declared = synopsis_of(b"[{\"n\": 0, \"cut", Some("application/json"), 10);
    assert_eq!(
        declared.summary[0],
        "unknown content: declared as JSON, but does not parse as JSON"
    );
    assert_eq!(declared.sample, "[head]\n[{\"n\"\n[tail]\n \"cut");
    assert_eq!(synopsis_of(b"", None, 2000).sample, "");
    assert_eq!(synopsis_of(b"\x00", None, -5).sample, "");
}

#[track_caller]
fn is_bounded(synopsis: &Synopsis, preview_chars: usize) {
    let lines = || {
        let Synopsis { summary, structure, notable_items, .. } = synopsis;
        summary.iter().chain(structure).chain(notable_items)
    };
    let chars: usize = lines().map(|line| line.chars().count() + 3).sum();
    assert!(chars <= 4000, "{chars} characters");
    for line in lines() {
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
    let marks = "[head]\n\n[tail]\n".len();
    assert!(synopsis.sample.chars().count() <= preview_chars + marks);
    assert!(!synopsis.sample.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn long_names_and_many_of_them_stay_bounded() {
    let name = |i: usize| format!("{i}{}", "long_name_".repeat(1000));
    let keys: Vec<_> =
        (0..40).map(|i| format!("\"{}\": {{\"{}\": 1}}", name(i), name(i))).collect();
    let columns: Vec<_> = (0..4000).map(name).collect();
    let yaml: String = (0..60).map(|i| format!("{}:\n  - x\n", name(i))).collect();
    let tags: String = (0..60).map(|i| format!("<t{}/>", name(i))).collect();
    let code: String = (0..60).map(|i| format!("pub fn f{}() {{\n}}\n", name(i))).collect();
    for content in [
        format!("{{{}}}", keys.join(",")),
        format!("{}\n{}\n", columns.join(","), "1,".repeat(3999) + "2"),
        yaml,
        format!("<r>{tags}</r>"),
        code,
        "# Heading of a section\n".repeat(3) + &"A VERY LONG HEADER ".repeat(500),
    ] {
        is_bounded(&synopsis_of(content.as_bytes(), None, 2000), 2000);
    }
}

proptest! {
    #[test]
    fn every_synopsis_is_bounded_and_clean(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        prefix in prop::sample::select(vec!["", "[", "{\"a\":", "a,b\n1,", "a: ", "<a>", "# "]),
        mime in prop::sample::select(vec![None, Some("application/json"), Some("text/xml")]),
        preview_chars in 0_i64..300,
    ) {
        let content = [prefix.as_bytes(), &bytes].concat();
        let synopsis = synopsis_of(&content, mime, preview_chars);
        is_bounded(&synopsis, usize::try_from(preview_chars).unwrap());
        prop_assert_eq!(synopsis, synopsis_of(&content, mime, preview_chars));
    }

    #[test]
    fn every_text_is_bounded_and_clean(content in "([a-z,\t;:\"{}<>#\\[\\]\u{202e}\u{1b} -]{0,30}\n){0,30}") {
        is_bounded(&synopsis_of(content.as_bytes(), None, 100), 100);
    }
}
