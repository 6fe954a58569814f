//! What can go wrong in a backend.

use std::error::Error;
use std::io;

use super::Key;

/// The source of a backend's error.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// A backend's failure, told apart by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// There is no such object.
    #[error("there is no `{key}` in the store")]
    NotFound {
        /// The object's key.
        key: String,
    },
    /// The object is shorter than the range that was asked for.
    #[error("`{key}` holds {size} bytes, too few to read up to byte {end}")]
    OutOfRange {
        /// The object's key.
        key: String,
        /// The object's size in bytes.
        size: u64,
        /// Where the range ends.
        end: u64,
    },
    /// The object is larger than the caller accepts.
    #[error("`{key}` holds {size} bytes; at most {max_bytes} are accepted there")]
    TooLarge {
        /// The object's key.
        key: String,
        /// The object's size in bytes.
        size: u64,
        /// The most bytes that the caller accepts.
        max_bytes: u64,
    },
    /// The store refuses access.
    #[error("no permission for `{key}`; check who owns the store and what it grants")]
    PermissionDenied {
        /// The key that was used.
        key: String,
        /// What the store said.
        source: BoxError,
    },
    /// There is no room left: the disk, a quota or a limit on a file's size.
    #[error(
        "no room for `{key}`; free some space, or raise the quota or the limit on a file's size"
    )]
    StorageFull {
        /// The key that was used.
        key: String,
        /// What the store said.
        source: BoxError,
    },
    /// The store cannot be written to.
    #[error("cannot write `{key}`: the store is read-only")]
    ReadOnly {
        /// The key that was used.
        key: String,
        /// What the store said.
        source: BoxError,
    },
    /// Something that can stand in the store only by another's hand, such as a symbolic link.
    #[error("`{key}` is {found} where the store keeps {expected}; move it out of the store")]
    Misplaced {
        /// The key that was used, or the folder above it that is not one.
        key: String,
        /// What was found.
        found: &'static str,
        /// What should be there.
        expected: &'static str,
    },
    /// Anything else.
    #[error("the store failed at `{key}`")]
    Other {
        /// The key that was used.
        key: String,
        /// What the store said.
        source: BoxError,
    },
}

impl BackendError {
    /// Classifies an error by the [`io::Error`] that it is or that is among its sources.
    pub fn classify(key: &Key, source: impl Into<BoxError>) -> Self {
        Self::of(key.as_str().to_owned(), source.into())
    }

    /// Classifies an I/O error of something that has no key.
    pub(crate) fn of_io(name: &str, error: io::Error) -> Self {
        Self::of(name.to_owned(), error.into())
    }

    fn of(key: String, source: BoxError) -> Self {
        use io::ErrorKind;

        match io_kind(source.as_ref()) {
            Some(ErrorKind::NotFound) => Self::NotFound { key },
            Some(ErrorKind::PermissionDenied) => Self::PermissionDenied { key, source },
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) => {
                Self::StorageFull { key, source }
            }
            Some(ErrorKind::ReadOnlyFilesystem) => Self::ReadOnly { key, source },
            Some(ErrorKind::IsADirectory) => {
                Self::Misplaced { key, found: "a folder", expected: "a file" }
            }
            _ => Self::Other { key, source },
        }
    }

    /// Whether trying again cannot help until somebody has acted.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::PermissionDenied { .. }
                | Self::StorageFull { .. }
                | Self::ReadOnly { .. }
                | Self::Misplaced { .. }
        )
    }
}

/// The kind of the first I/O error along the chain of sources.
fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        link = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_io_error_is_found_among_the_sources() {
        let key = Key::new("a").unwrap();
        let classify = |kind: io::ErrorKind| BackendError::classify(&key, Outer(kind.into()));
        assert!(matches!(classify(io::ErrorKind::StorageFull), BackendError::StorageFull { .. }));
        assert!(matches!(classify(io::ErrorKind::FileTooLarge), BackendError::StorageFull { .. }));
        assert!(matches!(
            classify(io::ErrorKind::PermissionDenied),
            BackendError::PermissionDenied { .. }
        ));
        assert!(matches!(
            classify(io::ErrorKind::ReadOnlyFilesystem),
            BackendError::ReadOnly { .. }
        ));
        assert!(matches!(classify(io::ErrorKind::NotFound), BackendError::NotFound { .. }));
        assert!(matches!(classify(io::ErrorKind::Interrupted), BackendError::Other { .. }));
    }
}
