//! What a client has asked and the server has not answered yet.

use std::collections::{BTreeMap, VecDeque};

use super::headers::Marked;
use super::message::{Id, id};
use crate::Tool;

/// How many tasks are remembered with the tools that began them.
const MAX_TASKS: usize = 1000;
/// How many requests without an answer are remembered: a server may forget some.
const MAX_REQUESTS: usize = 100_000;

/// The number of a request, in the order in which they were asked.
pub(super) type Number = u64;

/// What is known of a conversation.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Those without an answer, by their ids: of one id there may be several, told apart by numbers.
    requests: BTreeMap<(Id, Number), Request>,
    /// Their ids, the oldest first.
    ids: BTreeMap<Number, Id>,
    last: Number,
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
    /// Remembers a request; where there are too many, the oldest is forgotten.
    pub(super) fn ask(&mut self, id: Id, request: Request) -> Number {
        self.last += 1;
        self.ids.insert(self.last, id.clone());
        self.requests.insert((id, self.last), request);
        if self.ids.len() > MAX_REQUESTS
            && let Some(oldest) = self.ids.pop_first()
        {
            self.requests.remove(&(oldest.1, oldest.0));
        }
        self.last
    }

    /// The request that is answered under an id: one of those in the same conversation, if there are
    /// any, and one whose id is written alike rather than one that is as much. Else the oldest.
    pub(super) fn answered(&mut self, raw_id: &str, among: &[Number]) -> Option<Request> {
        let id = id(raw_id)?;
        let alike = self.requests.range((id.clone(), 0)..=(id, Number::MAX));
        let rank = |((_, number), request): &(&(Id, Number), &Request)| {
            (!among.contains(number), request.raw_id != raw_id, *number)
        };
        let ((_, number), _) = alike.min_by_key(rank)?;
        self.forget(*number)
    }

    /// Takes a request out.
    pub(super) fn forget(&mut self, number: Number) -> Option<Request> {
        let id = self.ids.remove(&number)?;
        self.requests.remove(&(id, number))
    }

    pub(super) fn waits_for(&self, number: Number) -> bool {
        self.ids.contains_key(&number)
    }

    /// Whether anything has no answer yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.ids.is_empty()
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

    /// The requests that nobody will answer any more, as their ids are written, the oldest first.
    pub(super) fn give_up(&mut self) -> Vec<String> {
        let numbers: Vec<_> = self.ids.keys().copied().collect();
        numbers.into_iter().filter_map(|number| Some(self.forget(number)?.raw_id)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(asked: &mut Asked, raw_id: &str, tool: &str) -> Number {
        let kind = Kind::Call { tool: tool.to_owned() };
        let request = Request { raw_id: raw_id.to_owned(), kind, is_modern: false };
        asked.ask(id(raw_id).unwrap(), request)
    }

    #[track_caller]
    fn answers(asked: &mut Asked, raw_id: &str, among: &[Number], expected: Option<&str>) {
        let tool = asked.answered(raw_id, among).map(|request| match request.kind {
            Kind::Call { tool } => tool,
            _ => String::new(),
        });
        assert_eq!(tool.as_deref(), expected, "{raw_id}");
    }

    #[test]
    fn answer_is_for_the_id_that_is_written_alike() {
        let mut asked = Asked::default();
        for (raw_id, tool) in [("5.0", "a"), ("5", "b"), ("\"5\"", "c"), ("5", "d")] {
            ask(&mut asked, raw_id, tool);
        }
        for (raw_id, tool) in [("5", "b"), ("5", "d"), ("5", "a"), ("\"\\u0035\"", "c")] {
            answers(&mut asked, raw_id, &[], Some(tool));
        }
        answers(&mut asked, "5", &[], None);
        assert!(asked.give_up().is_empty());
    }

    #[test]
    fn answer_is_for_a_request_of_its_conversation() {
        let mut asked = Asked::default();
        let (one, other) = (ask(&mut asked, "1", "a"), ask(&mut asked, "1", "b"));
        answers(&mut asked, "1.0", &[other], Some("b"));
        assert!(asked.waits_for(one) && !asked.waits_for(other));
        answers(&mut asked, "1.0", &[other], Some("a"));
    }

    #[test]
    fn oldest_is_forgotten_where_there_are_too_many() {
        let mut asked = Asked::default();
        for number in 0..=MAX_REQUESTS {
            ask(&mut asked, &number.to_string(), "a");
        }
        answers(&mut asked, "0", &[], None);
        answers(&mut asked, &MAX_REQUESTS.to_string(), &[], Some("a"));
        let left = asked.give_up();
        assert_eq!((left.len(), left[0].as_str()), (MAX_REQUESTS - 1, "1"));
        assert!(asked.requests.is_empty());
    }
}
