//! A fault at every operation of everything that a store does.

mod scenes;

use std::io::ErrorKind;
use std::sync::Arc;

use toolstub_store::MemoryBackend;
use toolstub_store::fault::Fault;

use scenes::Scenario;

async fn withstand(scenarios: &[Scenario], faults: &[Fault]) {
    for &scenario in scenarios {
        for &fault in faults {
            let fresh = || Arc::new(MemoryBackend::new()) as _;
            let places = scenes::sweep(scenario, fault, fresh, true).await;
            // Errors and drops can befall any operation, and there are no scenarios without one.
            assert!(places > 0 || !fault.concerns(toolstub_store::fault::Operation::Head));
        }
    }
}

#[tokio::test]
async fn no_fault_loses_what_is_written() {
    withstand(&Scenario::WRITES, &Fault::ALL).await;
}

#[tokio::test]
async fn no_fault_loses_a_large_result() {
    // Its bytes take time, and most faults are the same to it as to a small one.
    let some = [
        Fault::ErrorBefore(ErrorKind::StorageFull),
        Fault::ErrorAfter(ErrorKind::ConnectionReset),
        Fault::DropDuring,
    ];
    let faults = if crate::is_full() { &Fault::ALL[..] } else { &some };
    withstand(&[Scenario::WriteStream], faults).await;
}

#[tokio::test]
async fn no_fault_alters_what_is_read() {
    withstand(&Scenario::READS, &Fault::ALL).await;
}

#[tokio::test]
async fn no_fault_makes_a_removal_take_more_or_less() {
    withstand(&Scenario::REMOVALS, &Fault::ALL).await;
}
