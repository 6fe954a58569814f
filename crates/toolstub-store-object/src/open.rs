//! Opening a store by its location.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolstub_store::{Backend, BoxError, MemoryBackend};
use url::Url;

use crate::Variables;

/// How to open a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether a write to a local folder waits until it is on the disk (the default).
    ///
    /// Without it a power cut can lose what was acknowledged.
    pub fsync: bool,
    /// Whether a local folder that is not there is made (the default), or is [`OpenError::Missing`].
    pub create: bool,
    /// The variables that say how to reach a bucket (none by default).
    ///
    /// The process is not asked for its own: give [`Variables::of_process`].
    pub variables: Variables,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { fsync: true, create: true, variables: Variables::default() }
    }
}

/// A location that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A location in a form that is not known.
    #[error(
        "`{location}` is not a store's location; give a path, file:///path, s3://bucket/prefix or memory:"
    )]
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
    /// A file URL that names no absolute path of this machine. What was given may hold secrets
    /// and is not told.
    #[error(
        "`file:…` names no folder of this machine; give file:///path with an absolute path and without a host, a query or a fragment"
    )]
    FileUrl,
    /// A location in a bucket that is not usable. What was given may hold secrets and is not told.
    #[error("that is not a location in a bucket: {problem}; give s3://bucket/prefix")]
    S3Url {
        /// What is wrong.
        problem: &'static str,
    },
    /// A variable whose value cannot be used. The value may be secret and is not told.
    #[error("the value of {name} cannot be used; {expected}")]
    Variable {
        /// The variable's name.
        name: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// Two variables that go together, of which one is missing.
    #[error("{set} is set and {missing} is not; set both")]
    HalfSet {
        /// The one that is set.
        set: &'static str,
        /// The one that is missing.
        missing: &'static str,
    },
    /// No variable says who asks a bucket.
    #[error(
        "there are no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
         AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or AWS_EC2_METADATA_DISABLED=false to take \
         those of the machine, or AWS_SKIP_SIGNATURE=true for a bucket that is open to all; \
         profiles and files of other tools are not read"
    )]
    Credentials,
    /// The way to a bucket that cannot be set up.
    #[error(
        "cannot set up the way to the bucket; TLS needs the certificates of the system, or others by SSL_CERT_FILE or AWS_CA_BUNDLE"
    )]
    S3 {
        /// What went wrong.
        source: BoxError,
    },
    /// A folder that is not there, and is not to be made.
    #[error("there is no store at `{}`", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
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

/// Opens a store: a path, `file:///path`, `s3://bucket/prefix`, or `memory:` for one that ends with
/// the process.
///
/// A local folder is made if it is not there, unless the options say otherwise. A bucket is not asked
/// for anything yet; but the first one that is opened has TLS done by `ring` in the whole process,
/// unless that has a default provider of `rustls` already.
pub fn open(location: &str, options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    if let Some(path) = as_path(location) {
        return open_folder(path, options);
    }
    match location.split_once(':') {
        Some(("memory", "" | "//" | "///")) => Ok(Arc::new(MemoryBackend::new())),
        Some(("file", _)) => open_folder(&file_path(location)?, options),
        Some(("s3", _)) => open_bucket(location, options),
        Some((scheme, _)) => Err(OpenError::Unknown { location: format!("{scheme}:…") }),
        None => Err(OpenError::Unknown { location: String::new() }),
    }
}

/// The path that a location is, where it is one and no URL. It may be one from the current folder.
///
/// ```
/// use toolstub_store_object::as_path;
/// assert!(as_path("./a:b").is_some() && as_path("s3://a/b").is_none());
/// ```
pub fn as_path(location: &str) -> Option<&Path> {
    let is_path = match location.split_once(':') {
        Some((scheme, rest)) => {
            !matches!(scheme, "memory" | "file" | "s3") && !rest.starts_with("//")
        }
        None => !location.is_empty(),
    };
    is_path.then_some(Path::new(location))
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
    path.ok_or(OpenError::FileUrl)
}

#[cfg(feature = "local")]
fn open_folder(path: &Path, options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    Ok(Arc::new(crate::LocalBackend::open(path, options)?))
}

#[cfg(not(feature = "local"))]
fn open_folder(_path: &Path, _options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    Err(OpenError::NotBuilt { scheme: "file" })
}

#[cfg(feature = "s3")]
fn open_bucket(location: &str, options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    Ok(Arc::new(crate::S3Backend::open(location, &options.variables)?))
}

#[cfg(not(feature = "s3"))]
fn open_bucket(_location: &str, _options: &OpenOptions) -> Result<Arc<dyn Backend>, OpenError> {
    Err(OpenError::NotBuilt { scheme: "s3" })
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
        let credentials =
            if cfg!(feature = "s3") { "AWS_ACCESS_KEY_ID" } else { "s3: stores cannot" };
        refuses("s3://bucket/prefix", credentials);
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
