//! Bodies of requests.

use axum::body::Body;
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::header::CONTENT_TYPE;

use crate::ask::{self, Fields};
use crate::problem::{Code, Problem};
use crate::service::Service;

/// How many large bodies are taken in at once; others wait.
pub(crate) const LARGE_BODIES: usize = 16;
/// The size from which a body is large, in bytes.
const LARGE: u64 = 4 << 20;

impl Service {
    /// Takes in a body that is a JSON object; `None` if there is none.
    pub(crate) async fn take_object(
        &self,
        parts: &Parts,
        body: Body,
    ) -> Result<Option<Fields>, Problem> {
        let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = media_type.is_some_and(is_json);
        let body = self.take_in(body).await?;
        ask::object(&body, is_json)
    }

    async fn take_in(&self, body: Body) -> Result<Bytes, Problem> {
        use http_body::Body as _;

        let limit = self.options.body_limit;
        let is_small = body.size_hint().upper().is_some_and(|size| size < LARGE);
        let _permit = match is_small {
            true => None,
            false => self.large_bodies.acquire().await.ok(),
        };
        match Limited::new(body, limit).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                let message = format!(
                    "the body is over {limit} bytes; send less at once, or have the service started \
                     with a larger body limit"
                );
                Err(Problem::short(Code::TooLarge, message))
            }
            Err(_) => {
                let message = "There was an error parsing the body";
                Err(Problem::short(Code::InvalidArgument, message))
            }
        }
    }
}

/// Whether a media type is JSON: `application/json`, or any that ends in `+json`.
fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.strip_prefix("application/").is_some_and(|name| name == "json" || name.ends_with("+json"))
}
