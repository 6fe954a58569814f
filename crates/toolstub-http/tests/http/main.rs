//! The service as its clients see it, over real stores in memory and in folders.

mod access;
mod messages;
mod results;
mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use toolstub_http::{Options, Service};
use toolstub_store::{Backend, MemoryBackend, ResultStore};
use tower::ServiceExt as _;

/// A service and what it keeps.
#[derive(Clone)]
struct Server {
    router: Router,
    store: ResultStore,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: hyper::HeaderMap,
    text: String,
}

impl Answer {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The result of an answer that is no error.
    #[track_caller]
    fn result(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()["result"].take()
    }

    /// The status, code and message of an error.
    #[track_caller]
    fn error(&self) -> (u16, String, String) {
        let json = self.json();
        assert_eq!(json["status"], "error", "{}", self.text);
        let text = |name: &str| json["error"][name].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), text("code"), text("message"))
    }
}

impl Server {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        Self::over(Arc::new(MemoryBackend::new()), options)
    }

    fn over(backend: Arc<dyn Backend>, options: Options) -> Self {
        let store = ResultStore::new(backend);
        Self { router: Service::new(store.clone(), options).into_router(), store }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, Some(body)).await
    }

    /// Appends a message with what a tool returned, and gives the tool part that is kept.
    async fn keep(&self, session: &str, tool_id: &str, output: &str) -> Value {
        let part = json!({
            "type": "tool",
            "tool_id": tool_id,
            "tool_name": "bash",
            "tool_output": output,
            "tool_status": "completed",
        });
        let message = json!({"role": "assistant", "parts": [part]});
        self.post(&format!("/api/v1/sessions/{session}/messages"), message).await.result();
        let context = self.get(&format!("/api/v1/sessions/{session}/context")).await.result();
        context["messages"].as_array().unwrap().last().unwrap()["parts"][0].clone()
    }
}

/// A text that is over the threshold, and different for each seed.
fn log(seed: u64, chars: usize) -> String {
    let number = |nth: u64| (nth + seed) * 2_654_435_761 % 99_991;
    let lines = (0..).map(|nth| format!("{nth:06} α😀 step {} done\n", number(nth)));
    let mut text = String::new();
    let mut left = chars;
    for line in lines {
        text.extend(line.chars().take(left));
        left = left.saturating_sub(line.chars().count());
        if left == 0 {
            break;
        }
    }
    text
}
