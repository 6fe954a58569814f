use proptest::prelude::*;

use super::*;
use ValueKind::{Array, Boolean, Null, Number, Object, String as Text};

fn read(mut content: &[u8]) -> Option<Yaml> {
    let Ok(census) = Census::of(&mut content, 0);
    let Ok(yaml) = scan(&mut content, &census);
    yaml
}

#[track_caller]
fn is_yaml(content: &str) {
    assert!(read(content.as_bytes()).is_some(), "{content}");
}

#[track_caller]
fn is_not_yaml(content: &str) {
    assert!(read(content.as_bytes()).is_none(), "{content}");
}

#[track_caller]
fn has(content: &str, documents: u64, count: u64, keys: &[(&str, ValueKind)]) {
    let yaml = read(content.as_bytes()).expect(content);
    let keys = keys.iter().map(|(key, kind)| ((*key).to_owned(), *kind)).collect();
    assert_eq!(yaml, Yaml { documents, root: Root::Mapping(Count::exact(count), keys) });
}

#[track_caller]
fn has_items(content: &str, length: u64) {
    assert_eq!(read(content.as_bytes()).expect(content).root, Root::Sequence(length), "{content}");
}

#[test]
fn mappings_and_sequences_are_yaml() {
    for content in [
        "name: x\nversion: 1.2\nenabled: true\n",
        "# comment\n\na: 1 # one\nb: x\n",
        "a:\n  b:\n    c: 1\n",
        "a:\n- b\n- c\n",
        "a: {b: 1, c: [1, 2]}\nd: [x, y]\n",
        "a: [\n  1,\n  2\n]\nb: {\n  c: d\n}\n",
        "{a: 1, b: [1, 2]}\n",
        "run: |\n  a: b\n   c\n\n  d\n",
        "LOG_LEVEL: debug\nDB_HOST: \"localhost\"\n",
        "Resources:\n  B:\n    Type: AWS::S3::Bucket\n    Name: !Ref N\nOutputs:\n  X: 1\n",
        "base: &base\n  a: 1\nmore:\n  <<: *base\n",
        "a: 1\r\nb:\r\n  - c\r\n",
        "  a: 1\n  b:\n    c: 2\n",
        "- hosts: all\n  tasks:\n  - name: do it\n    shell: echo hi\n",
        "--- # first\na: 1\nb: 2\n",
        "--- !thing\na: 1\nb: 2\n",
        "a:\n  - 1\na:\n  - 2\nb: 3\n",
    ] {
        is_yaml(content);
    }
}

#[test]
fn reports_and_logs_are_not_yaml() {
    for content in [
        "Error: something went wrong\n",
        "error: could not find it\nwarning: build failed here\n",
        "INFO: started\nWARN: slow\nINFO: done\n",
        "2026-01-02 10:00:00 INFO foo: bar\n2026-01-02 10:00:01 INFO foo: baz\n",
        "Content-Type: text/html\nDate: Mon, 05 Jan 2026 10:00:00 GMT\nServer: x\n",
        "HTTP/1.1 200 OK\nContent-Type: text/html\n",
        "From: a@b.c\nTo: d@e.f\nSubject: Hello\n\nDear all,\nthis is it.\n",
        "Name: thing\nVersion: 2.31.0\nSummary: a thing for people\nRequires: a, b\n",
        "Package: git\nVersion: 1\nDescription: fast\n more text\n\nPackage: curl\nVersion: 2\n",
        "Name:         web\nNamespace:    default\nLabels:       app=web\n",
        "Client:\n Version:    24.0\n Debug Mode: false\n\nServer:\n Running: 3\n Storage Driver: x\n",
        "Certificate:\n    Data:\n        Version: 3 (0x2)\n        Serial Number: 4096\n",
        "MemTotal:       16316412 kB\nMemFree:         9316412 kB\n",
        "processor\t: 0\nmodel\t\t: 1\n",
        "title:\tFix bug\nstate:\tOPEN\nauthor:\tfoo\n",
        "src/a.py:12:    import os\nsrc/b.py:1:    import sys\n",
        "/bin/ls: ELF 64-bit executable\n/etc/passwd: ASCII text\n",
        "passwd: OK\ngroup: OK\n",
        "commit abc\nAuthor: A <a@b>\n\n    message\n",
        "Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: bad\n",
    ] {
        is_not_yaml(content);
    }
}

