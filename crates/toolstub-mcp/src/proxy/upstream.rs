//! What a server says: passed on, but for what is named in the module above.

use std::ops::Range;

use futures::stream::{self, StreamExt as _};
use tokio::time::Instant;
use toolstub_session::splice::{Object, Patches, blocks, span};

use super::asked::{Kind, Number, Request};
use super::client::response;
use super::message::{Frame, Message};
use super::overlong::Overlong;
use super::{Asked, Inject, Proxy, Structured, headers};

/// The code of an error that says that there is no such method.
const METHOD_NOT_FOUND: &str = "-32601";
/// How many results of one frame are stored at once.
const AT_ONCE: usize = 8;
/// The results of a frame that is longer, in bytes, are stored one after the other: each takes memory
/// several times its length.
const LONG: usize = 4 << 20;

/// What is to become of a part of a server's frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    at: Range<usize>,
    change: Change,
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    /// It is this.
    Text(String),
    /// It is a result of a tool, and may be too long.
    Result { tool: String },
}

impl Rewrite {
    /// Whether it waits for the store.
    pub(super) fn takes_time(&self) -> bool {
        matches!(self.change, Change::Result { .. })
    }
}

impl Proxy {
    /// What is to be changed of a server's frame: mostly nothing. Takes note of what is answered,
    /// among these requests rather than among others. `None` for what is no frame.
    pub(super) fn upstream_says(&self, text: &str, among: &[Number]) -> Option<Vec<Rewrite>> {
        let frame = Frame::parse(text)?;
        let mut asked = self.asked();
        let mut rewrites = Vec::new();
        for message in &frame.messages {
            if message.is_response() {
                let request = message.raw_id().and_then(|id| asked.answered(id, among));
                let Some(request) = request else { continue };
                rewrites.extend(self.judge(text, message, request, &mut asked));
            } else if message.method.as_deref() == Some("notifications/tasks")
                && let Some(params) = message.object("params")
            {
                let tool = asked.tool_of(&params.text("taskId").unwrap_or_default());
                rewrites.extend(self.result(text, params.get("result"), tool));
            }
        }
        Some(rewrites)
    }

    /// Takes note of what is answered in a frame that cannot be read.
    pub(super) fn upstream_said(&self, frame: Overlong) {
        for raw_id in frame.answers() {
            self.asked().answered(&raw_id, &[]);
        }
    }

    /// The frame with the changes made; `None` if it stays as it is after all. Whatever is in it, the
    /// store has one time for all.
    pub(super) async fn rewritten(&self, text: &str, rewrites: Vec<Rewrite>) -> Option<String> {
        if rewrites.is_empty() {
            return None;
        }
        let until = Instant::now() + self.patience_for(text);
        let at_once = if text.len() > LONG { 1 } else { AT_ONCE };
        let changes = rewrites.into_iter().map(|Rewrite { at, change }| async move {
            let slice = &text[at];
            let with = match change {
                Change::Text(with) => Some(with),
                Change::Result { tool } => self.shrink(slice, &tool, until).await,
            };
            Some((slice, with?))
        });
        let mut changes = stream::iter(changes).buffered(at_once);
        let mut patches = Patches::new(text);
        while let Some(change) = changes.next().await {
            if let Some((slice, with)) = change {
                patches.replace(slice, with);
            }
        }
        patches.apply()
    }

    fn judge(
        &self,
        text: &str,
        message: &Message<'_>,
        request: Request,
        asked: &mut Asked,
    ) -> Option<Rewrite> {
        let raw = message.field("result");
        match request.kind {
            Kind::Capabilities => self.capabilities(text, &Object::parse(raw?)?),
            Kind::Tools { is_first: true } if raw.is_none() => {
                let is_missing = message.object("error")?.get("code") == Some(METHOD_NOT_FOUND);
                if !is_missing || self.options.inject == Inject::Never {
                    return None;
                }
                asked.theirs.note(std::iter::empty(), true);
                let list = response(&request.raw_id, &self.own_list(request.is_modern));
                Some(Rewrite { at: span(text, message.raw()), change: Change::Text(list) })
            }
            Kind::Tools { is_first } => self.tools(text, &Object::parse(raw?)?, is_first, asked),
            Kind::Call { tool } => {
                let result = Object::parse(raw?)?;
                // In the later era a task is its result; in the earlier one it is a field of it.
                let task = if result.is("resultType", "task") {
                    result.text("taskId")
                } else {
                    let task = result.object("task").filter(|_| result.get("content").is_none());
                    task.and_then(|task| task.text("taskId"))
                };
                match task {
                    Some(task) => {
                        asked.begin_task(task, tool);
                        None
                    }
                    None => self.result(text, raw, tool),
                }
            }
            Kind::TaskResult { task } => self.result(text, raw, asked.tool_of(&task)),
            Kind::TaskState { task } => {
                self.result(text, Object::parse(raw?)?.get("result"), asked.tool_of(&task))
            }
            Kind::Other => None,
        }
    }

