//! The folder that a store stands in, by the operations of the file system.

use std::collections::HashMap;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tempfile::TempPath;
use toolstub_store::{BackendError, Body, Created, Head, Key, SpoolWriter};

use super::listing::Listings;

/// How many folders are remembered as durable; with more, all are forgotten.
const MAX_REMEMBERED: usize = 4096;
/// How much of a spool is copied at a time, in bytes.
const COPIED: usize = 1 << 20;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// In place of the one that is there.
    Put,
    /// Only if there is none.
    Create,
}

/// A store's folder.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    fsync: bool,
    /// Folders whose entry in the folder above is known to be on the disk. A folder that was
    /// removed and made anew by another process is another one.
    durable: Mutex<HashMap<PathBuf, Identity>>,
    pub(super) listings: Listings,
}

impl Folder {
    /// Opens a folder, made if it is not there, and puts its own entry on the disk.
    pub(crate) fn open(root: &Path, fsync: bool) -> io::Result<Self> {
        let missing =
            std::path::absolute(root)?.ancestors().take_while(|path| !path.exists()).count();
        private_dir_builder(true).create(root)?;
        let root = fs::canonicalize(root)?;
        if !fs::metadata(&root)?.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "it is not a folder"));
        }
        if fsync {
            // The folder, those that were made with it, and the one that holds the outermost.
            root.ancestors().take(missing.max(1) + 1).try_for_each(|path| {
                match sync_dir(path) {
                    Err(error) if is_out_of_reach(&error) => Ok(()),
                    other => other,
                }
            })?;
        }
        Ok(Self { root, fsync, durable: Mutex::default(), listings: Listings::default() })
    }

    /// The folder's absolute path, without symbolic links.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a key.
    pub(super) fn path(&self, key: &Key) -> PathBuf {
        let mut path = self.root.clone();
        path.extend(key.as_str().split('/'));
        path
    }

    /// Makes the folders above a key.
    pub(crate) fn prepare(&self, key: &Key) -> Result<(), BackendError> {
        self.check_root()?;
        for (folder, path) in self.folders_above(key) {
            let mut made = false;
            let found = loop {
                match fs::symlink_metadata(&path) {
                    Ok(found) => break found,
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(BackendError::classify(key, error)),
                }
                match private_dir_builder(false).create(&path) {
                    Ok(()) => made = true,
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(BackendError::classify(key, error)),
                }
            };
            check_folder(folder, found.file_type())?;
            self.make_durable(&path, &found, made)
                .map_err(|error| BackendError::classify(key, error))?;
        }
        Ok(())
    }

    /// Puts a folder's entry on the disk. Whoever made it may not have come to that yet.
    fn make_durable(&self, path: &Path, found: &Metadata, made: bool) -> io::Result<()> {
        let identity = identity(found);
        let is_known = || self.remembered().get(path).is_some_and(|known| *known == identity);
        if !self.fsync || (!made && is_known()) {
            return Ok(());
        }
        path.parent().map_or(Ok(()), sync_dir)?;
        let mut remembered = self.remembered();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(path.to_owned(), identity);
        Ok(())
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<PathBuf, Identity>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A spool at the root, from where its file can be moved.
    pub(crate) fn spool(&self) -> Result<SpoolWriter, BackendError> {
        self.check_root()?;
        SpoolWriter::in_folder(&self.root)
    }

    /// Writes a file in a key's place.
    ///
    /// Nobody sees it before it is whole, nor anybody but its owner; and where `how` says so, only
    /// if there is none. It is staged at the root under a name of its own, where nothing that goes on
    /// among the results can touch it.
    pub(crate) fn write(&self, key: &Key, body: &Body, how: How) -> Result<Created, BackendError> {
        let failed = |error: io::Error| BackendError::classify(key, error);
        let target = self.path(key);
        let taken = match body {
            Body::Spool(spool) => spool.take_file(),
            Body::Bytes(_) => None,
        };
        let staged = match (body, taken) {
            (Body::Spool(spool), Some(file)) => {
                if self.fsync {
                    spool.sync().map_err(failed)?;
                }
                file
            }
            _ => self.stage(key, body)?,
        };
        let persisted = match how {
            How::Put => staged.persist(&target),
            How::Create => staged.persist_noclobber(&target),
        };
        match persisted {
            Ok(()) => {}
            Err(error) if how == How::Create && error.error.kind() == ErrorKind::AlreadyExists => {
                return Ok(Created::Existed);
            }
            // A spool whose file somebody has removed can still be read.
            Err(error) if matches!(body, Body::Spool(_)) && is_gone(&error.error) => {
                self.stage(key, body)?.persist(&target).map_err(|error| failed(error.error))?;
            }
            Err(error) => return Err(failed(error.error)),
        }
        if self.fsync {
            target.parent().map_or(Ok(()), sync_dir).map_err(failed)?;
        }
        Ok(Created::New)
    }

    /// Writes a body down at the root.
    fn stage(&self, key: &Key, body: &Body) -> Result<TempPath, BackendError> {
        let failed = |error: io::Error| BackendError::classify(key, error);
        let file = tempfile::Builder::new().prefix("spool-").suffix("#1").tempfile_in(&self.root);
        let (mut file, path) = file.map_err(failed)?.into_parts();
        match body {
            Body::Bytes(bytes) => file.write_all(bytes).map_err(failed)?,
            Body::Spool(spool) => {
                let mut buffer = vec![0; COPIED];
                let mut at = 0;
                loop {
                    let length = spool.read_at(at, &mut buffer)?;
                    if length == 0 {
                        break;
                    }
                    file.write_all(&buffer[..length]).map_err(failed)?;
                    at += length as u64;
                }
            }
        }
        if self.fsync {
            file.sync_all().map_err(failed)?;
        }
        Ok(path)
    }

    /// Checks that a key is that of a regular file, reached through nothing but folders.
    ///
    /// Opening a named pipe would wait for a writer, and a link may lead anywhere.
    pub(crate) fn check_file(&self, key: &Key) -> Result<Head, BackendError> {
        self.check_folders_above(key)?;
        let found = self.look_up(key)?;
        let kind = found.file_type();
        if kind.is_file() {
            head(key, &found)
        } else {
            Err(misplaced(key.as_str(), kind, "a file"))
        }
    }

    /// Removes a file, or whatever else stands in its place and is no folder.
    pub(crate) fn delete(&self, key: &Key) -> Result<(), BackendError> {
        let removed = self.check_folders_above(key).and_then(|()| {
            let kind = self.look_up(key)?.file_type();
            if kind.is_dir() {
                return Err(misplaced(key.as_str(), kind, "a file"));
            }
            fs::remove_file(self.path(key)).map_err(|error| BackendError::classify(key, error))
        });
        match removed {
            Err(BackendError::NotFound { .. }) => Ok(()),
            other => other,
        }
    }

    /// Puts on the disk what is in a folder.
    pub(crate) fn flush(&self, folder: &Key) -> Result<(), BackendError> {
        if !self.fsync {
            return Ok(());
        }
        let path = self.path(folder);
        let above = self.folders_above(folder).map(|(_, path)| path);
        let flushed = above.chain([path.clone()]).try_for_each(|path| {
            fs::symlink_metadata(&path).and_then(|found| self.make_durable(&path, &found, false))
        });
        match flushed.and_then(|()| sync_files(&path)).and_then(|()| sync_dir(&path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(BackendError::classify(folder, error))
            }
            _ => Ok(()),
        }
    }

    /// [`prune`](Self::prune) for the folder that holds a key.
    pub(crate) fn prune_above(&self, key: &Key) -> Result<(), BackendError> {
        match key.as_str().rsplit_once('/').map(|(folder, _)| Key::new(folder)) {
            Some(Ok(folder)) => self.prune(&folder),
            _ => Ok(()),
        }
    }

    /// Removes the folders below a folder that are empty, the folder itself and those above it,
    /// and the files that have no key.
    pub(crate) fn prune(&self, folder: &Key) -> Result<(), BackendError> {
        let pruned = self.check_folders_above(folder).and_then(|()| {
            check_folder(folder.as_str(), self.look_up(folder)?.file_type())?;
            prune_below(&self.path(folder)).map_err(|error| BackendError::classify(folder, error))
        });
        self.remembered().clear();
        match pruned {
            Ok(()) | Err(BackendError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut path = self.path(folder);
        while path != self.root && remove_if_empty(&path) {
            path.pop();
        }
        if self.fsync {
            sync_dir(&path).map_err(|error| BackendError::classify(folder, error))?;
        }
        Ok(())
    }

    /// The folders above a key from the outermost: each as a part of the key, and its path.
    fn folders_above<'a>(&self, key: &'a Key) -> impl Iterator<Item = (&'a str, PathBuf)> {
        let mut path = self.root.clone();
        let key = key.as_str();
        key.match_indices('/').map(move |(end, _)| {
            let folder = &key[..end];
            path.push(folder.rsplit('/').next().unwrap_or(folder));
            (folder, path.clone())
        })
    }

    fn check_root(&self) -> Result<(), BackendError> {
        let found = match fs::symlink_metadata(&self.root) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(found) => what(found.file_type()),
            Err(_) => "nothing",
        };
        let key = self.root.display().to_string();
        Err(BackendError::Misplaced { key, found, expected: "its root folder" })
    }

    /// Checks that a key is reached through nothing but folders.
    pub(super) fn check_folders_above(&self, key: &Key) -> Result<(), BackendError> {
        self.check_root()?;
        for (folder, path) in self.folders_above(key) {
            let found =
                fs::symlink_metadata(path).map_err(|error| BackendError::classify(key, error))?;
            check_folder(folder, found.file_type())?;
        }
        Ok(())
    }

    fn look_up(&self, key: &Key) -> Result<Metadata, BackendError> {
        fs::symlink_metadata(self.path(key)).map_err(|error| BackendError::classify(key, error))
    }
}

