//! A request, as S3 means it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use super::FakeS3;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Write an object.
    Put,
    /// Read an object, or a range of it.
    Get,
    /// Look an object up.
    Head,
    /// Remove an object.
    Delete,
    /// Remove many objects.
    DeleteMany,
    /// List objects.
    List,
    /// Begin a multipart upload.
    Begin,
    /// Upload a part.
    Part,
    /// Make an object of the parts.
    Complete,
    /// Give a multipart upload up.
    Abort,
    /// Anything else.
    Other,
}

/// A request with its body.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) operation: Operation,
    pub(super) key: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Request {
    pub(super) fn new(parts: Parts, body: Bytes) -> Self {
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let query: BTreeMap<String, String> =
            url::form_urlencoded::parse(query).into_owned().collect();
        let path = decoded(parts.uri.path());
        let mut path = path.trim_start_matches('/').splitn(2, '/');
        let in_bucket = path.next() == Some(FakeS3::BUCKET);
        let key = path.next().unwrap_or_default().to_owned();

        let has = |name| query.contains_key(name);
        let operation = match (&parts.method, key.is_empty()) {
            _ if !in_bucket => Operation::Other,
            (&Method::GET, true) => Operation::List,
            (&Method::POST, true) if has("delete") => Operation::DeleteMany,
            (_, true) => Operation::Other,
            (&Method::PUT, _) if has("partNumber") => Operation::Part,
            (&Method::PUT, _) => Operation::Put,
            (&Method::GET, _) => Operation::Get,
            (&Method::HEAD, _) => Operation::Head,
            (&Method::POST, _) if has("uploads") => Operation::Begin,
            (&Method::POST, _) if has("uploadId") => Operation::Complete,
            (&Method::DELETE, _) if has("uploadId") => Operation::Abort,
            (&Method::DELETE, _) => Operation::Delete,
            _ => Operation::Other,
        };
        let key = match operation {
            Operation::List => query.get("prefix").cloned().unwrap_or_default(),
            Operation::DeleteMany => elements(&String::from_utf8_lossy(&body), "Key").join("\n"),
            _ => key,
        };
        Self { method: parts.method, operation, key, query, headers: parts.headers, body }
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A path without its percent signs.
fn decoded(path: &str) -> String {
    // In a form a plus is a space, and in a path a plus.
    let form = format!("p={}", path.replace('+', "%2B").replace('&', "%26"));
    let decoded = url::form_urlencoded::parse(form.as_bytes()).next();
    decoded.map_or_else(String::new, |(_, path)| path.into_owned())
}

/// The texts of the elements with a name, which have no attributes and nothing inside.
pub(super) fn elements(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let texts = xml.split(&open).skip(1).filter_map(|rest| rest.split(&close).next());
    let text = |text| quick_xml::escape::unescape(text).map_or(String::new(), Cow::into_owned);
    texts.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_once() {
        assert_eq!(decoded("/b/a%253A7/x+y%20z&q=1"), "/b/a%3A7/x+y z&q=1");
    }

    #[test]
    fn elements_are_read_with_their_entities() {
        let xml = "<D><Object><Key>a&amp;b</Key></Object><Object><Key></Key></Object></D>";
        assert_eq!(elements(xml, "Key"), ["a&b", ""]);
        assert_eq!(elements(xml, "ETag"), [""; 0]);
    }
}
