//! Signals: what a program leaves when it is told to end, and which it heeds.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use super::{Home, exits};

/// Starts `put -` with some input and no end of it, and sends it a signal once it waits for more.
fn signalled(home: &Home, signal: &str, input: &[u8]) -> Output {
    let mut put = home.command(&["put", "-"]);
    put.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = put.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    output
}

/// Whether whoever started this test has it ignore a signal: so do the programs that it starts.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // An interrupt is heeded all the same.
    signal != 2 && mask.unwrap_or(0) & (1 << (signal - 1)) != 0
}

/// Starts a program by a shell, and returns it and its id once it has had time to begin.
fn begun(home: &Home, script: &str) -> (Child, String) {
    let script = script.replace("toolstub", env!("CARGO_BIN_EXE_toolstub"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(home.path()).env("HOME", home.path());
    let child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    thread::sleep(Duration::from_millis(500));
    (child, id)
}

fn kill(signal: &str, id: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, id]).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_proxy_whose_terminal_goes_takes_its_server_with_it() {
    if ignores(1) {
        return;
    }
    let home = Home::new();
    let (mut proxy, id) =
        begun(&home, "exec toolstub proxy -- sh -c 'echo $$ >server; exec sleep 100'");
    let server = fs::read_to_string(home.path().join("server")).unwrap();
    let _stdin = proxy.stdin.take();
    assert!(kill("-0", server.trim()) && kill("-HUP", &id));
    assert_eq!(proxy.wait().unwrap().code(), Some(129));
    assert!(!kill("-0", server.trim()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_to_outlive_its_terminal_does() {
    let home = Home::new();
    let (mut put, id) = begun(&home, "trap '' HUP; exec toolstub put - 2>/dev/null");
    let _stdin = put.stdin.take();
    assert!(kill("-HUP", &id));
    thread::sleep(Duration::from_millis(300));
    assert!(put.try_wait().unwrap().is_none());
    assert!(kill("-TERM", &id));
    assert_eq!(put.wait().unwrap().code(), Some(143));
}

#[test]
fn an_interrupt_leaves_nothing_and_ends_with_its_code() {
    let home = Home::new();
    let large = vec![b'x'; 8 << 20];
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129), ("-QUIT", 131)] {
        if ignores(code - 128) {
            continue;
        }
        for input in [&b""[..], b"some", &large] {
            let output = signalled(&home, signal, input);
            exits(&output, code);
            assert_eq!(output.stderr, b"toolstub: interrupted\n");
            assert!(output.stdout.is_empty());
        }
    }
    let store = home.path().join(".local/share/toolstub");
    let left: Vec<_> = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
