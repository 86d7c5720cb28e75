//! What a tool answers.

use serde::Serialize;

use crate::Error;

/// The body of an answer and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The value of the `Content-Type` header.
    pub content_type: &'static str,
    /// The body, not compressed for the way.
    pub body: Vec<u8>,
}

/// The kinds of answers that there are.
const CONTENT_TYPES: [&str; 4] = ["application/json", "text/plain", "text/html", "application/octet-stream"];

impl Answer {
    /// An answer that was given before, with its kind; `None` for a kind that no tool gives.
    #[must_use]
    pub fn given_before(content_type: &str, body: Vec<u8>) -> Option<Self> {
        let content_type = CONTENT_TYPES.into_iter().find(|known| *known == content_type)?;
        Some(Self { content_type, body })
    }

    /// An answer in JSON, without spaces.
    ///
    /// # Errors
    /// [`Error::Internal`] for what has no form in JSON.
    pub fn json(value: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(value).map_err(|e| Error::Internal(e.to_string()))?;
        Ok(Self { content_type: "application/json", body })
    }

    /// An answer in plain text.
    #[must_use]
    pub fn text(body: impl Into<String>) -> Self {
        Self { content_type: "text/plain", body: body.into().into_bytes() }
    }

    /// An answer that is a page.
    #[must_use]
    pub fn html(body: impl Into<String>) -> Self {
        Self { content_type: "text/html", body: body.into().into_bytes() }
    }

    /// An answer in bytes that are meant for a program.
    #[must_use]
    pub fn bytes(body: Vec<u8>) -> Self {
        Self { content_type: "application/octet-stream", body }
    }
}
