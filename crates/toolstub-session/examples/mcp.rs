//! MCP: one `CallToolResult`. Its call stands elsewhere, so it is given beside.

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

    let page = "# A heading\n\nA paragraph of a long page.\n\n".repeat(1000);
    let result = json!({
        "content": [
            {"type": "resource", "resource":
                {"uri": "file:///page.md", "mimeType": "text/markdown", "text": page}},
            {"type": "text", "text": "1 page"},
        ],
        "isError": false,
    })
    .to_string();
    let call = Call { id: "7".to_owned(), name: "read_page".to_owned(), input: None };
    let context = Context { call, ..Context::default() };
    let changed = session.externalize_json(Shape::Mcp, &result, &context).await?;
    for outcome in changed.outcomes() {
        let stub = outcome.replacement().map_or("(it stays)", |stub| stub.stub.as_str());
        println!("{stub}\n");
    }
    Ok(())
}
