//! Listings, by the page and in the order of bytes.
//!
//! S3 lists keys in the order of their bytes. Servers that keep folders as such list what a folder
//! holds where the folder's name stands: `a/x` comes before `a-b` there, and behind it by bytes.
//! With such a server, a page may lack entries that belong before some of those it has: they are
//! still to come, or the offset left them out. Both are looked for, and where there is one the page
//! is put together otherwise. From a server that goes by bytes this takes a few requests of one key.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::{ListResult, ObjectMeta, Result};
use toolstub_store::{Depth, Entry, Head, ListOptions, ListPage};

use super::S3Backend;

/// The most keys that a server gives at once.
const MAX_KEYS: usize = 1000;
/// What sorts behind everything in a folder: servers take the bare name of a folder for all of it.
const BEHIND: char = '\u{7f}';

/// The entries of a page by their markers, whatever order they came in.
type Entries = BTreeMap<String, Entry>;

impl S3Backend {
    pub(super) async fn page(&self, options: ListOptions) -> Result<ListPage> {
        let ListOptions { folder, depth, after, limit } = options;
        let folder = self.in_bucket(&folder.map_or_else(String::new, |key| format!("{key}/")));
        let after = after.as_deref();
        let (entries, more) = match depth {
            Depth::Children => self.children(&folder, after, limit).await?,
            Depth::All => match self.asked(&folder, depth, after, limit).await? {
                Some(page) => page,
                None => self.walked(&folder, after, limit).await?,
            },
        };
        Ok(ListPage { entries: entries.into_values().collect(), more })
    }

    async fn children(
        &self,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Entries, bool)> {
        match self.asked(folder, Depth::Children, after, limit).await? {
            Some(page) => Ok(page),
            None => self.sifted(folder, after, limit).await,
        }
    }

