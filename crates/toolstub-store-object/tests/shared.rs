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

#[tokio::test]
async fn no_fault_loses_or_alters_a_result_in_a_folder() {
    let roots = tempfile::tempdir().unwrap();
    let fresh = || open(&tempfile::tempdir_in(roots.path()).unwrap().keep());
    let mut places = 0;
    let small = [&Scenario::WRITES[..], &Scenario::READS, &Scenario::REMOVALS].concat();
    for scenario in small.into_iter().chain([Scenario::WriteStream]) {
        for fault in [
            Fault::ErrorBefore(ErrorKind::ConnectionReset),
            Fault::ErrorAfter(ErrorKind::ConnectionReset),
            Fault::DropDuring,
            Fault::DropAfter,
        ] {
            // What is dropped while it is done may come to its end later.
            let exact = fault != Fault::DropDuring;
            places += scenes::sweep(scenario, fault, fresh, exact).await;
        }
    }
    assert!(places > 100, "{places} places");
}
