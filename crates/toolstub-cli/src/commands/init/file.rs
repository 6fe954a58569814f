//! Files of hosts: read whole, and put in place whole.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 64 << 20;
/// How many backups of a file there are at most.
const MOST_BACKUPS: u32 = 100;

/// The text of a file; `None` if there is no such file.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(anyhow!("it is a link that leads nowhere"));
            }
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    if !about.is_file() || about.len() > LONGEST {
        return Err(anyhow!("it is no file that can be a configuration"));
    }
    let bytes = fs::read(path)?;
    String::from_utf8(bytes).map(Some).context("it is not UTF-8")
}

/// Refuses a file of a project that is elsewhere: the project's makers say where its links lead, and what is
/// there is not theirs to have changed.
pub(super) fn stays_inside(project: &Path, path: &Path) -> anyhow::Result<()> {
    let real = fs::canonicalize(project)?;
    let folders = path.ancestors().take_while(|folder| *folder != project);
    for at in folders.filter(|at| at.is_symlink()) {
        let led = fs::canonicalize(at)
            .with_context(|| format!("{} is a link that leads nowhere", at.display()))?;
        if !led.starts_with(&real) {
            return Err(anyhow!("{} is a link that leads out of the project", at.display()));
        }
    }
    Ok(())
}

/// The names that a file's backups have, in the order in which they are given.
fn backups(path: &Path) -> impl DoubleEndedIterator<Item = PathBuf> {
    (0..MOST_BACKUPS).map(move |number| {
        let mut name = path.as_os_str().to_owned();
        name.push(".bak");
        if number > 0 {
            name.push(format!(".{number}"));
        }
        name.into()
    })
}

/// The last backup of a file whose text is the wanted one. What is a link is none.
pub(super) fn backup(path: &Path, is_it: impl Fn(&str) -> bool) -> Option<(PathBuf, String)> {
    backups(path).rev().find_map(|backup| {
        let about = fs::symlink_metadata(&backup).ok()?;
        if !about.is_file() || about.len() > LONGEST {
            return None;
        }
        let text = fs::read_to_string(&backup).ok()?;
        is_it(&text).then_some((backup, text))
    })
}

/// Keeps the text of a file beside it, under a name that nothing has yet.
pub(super) fn keep(path: &Path, text: &str) -> anyhow::Result<()> {
    for backup in backups(path) {
        match create(&backup, text, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done.with_context(|| format!("cannot write {}", backup.display())),
        }
    }
    Err(anyhow!("it has {MOST_BACKUPS} backups; remove some"))
}

/// Puts a text in the place of a file's, at once or not at all. Where the file is a link, what it leads to is
/// replaced. Permissions stay.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let path = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error.into()),
    };
    let folder = path.parent().ok_or_else(|| anyhow!("it has no folder"))?;
    fs::create_dir_all(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".toolstub-{}", std::process::id()));
    let beside = folder.join(name);
    create(&beside, text, &path)?;
    fs::rename(&beside, &path).inspect_err(|_| {
        // What is left of it is of no use, and the error says more.
        let _ = fs::remove_file(&beside);
    })?;
    Ok(())
}

/// Makes a file with the permissions of another, if there is that. Nothing that has its name already is
/// replaced, and no link is followed.
fn create(path: &Path, text: &str, like: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let about = fs::metadata(like).ok();
    #[cfg(unix)]
    if about.is_some() {
        // Nobody else reads it before its permissions are set.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(path)?;
    let written = about
        .map_or(Ok(()), |about| file.set_permissions(about.permissions()))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}
