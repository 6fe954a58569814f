//! The program as a person or a script meets it: what it prints where, and how it exits.

mod hook;
mod init;
#[cfg(unix)]
mod proxy;
mod schema;
mod shown;
#[cfg(unix)]
mod signals;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A home of its own, so that neither the user's configuration nor their store is touched.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolstub"));
        command.args(args).current_dir(self.path()).env_clear().env("HOME", self.path());
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn run_with(&self, args: &[&str], input: &[u8]) -> Output {
        with_input(self.command(args), input)
    }

    /// Stores `input` and returns its ref.
    #[track_caller]
    fn put(&self, input: &[u8], args: &[&str]) -> String {
        let args = [&["put", "-", "--json"], args].concat();
        let answer = json(&self.run_with(&args, input), 0);
        assert_eq!(answer["externalized"], true);
        answer["ref"].as_str().unwrap().to_owned()
    }
}

/// Runs a command with an input.
fn with_input(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn exits(output: &Output, code: i32) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "stderr: {errors}");
}

#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    exits(output, code);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn fails(output: &Output, code: i32, error_code: &str, words: &str) {
    let answer = json(output, code);
    assert_eq!(answer["status"], "error");
    assert_eq!(answer["error"]["code"], error_code, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
}

#[test]
fn stub_prints_a_stub_and_stores_nothing() {
    let home = Home::new();
    let output = home.run_with(&["stub", "-", "--tool-name", "fetch"], b"{\"a\": 1}");
    exits(&output, 0);
    let stub = String::from_utf8(output.stdout).unwrap();
    assert!(stub.starts_with("[tool result externalized: "), "{stub}");
    assert!(stub.contains("\ntool_name: fetch\nkind: json\noriginal_chars: 8\n"), "{stub}");
    assert!(!stub.contains("Explore:"), "{stub}");
    assert!(output.stderr.is_empty());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn stub_answers_in_json() {
    let home = Home::new();
    fs::write(home.path().join("in.csv"), "id,name\n1,ann\n2,bob\n").unwrap();
    let answer = json(&home.run(&["stub", "--json", "in.csv", "--preview-chars", "100"]), 0);
    assert_eq!(answer["kind"], "csv");
    assert_eq!(answer["original_chars"], 20);
    assert_eq!(answer["original_bytes"], 20);
    assert_eq!(answer["externalized"], false);
    assert_eq!(answer["ref"], Value::Null);
    assert_eq!(answer["not_stored_bytes"], 0);
    assert_eq!(answer["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(answer["synopsis"]["structure"][0], "columns: id, name");
    assert!(answer["stub"].as_str().unwrap().contains("preview_chars: 20\n"));
}

#[test]
fn a_declared_type_and_a_style_are_heeded() {
    let home = Home::new();
    let args = ["stub", "-", "--json", "--mime", "application/json; charset=utf-8"];
    assert_eq!(json(&home.run_with(&args, b"{\"cut"), 0)["kind"], "unknown");
    let args = ["stub", "-", "--style", "head", "--head-lines", "2"];
    let head = String::from_utf8(home.run_with(&args, b"one\ntwo\nthree\n").stdout).unwrap();
    assert!(head.ends_with("\nHead (lines 1-2 of 3, bytes 0-8 of 14):\n| one\n| two\n"), "{head}");
}

#[test]
fn what_is_put_comes_back_byte_for_byte() {
    let home = Home::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let reference = home.put(&bytes, &["--tool-id", "call/1", "--tool-name", "cat"]);
    let read = home.run(&["read", &reference, "--limit", "-1"]);
    exits(&read, 0);
    assert_eq!(read.stdout, bytes);
    assert!(read.stderr.is_empty());
    let piece =
        home.run(&["read", &reference, "--unit", "byte", "--offset", "300", "--limit", "5"]);
    assert_eq!(piece.stdout, [44, 45, 46, 47, 48]);
    assert!(String::from_utf8_lossy(&piece.stderr).contains("go on with --offset 305"));
    let answer = json(&home.run(&["read", "--json", "--base64", &reference, "--limit", "3"]), 0);
    assert_eq!(answer["content_base64"], "AAEC");
    assert_eq!(answer["next_offset"], 3);
    let line =
        json(&home.run(&["read", "--json", &reference, "--unit", "line", "--limit", "1"]), 0);
    assert_eq!(line["content"], "\0\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\t\n");
    assert_eq!(line["metadata"]["tool_name"], "cat");
}

#[test]
fn the_stub_of_a_put_leads_back() {
    let home = Home::new();
    let output = home.run_with(&["put", "-", "--session", "a b"], "héllo\n".repeat(9).as_bytes());
    exits(&output, 0);
    let stub = String::from_utf8(output.stdout).unwrap();
    let reference = stub.lines().find_map(|line| line.strip_prefix("ref: ")).unwrap();
    assert!(reference.starts_with("toolstub://session/a%20b/tool-results/tr_"), "{reference}");
    assert!(stub.contains("\nreason: requested\n"), "{stub}");
    let read = home.run(&["read", reference, "--offset", "1", "--limit", "4"]);
    assert_eq!(read.stdout, "éllo".as_bytes());
    let id = reference.rsplit('/').next().unwrap();
    exits(&home.run(&["read", id, "--session", "a b"]), 0);
    exits(&home.run(&["read", id]), 1);
    let other = home.run(&["read", "--json", reference, "--session", "b"]);
    fails(&other, 2, "INVALID_ARGUMENT", "leave --session out");
}

#[test]
fn the_same_content_is_stored_once() {
    let home = Home::new();
    let first = home.put(b"same", &["--tool-id", "c", "--tool-name", "one"]);
    let second = home.put(b"same", &["--tool-id", "c", "--tool-name", "two"]);
    assert_eq!(first, second);
    assert_ne!(first, home.put(b"same", &["--tool-id", "d"]));
    let list = json(&home.run(&["list", "--json"]), 0);
    assert_eq!(list["tool_results"].as_array().unwrap().len(), 2);
    assert_eq!(list["next_cursor"], Value::Null);
    let one = json(&home.run(&["list", "--json", "--tool-name", "one"]), 0);
    assert_eq!(one["tool_results"][0]["tool_id"], "c");
    assert!(one["tool_results"][0].get("blocks").is_none());
}

#[test]
fn a_threshold_passes_small_results_through() {
    let home = Home::new();
    let small = home.run_with(&["put", "-", "--threshold", "3"], "äöü".as_bytes());
    exits(&small, 0);
    assert_eq!(small.stdout, "äöü".as_bytes());
    let answer = json(&home.run_with(&["put", "-", "--threshold", "3", "--json"], b"abc"), 0);
    assert_eq!((&answer["externalized"], &answer["stub"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(answer["content"], "abc");
    let answer = json(&home.run_with(&["put", "-", "--threshold", "3", "--json"], b"\xff"), 0);
    assert_eq!(answer["content_base64"], "/w==");
    let large = home.run_with(&["put", "-", "--threshold", "3"], b"abcd");
    assert!(String::from_utf8_lossy(&large.stdout).contains("\nreason: single_threshold\n"));
    assert_eq!(
        json(&home.run(&["list", "--json"]), 0)["tool_results"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_hard_cap_is_stated() {
    let home = Home::new();
    let output = home.run_with(&["put", "-", "--hard-cap", "5"], "abéé".repeat(9).as_bytes());
    exits(&output, 0);
    let stub = String::from_utf8(output.stdout).unwrap();
    assert!(stub.contains("\noriginal_chars: 3\n"), "{stub}");
    assert!(stub.contains("\nnot_stored_bytes: 50\n"), "{stub}");
    assert!(stub.lines().next().unwrap().contains("the last 50 bytes"), "{stub}");
}

#[test]
fn search_finds_literally_and_says_when_it_does_not() {
    let home = Home::new();
    let reference = home.put("héad\na.b A.B\n\u{1b}[2J a.b\n".as_bytes(), &[]);
    let answer = json(&home.run(&["search", "--json", &reference, "a.b"]), 0);
    assert_eq!(answer["matches"][0]["offset"], 5);
    assert_eq!(answer["matches"][0]["line"], 2);
    assert_eq!(answer["matches"][1]["offset"], 18);
    assert_eq!(answer["complete"], true);
    let shown =
        home.run(&["search", &reference, "a.b", "--context-chars", "5", "--limit", "1", "-i"]);
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "line 2, offset 5:\n| héad\n| a.b A.B\n");
    let more = home.run(&["search", &reference, "\u{1b}"]);
    assert!(!String::from_utf8_lossy(&more.stdout).contains('\u{1b}'));
    exits(&home.run(&["search", &reference, "a*b"]), 1);
    fails(&home.run(&["search", "--json", &reference, ""]), 2, "INVALID_ARGUMENT", "query");
    fails(
        &home.run(&["search", "--json", &reference, "x", "--limit", "0"]),
        2,
        "INVALID_ARGUMENT",
        "limit",
    );
}

#[test]
fn lists_page_by_cursor() {
    let home = Home::new();
    for i in 0..5 {
        home.put(format!("content {i}").as_bytes(), &["--tool-name", &format!("t{}", i % 2)]);
    }
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["list", "--json", "--limit", "2"];
        args.extend(cursor.as_deref().map(|cursor| ["--cursor", cursor]).into_iter().flatten());
        let page = json(&home.run(&args), 0);
        let records = page["tool_results"].as_array().unwrap();
        seen.extend(records.iter().map(|record| record["tool_result_id"].to_string()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 5);
    exits(&home.run(&["list", "--session", "empty"]), 0);
    fails(
        &home.run(&["list", "--json", "--kind", "prose"]),
        2,
        "INVALID_ARGUMENT",
        "the kinds are",
    );
}

#[test]
fn removing_is_explicit() {
    let home = Home::new();
    let one = home.put(b"one", &[]);
    let event = home.put(b"two", &["--event", "e/1"]);
    assert!(event.contains("/events/e%2F1/"), "{event}");
    exits(&home.run(&["rm", &one]), 0);
    exits(&home.run(&["rm", &one]), 1);
    fails(&home.run(&["purge", "--json", "--yes"]), 2, "INVALID_ARGUMENT", "--session");
    fails(&home.run(&["purge", "--json", "--session", "default"]), 2, "INVALID_ARGUMENT", "--yes");
    exits(&home.run(&["read", &event]), 0);
    let answer = home.run(&["purge", "--json", "--session", "default", "--event", "e/1", "--yes"]);
    assert_eq!(json(&answer, 0)["results"], 1);
    fails(&home.run(&["read", "--json", &event]), 1, "NOT_FOUND", "purged");
}

#[test]
fn sessions_are_listed() {
    let home = Home::new();
    exits(&home.run(&["list", "--sessions"]), 0);
    for session in ["b", "agent:main:7", "a"] {
        home.put(b"one", &["--session", session]);
    }
    let listed = home.run(&["list", "--sessions"]);
    exits(&listed, 0);
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "a\nagent:main:7\nb\n");
    let listed = json(&home.run(&["list", "--sessions", "--json"]), 0);
    assert_eq!(listed, serde_json::json!({"sessions": ["a", "agent:main:7", "b"]}));
    // Whoever looks into the wrong session is told where to look.
    let empty = home.run(&["list"]);
    exits(&empty, 0);
    assert!(empty.stdout.is_empty());
    let told = String::from_utf8(empty.stderr).unwrap();
    assert!(told.contains("`default`; `toolstub list --sessions`"), "{told}");
    assert!(home.run(&["list", "--session", "a"]).stderr.is_empty());
    assert!(!home.run(&["list", "--session", "c"]).stderr.is_empty());
    assert!(home.run(&["list", "--kind", "xml"]).stderr.is_empty());
}

#[test]
fn what_is_kept_in_memory_leaves_no_ref() {
    let home = Home::new();
    let output = home.run_with(&["put", "-", "--json", "--store", "memory:"], b"one");
    fails(&output, 2, "INVALID_ARGUMENT", "gone when this command ends");
    exits(&home.run(&["doctor", "--store", "memory:"]), 0);
}

#[test]
fn commands_that_store_nothing_make_no_store() {
    let home = Home::new();
    for (args, code) in [
        (&["list"][..], 0),
        (&["stats"], 0),
        (&["verify"], 0),
        (&["gc"], 0),
        (&["read", "tr_none"], 1),
        (&["search", "tr_none", "word"], 1),
        (&["verify", "tr_none"], 1),
        (&["rm", "tr_none"], 1),
        (&["purge", "--session", "default", "--yes"], 0),
    ] {
        let output = home.run(&[args, &["--store", "mistyped"]].concat());
        exits(&output, code);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.matches("there is no store at `mistyped`").count(), 1, "{args:?}: {told}");
        assert!(!home.path().join("mistyped").exists(), "{args:?}");
    }
    exits(&home.run_with(&["put", "-", "--store", "mistyped"], b"one"), 0);
    assert!(home.path().join("mistyped").is_dir());
}

#[test]
fn bad_input_is_told_with_what_would_be_right() {
    let home = Home::new();
    fails(
        &home.run(&["read", "--json", "tr_1", "--offset", "-1"]),
        2,
        "INVALID_ARGUMENT",
        "offset",
    );
    fails(&home.run(&["read", "--json", "../etc"]), 2, "INVALID_ARGUMENT", "a ref reads");
    fails(&home.run(&["read", "--json", "a b"]), 2, "INVALID_ARGUMENT", "tool result id");
    fails(&home.run(&["read", "--json", "tr_none"]), 1, "NOT_FOUND", "never stored");
    fails(&home.run(&["stub", "--json", "absent"]), 2, "INVALID_ARGUMENT", "cannot read absent");
    fails(&home.run(&["--json", "bogus"]), 2, "INVALID_ARGUMENT", "bogus");
    fails(
        &home.run(&["put", "--json", "-", "--session", ""]),
        2,
        "INVALID_ARGUMENT",
        "session id is empty",
    );
    fails(&home.run(&["list", "--json", "--store", "ftp://x"]), 2, "INVALID_ARGUMENT", "location");
    home.put(b"one", &[]);
    let plain = home.run(&["read", "tr_none"]);
    assert!(plain.stdout.is_empty());
    assert!(String::from_utf8_lossy(&plain.stderr).starts_with("toolstub: not found: "));
    exits(&home.run(&["--help"]), 0);
    exits(&home.run(&["--version"]), 0);
    exits(&home.run(&[]), 2);
}

#[test]
fn a_store_that_fails_is_told_apart() {
    let home = Home::new();
    fs::write(home.path().join("file"), "x").unwrap();
    let output = home.run_with(&["put", "-", "--json", "--store", "file"], b"content");
    fails(&output, 3, "INTERNAL", "file");
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_configuration() {
    let home = Home::new();
    let config = home.path().join(".config/toolstub");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "store = \"configured\"\ntool_prefix = \"my_\"\n")
        .unwrap();
    // A file of that name in the current folder is somebody else's.
    fs::write(home.path().join("config.toml"), "store = \"planted\"\n").unwrap();
    let stored_in = |args: &[&str], environment: bool| {
        let mut command = home.command(&[&["put", "config.toml"], args].concat());
        if environment {
            command.env("TOOLSTUB_STORE", "environment");
        }
        let output = command.output().unwrap();
        exits(&output, 0);
        assert!(String::from_utf8_lossy(&output.stdout).contains("\n- my_tool_result_read "));
        let names = ["flag", "environment", "configured", "planted"];
        let found = names.into_iter().filter(|name| home.path().join(name).exists());
        let found: Vec<_> = found.collect();
        for name in &found {
            fs::remove_dir_all(home.path().join(name)).unwrap();
        }
        found
    };
    assert_eq!(stored_in(&["--store", "flag"], true), ["flag"]);
    assert_eq!(stored_in(&[], true), ["environment"]);
    assert_eq!(stored_in(&[], false), ["configured"]);
    fs::write(config.join("config.toml"), "stor = \"x\"\n").unwrap();
    fails(&home.run(&["list", "--json"]), 2, "INVALID_ARGUMENT", "unknown field `stor`");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = Home::new();
    let reference = home.put(&b"line\n".repeat(200_000), &[]);
    let mut command = home.command(&["read", &reference, "--limit", "-1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    exits(&output, 0);
    assert!(output.stderr.is_empty());
}

#[test]
fn search_takes_regular_expressions_and_counts() {
    let home = Home::new();
    let reference = home.put(&b"ok 1\nError: x1\nerror: y2\n".repeat(10), &[]);
    let args = ["search", "--json", &reference, "--regex", "^error: \\w+$", "--count", "-i"];
    let answer = json(&home.run(&[&args[..], &["--limit", "2"]].concat()), 0);
    assert_eq!(answer["total_matches"], 20);
    assert_eq!((&answer["complete"], &answer["has_more"]), (&true.into(), &true.into()));
    assert_eq!(answer["matches"][1]["line"], 3);
    let shown = home.run(&["search", &reference, "-e", "y\\d", "--count", "--limit", "1"]);
    assert!(String::from_utf8_lossy(&shown.stdout).starts_with("10 matches\nline 3, offset 22:\n"));
    exits(&home.run(&["search", &reference, "-e", "^y"]), 1);
    let absent = json(&home.run(&["search", "--json", &reference, "-e", "z.*9"]), 1);
    assert_eq!((&absent["complete"], absent.get("total_matches")), (&true.into(), None));
    for (pattern, words) in [("x{1000000}", "at most 1 MiB"), ("a(", "unclosed group")] {
        let output = home.run(&["search", "--json", &reference, "--regex", pattern]);
        fails(&output, 2, "INVALID_ARGUMENT", words);
    }
}

#[test]
fn parts_are_read_by_their_structure() {
    let home = Home::new();
    let tree = home.put(br#"{"items": [{"id": 1}, {"id": 2,  "n": "x"}]}"#, &[]);
    let value = home.run(&["read", &tree, "--pointer", "/items/1"]);
    exits(&value, 0);
    assert_eq!(value.stdout, br#"{"id": 2,  "n": "x"}"#);
    let args = ["read", "--json", &tree, "--pointer", "/items/1", "--offset", "1", "--limit", "7"];
    let answer = json(&home.run(&args), 0);
    assert_eq!((&answer["content"], &answer["total_chars"]), (&"\"id\": 2".into(), &20.into()));
    assert_eq!((&answer["next_offset"], &answer["selection"]["offset"]), (&8.into(), &22.into()));
    let output = home.run(&["read", "--json", &tree, "--pointer", "/items/2"]);
    fails(&output, 1, "NOT_FOUND", "it has 2 items, 0 to 1");
    let output = home.run(&["read", "--json", &tree, "--pointer", "items"]);
    fails(&output, 2, "INVALID_ARGUMENT", "begins with a slash");
    fails(&home.run(&["read", "--json", &tree, "--rows", "1"]), 1, "NOT_FOUND", "not csv or tsv");
    let both = home.run(&["read", "--json", &tree, "--rows", "1", "--lines", "1"]);
    fails(&both, 2, "INVALID_ARGUMENT", "--lines");

    let rows: Vec<_> = (1..=30).map(|n| format!("{n};\"row, {n}\";{}\n", n * 7)).collect();
    let table = format!("# exported\nid;name;value\n{}", rows.concat());
    let table = home.put(table.as_bytes(), &[]);
    let part = home.run(&["read", &table, "--rows", "10-11"]);
    exits(&part, 0);
    assert_eq!(String::from_utf8_lossy(&part.stdout), rows[9..11].concat());
    assert!(String::from_utf8_lossy(&part.stderr).contains("columns: id, name, value"));
    let answer = json(&home.run(&["read", "--json", &table, "--rows", "30-40"]), 0);
    assert_eq!(answer["content"], rows[29]);
    assert_eq!(answer["selection"]["columns"][2], "value");
    assert_eq!(answer["selection"]["line"], 32);
    fails(&home.run(&["read", "--json", &table, "--rows", "31"]), 1, "NOT_FOUND", "has 30 rows");
    let lines = home.run(&["read", &table, "--lines", "1-2"]);
    assert_eq!(lines.stdout, b"# exported\nid;name;value\n");
}

#[test]
fn verify_finds_damage() {
    let home = Home::new();
    let one = home.put(b"one", &[]);
    home.put(b"two", &["--session", "other"]);
    let whole = json(&home.run(&["verify", "--json"]), 0);
    assert_eq!(whole, serde_json::json!({ "whole": 2, "bytes": 6, "damaged": [] }));
    exits(&home.run(&["verify", &one]), 0);
    let id = one.rsplit('/').next().unwrap();
    let output = format!(".local/share/toolstub/sessions/default/tool-results/{id}/output.txt");
    fs::write(home.path().join(output), "0ne").unwrap();
    let damaged = json(&home.run(&["verify", "--json"]), 3);
    assert_eq!(
        (&damaged["whole"], &damaged["damaged"][0]["ref"]),
        (&1.into(), &one.clone().into())
    );
    exits(&home.run(&["verify", "--session", "other"]), 0);
    fails(&home.run(&["verify", "--json", &one]), 3, "CORRUPT", "checksum");
    fails(&home.run(&["verify", "--json", "tr_none"]), 1, "NOT_FOUND", "never stored");
    let told = home.run(&["verify"]);
    exits(&told, 3);
    assert!(String::from_utf8_lossy(&told.stdout).starts_with(&format!("{one}\tcorrupt: ")));
}

#[test]
fn gc_removes_leftovers_of_an_age() {
    let home = Home::new();
    let kept = home.put(b"kept", &[]);
    let results = home.path().join(".local/share/toolstub/sessions/default/tool-results");
    fs::create_dir_all(results.join("tr_left")).unwrap();
    fs::write(results.join("tr_left/output.txt"), "left").unwrap();
    fs::write(results.join("tr_left/output.txt#1"), "over").unwrap();
    let told = |args: &[&str]| json(&home.run(&[&["gc", "--json"], args].concat()), 0);
    assert_eq!(told(&[])["objects"], 0);
    assert_eq!(told(&["--older-than", "7d"])["objects"], 0);
    let dry = told(&["--older-than", "0s", "--dry-run"]);
    assert_eq!(dry, serde_json::json!({ "dry_run": true, "objects": 2, "bytes": 8 }));
    assert_eq!(told(&["--older-than", "0s"])["objects"], 2);
    assert!(!results.join("tr_left").exists());
    exits(&home.run(&["read", &kept]), 0);
    for age in ["", "1", "h", "1w", "-1s", "1.5h", "99999999999999999999d", "1é"] {
        let output = home.run(&["gc", "--json", &format!("--older-than={age}")]);
        fails(&output, 2, "INVALID_ARGUMENT", "30m, 24h or 7d");
    }
}

#[test]
fn stats_say_what_is_kept_out_of_the_context() {
    let home = Home::new();
    home.put(&b"a,b\n1,2\n".repeat(5000), &["--tool-name", "query"]);
    home.put(b"short", &["--tool-name", "query", "--session", "other"]);
    let stats = json(&home.run(&["stats", "--json"]), 0);
    assert_eq!((&stats["results"], &stats["bytes"]), (&2.into(), &40_005.into()));
    assert_eq!(stats["by_kind"]["csv"]["results"], 1);
    assert_eq!(stats["by_tool"]["query"]["bytes"], 40_005);
    let kept_out = stats["kept_out_bytes"].as_u64().unwrap();
    assert!((38_000..40_000).contains(&kept_out), "{kept_out}");
    let one = json(&home.run(&["stats", "--json", "--session", "other"]), 0);
    assert_eq!((&one["results"], &one["kept_out_bytes"]), (&1.into(), &0.into()));
    let shown = home.run(&["stats"]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("\nall\t2\t40005\t") && shown.contains("\ntool query\t2\t"), "{shown}");
}

#[test]
fn doctor_tries_the_store_and_leaves_nothing() {
    let home = Home::new();
    let told = json(&home.run(&["doctor", "--json", "--store", "s"]), 0);
    assert_eq!((&told["usable"], told["checks"].as_array().unwrap().len()), (&true.into(), 6));
    assert!(
        told["checks"].as_array().unwrap().iter().all(|check| check["status"] == "ok"),
        "{told}"
    );
    assert_eq!(fs::read_dir(home.path().join("s")).unwrap().count(), 0);
    let shown = home.run(&["doctor", "--store", "memory:"]);
    exits(&shown, 0);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("ok\twrite\t") && shown.contains("ends with the process"), "{shown}");
    fs::create_dir(home.path().join("t")).unwrap();
    fs::write(home.path().join("t/sessions"), "in the way").unwrap();
    let broken = json(&home.run(&["doctor", "--json", "--store", "t"]), 3);
    assert_eq!(
        (&broken["usable"], &broken["checks"][0]["status"]),
        (&false.into(), &"failed".into())
    );
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_a_failure_of_the_store() {
    let home = Home::new();
    fs::write(home.path().join("large"), vec![b'x'; 8 << 20]).unwrap();
    let program = env!("CARGO_BIN_EXE_toolstub");
    let mut put = Command::new("sh");
    put.args(["-c", &format!("ulimit -f 1000; exec {program} put large --json --store s")]);
    let output = put.current_dir(home.path()).env("HOME", home.path()).output().unwrap();
    fails(&output, 3, "RESOURCE_EXHAUSTED", "no room");
    assert_eq!(fs::read_dir(home.path().join("s")).unwrap().count(), 0);
}

#[test]
fn whether_to_wait_for_the_disk_can_be_said() {
    let home = Home::new();
    for fsync in ["true", "false", "1", "0", "yes", "no"] {
        home.put(fsync.as_bytes(), &["--fsync", fsync]);
        let mut list = home.command(&["list"]);
        exits(&list.env("TOOLSTUB_FSYNC", fsync).output().unwrap(), 0);
    }
    exits(&home.run(&["list", "--fsync", "perhaps"]), 2);
}
