//! What operators ask for.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;
use toolstub_core::error_chain;
use toolstub_store::{Depth, ListOptions, ResultStore};

use super::{Answer, Shared};
use crate::envelope;
use crate::problem::{Code, Problem};
use crate::service::Service;

/// How long it holds whether the store was reached.
const READY_FOR: Duration = Duration::from_secs(2);

/// Whether the service runs. No key is needed.
#[utoipa::path(
    get, path = "/health", tag = "service",
    responses((status = 200, description = "`{status, healthy, version, auth_mode}`"))
)]
pub(super) async fn health(State(service): Shared) -> Response {
    let auth_mode = if service.options.keys.is_empty() { "dev" } else { "api_key" };
    let answer = json!({
        "status": "ok",
        "healthy": true,
        "version": env!("CARGO_PKG_VERSION"),
        "auth_mode": auth_mode,
    });
    envelope::json(answer.to_string())
}

/// Whether the service can reach its store. No key is needed.
#[utoipa::path(
    get, path = "/ready", tag = "service",
    responses((status = 200, description = "`{status, checks}`"), (status = 503))
)]
pub(super) async fn ready(State(service): Shared) -> Answer {
    if service.reaches_its_store().await {
        let answer = json!({"status": "ready", "checks": {"store": "ok"}});
        return Ok(envelope::json(answer.to_string()));
    }
    let message = "the store cannot be listed; the log of the service says why";
    Err(Problem::whole(Code::Unavailable, message, json!({"service": "storage backend"})))
}

impl Service {
    /// Whether the store can be listed; who asks often is told what was found a moment ago.
    async fn reaches_its_store(&self) -> bool {
        let known = *self.readiness.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reached)) = known.filter(|(when, _)| when.elapsed() < READY_FOR) {
            return reached;
        }
        let folder = Some(ResultStore::sessions_folder());
        let options = ListOptions { folder, depth: Depth::Children, after: None, limit: 1 };
        let listed = self.store.backend().list(options).await;
        if let Err(error) = &listed {
            tracing::error!(error = error_chain(error), "the store cannot be listed");
        }
        let reached = listed.is_ok();
        let found = Some((Instant::now(), reached));
        *self.readiness.lock().unwrap_or_else(PoisonError::into_inner) = found;
        reached
    }
}

/// Whether the service can reach its store, for clients that ask with a key.
#[utoipa::path(
    get, path = "/api/v1/observer/system", tag = "service",
    responses((status = 200, description = "`{is_healthy}`"))
)]
pub(super) async fn observe(State(service): Shared) -> Answer {
    let is_healthy = service.reaches_its_store().await;
    Ok(envelope::ok(&json!({ "is_healthy": is_healthy })))
}

/// What the service has done, for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "service",
    responses((status = 200, description = "the metrics, in the format of OpenMetrics"))
)]
pub(super) async fn metrics(State(service): Shared) -> Response {
    let mut response = service.metrics.encode().into_response();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
