//! `OpenAI` chat: messages of the role `tool`, here in a request that is JSON text.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use serde_json::json;
use toolstub_core::SessionId;
use toolstub_session::{Config, Context, Session, Shape};
use toolstub_store::{MemoryBackend, ResultStore};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = ResultStore::new(Arc::new(MemoryBackend::new()));
    let session = Session::new(store, SessionId::new("demo")?, Config::default());

    let log = "INFO the build goes on as it did before\n".repeat(1000);
    let request = json!({
        "model": "any",
        "messages": [
            {"role": "user", "content": "Does it build?"},
            {"role": "assistant", "tool_calls": [
                {"id": "call_1", "type": "function",
                 "function": {"name": "bash", "arguments": "{\"command\": \"make\"}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": log},
        ],
    })
    .to_string();
    let context = Context::default();
    let changed = session.externalize_json(Shape::OpenAiChat, &request, &context).await?;
    println!("{} bytes became {}", request.len(), changed.messages.len());
    println!("{}", changed.messages);
    Ok(())
}
