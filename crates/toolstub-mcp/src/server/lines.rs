//! What a client says, line by line, and what each line is.

use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The longest line that is taken, in bytes.
const LONGEST: usize = 16 << 20;
/// The most messages of a batch.
const MOST: usize = 100;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

type Message = RxJsonRpcMessage<RoleServer>;

/// The lines of an input. The last needs no end.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the line was too long already, so that nothing of it is kept.
    is_over: bool,
}

/// What a line is.
#[derive(Debug)]
pub(super) enum Heard {
    /// Nothing that is to be answered.
    Nothing,
    One(Box<Message>),
    /// Messages whose answers belong together, and the answers to what in it is none.
    Batch(Vec<Message>, Vec<Value>),
    /// What has to be answered with this.
    Wrong(Value),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), is_over: false }
    }

    /// The next line; `None` at the end of the input. Nothing is lost where this is given up.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::error!("cannot read what the client says: {error}");
                    return None;
                }
            };
            let end = memchr::memchr(b'\n', available);
            let is_end = available.is_empty();
            if is_end && self.line.is_empty() && !self.is_over {
                return None;
            }
            let piece = &available[..end.unwrap_or(available.len())];
            if self.line.len() + piece.len() > LONGEST {
                self.is_over = true;
                self.line = Vec::new();
            } else if !self.is_over {
                self.line.extend_from_slice(piece);
            }
            let taken = end.map_or(available.len(), |end| end + 1);
            self.input.consume(taken);
            if end.is_none() && !is_end {
                continue;
            }
            if std::mem::take(&mut self.is_over) {
                let text =
                    format!("a message of over {LONGEST} bytes is not read; send less at a time");
                return Some(Heard::Wrong(error(&Value::Null, INVALID_REQUEST, &text)));
            }
            return Some(heard(&std::mem::take(&mut self.line)));
        }
    }
}

fn heard(line: &[u8]) -> Heard {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Heard::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Heard::One(Box::new(message));
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(items)) => batch(items),
        Ok(value) => wrong(&value).map_or(Heard::Nothing, Heard::Wrong),
        Err(problem) => {
            let text = format!("that is no JSON ({problem}); a line holds one JSON-RPC message");
            Heard::Wrong(error(&Value::Null, PARSE_ERROR, &text))
        }
    }
}

fn batch(items: Vec<Value>) -> Heard {
    if items.is_empty() || items.len() > MOST {
        let text = format!("a batch holds 1 to {MOST} messages");
        return Heard::Wrong(error(&Value::Null, INVALID_REQUEST, &text));
    }
    let (mut messages, mut answers) = (Vec::new(), Vec::new());
    for item in items {
        match serde_json::from_value(item.clone()) {
            Ok(message) => messages.push(message),
            Err(_) => answers.extend(wrong(&item)),
        }
    }
    Heard::Batch(messages, answers)
}

/// The answer to what is no message, unless it is about something that wants none.
fn wrong(value: &Value) -> Option<Value> {
    let id = value.get("id");
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        return None;
    }
    let id = id.filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    let text = "that is no JSON-RPC message; a request has jsonrpc (\"2.0\"), id and method";
    Some(error(&id, INVALID_REQUEST, text))
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The answer to a batch that comes before there may be one, or in which an id stands twice.
pub(super) fn refused(id: &Value, why: &str) -> Value {
    error(id, INVALID_REQUEST, why)
}
