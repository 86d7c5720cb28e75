//! How answers and refusals leave: JSON, with a status that says whose fault it is.

use std::any::Any;
use std::borrow::Cow;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haloscope_report::{Error as CoreError, stop};
use haloscope_sql::{Fault, Refusal};
use haloscope_store::Error as StoreError;

/// What most requests are answered with.
pub(crate) type Answer = Result<Json, Failure>;

/// An answer: JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Json(String);

impl Json {
    pub(crate) fn text(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn from_value(value: &impl serde::Serialize) -> Result<Self, Failure> {
        serde_json::to_string(value).map(Self).map_err(|error| Failure::bug(&error.to_string()))
    }
}

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        // Profiles are nobody else's business: no cache keeps what a token was needed for.
        let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
        (headers, self.0).into_response()
    }
}

/// What sort of refusal it is, for clients that treat them differently. The word is part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorKind {
    /// The request is malformed or not allowed.
    Usage,
    /// It names a run, an analysis or a path that is not there.
    Unknown,
    /// A profile cannot be read.
    Unreadable,
    /// A profile is still being written; there is an answer when it is complete.
    Writing,
    /// The profile was read and holds nothing that the question is about.
    Nothing,
    /// The server's own fault.
    Bug,
}

/// A refusal: what is wrong, and what to do.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    status: StatusCode,
    kind: ErrorKind,
    error: String,
    hint: Cow<'static, str>,
    /// When it is worth asking again.
    after: Option<Duration>,
}

impl Failure {
    fn new(
        status: StatusCode,
        kind: ErrorKind,
        error: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        let after = (kind == ErrorKind::Writing).then_some(Duration::from_secs(2));
        Self { status, kind, error: error.into(), hint: hint.into(), after }
    }

