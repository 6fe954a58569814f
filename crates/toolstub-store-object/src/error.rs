//! What an object store's errors say, for whoever stands at the terminal.

use std::error::Error;
use std::io;

use toolstub_core::text;
use toolstub_store::{BackendError, BoxError};
use url::Url;

/// How much of a store's own words is told, in characters.
const TOLD: usize = 200;

/// Tells an object store's errors apart.
pub(crate) fn classify(key: &str, error: object_store::Error) -> BackendError {
    use object_store::Error as Stored;

    let key = key.to_owned();
    if let Some(answer) = Answer::of(&error) {
        let told = Told(answer.text());
        return match answer.outcome() {
            Outcome::Absent => BackendError::NotFound { key },
            Outcome::Refused => BackendError::PermissionDenied { key, source: told.into() },
            Outcome::Full => BackendError::StorageFull { key, source: told.into() },
            Outcome::Failed => BackendError::Other { key, source: told.into() },
        };
    }
    match error {
        Stored::NotFound { .. } => BackendError::NotFound { key },
        Stored::PermissionDenied { .. } | Stored::Unauthenticated { .. } => {
            BackendError::PermissionDenied { key, source: error.into() }
        }
        error => {
            let source = plain(error);
            match toolstub_store::Key::new(&*key) {
                Ok(key) => BackendError::classify(&key, source),
                Err(_) => BackendError::Other { key, source },
            }
        }
    }
}

/// The error of an object that did not come whole.
pub(crate) fn cut_short(key: &str, came: usize, size: u64) -> BackendError {
    let told = Told(format!("{came} of its {size} bytes came"));
    BackendError::Other { key: key.to_owned(), source: told.into() }
}

/// Whether an error says that there is no such upload (any more).
#[cfg(feature = "s3")]
pub(crate) fn is_given_up(error: &object_store::Error) -> bool {
    Answer::of(error).is_some_and(|answer| answer.code == "NoSuchUpload")
}

/// Whether an error says that there was no answer, so that there is no use in asking on.
pub(crate) fn is_unreachable(error: &object_store::Error) -> bool {
    Answer::of(error).is_some_and(|answer| answer.status.is_none_or(|status| status >= 500))
}

/// The error of the operating system inside an error, whose text repeats it; else its text.
fn plain(error: object_store::Error) -> BoxError {
    let code = links(&error).find_map(|link| link.downcast_ref().and_then(io::Error::raw_os_error));
    match code {
        Some(code) => io::Error::from_raw_os_error(code).into(),
        None if links(&error).any(<dyn Error>::is::<io::Error>) => error.into(),
        // Its text has those of its sources in it.
        None => Told(text::clean(&error.to_string(), TOLD)).into(),
    }
}

/// An error and its sources.
fn links<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&link| link.source())
}

/// What a server answered, or that it did not, read from the text of `object_store`'s errors:
/// their types cannot be named.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    /// The host and port that were asked.
    host: String,
    /// The status of the answer, if there was one.
    status: Option<u16>,
    /// The code that S3 has for it.
    code: String,
    /// What the server said to it.
    message: String,
    /// Why there was no answer.
    fault: String,
    /// Whether that is because time ran out.
    late: bool,
    /// How often the request was repeated.
    retries: u64,
    /// Whether the answer was to ask elsewhere.
    elsewhere: bool,
}

/// What an answer comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Absent,
    Refused,
    Full,
    Failed,
}

/// A text that takes the place of an error that says too much.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Told(String);

impl Answer {
    /// What an error says of a request; `None` for one that is about none.
    fn of(error: &object_store::Error) -> Option<Self> {
        let said = links(error).map(ToString::to_string);
        let said = said.filter(|text| text.contains("Error performing ")).last();
        let http = links(error).any(is_http);
        if said.is_none() && !http {
            return None;
        }
        let mut answer = said.as_deref().map(Self::read).unwrap_or_default();
        if answer.status.is_none() && !answer.elsewhere {
            // The last link is the one that is not about links.
            answer.fault = links(error).last().map(ToString::to_string).unwrap_or_default();
            answer.late = links(error).any(is_late);
        }
        Some(answer)
    }

    /// Reads the text of a request's error.
    fn read(said: &str) -> Self {
        let behind = |mark: &str| said.split_once(mark).map(|(_, rest)| rest);
        let request = behind("Error performing ").unwrap_or_default();
        let url = request.split(' ').nth(1).and_then(|url| Url::parse(url).ok());
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let port = url.as_ref().and_then(Url::port);
        let status = behind("status code: ").and_then(|rest| rest.get(..3)?.parse().ok());
        // An error in the body of a success has no status to go by.
        let in_body = behind("Server returned error response: ").map(|_| 200);
        let retries = behind(", after ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        Self {
            host: port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
            status: status.or(in_body),
            code: element(said, "Code"),
            message: element(said, "Message"),
            retries: retries.unwrap_or_default(),
            elsewhere: said.contains("redirect without LOCATION"),
            ..Self::default()
        }
    }

    fn outcome(&self) -> Outcome {
        match (self.status, &*self.code) {
            (Some(404), "NoSuchBucket" | "NoSuchUpload") => Outcome::Failed,
            (Some(404), _) => Outcome::Absent,
            (Some(401 | 403), _) => Outcome::Refused,
            (Some(507), _) | (_, "QuotaExceeded" | "InsufficientStorage" | "EntityTooLarge") => {
                Outcome::Full
            }
            _ => Outcome::Failed,
        }
    }

