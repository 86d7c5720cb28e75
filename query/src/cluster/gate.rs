//! Who may ask a worker: whoever has its token, and is of its version.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, HeaderValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

use crate::failure::Failure;

/// What the version of who asks stands in.
const VERSION: HeaderName = HeaderName::from_static("haloscope-version");

/// What a refusal begins with, by which the one who asks knows it.
pub(super) const REFUSED: &str = "refused: ";

/// The fewest characters of a token.
const SHORTEST: usize = 16;

/// What whoever asks and a worker both know.
#[derive(Clone)]
pub(crate) struct Token(Arc<str>);

impl Token {
    /// The token in a file, without white space around it.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a file that cannot be read, or a token that is short or has other characters than letters, digits and signs.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| {
            let hint =
                "as in: openssl rand -hex 32 > FILE; the same file for all workers and for `haloscope query`";
            Failure::Usage(format!("--token-file {}: {why}", path.display()), hint.into())
        };
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let token = text.trim();
        if token.len() < SHORTEST {
            return Err(wrong(format!(
                "expected a token of {SHORTEST} characters or more, found {}",
                token.len()
            )));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("expected letters, digits and signs, found others".into()));
        }
        Ok(Self(token.into()))
    }

    /// Whether this is the token; how long it takes says nothing of where they differ.
    fn is(&self, other: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differ = own.iter().enumerate().fold(own.len() ^ other.len(), |differ, (at, byte)| {
            differ | usize::from(byte ^ other.get(at).copied().unwrap_or_default())
        });
        std::hint::black_box(differ) == 0
    }
}

/// What each call to a worker says of who asks.
pub(super) fn headers(token: Option<&Token>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(version) = HeaderValue::from_str(&super::version()) {
        headers.insert(VERSION, version);
    }
    if let Some(Ok(mut bearer)) = token.map(|token| HeaderValue::from_str(&format!("Bearer {}", token.0))) {
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    headers
}

/// Looks at each call to a worker before anything of it is read.
#[derive(Clone)]
pub(super) struct Gate {
    token: Option<Token>,
}

impl Gate {
    pub(super) fn new(token: Option<Token>) -> Self {
        Self { token }
    }
}

impl Interceptor for Gate {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let metadata = request.metadata();
        if let Some(token) = &self.token {
            let given = metadata.get(AUTHORIZATION.as_str()).map(|value| value.as_bytes());
            let bearer = given.and_then(|value| value.strip_prefix(b"Bearer "));
            if !bearer.is_some_and(|bearer| token.is(bearer)) {
                let why = "the token differs from the worker's: --token-file must be the same on both sides";
                return Err(Status::unauthenticated(format!("{REFUSED}{why}")));
            }
        }
        let own = super::version();
        let other =
            metadata.get(VERSION.as_str()).and_then(|value| value.to_str().ok()).unwrap_or("of no version");
        if own != other {
            return Err(Status::failed_precondition(format!(
                "{REFUSED}the worker is {own}, but the client is {other}: install the same version on all machines"
            )));
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = Token("0123456789abcdef".into());
        assert!(token.is(b"0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0", "0123456789abcdef\0"] {
            assert!(!token.is(other.as_bytes()), "{other:?}");
        }
    }

    #[test]
    fn who_has_no_token_or_another_version_is_refused() {
        let token = Token("0123456789abcdef".into());
        let mut gate = Gate::new(Some(token.clone()));
        let asked = |headers: HeaderMap| {
            Request::from_parts(
                tonic::metadata::MetadataMap::from_headers(headers),
                tonic::Extensions::default(),
                (),
            )
        };
        assert!(gate.call(asked(headers(Some(&token)))).is_ok());
        let refused =
            |outcome: Result<Request<()>, Status>| outcome.err().map(|status| status.message().to_owned());
        assert!(
            refused(gate.call(asked(headers(None))))
                .is_some_and(|why| why.contains("the token differs from"))
        );
        let mut older = headers(Some(&token));
        older.insert(VERSION, HeaderValue::from_static("haloscope-query 0.0.1, protocol 0"));
        let why = refused(gate.call(asked(older))).unwrap_or_default();
        assert!(why.contains("0.0.1") && why.contains(&super::super::version()), "{why}");
    }
}
