//! How answers and refusals leave on XProf's routes: a refusal is plain text, as there.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haloscope_compat::Error as CompatError;
use haloscope_store::Error as StoreError;
use serde_json::Value;

use super::python;
use crate::answer::Caught;

/// Why there is no answer. It can be cloned, because all who waited for it hear the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        text(self.status, self.text)
    }
}

impl From<Caught> for Refusal {
    fn from(caught: Caught) -> Self {
        let (text, hint) = caught.words();
        Self::new(caught.status(), format!("{text}; {hint}"))
    }
}

impl From<CompatError> for Refusal {
    fn from(error: CompatError) -> Self {
        let status = StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // XProf says these two words and no more where a tool has nothing to show.
        let start = if status == StatusCode::NOT_FOUND { "No Data: " } else { "" };
        Self::new(status, format!("{start}{error}"))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::UnknownRun(_) => StatusCode::NOT_FOUND,
            StoreError::Outside(_) => StatusCode::FORBIDDEN,
            StoreError::NoPath(_) => StatusCode::BAD_REQUEST,
            StoreError::Read(why) if matches!(**why, haloscope_report::Error::Changed { .. }) => {
                StatusCode::CONFLICT
            }
            StoreError::StillWritten { .. } | StoreError::Downloading { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

/// A response with these bytes, which no cache keeps.
pub(super) fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, body.into()).into_response()
}

pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response {
    reply(status, "text/plain", text.into())
}

pub(super) fn json(value: &Value) -> Result<Response, Refusal> {
    Ok(reply(StatusCode::OK, "application/json", python::to_json(value)))
}