    /// The answer and what to do about it, in one line.
    fn text(&self) -> String {
        let host = if self.host.is_empty() { "the server" } else { &self.host };
        let again = match self.retries {
            0 => String::new(),
            1 => ", also when asked again".to_owned(),
            times => format!(", also when asked {times} times more"),
        };
        let Some(status) = self.status else {
            if self.elsewhere {
                return format!("{host} keeps the bucket in another region; set AWS_REGION");
            }
            if self.late {
                return format!("{host} does not answer in time{again}");
            }
            let fault = text::clean(&self.fault, TOLD);
            return format!("cannot reach {host}{again}: {fault}");
        };
        let code = if self.code.is_empty() { String::new() } else { format!(" {}", self.code) };
        let said = format!("{host} answers {status}{code}{again}");
        let hint = match (status, &*self.code) {
            (404, "NoSuchBucket") => "make the bucket first, or check the store's location",
            (404, "NoSuchUpload") => "somebody gave the upload up; write again",
            (301 | 307 | 308, _) | (400, "AuthorizationHeaderMalformed") => {
                "check AWS_REGION and the endpoint"
            }
            (_, "InvalidAccessKeyId") => "check AWS_ACCESS_KEY_ID",
            (_, "SignatureDoesNotMatch") => "check AWS_SECRET_ACCESS_KEY and AWS_REGION",
            (_, "RequestTimeTooSkewed") => "check this machine's clock",
            (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
                "renew AWS_SESSION_TOKEN and its keys"
            }
            (401 | 403, _) => {
                "check the keys, this machine's clock, and what the bucket's policy grants"
            }
            (400.., _) if !self.message.is_empty() => &self.message,
            _ => return said,
        };
        format!("{said}: {hint}")
    }
}

fn is_late(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::TimedOut) || is_http_timeout(error)
}

#[cfg(feature = "s3")]
fn is_http(error: &(dyn Error + 'static)) -> bool {
    error.is::<object_store::client::HttpError>()
}

#[cfg(feature = "s3")]
fn is_http_timeout(error: &(dyn Error + 'static)) -> bool {
    use object_store::client::{HttpError, HttpErrorKind};

    error.downcast_ref::<HttpError>().is_some_and(|error| error.kind() == HttpErrorKind::Timeout)
}

#[cfg(not(feature = "s3"))]
fn is_http(_error: &(dyn Error + 'static)) -> bool {
    false
}

#[cfg(not(feature = "s3"))]
fn is_http_timeout(_error: &(dyn Error + 'static)) -> bool {
    false
}

/// The text of an element of a server's answer, as far as it is shown.
fn element(said: &str, name: &str) -> String {
    let inside = said.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split('<').next());
    text::clean(inside.unwrap_or_default(), TOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error as `object_store` makes it of a request that failed.
    fn of_request(said: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: said.to_owned().into() }
    }

    const GET: &str = "Error performing GET http://host:9/b/k?x=canary in 2ms";

    #[track_caller]
    fn tells(said: &str, outcome: Outcome, text: &str) {
        let answer = Answer::of(&of_request(said)).unwrap();
        assert_eq!((answer.outcome(), &*answer.text()), (outcome, text));
    }

    #[test]
    fn answers_are_told_in_a_line() {
        use Outcome::{Absent, Failed, Full, Refused};

        let answers = |status: &str, code: &str| {
            format!(
                "{GET} - Server returned non-2xx status code: {status}: \
                 <Error>\n<Code>{code}</Code><Message>No\n good</Message></Error>"
            )
        };
        let text = "host:9 answers 404 NoSuchKey: No good";
        tells(&answers("404 Not Found", "NoSuchKey"), Absent, text);
        let text = "host:9 answers 404 NoSuchBucket: make the bucket first, or check the store's \
                    location";
        tells(&answers("404 Not Found", "NoSuchBucket"), Failed, text);
        let text = "host:9 answers 403 SignatureDoesNotMatch: check AWS_SECRET_ACCESS_KEY and \
                    AWS_REGION";
        tells(&answers("403 Forbidden", "SignatureDoesNotMatch"), Refused, text);
        let text = "host:9 answers 403 AccessDenied: check the keys, this machine's clock, and \
                    what the bucket's policy grants";
        tells(&answers("403 Forbidden", "AccessDenied"), Refused, text);
        let text = "host:9 answers 507: No good";
        tells(&answers("507 Insufficient Storage", ""), Full, text);
        let after = "Error performing PUT https://host/b in 2s, after 3 retries, max_retries: 3, \
                     retry_timeout: 30s  - Server returned non-2xx status code: 503 x: ";
        tells(after, Failed, "host answers 503, also when asked 3 times more");
        let body = format!("{GET} - Server returned error response: <Code>SlowDown</Code>");
        tells(&body, Failed, "host:9 answers 200 SlowDown");
        let elsewhere = format!("{GET} - Received redirect without LOCATION, this normally");
        let text = "host:9 keeps the bucket in another region; set AWS_REGION";
        tells(&elsewhere, Failed, text);
    }

    #[test]
    fn an_error_of_a_connection_is_none_of_a_file() {
        let refused = classify("k", of_request(&format!("{GET} - HTTP error")));
        assert!(matches!(refused, BackendError::Other { .. }), "{refused:?}");
        let file = io::Error::from_raw_os_error(13);
        let file = object_store::Error::Generic { store: "Local", source: file.into() };
        let denied = classify("k", file);
        assert!(matches!(denied, BackendError::PermissionDenied { .. }), "{denied:?}");
    }
}
