//! Configurations of hosts, with the hook in them and out again.

mod backup;
mod round;
mod told;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Home, exits, fails, json};

/// The files that a host's configuration is in, below the home directory and below a project.
const FILES: [(&str, &str, &str); 9] = [
    ("claude", ".claude/settings.json", ".claude/settings.json"),
    ("claude", ".claude.json", ".mcp.json"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json"),
    ("codex", ".codex/config.toml", ".codex/config.toml"),
    ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
    ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("opencode", ".config/opencode/opencode.json", "opencode.json"),
    ("opencode", ".config/opencode/plugin/toolstub.js", ".opencode/plugin/toolstub.js"),
];

/// What may stand in a JSON file before.
const EXISTING: &[&str] = &[
    "{}",
    "{}\n",
    "{\n}\n",
    "{\"model\":\"opus\",\"n\":1.10,\"big\":123456789012345678901234567890}",
    "{ \"model\": \"opus\" }\n",
    "{\n  \"model\": \"opus\",\n  \"list\": [1, 2,   3],\n  \"é\": \"\\u00e9\"\n}\n",
    "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}",
    "{\r\n    \"model\": \"opus\"\r\n}\r\n",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "{\n  \"hooks\": {},\n  \"mcpServers\": {},\n  \"mcp\": {}\n}\n",
    "{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"Edit\",\"hooks\":[{\"type\":\"command\",\"command\":\"fmt\"}]}]},\"mcpServers\":{\"fs\":{\"command\":\"fs\"}}}",
    "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      { \"matcher\": \"Edit\", \"hooks\": [{ \"type\": \"command\", \"command\": \"fmt\" }] }\n    ],\n    \"AfterTool\": [],\n    \"postToolUse\": [{ \"command\": \"audit\" }]\n  },\n  \"mcpServers\": {\n    \"fs\": { \"command\": \"fs\", \"args\": [] }\n  }\n}\n",
];

fn file(home: &Home, path: &str, text: &str) -> PathBuf {
    let path = home.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn hosts() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    ["claude", "codex", "cursor", "gemini", "opencode"].into_iter().map(|host| {
        let files = FILES.iter().filter(|file| file.0 == host);
        (host, files.map(|file| file.1).collect())
    })
}

#[test]
fn where_nothing_was_nothing_is_left() {
    for (host, files) in hosts() {
        let home = Home::new();
        exits(&home.run(&["init", host]), 0);
        for path in &files {
            assert!(text(&home.path().join(path)).contains("toolstub"), "{path}");
        }
        exits(&home.run(&["init", host, "--uninstall"]), 0);
        for path in files {
            assert!(!home.path().join(path).exists(), "{path}");
        }
        // Nor a folder, but for one that is nobody's.
        let left: Vec<_> =
            fs::read_dir(home.path()).unwrap().map(|it| it.unwrap().path()).collect();
        let config = home.path().join(".config");
        assert!(left.iter().all(|path| *path == config), "{left:?}");
        assert!(!config.exists() || fs::read_dir(config).unwrap().next().is_none());
    }
}

#[test]
fn what_was_there_comes_back_to_the_letter() {
    for (host, files) in hosts() {
        for existing in EXISTING {
            let home = Home::new();
            for path in files.iter().filter(|path| path.contains(".json")) {
                file(&home, path, existing);
            }
            exits(&home.run(&["init", host]), 0);
            let made: Vec<String> =
                files.iter().map(|path| text(&home.path().join(path))).collect();
            for (path, made) in files.iter().zip(&made) {
                assert!(made.contains("toolstub"), "{path}: {made}");
                if path.contains(".json") {
                    let value: Value = serde_json::from_str(made.trim_start_matches('\u{feff}'))
                        .unwrap_or_else(|error| panic!("{path}: {error}: {made}"));
                    let before: Value =
                        serde_json::from_str(existing.trim_start_matches('\u{feff}')).unwrap();
                    keeps(&before, &value);
                    let backup = home.path().join(format!("{path}.bak"));
                    assert_eq!(&text(&backup), existing, "{path}");
                }
            }
            // The second time there is nothing to do.
            let again = home.run(&["init", host]);
            exits(&again, 0);
            let told = String::from_utf8(again.stdout).unwrap();
            assert!(told.lines().all(|line| line.starts_with("unchanged ")), "{told}");
            for (path, made) in files.iter().zip(&made) {
                assert_eq!(&text(&home.path().join(path)), made, "{path}");
            }
            exits(&home.run(&["init", host, "--uninstall"]), 0);
            for path in files.iter().filter(|path| path.contains(".json")) {
                assert_eq!(&text(&home.path().join(path)), existing, "{path}: {made:?}");
                assert!(!home.path().join(format!("{path}.bak")).exists(), "{path}");
            }
        }
    }
}

/// Everything of one value is in another.
#[track_caller]
fn keeps(before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                keeps(value, &after[name]);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (before, after) in before.iter().zip(after) {
                keeps(before, after);
            }
            assert!(before.len() <= after.len());
        }
        _ => assert_eq!(before, after),
    }
}

