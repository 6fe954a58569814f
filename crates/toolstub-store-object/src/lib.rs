//! Opens the place where a store keeps its bytes: a folder, or an object store.
//!
//! [`open`] takes a location and answers with a backend for `toolstub_store::ResultStore`.
//! [`ObjectBackend`] is the backend over any `object_store::ObjectStore`; `LocalBackend` (feature
//! `local`) is the one over a folder, which adds what a shared machine asks for, and `S3Backend`
//! (feature `s3`) the one in a bucket.
//!
//! This crate gives keys no meaning, never follows a symbolic link inside a store, and never
//! reads or changes the process (no umask, no environment), unless [`Variables::of_process`] is called.
//! Only TLS is chosen for the whole process, if nobody has done so.
//!
//! ```
//! use toolstub_store::ResultStore;
//! use toolstub_store_object::{OpenOptions, open};
//!
//! let store = ResultStore::new(open("memory:", &OpenOptions::default())?);
//! # Ok::<(), toolstub_store_object::OpenError>(())
//! ```

mod error;
#[cfg(feature = "local")]
mod local;
mod object;
mod open;
#[cfg(feature = "s3")]
mod s3;
mod variables;

#[cfg(feature = "local")]
pub use local::LocalBackend;
pub use object::ObjectBackend;
pub use open::{OpenError, OpenOptions, as_path, open};
#[cfg(feature = "s3")]
pub use s3::S3Backend;
pub use variables::Variables;