    fn result(&self, text: &str, raw: Option<&str>, tool: String) -> Option<Rewrite> {
        let raw = raw?;
        self.may_be_long(raw, &tool)
            .then(|| Rewrite { at: span(text, raw), change: Change::Result { tool } })
    }

    /// Adds that there are tools.
    fn capabilities(&self, text: &str, result: &Object<'_>) -> Option<Rewrite> {
        let capabilities = result.object("capabilities");
        let has_tools = capabilities.as_ref().is_some_and(|all| all.given("tools").is_some());
        if has_tools || self.options.inject == Inject::Never {
            return None;
        }
        let mut patches = Patches::new(result.raw());
        match (&capabilities, result.get("capabilities")) {
            (Some(all), _) => match all.get("tools") {
                Some(null) => patches.replace(null, "{}".to_owned()),
                None => patches.insert(all, "tools", "{}"),
            },
            (None, Some(null)) => patches.replace(null, r#"{"tools":{}}"#.to_owned()),
            (None, None) => patches.insert(result, "capabilities", r#"{"tools":{}}"#),
        }
        let with = patches.apply()?;
        Some(Rewrite { at: span(text, result.raw()), change: Change::Text(with) })
    }

    /// Adds our tools to the first page, and hides output schemas that results may not fit.
    fn tools(
        &self,
        text: &str,
        result: &Object<'_>,
        is_first: bool,
        asked: &mut Asked,
    ) -> Option<Rewrite> {
        let list = result.get("tools")?;
        let tools = blocks(list)?;
        let parsed: Vec<_> = tools.iter().map(|tool| Object::parse(tool)).collect();
        let named = |tool: &Option<Object<'_>>| self.tools.find(&tool.as_ref()?.text("name")?);
        for tool in parsed.iter().flatten() {
            asked.mark(tool.text("name").unwrap_or_default(), headers::marked(tool));
        }
        asked.theirs.note(parsed.iter().filter_map(named), is_first);
        let theirs = &asked.theirs;
        let is_hidden = |tool| match self.options.inject {
            Inject::Auto => !theirs.shows(tool),
            Inject::Always => true,
            Inject::Never => false,
        };
        let is_added = |tool| match self.options.inject {
            Inject::Auto => is_first && !theirs.has(tool),
            Inject::Always => is_first,
            Inject::Never => false,
        };
        let added = self.definitions(is_added);
        if parsed.iter().filter_map(named).any(is_hidden) {
            // Two tools of one name are refused by models.
            let kept =
                tools.iter().zip(&parsed).filter(|(_, tool)| !named(tool).is_some_and(is_hidden));
            let kept = kept.map(|(raw, tool)| self.without_schema(raw, tool.as_ref()));
            let kept: Vec<_> = kept.chain((!added.is_empty()).then_some(added)).collect();
            let with = format!("[{}]", kept.join(","));
            return Some(Rewrite { at: span(text, list), change: Change::Text(with) });
        }
        let mut patches = Patches::new(list);
        if self.options.structured == Structured::Strip {
            for tool in parsed.iter().flatten() {
                patches.remove(tool, "outputSchema");
            }
        }
        if !added.is_empty() {
            patches.append(list, &tools, &added);
        }
        let with = patches.apply()?;
        Some(Rewrite { at: span(text, list), change: Change::Text(with) })
    }

    /// A tool of a list, without its output schema where structured content may go.
    fn without_schema(&self, raw: &str, tool: Option<&Object<'_>>) -> String {
        let mut patches = Patches::new(raw);
        if let Some(tool) = tool
            && self.options.structured == Structured::Strip
        {
            patches.remove(tool, "outputSchema");
        }
        patches.apply().unwrap_or_else(|| raw.to_owned())
    }
}
