//! The page: sessions, and their stubs beside the originals.

use std::sync::Arc;

use axum::Router;

use crate::service::Service;

pub(crate) fn router() -> Router<Arc<Service>> {
    Router::new()
}

/// Whether a route is part of the page.
pub(crate) fn is_page(_route: &str) -> bool {
    false
}
