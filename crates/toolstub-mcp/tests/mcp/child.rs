//! A server that is a program: how it is begun, and how it ends.
#![cfg(unix)]

use std::future::pending;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::task::JoinHandle;
use toolstub_mcp::{Exit, McpError, Proxy, ProxyOptions, UpstreamCommand};
use toolstub_session::Config;

use super::odd::silent_store;
use super::wire::call;
use super::{deaf_store, put, session_id, store};

/// Runs a proxy in front of a script.
fn run(script: &str) -> (DuplexStream, DuplexStream, JoinHandle<Result<Exit, McpError>>) {
    let (said, input) = tokio::io::duplex(1 << 20);
    let (output, heard) = tokio::io::duplex(1 << 20);
    let proxy = Proxy::new(store(), session_id("p"), Config::default(), ProxyOptions::default());
    let arguments = vec!["-c".into(), script.into()];
    let command = UpstreamCommand { program: "sh".into(), arguments };
    let running =
        tokio::spawn(async move { proxy.run_command(&command, input, output, pending()).await });
    (said, heard, running)
}

async fn all(mut heard: DuplexStream) -> String {
    let mut text = String::new();
    heard.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn program_that_dies_mid_call_leaves_its_code_and_an_error() {
    let (mut said, heard, running) = run("read line; exit 7");
    said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(7));
    let text = all(heard).await;
    assert!(
        text.contains(r#""id":7,"error":{"code":-32000,"#) && text.contains("code 7"),
        "{text}"
    );
}

#[tokio::test]
async fn program_that_a_signal_ends_has_the_code_of_a_shell() {
    let (_said, _heard, running) = run("kill -9 $$");
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(128 + 9));
}

#[tokio::test]
async fn program_ends_with_the_client() {
    let (mut said, heard, running) = run("cat; echo bye");
    said.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\nlast").await.unwrap();
    drop(said);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    // An end of line is added where there is none: servers read lines.
    assert_eq!(all(heard).await, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\nlast\nbye\n");
}

#[tokio::test]
async fn program_that_does_not_end_is_ended() {
    let begun = Instant::now();
    let (said, _heard, running) = run("sleep 100 & wait");
    drop(said);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    let taken = begun.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_secs(8)).contains(&taken), "{taken:?}");
}

#[tokio::test]
async fn program_that_does_not_heed_a_signal_is_killed() {
    let begun = Instant::now();
    let (said, _heard, running) = run("trap '' TERM; while :; do sleep 1; done");
    drop(said);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    let taken = begun.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_secs(12)).contains(&taken), "{taken:?}");
}

#[tokio::test]
async fn client_that_reads_slowly_gets_all() {
    // More than all that holds frames on the way, so that the program waits for the client.
    let script = "i=0; while read line; do :; done; \
        while [ $i -lt 200 ]; do i=$((i + 1)); printf '%09000d\\n' $i; done";
    for is_gone in [false, true] {
        let (said, input) = tokio::io::duplex(1 << 10);
        let (output, mut heard) = tokio::io::duplex(1 << 10);
        let proxy =
            Proxy::new(store(), session_id("p"), Config::default(), ProxyOptions::default());
        let arguments = vec!["-c".into(), script.into()];
        let command = UpstreamCommand { program: "sh".into(), arguments };
        let running =
            tokio::spawn(
                async move { proxy.run_command(&command, input, output, pending()).await },
            );
        drop(said);
        tokio::time::sleep(Duration::from_secs(6)).await;
        if is_gone {
            let mut some = vec![0; 20_000];
            heard.read_exact(&mut some).await.unwrap();
            drop(heard);
        } else {
            let text = all(heard).await;
            assert_eq!(text.lines().count(), 200);
            assert!(text.lines().all(|line| line.len() == 9000) && text.ends_with("200\n"));
        }
        assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    }
}

#[tokio::test]
async fn client_that_goes_is_noticed_while_the_program_does_not_read() {
    let begun = Instant::now();
    let (mut said, heard, running) = run("sleep 100 & wait");
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "x".repeat(10_000));
    for _ in 0..100 {
        said.write_all(frame.as_bytes()).await.unwrap();
    }
    drop((said, heard));
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    let taken = begun.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_secs(12)).contains(&taken), "{taken:?}");
}

