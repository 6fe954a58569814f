//! Keeps tool results byte for byte and reads them back by range.
//!
//! A [`ResultStore`] writes an [`Original`] with what is known of it, and reads, searches, lists
//! and removes what it keeps, by ref. It works over any [`Backend`]: [`MemoryBackend`] is here, local
//! folders and object stores are in `toolstub-store-object`, and a team's own takes ten methods.
//!
//! This crate never detects or summarizes, never renders a stub, and never reads a clock for a
//! record: times come from the caller.
//!
//! ```
//! use std::sync::Arc;
//! use toolstub_core::{Kind, SessionId, Synopsis};
//! use toolstub_store::{MemoryBackend, Original, ReadRequest, ResultStore, WriteRequest};
//!
//! # fn synopsis() -> Synopsis {
//! #     let (title, sample) = Default::default();
//! #     let (summary, structure, notable_items) = Default::default();
//! #     Synopsis { kind: Kind::Text, title, summary, structure, notable_items, sample }
//! # }
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = ResultStore::new(Arc::new(MemoryBackend::new()));
//! let original = Original::new("one\ntwo\nthree\n", toolstub_store::DEFAULT_HARD_CAP);
//! let request = WriteRequest::new(SessionId::new("s1")?, synopsis(), "2026-01-02T03:04:05Z");
//! let receipt = store.write(&original, request).await?;
//!
//! let request = ReadRequest { offset: 4, limit: 3, ..ReadRequest::default() };
//! let piece = store.read(receipt.reference(), &request).await?;
//! assert_eq!(piece.content(), "two");
//! assert_eq!((piece.has_more, piece.next_offset), (true, 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
mod chars;
mod collect;
#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod index;
mod intake;
mod layout;
mod list;
mod memory;
mod original;
mod probe;
mod read;
mod record;
mod remove;
mod search;
mod select;
mod session;
mod sessions;
mod stats;
mod store;
mod verify;
mod walk;
mod write;

pub use backend::{
    Backend, BackendError, Body, BoxError, Created, Depth, Entry, Head, InvalidKey, Key,
    ListOptions, ListPage, Ranged, Spool, SpoolWriter,
};
pub use collect::CollectRequest;
pub use error::StoreError;
pub use intake::Intake;
pub use list::{ListAnswer, ListRequest, Listed};
pub use memory::MemoryBackend;
pub use original::{DEFAULT_HARD_CAP, Original};
pub use probe::{Check, CheckStatus};
pub use read::{DEFAULT_READ_LIMIT, Piece, ReadAnswer, ReadRequest};
pub use remove::Removed;
pub use search::{Match, SearchMode, SearchRequest, Searched};
pub use select::{Located, Selection, Selector};
pub use session::SessionStore;
pub use stats::{Stats, Tally};
pub use store::ResultStore;
pub use verify::{Damaged, Verified};
pub use write::WriteRequest;