#[test]
fn what_was_changed_since_stays() {
    for (host, files) in hosts() {
        for existing in EXISTING {
            let home = Home::new();
            let path = files.iter().find(|path| path.contains(".json")).unwrap();
            let path = file(&home, path, existing);
            exits(&home.run(&["init", host]), 0);
            let made = text(&path);
            let own = made.rfind('}').unwrap();
            let comma = if made[..own].trim_end().ends_with('{') { "" } else { "," };
            fs::write(&path, format!("{}{comma} \"later\": [1.0]{}", &made[..own], &made[own..]))
                .unwrap();
            exits(&home.run(&["init", host, "--uninstall"]), 0);
            let left = text(&path);
            assert!(!left.contains("toolstub") && left.contains("\"later\": [1.0]"), "{left}");
            let value: Value = serde_json::from_str(left.trim_start_matches('\u{feff}')).unwrap();
            assert_eq!(value["later"].to_string(), "[1.0]");
        }
    }
}

#[test]
fn a_line_end_makes_no_file_ours() {
    let home = Home::new();
    let path = file(&home, ".claude/settings.json", "{}");
    exits(&home.run(&["init", "claude"]), 0);
    fs::write(&path, text(&path) + "\n").unwrap();
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
    assert_eq!(text(&path), "{}\n");
}

#[test]
fn hooks_are_run_by_what_was_asked_for() {
    let home = Home::new();
    exits(&home.run(&["init", "claude", "--threshold", "8000", "--store", "my kept"]), 0);
    let settings: Value =
        serde_json::from_str(&text(&home.path().join(".claude/settings.json"))).unwrap();
    let group = &settings["hooks"]["PostToolUse"][0];
    let command = group["hooks"][0]["command"].as_str().unwrap();
    let store = home.path().canonicalize().unwrap().join("my kept");
    let store = store.to_str().unwrap();
    assert!(
        command.ends_with(&format!(" --store '{store}' hook claude --threshold 8000")),
        "{command}"
    );
    let servers: Value = serde_json::from_str(&text(&home.path().join(".claude.json"))).unwrap();
    assert_eq!(
        servers["mcpServers"]["toolstub"]["args"],
        serde_json::json!(["--store", store, "mcp"])
    );
    // Another wish takes the place of the first, and the file has one hook still.
    exits(&home.run(&["init", "claude", "--threshold", "9000"]), 0);
    let settings = text(&home.path().join(".claude/settings.json"));
    assert_eq!(settings.matches("hook claude --threshold 9000").count(), 1, "{settings}");
    assert_eq!(settings.matches("hook claude").count(), 1, "{settings}");
}

