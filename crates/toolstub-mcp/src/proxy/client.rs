//! What a client says: passed on, but for calls of the tools that are answered here.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::asked::{Kind, Number, Request};
use super::message::{Frame, Message};
use super::{Asked, Inject, Proxy};
use crate::Tool;
use crate::tools::Whose;

/// How long the store has to say whether it keeps a result: the frames behind the call wait.
const LOOKING: Duration = Duration::from_secs(2);

/// What becomes of a client's frame.
#[derive(Debug)]
pub(super) struct FromClient {
    pub(super) forward: Forward,
    pub(super) answers: Vec<Local>,
    /// The answers belong into one frame.
    pub(super) is_batch: bool,
    /// The requests that the server is asked.
    pub(super) asked: Vec<Number>,
}

impl FromClient {
    pub(super) fn unchanged() -> Self {
        let (forward, answers, asked) = (Forward::Unchanged, Vec::new(), Vec::new());
        Self { forward, answers, is_batch: false, asked }
    }
}

/// What the server gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Forward {
    /// The frame as it is.
    Unchanged,
    /// What is left of it.
    Text(String),
    Nothing,
}

/// A request that is answered here.
#[derive(Debug)]
pub(super) struct Local {
    raw_id: String,
    is_modern: bool,
    tool: Tool,
    arguments: Value,
}

impl Local {
    /// An error in the place of an answer.
    pub(super) fn error(&self, reason: &str) -> String {
        error(&self.raw_id, reason)
    }
}

impl Proxy {
    /// Takes note of what a client asks, and says what is to become of it.
    pub(super) async fn client_says(&self, text: &str) -> FromClient {
        let Some(frame) = Frame::parse(text) else { return FromClient::unchanged() };
        let mut locals = Vec::with_capacity(frame.messages.len());
        for message in &frame.messages {
            locals.push(match self.local(message) {
                Some(local) if self.is_ours(&local).await => Some(local),
                _ => None,
            });
        }
        let mut asked = self.asked();
        let (mut answers, mut rest, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (message, local) in frame.messages.iter().zip(locals) {
            if let Some(local) = local {
                answers.push(local);
            } else {
                numbers.extend(note(message, &mut asked));
                rest.push(message.raw());
            }
        }
        let forward = match (answers.is_empty(), rest.is_empty()) {
            (true, _) => Forward::Unchanged,
            (false, true) => Forward::Nothing,
            (false, false) => Forward::Text(format!("[{}]", rest.join(","))),
        };
        FromClient { forward, answers, is_batch: frame.is_batch, asked: numbers }
    }

    /// The call that a message is, if it may be answered here.
    fn local(&self, message: &Message<'_>) -> Option<Local> {
        let raw_id = message.raw_id()?.to_owned();
        if message.method.as_deref() != Some("tools/call") || self.options.inject == Inject::Never {
            return None;
        }
        let params = message.object("params")?;
        let tool = self.tools.find(&params.text("name")?)?;
        let arguments = params.given("arguments").unwrap_or("null");
        let arguments = serde_json::from_str(arguments).unwrap_or(Value::Bool(false));
        Some(Local { raw_id, is_modern: message.version().is_some(), tool, arguments })
    }

    /// Whether a call is answered here, and not by the server.
    ///
    /// A stub can be read back whoever has the tool that it names, so a ref goes where it belongs. What
    /// names no result is for whoever showed the tool.
    async fn is_ours(&self, local: &Local) -> bool {
        let Local { tool, arguments, .. } = local;
        if self.options.inject != Inject::Auto {
            return self.options.inject == Inject::Always;
        }
        let (are_known, has, shows) = {
            let theirs = &self.asked().theirs;
            (theirs.are_known, theirs.has(*tool), theirs.shows(*tool))
        };
        match self.tools.whose(arguments) {
            // A server of the same kind, with another store, has such refs too.
            Whose::Shared if has => {
                timeout(LOOKING.min(self.patience), self.tools.may_keep(arguments))
                    .await
                    .unwrap_or(true)
            }
            Whose::Ours | Whose::Shared => true,
            Whose::Foreign => are_known && !has,
            Whose::Nobody => !shows,
        }
    }

    /// The answer to what is answered here; `None` where the store does not answer in time.
    pub(super) async fn answer(&self, local: &Local) -> Option<String> {
        let answer = tokio::select! {
            answer = timeout(self.patience, self.tools.call(local.tool, &local.arguments)) => answer.ok(),
            () = self.hurried() => None,
        };
        let mut result = answer?.to_result();
        if local.is_modern {
            result["resultType"] = Value::from("complete");
        }
        Some(response(&local.raw_id, &result.to_string()))
    }

    /// A list of our tools alone.
    pub(super) fn own_list(&self, is_modern: bool) -> String {
        let modern = r#""resultType":"complete","ttlMs":0,"cacheScope":"private","#;
        let modern = if is_modern { modern } else { "" };
        format!(r#"{{{modern}"tools":[{}]}}"#, self.definitions(|_| true))
    }

    /// Whether the server owes an answer.
    pub(super) fn is_owed(&self) -> bool {
        self.asked().is_waiting()
    }

    /// Errors for all that the server has not answered, now that it never will.
    pub(super) fn give_up(&self, reason: &str) -> Vec<String> {
        self.asked().give_up().iter().map(|raw_id| error(raw_id, reason)).collect()
    }
}

/// A response with a result.
pub(super) fn response(raw_id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{raw_id},"result":{result}}}"#)
}

/// A response that says that there will be none.
pub(super) fn error(raw_id: &str, reason: &str) -> String {
    let message = Value::from(reason);
    format!(r#"{{"jsonrpc":"2.0","id":{raw_id},"error":{{"code":-32000,"message":{message}}}}}"#)
}

/// Remembers a request that goes to the server; forgets one that is called off.
fn note(message: &Message<'_>, asked: &mut Asked) -> Option<Number> {
    let method = message.method.as_deref()?;
    let params = message.object("params");
    let text = |name| params.as_ref().and_then(|params| params.text(name)).unwrap_or_default();
    if method == "notifications/cancelled" {
        asked.answered(params?.given("requestId")?, &[]);
        return None;
    }
    let (id, raw_id) = message.id().zip(message.raw_id())?;
    let kind = match method {
        "initialize" | "server/discover" => Kind::Capabilities,
        "tools/list" => {
            let cursor = params.as_ref().and_then(|params| params.given("cursor"));
            Kind::Tools { is_first: cursor.is_none() }
        }
        "tools/call" => Kind::Call { tool: text("name") },
        "tasks/result" => Kind::TaskResult { task: text("taskId") },
        "tasks/get" => Kind::TaskState { task: text("taskId") },
        _ => Kind::Other,
    };
    let is_modern = message.version().is_some();
    Some(asked.ask(id, Request { raw_id: raw_id.to_owned(), kind, is_modern }))
}
