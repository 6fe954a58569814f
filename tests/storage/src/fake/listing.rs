//! A page of a listing.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::bucket::Object;

/// What to list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted<'a> {
    pub(super) prefix: &'a str,
    /// Where a key is cut after its prefix, so that the keys alike up to there count as one.
    pub(super) delimiter: Option<&'a str>,
    /// Only keys behind this one.
    pub(super) start_after: &'a str,
    /// The `next` of the page before.
    pub(super) token: Option<&'a str>,
    pub(super) max_keys: usize,
}

/// A page.
#[derive(Debug, Default)]
pub(super) struct Page<'a> {
    pub(super) objects: Vec<(&'a str, &'a Object)>,
    pub(super) prefixes: Vec<String>,
    /// Where the next page begins, if there is one: the last key of this one, or behind the last prefix.
    pub(super) next: Option<String>,
}

/// Sorts behind every key that begins with what stands before it.
const BEHIND: char = char::MAX;

/// Lists a page.
pub(super) fn page<'a>(objects: &'a BTreeMap<String, Object>, wanted: Wanted<'_>) -> Page<'a> {
    let mut page = Page::default();
    let mut after = wanted.token.unwrap_or_default().max(wanted.start_after).to_owned();
    if wanted.max_keys == 0 {
        return page;
    }
    loop {
        let from = if after.as_str() < wanted.prefix {
            Bound::Included(wanted.prefix)
        } else {
            Bound::Excluded(after.as_str())
        };
        let next = objects.range::<str, _>((from, Bound::Unbounded)).next();
        let next = next.filter(|(key, _)| key.starts_with(wanted.prefix));
        let Some((key, object)) = next else { return page };
        if page.objects.len() + page.prefixes.len() >= wanted.max_keys {
            page.next = Some(after);
            return page;
        }
        let behind_prefix = &key[wanted.prefix.len()..];
        let cut = wanted.delimiter.and_then(|cut| Some(behind_prefix.find(cut)? + cut.len()));
        if let Some(cut) = cut {
            let common = &key[..wanted.prefix.len() + cut];
            page.prefixes.push(common.to_owned());
            after = format!("{common}{BEHIND}");
        } else {
            page.objects.push((key, object));
            after.clone_from(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bucket::Bucket;
    use super::super::content::Content;
    use super::*;

    fn all(wanted: Wanted<'_>) -> (Vec<String>, Vec<String>) {
        let mut bucket = Bucket::default();
        for key in ["a", "f/a/1", "f/a/2", "f/a.x", "f/b", "f/c/1", "g/1"] {
            bucket.insert(key, Content::Plain("x".into()));
        }
        let (mut keys, mut prefixes, mut token) = (Vec::new(), Vec::new(), None::<String>);
        loop {
            let page = page(bucket.objects(), Wanted { token: token.as_deref(), ..wanted });
            keys.extend(page.objects.iter().map(|(key, _)| (*key).to_owned()));
            prefixes.extend(page.prefixes);
            token = page.next;
            if token.is_none() {
                return (keys, prefixes);
            }
        }
    }

    #[track_caller]
    fn lists(wanted: Wanted<'_>, keys: &[&str], prefixes: &[&str]) {
        for max_keys in [1, 2, 3, 1000] {
            let (found, common) = all(Wanted { max_keys, ..wanted });
            assert_eq!((&found[..], &common[..]).0, keys, "by {max_keys}");
            assert_eq!(common, prefixes, "by {max_keys}");
        }
    }

    #[test]
    fn keys_are_listed_in_order_by_the_page() {
        let wanted = Wanted { prefix: "f/", ..Wanted::default() };
        lists(wanted, &["f/a.x", "f/a/1", "f/a/2", "f/b", "f/c/1"], &[]);
        lists(Wanted { start_after: "f/a/1", ..wanted }, &["f/a/2", "f/b", "f/c/1"], &[]);
        lists(Wanted { prefix: "x", ..wanted }, &[], &[]);
    }

    #[test]
    fn keys_alike_up_to_the_delimiter_count_once() {
        let wanted = Wanted { prefix: "f/", delimiter: Some("/"), ..Wanted::default() };
        lists(wanted, &["f/a.x", "f/b"], &["f/a/", "f/c/"]);
        // A prefix is there as long as a key below it is behind.
        lists(Wanted { start_after: "f/a/1", ..wanted }, &["f/b"], &["f/a/", "f/c/"]);
        lists(Wanted { start_after: "f/a/\u{7f}", ..wanted }, &["f/b"], &["f/c/"]);
        lists(Wanted { prefix: "", ..wanted }, &["a"], &["f/", "g/"]);
    }
}
