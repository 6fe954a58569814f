//! What a store really holds: the folder is walked, the bucket listed, past the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Error, ensure};
use regex::Regex;
use serde::Deserialize;

use super::mount::NotHere;

const BUCKET: &str = include_str!("bucket.py");
/// The keys that are documented.
const KEY: &str = r"^(sessions/[^/]+/(?:events/[^/]+/)?tool-results/[A-Za-z0-9_.-]+)/(output\.txt|metadata\.json)$";

const UPLOAD: &str = "an unfinished upload";
/// Its process died before it could leave word of it: only the bucket knows of it.
const UNNAMED_UPLOAD: &str = "an unfinished upload that nothing names";

/// Where a store stands.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Folder(PathBuf),
    Bucket { bucket: String, prefix: String, python: PathBuf },
}

/// What stands in a store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Holdings {
    /// The folders that hold a record and an output.
    pub(super) results: BTreeSet<String>,
    /// Everything else, by its key: a size, or what else it is.
    pub(super) others: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Listed {
    keys: Vec<(String, u64)>,
    /// Key, id, and whether an object beside it names the upload.
    uploads: Vec<(String, String, bool)>,
}

impl Place {
    /// The place of a location: a path or `s3://bucket/prefix`.
    pub(super) fn of(location: &str, python: &Path) -> Self {
        match location.strip_prefix("s3://") {
            Some(rest) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                let prefix = prefix.trim_matches('/').to_owned();
                Self::Bucket { bucket: bucket.to_owned(), prefix, python: python.to_owned() }
            }
            None => Self::Folder(PathBuf::from(location)),
        }
    }

    pub(super) fn holdings(&self) -> anyhow::Result<Holdings> {
        match self {
            Self::Folder(root) => walk(root),
            Self::Bucket { bucket, prefix, python } => {
                let prefix = below(prefix);
                let listed = run(python, &["list", bucket, &prefix])?;
                let listed: Listed = serde_json::from_slice(&listed)?;
                let relative = |key: String| key.strip_prefix(&prefix).unwrap_or(&key).to_owned();
                let keys = listed.keys.into_iter().map(|(key, size)| (relative(key), size));
                let mut holdings = Holdings::of(keys)?;
                for (key, id, is_named) in listed.uploads {
                    let what = if is_named { UPLOAD } else { UNNAMED_UPLOAD };
                    holdings.others.insert(format!("{} by {id}", relative(key)), what.to_owned());
                }
                Ok(holdings)
            }
        }
    }

    /// What stands there, as files below a folder: the place itself, or a copy of what a bucket holds.
    pub(super) fn fetch(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        match self {
            Self::Folder(root) => Ok(root.clone()),
            Self::Bucket { bucket, prefix, python } => {
                run(python, &["fetch", bucket, &below(prefix), &folder.to_string_lossy()])?;
                Ok(folder.to_owned())
            }
        }
    }

    /// Copies what a bucket holds below its prefix to another bucket.
    pub(super) fn copy_to(&self, target: &str) -> anyhow::Result<()> {
        let Self::Bucket { bucket, prefix, python } = self else { return Ok(()) };
        run(python, &["copy", bucket, &below(prefix), target]).map(drop)
    }
}

/// What the keys below a prefix begin with.
fn below(prefix: &str) -> String {
    if prefix.is_empty() { String::new() } else { format!("{prefix}/") }
}

fn run(python: &Path, args: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new(python);
    command.args(["-c", BUCKET]).args(args);
    let output = command.output().map_err(|error| {
        let told = format!("cannot run {}: {error}", python.display());
        if error.kind() == ErrorKind::NotFound { NotHere::because(told) } else { Error::msg(told) }
    })?;
    let err = String::from_utf8_lossy(&output.stderr);
    let last = err.trim().lines().next_back().unwrap_or_default();
    if last.starts_with("ModuleNotFoundError") {
        return Err(NotHere::because(format!("{}: {last}", python.display())));
    }
    ensure!(output.status.success(), "{} with boto3: {last}", python.display());
    Ok(output.stdout)
}

