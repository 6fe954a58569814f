//! `OpenAI` responses: `function_call_output` items. This host keeps its items raw, and has each turn
//! shortened anew before each request: the bytes are the same each time.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use serde_json::json;
use toolstub_core::SessionId;
use toolstub_session::{Config, Context, Scope, Session, Shape};
use toolstub_store::{MemoryBackend, ResultStore};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = ResultStore::new(Arc::new(MemoryBackend::new()));
    let session = Session::new(store, SessionId::new("demo")?, Config::default());

    let source = "pub fn one() -> u32 {\n    1\n}\n\n".repeat(1000);
    let items = json!([
        {"role": "user", "content": "What does it export?"},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": source},
        {"type": "message", "role": "assistant", "content": "A function."},
    ])
    .to_string();
    let context = Context { scope: Scope::EveryTurn, ..Context::default() };
    let first = session.externalize_json(Shape::OpenAiResponses, &items, &context).await?;
    let second = session.externalize_json(Shape::OpenAiResponses, &items, &context).await?;
    assert_eq!(first.messages, second.messages);
    println!("{}", first.messages);
    Ok(())
}
