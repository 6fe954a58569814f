//! The hook as hosts call it: every payload of `fixtures/hooks`, and what no host should send.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use toolstub_session::splice::Object;

use super::schema::meets;
use super::{Home, exits};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/hooks");
const HOSTS: [&str; 5] = ["claude", "codex", "cursor", "gemini", "opencode"];

/// A text over the threshold, with what JSON escapes.
fn long() -> String {
    (0..1500).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{n:05} \"é\" \\ a steady line of output\t{}", "✓".repeat(n % 4));
        text
    })
}

/// A text as it stands in a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// One file of the fixtures.
struct Case {
    host: &'static str,
    name: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    payload: String,
    answer: Option<String>,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for host in HOSTS {
        let mut paths: Vec<PathBuf> = fs::read_dir(Path::new(FIXTURES).join(host))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path).unwrap();
            let case = Object::parse(&text).unwrap();
            let list = |name| case.get(name).map(|raw| serde_json::from_str::<Value>(raw).unwrap());
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            let args = list("args").map(|args| args.as_array().unwrap().iter().map(word).collect());
            let env = list("env").map(|env| {
                let pairs = env.as_object().unwrap().iter();
                pairs.map(|(name, value)| (name.clone(), word(value))).collect()
            });
            cases.push(Case {
                host,
                name: format!("{host}/{}", path.file_stem().unwrap().to_str().unwrap()),
                args: args.unwrap_or_default(),
                env: env.unwrap_or_default(),
                payload: case.get("payload").unwrap().to_owned(),
                answer: case.given("answer").map(str::to_owned),
            });
        }
    }
    assert!(cases.len() > 65, "{}", cases.len());
    cases
}

impl Case {
    /// The payload, with a text where its place is.
    fn payload(&self, home: &Home, text: &str) -> String {
        let file = home.path().join("whole.txt");
        fs::write(&file, text).unwrap();
        let once = escaped(text);
        self.payload
            .replace("@LONG@", &once)
            .replace("@LONG2@", &escaped(&once))
            .replace("\"@SIZE@\"", &text.len().to_string())
            .replace("@FILE@", &escaped(file.to_str().unwrap()))
    }

    fn run(&self, home: &Home, host: &[&str], options: &[&str], payload: &[u8]) -> Output {
        let own: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let args = [options, &["hook"], host, &own].concat();
        let mut command = home.command(&args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        feed(command, payload)
    }
}

fn feed(mut command: Command, payload: &[u8]) -> Output {
    use std::io::Write as _;

    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload).unwrap();
    child.wait_with_output().unwrap()
}

/// Nothing is said to the host.
#[track_caller]
fn is_silent(output: &Output, what: &str) {
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{what}");
    assert_eq!(output.status.code(), Some(0), "{what}: {output:?}");
}

/// The stub that stands in an answer, where the answer that is wanted has its place.
#[track_caller]
fn stub_in(case: &Case, wanted: &str, answer: &str) -> String {
    let (before, after) = wanted.split_once("@STUB@").unwrap();
    let stub = answer.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    let stub = stub.unwrap_or_else(|| panic!("{}: {answer}", case.name));
    serde_json::from_str(&format!("\"{stub}\"")).unwrap_or_else(|_| panic!("{}: {stub}", case.name))
}

#[test]
fn each_payload_has_its_answer() {
    let long = long();
    for case in cases() {
        let home = Home::new();
        let payload = case.payload(&home, &long);
        let output = case.run(&home, &[case.host], &[], payload.as_bytes());
        let Some(wanted) = &case.answer else {
            is_silent(&output, &case.name);
            assert!(!home.path().join(".local").exists(), "{} has a store", case.name);
            continue;
        };
        exits(&output, 0);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", case.name);
        let answer = String::from_utf8(output.stdout).unwrap();

        let reference = if wanted.contains("@REF@") {
            let (before, after) = wanted.split_once("@REF@").unwrap();
            answer.strip_prefix(before).and_then(|it| it.strip_suffix(after)).unwrap().to_owned()
        } else {
            let stub = stub_in(&case, wanted, &answer);
            assert!(stub.starts_with("[tool result externalized: "), "{}: {stub}", case.name);
            stub.lines().find_map(|line| line.strip_prefix("ref: ")).unwrap().to_owned()
        };
        let fields = Object::parse(&payload).unwrap();
        let id = ["session_id", "conversation_id"].into_iter().find_map(|name| fields.text(name));
        let session = format!("toolstub://session/{}/tool-results/tr_", id.unwrap());
        assert!(reference.starts_with(&session), "{}: {reference}", case.name);

        let whole = home.run(&["read", &reference, "--limit", "-1"]);
        exits(&whole, 0);
        let whole = String::from_utf8(whole.stdout).unwrap();
        assert!(whole.contains(&long) || whole.contains(&escaped(&long)), "{}", case.name);
        assert!(!whole.contains("<untrusted_context>"), "{}", case.name);

        let schemas = fs::read_to_string(format!("{FIXTURES}/schemas/{}.json", case.host)).unwrap();
        let schemas: Value = serde_json::from_str(&schemas).unwrap();
        let tool = fields.text("tool_name").unwrap();
        let tool = match tool.as_str() {
            "Task" => "Agent",
            tool if tool.starts_with("mcp__") => "mcp",
            tool => tool,
        };
        let schema = schemas.get(tool).unwrap_or(&schemas["*"]);
        meets(&serde_json::from_str(&answer).unwrap(), schema);

        // The same again, from the same store and with the host known by what it sends.
        let again = case.run(&home, &[], &[], payload.as_bytes());
        assert_eq!(String::from_utf8_lossy(&again.stdout), answer, "{}", case.name);
    }
}

