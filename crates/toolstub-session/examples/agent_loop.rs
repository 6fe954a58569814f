//! A session in front of an agent loop. The model is a script: it calls a tool, reads the stub, goes
//! back to the original for the part that it needs, and answers.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};
use toolstub_core::SessionId;
use toolstub_render::Stub;
use toolstub_session::{Config, Context, Session, Shape, parse_ref};
use toolstub_store::{MemoryBackend, ReadRequest, ResultStore, SearchRequest};

/// What the model says to the messages so far.
fn model(messages: &[Value], tools: &[&str]) -> Value {
    let call = |id: &str, name: &str, arguments: Value| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"role": "assistant", "tool_calls": [{"id": id, "function": function}]})
    };
    let last = messages.last().and_then(|message| message["content"].as_str()).unwrap_or_default();
    match (messages.len(), Stub::parse(last)) {
        (1, _) => call("c1", "fetch_log", json!({})),
        (_, Ok(Stub { reference: Some(reference), .. })) if tools.len() > 1 => {
            let input = json!({"tool_output_ref": reference.to_string(), "query": "ERROR"});
            call("c2", "openviking_tool_result_search", input)
        }
        _ => json!({"role": "assistant", "content": format!("It says: {last}")}),
    }
}

/// Runs a tool. The retrieval tools are the session's own.
async fn run(session: &Session, name: &str, input: &Value) -> Result<String, Box<dyn Error>> {
    if name == "fetch_log" {
        let line = |n| format!("INFO step {n} went as it should\n");
        let (before, after): (String, String) = ((0..900).map(line).collect(), line(901));
        return Ok(format!("{before}ERROR disk full at step 900\n{after}"));
    }
    let given = input["tool_output_ref"].as_str().unwrap_or_default();
    let reference = parse_ref(given, session.id()).ok_or("no ref of this session is given")?;
    if let Some(query) = input["query"].as_str() {
        let request = SearchRequest { context_chars: 0, ..SearchRequest::new(query) };
        let found = session.results().search(&reference, &request).await?;
        let at = found.matches.first().ok_or("nothing is found")?.offset;
        let request = ReadRequest { offset: at.into(), limit: 27, ..ReadRequest::default() };
        return Ok(session.results().read(&reference, &request).await?.content().into_owned());
    }
    let limit = session.config().default_read_chars().into();
    let request = ReadRequest { limit, ..ReadRequest::default() };
    Ok(session.results().read(&reference, &request).await?.content().into_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = ResultStore::new(Arc::new(MemoryBackend::new()));
    let session = Session::new(store, SessionId::new("demo")?, Config::default());
    let mut messages = json!([{"role": "user", "content": "What went wrong?"}]);
    loop {
        // There is nothing to go back to before something is stored.
        let mut tools = vec!["fetch_log"];
        if session.has_stored_results().await? {
            tools.extend(["openviking_tool_result_search", "openviking_tool_result_read"]);
        }
        let said = model(messages.as_array().ok_or("messages are a list")?, &tools);
        let calls = said["tool_calls"].as_array().cloned().unwrap_or_default();
        let list = messages.as_array_mut().ok_or("messages are a list")?;
        list.push(said.clone());
        for call in &calls {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let input = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or(""))?;
            let content = run(&session, name, &input).await?;
            list.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
        }
        if calls.is_empty() {
            println!("{}", said["content"].as_str().unwrap_or_default());
            assert!(messages.to_string().len() < 5000, "the log is not among the messages");
            return Ok(());
        }
        let context = Context::default();
        session.externalize_value(Shape::OpenAiChat, &mut messages, &context).await?;
    }
}
