//! Bodies of requests.

use std::pin::pin;

use axum::body::Body;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::header::CONTENT_TYPE;

use crate::ask::{self, Fields};
use crate::problem::{Code, Problem};
use crate::service::Service;

/// How many large bodies are taken in at once; others wait.
pub(crate) const LARGE_BODIES: usize = 16;
/// The size from which a body is large, in bytes.
const LARGE: u64 = 4 << 20;
/// How much of a body over the limit is let through and thrown away, in bytes.
const SPILL: usize = 64 << 20;

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
        let _permit = if is_small { None } else { self.large_bodies.acquire().await.ok() };
        let mut body = pin!(body);
        let mut taken = BytesMut::new();
        let mut spilled = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                let message = "There was an error parsing the body";
                return Err(Problem::short(Code::InvalidArgument, message));
            };
            let Ok(data) = frame.into_data() else { continue };
            if spilled == 0 && taken.len() + data.len() <= limit {
                taken.extend_from_slice(&data);
                continue;
            }
            // Who is cut off while sending never sees the answer, so some more is let through.
            taken = BytesMut::new();
            spilled += data.len();
            if spilled > SPILL {
                break;
            }
        }
        if spilled == 0 {
            return Ok(taken.freeze());
        }
        let message = format!(
            "the body is over {limit} bytes; send less at once, or have the service started with a \
             larger body limit"
        );
        Err(Problem::short(Code::TooLarge, message))
    }
}

/// Whether a media type is JSON: `application/json`, or any that ends in `+json`.
fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.strip_prefix("application/").is_some_and(|name| name == "json" || name.ends_with("+json"))
}
