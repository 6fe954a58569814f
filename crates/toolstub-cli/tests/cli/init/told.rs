//! What `init` says, and what it writes of what was said to it.

use std::fs;

use super::{FILES, file, hosts, text};
use crate::{Home, exits, fails, json};

fn files(home: &Home, host: &str) -> String {
    let paths = FILES.iter().filter(|file| file.0 == host);
    paths.map(|file| fs::read_to_string(home.path().join(file.1)).unwrap_or_default()).collect()
}

#[test]
fn a_store_that_no_hook_could_use_is_refused() {
    for (host, _) in hosts() {
        for (store, words) in [
            ("memory:", "is gone when this command ends"),
            ("ftp://x/y", "is not a store's location"),
            ("file:x", "names no folder"),
            ("s3://", "not a location in a bucket"),
        ] {
            let home = Home::new();
            let output = home.run(&["--json", "--store", store, "init", host]);
            fails(&output, 2, "INVALID_ARGUMENT", words);
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
            // What is there is taken out all the same.
            exits(&home.run(&["--store", store, "init", host, "--uninstall"]), 0);
        }
    }
    let home = Home::new();
    file(&home, ".config/toolstub/config.toml", "store = \"memory:\"\n");
    fails(&home.run(&["--json", "init", "claude"]), 2, "INVALID_ARGUMENT", "memory:");
}

#[test]
fn a_path_is_written_whole_whatever_it_holds() {
    let home = Home::new();
    let whole = home.path().canonicalize().unwrap();
    for store in ["./a:b", "kept", "c:/d"] {
        exits(&home.run(&["--store", store, "init", "cursor"]), 0);
        let path = whole.join(store.trim_start_matches("./"));
        assert!(files(&home, "cursor").contains(path.to_str().unwrap()), "{store}");
    }
    exits(&home.run(&["--store", "s3://abc/b", "init", "cursor"]), 0);
    assert!(files(&home, "cursor").contains("\"s3://abc/b\""));
}

#[test]
fn what_was_said_is_written_or_refused() {
    for (host, _) in hosts() {
        let home = Home::new();
        let options = ["--session", "a b", "--event", "e", "--fsync", "false"];
        exits(&home.run(&[&["init", host], &options[..]].concat()), 0);
        let made = files(&home, host);
        let plain = made.replace(['\'', '"', ',', '[', ']', '\n', ' '], "");
        assert!(plain.contains(&format!("--sessionab--evente--fsyncfalsehook{host}")), "{made}");
        assert!(plain.contains("--sessionabmcp"), "{made}");
        exits(&home.run(&["init", host, "--uninstall"]), 0);
        assert!(!files(&home, host).contains("toolstub"));
    }
    let home = Home::new();
    for command in [&["mcp"][..], &["proxy", "--", "cat"]] {
        let output = home.run(&[&["--json", "--event", "e"], command].concat());
        fails(&output, 2, "INVALID_ARGUMENT", "--event says nothing here");
    }
    fails(&home.run(&["--json", "init", "claude", "--session", ""]), 2, "INVALID_ARGUMENT", "");
}

#[test]
fn what_comes_from_the_environment_is_told() {
    let home = Home::new();
    let run = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("TOOLSTUB_STORE", "kept").env("TOOLSTUB_FSYNC", "0");
        let output = command.output().unwrap();
        exits(&output, 0);
        String::from_utf8(output.stderr).unwrap()
    };
    let told = run(&["init", "claude"]);
    assert!(told.contains("of TOOLSTUB_STORE is written") && told.contains("/kept\n"), "{told}");
    assert!(told.contains("TOOLSTUB_FSYNC is not written"), "{told}");
    let made = files(&home, "claude");
    assert!(made.contains("/kept") && !made.contains("fsync"), "{made}");
    assert!(!run(&["init", "claude", "--store", "kept"]).contains("TOOLSTUB_STORE"));
    // Files that others share say nothing of this machine, unless that is asked for.
    let shared = |name: &str| text(&home.path().join(name));
    let told = run(&["init", "claude", "--project"]);
    assert!(told.contains("TOOLSTUB_STORE is not written"), "{told}");
    assert!(!shared(".mcp.json").contains("kept"));
    let told = run(&["init", "claude", "--project", "--store", "kept"]);
    assert!(told.contains("others share, name a store on this machine: /"), "{told}");
    assert!(shared(".mcp.json").contains("/kept"));
}