#[test]
fn a_project_has_files_of_its_own() {
    for (host, _, project) in FILES {
        let home = Home::new();
        let folder = home.path().join("project");
        fs::create_dir(&folder).unwrap();
        let output =
            home.command(&["init", host, "--project"]).current_dir(&folder).output().unwrap();
        exits(&output, 0);
        let made = text(&folder.join(project));
        assert!(made.contains("toolstub") && !made.contains("/toolstub "), "{made}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "{host}");
    }
    let home = Home::new();
    exits(&home.run(&["init", "claude", "--project", "--user"]), 2);
}

#[test]
fn show_changes_nothing() {
    for (host, files) in hosts() {
        let home = Home::new();
        let shown = home.run(&["init", host, "--show"]);
        exits(&shown, 0);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{host}");
        exits(&home.run(&["init", host]), 0);
        let shown = String::from_utf8(shown.stdout).unwrap();
        for path in &files {
            assert!(shown.contains(&text(&home.path().join(path))), "{path}: {shown}");
        }
        let answer = json(&home.run(&["--json", "init", host, "--uninstall", "--show"]), 0);
        let removed = answer["files"].as_array().unwrap();
        assert!(removed.iter().all(|file| file["action"] == "would remove"), "{answer}");
        assert_eq!(removed.len(), files.len());
        assert!(files.iter().all(|path| home.path().join(path).exists()));
    }
}

#[test]
fn a_broken_file_is_refused_and_no_other_is_changed() {
    for (host, files) in hosts() {
        for path in files.iter().filter(|path| !path.contains("plugin")) {
            for broken in
                ["{\"a\": 1", "[]", "{\"hooks\": 7, \"mcpServers\": 7, \"mcp\": 7}", "a b\n= 1"]
            {
                let home = Home::new();
                let path = file(&home, path, broken);
                let before = fs::read_dir(path.parent().unwrap()).unwrap().count();
                let output = home.run(&["--json", "init", host]);
                fails(
                    &output,
                    2,
                    "INVALID_ARGUMENT",
                    &format!("{} is not changed", path.display()),
                );
                assert_eq!(text(&path), broken);
                let after = fs::read_dir(path.parent().unwrap()).unwrap().count();
                assert_eq!(before, after, "{host}: {broken}");
            }
        }
    }
    let home = Home::new();
    file(&home, ".claude/settings.json", "{\n  // why\n  \"a\": 1\n}");
    fails(&home.run(&["--json", "init", "claude"]), 2, "INVALID_ARGUMENT", "no valid JSON");
    let home = Home::new();
    file(&home, ".claude.json", r#"{"mcpServers":{"toolstub":{"command":"other"}}}"#);
    fails(&home.run(&["--json", "init", "claude"]), 2, "INVALID_ARGUMENT", "is another server");
    let home = Home::new();
    file(&home, ".config/opencode/plugin/toolstub.js", "export const mine = 1;\n");
    fails(&home.run(&["--json", "init", "opencode"]), 2, "INVALID_ARGUMENT", "not ours");
}

#[test]
fn comments_stay_where_a_host_takes_them() {
    let commented = "// mine\n{\n  // the theme\n  \"ui\": { \"theme\": \"dark\" }, /* all */\n  \"list\": [\n    1, // one\n  ], // last\n}\n";
    for (host, path) in
        [("gemini", ".gemini/settings.json"), ("opencode", ".config/opencode/opencode.jsonc")]
    {
        let home = Home::new();
        let path = file(&home, path, commented);
        exits(&home.run(&["init", host]), 0);
        let made = text(&path);
        for comment in ["// mine", "// the theme", "/* all */", "// one", "// last"] {
            assert!(made.contains(comment), "{comment}: {made}");
        }
        fs::write(&path, format!("{made}// later\n")).unwrap();
        exits(&home.run(&["init", host, "--uninstall"]), 0);
        let left = text(&path);
        assert_eq!(left, commented.replace("], // last", "] // last") + "// later\n");
    }
}

#[test]
fn toml_stays_as_it_is_written() {
    for existing in [
        "",
        "model = \"o4\"",
        "# mine\nmodel = 'o4' # why\n\n[mcp_servers.fs]\ncommand = \"fs\"\n",
        "model = \"o4\"\r\n\r\n[features]\r\nhooks = true\r\n",
        "text = \"\"\"\n[mcp_servers.other]\n\"\"\"\n",
    ] {
        let home = Home::new();
        let path = file(&home, ".codex/config.toml", existing);
        exits(&home.run(&["init", "codex"]), 0);
        let made = text(&path);
        assert!(made.starts_with(existing), "{made}");
        let table: toml::Table = made.parse().unwrap();
        assert_eq!(table["mcp_servers"]["toolstub"]["args"][0].as_str(), Some("mcp"));
        exits(&home.run(&["init", "codex", "--threshold", "5"]), 0);
        assert_eq!(text(&path), made);
        let later = format!(
            "{made}startup_timeout_sec = 3\n\n[mcp_servers.toolstub.env]\nA = \"1\"\n\n[later]\nb = 2\n"
        );
        fs::write(&path, &later).unwrap();
        exits(&home.run(&["init", "codex", "--uninstall"]), 0);
        let left = text(&path);
        assert!(!left.contains("toolstub") && left.ends_with("[later]\nb = 2\n"), "{left}");
        assert!(left.starts_with(existing.trim_end()), "{left}");
    }
    let home = Home::new();
    file(&home, ".codex/config.toml", "mcp_servers = { fs = { command = \"fs\" } }\n");
    fails(&home.run(&["--json", "init", "codex"]), 2, "INVALID_ARGUMENT", "cannot be added");
}

#[test]
fn a_hook_beside_others_is_taken_out_alone() {
    let home = Home::new();
    let path = file(
        &home,
        ".claude/settings.json",
        "{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"audit\"},{\"type\":\"command\",\"command\":\"/old/toolstub hook claude\"}]}]}}",
    );
    exits(&home.run(&["init", "claude", "--threshold", "5000"]), 0);
    let made = text(&path);
    assert_eq!(made.matches("hook claude").count(), 1, "{made}");
    assert!(made.contains("hook claude --threshold 5000") && made.contains("\"audit\""), "{made}");
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
    assert_eq!(
        text(&path),
        "{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"audit\"}]}]}}"
    );
}

#[test]
#[cfg(unix)]
fn links_are_followed_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = Home::new();
    let real = file(&home, "dotfiles/claude.json", "{\"token\":\"secret\"}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = home.path().join(".claude.json");
    symlink(&real, &link).unwrap();
    exits(&home.run(&["init", "claude"]), 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(text(&real).contains("toolstub"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o600);
    assert_eq!(mode(&home.path().join(".claude.json.bak")), 0o600);
    // One that is made is nobody else's to read.
    assert_eq!(mode(&home.path().join(".claude/settings.json")), 0o600);
    let left: Vec<_> = fs::read_dir(real.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
    assert_eq!(text(&real), "{\"token\":\"secret\"}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

    let home = Home::new();
    symlink("nowhere", home.path().join(".claude.json")).unwrap();
    fails(&home.run(&["--json", "init", "claude"]), 2, "INVALID_ARGUMENT", "leads nowhere");
}

#[test]
fn what_is_not_ours_stays() {
    let proxy =
        r#"{"command": "toolstub", "args": ["proxy", "--", "npx", "server"], "env": {"KEY": "k"}}"#;
    for (path, host, text_of_it) in [
        (".claude.json", "claude", format!("{{\"mcpServers\": {{\"toolstub\": {proxy}}}}}")),
        (".cursor/mcp.json", "cursor", format!("{{\"mcpServers\": {{\"toolstub\": {proxy}}}}}")),
        (
            ".gemini/settings.json",
            "gemini",
            format!("{{\"mcpServers\": {{\"toolstub\": {proxy}}}}}"),
        ),
        (
            ".config/opencode/opencode.json",
            "opencode",
            r#"{"mcp": {"toolstub": {"command": ["toolstub", "proxy", "--", "npx"]}}}"#.to_owned(),
        ),
        (
            ".codex/config.toml",
            "codex",
            "[mcp_servers.toolstub]\ncommand = \"toolstub\"\nargs = [\"proxy\", \"--\", \"npx\"]\n"
                .to_owned(),
        ),
    ] {
        let home = Home::new();
        let path = file(&home, path, &text_of_it);
        let words = "toolstub` in it is another server; give that another name first";
        fails(&home.run(&["--json", "init", host]), 2, "INVALID_ARGUMENT", words);
        assert_eq!(text(&path), text_of_it);
        let output = home.run(&["init", host, "--uninstall"]);
        exits(&output, 0);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("toolstub` is not ours; it stays as it is"), "{told}");
        assert_eq!(text(&path), text_of_it);
    }
}

#[test]
fn a_hook_that_does_more_than_ours_stays() {
    let home = Home::new();
    let theirs = r#"{"hooks":{"PostToolUse":[{"matcher":"x","hooks":[{"type":"command","command":"cd /src/toolstub && ./my hook claude --log"},{"type":"command","command":"keep"}]}]}}"#;
    let path = file(&home, ".claude/settings.json", theirs);
    for _ in 0..2 {
        let output = home.run(&["init", "claude"]);
        exits(&output, 0);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            told.contains("`cd /src/toolstub && ./my hook claude --log` is not ours"),
            "{told}"
        );
        let made: Value = serde_json::from_str(&text(&path)).unwrap();
        assert_eq!(made["hooks"]["PostToolUse"].as_array().unwrap().len(), 2, "{made}");
    }
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
    assert_eq!(text(&path), theirs);
}

#[test]
fn a_program_of_another_name_finds_what_it_wrote() {
    for name in ["ts", "toolstub-1.2.0", "my tool"] {
        for (host, files) in hosts() {
            let home = Home::new();
            let program = home.path().join("bin").join(name);
            fs::create_dir(program.parent().unwrap()).unwrap();
            let built = env!("CARGO_BIN_EXE_toolstub");
            if fs::hard_link(built, &program).is_err() {
                fs::copy(built, &program).unwrap();
            }
            let run = |args: &[&str]| {
                let mut command = std::process::Command::new(&program);
                command.args(args).current_dir(home.path()).env_clear().env("HOME", home.path());
                let output = command.output().unwrap();
                exits(&output, 0);
                String::from_utf8(output.stdout).unwrap()
            };
            run(&["init", host]);
            let told = run(&["init", host]);
            assert!(told.lines().all(|line| line.starts_with("unchanged ")), "{name}: {told}");
            run(&["init", host, "--threshold", "9000"]);
            run(&["init", host, "--uninstall"]);
            for path in files {
                let left = fs::read_to_string(home.path().join(path)).unwrap_or_default();
                assert!(!left.contains(name), "{name}: {path}: {left}");
            }
        }
    }
}

#[test]
fn comments_beside_our_table_stay() {
    let home = Home::new();
    let path = file(&home, ".codex/config.toml", "# mine\nmodel = \"o4\"\n");
    exits(&home.run(&["init", "codex"]), 0);
    let later = "\n# about the other server\n# in two lines\n[mcp_servers.fs]\ncommand = \"fs\"\n";
    fs::write(&path, text(&path) + later).unwrap();
    exits(&home.run(&["init", "codex", "--store", "kept"]), 0);
    let made = text(&path);
    assert!(made.contains(later) && made.contains("/kept\", \"mcp\"]"), "{made}");
    exits(&home.run(&["init", "codex", "--uninstall"]), 0);
    assert_eq!(text(&path), format!("# mine\nmodel = \"o4\"\n{later}"));
}

#[test]
fn what_was_added_to_our_table_stays() {
    for (added, below) in [
        ("startup_timeout_sec = 30 # slow\nenabled = true\n", ""),
        ("# the keys\nenv = { KEY = \"k\" }\n", "\n[b]\nc = 2\n"),
        ("", "[mcp_servers.toolstub.env]\nKEY = \"k\" # mine\n\n[b]\nc = 2\n"),
    ] {
        let home = Home::new();
        let path = file(&home, ".codex/config.toml", "# mine\nmodel = \"o4\"\n");
        exits(&home.run(&["init", "codex"]), 0);
        let changed = format!("{}{added}{below}", text(&path));
        fs::write(&path, &changed).unwrap();
        exits(&home.run(&["init", "codex", "--store", "kept"]), 0);
        let store = home.path().canonicalize().unwrap().join("kept");
        let wanted = format!("args = [\"--store\", \"{}\", \"mcp\"]", store.to_str().unwrap());
        assert_eq!(text(&path), changed.replace("args = [\"mcp\"]", &wanted));
        // It goes with our table.
        exits(&home.run(&["init", "codex", "--uninstall"]), 0);
        let left = text(&path);
        assert!(
            !left.contains("toolstub")
                && left.ends_with(below.split_once("[b]").map_or("\n", |it| it.1)),
            "{left}"
        );
    }
    // However it is written.
    for (before, after) in [
        (
            "[mcp_servers]\ntoolstub = { args = [ 'mcp' ], command = 'toolstub', env = { A = '1' } }\n",
            "toolstub = { args = [\"--store\", \"s3://abc/b\", \"mcp\"], command = ",
        ),
        (
            "mcp_servers.toolstub.command = \"toolstub\" # one\nmcp_servers.toolstub.args = [\n  \"mcp\",\n]\n",
            " # one\nmcp_servers.toolstub.args = [\"--store\", \"s3://abc/b\", \"mcp\"]\n",
        ),
    ] {
        let home = Home::new();
        let path = file(&home, ".codex/config.toml", before);
        exits(&home.run(&["init", "codex", "--store", "s3://abc/b"]), 0);
        assert!(text(&path).contains(after), "{}", text(&path));
    }
}

#[test]
fn what_was_added_to_our_server_stays() {
    let home = Home::new();
    exits(&home.run(&["init", "claude"]), 0);
    let path = home.path().join(".claude.json");
    let mut servers: Value = serde_json::from_str(&text(&path)).unwrap();
    servers["mcpServers"]["toolstub"]["env"] = serde_json::json!({"KEY": "k"});
    fs::write(&path, servers.to_string()).unwrap();
    exits(&home.run(&["init", "claude"]), 0);
    assert_eq!(text(&path), servers.to_string());
    exits(&home.run(&["init", "claude", "--store", "kept"]), 0);
    let made: Value = serde_json::from_str(&text(&path)).unwrap();
    assert_eq!(made["mcpServers"]["toolstub"]["env"]["KEY"], "k");
    assert_eq!(made["mcpServers"]["toolstub"]["args"][0], "--store");
}

#[test]
fn options_need_not_be_given_again_to_uninstall() {
    for (host, files) in hosts() {
        for existing in
            [None, Some("{ }"), Some("{\n  \"hooks\": {\"Stop\": []}, \"a\": [1,   2] }\n")]
        {
            let home = Home::new();
            let paths: Vec<_> = files.iter().map(|path| home.path().join(path)).collect();
            let texts: Vec<_> =
                files.iter().map(|path| existing.filter(|_| path.contains(".json"))).collect();
            for (path, text) in files.iter().zip(&texts) {
                if let Some(text) = text {
                    file(&home, path, text);
                }
            }
            exits(&home.run(&["init", host, "--threshold", "8000", "--store", "my kept"]), 0);
            exits(&home.run(&["init", host, "--uninstall"]), 0);
            for (path, text) in paths.iter().zip(&texts) {
                let left = fs::read_to_string(path).ok();
                assert_eq!(left.as_deref(), *text, "{}", path.display());
                assert!(!path.with_extension("json.bak").exists());
            }
        }
    }
}
