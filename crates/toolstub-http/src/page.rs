//! The page: sessions, and their stubs beside the originals.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH,
    REFERRER_POLICY,
};
use hyper::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::service::Service;

/// The page runs its own script alone, speaks with this service alone, and is shown in no other.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A file of the page.
#[derive(Debug, Clone, Copy)]
struct File {
    route: &'static str,
    media_type: &'static str,
    content: &'static [u8],
}

const FILES: [File; 3] = [
    File {
        route: "/",
        media_type: "text/html; charset=utf-8",
        content: include_bytes!("../page/index.html"),
    },
    File {
        route: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../page/page.js"),
    },
    File {
        route: "/page.css",
        media_type: "text/css; charset=utf-8",
        content: include_bytes!("../page/page.css"),
    },
];

/// The routes of the page.
pub(crate) fn router() -> Router<Arc<Service>> {
    FILES.into_iter().fold(Router::new(), |router, file| {
        let tag = file.tag();
        router.route(
            file.route,
            get(move |headers: HeaderMap| {
                let response = file.answer(&tag, &headers);
                async move { response }
            }),
        )
    })
}

/// Whether a route is part of the page, which anybody may load: what it shows needs a key.
pub(crate) fn is_page(route: &str) -> bool {
    FILES.iter().any(|file| file.route == route)
}

impl File {
    /// A name of the content.
    fn tag(&self) -> HeaderValue {
        let mut tag = String::from('"');
        for byte in &Sha256::digest(self.content)[..16] {
            let _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        // Hexadecimal digits in quotes always make a header.
        HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"page\""))
    }

    /// The file, if the browser does not have it yet.
    fn answer(&self, tag: &HeaderValue, headers: &HeaderMap) -> Response {
        let mut response = if is_known(headers, tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            self.content.into_response()
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(ETAG, tag.clone());
        response
    }
}

/// Whether one of the tags that the browser has is this one.
fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let given = headers.get_all(IF_NONE_MATCH).iter().filter_map(|given| given.to_str().ok());
    let mut known = given.flat_map(|given| given.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sent_until_it_is_known() {
        for file in &FILES {
            let tag = file.tag();
            let text = tag.to_str().unwrap();
            let weak = format!("\"a\", W/{text}");
            for (given, status) in [
                (None, StatusCode::OK),
                (Some("\"other\""), StatusCode::OK),
                (Some(text.trim_matches('"')), StatusCode::OK),
                (Some(text), StatusCode::NOT_MODIFIED),
                (Some(weak.as_str()), StatusCode::NOT_MODIFIED),
                (Some("*"), StatusCode::NOT_MODIFIED),
            ] {
                let mut headers = HeaderMap::new();
                if let Some(given) = given {
                    headers.insert(IF_NONE_MATCH, HeaderValue::from_str(given).unwrap());
                }
                let response = file.answer(&tag, &headers);
                assert_eq!(response.status(), status, "{} {given:?}", file.route);
                assert_eq!(response.headers()[ETAG], tag);
                assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], POLICY);
            }
        }
    }

    #[test]
    fn the_page_alone_is_open() {
        for (route, open) in [("/", true), ("/page.js", true), ("/page.css", true), ("none", false)]
        {
            assert_eq!(is_page(route), open, "{route}");
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        for file in &FILES {
            let text = std::str::from_utf8(file.content).unwrap();
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for bad in [
                "http://",
                "https://",
                "innerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(bad), "{}: {bad}", file.route);
            }
            for inline in ["style=", "onclick=", "<style", "<script>"] {
                assert!(file.route != "/" || !text.contains(inline), "{inline}");
            }
        }
    }
}
