//! The routes, and what each of them says.

mod context;
mod messages;
mod results;
mod sessions;
mod system;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::decompression::RequestDecompressionLayer;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::{Code, Problem};
use crate::service::Service;
use crate::{around, envelope, page};

/// What routes answer.
type Answer = Result<Response, Problem>;
/// What routes work with.
type Shared = axum::extract::State<Arc<Service>>;

#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "toolstub",
    description = "Sessions, their messages, and the originals of their tool results."
))]
struct Api;

/// All routes over a service.
pub(crate) fn router(service: Arc<Service>, others: Router) -> Router {
    let (router, api) = OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::get, sessions::delete))
        .routes(routes!(messages::append))
        .routes(routes!(messages::append_batch))
        .routes(routes!(context::get))
        .routes(routes!(results::list))
        .routes(routes!(results::read, results::delete))
        .routes(routes!(results::search))
        .routes(routes!(results::download))
        .routes(routes!(system::health))
        .routes(routes!(system::ready))
        .routes(routes!(system::observe))
        .routes(routes!(system::metrics))
        .split_for_parts();
    let api = Bytes::from(description(&api).to_string());
    let unimplemented = || async { Err::<(), _>(no_such_feature()) };
    let session = "/api/v1/sessions/{session_id}";
    let mut router = router
        .route("/openapi.json", get(|| async move { envelope::json(api) }))
        .merge(page::router())
        .merge(others.with_state(()));
    for feature in ["commit", "extract", "used", "config", "archives/{archive_id}"] {
        let route = axum::routing::any(unimplemented);
        router = router.route(&format!("{session}/{feature}"), route);
    }
    router
        .fallback(nothing_here)
        .method_not_allowed_fallback(|| async {
            Problem::short(Code::Unknown, "Method Not Allowed")
        })
        .layer(RequestDecompressionLayer::new())
        .layer(CatchPanicLayer::custom(around::panicked))
        .layer(from_fn_with_state(Arc::clone(&service), around::around))
        .with_state(service)
}

/// The description of the routes, with what holds for all of them.
fn description(api: &utoipa::openapi::OpenApi) -> Value {
    let mut api = serde_json::to_value(api).unwrap_or_default();
    api["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    api["components"]["securitySchemes"] = json!({
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "bearer": {"type": "http", "scheme": "bearer"},
    });
    // Without a key configured none is needed.
    api["security"] = json!([{}, {"key": []}, {"bearer": []}]);
    let Some(paths) = api["paths"].as_object_mut() else { return api };
    let operations = paths.values_mut().filter_map(Value::as_object_mut);
    for operation in operations.flat_map(|path| path.values_mut()) {
        let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else {
            continue;
        };
        for (status, response) in responses {
            let said = response["description"].as_str().is_some_and(|text| !text.is_empty());
            if !said {
                response["description"] = json!(match status.as_str() {
                    "400" => "something that was given is not accepted",
                    "404" => "there is no such session or result",
                    "503" => "the store cannot be reached",
                    _ => "an error",
                });
            }
        }
    }
    api
}

/// No route; where only a slash at the end is too much, the way to one.
async fn nothing_here(uri: Uri) -> Response {
    let without = uri.path().strip_suffix('/').filter(|path| path.starts_with("/api/"));
    let Some(path) = without else {
        return Problem::short(Code::NotFound, "Not Found").into_response();
    };
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    Redirect::temporary(&format!("{path}{query}")).into_response()
}

fn no_such_feature() -> Problem {
    Problem::short(
        Code::Unimplemented,
        "this service keeps sessions and tool results; it has no archives and no memories",
    )
}

/// The parts of an address.
#[derive(Debug)]
struct At<T>(T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        path.map(|Path(at)| Self(at))
            .map_err(|error| Problem::short(Code::InvalidArgument, error.body_text()))
    }
}

/// What stands behind the `?` of an address.
#[derive(Debug)]
struct Asked(crate::ask::Query);

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(crate::ask::Query::parse(parts.uri.query())))
    }
}
