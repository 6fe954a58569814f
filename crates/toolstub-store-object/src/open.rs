//! Opening a store by its location.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolstub_store::{Backend, BoxError, MemoryBackend};
use url::Url;

/// How to open a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether a write to a local folder waits until it is on the disk (the default).
    ///
    /// Without it a power cut can lose what was acknowledged.
    pub fsync: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { fsync: true }
    }
}

/// A location that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A location in a form that is not known.
    #[error("`{location}` is not a store's location; give a path, file:///path or memory:")]
    Unknown {
        /// What was given, without what may be secret in it.
        location: String,
    },
    /// A location that this build cannot open.
    #[error("{scheme}: stores cannot be opened by this build")]
    NotBuilt {
        /// The scheme.
        scheme: &'static str,
    },
    /// A file URL that names no absolute path of this machine.
    #[error(
        "`{location}` names no folder of this machine; give file:///path with an absolute path and without a host, a query or a fragment"
    )]
    FileUrl {
        /// What was given.
        location: String,
    },
    /// A folder that cannot be opened or made.
    #[error("cannot open the folder `{}` as a store", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A store that cannot be set up.
    #[error("cannot set up a store in `{}`", path.display())]
    Store {
        /// The folder.
        path: PathBuf,
        /// What went wrong.
        source: BoxError,
    },
}

/// Opens a store: a path, `file:///path`, or `memory:` for one that ends with the process.
///
/// A local folder is made if it is not there.
pub fn open(location: &str, options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    match location.split_once(':') {
        Some(("memory", "" | "//" | "///")) => Ok(Arc::new(MemoryBackend::new())),
        Some(("file", _)) => open_folder(&file_path(location)?, options),
        Some(("s3", _)) => Err(OpenError::NotBuilt { scheme: "s3" }),
        Some((scheme, rest)) if scheme == "memory" || rest.starts_with("//") => {
            Err(OpenError::Unknown { location: format!("{scheme}:…") })
        }
        None if location.is_empty() => Err(OpenError::Unknown { location: String::new() }),
        _ => open_folder(Path::new(location), options),
    }
}

/// The path that a file URL names.
fn file_path(location: &str) -> Result<PathBuf, OpenError> {
    // The URL standard takes `file:x` and `file://x` for more than they say.
    let path = location
        .starts_with("file:///")
        .then(|| Url::parse(location).ok())
        .flatten()
        .filter(|url| url.query().is_none() && url.fragment().is_none())
        .and_then(|url| url.to_file_path().ok());
    path.ok_or_else(|| OpenError::FileUrl { location: location.to_owned() })
}

#[cfg(feature = "local")]
fn open_folder(path: &Path, options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    Ok(Arc::new(crate::LocalBackend::open(path, options)?))
}

#[cfg(not(feature = "local"))]
fn open_folder(_path: &Path, _options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    Err(OpenError::NotBuilt { scheme: "file" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(location: &str, says: &str) {
        let error = open(location, &OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn other_locations_are_refused() {
        refuses("", "give a path");
        refuses("s3://bucket/prefix", "s3: stores");
        refuses("ftp://user:secret@host/x", "`ftp:…` is not a store's location");
        refuses("memory://host/x", "`memory:…`");
        for url in
            ["file:x", "file:/x", "file://host/x", "file://./x", "file:///x?y", "file:///x#y"]
        {
            refuses(url, "names no folder of this machine");
        }
    }

    #[test]
    fn file_urls_name_paths() {
        assert_eq!(file_path("file:///a%20b/c").unwrap(), Path::new("/a b/c"));
        assert!(open("memory:", &OpenOptions::default()).is_ok());
    }
}
