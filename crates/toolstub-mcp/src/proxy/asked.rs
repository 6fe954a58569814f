//! What a client has asked and the server has not answered yet.

use std::collections::{BTreeMap, VecDeque};

use super::headers::Marked;
use super::message::Id;
use crate::Tool;

/// How many tasks are remembered with the tools that began them.
const MAX_TASKS: usize = 1000;
/// How many requests without an answer are remembered: a server may forget some.
const MAX_REQUESTS: usize = 100_000;

/// What is known of a conversation.
#[derive(Debug, Default)]
pub(super) struct Asked {
    requests: BTreeMap<Id, Request>,
    tasks: VecDeque<(String, String)>,
    pub(super) theirs: Theirs,
    /// The parameters that tools want to see in headers.
    marked: BTreeMap<String, Vec<Marked>>,
}

/// What is known of the server's own tools that have our names.
#[derive(Debug, Default)]
pub(super) struct Theirs {
    /// The first page of the list of tools has come.
    pub(super) are_known: bool,
    /// Those that it has, with whether they are shown.
    has: Vec<(Tool, bool)>,
}

impl Theirs {
    /// Takes note of a page of the list of tools. What is shown stands on the first page: behind it,
    /// ours are shown.
    pub(super) fn note(&mut self, tools: impl Iterator<Item = Tool>, is_first: bool) {
        if is_first {
            self.has.clear();
            self.are_known = true;
        }
        for tool in tools {
            if !self.has(tool) {
                self.has.push((tool, is_first || !self.are_known));
            }
        }
    }

    pub(super) fn has(&self, tool: Tool) -> bool {
        self.has.iter().any(|(theirs, _)| *theirs == tool)
    }

    /// Whether the client sees the server's own.
    pub(super) fn shows(&self, tool: Tool) -> bool {
        self.has.contains(&(tool, true))
    }
}

/// A request on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) raw_id: String,
    pub(super) kind: Kind,
    /// It states its version itself: there was no handshake.
    pub(super) is_modern: bool,
}

/// What a request asks for, as far as its answer may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the server can do: `initialize`, `server/discover`.
    Capabilities,
    /// A page of the list of tools.
    Tools { is_first: bool },
    /// A call of a tool.
    Call { tool: String },
    /// What came of a task: `tasks/result`.
    TaskResult { task: String },
    /// How a task stands, with what came of it: `tasks/get`.
    TaskState { task: String },
    /// Anything else.
    Other,
}

impl Asked {
    pub(super) fn ask(&mut self, id: Id, request: Request) {
        if self.requests.len() < MAX_REQUESTS {
            self.requests.insert(id, request);
        }
    }

    /// The request that is answered.
    pub(super) fn answered(&mut self, id: &Id) -> Option<Request> {
        self.requests.remove(id)
    }

    pub(super) fn waits_for(&self, id: &Id) -> bool {
        self.requests.contains_key(id)
    }

    pub(super) fn mark(&mut self, tool: String, marked: Vec<Marked>) {
        if marked.is_empty() {
            self.marked.remove(&tool);
        } else {
            self.marked.insert(tool, marked);
        }
    }

    pub(super) fn marked(&self, tool: &str) -> Vec<Marked> {
        self.marked.get(tool).cloned().unwrap_or_default()
    }

    /// The requests that nobody will answer any more, as their ids are written.
    pub(super) fn give_up(&mut self) -> Vec<String> {
        std::mem::take(&mut self.requests).into_values().map(|request| request.raw_id).collect()
    }

    pub(super) fn begin_task(&mut self, task: String, tool: String) {
        if self.tasks.len() == MAX_TASKS {
            self.tasks.pop_front();
        }
        self.tasks.push_back((task, tool));
    }

    /// The tool that began a task; nothing of a task that is not known.
    pub(super) fn tool_of(&self, task: &str) -> String {
        let known = self.tasks.iter().rev().find(|(id, _)| id == task);
        known.map(|(_, tool)| tool.clone()).unwrap_or_default()
    }
}
