//! What is asked of any store, asked of one in a folder of this machine.
#![cfg(unix)]

#[path = "../../toolstub-store/tests/store/model/plain.rs"]
mod plain;
#[path = "../../toolstub-store/tests/store/faults/scenes.rs"]
mod scenes;

use std::io::ErrorKind;
use std::sync::Arc;

use proptest::prelude::*;
use scenes::Scenario;
use toolstub_store::Backend;
use toolstub_store::fault::Fault;
use toolstub_store_object::{LocalBackend, OpenOptions};

fn open(root: &std::path::Path) -> Arc<dyn Backend> {
    Arc::new(
        LocalBackend::open(root, &OpenOptions { fsync: false, ..OpenOptions::default() }).unwrap(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20) })]

    #[test]
    fn a_store_in_a_folder_is_a_map(actions in plain::actions(40)) {
        let root = tempfile::tempdir().unwrap();
        plain::follow(|| open(root.path()), &actions);
    }
}

/// Runs scenarios with faults at each of their operations.
async fn withstand(scenarios: impl IntoIterator<Item = Scenario>) {
    let roots = tempfile::tempdir().unwrap();
    let fresh = || open(&tempfile::tempdir_in(roots.path()).unwrap().keep());
    for scenario in scenarios {
        for fault in [
            Fault::ErrorBefore(ErrorKind::ConnectionReset),
            Fault::ErrorAfter(ErrorKind::ConnectionReset),
            Fault::DropDuring,
            Fault::DropAfter,
        ] {
            // What is dropped while it is done may come to its end later.
            let exact = fault != Fault::DropDuring;
            let places = scenes::sweep(scenario, fault, fresh, exact).await;
            assert!(places > 0, "{scenario:?}");
        }
    }
}

#[tokio::test]
async fn no_fault_loses_a_result_in_a_folder() {
    withstand(Scenario::WRITES).await;
}

#[tokio::test]
async fn no_fault_loses_a_large_result_in_a_folder() {
    withstand([Scenario::WriteStream]).await;
}

#[tokio::test]
async fn no_fault_alters_what_is_read_in_a_folder() {
    withstand(Scenario::READS).await;
}

#[tokio::test]
async fn no_fault_makes_a_removal_take_more_or_less_in_a_folder() {
    withstand(Scenario::REMOVALS).await;
}