    pub(crate) fn usage(error: impl Into<String>, hint: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::Usage, error, hint)
    }

    pub(crate) fn not_found(error: impl Into<String>, hint: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorKind::Unknown, error, hint)
    }

    pub(crate) fn forbidden(error: impl Into<String>, hint: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorKind::Usage, error, hint)
    }

    pub(crate) fn unauthorised(error: impl Into<String>, hint: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, ErrorKind::Usage, error, hint)
    }

    pub(crate) fn method() -> Self {
        let error = "everything here is read with GET; /api/capture takes POST and DELETE too, /api/query and /api/open POST";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, ErrorKind::Usage, error, "")
    }

    pub(crate) fn busy(error: impl Into<String>, hint: &'static str) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorKind::Usage, error, hint)
    }

    /// Too many wrong tokens.
    pub(crate) fn guessing(wait: Duration) -> Self {
        let error = "too many wrong tokens came from this address in a minute";
        let hint = "open the address with ?token= that the server printed; the right token works immediately";
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorKind::Usage, error, hint);
        Self { after: Some(wait), ..refusal }
    }

    /// A body of more than `most` bytes.
    pub(crate) fn too_large(most: usize) -> Self {
        let error = format!("the body has more than {} MiB", most >> 20);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorKind::Usage, error, "ask for less at once")
    }

    /// A body that did not come in time.
    pub(crate) fn slow(longest: Duration) -> Self {
        let error = format!("the body of the request took longer than {} s", longest.as_secs_f64());
        let hint = "send the body at once, as long as Content-Length says";
        Self::new(StatusCode::REQUEST_TIMEOUT, ErrorKind::Usage, error, hint)
    }

    /// What it says, without what to do.
    pub(crate) fn error(&self) -> &str {
        &self.error
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether the profile was read and holds nothing that the question is about.
    pub(crate) fn is_nothing(&self) -> bool {
        self.kind == ErrorKind::Nothing
    }

    fn unreadable(error: impl Into<String>) -> Self {
        let hint =
            "the run cannot be read; if it is still being written, try again when the capture has ended";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, ErrorKind::Unreadable, error, hint)
    }

    fn changed(error: impl Into<String>) -> Self {
        let hint = "the next answer reads the file again";
        Self::new(StatusCode::CONFLICT, ErrorKind::Unreadable, error, hint)
    }

    fn writing(error: impl Into<String>) -> Self {
        let hint = "ask again: it is answered when the capture has ended and its files are complete";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Writing, error, hint)
    }

    fn downloading(error: impl Into<String>) -> Self {
        let hint = "ask again: its files are being downloaded";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Writing, error, hint)
    }

    fn remote(error: impl Into<String>) -> Self {
        let hint = "the server cannot read the place of the runs: fix the problem there";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, ErrorKind::Unreadable, error, hint)
    }

    pub(crate) fn nothing(error: impl Into<String>, hint: &'static str) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, ErrorKind::Nothing, error, hint)
    }

    pub(crate) fn bug(what: &str) -> Self {
        Caught::Bug(what.to_owned()).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { fault, message, hint } = refusal;
        let (status, kind) = match fault {
            Fault::Sql => (StatusCode::BAD_REQUEST, ErrorKind::Usage),
            Fault::Limits => (StatusCode::UNPROCESSABLE_ENTITY, ErrorKind::Unreadable),
            Fault::Nothing => (StatusCode::UNPROCESSABLE_ENTITY, ErrorKind::Nothing),
            Fault::Program => (StatusCode::INTERNAL_SERVER_ERROR, ErrorKind::Bug),
        };
        Self::new(status, kind, message, hint)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::json!({"error": self.error, "hint": self.hint, "kind": self.kind});
        let mut response = (self.status, Json(body.to_string())).into_response();
        if let Some(after) = self.after {
            let seconds = HeaderValue::from(after.as_secs().max(1));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&CoreError> for Failure {
    fn from(error: &CoreError) -> Self {
        let text = error.to_string();
        match error {
            CoreError::Usage(_) => Self::usage(text, ""),
            CoreError::Io { .. } | CoreError::Input { .. } => Self::unreadable(text),
            CoreError::Changed { .. } => Self::changed(text),
            CoreError::Nothing(_) => {
                Self::nothing(text, "`inspect` lists what the profile has; a wider scope may have more")
            }
            _ => Self::bug(&text),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownRun(_) => Self::not_found(error.to_string(), "/api/runs lists the runs"),
            StoreError::Outside(_) | StoreError::NoPath(_) => Self::forbidden(error.to_string(), ""),
            StoreError::Read(error) => Self::from(&*error),
            StoreError::StillWritten { .. } => Self::writing(error.to_string()),
            StoreError::Downloading { .. } => Self::downloading(error.to_string()),
            StoreError::Remote(_) => Self::remote(error.to_string()),
            _ => Self::bug(&error.to_string()),
        }
    }
}

/// Why something was not computed to its end.
#[derive(Debug)]
pub(crate) enum Caught {
    /// What a bug of ours says.
    Bug(String),
    /// It needs what is not in a part of a profile.
    Refused(String),
    /// It took longer than an answer may.
    Late(Duration),
    /// All who asked had left.
    Left,
}

impl Caught {
    /// What it is in words, and what to do.
    pub(crate) fn words(&self) -> (String, &'static str) {
        match self {
            Self::Bug(what) => (
                format!("the server failed: {what}"),
                "this is a bug of Haloscope; please report it with the profile, or the output of `haloscope inspect`",
            ),
            Self::Refused(what) => (what.clone(), "ask the whole profile"),
            Self::Late(most) => (
                format!("the answer took longer than the limit of {} s", most.as_secs()),
                "ask for less: fewer devices or steps, or a window; `haloscope serve --deadline SECONDS` gives more time",
            ),
            Self::Left => ("the client stopped waiting for the answer".to_owned(), "ask again"),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Bug(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Late(_) | Self::Left => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl From<Caught> for Failure {
    fn from(caught: Caught) -> Self {
        let (error, hint) = caught.words();
        let kind = match caught {
            Caught::Bug(_) => ErrorKind::Bug,
            Caught::Refused(_) => ErrorKind::Unreadable,
            Caught::Late(_) | Caught::Left => ErrorKind::Usage,
        };
        Self::new(caught.status(), kind, error, hint)
    }
}

/// The answer to a request whose handler panicked.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands the panic over")]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    Failure::bug(panic_text(&*panic)).into_response()
}

/// Why work unwound: it was refused, or there is a bug.
pub(crate) fn unwound(thrown: &(dyn Any + Send)) -> Caught {
    match stop::refusal(thrown) {
        Some(error) => Caught::Refused(error.to_string()),
        None => Caught::Bug(panic_text(thrown).to_owned()),
    }
}

/// What a panic says.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_says_whose_fault_it_is() {
        let io = CoreError::Io { path: "x".into(), source: std::io::ErrorKind::NotFound.into() };
        let all = [
            (Failure::from(CoreError::Usage(String::new())), 400, ErrorKind::Usage),
            (Failure::from(CoreError::Nothing(String::new())), 422, ErrorKind::Nothing),
            (Failure::from(StoreError::from(io)), 422, ErrorKind::Unreadable),
            (
                Failure::from(CoreError::Changed { path: "x".into(), change: String::new() }),
                409,
                ErrorKind::Unreadable,
            ),
            (Failure::from(StoreError::UnknownRun("x".into())), 404, ErrorKind::Unknown),
            (Failure::bug("x"), 500, ErrorKind::Bug),
        ];
        for (failure, status, kind) in all {
            assert_eq!((failure.status.as_u16(), failure.kind), (status, kind), "{}", failure.error);
        }
    }
}