    /// What the server lists first behind a marker, and whether it has more; `None` if something is
    /// missing from that.
    async fn asked(
        &self,
        folder: &str,
        depth: Depth,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Option<(Entries, bool)>> {
        let mut from = after.map(|marker| From::Offset(offset(folder, marker)));
        loop {
            let delimited = depth == Depth::Children;
            let (found, next) = self.request(folder, delimited, from, limit.min(MAX_KEYS)).await?;
            let page = entries(&found, folder);
            from = next.map(From::Token);
            if page.is_empty() && from.is_some() {
                continue;
            }
            let whole = self.is_whole(folder, after, &page, from.is_some()).await?;
            return Ok(whole.then_some((page, from.is_some())));
        }
    }

    /// Whether nothing belongs on a page, or before it, that is not there.
    async fn is_whole(
        &self,
        folder: &str,
        after: Option<&str>,
        page: &Entries,
        more: bool,
    ) -> Result<bool> {
        let behind = after.unwrap_or_default();
        if page.keys().next().is_some_and(|first| &**first <= behind) {
            return Ok(false);
        }
        let holds = |start: &str| {
            let found = page.range(start.to_owned()..).next();
            found.is_some_and(|(marker, _)| marker.starts_with(start))
        };
        // What is still to come, among folders, stands behind the last entry: `a-b` behind `a/x`.
        let last = page.keys().max_by(|one, other| by_folders(one).cmp(by_folders(other)));
        if let Some(last) = last.filter(|_| more) {
            for (at, byte) in last.bytes().enumerate().filter(|(_, byte)| *byte <= b'/') {
                let name = &last[..at];
                if name.is_empty() || (byte != b'/' && !holds(&format!("{name}/"))) {
                    continue;
                }
                let end = last[at..].find('/').map_or(last.len(), |slash| at + slash + 1);
                let from = Some(From::Offset(offset(folder, &last[..end])));
                let start = format!("{folder}{name}");
                let (found, _) = self.request(&start, true, from, 1).await?;
                let next = entries(&found, &start).into_keys().next();
                if next.is_some_and(|next| next.bytes().next().is_some_and(|byte| byte < b'/')) {
                    return Ok(false);
                }
            }
        }
        // What was left out, among folders, stands before the marker: `a/x` before `a-b`.
        for (at, _) in behind.bytes().enumerate().filter(|(_, byte)| *byte < b'/') {
            let inside = format!("{}/", &behind[..at]);
            let belongs = !more || page.keys().next_back().is_some_and(|last| inside < *last);
            if at > 0 && belongs && !holds(&inside) {
                let (found, _) = self.request(&format!("{folder}{inside}"), false, None, 1).await?;
                if !found.objects.is_empty() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The first children behind a marker, out of all that the server lists.
    async fn sifted(
        &self,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Entries, bool)> {
        let mut page = Entries::new();
        let mut from = None;
        loop {
            let (found, next) = self.request(folder, true, from, MAX_KEYS).await?;
            let found = entries(&found, folder).into_iter();
            page.extend(found.filter(|(marker, _)| &**marker > after.unwrap_or_default()));
            while page.len() > limit.saturating_add(1) {
                page.pop_last();
            }
            match next {
                Some(token) => from = Some(From::Token(token)),
                None => break,
            }
        }
        let more = page.len() > limit;
        if more {
            page.pop_last();
        }
        Ok((page, more))
    }

    /// The first objects behind a marker, folder by folder.
    async fn walked(
        &self,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Entries, bool)> {
        let mut page = Entries::new();
        let mut levels = Level::on_the_way_to(after);
        while let Some(level) = levels.last_mut() {
            match level.queue.pop_front() {
                Some(Entry::Object { name, head }) => {
                    if page.len() >= limit {
                        return Ok((page, true));
                    }
                    let entry = Entry::Object { name: format!("{}{name}", level.at), head };
                    page.insert(entry.marker(), entry);
                }
                Some(Entry::Folder { name }) => {
                    let at = format!("{}{name}/", level.at);
                    levels.push(Level::new(at, None));
                }
                None if level.more => {
                    let at = format!("{folder}{}", level.at);
                    let after = level.after.take();
                    let (found, more) = self.children(&at, after.as_deref(), MAX_KEYS).await?;
                    level.more = more && !found.is_empty();
                    level.after = found.keys().next_back().cloned();
                    level.queue = found.into_values().collect();
                }
                None => {
                    levels.pop();
                }
            }
        }
        Ok((page, false))
    }

    /// What the server lists at once, and how to go on.
    async fn request(
        &self,
        prefix: &str,
        delimited: bool,
        from: Option<From>,
        max_keys: usize,
    ) -> Result<(ListResult, Option<String>)> {
        let (offset, page_token) = match from {
            Some(From::Offset(offset)) => (Some(offset), None),
            Some(From::Token(token)) => (None, Some(token)),
            None => (None, None),
        };
        let options = PaginatedListOptions {
            offset,
            delimiter: delimited.then_some(Cow::Borrowed("/")),
            max_keys: Some(max_keys),
            page_token,
            ..PaginatedListOptions::default()
        };
        let prefix = Some(prefix).filter(|prefix| !prefix.is_empty());
        let found = self.bucket.list_paginated(prefix, options).await?;
        Ok((found.result, found.page_token))
    }
}

/// Where a request begins.
enum From {
    /// Behind a key.
    Offset(String),
    /// Where the request before it ended.
    Token(String),
}

/// A folder that a walk is in.
struct Level {
    /// The folder, relative to the one that is walked; with a slash, if it is not that.
    at: String,
    /// The marker behind which the next request begins.
    after: Option<String>,
    /// What the last request brought and the walk has not come to.
    queue: VecDeque<Entry>,
    /// Whether there may be more.
    more: bool,
}

impl Level {
    fn new(at: String, after: Option<String>) -> Self {
        Self { at, after, queue: VecDeque::new(), more: true }
    }

    /// The folders that a marker is in, each to be gone on with behind what leads to the marker.
    fn on_the_way_to(marker: Option<&str>) -> Vec<Self> {
        let Some(marker) = marker else { return vec![Self::new(String::new(), None)] };
        let mut at = String::new();
        let level = |part: &str| {
            let level = Self::new(at.clone(), Some(part.to_owned()));
            at.push_str(part);
            level
        };
        marker.split_inclusive('/').map(level).collect()
    }
}

/// The entries that a server lists in a folder.
fn entries(found: &ListResult, folder: &str) -> Entries {
    let folders = found.common_prefixes.iter().filter_map(|path| {
        let name = path.as_ref().strip_prefix(folder)?.to_owned();
        Some(Entry::Folder { name })
    });
    let objects = found.objects.iter().filter_map(|meta| {
        let name = meta.location.as_ref().strip_prefix(folder)?.to_owned();
        Some(Entry::Object { name, head: head(meta) })
    });
    folders.chain(objects).map(|entry| (entry.marker(), entry)).collect()
}

/// What to begin behind, to go on behind a marker.
fn offset(folder: &str, marker: &str) -> String {
    let behind = if marker.ends_with('/') { String::from(BEHIND) } else { String::new() };
    format!("{folder}{marker}{behind}")
}

/// A marker's place in the order of servers that keep folders as such.
fn by_folders(marker: &str) -> impl Iterator<Item = u8> {
    marker.bytes().map(|byte| if byte == b'/' { 0 } else { byte })
}

fn head(meta: &ObjectMeta) -> Head {
    Head { size: meta.size, modified: meta.last_modified.into() }
}