#[test]
fn the_next_step_is_told_where_there_is_one() {
    for (host, _) in hosts() {
        let home = Home::new();
        let run = |more: &[&str]| {
            let output = home.run(&[&["init", host], more].concat());
            exits(&output, 0);
            String::from_utf8(output.stderr).unwrap()
        };
        assert_eq!(run(&["--show"]), "");
        let told = run(&[]);
        assert!(told.starts_with("toolstub: start ") && !told.contains("docs/"), "{told}");
        assert_eq!(run(&[]), "");
        assert_eq!(run(&["--uninstall"]), "");
    }
}

#[test]
fn show_tells_what_would_be_and_nothing_else_of_a_file() {
    for existing in [
        "{\n  \"env\": { \"KEY\": \"secret\" },\n  \"token\": \"secret\"\n}\n",
        "{\"env\":{\"KEY\":\"secret\"},\"token\":\"secret\"}",
        "{\n  \"mcpServers\": {\n    \"fs\": {\n      \"env\": {\"KEY\": \"secret\"}\n    }\n  }\n}\n",
    ] {
        for path in [".claude.json", ".gemini/settings.json"] {
            let home = Home::new();
            let host = if path.contains("gemini") { "gemini" } else { "claude" };
            let path = file(&home, path, existing);
            let show = |more: &[&str]| {
                let output = home.run(&[&["init", host, "--show"], more].concat());
                exits(&output, 0);
                String::from_utf8(output.stdout).unwrap()
            };
            let shown = show(&[]);
            assert!(shown.contains(&format!("would change {}\nline ", path.display())), "{shown}");
            assert!(shown.contains("\n+ ") && shown.contains("\"mcp\""), "{shown}");
            assert!(!shown.contains("secret") && !shown.contains("created"), "{shown}");
            assert_eq!(text(&path), existing);
            exits(&home.run(&["init", host]), 0);
            let shown = show(&["--threshold", "7000"]);
            assert!(shown.contains("--threshold 7000") && !shown.contains("secret"), "{shown}");
            let shown = show(&["--uninstall"]);
            assert!(shown.contains("\n- ") && !shown.contains("secret"), "{shown}");
            let answer = json(&home.run(&["--json", "init", host, "--show", "--uninstall"]), 0);
            assert!(!answer.to_string().contains("secret"), "{answer}");
        }
    }
}

#[test]
fn nothing_from_a_file_moves_the_cursor() {
    let home = Home::new();
    file(
        &home,
        ".claude/settings.json",
        r#"{"hooks":{"PostToolUse":[{"hooks":[{"command":"toolstub hook claude --log \u001b]0;pwn\u0007\ntoolstub: done"}]}]}}"#,
    );
    let output = home.run(&["init", "claude"]);
    exits(&output, 0);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("is not ours; it stays") && !told.contains('\u{1b}'), "{told:?}");
    assert!(!told.contains("\ntoolstub: done"), "{told:?}");
}

#[test]
#[cfg(unix)]
fn a_read_only_file_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new();
    let path = file(&home, ".claude/settings.json", "{\"a\": 1}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fails(&home.run(&["--json", "init", "claude"]), 2, "INVALID_ARGUMENT", "it is read-only");
    assert_eq!(text(&path), "{\"a\": 1}");
    assert!(!home.path().join(".claude.json").exists());
    // Where there is nothing to change, there is nothing to refuse.
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
}
