//! A host with messages of its own: it hands in what the tools of a turn returned, and is told what becomes
//! of each.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolstub_session::{
    Call, Config, MemoryBackend, ReadRequest, ResultStore, Session, SessionId, ToolResult, Turn,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // In a program this is the backend of a folder or a bucket: `toolstub_store_object::open`.
    let store = ResultStore::new(Arc::new(MemoryBackend::new()));
    let session = Session::new(store, SessionId::new("s1")?, Config::default());

    let rows = (0..4000).map(|row| format!("{row},{}\n", row * row)).collect::<String>();
    let table = format!("number,square\n{rows}");
    let result = |id: &str, name: &str, content: &str| ToolResult {
        call: Call { id: id.to_owned(), name: name.to_owned(), input: None },
        content: content.to_owned().into(),
        ..ToolResult::default()
    };
    let results = vec![result("c1", "query", &table), result("c2", "date", "2026-01-02\n")];
    let turn = Turn { results, ..Turn::default() };

    let mut context: Vec<String> = Vec::new();
    let mut reference = None;
    for (result, outcome) in turn.results.iter().zip(session.externalize(&turn).await?.outcomes) {
        if let Some(replacement) = outcome.replacement() {
            context.push(replacement.stub.clone());
            reference.clone_from(&replacement.reference);
        } else {
            context.push(String::from_utf8_lossy(&result.content).into_owned());
        }
    }
    println!("{}", context.join("\n----\n"));

    // What the model asks for by the ref.
    let reference = reference.ok_or("the table is over the threshold")?;
    let request = ReadRequest { offset: 30_000, limit: 40, ..ReadRequest::default() };
    let piece = session.results().read(&reference, &request).await?;
    println!("----\n{}", piece.content());
    assert_eq!(*piece.content(), table[30_000..30_040]);
    Ok(())
}
