//! The HTTP service: sessions, their messages, and the originals of their tool results.
//!
//! A [`Service`] over a [`ResultStore`](toolstub_store::ResultStore) is an `axum` router; [`serve`]
//! listens with it. Clients of `OpenViking`'s session API work with it as they are: a message with an
//! oversized tool result is kept with a stub in its place, and the original is read, searched and
//! listed by its ref. Sessions and messages stand in the same store as the results, so any number of
//! servers on one bucket serve the same sessions.
//!
//! This crate never opens a store by an address, never decides what leaves a message (that is
//! `toolstub-session`) and never holds a large original in memory.
//!
//! ```
//! use std::sync::Arc;
//! use toolstub_http::{Options, Service};
//! use toolstub_store::{MemoryBackend, ResultStore};
//!
//! let store = ResultStore::new(Arc::new(MemoryBackend::new()));
//! let router = Service::new(store, Options::default()).into_router();
//! # let _: axum::Router = router;
//! ```

mod around;
mod ask;
mod body;
mod budget;
mod envelope;
mod journal;
mod keys;
mod message;
mod metrics;
mod page;
mod part;
mod policies;
mod problem;
mod routes;
mod serve;
mod service;
mod times;
mod tokens;

pub use keys::{Keys, WeakKey};
pub use serve::{Limits, serve};
pub use service::{Options, Service};
