//! The three retrieval tools: read, search and list, as a model calls them.
//!
//! Nothing here knows how a call arrives. Arguments are taken as models write them, answers are text
//! with a last line that says how to go on, and what goes wrong is told as an answer too: a model can
//! act on it.

mod arguments;
mod definition;
mod list;
mod read;
mod search;
mod stub;
mod whose;

use serde_json::{Map, Value, json};
use toolstub_core::{Ref, RefForm, SessionId};
use toolstub_session::{Config, parse_ref};
use toolstub_store::{ResultStore, SessionStore, StoreError};

use self::arguments::Arguments;
pub(crate) use self::whose::Whose;

/// The retrieval tools over a store.
///
/// A ref brings its session with it, as far as [`Reach`] allows. A bare result id and a listing are of
/// the session given here.
#[derive(Debug, Clone)]
pub struct Tools {
    store: ResultStore,
    session: SessionId,
    reach: Reach,
    refs: RefForm,
    prefix: String,
    /// The longest answer.
    max_chars: u64,
    /// How much a read returns where it is not told.
    read_chars: u64,
    /// How stubs look, where they are offered.
    stubs: Option<Config>,
}

/// Which sessions' results the tools give out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those of every session whose ref is given: for one who owns the store, and whose refs may be
    /// those of another process or of an earlier day.
    #[default]
    Store,
    /// Those of one session. A ref of another is answered as one that does not exist.
    Session,
}

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Reads a range of a result.
    Read,
    /// Finds a text in a result.
    Search,
    /// Lists the results of a session.
    List,
    /// Shows the stub of a result: for hosts that can put one call's result in the place of another's.
    Stub,
}

impl Tool {
    /// Those that every server offers, in order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Search, Self::List];

    /// The name, without what stands before it.
    pub fn base_name(self) -> &'static str {
        match self {
            Self::Read => "tool_result_read",
            Self::Search => "tool_result_search",
            Self::List => "tool_result_list",
            Self::Stub => "tool_result_stub",
        }
    }
}

/// What a tool says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The text, last line included: never longer than the configured `max_read_chars`.
    pub text: String,
    /// Whether nothing came of the call; the text then says why, and what to do.
    pub is_error: bool,
    /// Where a piece that was read stands, for programs.
    pub range: Option<PieceRange>,
}

/// Where a piece stands in what it was read from, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceRange {
    /// Where it begins.
    pub offset: u64,
    /// Where the next one begins.
    pub next_offset: u64,
    /// The characters of the whole.
    pub total_chars: u64,
    /// Whether anything follows.
    pub has_more: bool,
}

/// Why nothing came of a call, in words for a model.
#[derive(Debug)]
struct Problem(String);

impl Answer {
    fn new(text: String) -> Self {
        Self { text, is_error: false, range: None }
    }

    /// What is told where nothing came of a call.
    pub(crate) fn error(reason: &str) -> Self {
        Self { text: format!("Error: {reason}"), is_error: true, range: None }
    }

    /// The answer as an MCP `CallToolResult`.
    pub fn to_result(&self) -> Value {
        let mut result = Map::new();
        result.insert("content".to_owned(), json!([{"type": "text", "text": self.text}]));
        result.insert("isError".to_owned(), self.is_error.into());
        if let Some(range) = self.range {
            let PieceRange { offset, next_offset, total_chars, has_more } = range;
            let range = json!({
                "offset": offset,
                "next_offset": next_offset,
                "total_chars": total_chars,
                "offset_unit": toolstub_core::OffsetUnit::UnicodeCodePoint.as_str(),
                "has_more": has_more,
            });
            result.insert("_meta".to_owned(), json!({"toolstub/range": range}));
        }
        Value::Object(result)
    }
}

impl Tools {
    /// The tools over a store, for one session; names and lengths are those of its configuration.
    pub fn new(store: ResultStore, session: SessionId, config: &Config) -> Self {
        Self {
            store,
            session,
            reach: Reach::default(),
            refs: RefForm::default(),
            prefix: config.tool_prefix.clone(),
            max_chars: config.max_read_chars.max(1),
            read_chars: config.default_read_chars(),
            stubs: None,
        }
    }

    /// Offers [`Tool::Stub`] too; stubs look as a configuration says.
    #[must_use]
    pub fn with_stubs(mut self, config: &Config) -> Self {
        self.stubs = Some(config.clone());
        self
    }

    fn offered(&self) -> impl Iterator<Item = Tool> {
        Tool::ALL.into_iter().chain(self.stubs.as_ref().map(|_| Tool::Stub))
    }

    /// Bounds the sessions whose results are given out.
    #[must_use]
    pub fn with_reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Writes refs in a form. Every form is understood.
    #[must_use]
    pub fn with_refs(mut self, refs: RefForm) -> Self {
        self.refs = refs;
        self
    }

