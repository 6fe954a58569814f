//! In and out again: whatever was there and whatever was asked for, the files are what they were.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{EXISTING, FILES, file};
use crate::{Home, exits};

/// What a host's files may hold before, none that is not there.
const COMMENTED: &[&str] = &[
    "// mine\n{\n  // the theme\n  \"ui\": { \"theme\": \"dark\" }, /* all */\n  \"list\": [\n    1, // one\n  ], // last\n}\n",
    "{\n  \"mcp\": {\n    \"fs\": { \"type\": \"local\", \"command\": [\"fs\"] }, // files\n  },\n}\n// end",
    "/* nothing */ {}",
];
const TOML: &[&str] = &[
    "",
    "\n",
    "model = \"o4\"",
    "# mine\nmodel = 'o4' # why\n\n[mcp_servers.fs]\ncommand = \"fs\"\n\n",
    "model = \"o4\"\r\n\r\n[features]\r\nhooks = true\r\n",
    "\u{feff}model = \"o4\"\n",
    "[[profiles]]\nname = \"a\"\n\n[[profiles]]\nname = \"b\"\n# last",
    "text = \"\"\"\n[mcp_servers.toolstub]\n\"\"\"\n",
    "[mcp_servers]\n",
];

/// The options of one `init` after another.
const ASKED: &[&[&[&str]]] = &[
    &[&[]],
    &[&["--threshold", "8000"], &["--store", "my kept"]],
    &[&["--store", "s3://abc/b", "--threshold", "5"], &[], &[], &["--threshold", "9000"]],
];

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn is_of(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|it| it == extension)
}

/// What a file may hold before.
fn existing(host: &str, path: &str) -> Vec<Option<&'static str>> {
    let texts: Vec<&str> = if is_of(path, "toml") {
        TOML.to_vec()
    } else if is_of(path, "js") {
        Vec::new()
    } else {
        let commented = if matches!(host, "gemini" | "opencode") { COMMENTED } else { &[] };
        ["", "\n"].iter().chain(EXISTING).chain(commented).copied().collect()
    };
    [None].into_iter().chain(texts.into_iter().map(Some)).collect()
}

#[test]
fn files_are_what_they_were() {
    for project in [false, true] {
        for (host, user_path, project_path) in FILES {
            let path = if project { project_path } else { user_path };
            for existing in existing(host, path) {
                for asked in if project { &ASKED[1..2] } else { ASKED } {
                    let home = Home::new();
                    if let Some(existing) = existing {
                        file(&home, path, existing);
                    }
                    let before = files(home.path());
                    let init = |more: &[&str]| {
                        let level = if project { "--project" } else { "--user" };
                        exits(&home.run(&[&["init", host, level], more].concat()), 0);
                    };
                    for options in *asked {
                        init(options);
                        let made = fs::read_to_string(home.path().join(path)).unwrap();
                        assert!(made.contains("toolstub"), "{made}");
                    }
                    // The last once more is no change.
                    let made = files(home.path());
                    init(asked[asked.len() - 1]);
                    assert_eq!(files(home.path()), made, "{host} {path}");
                    init(&["--uninstall"]);
                    assert_eq!(files(home.path()), before, "{host} {path} {existing:?} {asked:?}");
                }
            }
        }
    }
}

#[test]
fn several_at_once_leave_whole_files() {
    for (host, path, _) in FILES.into_iter().filter(|file| !is_of(file.1, "js")) {
        let home = Home::new();
        let existing = if is_of(path, "toml") { "model = \"o4\"\n" } else { "{\"a\": 1.10}\n" };
        let path = file(&home, path, existing);
        let running: Vec<_> = (0..6)
            .map(|number| {
                let threshold = format!("{}000", 5 + number % 2);
                let mut command = home.command(&["init", host, "--threshold", &threshold]);
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
            })
            .collect();
        for mut child in running {
            // One that comes between is told so.
            let code = child.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 3)), "{code:?}");
        }
        exits(&home.run(&["init", host, "--uninstall"]), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), existing, "{host}");
    }
}