#[test]
fn other_notations_are_not_yaml() {
    for content in [
        "",
        "# only a comment\n",
        "---\n",
        "just a sentence\n",
        "[main]\nkey=value\n",
        "A=b\nC=d\n",
        "[package]\nname = \"x\"\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "---\ntitle: x\nname: y\n---\n\n# Heading\n\nProse here.\n",
        "---\ntitle: x\ntags: [a, b]\n---\n- an item of prose\n- another item of prose\n",
        "# Title\n\n- one thing is here\n- another thing\n",
        "# Notes\n\n- foo\n- bar\n\n## More\n\n- baz\n",
        "- [ ] to do\n- [x] done\n",
        "- **Bold**: text\n- other\n",
        "- Name: the name of it\n- Size: how big it is\n",
        "- fixed: the thing was broken\n- added: a new thing\n",
        "{ name: 'x', list: [ 1, 2 ] }\n",
        "{name: 'x', b: 2}\n",
        "{'a': 1, 'b': None}\n",
        "[a, b, c]\n",
        "class Foo:\n    def bar(self):\n        return 1\n",
        "try:\n    foo()\nexcept ValueError:\n    bar()\n",
        "all: build\n\tgo build\n",
        "a:hover {\n  color: red;\n}\n",
        "color: red;\nmargin: 0 auto;\n",
        "#!/bin/sh\na: 1\nb: 2\n",
        "a: b: c\n",
        "a: 1\nb: 2\n---\nc: [\n",
        "a: 1\nb: *unknown\n",
    ] {
        is_not_yaml(content);
    }
}

#[test]
fn keys_are_shown_as_they_are_written() {
    has(
        "a:\n  - x: 1\nNO: 1\nyes: 1\non: 1\n1.10: x\n~: null\n'it''s': true\n\"t\\tb\" : ''\n",
        1,
        8,
        &[
            ("a", Array),
            ("NO", Number),
            ("yes", Number),
            ("on", Number),
            ("1.10", Text),
            ("~", Null),
            ("it''s", Boolean),
            ("t\\tb", Text),
        ],
    );
    has("? [a, b]\n: 1\n? x\n: {}\n", 1, 2, &[("[a, b]", Number), ("x", Object)]);
    has(
        "größe: &g {a: 1}\n*g : !Ref x\nc: *g\nd:\n",
        1,
        4,
        &[("größe", Object), ("*g", Text), ("c", Object), ("d", Null)],
    );
    has("a: {b: 1}\na: x\nc: !!int '3'\n", 1, 2, &[("a", Object), ("c", Number)]);
}

#[test]
fn documents_that_are_not_empty_are_counted() {
    let ab = [("a", Number), ("b", Number)];
    has("\u{feff}---\na: 1\nb: 2\n---\nc: 3\n...\n---\n- d\n", 3, 2, &ab);
    has("%YAML 1.2\n---\n---\n# nothing\n---\na: 1\nb: 2\n---\n", 1, 2, &ab);
}

#[test]
fn items_are_counted() {
    has_items("- a\n- b\n- c\n", 3);
    has_items("- name: a\n  version: 1\n- name: b\n  version: 2\n", 2);
    has_items("- - a\n  - b\n- - c\n", 2);
    has_items("[{a: 1}, {a: 2}]\n", 2);
}

#[test]
fn the_first_thirty_keys_are_kept_and_all_are_counted() {
    let content: Vec<_> = (0..1000).map(|i| format!("k{i}: {i}\n")).collect();
    let Root::Mapping(count, keys) = read(content.concat().as_bytes()).unwrap().root else {
        panic!()
    };
    assert_eq!(count, Count::exact(1000));
    assert_eq!(keys.len(), 30);
    assert_eq!(keys[29], ("k29".to_owned(), Number));
}

#[test]
fn hostile_nesting_is_refused_or_read() {
    is_yaml(&format!("a: {}{}\nb: x\n", "[".repeat(900), "]".repeat(900)));
    for unit in ["[", "{a: ", "- ", "? ", "!a ", "&a "] {
        is_not_yaml(&format!("a: {}", unit.repeat(100_000)));
        is_not_yaml(&unit.repeat(100_000));
    }
}

#[test]
fn aliases_are_not_followed() {
    let bomb: Vec<_> = (1..60).map(|i| format!("a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1)).collect();
    is_yaml(&format!("a0: &a0 x\n{}", bomb.concat()));
}

#[test]
fn bytes_that_are_not_utf8_are_characters() {
    let Root::Mapping(_, keys) = read(b"caf\xe9: x\nb: true\n").unwrap().root else { panic!() };
    assert_eq!(keys[0].0, "caf\u{fffd}");
}

proptest! {
    #[test]
    fn no_bytes_panic(content in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&[b"a: ".as_slice(), &content].concat());
    }

    #[test]
    fn no_notation_panics(pieces in proptest::collection::vec(piece(), 0..40)) {
        let content = pieces.concat();
        let _ = read(content.as_bytes());
        let _ = read(format!("a:\n  - {content}").as_bytes());
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "a: ",
        "b",
        ":",
        "- ",
        "-",
        "\n",
        "\n  ",
        " ",
        "\t",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        "\"",
        "'",
        "&a ",
        "*a",
        "!x ",
        "!!str ",
        "|\n",
        ">-\n",
        "? ",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "<<: *a",
        "\r\n",
        "\\",
        "é",
        "~",
        "\u{feff}",
        "!<a>",
        "%41",
        "1",
        "|2\n",
    ])
}
