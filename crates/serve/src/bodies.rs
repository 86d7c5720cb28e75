//! The bodies of requests: how long a client may take to send one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::answer::Failure;

/// How long a body may take in all, from the end of the request's head. The largest has some kilobytes.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);

/// Gives up a body that takes longer than `longest`: what waited for it ends, and the client is told.
pub(crate) async fn in_time(State(longest): State<Duration>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let late = Arc::new(AtomicBool::new(false));
    let timed = Arc::clone(&late);
    let request = request.map(|body| Body::new(Timed { body, until: Box::pin(sleep(longest)), late: timed }));
    let response = next.run(request).await;
    if !late.load(Ordering::Relaxed) {
        return response;
    }
    let mut response = Failure::slow(longest).into_response();
    // What still comes is not read.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Reads the body before anything else looks at the request: one that is cut or garbled is the sender's fault, and one above the
/// router's [`DefaultBodyLimit`](axum::extract::DefaultBodyLimit) of `most` bytes is refused as such.
pub(crate) async fn whole(State(most): State<usize>, request: Request, next: Next) -> Response {
    if request.body().size_hint().lower() > most as u64 {
        return Failure::too_large(most).into_response();
    }
    let (parts, body) = request.into_parts();
    match Bytes::from_request(Request::from_parts(parts.clone(), body), &()).await {
        Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Failure::too_large(most).into_response()
        }
        Err(_) => Failure::usage("the body is incomplete", "send all of it").into_response(),
    }
}

/// A body that fails where it takes too long.
struct Timed {
    body: Body,
    until: Pin<Box<Sleep>>,
    /// Whether it did.
    late: Arc<AtomicBool>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        self.until.as_mut().poll(context).map(|()| {
            self.late.store(true, Ordering::Relaxed);
            Some(Err(axum::Error::new(std::io::Error::from(std::io::ErrorKind::TimedOut))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use tokio::net::TcpListener;

    use super::*;
    use crate::connections;

    /// What a server says that gives bodies so long, to a client that sends a body of four bytes in these pieces and then waits.
    fn said(longest: Duration, pieces: &[&str]) -> String {
        let router = Router::new()
            .route(
                "/",
                post(|body: Result<Bytes, _>| async {
                    body.map_err(|_: axum::extract::rejection::BytesRejection| "broken")
                }),
            )
            .layer(from_fn_with_state(longest, in_time));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let serving = runtime.spawn(connections::serve(listener, router, std::future::pending()));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n").unwrap();
        for piece in pieces {
            client.write_all(piece.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut answer = vec![0; 64 << 10];
        let read = client.read(&mut answer).unwrap();
        serving.abort();
        String::from_utf8(answer[..read].to_vec()).unwrap()
    }

    #[test]
    fn a_body_that_trickles_in_is_given_up_with_a_reason() {
        for pieces in [&["a", "b"][..], &[]] {
            let answer = said(Duration::from_millis(300), pieces);
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            let answer = answer.to_ascii_lowercase();
            assert!(answer.contains("connection: close") && answer.contains("\"hint\""), "{answer}");
            assert!(answer.contains("longer than 0.3 s"), "{answer}");
        }
    }

    #[test]
    fn a_body_in_pieces_is_taken_where_it_comes_in_time() {
        let answer = said(Duration::from_secs(60), &["a", "b", "c", "d"]);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("abcd"), "{answer}");
    }
}
