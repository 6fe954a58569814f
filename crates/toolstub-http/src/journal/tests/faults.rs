//! A fault at every operation of everything that a journal does.

use toolstub_store::fault::{self, Fault, FaultyBackend};

use super::*;

/// What is done with a fault.
#[derive(Debug, Clone, Copy)]
enum Does {
    Append,
    Keyed,
    Create,
    Remove,
    Look,
}

impl Does {
    /// Does it; whether it was acknowledged.
    async fn run(self, backend: &Arc<dyn Backend>) -> bool {
        let journal = journal(backend);
        match self {
            Self::Append => send(&journal, &["a", "b"], None).await.is_ok(),
            Self::Keyed => send(&journal, &["a", "b"], Some("key")).await.is_ok(),
            Self::Create => journal.create(&session(), &record()).await.is_ok(),
            Self::Remove => journal.remove(&session()).await.is_ok(),
            Self::Look => {
                let names = journal.names(&session()).await;
                let opened = journal.open(&session()).await;
                let listed = journal.sessions().await;
                if let (Ok(Some(names)), Ok(Some(opened))) = (&names, &opened) {
                    assert_eq!(names.len() as u64, opened.sums.count);
                }
                for name in names.iter().flatten().flatten() {
                    if let Ok(body) = journal.read(&session(), name).await {
                        assert!(body.unwrap().starts_with(b"first "), "what is read is wrong");
                    }
                }
                names.is_ok() && opened.is_ok() && listed.is_ok()
            }
        }
    }
}

/// Does something with each fault at each operation, on a session that is there or not.
async fn withstand(fresh: fn() -> Shared, does: Does, is_there: bool) {
    for fault in Fault::ALL {
        let places = fault::sweep(
            fault,
            || Arc::new(fresh()),
            async |backend: Arc<FaultyBackend>| {
                let backend: Arc<dyn Backend> = backend;
                if is_there {
                    send(&journal(&backend), &["first"], None).await.unwrap();
                }
                backend
            },
            async |backend| does.run(backend).await,
            async |backend, run| {
                let told = format!("{does:?}, {:?}", run.met);
                let acknowledged = run.outcome == Some(true);
                let first: &[&str] = if is_there { &["first"] } else { &[] };
                let both = [first, &["a", "b"]].concat();
                let there = seen(&backend).await;
                let shows = |texts: &[&str]| there.as_deref().unwrap_or_default() == texts;
                match does {
                    Does::Append | Does::Keyed => {
                        assert!(shows(&both) || !acknowledged && shows(first), "{told}: {there:?}");
                    }
                    Does::Create => {
                        assert!(shows(first) && (there.is_some() || !acknowledged), "{told}");
                    }
                    Does::Remove => {
                        assert!(there.is_none() || !acknowledged, "{told}: {there:?}");
                        assert!(shows(first) || shows(&[]), "{told}: {there:?}");
                    }
                    Does::Look => assert!(shows(first), "{told}: {there:?}"),
                }
                // The same again succeeds.
                assert!(does.run(&backend).await, "{told}");
                let again = seen(&backend).await;
                match does {
                    Does::Keyed => assert_eq!(again.unwrap_or_default(), both, "{told}"),
                    Does::Remove => assert_eq!(again, None, "{told}"),
                    Does::Create => assert!(again.is_some(), "{told}"),
                    Does::Append | Does::Look => {}
                }
            },
        )
        .await;
        assert!(places > 0 || !fault.concerns(Operation::Head), "{does:?} met nothing");
    }
}

#[tokio::test]
async fn no_fault_loses_a_message_or_shows_half_of_it() {
    for does in [Does::Append, Does::Keyed] {
        for is_there in [false, true] {
            withstand(Shared::default, does, is_there).await;
            withstand(Shared::creating_blindly, does, is_there).await;
        }
    }
}

#[tokio::test]
async fn no_fault_makes_half_a_session() {
    for is_there in [false, true] {
        withstand(Shared::default, Does::Create, is_there).await;
        withstand(Shared::default, Does::Remove, is_there).await;
    }
}

#[tokio::test]
async fn no_fault_alters_what_is_seen() {
    for is_there in [false, true] {
        withstand(Shared::default, Does::Look, is_there).await;
    }
}
