//! Listings, by the page.

use std::borrow::Cow;
use std::collections::BTreeMap;

use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::{ObjectMeta, Result};
use toolstub_store::{Depth, Entry, Head, ListOptions, ListPage};

use super::S3Backend;

/// The most keys that a server gives at once.
const MAX_KEYS: usize = 1000;
/// What sorts behind everything in a folder, for servers that take a folder's name for all of it.
const BEHIND: char = '\u{7f}';

/// The entries of a page by their markers, whatever order they came in.
type Entries = BTreeMap<String, Entry>;

impl S3Backend {
    pub(super) async fn page(&self, options: ListOptions) -> Result<ListPage> {
        let ListOptions { folder, depth, after, limit } = options;
        let folder = folder.map_or_else(String::new, |key| format!("{key}/"));
        let (entries, more) = self.ask(&folder, depth, after.as_deref(), limit).await?;
        Ok(ListPage { entries: entries.into_values().collect(), more })
    }

    /// What the server lists first behind a marker, and whether it has more.
    async fn ask(
        &self,
        folder: &str,
        depth: Depth,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Entries, bool)> {
        let prefix = self.in_bucket(folder);
        let mut offset = after.map(|marker| offset_behind(&prefix, marker));
        let mut page_token = None;
        loop {
            let options = PaginatedListOptions {
                offset: offset.take(),
                delimiter: (depth == Depth::Children).then_some(Cow::Borrowed("/")),
                max_keys: Some(limit.min(MAX_KEYS)),
                page_token,
                ..PaginatedListOptions::default()
            };
            let asked = Some(&*prefix).filter(|prefix| !prefix.is_empty());
            let found = self.bucket.list_paginated(asked, options).await?;
            let mut entries = Entries::new();
            for path in &found.result.common_prefixes {
                if let Some(name) = path.as_ref().strip_prefix(&*prefix) {
                    let entry = Entry::Folder { name: name.to_owned() };
                    entries.insert(entry.marker(), entry);
                }
            }
            for meta in &found.result.objects {
                if let Some(name) = meta.location.as_ref().strip_prefix(&*prefix) {
                    let entry = Entry::Object { name: name.to_owned(), head: head(meta) };
                    entries.insert(entry.marker(), entry);
                }
            }
            page_token = found.page_token;
            if !entries.is_empty() || page_token.is_none() {
                return Ok((entries, page_token.is_some()));
            }
        }
    }
}

/// What to ask a server to begin behind, to go on behind a marker.
fn offset_behind(prefix: &str, marker: &str) -> String {
    if marker.ends_with('/') {
        format!("{prefix}{marker}{BEHIND}")
    } else {
        format!("{prefix}{marker}")
    }
}

fn head(meta: &ObjectMeta) -> Head {
    Head { size: meta.size, modified: meta.last_modified.into() }
}
