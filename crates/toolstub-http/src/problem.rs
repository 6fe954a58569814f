//! What can be wrong with a request, or go wrong with it, and how it is told.

use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use toolstub_core::{IdError, error_chain};
use toolstub_session::SessionError;
use toolstub_store::{BackendError, StoreError};

use crate::envelope;

/// The codes of errors. Each has one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Code {
    InvalidArgument,
    InvalidUri,
    Unauthenticated,
    PermissionDenied,
    NotFound,
    AlreadyExists,
    Conflict,
    FailedPrecondition,
    /// Clients know no code for it; the status tells.
    #[serde(rename = "INVALID_ARGUMENT")]
    TooLarge,
    ResourceExhausted,
    Corrupt,
    Internal,
    Unimplemented,
    Unavailable,
    DeadlineExceeded,
    /// A method that a route does not have.
    Unknown,
}

impl Code {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::InvalidArgument | Self::InvalidUri => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::PermissionDenied => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Unknown => StatusCode::METHOD_NOT_ALLOWED,
            Self::AlreadyExists | Self::Conflict => StatusCode::CONFLICT,
            Self::FailedPrecondition => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Self::Corrupt | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    /// Whether the answer has the fields of an answer beside the error.
    pub(crate) is_whole: bool,
}

impl Problem {
    /// An error in the short form: the error alone.
    pub(crate) fn short(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, is_whole: false }
    }

    /// An error in the form of any other answer, with details.
    pub(crate) fn whole(code: Code, message: impl Into<String>, details: Value) -> Self {
        Self { code, message: message.into(), details: Some(details), is_whole: true }
    }

    /// Nothing of this name.
    pub(crate) fn no_session(id: &str) -> Self {
        Self::short(Code::NotFound, format!("Session {id} not found"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        envelope::error(&self)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let mut message = error_chain(&error);
        let (code, details) = match &error {
            StoreError::NotFound { reference } => {
                (Code::NotFound, json!({"resource": reference, "type": "file"}))
            }
            StoreError::NothingSelected { .. } => (Code::NotFound, json!({})),
            StoreError::Conflict { .. } | StoreError::Busy { .. } => (Code::Conflict, json!({})),
            StoreError::Corrupt { .. } => (Code::Corrupt, json!({})),
            StoreError::Invalid { field, given, .. } => {
                let value = serde_json::from_str(given).unwrap_or_else(|_| json!(given));
                (Code::InvalidArgument, json!({"field": field, "value": value}))
            }
            StoreError::Id(_) => (Code::InvalidArgument, json!({})),
            StoreError::Backend(BackendError::PermissionDenied { .. }) => {
                // The client may do this; the service may not.
                (Code::Internal, json!({}))
            }
            StoreError::Backend(BackendError::StorageFull { .. }) => {
                (Code::ResourceExhausted, json!({}))
            }
            StoreError::Backend(BackendError::TooLarge { .. } | BackendError::Misplaced { .. }) => {
                (Code::Internal, json!({}))
            }
            StoreError::Backend(_) => (Code::Unavailable, json!({"service": "storage backend"})),
            _ => (Code::Internal, json!({})),
        };
        if !matches!(code, Code::NotFound | Code::InvalidArgument) {
            tracing::error!(cause = message, "a request failed");
            // The client learns what it can act on, and the log what the store said.
            message = error.to_string();
        }
        Self::whole(code, message, details)
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Rejected { .. } => {
                tracing::error!(cause = error_chain(&error), "an original could not be stored");
                Self::whole(Code::FailedPrecondition, error.to_string(), json!({}))
            }
            SessionError::NoSuchIndex { .. } => {
                Self::whole(Code::NotFound, error.to_string(), json!({}))
            }
            SessionError::Interrupted => Self::short(Code::Unavailable, error.to_string()),
            error => Self::short(Code::Internal, error_chain(&error)),
        }
    }
}

impl From<IdError> for Problem {
    fn from(error: IdError) -> Self {
        Self::whole(Code::InvalidArgument, error.to_string(), json!({}))
    }
}
