//! A tool's result: what of it is too long leaves a stub.
//!
//! Where anything fails, the result stays as it is: a server that works must not stop working because
//! a store does not.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use tokio::time::{Instant, timeout_at};
use toolstub_session::splice::{self, Object, Patches, items};
use toolstub_session::{Call, Context, Outcome, Shape, Standing, ToolResult, Turn, is_retrieval};

use super::structured::{long_texts, says_again, says_in_parts};
use super::{Proxy, Structured};

const STRUCTURED: &str = "structuredContent";
const JSON: &str = "application/json";
/// For how many bytes of a frame a client waits a second more.
const A_SECOND: usize = 500_000;

impl Proxy {
    /// Whether a result can be too long for all that is known without reading it. What a retrieval tool
    /// returned, whosever it is, is never put out again.
    pub(super) fn may_be_long(&self, result: &str, tool: &str) -> bool {
        // No text takes more characters than it has bytes.
        let is_long = result.len() as u64 > self.session.config().threshold_chars;
        is_long && !is_retrieval(tool)
    }

    /// How long the store has for the results in a frame.
    pub(super) fn patience_for(&self, frame: &str) -> Duration {
        self.patience + Duration::from_secs((frame.len() / A_SECOND) as u64)
    }

    /// The result with stubs in it; `None` if it stays as it is.
    ///
    /// A store that does not answer in time is one that failed: the client waits for its result.
    pub(super) async fn shrink(&self, result: &str, tool: &str, until: Instant) -> Option<String> {
        let shrinking = AssertUnwindSafe(self.shrink_it(result, tool)).catch_unwind();
        let shrunk = tokio::select! {
            shrunk = timeout_at(until, shrinking) => shrunk.ok(),
            () = self.hurried() => None,
        };
        let Some(shrunk) = shrunk else {
            tracing::warn!(tool, "the store does not answer; a result stays as it is");
            return None;
        };
        shrunk.unwrap_or_else(|_| {
            tracing::warn!(tool, "a fault of ours; a result stays as it is");
            None
        })
    }

    async fn shrink_it(&self, result: &str, tool: &str) -> Option<String> {
        let fields = Object::parse(result)?;
        // One that is not final asks for input or names a task.
        if fields.given("resultType").is_some() && !fields.is("resultType", "complete") {
            return None;
        }
        let blocks = fields.get("content").filter(|blocks| blocks.starts_with('['));
        if blocks.is_some_and(|blocks| splice::blocks(blocks).is_none()) {
            tracing::warn!(tool, "a result of over {} blocks stays as it is", splice::MAX_BLOCKS);
            return None;
        }
        // There is no id of a call that would outlive a connection. With the tool's name in its place, the
        // same content of the same tool is stored once, and has the same stub each time.
        let call = Call { id: tool.to_owned(), name: tool.to_owned(), input: None };
        let context = Context { call: call.clone(), ..Context::default() };
        let (changed, outcomes) =
            match self.session.externalize_json(Shape::Mcp, result, &context).await {
                Ok(changed) => {
                    let outcomes: Vec<_> = changed.outcomes().cloned().collect();
                    (changed.messages, outcomes)
                }
                Err(error) => {
                    tracing::warn!(tool, %error, "a result stays as it is");
                    return None;
                }
            };
        // Where storing failed the result is not touched, not even by what would be said twice.
        if outcomes.iter().any(|outcome| outcome.error().is_some()) {
            return None;
        }
        let is_changed = outcomes.iter().any(|outcome| outcome.replacement().is_some());
        let with = match fields.given(STRUCTURED) {
            Some(structured) => match self.options.structured {
                Structured::Strip => {
                    self.strip(&fields, structured, &changed, &outcomes, &call).await
                }
                Structured::Shrink => self.shorten(structured, &changed, &call).await,
                Structured::Keep => None,
            },
            None => None,
        };
        with.or_else(|| is_changed.then_some(changed))
    }

