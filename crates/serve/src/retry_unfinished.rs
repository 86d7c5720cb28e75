//! A question about a run that is still being written waits a little: as a rule the profiler is done a moment later.

use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

/// How long a question waits.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The time until it is looked again.
const PAUSE: Duration = Duration::from_millis(250);

/// Asks again for as long as the answer is [`StatusCode::SERVICE_UNAVAILABLE`], which is said of such a run and nothing else.
/// No core is held while it waits.
pub(crate) async fn retry_unfinished(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if parts.method != Method::GET {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let begun = Instant::now();
    loop {
        let response = next.clone().run(Request::from_parts(parts.clone(), axum::body::Body::empty())).await;
        if response.status() != StatusCode::SERVICE_UNAVAILABLE || begun.elapsed() >= LONGEST_WAIT {
            return response;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
