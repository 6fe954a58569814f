//! A server over HTTP: what is sent to it, and what comes back.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolstub_mcp::{Exit, McpError, Proxy, ProxyOptions, UpstreamUrl};
use toolstub_session::Config;
use toolstub_store::ResultStore;

use super::wire::call;
use super::{deaf_store, session_id, store};

/// A request that came in.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    fn says(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let method = body["method"].as_str().unwrap_or_default();
        format!("{} {method}", self.method).trim_end().to_owned()
    }
}

/// What is answered: whole responses, as they go over the wire.
type Script = Arc<dyn Fn(&Request) -> String + Send + Sync>;

/// What a server says to what it never answers.
const NEVER: &str = "";

/// A header of what is answered after half a minute.
const LATE: &str = "x-late: 30\r\n";

/// A server that answers by a script and remembers what it was asked.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    async fn new(script: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, asked): (Script, _) = (Arc::new(script), Arc::clone(&seen));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&script), Arc::clone(&asked)));
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    fn requests(&self) -> Vec<String> {
        self.seen().iter().map(Request::says).collect()
    }
}

async fn answer(stream: TcpStream, script: Script, seen: Arc<Mutex<Vec<Request>>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let method = line.split(' ').next().unwrap().to_owned();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
        stream.read_exact(&mut body).await.unwrap();
        let request = Request { method, headers, body: String::from_utf8(body).unwrap() };
        let response = script(&request);
        seen.lock().unwrap().push(request);
        if response == NEVER {
            std::future::pending::<()>().await;
        }
        if response.contains(LATE) {
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        stream.write_all(response.as_bytes()).await.unwrap();
        if response.contains("connection: close") {
            return;
        }
    }
}