impl Holdings {
    fn of(keys: impl IntoIterator<Item = (String, u64)>) -> anyhow::Result<Self> {
        let documented = Regex::new(KEY)?;
        let mut folders: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let mut others = BTreeMap::new();
        for (key, size) in keys {
            if let Some(parts) = documented.captures(&key) {
                folders.entry(parts[1].to_owned()).or_default().insert(parts[2].to_owned(), size);
            } else {
                others.insert(key, format!("{size} bytes"));
            }
        }
        let mut results = BTreeSet::new();
        for (folder, files) in folders {
            if files.len() == 2 {
                results.insert(folder);
            } else {
                let alone = |(name, size)| (format!("{folder}/{name}"), format!("{size} bytes"));
                others.extend(files.into_iter().map(alone));
            }
        }
        Ok(Self { results, others })
    }

    /// Whether there is nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.others.is_empty()
    }

    /// Takes away what is there as well as in `earlier`, and is an upload that nothing named there; how
    /// many that are.
    pub(super) fn excuse_unnamed(&mut self, earlier: &Self) -> usize {
        let all = self.others.len();
        let is_unnamed =
            |key: &str| earlier.others.get(key).is_some_and(|what| what == UNNAMED_UPLOAD);
        self.others.retain(|key, _| !is_unnamed(key));
        all - self.others.len()
    }

    /// What is there beside results, each in a line.
    pub(super) fn strays(&self) -> Vec<String> {
        self.others.iter().map(|(key, what)| format!("{key}: {what}")).collect()
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |of: fn(&str, &str) -> bool| {
            self.others.iter().filter(|(key, what)| of(key, what)).count()
        };
        let outputs = count(|key, _| key.ends_with("/output.txt"));
        let records = count(|key, _| key.ends_with("/metadata.json"));
        let folders = count(|_, what| what == "an empty folder");
        let uploads = count(|_, what| what == UPLOAD || what == UNNAMED_UPLOAD);
        let rest = self.others.len() - outputs - records - folders - uploads;
        write!(
            f,
            "{} results, {outputs} outputs without a record, {records} records without an output, \
             {uploads} unfinished uploads, {folders} empty folders, {rest} other files",
            self.results.len()
        )
    }
}

/// Every file below a folder by its path, and the folders that hold nothing.
fn walk(root: &Path) -> anyhow::Result<Holdings> {
    let (mut files, mut empty) = (Vec::new(), Vec::new());
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder);
        let entries = match entries {
            Err(error) if folder == root && error.kind() == ErrorKind::NotFound => break,
            entries => entries.with_context(|| format!("cannot list {}", folder.display()))?,
        };
        let relative =
            |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let mut count = 0;
        for entry in entries {
            let entry = entry?;
            count += 1;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                files.push((relative(&entry.path()), entry.metadata()?.len()));
            }
        }
        if count == 0 && folder != root {
            empty.push((relative(&folder), "an empty folder".to_owned()));
        }
    }
    let mut holdings = Holdings::of(files)?;
    holdings.others.extend(empty);
    Ok(holdings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_upload_that_nothing_named_is_excused() {
        let holdings = |uploads: [&str; 3]| {
            let others = ["a", "b", "c"].map(str::to_owned).into_iter();
            let others = others.zip(uploads.map(str::to_owned)).collect();
            Holdings { others, ..Holdings::default() }
        };
        let mut after = holdings([UNNAMED_UPLOAD, UNNAMED_UPLOAD, "7 bytes"]);
        assert_eq!(after.excuse_unnamed(&holdings([UNNAMED_UPLOAD, UPLOAD, "7 bytes"])), 1);
        assert_eq!(after.others.len(), 2);
    }

    #[test]
    fn a_result_is_two_files_in_a_documented_place() {
        let keys = [
            "sessions/s/tool-results/tr_1/output.txt",
            "sessions/s/tool-results/tr_1/metadata.json",
            "sessions/s/events/e/tool-results/tr_2/metadata.json",
            "sessions/s/tool-results/tr_3/output.txt#1",
            "spool-x#1",
        ];
        let holdings = Holdings::of(keys.map(|key| (key.to_owned(), 7))).unwrap();
        let results: Vec<_> = holdings.results.iter().map(String::as_str).collect();
        assert_eq!(results, ["sessions/s/tool-results/tr_1"]);
        let others: Vec<_> = holdings.others.keys().map(String::as_str).collect();
        assert_eq!(others, [keys[2], keys[3], keys[4]]);
        assert!(holdings.to_string().starts_with("1 results, 0 outputs without a record, 1 rec"));
    }
}
