//! What can go wrong in a session.

use toolstub_core::EventId;
use toolstub_store::StoreError;

/// A session's failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// An original could not be stored, and the failure mode is to reject. Nothing is changed.
    #[error(
        "the result of `{tool_name}` could not be stored, and failure_mode is reject; nothing was changed"
    )]
    Rejected {
        /// The tool.
        tool_name: String,
        /// What the store said.
        source: StoreError,
    },
    /// An event has no result with this number.
    #[error(
        "not found: the event {event_id} has {count} tool results, none with the index {index}; it may be mistyped, or it may have been purged with its event or session"
    )]
    NoSuchIndex {
        /// The event.
        event_id: EventId,
        /// The number that was asked for.
        index: u64,
        /// How many results the event has.
        count: usize,
    },
    /// Messages that are not JSON.
    #[error("the messages are not JSON")]
    Json(#[from] serde_json::Error),
    /// The runtime ended before the work did.
    #[error("the runtime is shutting down")]
    Interrupted,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
