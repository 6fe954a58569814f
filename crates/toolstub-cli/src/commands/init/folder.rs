//! A folder that is held open. Where the system can, nothing in it is reached by a path that could lead
//! elsewhere by then, and no link is followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
pub(super) use self::held::Folder;
#[cfg(not(unix))]
pub(super) use self::named::Folder;

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// Whoever may read what this user makes.
    Usual,
    /// Nobody else.
    User,
}

impl Folder {
    /// The folder that names lead to from this one; those that are not there are made if that is wanted.
    pub(super) fn walk(self, path: &Path, make: bool) -> io::Result<Self> {
        path.components().try_fold(self, |folder, name| folder.below(name.as_os_str(), make))
    }

    /// A file in it, opened to be read: a plain one, or it is an error.
    pub(super) fn plain(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open(name)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"))
    }
}

#[cfg(unix)]
mod held {
    use std::os::fd::OwnedFd;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat};

    use super::{File, OsStr, Path, Readers, io};

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    #[derive(Debug)]
    pub(in super::super) struct Folder(OwnedFd);

    impl Folder {
        pub(in super::super) fn at(path: &Path) -> io::Result<Self> {
            Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
        }

        pub(super) fn below(self, name: &OsStr, make: bool) -> io::Result<Self> {
            if make {
                match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(Self(openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
        }

        pub(super) fn open(&self, name: &OsStr) -> io::Result<File> {
            // A pipe is not waited for.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::empty())?.into())
        }

        pub(in super::super) fn create(&self, name: &OsStr, readers: Readers) -> io::Result<File> {
            let mode = if readers == Readers::User { 0o600 } else { 0o666 };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::from_raw_mode(mode))?.into())
        }

        pub(in super::super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        pub(in super::super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }
    }
}

#[cfg(not(unix))]
mod named {
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;

    use super::{File, OsStr, Path, Readers, io};

    #[derive(Debug)]
    pub(in super::super) struct Folder(PathBuf);

    impl Folder {
        pub(in super::super) fn at(path: &Path) -> io::Result<Self> {
            fs::metadata(path)?;
            Ok(Self(path.to_owned()))
        }

        pub(super) fn below(self, name: &OsStr, make: bool) -> io::Result<Self> {
            let path = self.0.join(name);
            if make {
                fs::create_dir_all(&path)?;
            }
            Self::at(&path)
        }

        pub(super) fn open(&self, name: &OsStr) -> io::Result<File> {
            let path = self.0.join(name);
            if fs::symlink_metadata(&path)?.is_symlink() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link"));
            }
            File::open(path)
        }

        pub(in super::super) fn create(&self, name: &OsStr, _: Readers) -> io::Result<File> {
            OpenOptions::new().write(true).create_new(true).open(self.0.join(name))
        }

        pub(in super::super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(in super::super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file"), "theirs").unwrap();
        symlink(outside.path(), home.path().join("link")).unwrap();
        symlink(outside.path().join("file"), home.path().join("file")).unwrap();
        let folder = || Folder::at(home.path()).unwrap();
        for path in ["link", "link/below", "a/../link"] {
            assert!(folder().walk(Path::new(path), true).is_err(), "{path}");
        }
        assert!(folder().plain(OsStr::new("file")).is_err());
        assert!(folder().create(OsStr::new("file"), Readers::Usual).is_err());
        assert!(folder().plain(OsStr::new("a")).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "theirs");
        // What takes the place of a link does not go where that leads.
        let made = folder().walk(Path::new("b/c"), true).unwrap();
        made.create(OsStr::new("new"), Readers::User).unwrap();
        symlink(outside.path().join("file"), home.path().join("b/c/old")).unwrap();
        made.rename(OsStr::new("new"), OsStr::new("old")).unwrap();
        assert!(fs::symlink_metadata(home.path().join("b/c/old")).unwrap().is_file());
        made.remove(OsStr::new("old")).unwrap();
        assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "theirs");
    }
}