fn respond(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn json_body(headers: &str, body: &str) -> String {
    respond("200 OK", &format!("{headers}content-type: application/json; charset=utf-8\r\n"), body)
}

/// A stream of events that ends.
fn events(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{text}")
}

fn accepted() -> String {
    respond("202 Accepted", "", "")
}

fn result(request: &Request, result: &str) -> String {
    let id = serde_json::from_str::<Value>(&request.body).unwrap()["id"].clone();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A client of a proxy.
struct Client {
    said: DuplexStream,
    heard: BufReader<DuplexStream>,
    running: JoinHandle<Result<Exit, McpError>>,
}

impl Client {
    fn new(server: &Server) -> Self {
        Self::with_store(server, store())
    }

    fn with_store(server: &Server, store: ResultStore) -> Self {
        let (said, input) = tokio::io::duplex(1 << 20);
        let (output, heard) = tokio::io::duplex(1 << 20);
        let proxy = Proxy::new(store, session_id("p"), Config::default(), ProxyOptions::default());
        let url = UpstreamUrl::new(&server.url, [("authorization", "Bearer t")]).unwrap();
        let running = tokio::spawn(proxy.run_url(url, input, output, std::future::pending()));
        Self { said, heard: BufReader::new(heard), running }
    }

    async fn say(&mut self, frame: &str) {
        self.said.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let mut line = String::new();
        self.heard.read_line(&mut line).await.unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    async fn ask(&mut self, frame: &str) -> String {
        self.say(frame).await;
        self.hear().await
    }

    async fn leave(self) -> Exit {
        drop(self.said);
        self.running.await.unwrap().unwrap()
    }
}

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn long_result() -> String {
    json!({"content": [{"type": "text", "text": "a long line\n".repeat(3000)}]}).to_string()
}

#[tokio::test]
async fn server_with_a_handshake_keeps_its_session() {
    let server = Server::new(|request| match request.says().as_str() {
        "POST initialize" => json_body(
            "mcp-session-id: s-1\r\n",
            &result(request, r#"{"protocolVersion":"2025-11-25",
                "capabilities":{"prompts":{}}}"#),
        ),
        "POST tools/call" => events(&format!(
            ": hello\n\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\n\nid: 1\ndata: {}\n\n",
            result(request, &long_result())
        )),
        "GET" => events("data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\n\nretry: 60000\n\n"),
        _ => accepted(),
    })
    .await;
    let mut client = Client::new(&server);
    let initialized = client.ask(INITIALIZE).await;
    assert!(initialized.contains(r#""tools":{}"#) && !initialized.contains('\n'), "{initialized}");
    // What the server asks comes over a stream of its own.
    assert_eq!(client.ask(INITIALIZED).await, r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#);
    client.say(r#"{"jsonrpc":"2.0","id":9,"result":{"roots":[]}}"#).await;
    let progress = client.ask(&call("read_file")).await;
    assert!(progress.contains("notifications/progress"));
    let called = client.hear().await;
    assert!(called.contains("[tool result externalized: ") && called.len() < 3000);
    let listed = client.ask(&call("openviking_tool_result_list")).await;
    assert!(listed.contains("1 tool result"), "{listed}");
    assert_eq!(client.leave().await, Exit::Client);

    let seen = server.seen();
    let expected = [
        "POST initialize",
        "POST notifications/initialized",
        "GET",
        "POST",
        "POST tools/call",
        "DELETE",
    ];
    let mut requests = server.requests();
    requests.sort_unstable();
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(requests, sorted);
    for request in &seen {
        let is_first = request.says() == "POST initialize";
        assert_eq!(request.header("mcp-session-id"), (!is_first).then_some("s-1"));
        assert_eq!(request.header("authorization"), Some("Bearer t"));
        if request.method == "POST" {
            let version = (!is_first).then_some("2025-11-25");
            assert_eq!(request.header("mcp-protocol-version"), version, "{request:?}");
            assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        }
    }
}

#[tokio::test]
async fn session_that_has_ended_is_begun_again() {
    let session = Arc::new(AtomicUsize::new(1));
    let now = Arc::clone(&session);
    let server = Server::new(move |request| {
        let session = format!("S{}", now.load(Ordering::Relaxed));
        if request.method != "POST" {
            return respond("405 Method Not Allowed", "", "");
        }
        if request.header("mcp-session-id").is_some_and(|given| given != session) {
            let unknown = r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"none"},"id":null}"#;
            return respond("404 Not Found", "content-type: application/json\r\n", unknown);
        }
        let body: Value = serde_json::from_str(&request.body).unwrap();
        match body["method"].as_str().unwrap() {
            "initialize" => {
                let version = if session == "S1" { "2025-11-25" } else { "2025-06-18" };
                let capable =
                    format!(r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}}}}"#);
                let answer = result(request, &capable);
                let headers = format!("mcp-session-id: {session}\r\n");
                if session == "S3" {
                    return events(&format!("data: {answer}\n\n")).replacen(
                        "\r\n",
                        &format!("\r\n{headers}"),
                        1,
                    );
                }
                json_body(&headers, &answer)
            }
            "notifications/initialized" => accepted(),
            _ => json_body("", &result(request, "{}")),
        }
    })
    .await;
    let mut client = Client::new(&server);
    client.ask(INITIALIZE).await;
    client.say(INITIALIZED).await;
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    assert_eq!(client.ask(&call("x")).await, answer);
    for restarted in [2, 3] {
        session.store(restarted, Ordering::Relaxed);
        assert_eq!(client.ask(&call("x")).await, answer);
        let seen = server.seen();
        let posts: Vec<_> = seen.iter().filter(|request| request.method == "POST").collect();
        let last: Vec<_> = posts[posts.len() - 3..]
            .iter()
            .map(|request| {
                (
                    request.says(),
                    request.header("mcp-session-id"),
                    request.header("mcp-protocol-version"),
                )
            })
            .collect();
        let session = format!("S{restarted}");
        let (session, version) = (Some(session.as_str()), Some("2025-06-18"));
        assert_eq!(
            last,
            [
                ("POST initialize".to_owned(), None, None),
                ("POST notifications/initialized".to_owned(), session, version),
                ("POST tools/call".to_owned(), session, version),
            ]
        );
    }
    // The client may begin again itself.
    session.store(4, Ordering::Relaxed);
    assert!(client.ask(INITIALIZE).await.contains("2025-06-18"));
    assert_eq!(client.ask(&call("x")).await, answer);
}

#[tokio::test]
async fn server_without_a_handshake_sees_headers() {
    let server = Server::new(|request| json_body("", &result(request, &long_result()))).await;
    let mut client = Client::new(&server);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x",{meta}}}}}"#
    );
    assert!(client.ask(&frame).await.contains("[tool result externalized: "));
    assert_eq!(client.leave().await, Exit::Client);
    let [request] = &server.seen()[..] else { panic!("one request, and no goodbye") };
    assert_eq!(request.body, frame);
    for (name, value) in
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "x")]
    {
        assert_eq!(request.header(name), Some(value));
    }
}