/// What tells a folder from another that had its path.
///
/// A number is soon given to another folder; when that was made tells them apart.
type Identity = (u64, u64, Option<SystemTime>);

#[cfg(unix)]
fn identity(found: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino(), found.created().ok())
}

#[cfg(not(unix))]
fn identity(found: &Metadata) -> Identity {
    (0, 0, found.created().ok())
}

/// What is known of a file, or of whatever else is no folder.
pub(super) fn head(key: &Key, found: &Metadata) -> Result<Head, BackendError> {
    let modified = found.modified().map_err(|error| BackendError::classify(key, error))?;
    Ok(Head { size: found.len(), modified })
}

pub(super) fn check_folder(folder: &str, found: FileType) -> Result<(), BackendError> {
    if found.is_dir() { Ok(()) } else { Err(misplaced(folder, found, "a folder")) }
}

fn misplaced(key: &str, found: FileType, expected: &'static str) -> BackendError {
    BackendError::Misplaced { key: key.to_owned(), found: what(found), expected }
}

fn what(found: FileType) -> &'static str {
    if found.is_symlink() {
        "a symbolic link"
    } else if found.is_dir() {
        "a folder"
    } else if found.is_file() {
        "a file"
    } else {
        "a special file"
    }
}

/// Removes the empty folders below a folder, the folder itself, and the files that have no key.
fn prune_below(folder: &Path) -> io::Result<()> {
    // The folders being read, from the outermost.
    let mut open = vec![(folder.to_owned(), fs::read_dir(folder)?)];
    while let Some((path, entries)) = open.last_mut() {
        let Some(entry) = entries.next() else {
            remove_if_empty(path);
            open.pop();
            continue;
        };
        let entry = entry?;
        let path = entry.path();
        let Some(kind) = unless_gone(entry.file_type())? else { continue };
        if kind.is_dir() {
            if let Some(entries) = unless_gone(fs::read_dir(&path))? {
                open.push((path, entries));
            }
        } else if entry.file_name().to_str().is_none_or(|name| Key::new(name).is_err()) {
            unless_gone(fs::remove_file(&path))?;
        }
    }
    Ok(())
}

/// `None` where somebody has removed what was asked for.
pub(super) fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Removes a folder; says whether it is gone.
fn remove_if_empty(path: &Path) -> bool {
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Whether an error only says that a folder is another's, read-only or without such a thing.
fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::InvalidInput
            | ErrorKind::Unsupported
    )
}

fn private_dir_builder(recursive: bool) -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(recursive);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Puts the files of a folder on the disk: whoever wrote them may not have waited for it.
fn sync_files(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if unless_gone(entry.file_type())?.is_some_and(|kind| kind.is_file())
            && let Some(file) = unless_gone(File::open(entry.path()))?
        {
            file.sync_all()?;
        }
    }
    Ok(())
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

/// Puts the entries of a folder on the disk.
#[cfg(unix)]
fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_dir(_path: &Path) -> io::Result<()> {
    Ok(())
}
