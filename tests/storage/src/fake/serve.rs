//! Connections, and what goes wrong on them.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::Sleep;

use super::answer::{self, Answer};
use super::log::{Place, Recorded};
use super::request::Request;
use super::{Fault, State, lock};

/// How much of a body is sent at a time, in bytes.
const FRAME: usize = 65_536;
/// In how many pieces a slow body comes.
const SLOW_PIECES: usize = 16;

/// Serves connections until it is told to stop, or nobody is left to tell it.
pub(super) fn run(
    listener: std::net::TcpListener,
    state: &Arc<State>,
    mut stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // The runtime ends with this function, and every connection with it.
    runtime.expect("a runtime for the server").block_on(async {
        let listener = TcpListener::from_std(listener).expect("a socket for the runtime");
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = &mut stopped => return,
            };
            if let Ok((stream, _)) = accepted {
                tokio::spawn(connection(stream, Arc::clone(state)));
            }
        }
    });
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    // Small answers must not wait for one another.
    let _ = stream.set_nodelay(true);
    let reset = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        let answered = respond(request, Arc::clone(&state), Arc::clone(&reset));
        Box::pin(answered) as Pin<Box<dyn Future<Output = _> + Send>>
    });
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = Pin::new(&mut connection).await;
    if reset.load(Ordering::Relaxed) {
        let _ = connection.into_parts().io.into_inner().set_zero_linger();
    }
}

/// The connection ends here.
#[derive(Debug, thiserror::Error)]
#[error("cut off")]
struct CutOff;

async fn respond(
    request: hyper::Request<Incoming>,
    state: Arc<State>,
    reset: Arc<AtomicBool>,
) -> Result<Response<Outgoing>, CutOff> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| CutOff)?.to_bytes();
    let request = Request::new(parts, body);
    let fault = lock(&state.script).fault(&request.method, &request.key);
    let place = state.log.add(Recorded {
        method: request.method.clone(),
        operation: request.operation,
        key: request.key.clone(),
        received: request.body.len() as u64,
        status: None,
        sent: 0,
        fault,
    });

    let mut answer = None;
    if fault.is_none_or(Fault::is_done) {
        let mut bucket = lock(&state.bucket);
        answer = Some(answer::answer(&mut bucket, state.options, &request));
    }
    let answer = match (fault, answer) {
        (Some(Fault::HangBefore | Fault::HangAfter), _) => pending().await,
        (Some(Fault::ResetBefore | Fault::ResetAfter), _) => {
            reset.store(true, Ordering::Relaxed);
            return Err(CutOff);
        }
        (Some(Fault::Unavailable), _) => {
            Answer::error(StatusCode::SERVICE_UNAVAILABLE, "SlowDown", "reduce your request rate")
        }
        (Some(Fault::Denied), _) => {
            Answer::error(StatusCode::FORBIDDEN, "AccessDenied", "access is denied")
        }
        (Some(Fault::Truncate | Fault::Flip | Fault::Slow(_)) | None, Some(answer)) => answer,
        (_, _) => Answer::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            "an internal error was met",
        ),
    };
    state.log.note(place, |recorded| recorded.status = Some(answer.status));
    Ok(response(answer, fault, Arc::clone(&state), place))
}

fn response(
    answer: Answer,
    fault: Option<Fault>,
    state: Arc<State>,
    place: Place,
) -> Response<Outgoing> {
    let Answer { status, headers, body, length } = answer;
    let declared = length.unwrap_or(body.len());
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    if status != StatusCode::NO_CONTENT {
        response = response.header(CONTENT_LENGTH, declared);
    }
    let mut outgoing = Outgoing::new(body, state, place);
    match fault {
        Some(Fault::Truncate) => outgoing.truncate(),
        Some(Fault::Flip) => outgoing.flip(),
        Some(Fault::Slow(pause)) => outgoing.slow_down(pause),
        _ => {}
    }
    response.body(outgoing).expect("the answers' headers are headers")
}

/// The body of an answer.
#[derive(Debug)]
struct Outgoing {
    left: Bytes,
    /// How much is sent at a time, in bytes.
    frame: usize,
    /// Whether the connection ends where the body does.
    cut_off: bool,
    pause: Option<Duration>,
    sleep: Option<Pin<Box<Sleep>>>,
    state: Arc<State>,
    place: Place,
}

impl Outgoing {
    fn new(body: Bytes, state: Arc<State>, place: Place) -> Self {
        let (pause, sleep) = (None, None);
        Self { left: body, frame: FRAME, cut_off: false, pause, sleep, state, place }
    }

    fn truncate(&mut self) {
        self.cut_off = !self.left.is_empty();
        self.left.truncate(self.left.len() / 2);
    }

    fn flip(&mut self) {
        let mut flipped = BytesMut::from(&self.left[..]);
        let middle = flipped.len() / 2;
        if let Some(byte) = flipped.get_mut(middle) {
            *byte ^= 1;
        }
        self.left = flipped.freeze();
    }

    fn slow_down(&mut self, pause: Duration) {
        self.frame = self.left.len().div_ceil(SLOW_PIECES).max(1);
        self.pause = Some(pause);
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        if self.left.is_empty() {
            return Poll::Ready(self.cut_off.then_some(Err(CutOff)));
        }
        if let Some(pause) = self.pause {
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            ready!(sleep.as_mut().poll(context));
            self.sleep = None;
        }
        let frame = self.frame.min(self.left.len());
        let frame = self.left.split_to(frame);
        // Noted before it is sent: who has received it finds it counted.
        let sent = frame.len() as u64;
        self.state.log.note(self.place, |recorded| recorded.sent += sent);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && !self.cut_off
    }
}