    /// A tool's name, as stubs name it.
    pub fn name(&self, tool: Tool) -> String {
        format!("{}{}", self.prefix, tool.base_name())
    }

    /// The tool of a name.
    pub fn find(&self, name: &str) -> Option<Tool> {
        let base = name.strip_prefix(&self.prefix)?;
        self.offered().find(|tool| tool.base_name() == base)
    }

    /// What a client is told of the tools: an MCP `Tool` each, always the same.
    pub fn definitions(&self) -> Vec<Value> {
        self.offered().map(|tool| definition::definition(self, tool)).collect()
    }

    /// Calls a tool. Whatever is given, there is an answer.
    pub async fn call(&self, tool: Tool, arguments: &Value) -> Answer {
        let answer = match Arguments::new(arguments) {
            Ok(arguments) => match tool {
                Tool::Read => read::read(self, &arguments).await,
                Tool::Search => search::search(self, &arguments).await,
                Tool::List => list::list(self, &arguments).await,
                Tool::Stub => stub::stub(self, &arguments).await,
            },
            Err(problem) => Err(problem),
        };
        let mut answer = answer.unwrap_or_else(|Problem(reason)| Answer::error(&reason));
        answer.text.truncate(cut(&answer.text, self.max_chars).len());
        answer
    }

    /// The result that a call names.
    fn reference(&self, arguments: &Arguments) -> Result<(SessionStore, Ref), Problem> {
        let list = self.name(Tool::List);
        let given = arguments.text(arguments::REF)?.ok_or_else(|| {
            Problem(format!(
                "tool_output_ref is missing; give the ref that stands in the stub, or call {list} \
                 to see what is stored"
            ))
        })?;
        let bare = bare_ref(&given);
        let named = bare.parse::<Ref>().ok().filter(|_| self.reach == Reach::Store);
        let session = named.map_or_else(|| self.session.clone(), |named| named.session().clone());
        let reference = parse_ref(bare, &session).ok_or_else(|| {
            let given = toolstub_core::text::clean(&given, 200);
            let whose = match self.reach {
                Reach::Store => "",
                Reach::Session => " of this session",
            };
            Problem(format!(
                "`{given}` is no ref of a tool result{whose}; copy the ref from the stub as it stands \
                 there, or call {list} to see what is stored"
            ))
        })?;
        Ok((self.store.session(session), reference))
    }

    /// What to tell where the store did not give what was asked for.
    fn problem(&self, error: &StoreError) -> Problem {
        let next = match error {
            StoreError::NotFound { .. } => {
                format!("; call {} to see what is stored", self.name(Tool::List))
            }
            StoreError::Corrupt { .. } => "; run the tool again if you need its output".to_owned(),
            StoreError::Backend(_) => "; try again".to_owned(),
            _ => String::new(),
        };
        let mut told = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            told.push_str(": ");
            told.push_str(&error.to_string());
            source = error.source();
        }
        Problem(format!("{told}{next}"))
    }
}

/// A ref as it is, whatever a model wrote around it.
fn bare_ref(given: &str) -> &str {
    let schemes = ["toolstub://", "viking://"];
    let begin = schemes.iter().filter_map(|scheme| given.find(scheme)).min().unwrap_or(0);
    let given = given[begin..].trim();
    let given = given.split(char::is_whitespace).next().unwrap_or_default();
    let given = given.trim_matches(|c| "`'\"<>()[]{},.;".contains(c));
    given.strip_suffix("/output.txt").unwrap_or(given)
}

/// The first characters of a text.
fn cut(text: &str, chars: u64) -> &str {
    text.char_indices().nth(chars as usize).map_or(text, |(end, _)| &text[..end])
}

/// A text and its last line, which stands whole: what is too long is cut before it.
fn with_last_line(mut text: String, line: &str, max_chars: u64) -> String {
    text.truncate(cut(&text, max_chars.saturating_sub(count(line))).len());
    text.push_str(line);
    text
}

fn count(text: &str) -> u64 {
    toolstub_core::utf8::count_chars(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_is_found_in_what_stands_around_it() {
        for given in [
            "toolstub://session/s/tool-results/tr_1",
            " `toolstub://session/s/tool-results/tr_1`. ",
            "ref: toolstub://session/s/tool-results/tr_1",
            "<toolstub://session/s/tool-results/tr_1>",
            "tool_output_ref=toolstub://session/s/tool-results/tr_1 query=x",
            "toolstub://session/s/tool-results/tr_1/output.txt",
        ] {
            assert_eq!(bare_ref(given), "toolstub://session/s/tool-results/tr_1", "{given}");
        }
        assert_eq!(bare_ref("\"tr_1\""), "tr_1");
        assert_eq!(bare_ref(""), "");
    }
}
