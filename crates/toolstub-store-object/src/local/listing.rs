//! Listings of a folder: in order, and of bounded memory however much it holds.
//!
//! A file system lists a folder in no order, so that each page costs a look at every name in it. Of a
//! large folder that has not changed for a while, many more names are kept than a page needs, for
//! the pages that follow; that nothing has changed since is asked of the file system each time.

use std::collections::{BinaryHeap, VecDeque};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use toolstub_store::{BackendError, Depth, Entry, Key, ListOptions, ListPage};

use super::folder::{Folder, check_folder, head, unless_gone};

/// How many entries of a folder are looked at together on the way down.
const BATCH: usize = 1024;
/// How many entries of a large folder are kept at most for the pages to come.
const KEPT: usize = 1 << 16;
/// Of how many folders they are kept.
const KEPT_FOLDERS: usize = 4;
/// How long ago a folder must have changed for its times to tell the next change: some file systems
/// write times two seconds apart.
const SETTLED: Duration = Duration::from_secs(3);

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
        let markers = self.listings.next(&path, &from, size);
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
#[derive(Debug, Clone)]
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

impl From {
    fn admits(&self, marker: &str) -> bool {
        match self {
            Self::Behind(last) => marker > last.as_str(),
            Self::At(folder) => marker >= folder.as_str(),
        }
    }

    /// Whether everything that is admitted here is admitted by `other`.
    fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Behind(here), Self::Behind(there) | Self::At(there))
            | (Self::At(here), Self::At(there)) => here >= there,
            (Self::At(here), Self::Behind(there)) => here > there,
        }
    }
}

/// What is kept of large folders for the pages to come.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    /// The latest last.
    kept: Mutex<Vec<Stretch>>,
}

impl Listings {
    /// The next markers of a folder in order, of those that have a key.
    fn next(&self, path: &Path, from: &From, count: usize) -> io::Result<Vec<String>> {
        let seal = Seal::of(path)?;
        if let Some(markers) = self.kept(path, &seal, from, count) {
            return Ok(markers);
        }
        if !seal.is_settled() {
            return Ok(smallest(path, from, count)?.0);
        }
        let (mut markers, is_last) = smallest(path, from, KEPT.max(count))?;
        if markers.len() > count && Seal::of(path)? == seal {
            let next = markers[..count].to_vec();
            let (path, from) = (path.to_owned(), from.clone());
            self.keep(Stretch { path, seal, from, markers, is_last });
            return Ok(next);
        }
        markers.truncate(count);
        Ok(markers)
    }

    /// The same from what is kept, as far as that reaches.
    fn kept(&self, path: &Path, seal: &Seal, from: &From, count: usize) -> Option<Vec<String>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kept.iter().position(|stretch| stretch.path == path)?;
        let stretch = kept.remove(index);
        if stretch.seal != *seal || !from.is_within(&stretch.from) {
            return None;
        }
        let start = stretch.markers.partition_point(|marker| !from.admits(marker));
        let end = stretch.markers.len().min(start.saturating_add(count));
        let whole = end - start == count || stretch.is_last;
        let next = whole.then(|| stretch.markers[start..end].to_vec());
        // What was read to its end is not asked for again.
        if whole && end < stretch.markers.len() {
            kept.push(stretch);
        }
        next
    }

    fn keep(&self, stretch: Stretch) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.path != stretch.path);
        if kept.len() == KEPT_FOLDERS {
            kept.remove(0);
        }
        kept.push(stretch);
    }
}

/// Markers of a folder without a gap.
#[derive(Debug)]
struct Stretch {
    path: PathBuf,
    seal: Seal,
    /// Where it begins.
    from: From,
    markers: Vec<String>,
    /// Whether nothing follows it.
    is_last: bool,
}

/// What the file system changes when a folder does.
#[derive(Debug, PartialEq, Eq)]
struct Seal {
    modified: SystemTime,
    /// The device, the inode, and when that changed.
    inode: (u64, u64, i64, i64),
}

impl Seal {
    fn of(path: &Path) -> io::Result<Self> {
        let folder = fs::symlink_metadata(path)?;
        Ok(Self { modified: folder.modified()?, inode: inode(&folder) })
    }

    /// Whether the next change is sure to show.
    fn is_settled(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age >= SETTLED)
    }
}

#[cfg(unix)]
fn inode(folder: &Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (folder.dev(), folder.ino(), folder.ctime(), folder.ctime_nsec())
}

#[cfg(not(unix))]
fn inode(_folder: &Metadata) -> (u64, u64, i64, i64) {
    (0, 0, 0, 0)
}

/// The first markers of a folder in order, of those that have a key; and whether that is all.
fn smallest(path: &Path, from: &From, count: usize) -> io::Result<(Vec<String>, bool)> {
    let mut heap = BinaryHeap::new();
    let mut is_all = true;
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
        if !from.admits(&marker) {
            continue;
        }
        if heap.len() < count {
            heap.push(marker);
            continue;
        }
        is_all = false;
        if let Some(mut largest) = heap.peek_mut().filter(|largest| marker < **largest) {
            *largest = marker;
        }
    }
    Ok((heap.into_sorted_vec(), is_all))
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    fn markers(listings: &Listings, path: &Path, from: &From, count: usize) -> Vec<String> {
        listings.next(path, from, count).unwrap()
    }

    /// Has a folder look as if it had not changed for a while.
    fn settle(path: &Path) {
        let long_ago = SystemTime::now() - 10 * SETTLED;
        fs::File::open(path).unwrap().set_times(FileTimes::new().set_modified(long_ago)).unwrap();
    }

    fn kept(listings: &Listings) -> usize {
        listings.kept.lock().unwrap().len()
    }

    #[test]
    fn what_is_kept_is_what_would_be_read() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..500 {
            let path = root.path().join(format!("{:03}", number * 7 % 1000));
            if number % 3 == 0 { fs::create_dir(path) } else { fs::write(path, "") }.unwrap();
        }
        settle(root.path());
        let listings = Listings::default();
        for from in [From::Behind(String::new()), From::At("100/".to_owned())] {
            let mut from = from;
            loop {
                let next = markers(&listings, root.path(), &from, 7);
                assert_eq!(next, smallest(root.path(), &from, 7).unwrap().0);
                let Some(last) = next.last() else { break };
                from = From::Behind(last.clone());
            }
            assert_eq!(kept(&listings), 0, "what was read to its end is kept");
        }
    }

    #[test]
    fn a_change_shows_on_the_next_page() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..100 {
            fs::write(root.path().join(format!("{number:02}")), "").unwrap();
        }
        let listings = Listings::default();
        let start = From::Behind(String::new());
        assert_eq!(markers(&listings, root.path(), &start, 2), ["00", "01"]);
        assert_eq!(kept(&listings), 0, "a folder that has just changed is kept");
        settle(root.path());
        assert_eq!(markers(&listings, root.path(), &start, 2), ["00", "01"]);
        assert_eq!(kept(&listings), 1);
        fs::write(root.path().join("01a"), "").unwrap();
        fs::remove_file(root.path().join("02")).unwrap();
        let behind = From::Behind("01".to_owned());
        assert_eq!(markers(&listings, root.path(), &behind, 2), ["01a", "03"]);
        // Times that somebody sets back do not hide a change.
        settle(root.path());
        assert_eq!(markers(&listings, root.path(), &behind, 2), ["01a", "03"]);
        fs::remove_file(root.path().join("03")).unwrap();
        settle(root.path());
        assert_eq!(markers(&listings, root.path(), &behind, 2), ["01a", "04"]);
    }
}
