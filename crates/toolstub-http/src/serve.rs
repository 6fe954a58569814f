//! Listening.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

/// How long to wait where the system has no room for a connection.
const OUT_OF_ROOM: Duration = Duration::from_millis(50);

/// What connections may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are served at once; others wait.
    pub connections: usize,
    /// How long the head of a request may take to come in.
    pub head_timeout: Duration,
    /// How long a client may take to take in the next piece of an answer.
    pub write_timeout: Duration,
    /// How long requests under way have when the service ends.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            head_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(30),
        }
    }
}

/// Serves until `end` comes; then takes no more requests, and waits for those under way.
///
/// Says whether all of them came to their end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    end: impl Future<Output = ()>,
) -> io::Result<bool> {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut end = pin!(end);
    loop {
        let accepted = async {
            let permit = Arc::clone(&room).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, _) = listener.accept().await?;
            Ok::<_, io::Error>((stream, permit))
        };
        let accepted = pin!(accepted);
        let (stream, permit) = match futures::future::select(accepted, &mut end).await {
            futures::future::Either::Left((Ok(accepted), _)) => accepted,
            futures::future::Either::Left((Err(error), _)) => {
                // One connection that broke off, or too many open files: others go on.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(OUT_OF_ROOM).await;
                continue;
            }
            futures::future::Either::Right(((), _)) => break,
        };
        // An answer is small or comes in large pieces: there is nothing to wait for.
        let _ = stream.set_nodelay(true);
        // A client that does not read its answer gives its place to others.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.write_timeout));
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
            drop(permit);
        });
    }
    drop(listener);
    Ok(tokio::time::timeout(limits.grace, graceful.shutdown()).await.is_ok())
}