#[tokio::test]
async fn call_without_a_handshake_is_called_off_by_dropping_it() {
    // Half an answer: the rest never comes.
    let server = Server::new(|_| {
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n".to_owned()
    })
    .await;
    let mut client = Client::new(&server);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    client
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x",{meta}}}}}"#
        ))
        .await;
    while server.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    let begun = std::time::Instant::now();
    assert_eq!(client.leave().await, Exit::Client);
    assert!(begun.elapsed().as_secs() < 2, "nothing is on its way any more");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn stub_is_read_back_whatever_the_server_has() {
    let server = Server::new(|request| match request.says().as_str() {
        "POST tools/list" => json_body(
            "",
            &result(
                request,
                r#"{"tools":[{"name":"openviking_tool_result_read"},{"name":"openviking_tool_result_list"}]}"#,
            ),
        ),
        _ if request.body.contains("openviking") => json_body("", &result(request, "\"theirs\"")),
        _ => json_body("", &result(request, &long_result())),
    })
    .await;
    let mut client = Client::new(&server);
    let list = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(list.matches(r#""name":"openviking_tool_result_"#).count(), 3, "{list}");
    let stub = client.ask(&call("x")).await;
    let reference = stub.split("ref: ").nth(1).unwrap().split("\\n").next().unwrap();
    let read = call("openviking_tool_result_read");
    let ours = read.replace("{}", &json!({ "ref": reference }).to_string());
    assert!(client.ask(&ours).await.contains("[next_offset: "));
    let foreign = read.replace("{}", r#"{"uri":"viking://user/u/sessions/x/tool-results/tr_x"}"#);
    assert!(client.ask(&foreign).await.contains("theirs"));
    let shared = read.replace("{}", r#"{"ref":"toolstub://session/x/tool-results/tr_x"}"#);
    assert!(client.ask(&shared).await.contains("theirs"));
    assert!(client.ask(&call("openviking_tool_result_list")).await.contains("theirs"));
}

#[tokio::test]
async fn notification_that_is_not_taken_holds_nothing_up() {
    let server = Server::new(|request| match request.says().as_str() {
        "POST notifications/progress" => NEVER.to_owned(),
        "POST x" => json_body("", &result(request, "{}")),
        _ => accepted(),
    })
    .await;
    let mut client = Client::new(&server);
    let begun = std::time::Instant::now();
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#).await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#).await;
    assert!(client.ask(&call("openviking_tool_result_list")).await.contains("No tool result"));
    client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    client.say(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await;
    while server.seen().len() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // What is told arrives in order.
    assert!(!server.requests().iter().any(|request| request.contains("list_changed")));
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(client.leave().await, Exit::Client);
}

#[tokio::test]
async fn nothing_arrives_before_the_client_has_begun() {
    let server = Server::new(|request| match request.says().as_str() {
        "POST notifications/initialized" => {
            std::thread::sleep(Duration::from_millis(300));
            accepted()
        }
        "POST x" => json_body("", &result(request, "{}")),
        _ => accepted(),
    })
    .await;
    let mut client = Client::new(&server);
    client.say(INITIALIZED).await;
    client.say(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#).await;
    client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    assert_eq!(client.leave().await, Exit::Client);
    assert_eq!(server.requests()[0], "POST notifications/initialized");
    assert!(server.requests().len() >= 4);
}

#[tokio::test]
async fn failures_are_answers() {
    let server = Server::new(|request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        match body["id"].as_u64().unwrap() {
            1 => respond("401 Unauthorized", "content-type: text/plain\r\n", "who are you?\n"),
            2 => respond(
                "400 Bad Request",
                "content-type: application/json\r\n",
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}"#,
            ),
            3 => accepted(),
            4 => events("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"),
            5 => respond("200 OK", "content-type: text/html\r\n", "<p>Log in</p>\n"),
            6 => json_body("", &format!("\u{feff}{}", result(request, "{}"))),
            7 => respond("200 OK", "", &result(request, "{}")),
            _ => String::new() + "connection: close",
        }
    })
    .await;
    let mut client = Client::new(&server);
    let mut ask = async |id: u64, more: bool| -> Value {
        client.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        if more {
            client.hear().await;
        }
        let answer: Value = serde_json::from_str(&client.hear().await).unwrap();
        assert_eq!(answer["id"], id);
        answer["error"].clone()
    };
    let refused = ask(1, false).await;
    assert!(refused["message"].as_str().unwrap().contains("401 Unauthorized: who are you?"));
    assert_eq!(ask(2, false).await, json!({"code": -32602, "message": "no"}));
    for (id, more, why) in [
        (3, false, "the MCP server answered 202 Accepted with nothing"),
        (4, true, "the MCP server did not answer"),
        (5, false, "answered 200 OK with what is no answer of the type text/html: <p>Log in</p>"),
        (
            6,
            false,
            "answered 200 OK with what is no answer of the type application/json; charset=utf-8: ",
        ),
        (7, false, "answered 200 OK with what is no answer: {\"jsonrpc\""),
    ] {
        let told = ask(id, more).await["message"].as_str().unwrap().to_owned();
        assert!(told.contains(why), "{told}");
    }
    assert!(
        ask(8, false).await["message"].as_str().unwrap().contains("cannot reach the MCP server")
    );
}

#[tokio::test]
async fn stream_that_breaks_off_is_taken_up_again() {
    let server = Server::new(|request| match request.says().as_str() {
        "POST tools/call" => events("id: 7\nretry: 1\ndata:\n\n"),
        "GET" => events(&format!(
            "id: 8\ndata: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}}\n\n",
            long_result()
        )),
        _ => accepted(),
    })
    .await;
    let mut client = Client::new(&server);
    assert!(client.ask(&call("x")).await.contains("[tool result externalized: "));
    assert_eq!(server.seen()[1].header("last-event-id"), Some("7"));
}

#[tokio::test]
async fn event_that_breaks_off_is_said_again() {
    let server = Server::new(|request| match (request.says().as_str(), request.header("last-event-id")) {
        ("POST tools/call", _) => events(
            "retry: 1\nid: 6\ndata:\n\nevent: ping\ndata: alive\n\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"re",
        ),
        ("GET", Some("6")) => {
            events("id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"ok\":1}}\n\n")
        }
        _ => accepted(),
    })
    .await;
    let mut client = Client::new(&server);
    assert_eq!(client.ask(&call("x")).await, r#"{"jsonrpc":"2.0","id":7,"result":{"ok":1}}"#);
}

#[tokio::test]
async fn nothing_is_sent_on_to_another_place() {
    let other = Server::new(|request| json_body("", &result(request, "{}"))).await;
    let elsewhere = other.url.replace("http://", "http://user:word@") + "?key=secret";
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Moved"] {
        let headers = format!("location: {elsewhere}\r\n");
        let server = Server::new(move |_| respond(status, &headers, "")).await;
        let answer = Client::new(&server).ask(INITIALIZE).await;
        assert!(answer.contains(&format!("sends on to {},", other.url)), "{answer}");
        assert!(!answer.contains("word") && !answer.contains("secret"), "{answer}");
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn server_may_send_on_to_itself() {
    let tries = AtomicUsize::new(0);
    let server = Server::new(move |request| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => respond("307 Temporary Redirect", "location: /mcp/\r\n", ""),
        _ => json_body("", &result(request, "{}")),
    })
    .await;
    let answer = Client::new(&server).ask(&call("x")).await;
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    let sent = &server.seen()[1];
    assert_eq!(sent.header("authorization"), Some("Bearer t"));
    assert_eq!((sent.header("referer"), sent.body.as_str()), (None, call("x").as_str()));
    // Round and round it is not followed.
    let server = Server::new(|_| respond("308 Moved", "location: /mcp\r\n", "")).await;
    let answer = Client::new(&server).ask(INITIALIZE).await;
    assert!(answer.contains("sends on to"), "{answer}");
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn client_that_goes_and_reads_slowly_gets_all() {
    let long = format!("\"{}\"", "x".repeat(3 << 20));
    let server = Server::new(move |request| json_body("", &result(request, &long))).await;
    let mut client = Client::new(&server);
    for id in 0..3 {
        client.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#)).await;
    }
    drop(client.said);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut text = String::new();
    client.heard.read_to_string(&mut text).await.unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(text.lines().all(|line| line.len() > 3 << 20 && line.ends_with("\"}")));
    assert_eq!(client.running.await.unwrap().unwrap(), Exit::Client);
}

#[tokio::test]
async fn result_passes_where_the_client_goes_before_it_is_stored() {
    let server = Server::new(|request| json_body("", &result(request, &long_result()))).await;
    let mut client = Client::with_store(&server, deaf_store());
    client.say(&call("x")).await;
    drop(client.said);
    let mut text = String::new();
    client.heard.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}}\n", long_result()));
}

#[tokio::test(start_paused = true)]
async fn answer_that_is_late_is_waited_for() {
    let server = Server::new(|request| json_body(LATE, &result(request, "{}"))).await;
    let mut client = Client::new(&server);
    client.say(&call("x")).await;
    let Client { said, mut heard, running } = client;
    drop(said);
    let mut line = String::new();
    heard.read_line(&mut line).await.unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    assert_eq!(running.await.unwrap().unwrap(), Exit::Client);
}

#[tokio::test]
async fn many_long_answers_all_arrive() {
    let server = Server::new(|request| {
        let text = "a long line\n".repeat(250_000);
        let long = json!({"content": [{"type": "text", "text": text}]}).to_string();
        let answer = result(request, &long);
        if request.body.contains("stream") {
            return events(&format!("data: {answer}\n\n"));
        }
        json_body("", &answer)
    })
    .await;
    let mut client = Client::new(&server);
    for id in 0..12 {
        let tool = if id % 2 == 0 { "stream" } else { "whole" };
        client.say(&call(tool).replace(r#""id":7"#, &format!(r#""id":{id}"#))).await;
    }
    let mut ids = BTreeSet::new();
    for _ in 0..12 {
        let answer: Value = serde_json::from_str(&client.hear().await).unwrap();
        assert!(answer["result"].to_string().contains("[tool result externalized: "));
        ids.insert(answer["id"].as_u64());
    }
    assert_eq!(ids.len(), 12);
}

/// A server whose answers to `stall` stop in the middle.
async fn stalling() -> Server {
    Server::new(|request| {
        if request.body.contains("cancelled") {
            return accepted();
        }
        let answer = json_body("", &result(request, &format!("\"{}\"", "x".repeat(2 << 20))));
        if !request.body.contains(r#""stall""#) {
            return answer;
        }
        let (headers, body) = answer.split_once("content-length: ").unwrap();
        let (_, body) = body.split_once('\r').unwrap();
        format!("{headers}content-length: 9000000\r{body}")
    })
    .await
}

#[tokio::test]
async fn answers_that_stall_take_no_room_from_others() {
    for is_called_off in [false, true] {
        let server = stalling().await;
        let mut client = Client::new(&server);
        for id in 0..4 {
            client.say(&call("stall").replace(r#""id":7"#, &format!(r#""id":{id}"#))).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        if is_called_off {
            for id in 0..4 {
                let method = "notifications/cancelled";
                client
                    .say(&format!(r#"{{"method":"{method}","params":{{"requestId":{id}}}}}"#))
                    .await;
            }
        }
        let limit = if is_called_off { 3 } else { 10 };
        let whole = call("whole");
        let heard = client.ask(&whole);
        let heard = tokio::time::timeout(Duration::from_secs(limit), heard).await.unwrap();
        assert!(heard.starts_with(r#"{"jsonrpc":"2.0","id":7,"result":"xx"#));
        client.running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn answer_that_stalls_for_long_is_given_up() {
    let mut client = Client::new(&stalling().await);
    let heard = client.ask(&call("stall")).await;
    assert!(heard.contains("broke off: nothing more came for a minute"), "{heard}");
}

#[tokio::test]
async fn server_that_is_not_there_is_told() {
    let server = Server { url: "http://127.0.0.1:9/mcp".to_owned(), seen: Arc::default() };
    let mut client = Client::new(&server);
    let answer = client.ask(INITIALIZE).await;
    assert!(
        answer.contains("cannot reach the MCP server") && answer.contains(r#""id":0"#),
        "{answer}"
    );
}

#[test]
fn urls_and_headers_that_cannot_be_used_are_told() {
    let refuses = |url: &str, header: (&str, &str), why: &str| {
        let error = UpstreamUrl::new(url, [header]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refuses("ftp://x/", ("a", "b"), "http");
    refuses("http://", ("a", "b"), "http");
    for url in [
        "ftp://user:secret@x/mcp?key=secret#secret",
        "http://user:secret@x:port/mcp?key=secret",
        "http://user:secret/@[x/mcp#secret",
        "HTTP://secret@/?secret",
    ] {
        let error = UpstreamUrl::new(url, []).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
    let error = UpstreamUrl::new("HTTP://u:secret@X/a@b?secret", [("a b", "c")]).unwrap_err();
    assert!(error.to_string().contains("at HTTP://X/a@b: "), "{error}");
    refuses("http://x/", ("a b", "c"), "`a b`");
    refuses("http://x/", ("a", "c\nd"), "`a`");
    let url = UpstreamUrl::new("http://x/?key=secret", [("authorization", "secret")]).unwrap();
    assert!(!format!("{url:?}").contains("secret"));
}

#[tokio::test]
async fn what_is_no_message_is_not_passed_on() {
    let server = Server::new(|request| {
        let answer = result(request, "{}");
        events(&format!("data: keep-alive\n\ndata: 7\n\ndata: [1]\n\ndata: {answer}\n\n"))
    })
    .await;
    let mut client = Client::new(&server);
    let answer = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[tokio::test]
async fn server_is_not_asked_without_a_pause() {
    for (said, most) in [
        ("retry: 0\n\n", 5),
        // One that says something is asked on and on.
        ("retry: 0\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", 15),
    ] {
        let server = Server::new(move |request| match request.method.as_str() {
            "GET" => events(said),
            _ => accepted(),
        })
        .await;
        let mut client = Client::new(&server);
        client.say(INITIALIZED).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let asked = server.seen().iter().filter(|request| request.method == "GET").count();
        assert!((2..=most).contains(&asked), "{said} {asked}");
        drop(client);
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_is_silent_leaves_an_error_when_the_client_goes() {
    let server = Server::new(|_| NEVER.to_owned()).await;
    let mut client = Client::new(&server);
    client.say(&call("x")).await;
    client.say(&call("y").replace(r#""id":7"#, r#""id":"y""#)).await;
    drop(client.said);
    let begun = tokio::time::Instant::now();
    let mut text = String::new();
    client.heard.read_to_string(&mut text).await.unwrap();
    assert_eq!(client.running.await.unwrap().unwrap(), Exit::Client);
    let taken = begun.elapsed();
    assert!((Duration::from_secs(60)..Duration::from_secs(66)).contains(&taken), "{taken:?}");
    let ids: Vec<_> = text
        .lines()
        .map(|line| {
            let error: Value = serde_json::from_str(line).unwrap();
            assert_eq!(error["error"]["code"], -32000);
            error["id"].clone()
        })
        .collect();
    assert_eq!(ids, [json!(7), json!("y")]);
}

#[tokio::test]
async fn what_the_server_does_not_take_is_not_held_without_bounds() {
    let server = Server::new(|_| NEVER.to_owned()).await;
    let Client { mut said, heard, running } = Client::new(&server);
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let says = tokio::spawn(async move {
        let padding = "x".repeat(4 << 20);
        for id in 0..32 {
            let frame = call("x").replace("{}", &format!(r#"{{"p":"{padding}"}}"#));
            let frame = frame.replace(r#""id":7"#, &format!(r#""id":{id}"#));
            said.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    while server.seen().len() < 15 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(server.seen().len(), 15, "64 MiB are on their way");
    assert!((15..=17).contains(&taken.load(Ordering::Relaxed)), "{taken:?}");
    says.abort();
    running.abort();
    drop(heard);
}
