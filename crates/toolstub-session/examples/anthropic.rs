//! Anthropic: `tool_result` blocks. What a request holds beside them is not touched.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use serde_json::json;
use toolstub_core::SessionId;
use toolstub_session::{Call, Config, Context, Session, Shape};
use toolstub_store::{MemoryBackend, ResultStore};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = ResultStore::new(Arc::new(MemoryBackend::new()));
    let session = Session::new(store, SessionId::new("demo")?, Config::default());

    let table: String = (0..4000).map(|n| format!("{n},name {n},{}\n", n * n)).collect();
    let mut messages = json!([
        {"role": "user", "content": "Who is number 7?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "query", "input": {"table": "names"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": format!("id,name,n2\n{table}"),
             "cache_control": {"type": "ephemeral"}}]},
    ]);
    let raw = messages.clone();
    let context = Context::default();
    let turns = session.externalize_value(Shape::Anthropic, &mut messages, &context).await?;
    println!("{}", messages[2]["content"][0]["content"].as_str().unwrap_or_default());
    println!("{} characters were returned", turns[0].group_original_chars);

    let whole = session.hydrate_value(Shape::Anthropic, &messages, &Call::default()).await?;
    assert_eq!(whole.messages, raw);
    Ok(())
}
