//! Files of hosts: read whole, and put in place whole.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::folder::{Folder, Readers};

/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 64 << 20;
/// How many backups of a file there are at most.
const MOST_BACKUPS: u32 = 100;

/// A file of a host, which may be there or not.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The folder in which it stands, without links; its backups stand there too.
    folder: PathBuf,
    /// Where it is. That is elsewhere if it is a link.
    real: PathBuf,
    /// What nothing outside of is touched.
    project: Option<PathBuf>,
}

impl Place {
    /// The file of a path. In a project it has to be below that: the project's makers say where its links
    /// lead, and what is there is not theirs to have changed.
    pub(super) fn new(path: PathBuf, project: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(project) = project {
            stays_inside(project, &path)?;
        }
        let parent = path.parent().ok_or_else(|| anyhow!("it has no folder"))?;
        let (folder, real) = (without_links(parent)?, without_links(&path)?);
        let project = project.map(fs::canonicalize).transpose()?;
        Ok(Self { path, folder, real, project })
    }

    /// The text of the file; `None` if there is no such file.
    pub(super) fn read(&self) -> anyhow::Result<Option<String>> {
        let leads_nowhere = |path: &Path| path.is_symlink() && !path.exists();
        if leads_nowhere(&self.path) {
            return Err(anyhow!("it is a link that leads nowhere"));
        }
        let file = match self.real() {
            Ok(file) => file,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(no_file()),
            Err(error) => return Err(error.into()),
        };
        text(file).map(Some)
    }

    /// Refuses a file that its owner has made read-only: another must not take its place.
    pub(super) fn check_writable(&self) -> anyhow::Result<()> {
        if self.real()?.metadata()?.permissions().readonly() {
            return Err(anyhow!("it is read-only; make it writable first"));
        }
        Ok(())
    }

    /// The backups whose texts are the wanted ones, with their names. What is a link is none.
    pub(super) fn backups_that(&self, are_it: impl Fn(&str) -> bool) -> Vec<(OsString, String)> {
        let Ok(folder) = self.open(&self.folder, false) else { return Vec::new() };
        let backups = self.backups().filter_map(|name| {
            let text = text(folder.plain(&name).ok()?).ok()?;
            are_it(&text).then_some((name, text))
        });
        backups.collect()
    }

    /// Keeps a text of the file beside it, under a name that nothing has yet.
    pub(super) fn keep(&self, text: &str) -> anyhow::Result<OsString> {
        let folder = self.open(&self.folder, true)?;
        for name in self.backups() {
            match self.create(&folder, &name, text) {
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let name = self.path.with_file_name(name);
                    return Err(error).with_context(|| format!("cannot write {}", name.display()));
                }
            }
        }
        Err(anyhow!("it has {MOST_BACKUPS} backups; remove some"))
    }

    /// Puts a text in the place of the file's, at once or not at all. Where the file is a link, what it
    /// leads to is replaced. Permissions stay.
    pub(super) fn write(&self, text: &str) -> anyhow::Result<()> {
        let (folder, name) = self.real_parts();
        let folder = self.open(folder, true)?;
        let mut beside = name.to_owned();
        beside.push(format!(".toolstub-{}", std::process::id()));
        self.create(&folder, &beside, text)?;
        folder.rename(&beside, name).inspect_err(|_| {
            // What is left of it is of no use, and the error says more.
            let _ = folder.remove(&beside);
        })?;
        Ok(())
    }

    /// Takes the file away, or the link.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.remove_beside(self.path.file_name().unwrap_or_default())
    }

    /// Takes a file beside it away.
    pub(super) fn remove_beside(&self, name: &OsStr) -> io::Result<()> {
        self.open(&self.folder, false)?.remove(name)
    }

    /// The names that backups have, in the order in which they are given.
    fn backups(&self) -> impl Iterator<Item = OsString> {
        let own = self.path.file_name().unwrap_or_default();
        (0..MOST_BACKUPS).map(move |number| {
            let mut name = own.to_owned();
            name.push(".bak");
            if number > 0 {
                name.push(format!(".{number}"));
            }
            name
        })
    }

    fn real_parts(&self) -> (&Path, &OsStr) {
        let parent = self.real.parent().unwrap_or(Path::new("/"));
        (parent, self.real.file_name().unwrap_or_default())
    }

    fn real(&self) -> io::Result<File> {
        let (folder, name) = self.real_parts();
        self.open(folder, false)?.plain(name)
    }

    /// Opens a folder whose path has no links. If it has one by now, in a project, that is an error.
    fn open(&self, folder: &Path, make: bool) -> io::Result<Folder> {
        let Some(project) = &self.project else {
            if make {
                fs::create_dir_all(folder)?;
            }
            return Folder::at(folder);
        };
        let below = folder.strip_prefix(project).map_err(io::Error::other)?;
        Folder::at(project)?.walk(below, make)
    }

    /// Makes a file with the permissions of this one, if there is that. Nothing that has its name already is
    /// replaced.
    fn create(&self, folder: &Folder, name: &OsStr, text: &str) -> io::Result<()> {
        let like = self.real().and_then(|file| file.metadata()).ok();
        // Nobody else reads it before its permissions are set. What hosts put into a file of a user's later
        // may be secret.
        let is_usual = like.is_none() && self.project.is_some();
        let readers = if is_usual { Readers::Usual } else { Readers::User };
        let mut file = folder.create(name, readers)?;
        let written = like
            .map_or(Ok(()), |like| file.set_permissions(like.permissions()))
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all());
        written.inspect_err(|_| {
            let _ = folder.remove(name);
        })
    }
}

fn no_file() -> anyhow::Error {
    anyhow!("it is no file that can be a configuration")
}

/// The whole text of a file.
fn text(file: File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(no_file());
    }
    String::from_utf8(bytes).context("it is not UTF-8")
}

/// Refuses a file of a project that is elsewhere.
fn stays_inside(project: &Path, path: &Path) -> anyhow::Result<()> {
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

/// A path without links; what is not there yet stands behind.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    for folder in path.ancestors() {
        match fs::canonicalize(folder) {
            Ok(real) => {
                let rest = path.strip_prefix(folder).map_err(io::Error::other)?;
                // A separator behind it would ask for a folder.
                return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::NotFound.into())
}
