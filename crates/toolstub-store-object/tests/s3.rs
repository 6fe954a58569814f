//! The backend in a bucket, as far as it shows without a server that keeps anything.

use std::error::Error as _;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use toolstub_store::{Backend as _, BackendError, Depth, Key, ListOptions};
use toolstub_store_object::{OpenOptions, S3Backend, Variables, open};

const SECRET: &str = "canary-of-the-secret-key";

/// The backend of a server on this machine, with little patience.
fn backend(port: u16) -> S3Backend {
    let pairs = [
        ("AWS_ENDPOINT", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", "key".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_TIMEOUT", "300ms".to_owned()),
        ("TOOLSTUB_MAX_RETRIES", "1".to_owned()),
    ];
    S3Backend::open("s3://bucket/prefix", &pairs.into_iter().collect::<Variables>()).unwrap()
}

/// A server that gives every request the same answer, or none.
fn server(answer: Option<(&str, &str)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = answer.map_or_else(String::new, |(status, body)| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    });
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            // The client may be gone already, which is what some tests are about.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
            held.push(stream);
        }
    });
    port
}

/// A failure with its sources, in one line.
fn told(error: &BackendError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Asks a server in every way, and checks what is said of it.
#[track_caller]
fn fails(port: u16, says: &str, right: fn(&BackendError) -> bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (backend, key) = (backend(port), Key::new("a/b").unwrap());
    let list = ListOptions { folder: None, depth: Depth::All, after: None, limit: 9 };
    let begun = Instant::now();
    let errors = runtime.block_on(async {
        [
            backend.get(&key, 9).await.unwrap_err(),
            backend.get_range(&key, 0..1).await.unwrap_err(),
            backend.put(&key, "x".into()).await.unwrap_err(),
            backend.create(&key, "x".into()).await.unwrap_err(),
            backend.list(list).await.unwrap_err(),
            backend.delete(&key).await.unwrap_err(),
        ]
    });
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    for error in errors {
        let text = told(&error);
        assert!(right(&error) && text.contains(says), "{text}");
        let debug = format!("{error:?} {backend:?}");
        assert!(!text.contains('\n') && !text.contains('<'), "{text}");
        assert!(!text.contains(SECRET) && !debug.contains(SECRET), "{debug}");
    }
}

fn is_other(error: &BackendError) -> bool {
    matches!(error, BackendError::Other { .. })
}

fn is_denied(error: &BackendError) -> bool {
    matches!(error, BackendError::PermissionDenied { .. })
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fails(port, "Connection refused", is_other);
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    fails(server(None), "does not answer in time", is_other);
}

#[test]
fn answers_that_are_errors_are_told_in_a_line() {
    let busy = Some(("503 Busy", "<Error>\n<Code>SlowDown</Code><Message/>\n</Error>"));
    fails(server(busy), "answers 503 SlowDown, also when asked again", is_other);
    let wrong = Some(("403 No", "<Error>\n<Code>SignatureDoesNotMatch</Code>\n</Error>"));
    fails(server(wrong), "answers 403 SignatureDoesNotMatch: check AWS_SECRET", is_denied);
    let bucket = Some(("404 No", "<Error>\n<Code>NoSuchBucket</Code>\n</Error>"));
    fails(server(bucket), "answers 404 NoSuchBucket: make the bucket", is_other);
}

#[test]
fn a_location_says_nothing_of_what_it_hides() {
    for location in [
        "s3://u:canary@bucket/x",
        "s3://bucket/x?canary",
        "s3://bucket/x#canary",
        "s3:canary",
        "file://user:canary@host/x",
        "file:///x?token=canary",
        "file:///x#canary",
        "file:canary",
        "https://user:canary@host/x?token=canary",
        "memory://canary",
    ] {
        let error = open(location, &OpenOptions::default()).unwrap_err();
        let (text, debug) = (error.to_string(), format!("{error:?}"));
        assert!(!text.contains("canary") && !debug.contains("canary"), "{text} {debug}");
    }
}
