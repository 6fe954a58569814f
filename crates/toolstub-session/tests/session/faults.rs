//! A fault at every operation of the store, one after the other: no ref is promised in vain, no text
//! is lost, and what was left undone is done when the store is well again.

use std::io::ErrorKind;
use std::sync::Arc;

use toolstub_core::EventId;
use toolstub_session::{
    Call, Config, Externalized, FailureMode, Owner, Session, SessionError, ToolPart,
};
use toolstub_store::fault::{Fault, FaultyBackend, Operation, sweep};
use toolstub_store::{MemoryBackend, ResultStore};

use super::session_in;

struct Scene {
    session: Session,
    raw: Vec<ToolPart>,
    owner: Owner,
}

/// A list of about so many characters: its stub is short, and made in little time.
fn list(name: &str, chars: usize) -> String {
    format!("[\"{name}\"{}]", ",7".repeat(chars / 2))
}

/// Two large results, a small one, and a read-back of what is stored before.
async fn scene(backend: Arc<FaultyBackend>, mode: FailureMode, owner: Owner) -> Scene {
    let config = Config { failure_mode: mode, threshold_chars: 1000, ..Config::default() };
    let session = session_in(&ResultStore::new(backend), config);
    let mut before = [ToolPart::new("c0", "bash", &list("before", 2000))];
    session.externalize_parts("m0", &[], &mut before, owner.clone()).await.unwrap();
    let piece: String = list("before", 2000).chars().take(1500).collect();
    let mut read = ToolPart::new("c4", "tool_result_read", &piece);
    read.set("tool_input", serde_json::json!({"ref": before[0].reference(), "limit": 1500}));
    let raw = vec![
        ToolPart::new("c1", "bash", &list("a", 1600)),
        ToolPart::new("c2", "bash", "small"),
        ToolPart::new("c3", "bash", &list("b", 1400)),
        read,
    ];
    Scene { session, raw, owner }
}

fn written(parts: &[ToolPart]) -> String {
    serde_json::to_string(parts).unwrap()
}

impl Scene {
    async fn externalize(&self) -> (Vec<ToolPart>, Result<Externalized, SessionError>) {
        let mut parts = self.raw.clone();
        let owner = self.owner.clone();
        let done = self.session.externalize_parts("m", &[], &mut parts, owner).await;
        (parts, done)
    }

    /// That each part is what it was, or a stub that leads back to it, or says that none does.
    async fn check(&self, parts: &[ToolPart]) {
        for (part, raw) in parts.iter().zip(&self.raw) {
            if !part.is_externalized() {
                assert_eq!(part.output(), raw.output());
            } else if part.reference().is_some() {
                let hydrated =
                    self.session.hydrate_parts(std::slice::from_ref(part)).await.unwrap();
                assert_eq!(hydrated.messages[0].output(), raw.output());
            } else {
                assert_eq!(self.session.config().failure_mode, FailureMode::PreviewOnly);
                assert!(part.output().unwrap().contains("cannot be retrieved"));
            }
        }
    }
}

/// Puts out the scene's parts with each fault at each operation.
async fn befall(mode: FailureMode, owner: Owner) {
    for fault in Fault::ALL {
        let places = sweep(
            fault,
            || Arc::new(MemoryBackend::new()),
            async |backend| scene(backend, mode, owner.clone()).await,
            async |scene: &Scene| scene.externalize().await,
            async |scene: Scene, run| {
                let shown = format!("{:?}", run.met);
                match run.outcome {
                    Some((parts, Ok(_))) => scene.check(&parts).await,
                    Some((parts, Err(error))) => {
                        let rejected = matches!(error, SessionError::Rejected { .. });
                        assert!(rejected && mode == FailureMode::Reject, "{shown}: {error}");
                        assert_eq!(written(&parts), written(&scene.raw), "{shown}");
                    }
                    None => {}
                }
                // The same again, with a store that is well.
                let (parts, done) = scene.externalize().await;
                done.unwrap_or_else(|error| panic!("{shown}: {error}"));
                let out: Vec<bool> = parts.iter().map(ToolPart::is_externalized).collect();
                assert_eq!(out, [true, false, true, true], "{shown}");
                let error = "tool_output_externalization_error";
                assert!(parts.iter().all(|part| part.field(error).is_none()), "{shown}");
                scene.check(&parts).await;
            },
        )
        .await;
        assert!(places > 0, "{fault:?}");
    }
}

#[tokio::test]
async fn a_fault_anywhere_loses_nothing() {
    befall(FailureMode::PreserveRaw, Owner::Session).await;
}

#[tokio::test]
async fn a_fault_anywhere_loses_nothing_of_an_event() {
    befall(FailureMode::PreserveRaw, Owner::Event(EventId::new("e").unwrap())).await;
}

#[tokio::test]
async fn a_fault_anywhere_loses_what_a_preview_says_is_lost() {
    befall(FailureMode::PreviewOnly, Owner::Session).await;
}

#[tokio::test]
async fn a_fault_anywhere_changes_nothing_where_it_is_rejected() {
    befall(FailureMode::Reject, Owner::Event(EventId::new("e").unwrap())).await;
}

#[tokio::test]
async fn a_fault_while_originals_come_back_is_told_and_never_wrong_text() {
    for fault in Fault::ALL {
        sweep(
            fault,
            || Arc::new(MemoryBackend::new()),
            async |backend| {
                let scene = scene(backend, FailureMode::PreserveRaw, Owner::Session).await;
                let (parts, _) = scene.externalize().await;
                (scene, parts)
            },
            async |(scene, parts): &(Scene, Vec<ToolPart>)| {
                scene.session.hydrate_parts(parts).await
            },
            async |(scene, _), run| {
                let Some(Ok(hydrated)) = run.outcome else { return };
                for (part, raw) in hydrated.messages.iter().zip(&scene.raw) {
                    assert_eq!(part.output(), raw.output(), "{:?}", run.met);
                }
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_store_that_cannot_tell_stubs_apart_leaves_them() {
    // Everything is over its budget: whatever can get shorter is chosen.
    let config = Config { assistant_turn_inline_budget_chars: 1, ..Config::default() };
    let backend = Arc::new(FaultyBackend::new(Arc::new(MemoryBackend::new())));
    let session = session_in(&ResultStore::new(backend.clone()), config);
    let code: String =
        (0..400).map(|n| format!("pub fn function_{n}() {{\n    g();\n}}\n")).collect();
    let call = Call { id: "c1".to_owned(), name: "cat".to_owned(), input: None };
    let raw = super::turn(vec![toolstub_session::ToolResult {
        call,
        content: code.into(),
        mime_type: None,
        standing: toolstub_session::Standing::Untold,
    }]);
    let done = session.externalize(&raw).await.unwrap();
    let stub = done.outcomes[0].replacement().unwrap().stub.clone();
    let mut again = raw.clone();
    again.results[0].content = stub.into();
    backend.fail_at(Fault::ErrorBefore(ErrorKind::TimedOut), Operation::Get, 1);
    let done = session.externalize(&again).await.unwrap();
    assert!(backend.heal().is_some());
    assert!(done.outcomes[0].replacement().is_none());
}