#[tokio::test]
async fn program_that_reads_slowly_gets_all() {
    let script = "n=0; while read line; do n=$((n + ${#line})); [ $((n % 7)) = 0 ] && sleep 0.1; done; echo $n";
    let (mut said, heard, running) = run(script);
    for _ in 0..50 {
        said.write_all(format!("{}\n", "7".repeat(9999)).as_bytes()).await.unwrap();
    }
    drop(said);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    assert_eq!(all(heard).await, format!("{}\n", 50 * 9999));
}

#[tokio::test]
async fn answers_of_ours_outlive_the_program() {
    let (mut said, heard, running) = run("read line; exit 0");
    for id in 0..20 {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"openviking_tool_result_list"}}}}"#
        );
        said.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }
    said.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n").await.unwrap();
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(0));
    assert_eq!(all(heard).await.lines().count(), 20);
}

#[tokio::test]
async fn answers_of_ours_that_wait_outlive_the_program() {
    let store = store();
    let reference = put(&store, "p", "x".repeat(30_000)).await;
    let (mut said, input) = tokio::io::duplex(1 << 20);
    let (output, heard) = tokio::io::duplex(1 << 10);
    let proxy = Proxy::new(store, session_id("p"), Config::default(), ProxyOptions::default());
    let arguments = vec!["-c".into(), "read line; exit 4".into()];
    let command = UpstreamCommand { program: "sh".into(), arguments };
    let mut frames = String::new();
    for id in 0..200 {
        let name = if id % 10 == 0 { "theirs" } else { "openviking_tool_result_read" };
        let frame = call(name).replace("{}", &format!(r#"{{"ref":"{reference}"}}"#));
        frames.push_str(&frame.replace(r#""id":7"#, &format!(r#""id":{id}"#)));
        frames.push('\n');
    }
    said.write_all(frames.as_bytes()).await.unwrap();
    let running =
        tokio::spawn(async move { proxy.run_command(&command, input, output, pending()).await });
    // More wait than are answered at once, and the program has ended.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let text = all(heard).await;
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(4));
    let is_error = |line: &&str| line.contains(r#""error":{"code":-32000"#);
    assert_eq!(text.lines().count(), 200);
    assert_eq!(text.lines().filter(is_error).count(), 20);
    drop(said);
}

#[tokio::test]
async fn client_that_does_not_read_is_not_listened_to() {
    let store = store();
    let reference = put(&store, "p", "x".repeat(30_000)).await;
    let (mut said, input) = tokio::io::duplex(1 << 16);
    let (output, heard) = tokio::io::duplex(1 << 16);
    let proxy = Proxy::new(store, session_id("p"), Config::default(), ProxyOptions::default());
    let arguments = vec!["-c".into(), "cat >/dev/null".into()];
    let command = UpstreamCommand { program: "sh".into(), arguments };
    let running =
        tokio::spawn(async move { proxy.run_command(&command, input, output, pending()).await });
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        for id in 0..600 {
            let (open, close) = if id % 50 == 0 { ("[", "]") } else { ("", "") };
            let frame = format!(
                r#"{open}{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"openviking_tool_result_read","arguments":{{"ref":"{reference}","padding":"{}"}}}}}}{close}"#,
                "x".repeat(1000)
            );
            said.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let taken = count.load(Ordering::Relaxed);
    assert!((50..300).contains(&taken), "{taken}");
    let text = all(heard).await;
    assert_eq!(text.lines().count(), 600);
    assert!(text.lines().all(|line| line.len() > 15_000));
    assert_eq!(
        text.lines().filter(|line| line.starts_with("[{") && line.ends_with("}]")).count(),
        12
    );
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
}

#[tokio::test]
async fn program_is_ended_when_the_proxy_is_told_to_stop() {
    let (_said, input) = tokio::io::duplex(64);
    let (output, _heard) = tokio::io::duplex(64);
    let proxy = Proxy::new(store(), session_id("p"), Config::default(), ProxyOptions::default());
    let arguments = vec!["-c".into(), "sleep 100 & wait".into()];
    let command = UpstreamCommand { program: "sh".into(), arguments };
    let begun = Instant::now();
    let stop = tokio::time::sleep(Duration::from_millis(100));
    let exit = proxy.run_command(&command, input, output, stop).await.unwrap();
    assert_eq!(exit, Exit::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn result_passes_where_the_proxy_is_told_to_stop_before_it_is_stored() {
    let (mut said, input) = tokio::io::duplex(1 << 10);
    let (output, heard) = tokio::io::duplex(1 << 20);
    let (config, options) = (Config::default(), ProxyOptions::default());
    let proxy = Proxy::new(deaf_store(), session_id("p"), config, options);
    let script = "read line; printf '{\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%050000d\"}]}}\\n' 1; cat";
    let arguments = vec!["-c".into(), script.into()];
    let command = UpstreamCommand { program: "sh".into(), arguments };
    said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
    let stop = tokio::time::sleep(Duration::from_millis(500));
    let exit = proxy.run_command(&command, input, output, stop).await.unwrap();
    assert_eq!(exit, Exit::Stopped);
    let text = all(heard).await;
    assert!(text.len() > 50_000 && text.contains("00001"), "{}", text.len());
}

#[tokio::test]
async fn program_that_is_not_there_is_told() {
    let (_said, input) = tokio::io::duplex(64);
    let (output, _heard) = tokio::io::duplex(64);
    let proxy = Proxy::new(store(), session_id("p"), Config::default(), ProxyOptions::default());
    let command = UpstreamCommand { program: "no-such-server".into(), arguments: Vec::new() };
    let error = proxy.run_command(&command, input, output, pending()).await.unwrap_err();
    assert!(error.to_string().contains("no-such-server"), "{error}");
}

#[tokio::test]
async fn program_that_ends_leaves_nothing_behind() {
    for (start, least) in [("sleep 100", 2), ("(trap '' TERM; sleep 100; sleep 100)", 3)] {
        let begun = Instant::now();
        let (said, heard, running) = run(&format!("{start} >/dev/null & echo $!; exit 3"));
        assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(3));
        let taken = begun.elapsed();
        let limits = Duration::from_secs(least)..Duration::from_secs(least + 5);
        assert!(limits.contains(&taken), "{taken:?}");
        let id = all(heard).await;
        let runs = Command::new("sh").args(["-c", &format!("kill -0 {id}")]).output().unwrap();
        // One that nobody has buried yet is dead all the same.
        let state = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        let is_dead = !runs.status.success() || state.is_ok_and(|state| state.contains(") Z "));
        assert!(is_dead, "{start}");
        drop(said);
    }
}

#[tokio::test]
async fn stream_that_others_hold_open_is_not_waited_for() {
    let begun = Instant::now();
    let (_said, _heard, running) = run("sleep 30 & exit 3");
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(3));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn program_that_ends_while_its_result_is_stored_has_said_it() {
    let (mut said, input) = tokio::io::duplex(1 << 10);
    let (output, heard) = tokio::io::duplex(1 << 20);
    let (config, options) = (Config::default(), ProxyOptions::default());
    let proxy = Proxy::new(silent_store(), session_id("p"), config, options);
    // The store has longer for so much than the program's last words are waited for.
    let script = r#"read line; printf '{"id":7,"result":{"content":[{"type":"text","text":"'
        head -c 15000000 /dev/zero | tr '\0' a; echo '"}]}}'; exit 5"#;
    let command =
        UpstreamCommand { program: "sh".into(), arguments: vec!["-c".into(), script.into()] };
    said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
    let begun = tokio::time::Instant::now();
    let running =
        tokio::spawn(async move { proxy.run_command(&command, input, output, pending()).await });
    let text = all(heard).await;
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(5));
    assert!(text.len() > 15_000_000 && text.ends_with("aa\"}]}}\n"), "{}", text.len());
    assert_eq!(text.lines().count(), 1);
    let taken = begun.elapsed().as_secs();
    assert!((25..32).contains(&taken), "{taken}");
}

#[tokio::test]
async fn program_that_is_about_to_answer_is_waited_for() {
    let script = r#"read line; sleep 4; echo '{"id":7,"result":{}}'; cat"#;
    let (mut said, heard, running) = run(script);
    said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
    drop(said);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    assert_eq!(all(heard).await, "{\"id\":7,\"result\":{}}\n");
}

/// What the client hears of a call without an answer when it has closed its side.
async fn told_when_the_client_goes(script: &str) -> String {
    let (mut said, heard, running) = run(script);
    said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
    drop(said);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
    let text = all(heard).await;
    assert!(text.contains(r#""id":7,"error":{"code":-32000,"#), "{text}");
    assert_eq!(text.lines().count(), 1);
    text
}

#[tokio::test]
async fn program_that_ends_with_the_client_without_an_answer_leaves_an_error() {
    let text = told_when_the_client_goes("cat >/dev/null; exit 6").await;
    assert!(text.contains("code 6"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn program_that_never_answers_leaves_an_error_when_the_client_goes() {
    let begun = tokio::time::Instant::now();
    let text = told_when_the_client_goes("sleep 1000 & wait").await;
    assert!(text.contains("the client closed its side"), "{text}");
    let taken = begun.elapsed().as_secs();
    assert!((60..80).contains(&taken), "{taken}");
}

#[tokio::test]
async fn what_is_open_gets_an_error_when_the_proxy_is_told_to_stop() {
    for is_gone in [false, true] {
        let (mut said, input) = tokio::io::duplex(1 << 10);
        let (output, heard) = tokio::io::duplex(1 << 10);
        let (config, options) = (Config::default(), ProxyOptions::default());
        let proxy = Proxy::new(store(), session_id("p"), config, options);
        let arguments = vec!["-c".into(), "sleep 100 & wait".into()];
        let command = UpstreamCommand { program: "sh".into(), arguments };
        said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
        let said = (!is_gone).then_some(said);
        let stop = tokio::time::sleep(Duration::from_millis(500));
        let exit = proxy.run_command(&command, input, output, stop).await.unwrap();
        assert_eq!(exit, if is_gone { Exit::Client } else { Exit::Stopped });
        let text = all(heard).await;
        assert!(text.contains(r#""id":7,"error":{"code":-32000,"#), "{text}");
        assert!(text.contains("told to stop") && text.lines().count() == 1, "{text}");
        drop(said);
    }
}

#[tokio::test(start_paused = true)]
async fn all_results_of_a_program_that_has_ended_arrive() {
    const COUNT: usize = 300;
    let (mut said, input) = tokio::io::duplex(1 << 20);
    let (output, heard) = tokio::io::duplex(16 << 20);
    let (config, options) = (Config::default(), ProxyOptions::default());
    let proxy = Proxy::new(silent_store(), session_id("p"), config, options);
    // More than may be on its way into the store at once.
    let script = r#"i=0; while [ $i -lt 300 ]; do read line; i=$((i + 1)); done
        while [ $i -gt 0 ]; do
            printf '{"id":7,"result":{"content":[{"type":"text","text":"%030000d"}]}}\n' $i
            i=$((i - 1))
        done"#;
    let arguments = vec!["-c".into(), script.into()];
    let command = UpstreamCommand { program: "sh".into(), arguments };
    for _ in 0..COUNT {
        said.write_all(format!("{}\n", call("x")).as_bytes()).await.unwrap();
    }
    let exit = proxy.run_command(&command, input, output, pending()).await.unwrap();
    assert_eq!(exit, Exit::Upstream(0));
    let text = all(heard).await;
    assert_eq!(text.lines().count(), COUNT);
    assert!(text.lines().all(|line| line.len() > 30_000));
}

#[tokio::test]
async fn program_that_does_not_read_any_more_leaves_errors() {
    let (mut said, heard, running) = run("exec <&-; echo '{}'; sleep 100 & wait");
    let mut heard = BufReader::new(heard);
    let mut line = String::new();
    heard.read_line(&mut line).await.unwrap();
    for id in 0..3 {
        let call = call("x").replace(r#""id":7"#, &format!(r#""id":{id}"#));
        said.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    }
    for id in 0..3 {
        line.clear();
        heard.read_line(&mut line).await.unwrap();
        let error = format!(r#""id":{id},"error":{{"code":-32000,"#);
        assert!(line.contains(&error) && line.contains("does not read"), "{line}");
    }
    drop(said);
    line.clear();
    assert_eq!(heard.read_line(&mut line).await.unwrap(), 0);
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
}

#[tokio::test]
async fn answer_that_cannot_be_read_is_an_answer() {
    let script = r#"read a; read b; read c; printf '{"id":7,"result":"\377"}\n{"id":8,"\\ud83d":1,"result":{}}\n'; exit 3"#;
    let (mut said, mut heard, running) = run(script);
    for id in 7..10 {
        let call = call("x").replace(r#""id":7"#, &format!(r#""id":{id}"#));
        said.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    }
    assert_eq!(running.await.unwrap().unwrap(), Exit::Upstream(3));
    let mut text = Vec::new();
    heard.read_to_end(&mut text).await.unwrap();
    let expected = b"{\"id\":7,\"result\":\"\xff\"}\n{\"id\":8,\"\\ud83d\":1,\"result\":{}}\n";
    let (answers, errors) = text.split_at(expected.len());
    assert_eq!(answers, expected);
    let errors = std::str::from_utf8(errors).unwrap();
    assert!(errors.contains(r#""id":9,"error""#) && errors.lines().count() == 1, "{errors}");
}
