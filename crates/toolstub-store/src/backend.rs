//! What a store needs of the place where it keeps its bytes.

mod body;
mod error;
mod key;
mod spool;

use std::fmt;
use std::ops::Range;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

pub use body::Body;
pub use error::{BackendError, BoxError};
pub use key::{InvalidKey, Key};
pub use spool::{Spool, SpoolWriter};

/// A place that keeps objects under keys.
///
/// This is all that a team implements to keep originals elsewhere; `toolstub_store::contract`
/// checks it (feature `testing`). Every method is required, so that a wrapper cannot forget one.
///
/// - **Atomic**: an object is seen whole or not at all. A write that fails or is dropped half-way
///   leaves the object as it was, or whole.
/// - **Durable**: when [`put`](Self::put) or [`create`](Self::create) returns `Ok`, the object
///   outlives a crash of the process, and a power cut if the backend promises that much.
/// - **Read after write**: what was written is seen by every later call, through every clone.
/// - **Ignorant**: a backend gives keys no meaning. Only names that end in `#` and digits are its
///   own, for temporary files: it lists and deletes them and is never asked to write them.
///
/// Backends are shared by reference between tasks and processes. A [`create`](Self::create) that
/// is not atomic between processes costs no original: the store above reads back what it commits.
#[async_trait]
pub trait Backend: fmt::Debug + Send + Sync {
    /// Writes an object, in place of the one that is there. Idempotent.
    ///
    /// A body that is a spool may be large: it is read in parts, or its file is moved into place.
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError>;

    /// An empty spool, for a stream that will be [`put`](Self::put) here.
    ///
    /// [`SpoolWriter::in_temp_folder`] suits wherever a file cannot be moved into place.
    async fn spool(&self) -> Result<SpoolWriter, BackendError>;

    /// Writes an object unless there is one. The answer says which it was.
    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError>;

    /// Reads a whole object of at most `max_bytes`.
    ///
    /// [`BackendError::TooLarge`] for a larger one, before its bytes are held in memory.
    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError>;

    /// Reads a range of bytes, and says how large the object is.
    ///
    /// The caller clamps the range to the size that it knows: `start < end`. Exactly
    /// `end - start` bytes come back, else [`BackendError::OutOfRange`].
    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError>;

    /// Says how large an object is and when it was last written.
    async fn head(&self, key: &Key) -> Result<Head, BackendError>;

    /// Lists a page, in ascending order of the entries' markers (bytewise).
    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError>;

    /// Removes an object. One that is absent already is success. Idempotent.
    async fn delete(&self, key: &Key) -> Result<(), BackendError>;

    /// Removes what no key names below a folder, the folder included: empty directories, and
    /// files whose names are no keys. Objects stay. Nothing to do where folders are only names.
    async fn prune(&self, folder: &Key) -> Result<(), BackendError>;

    /// Returns once every object seen in a folder is durable.
    ///
    /// Nothing to do where an object is durable before it can be seen, nor in a folder that is
    /// not there.
    async fn flush(&self, folder: &Key) -> Result<(), BackendError>;
}

/// What [`Backend::create`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// There was none: the object is written.
    New,
    /// There was one: it stays as it was.
    Existed,
}

/// A range of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranged {
    /// The bytes that were asked for.
    pub bytes: Bytes,
    /// The size of the whole object, in bytes.
    pub size: u64,
}

/// What is known of an object without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The object's size in bytes.
    pub size: u64,
    /// When the object was last written, by the clock of whoever keeps it.
    pub modified: SystemTime,
}

/// What to list.
#[derive(Debug, Clone)]
pub struct ListOptions {
    /// The folder to look in; `None` for the root.
    ///
    /// A folder is whole parts of a key: the folder `a` holds `a/b`, and not `ab`.
    pub folder: Option<Key>,
    /// How deep to look.
    pub depth: Depth,
    /// The marker after which the page begins; `None` for the first page.
    pub after: Option<String>,
    /// The most entries to return, at least 1.
    pub limit: usize,
}

/// How deep a listing looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The objects and folders directly in the folder.
    Children,
    /// Every object below the folder, and no folders.
    All,
}

/// A page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The entries, in ascending order of their markers.
    pub entries: Vec<Entry>,
    /// Whether more may come after the last entry.
    pub more: bool,
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A folder, by the name of its last part. It may hold nothing (any more).
    Folder {
        /// The name, without a slash.
        name: String,
    },
    /// An object, by its key relative to the folder listed.
    Object {
        /// The relative key.
        name: String,
        /// The object's size and time of writing.
        head: Head,
    },
}

impl Entry {
    /// The entry's place in the order: its name, with a slash behind a folder's.
    pub fn marker(&self) -> String {
        match self {
            Self::Folder { name } => format!("{name}/"),
            Self::Object { name, .. } => name.clone(),
        }
    }
}
