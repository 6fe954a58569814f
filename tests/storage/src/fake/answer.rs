//! The answers to requests, without what goes wrong.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH,
    LAST_MODIFIED, RANGE,
};
use hyper::{Method, StatusCode};
use quick_xml::escape::escape;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use super::bucket::{Bucket, Object, Refusal};
use super::content::Content;
use super::listing::{self, Wanted};
use super::request::{Operation, Request, elements};
use super::{FakeS3, Options};

/// An answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) body: Bytes,
    /// The length to declare where it is not the body's: that of the object that is looked up.
    pub(super) length: Option<usize>,
}

impl Answer {
    fn new(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), length: None }
    }

    fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn xml(text: &str) -> Self {
        let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}").into();
        Self { body, ..Self::new(StatusCode::OK) }.header(CONTENT_TYPE, "application/xml")
    }

    /// An error, with its code and what it says.
    pub(super) fn error(status: StatusCode, code: &str, says: &str) -> Self {
        let text = format!("<Error><Code>{code}</Code><Message>{says}</Message></Error>");
        Self { status, ..Self::xml(&text) }
    }

    fn no_such_key() -> Self {
        Self::error(StatusCode::NOT_FOUND, "NoSuchKey", "the key does not exist")
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let (status, code, says) = match refusal {
            Refusal::NoSuchUpload => {
                (StatusCode::NOT_FOUND, "NoSuchUpload", "the upload does not exist")
            }
            Refusal::InvalidPart => {
                (StatusCode::BAD_REQUEST, "InvalidPart", "a part was not found")
            }
            Refusal::InvalidPartOrder => {
                (StatusCode::BAD_REQUEST, "InvalidPartOrder", "the parts are not in order")
            }
            Refusal::EntityTooSmall => {
                (StatusCode::BAD_REQUEST, "EntityTooSmall", "a part is under 5 MiB")
            }
            Refusal::PreconditionFailed => {
                (StatusCode::PRECONDITION_FAILED, "PreconditionFailed", "the condition is not met")
            }
        };
        Self::error(status, code, says)
    }
}

/// Does what a request asks for.
pub(super) fn answer(bucket: &mut Bucket, options: Options, request: &Request) -> Answer {
    if let Some(refused) = check_body(request) {
        return refused;
    }
    let key = &request.key;
    let only_if_absent =
        options.conditional_writes && request.header(IF_NONE_MATCH.as_str()) == Some("*");
    match request.operation {
        Operation::Put => {
            let body = request.body.clone();
            tagged(if only_if_absent {
                bucket.create(key, body)
            } else {
                Ok(bucket.insert(key, Content::Plain(body)))
            })
        }
        Operation::Get | Operation::Head => match bucket.object(key) {
            Some(object) => read(object, request),
            None => Answer::no_such_key(),
        },
        Operation::Delete => {
            bucket.remove(key);
            Answer::new(StatusCode::NO_CONTENT)
        }
        Operation::DeleteMany => {
            let mut text = "<DeleteResult>".to_owned();
            for key in key.split('\n') {
                bucket.remove(key);
                let _ = write!(text, "<Deleted><Key>{}</Key></Deleted>", escape(key));
            }
            Answer::xml(&(text + "</DeleteResult>"))
        }
        Operation::List => list(bucket, request),
        Operation::Begin => {
            let id = bucket.begin(key);
            Answer::xml(&format!(
                "<InitiateMultipartUploadResult><Bucket>{}</Bucket><Key>{}</Key>\
                 <UploadId>{id}</UploadId></InitiateMultipartUploadResult>",
                FakeS3::BUCKET,
                escape(key),
            ))
        }
        Operation::Part => {
            let number = request.parameter("partNumber").and_then(|number| number.parse().ok());
            match number.filter(|number| (1..=10_000).contains(number)) {
                Some(number) => {
                    tagged(bucket.part(key, upload_id(request), number, request.body.clone()))
                }
                None => invalid("a part has a number from 1 to 10000"),
            }
        }
        Operation::Complete => complete(bucket, request, only_if_absent),
        Operation::Abort => match bucket.abort(key, upload_id(request)) {
            Ok(()) => Answer::new(StatusCode::NO_CONTENT),
            Err(refusal) => refusal.into(),
        },
        Operation::Other => {
            Answer::error(StatusCode::NOT_FOUND, "NoSuchBucket", "the bucket does not exist")
        }
    }
}

fn invalid(says: &str) -> Answer {
    Answer::error(StatusCode::BAD_REQUEST, "InvalidArgument", says)
}

fn tagged(written: Result<String, Refusal>) -> Answer {
    match written {
        Ok(etag) => Answer::new(StatusCode::OK).header(ETAG, etag),
        Err(refusal) => refusal.into(),
    }
}

fn upload_id(request: &Request) -> &str {
    request.parameter("uploadId").unwrap_or_default()
}

/// The refusal of a body that is not what its checksum says.
fn check_body(request: &Request) -> Option<Answer> {
    let expected = request.header("x-amz-checksum-sha256")?;
    let right = BASE64.encode(Sha256::digest(&request.body)) == expected;
    let says = "the body is not what its checksum says";
    (!right).then(|| Answer::error(StatusCode::BAD_REQUEST, "BadDigest", says))
}