#[test]
fn what_is_not_over_the_threshold_stays() {
    for case in cases() {
        let home = Home::new();
        let payload = case.payload(&home, "é\n");
        is_silent(&case.run(&home, &[case.host], &[], payload.as_bytes()), &case.name);
        assert!(!home.path().join(".local").exists(), "{} has a store", case.name);
    }
    let home = Home::new();
    let payload = |text: &str| {
        format!(r#"{{"session_id":"s","turn_id":"t","tool_name":"Bash","tool_response":"{text}"}}"#)
    };
    let at = payload(&"é".repeat(3000));
    let run = |payload: &str| {
        let command = home.command(&["hook", "codex", "--threshold", "3000"]);
        feed(command, payload.as_bytes())
    };
    is_silent(&run(&at), "at the threshold");
    assert!(!run(&payload(&"é".repeat(3001))).stdout.is_empty());
}

#[test]
fn codex_has_a_threshold_below_its_own_cut() {
    let home = Home::new();
    let payload = |chars: usize| {
        let text = "a".repeat(chars);
        format!(r#"{{"session_id":"s","turn_id":"t","tool_name":"Bash","tool_response":"{text}"}}"#)
    };
    let run = |chars: usize, args: &[&str]| {
        let output = feed(home.command(&[&["hook"], args].concat()), payload(chars).as_bytes());
        exits(&output, 0);
        !output.stdout.is_empty()
    };
    for args in [&["codex"][..], &[]] {
        assert!(run(8001, args) && !run(8000, args));
    }
    assert!(!run(8001, &["codex", "--threshold", "9000"]));
    let config = home.path().join(".config/toolstub/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    for (table, leaves) in [("[session]\n", true), ("[session]\nthreshold_chars = 9000\n", false)] {
        fs::write(&config, table).unwrap();
        assert_eq!(run(8001, &["codex"]), leaves, "{table}");
    }
}

#[test]
fn a_store_that_is_broken_leaves_results_as_they_are() {
    for case in cases().into_iter().filter(|case| case.answer.is_some()) {
        let home = Home::new();
        let payload = case.payload(&home, &long());
        fs::write(home.path().join("file"), "").unwrap();
        for store in ["file", "file/below", "s3://bucket/without-a-region", "no-such-scheme://x"] {
            let output = case.run(&home, &[case.host], &["--store", store], payload.as_bytes());
            is_silent(&output, &format!("{} in {store}", case.name));
            assert!(!output.stderr.is_empty(), "{} in {store}", case.name);
        }
    }
}

#[test]
fn what_another_host_sends_is_not_answered() {
    let long = long();
    let mut seen = 0;
    for case in cases().into_iter().filter(|case| case.name.ends_with("/bash")) {
        let home = Home::new();
        let payload = case.payload(&home, &long);
        for host in HOSTS.into_iter().filter(|host| *host != case.host) {
            is_silent(&case.run(&home, &[host], &[], payload.as_bytes()), host);
            seen += 1;
        }
    }
    assert_eq!(seen, 12);
}

#[test]
fn payloads_that_no_host_sends_are_not_answered() {
    let home = Home::new();
    let long = escaped(&long());
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let bash = |response: &str| {
        format!(
            r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{response}}}"#
        )
    };
    let mcp = |response: &str| bash(response).replace("Bash", "mcp__a__b");
    let stdout = |more: &str| format!(r#"{{"stdout":"{long}"{more}}}"#);
    for payload in [
        String::new(),
        "null".to_owned(),
        "[]".to_owned(),
        "{".to_owned(),
        "{}".to_owned(),
        "hello".to_owned(),
        deep.clone(),
        bash(&deep),
        mcp(&deep),
        mcp(&format!(r#"[{deep},{{"type":"text","text":{deep}}}]"#)),
        bash("null"),
        bash(r#"{"stdout":7}"#),
        bash(r#"{"stdout":null}"#),
        bash(&stdout("")).replace(r#""tool_name":"Bash","#, ""),
        bash(&stdout("")).replace(r#""Bash""#, "[1]"),
        bash(&stdout("")).replace(r#""s""#, &format!("\"{}\"", "s".repeat(300))),
        bash(&stdout("")).replace(r#""s""#, "\"a\\u0007b\""),
        bash(&stdout(r#","persistedOutputPath":"/dev/zero""#)),
        bash(&stdout(r#","persistedOutputPath":"relative.txt""#)),
        bash(&stdout(r#","persistedOutputPath":"/proc""#)),
        bash(&format!(r#"{{"stdout":"{long}\u12"}}"#)),
        bash(&format!(r#"{{"stdout":"{long}\ud800\uD8"}}"#)),
        bash(&stdout("")) + "x",
        format!("{{\"tool_name\":\"Bash\"{}}}", ",\"a\":1".repeat(100_000)),
    ] {
        for host in HOSTS.iter().map(|host| vec![*host]).chain([vec![]]) {
            let command = home.command(&[&["hook"], &host[..]].concat());
            let start: String = payload.chars().take(120).collect();
            is_silent(&feed(command, payload.as_bytes()), &start);
        }
    }
    is_silent(&feed(home.command(&["hook", "claude"]), b"{\"tool_name\":\"\xff\"}"), "not UTF-8");
    is_silent(&home.run(&["hook", "claude"]), "nothing");
}

#[test]
fn half_of_a_surrogate_pair_is_kept_as_a_replacement_character() {
    let home = Home::new();
    let long = escaped(&long());
    let payload = format!(
        r#"{{"session_id":"s","turn_id":"t","tool_name":"Bash","tool_response":"{long}\ud83e\udd80\ud83e"}}"#
    );
    let output = feed(home.command(&["hook", "codex"]), payload.as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = answer["reason"].as_str().unwrap();
    let reference = reason.lines().find_map(|line| line.strip_prefix("ref: ")).unwrap();
    let whole = home.run(&["read", reference, "--limit", "-1"]);
    assert!(String::from_utf8(whole.stdout).unwrap().ends_with("\n🦀\u{fffd}"));
}

#[test]
fn no_answer_is_longer_than_what_it_replaces() {
    // A stub, and below it that the host has cut the original.
    let cut = "…9 tokens truncated…";
    let lengths = |text: &str| {
        let home = Home::new();
        let payload = format!(
            r#"{{"session_id":"s","turn_id":"t","tool_name":"Bash","tool_response":"{}"}}"#,
            escaped(text)
        );
        let command = home.command(&["hook", "codex", "--threshold", "10"]);
        let output = feed(command, payload.as_bytes());
        exits(&output, 0);
        let answer = serde_json::from_slice::<Value>(&output.stdout).ok()?;
        Some(answer["reason"].as_str().unwrap().chars().count())
    };
    let mut seen = [0, 0];
    for words in (0..400).step_by(20) {
        let text = format!("{}{cut}", "word of it\n".repeat(words));
        let length = lengths(&text);
        assert!(length.is_none_or(|length| length < text.chars().count()), "{length:?} of {text}");
        seen[usize::from(length.is_some())] += 1;
    }
    assert!(seen[0] > 1 && seen[1] > 1, "{seen:?}");
}

#[test]
fn a_field_that_stands_twice_counts_the_last_time() {
    let home = Home::new();
    let long = escaped(&long());
    let payload = format!(
        r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{{"stdout":"a","stdout":"{long}"}}}}"#
    );
    let output = feed(home.command(&["hook", "claude"]), payload.as_bytes());
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains(r#"{"stdout":"a","stdout":"[tool result externalized"#), "{answer}");
}

#[test]
fn whatever_is_wrong_with_the_call_ends_with_success() {
    let home = Home::new();
    let case = cases().into_iter().find(|case| case.name == "claude/bash").unwrap();
    let payload = case.payload(&home, &long());
    for args in [
        &["hook", "claude", "--nonsense"][..],
        &["hook", "nobody"],
        &["--json", "hook", "claude", "--threshold", "many"],
        &["--session", "", "hook", "claude"],
        &["--json", "--store", "no-such-scheme://x", "hook", "claude"],
    ] {
        // Nobody reads what is sent where the call is not understood.
        let mut command = home.command(args);
        let file = home.path().join("payload.json");
        fs::write(&file, &payload).unwrap();
        command.stdin(fs::File::open(&file).unwrap());
        let output = command.output().unwrap();
        is_silent(&output, &args.join(" "));
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
    fs::create_dir_all(home.path().join(".config/toolstub")).unwrap();
    fs::write(home.path().join(".config/toolstub/config.toml"), "nonsense = [").unwrap();
    let output = feed(home.command(&["hook", "claude"]), payload.as_bytes());
    is_silent(&output, "a broken configuration");
    assert!(String::from_utf8_lossy(&output.stderr).contains("config.toml"));
}

#[test]
fn the_configuration_and_the_session_are_heeded() {
    let home = Home::new();
    fs::create_dir_all(home.path().join(".config/toolstub")).unwrap();
    let config = "store = \"kept\"\n[session]\nthreshold_chars = 100\nfailure_mode = \"reject\"\n";
    let config = config.replace("kept", home.path().join("kept").to_str().unwrap());
    fs::write(home.path().join(".config/toolstub/config.toml"), config).unwrap();
    let text = "a line of text\\n".repeat(200);
    let payload = format!(
        r#"{{"session_id":"s","turn_id":"t","tool_name":"Bash","tool_response":"{text}","tool_use_id":"c"}}"#
    );
    let output = feed(home.command(&["hook", "--session", "mine"]), payload.as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("\nref: toolstub://session/mine/tool-results/tr_c_"), "{reason}");
    assert!(home.path().join("kept/sessions/mine").exists());
    // Whatever sessions are to do where storing fails, a hook leaves results as they are.
    let output = feed(home.command(&["hook", "--store", "/dev/null/x"]), payload.as_bytes());
    is_silent(&output, "a broken store");
}

/// Whether the hook of Claude Code replaces an output that is in a file, of which the host tells this.
#[track_caller]
fn takes_from_file(home: &Home, path: &Path, size: &str, expected: bool) {
    let path = escaped(path.to_str().unwrap());
    let long = escaped(&long());
    let payload = format!(
        r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{{"persistedOutputPath":"{path}"{size},"stdout":"{long}"}}}}"#
    );
    let output = feed(home.command(&["hook", "claude"]), payload.as_bytes());
    exits(&output, 0);
    assert_eq!(!output.stdout.is_empty(), expected, "{path}{size}");
    if expected {
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(!answer.contains("persistedOutput"), "{answer}");
    } else {
        assert!(!output.stderr.is_empty() && !home.path().join(".local").exists(), "{path}{size}");
    }
}

#[test]
fn a_file_that_is_not_the_whole_is_not_taken_for_it() {
    let text = long();
    let (bytes, units) = (text.len(), text.encode_utf16().count());
    let sizes = [
        (format!(r#","persistedOutputSize":{bytes}"#), true),
        (format!(r#","persistedOutputSize":{units}"#), true),
        (format!(r#","persistedOutputSize":{}"#, bytes + 1), false),
        (format!(r#","persistedOutputSize":{}"#, bytes - 1), false),
        (r#","persistedOutputSize":99999999"#.to_owned(), false),
        (r#","persistedOutputSize":null"#.to_owned(), false),
        (String::new(), false),
    ];
    for (size, expected) in sizes {
        let home = Home::new();
        let file = home.path().join("whole.txt");
        fs::write(&file, &text).unwrap();
        takes_from_file(&home, &file, &size, expected);
    }
}

#[test]
#[cfg(unix)]
fn only_a_plain_file_of_the_host_is_read() {
    let text = long();
    let home = Home::new();
    let file = home.path().join("whole.txt");
    fs::write(&file, &text).unwrap();
    let link = home.path().join("link.txt");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let pipe = home.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let size = format!(r#","persistedOutputSize":{}"#, text.len());
    for path in [link.as_path(), &pipe, Path::new("/dev/zero"), Path::new("/dev/null"), home.path()]
    {
        takes_from_file(&home, path, &size, false);
    }
    takes_from_file(&home, &file, &size, true);
}

#[test]
fn what_a_server_calls_like_a_field_of_the_host_stays() {
    let home = Home::new();
    let long = escaped(&long());
    let payload = format!(
        r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":{{"persistedOutputPath":"/p","persistedOutputSize":7,"content":[{{"type":"text","text":"{long}"}}]}}}}"#
    );
    let output = feed(home.command(&["hook", "claude"]), payload.as_bytes());
    let answer = String::from_utf8(output.stdout).unwrap();
    let kept = r#"{"persistedOutputPath":"/p","persistedOutputSize":7,"content":[{"type":"text","text":"[tool"#;
    assert!(answer.contains(kept), "{answer}");
}
