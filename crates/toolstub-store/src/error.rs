//! What can go wrong in a store.

use toolstub_core::{IdError, Ref};

use crate::BackendError;

/// A store's failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing is stored under a ref, as far as the reader may know.
    #[error(
        "not found: no tool result has the ref {reference}; it may be mistyped, it may have been purged with its session or event, or it was never stored"
    )]
    NotFound {
        /// The ref, or what was given for one.
        reference: String,
    },
    /// Another content is stored under the ref; it stays as it is.
    #[error("another content is stored under {reference}; it was left as it is")]
    Conflict {
        /// The ref.
        reference: String,
    },
    /// What is stored is damaged or incomplete.
    #[error("corrupt: {reference} is damaged: {damage}")]
    Corrupt {
        /// The ref.
        reference: String,
        /// What does not agree.
        damage: String,
    },
    /// Writers kept adding to what was being removed.
    #[error(
        "`{folder}` is not wholly removed: somebody keeps writing there; stop the writers and remove it again"
    )]
    Busy {
        /// The folder.
        folder: String,
    },
    /// The content could not be read from where it comes.
    #[error("cannot read what is to be stored")]
    Input(#[source] std::io::Error),
    /// A request that makes no sense.
    #[error("{field} {given} is not accepted; {expected}")]
    Invalid {
        /// The name of the request's field.
        field: &'static str,
        /// What was given.
        given: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// A selector that fits nothing of the original.
    #[error("cannot select {selector}: {reason}")]
    NothingSelected {
        /// The selector.
        selector: String,
        /// What there is instead.
        reason: String,
    },
    /// A record too large to be read back.
    #[error("the record of {reference} takes {bytes} bytes; at most {max_bytes} can be read back")]
    RecordTooLarge {
        /// The ref.
        reference: String,
        /// The record's size in bytes.
        bytes: u64,
        /// The largest size accepted.
        max_bytes: u64,
    },
    /// A bad id or ref.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl StoreError {
    pub(crate) fn not_found(reference: &Ref) -> Self {
        Self::NotFound { reference: reference.to_string() }
    }

    pub(crate) fn corrupt(reference: &Ref, damage: impl Into<String>) -> Self {
        Self::Corrupt { reference: reference.to_string(), damage: damage.into() }
    }
}