fn read(object: &Object, request: &Request) -> Answer {
    let size = object.body.len();
    if request.header(IF_MATCH.as_str()).is_some_and(|etag| etag != object.etag) {
        return Refusal::PreconditionFailed.into();
    }
    let about = |answer: Answer| {
        answer
            .header(ETAG, object.etag.clone())
            .header(LAST_MODIFIED, http_date(object.modified))
            .header(ACCEPT_RANGES, "bytes")
    };
    if request.method == Method::HEAD {
        return Answer { length: Some(size), ..about(Answer::new(StatusCode::OK)) };
    }
    let Some(range) = request.header(RANGE.as_str()).and_then(|range| asked_range(range, size))
    else {
        return Answer { body: object.body.slice(0..size), ..about(Answer::new(StatusCode::OK)) };
    };
    if range.is_empty() {
        let says = "the range lies behind the end";
        return Answer::error(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange", says)
            .header(CONTENT_RANGE, format!("bytes */{size}"));
    }
    let told = format!("bytes {}-{}/{size}", range.start, range.end - 1);
    let body = object.body.slice(range);
    about(Answer { body, ..Answer::new(StatusCode::PARTIAL_CONTENT) }).header(CONTENT_RANGE, told)
}

/// The range that a header asks for, cut at the end; empty where it lies behind it.
///
/// `None` for one that does not read as a range, which HTTP says to ignore.
fn asked_range(header: &str, size: usize) -> Option<Range<usize>> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        return Some(size.saturating_sub(last.parse().ok()?)..size);
    }
    let first: usize = first.parse().ok()?;
    let end = if last.is_empty() { size } else { last.parse::<usize>().ok()?.checked_add(1)? };
    (first < end || last.is_empty()).then_some(first.min(size)..end.min(size))
}

fn list(bucket: &Bucket, request: &Request) -> Answer {
    let max_keys = request.parameter("max-keys").map_or(Some(1000), |keys| keys.parse().ok());
    let Some(max_keys) = max_keys else { return invalid("max-keys is a number") };
    let token = match request.parameter("continuation-token") {
        None => None,
        Some(token) => match BASE64.decode(token).ok().and_then(|t| String::from_utf8(t).ok()) {
            Some(token) => Some(token),
            None => return invalid("the continuation-token is none of this server's"),
        },
    };
    let wanted = Wanted {
        prefix: &request.key,
        delimiter: request.parameter("delimiter").filter(|delimiter| !delimiter.is_empty()),
        start_after: request.parameter("start-after").unwrap_or_default(),
        token: token.as_deref(),
        max_keys: 1000.min(max_keys),
    };
    let page = listing::page(bucket.objects(), wanted);

    let url_encoded = request.parameter("encoding-type") == Some("url");
    let name = |name: &str| {
        if url_encoded {
            url::form_urlencoded::byte_serialize(name.as_bytes()).collect()
        } else {
            escape(name).into_owned()
        }
    };
    let mut text = format!(
        "<ListBucketResult><Name>{}</Name><Prefix>{}</Prefix><KeyCount>{}</KeyCount>\
         <MaxKeys>{}</MaxKeys><IsTruncated>{}</IsTruncated>",
        FakeS3::BUCKET,
        name(wanted.prefix),
        page.objects.len() + page.prefixes.len(),
        wanted.max_keys,
        page.next.is_some(),
    );
    if url_encoded {
        text.push_str("<EncodingType>url</EncodingType>");
    }
    if let Some(next) = page.next {
        let token = BASE64.encode(next);
        let _ = write!(text, "<NextContinuationToken>{token}</NextContinuationToken>");
    }
    for (key, object) in page.objects {
        let _ = write!(
            text,
            "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag>\
             <Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
            name(key),
            iso_date(object.modified),
            escape(&object.etag),
            object.body.len(),
        );
    }
    for prefix in page.prefixes {
        let prefix = name(&prefix);
        let _ = write!(text, "<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>");
    }
    Answer::xml(&(text + "</ListBucketResult>"))
}

fn complete(bucket: &mut Bucket, request: &Request, only_if_absent: bool) -> Answer {
    let xml = String::from_utf8_lossy(&request.body);
    let (numbers, etags) = (elements(&xml, "PartNumber"), elements(&xml, "ETag"));
    let parts: Option<Vec<(u32, String)>> = numbers
        .iter()
        .zip(etags)
        .map(|(number, etag)| Some((number.parse().ok()?, etag)))
        .collect();
    let Some(parts) = parts.filter(|parts| parts.len() == numbers.len()) else {
        return Answer::error(StatusCode::BAD_REQUEST, "MalformedXML", "the parts do not read");
    };
    match bucket.complete(&request.key, upload_id(request), &parts, only_if_absent) {
        Ok(etag) => Answer::xml(&format!(
            "<CompleteMultipartUploadResult><Bucket>{}</Bucket><Key>{}</Key><ETag>{}</ETag>\
             </CompleteMultipartUploadResult>",
            FakeS3::BUCKET,
            escape(&request.key),
            escape(&etag),
        )),
        Err(refusal) => refusal.into(),
    }
}

/// A time to the second, as HTTP writes it.
fn http_date(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let (weekday, month) = (time.weekday().to_string(), time.month().to_string());
    let (year, month, day) = (time.year(), &month[..3], time.day());
    let (hour, minute, second) = time.to_hms();
    format!("{}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT", &weekday[..3])
}

/// A time to the millisecond, as S3 writes it.
fn iso_date(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
    let (hour, minute, second, milli) = time.to_hms_milli();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end() {
        for (header, range) in [
            ("bytes=0-9", Some(0..10)),
            ("bytes=3-3", Some(3..4)),
            ("bytes=3-99", Some(3..10)),
            ("bytes=3-", Some(3..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=-99", Some(0..10)),
            ("bytes=10-", Some(10..10)),
            ("bytes=10-12", Some(10..10)),
            ("bytes=7-3", None),
            ("bytes=a-b", None),
            ("lines=0-9", None),
        ] {
            assert_eq!(asked_range(header, 10), range, "{header}");
        }
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_micros(784_111_777_123_456);
        assert_eq!(http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(iso_date(time), "1994-11-06T08:49:37.123Z");
    }
}
