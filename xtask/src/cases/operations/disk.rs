//! `delete_session`, `reopen`, `files` and `fs_fault`: the store as it lies on the disk.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Answer, Done, Failure, Fields, Outcome};
use crate::cases::limit::FileSizeLimit;
use crate::cases::run::State;
use crate::cases::subject::session_folder;

pub(super) fn delete_session(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    let session = fields.text("session")?;
    fields.finish()?;
    let deleted = state.subject()?.delete_session(session).map_err(Failure::from);
    let answer = deleted.and_then(|()| {
        let files = files_below(&session_folder(&state.root, session)?)?;
        let size = |path: &PathBuf| path.symlink_metadata().map_or(0, |metadata| metadata.len());
        Ok(Answer::Deleted { bytes_left: files.iter().map(size).sum(), files_left: files.len() })
    });
    Ok(Outcome::Done(Done::new(answer)))
}

pub(super) fn reopen(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    fields.finish()?;
    state.subject = None;
    let answer = state.subject().map(|_| Answer::Nothing).map_err(Failure::from);
    Ok(Outcome::Done(Done::new(answer)))
}

pub(super) fn files(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    fields.finish()?;
    let all = paths_below(&state.outside)?;
    let outside = all.iter().filter(|path| !path.is_dir() && !path.starts_with(&state.root));
    let outside_root = outside.map(|path| path.display().to_string()).collect();
    let stored = all.iter().filter(|path| path.starts_with(&state.root) && **path != state.root);
    let name = |path: &PathBuf| path.file_name().map_or(0, std::ffi::OsStr::len);
    let longest_name = stored.map(name).max().unwrap_or(0);
    Ok(Outcome::Done(Done::new(Ok(Answer::Disk { outside_root, longest_name }))))
}

pub(super) fn fs_fault(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    let kind = fields.text("kind")?;
    let session = fields.optional_text("session")?;
    let sessions: Vec<String> =
        session.map_or_else(|| state.sessions.clone(), |session| vec![session.to_owned()]);
    let done = match kind {
        "root_is_file" => {
            fields.finish()?;
            // The store is open by now, as it is where a disk fails: the root is replaced below it.
            state.subject()?;
            replace_by_file(&state.root)
        }
        "session_dir_is_file" => {
            fields.finish()?;
            state.subject()?;
            let folder = |session: &String| session_folder(&state.root, session);
            let folders: Result<Vec<_>, _> = sessions.iter().map(folder).collect();
            folders?.iter().try_for_each(|folder| replace_by_file(folder))
        }
        "stray_file" => {
            let names = names(fields)?;
            fields.finish()?;
            let mut folders = Vec::new();
            for session in &sessions {
                let folder = session_folder(&state.root, session)?;
                folders.extend(paths_below(&folder)?.into_iter().filter(|path| path.is_dir()));
                folders.push(folder);
            }
            let mut files =
                folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
            files.try_for_each(|file| std::fs::write(file, "stray"))
        }
        "truncate_blob" => {
            let bytes = fields.value("bytes").map_or(Ok(1), crate::cases::integer::integer)?;
            let bytes = u64::try_from(bytes).map_err(|_| "`bytes` is a size")?;
            fields.finish()?;
            let mut blobs = Vec::new();
            for session in &sessions {
                let files = files_below(&session_folder(&state.root, session)?)?;
                blobs.extend(files.into_iter().filter(|path| path.ends_with("output.txt")));
            }
            blobs.iter().try_for_each(|blob| truncate(blob, bytes))
        }
        "file_size_limit" => {
            let kib = fields.integer("kib")?;
            let bytes = u64::try_from(kib).ok().and_then(|kib| kib.checked_mul(1024));
            let bytes = bytes.ok_or("`kib` is a size")?;
            fields.finish()?;
            FileSizeLimit::set(bytes)
                .map(|limit| state.limit = Some(limit))
                .map_err(std::io::Error::other)
        }
        kind => return Err(format!("unknown fault `{kind}`")),
    };
    let answer = done.map(|()| Answer::Nothing);
    let answer = answer.map_err(|error| Failure::from(format!("cannot set the fault up: {error}")));
    Ok(Outcome::Done(Done::new(answer)))
}

fn names<'a>(fields: &Fields<'a>) -> Result<Vec<&'a str>, String> {
    let Some(names) = fields.value("names") else { return Ok(vec!["stray.tmp"]) };
    let names = names.as_array().ok_or("`names` is a list")?;
    names.iter().map(Value::as_str).collect::<Option<_>>().ok_or("a name is a string".to_owned())
}

fn replace_by_file(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        std::fs::remove_dir_all(path)?;
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, "in the way")
}

fn truncate(blob: &Path, bytes: u64) -> std::io::Result<()> {
    let size = std::fs::metadata(blob)?.len();
    let mut permissions = std::fs::metadata(blob)?.permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the file goes with the case")]
    permissions.set_readonly(false);
    std::fs::set_permissions(blob, permissions)?;
    let file = std::fs::OpenOptions::new().write(true).open(blob)?;
    file.set_len(size.saturating_sub(bytes))
}

/// Every file and folder below a folder; nothing where there is none.
fn paths_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                paths.push(folder);
                continue;
            }
            entries => entries.map_err(|error| error.to_string())?,
        };
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
            }
            paths.push(path);
        }
    }
    Ok(paths)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths = paths_below(folder)?;
    paths.retain(|path| path.is_symlink() || !path.is_dir());
    Ok(paths)
}
