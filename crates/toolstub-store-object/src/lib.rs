//! Opens the place where a store keeps its bytes: a folder, or an object store.
//!
//! [`open`] takes a location and answers with a backend for `toolstub_store::ResultStore`.
//! [`ObjectBackend`] is the backend over any `object_store::ObjectStore`; `LocalBackend` (feature
//! `local`) is the one over a folder, which adds what a shared machine asks for.
//!
//! This crate gives keys no meaning, never follows a symbolic link inside a store, and never
//! changes the process (no umask, no environment).
//!
//! ```
//! use toolstub_store::ResultStore;
//! use toolstub_store_object::{OpenOptions, open};
//!
//! let store = ResultStore::new(open("memory:", &OpenOptions::default())?);
//! # Ok::<(), toolstub_store_object::OpenError>(())
//! ```

#[cfg(feature = "local")]
mod local;
mod object;
mod open;

#[cfg(feature = "local")]
pub use local::LocalBackend;
pub use object::ObjectBackend;
pub use open::{OpenError, OpenOptions, open};
