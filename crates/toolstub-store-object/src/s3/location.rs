//! The location of a store in a bucket.

use toolstub_store::Key;

/// A bucket, and the folder in it that holds a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// The bucket's name.
    pub(super) bucket: String,
    /// The key of the folder; `None` for the whole bucket.
    pub(super) prefix: Option<Key>,
}

impl Location {
    /// Reads what stands behind `s3:`; else what is wrong with it, without repeating it: people
    /// put secrets into addresses.
    pub(super) fn read(rest: &str) -> Result<Self, &'static str> {
        let rest = rest.strip_prefix("//").ok_or("there is no `//` behind `s3:`")?;
        if rest.contains('@') {
            return Err(
                "it holds a user; give keys by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            );
        }
        if rest.contains('?') {
            return Err("it holds a query; give options by variables such as AWS_REGION");
        }
        if rest.contains('#') {
            return Err("it holds a fragment");
        }
        if rest.contains('%') {
            return Err("it holds a percent sign; give names as they are");
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err("it names no bucket");
        }
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let edges = [bucket.chars().next(), bucket.chars().next_back()];
        let whole = edges.iter().flatten().all(char::is_ascii_alphanumeric);
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(known) || !whole {
            return Err("the name of a bucket has 3 to 63 letters, digits, dots and hyphens");
        }
        if bucket.ends_with("--x-s3") {
            return Err("it names a directory bucket, which lists its objects in no order");
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let prefix = match prefix {
            "" if rest.ends_with("//") => return Err("a part of its path is empty"),
            "" => None,
            prefix => Some(Key::new(prefix).map_err(
                |_| "a part of its path is empty, `.` or `..`, or it holds control characters",
            )?),
        };
        Ok(Self { bucket: bucket.to_owned(), prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(rest: &str, bucket: &str, prefix: Option<&str>) {
        let location = Location::read(rest).unwrap();
        let found = (&*location.bucket, location.prefix.as_ref().map(Key::as_str));
        assert_eq!(found, (bucket, prefix));
    }

    #[track_caller]
    fn refuses(rest: &str, says: &str) {
        let problem = Location::read(rest).unwrap_err();
        assert!(problem.contains(says), "{problem}");
    }

    #[test]
    fn a_location_is_a_bucket_and_a_prefix() {
        reads("//bucket", "bucket", None);
        reads("//bucket/", "bucket", None);
        reads("//my.bucket-1/a", "my.bucket-1", Some("a"));
        reads("//bucket/a b/c/", "bucket", Some("a b/c"));
    }

    #[test]
    fn other_locations_are_refused() {
        refuses("bucket/a", "no `//`");
        refuses("//", "no bucket");
        refuses("///a", "no bucket");
        refuses("//user:secret@bucket/a", "a user");
        refuses("//bucket/a?region=x", "a query");
        refuses("//bucket/a#b", "a fragment");
        refuses("//bucket/%2e%2e/a", "a percent sign");
        for bucket in ["ab", "-abc", "abc.", "a b c", "bücket", &"x".repeat(64)] {
            refuses(&format!("//{bucket}/a"), "3 to 63");
        }
        refuses("//bucket--euw1-az1--x-s3/a", "directory bucket");
        for path in ["..", "a/../b", ".", "a//b", "/", "a//", "a\\b", "a\nb"] {
            refuses(&format!("//bucket/{path}"), "a part of its path");
        }
    }
}
