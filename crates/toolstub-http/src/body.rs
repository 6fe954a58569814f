//! Bodies of requests.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::header::CONTENT_TYPE;
use sha2::{Digest as _, Sha256};
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use crate::ask::{self, Fields};
use crate::journal::Idempotency;
use crate::problem::{Code, Problem};
use crate::service::Service;

/// Up to which size bodies are taken in without asking for room, in bytes.
const SMALL: usize = 256 << 10;
/// How many bodies of the largest size there is room for at once; others wait.
const ROOM: usize = 4;
/// The unit in which room is given, in bytes.
const UNIT: usize = 64 << 10;
/// How much of a body over the limit is let through and thrown away, in bytes.
const SPILL: usize = 64 << 20;
/// How long a body that has room may take, beside a second for so many bytes that have come.
const PATIENCE: Duration = Duration::from_secs(10);
const A_SECOND: usize = 64 << 10;

/// The room for bodies, in units, for bodies of at most so many bytes.
pub(crate) fn room(limit: usize) -> usize {
    ROOM * units(limit)
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).clamp(1, 1 << 24)
}

/// A body that was taken in, and its room, which is given back when the answer is there.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    pub(crate) fields: Option<Fields>,
    /// The size of the body, in bytes.
    pub(crate) size: usize,
    /// By what the request is known if it is sent again, if the client sees to that.
    pub(crate) idempotency: Option<Idempotency>,
    _room: Option<SemaphorePermit<'a>>,
}

impl Service {
    /// Takes in a body that is a JSON object.
    pub(crate) async fn take_object(
        &self,
        parts: &Parts,
        body: Body,
    ) -> Result<Taken<'_>, Problem> {
        let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = media_type.is_some_and(is_json);
        let (body, room) = self.take_in(body).await?;
        let size = body.len();
        let fields = at_length(size, || ask::object(&body, is_json))?;
        // An empty key comes of a template that was not filled in.
        let key = parts.headers.get("idempotency-key").filter(|key| !key.is_empty());
        let idempotency = key.map(|key| {
            // The same key does for different routes.
            let key = [parts.uri.path().as_bytes(), b"\n", key.as_bytes()].concat();
            let request = at_length(size, || Sha256::digest(&body)).into();
            Idempotency { key, request }
        });
        Ok(Taken { fields, size, idempotency, _room: room })
    }

    async fn take_in(&self, body: Body) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Problem> {
        let limit = self.options.body_limit;
        let announced = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let mut body = pin!(body);
        let mut taken = BytesMut::new();
        let (mut room, mut spilled) = (None, 0);
        let mut begun = Instant::now();
        loop {
            let frame = if room.is_none() {
                body.frame().await
            } else {
                // Others wait for the room of a body that comes drop by drop.
                let come = (taken.len() + spilled) / A_SECOND;
                let end = begun + PATIENCE + Duration::from_secs(come as u64);
                let Ok(frame) = tokio::time::timeout_at(end, body.frame()).await else {
                    let message = "the rest of the body did not come in time";
                    return Err(Problem::short(Code::DeadlineExceeded, message));
                };
                frame
            };
            let Some(frame) = frame else { break };
            let Ok(frame) = frame else {
                let message = "There was an error parsing the body";
                return Err(Problem::short(Code::InvalidArgument, message));
            };
            let Ok(data) = frame.into_data() else { continue };
            if spilled == 0 && taken.len() + data.len() <= limit {
                taken.extend_from_slice(&data);
                if room.is_none() && taken.len() > SMALL {
                    let most = units(announced.unwrap_or(limit).min(limit));
                    room = self.bodies.acquire_many(most as u32).await.ok();
                    begun = Instant::now();
                }
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
            return Ok((taken.freeze(), room));
        }
        let message = format!(
            "the body is over {limit} bytes; send less at once, or have the service started with a \
             larger body limit"
        );
        Err(Problem::short(Code::TooLarge, message))
    }
}

/// Does what takes long for large bodies, so that other requests are answered meanwhile.
pub(crate) fn at_length<T>(size: usize, work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};

    let threads = Handle::try_current().map(|handle| handle.runtime_flavor());
    if size > SMALL && matches!(threads, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// Whether a media type is JSON: `application/json`, or any that ends in `+json`.
fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.strip_prefix("application/").is_some_and(|name| name == "json" || name.ends_with("+json"))
}
