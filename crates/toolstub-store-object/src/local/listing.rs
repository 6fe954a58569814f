//! Listings of a folder: in order, and of bounded memory however much it holds.

use std::collections::{BinaryHeap, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use toolstub_store::{BackendError, Depth, Entry, Key, ListOptions, ListPage};

use super::folder::{Folder, check_folder, head, unless_gone};

/// How many entries of a folder are looked at together on the way down.
const BATCH: usize = 1024;

impl Folder {
    /// Lists a page. A folder that is not there holds nothing.
    pub(crate) fn list(&self, options: &ListOptions) -> Result<ListPage, BackendError> {
        let listed = match &options.folder {
            Some(key) => self.check_folders_above(key).and_then(|()| {
                let found = fs::symlink_metadata(self.path(key))
                    .map_err(|error| BackendError::classify(key, error))?;
                check_folder(key.as_str(), found.file_type())
            }),
            None => Ok(()),
        };
        match listed {
            Ok(()) => {}
            Err(BackendError::NotFound { .. }) => return Ok(ListPage::default()),
            Err(error) => return Err(error),
        }

        let mut page = ListPage::default();
        let mut walk = vec![Level::new(String::new())];
        while let Some(level) = walk.last_mut() {
            let marker = match level.batch.pop_front() {
                Some(marker) => marker,
                None if level.is_read => {
                    walk.pop();
                    continue;
                }
                None => {
                    self.read_batch(options, level)?;
                    continue;
                }
            };
            let name = format!("{}{marker}", level.prefix);
            if let (Some(_), Depth::All) = (name.strip_suffix('/'), options.depth) {
                walk.push(Level::new(name));
                continue;
            }
            let Some(entry) = self.entry(options, &name)? else { continue };
            if page.entries.len() >= options.limit {
                page.more = true;
                break;
            }
            page.entries.push(entry);
        }
        Ok(page)
    }

    /// Reads the next entries of a folder, in order.
    fn read_batch(&self, options: &ListOptions, level: &mut Level) -> Result<(), BackendError> {
        let size = match options.depth {
            Depth::Children => options.limit.saturating_add(1).min(BATCH),
            Depth::All => BATCH,
        };
        let from = level.from(options.after.as_deref().unwrap_or_default());
        let mut path =
            options.folder.as_ref().map_or_else(|| self.root().to_owned(), |key| self.path(key));
        path.extend(level.prefix.split('/').filter(|part| !part.is_empty()));
        let markers = smallest(&path, &from, size);
        let markers =
            unless_gone(markers).map_err(|error| match key_of(options, &level.prefix) {
                Some(key) => BackendError::classify(&key, error),
                None => BackendError::Other { key: "/".to_owned(), source: error.into() },
            })?;
        let markers = markers.unwrap_or_default();
        level.is_read = markers.len() < size;
        level.last = markers.last().cloned().or(level.last.take());
        level.batch = markers.into();
        Ok(())
    }

    fn entry(&self, options: &ListOptions, name: &str) -> Result<Option<Entry>, BackendError> {
        if let Some(name) = name.strip_suffix('/') {
            return Ok(Some(Entry::Folder { name: name.to_owned() }));
        }
        let Some(key) = key_of(options, name) else { return Ok(None) };
        match fs::symlink_metadata(self.path(&key)) {
            Ok(found) => {
                Ok(Some(Entry::Object { head: head(&key, &found)?, name: name.to_owned() }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BackendError::classify(&key, error)),
        }
    }
}

/// The key of what has this name below the folder listed.
fn key_of(options: &ListOptions, name: &str) -> Option<Key> {
    match (&options.folder, name.trim_end_matches('/')) {
        (Some(folder), "") => Some(folder.clone()),
        (Some(folder), name) => folder.join(name).ok(),
        (None, name) => Key::new(name).ok(),
    }
}

/// A folder on the way down.
struct Level {
    /// Its key relative to the folder listed, with a slash; empty for that one.
    prefix: String,
    /// The markers still to come of those that were read.
    batch: VecDeque<String>,
    /// The last marker that was read.
    last: Option<String>,
    /// Whether no more are to be read.
    is_read: bool,
}

/// Where to go on in a folder.
enum From {
    Behind(String),
    /// At this folder, which may hold more.
    At(String),
}

impl Level {
    fn new(prefix: String) -> Self {
        Self { prefix, batch: VecDeque::new(), last: None, is_read: false }
    }

    fn from(&self, after: &str) -> From {
        if let Some(last) = &self.last {
            return From::Behind(last.clone());
        }
        match after.strip_prefix(&self.prefix) {
            Some(rest) => match rest.split_once('/') {
                // A marker that is a folder's own stands for all that is in it.
                Some((folder, inside)) if !inside.is_empty() => From::At(format!("{folder}/")),
                _ => From::Behind(rest.to_owned()),
            },
            None => From::Behind(String::new()),
        }
    }
}

/// The first markers of a folder in order, of those that have a key.
fn smallest(path: &Path, from: &From, count: usize) -> std::io::Result<Vec<String>> {
    let mut heap = BinaryHeap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let Ok(mut marker) = entry.file_name().into_string() else { continue };
        if Key::new(marker.as_str()).is_err() {
            continue;
        }
        let Some(kind) = unless_gone(entry.file_type())? else { continue };
        if kind.is_dir() {
            marker.push('/');
        }
        let wanted = match from {
            From::Behind(last) => marker > *last,
            From::At(folder) => marker >= *folder,
        };
        let full = heap.len() == count;
        if wanted && !(full && heap.peek().is_some_and(|largest| marker > *largest)) {
            heap.push(marker);
            if full {
                heap.pop();
            }
        }
    }
    Ok(heap.into_sorted_vec())
}
