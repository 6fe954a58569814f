//! `OpenViking`: tool parts, which tell in their fields what became of them.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use toolstub_core::SessionId;
use toolstub_session::{Config, Owner, Session, ToolPart};
use toolstub_store::{MemoryBackend, ResultStore};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = ResultStore::new(Arc::new(MemoryBackend::new()));
    let config: Config = serde_json::from_str(r#"{"threshold_chars": 5000}"#)?;
    let session = Session::new(store, SessionId::new("demo")?, config);

    let items = (0..500).map(|n| format!(r#"{{"id": {n}, "ok": true}}"#)).collect::<Vec<_>>();
    let mut parts = [
        ToolPart::new("t1", "list_items", &format!("[{}]", items.join(", "))),
        ToolPart::new("t2", "pwd", "/home/agent\n"),
    ];
    session.externalize_parts("msg_1", &[], &mut parts, Owner::Session).await?;
    println!("{}", serde_json::to_string_pretty(&parts)?);
    assert!(parts[0].is_externalized() && !parts[1].is_externalized());

    let whole = session.hydrate_parts(&parts).await?;
    println!("{:?} characters came back", whole.messages[0].output().map(|text| text.len()));
    Ok(())
}
