//! The proxy as a host starts it.

use std::fs;
use std::process::Output;
use std::process::Stdio;

use super::{Home, exits};

const CALLS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"openviking_tool_result_list"}}
"#;

/// Runs a proxy in front of a server that answers its first call with a long text.
fn run(home: &Home, options: &[&str]) -> Output {
    let server = r#"touch started; read line; printf '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%050000d"}]}}\n' 1; cat >/dev/null"#;
    let args = [&["proxy"], options, &["--", "sh", "-c", server]].concat();
    let mut command = home.command(&args);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    super::with_input(command, CALLS.as_bytes())
}

#[test]
fn a_store_that_cannot_be_opened_keeps_no_server_from_starting() {
    let home = Home::new();
    fs::write(home.path().join("file"), "").unwrap();
    let output = run(&home, &["--store", "file"]);
    let (heard, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(heard.lines().any(|line| line.starts_with(
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"0000"#
    ) && line.len() > 50_000));
    let listed = heard.lines().find(|line| line.contains(r#""id":2"#)).unwrap();
    assert!(
        listed.contains(r#""isError":true"#) && listed.contains("could not be opened"),
        "{listed}"
    );
    assert_eq!(errors.matches("results stay as they are").count(), 1, "{errors}");
    // Where it can be opened, the same leaves a stub.
    let output = run(&home, &["--store", "folder"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("[tool result externalized: "));
}

#[test]
fn a_url_is_one_in_capitals_too_and_its_secrets_are_not_told() {
    let home = Home::new();
    for (url, code) in
        [("HTTP://u:secret@127.0.0.1:9/mcp?key=secret#secret", 0), ("http://u:secret@:9", 2)]
    {
        let output = home.run_with(&["proxy", url], CALLS.as_bytes());
        assert_eq!(output.status.code(), Some(code));
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains("cannot"), "{told}");
        assert!(!told.contains("secret") && !told.contains("PATH"), "{told}");
    }
    let output = home.run(&["proxy", "http://u:secret@127.0.0.1:9/mcp", "--header", "a: b"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("options before it") && !errors.contains("secret"), "{errors}");
}

#[test]
fn what_is_no_command_is_told() {
    let home = Home::new();
    for (args, words) in [
        (&["--treshold", "5", "--", "cat"][..], "a similar argument exists: '--threshold'"),
        (&["-x"], "unexpected argument '-x'"),
        (&["ftp://u:secret@x/y"], "cannot be reached over `ftp:`"),
        (&["http://127.0.0.1:1/mcp", "extra"], "nothing can stand behind a URL"),
    ] {
        let output = home.run(&[&["proxy"], args].concat());
        exits(&output, 2);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(words) && !errors.contains("secret"), "{errors}");
    }
    // Behind the command everything is the command's, its options too.
    let mut command = home.command(&["proxy", "sh", "-c", "exit 7", "--threshold", "--json"]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // A client that has gone would be the one that ended it.
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let _client = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_store_that_cannot_be_opened_keeps_the_tools() {
    let home = Home::new();
    fs::write(home.path().join("file"), "").unwrap();
    let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;
    let said = format!("{begin}{CALLS}");
    let output = home.run_with(&["--store", "file", "mcp"], said.as_bytes());
    exits(&output, 0);
    let heard = String::from_utf8_lossy(&output.stdout);
    let listed = heard.lines().find(|line| line.contains(r#""id":2"#)).unwrap();
    assert!(listed.contains(r#""isError":true"#) && listed.contains("tried again"), "{listed}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("nothing that is stored can be read"), "{errors}");
    exits(&home.run(&["--store", "ftp://x", "mcp"]), 2);
}

#[test]
fn a_location_that_is_none_is_told_and_starts_nothing() {
    let home = Home::new();
    for options in [&["--store", "ftp://x/y"][..], &["--store", "s3://"], &["--header", "a: b"]] {
        exits(&run(&home, options), 2);
        assert!(!home.path().join("started").exists());
    }
}
