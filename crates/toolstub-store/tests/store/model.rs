//! A store beside a plain map, through every order of what can be done to either.

mod plain;

use std::sync::Arc;

use proptest::prelude::*;
use toolstub_store::MemoryBackend;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_store_in_memory_is_a_map(actions in plain::actions(60)) {
        let backend = Arc::new(MemoryBackend::new());
        plain::follow(|| backend.clone(), &actions);
    }
}