    /// Takes out structured content that is too long, or that says again what has left a stub.
    async fn strip(
        &self,
        fields: &Object<'_>,
        structured: &str,
        changed: &str,
        outcomes: &[Outcome],
        call: &Call,
    ) -> Option<String> {
        let chars = toolstub_core::utf8::count_chars(structured.as_bytes());
        let is_long = chars > self.session.config().threshold_chars;
        let texts = texts(fields);
        let said = texts.iter().position(|text| says_again(structured, text));
        let is_out = said.is_some_and(|at| {
            outcomes.get(at).is_some_and(|outcome| outcome.replacement().is_some())
        });
        if is_out || (is_long && said.is_some()) {
            return without_structured(changed);
        }
        if !is_long {
            return None;
        }
        let content = Bytes::copy_from_slice(structured.as_bytes());
        let stubs = self.stubs(vec![(content, Some(JSON.to_owned()))], call).await?;
        let stub = stubs.into_iter().next().flatten()?;
        let rest = without_structured(changed)?;
        // Blocks that say the same in parts, each of them short, go with it.
        let is_said = is_all_text(fields) && says_in_parts(structured, &texts);
        if is_said { with_content(&rest, &block(&stub)) } else { with_block(&rest, &stub) }
    }

    /// Puts stubs in the place of long texts in structured content.
    async fn shorten(&self, structured: &str, changed: &str, call: &Call) -> Option<String> {
        let found = long_texts(structured, self.session.config().threshold_chars);
        if found.is_empty() {
            return None;
        }
        let (places, contents): (Vec<_>, Vec<_>) =
            found.into_iter().map(|(at, text)| (at, (Bytes::from(text), None))).unzip();
        let stubs = self.stubs(contents, call).await?;
        let mut patches = Patches::new(structured);
        for (at, stub) in places.into_iter().zip(stubs) {
            if let Some(stub) = stub {
                patches.replace(&structured[at], serde_json::Value::from(stub).to_string());
            }
        }
        let shortened = patches.apply()?;
        let mut patches = Patches::new(changed);
        patches.replace(Object::parse(changed)?.given(STRUCTURED)?, shortened);
        patches.apply()
    }

    /// The stubs of contents that are judged together; `None` where one stays, or where all do.
    async fn stubs(
        &self,
        contents: Vec<(Bytes, Option<String>)>,
        call: &Call,
    ) -> Option<Vec<Option<String>>> {
        let result = |(content, mime_type)| ToolResult {
            call: call.clone(),
            content,
            mime_type,
            standing: Standing::Raw,
        };
        let turn = Turn { results: contents.into_iter().map(result).collect(), ..Turn::default() };
        match self.session.externalize(&turn).await {
            Ok(done) => {
                let stub = |outcome: &Outcome| Some(outcome.replacement()?.stub.clone());
                Some(done.outcomes.iter().map(stub).collect())
            }
            Err(error) => {
                tracing::warn!(tool = call.name, %error, "structured content stays as it is");
                None
            }
        }
    }
}

/// The texts of a result's blocks, in the order in which the session takes them.
fn texts(result: &Object<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    for block in result.get("content").and_then(items).unwrap_or_default() {
        let Some(block) = Object::parse(block) else { continue };
        let text = match block.text("type").as_deref() {
            Some("text") => block.text("text"),
            Some("resource") => block.object("resource").and_then(|resource| resource.text("text")),
            _ => None,
        };
        texts.extend(text);
    }
    texts
}

fn without_structured(result: &str) -> Option<String> {
    let mut patches = Patches::new(result);
    patches.remove(&Object::parse(result)?, STRUCTURED);
    patches.apply()
}

/// Whether there is nothing in a result's content but blocks of text.
fn is_all_text(result: &Object<'_>) -> bool {
    let blocks = result.get("content").and_then(items).unwrap_or_default();
    blocks.iter().all(|block| Object::parse(block).is_some_and(|block| block.is("type", "text")))
}

fn block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, serde_json::Value::from(text))
}

/// The result with one more block of text.
fn with_block(result: &str, text: &str) -> Option<String> {
    let fields = Object::parse(result)?;
    let Some((content, blocks)) = fields.get("content").and_then(|all| Some((all, items(all)?)))
    else {
        return with_content(result, &block(text));
    };
    let mut patches = Patches::new(result);
    patches.append(content, &blocks, &block(text));
    patches.apply()
}

/// The result with these blocks alone.
fn with_content(result: &str, blocks: &str) -> Option<String> {
    let fields = Object::parse(result)?;
    let mut patches = Patches::new(result);
    match fields.get("content") {
        Some(content) => patches.replace(content, format!("[{blocks}]")),
        None => patches.insert(&fields, "content", &format!("[{blocks}]")),
    }
    patches.apply()
}
