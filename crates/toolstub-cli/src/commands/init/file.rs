//! Files of hosts: read whole, and put in place whole.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 64 << 20;

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

/// Where the backup of a file is.
pub(super) fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".bak");
    name.into()
}

/// Puts a text in the place of a file's, at once or not at all. Where the file is a link, what it leads to is
/// replaced. Permissions stay; a new file takes them from `like`.
pub(super) fn write(path: &Path, text: &str, like: Option<&Path>) -> anyhow::Result<()> {
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
    let written = put(&beside, text, &path, like).and_then(|()| Ok(fs::rename(&beside, &path)?));
    if written.is_err() {
        // What is left of it is of no use, and the error says more.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn put(beside: &Path, text: &str, path: &Path, like: Option<&Path>) -> anyhow::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(beside)?;
    let mut models = [Some(path), like].into_iter().flatten();
    if let Some(about) = models.find_map(|model| fs::metadata(model).ok()) {
        file.set_permissions(about.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(())
}
