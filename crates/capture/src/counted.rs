//! A channel whose replies are counted while they come in: one that comes slowly is told from one that does not come.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::{Frame, SizeHint};
use prost::bytes::{Buf, Bytes};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Channel, Error};
use tower_service::Service;

/// How many bytes of replies came through.
pub(crate) type Count = Arc<AtomicU64>;

/// A channel that counts.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    channel: Channel,
    count: Count,
}

impl Counted {
    pub(crate) fn new(channel: Channel, count: Count) -> Self {
        Self { channel, count }
    }
}

impl Service<Request<Body>> for Counted {
    type Response = Response<Body>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (reply, count) = (self.channel.call(request), self.count.clone());
        Box::pin(async move { Ok(reply.await?.map(|inner| Body::new(Counting { inner, count }))) })
    }
}

/// The body of a reply.
struct Counting {
    inner: Body,
    count: Count,
}

impl http_body::Body for Counting {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.count.fetch_add(data.remaining() as u64, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
