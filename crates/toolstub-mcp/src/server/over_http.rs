//! The tools over streamable HTTP.

use std::convert::Infallible;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower_service::Service;

use super::ToolServer;
use super::frames::{Heard, has_id, heard, refused};
use crate::Tools;

/// The longest body that is taken, in bytes.
const LONGEST: usize = 4 << 20;
const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What is served over HTTP: a `tower` service, to be mounted at a path such as `/mcp`.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<ToolServer, NeverSessionManager>);

/// The tools over streamable HTTP. Requests stand for themselves: no session is kept between them.
///
/// `allowed_hosts` are the values of the `Host` header that are answered, with or without a port; none
/// given, those of this machine. Others are refused, or a page in a browser could reach the tools by
/// a name of its own. `None` where whoever mounts the service looks at the header already.
pub fn http_service(tools: Tools, allowed_hosts: Option<&[String]>) -> HttpService {
    let mut config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(LONGEST);
    config = match allowed_hosts {
        None => config.disable_allowed_hosts(),
        Some([]) => config,
        Some(hosts) => config.with_allowed_hosts(hosts),
    };
    let server = ToolServer::new(tools);
    HttpService(StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config))
}

impl HttpService {
    /// The answer to a request. What the library refuses to read is looked at once more.
    async fn answer<B>(self, request: Request<B>) -> Answer
    where
        B: Body + Send + 'static,
    {
        let (head, body) = request.into_parts();
        let body = collected(body).await;
        let again = |body| Request::from_parts(head.clone(), Full::new(body));
        let answer = self.0.handle(again(body.clone())).await;
        let is_json = head.headers.get(CONTENT_TYPE).is_some_and(|given| {
            given.as_bytes().to_ascii_lowercase().starts_with(JSON.as_bytes())
        });
        if answer.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE || !is_json {
            return answer;
        }
        let wrong = match heard(&body) {
            Heard::One(message) => match serde_json::to_vec(&message) {
                Ok(mended) => return self.0.handle(again(mended.into())).await,
                Err(_) => return answer,
            },
            Heard::Wrong(wrong) => wrong,
            Heard::Batch(..) => {
                refused(None, "a batch is not taken here; send one message at a time")
            }
            Heard::Nothing => refused(None, "a body holds one JSON-RPC message that can be read"),
        };
        // Clients take an answer to a call for one where nothing is wrong with the exchange.
        let status = if has_id(&wrong) { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        let mut answer = Response::new(Full::new(Bytes::from(wrong)).boxed());
        *answer.status_mut() = status;
        answer.headers_mut().insert(CONTENT_TYPE, JSON);
        answer
    }
}

/// A body, or, where it is too long, as much of it as shows that. One that breaks off is no message.
async fn collected<B: Body>(body: B) -> Bytes {
    let mut body = pin!(body);
    let mut collected = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(mut data) = frame.into_data() else { continue };
        if collected.len() + data.remaining() > LONGEST {
            collected.resize(LONGEST + 1, b' ');
            break;
        }
        collected.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    collected.into()
}

impl<B> Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display + Send,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}
