//! What a client says: passed on, but for calls of the tools that are answered here.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::asked::{Kind, Number, Request};
use super::message::{Frame, Message};
use super::{Asked, Inject, Proxy};
use crate::Tool;
use crate::tools::Whose;

/// How long the store has to say whether it keeps a result.
pub(super) const LOOKING: Duration = Duration::from_secs(2);

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

/// A request that is answered here, unless it is the server's after all.
#[derive(Debug)]
pub(super) struct Local {
    /// The message, where the store has to say whose it is.
    doubtful: Option<String>,
    raw_id: String,
    is_modern: bool,
    tool: Tool,
    arguments: Value,
}

impl Local {
    /// Whether the store has to say whose it is.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful.is_some()
    }

    /// The message, if the store had to say whose it is.
    pub(super) fn into_message(self) -> Option<String> {
        self.doubtful
    }

    /// An error in the place of an answer.
    pub(super) fn error(&self, reason: &str) -> String {
        error(&self.raw_id, reason)
    }
}

impl Proxy {
    /// Takes note of what a client asks, and says what is to become of it.
    pub(super) fn client_says(&self, text: &str) -> FromClient {
        let Some(frame) = Frame::parse(text) else { return FromClient::unchanged() };
        let locals: Vec<_> = frame.messages.iter().map(|message| self.local(message)).collect();
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
        let is_doubtful = match self.whose(tool, &arguments) {
            Whose::Ours => false,
            Whose::Shared => true,
            Whose::Foreign | Whose::Nobody => return None,
        };
        let doubtful = is_doubtful.then(|| message.raw().to_owned());
        let is_modern = message.version().is_some();
        Some(Local { doubtful, raw_id, is_modern, tool, arguments })
    }

    /// Whether a call is ours, and answered here; or the server's; or, if it is shared, whose the store
    /// says it is.
    ///
    /// A stub can be read back whoever has the tool that it names, so a ref goes where it belongs. What
    /// names no result is for whoever showed the tool.
    fn whose(&self, tool: Tool, arguments: &Value) -> Whose {
        if self.options.inject == Inject::Always {
            return Whose::Ours;
        }
        let (are_known, has, shows) = {
            let theirs = &self.asked().theirs;
            (theirs.are_known, theirs.has(tool), theirs.shows(tool))
        };
        match self.tools.whose(arguments) {
            // A server of the same kind, with another store, has such refs too.
            Whose::Shared if has => Whose::Shared,
            Whose::Foreign if !are_known || has => Whose::Foreign,
            Whose::Nobody if shows => Whose::Nobody,
            _ => Whose::Ours,
        }
    }

    /// Whether the store keeps what a call names; `None` where it does not answer in time.
    pub(super) async fn keeps(&self, local: &Local) -> Option<bool> {
        let keeps = self.tools.may_keep(&local.arguments);
        tokio::select! {
            keeps = timeout(LOOKING.min(self.patience), keeps) => keeps.ok(),
            () = self.hurried() => None,
        }
    }

    /// Takes note of a request that goes to the server after all.
    pub(super) fn client_asks(&self, text: &str) -> Option<Number> {
        note(&Message::parse(text)?, &mut self.asked())
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
