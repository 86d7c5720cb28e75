//! Connections to workers: one each, kept, and noticed when nobody is at the other end any more.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::common::config_datafusion_err;
use datafusion::error::Result;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{ChannelResolver, WorkerChannel};
use http::HeaderMap;
use tokio::runtime::Handle;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::ServiceExt;
use url::Url;

use super::aside;

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// How often a connection is asked whether somebody is there, and how long it may take to say so: a machine that was switched off
/// closes nothing.
const ASK_EVERY: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// Bytes that may be on their way: the protocol's own 64 KiB hold a fast network up.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// The connections of a process.
#[derive(Clone)]
pub(super) struct Channels {
    headers: HeaderMap,
    /// Where they are kept alive.
    at: Handle,
    open: Arc<Mutex<BTreeMap<Url, BoxCloneSyncChannel>>>,
}

impl Channels {
    /// Each call will have these headers.
    ///
    /// # Errors
    /// As [`aside::connections`].
    pub(super) fn new(headers: HeaderMap) -> io::Result<Self> {
        Ok(Self { headers, at: aside::connections()?, open: Arc::default() })
    }

    fn channel(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(url) {
            return Ok(known.clone());
        }
        let endpoint = Endpoint::from_shared(url.to_string())
            .map_err(|error| config_datafusion_err!("{url} is not the address of a worker: {error}"))?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(ASK_EVERY)
            .keep_alive_timeout(ANSWER_WITHIN)
            .keep_alive_while_idle(true);
        let headers = self.headers.clone();
        let _at = self.at.enter();
        // Connects at the first call, and again where a connection was lost.
        let channel = endpoint.connect_lazy().map_request(move |mut request: http::Request<Body>| {
            request.headers_mut().extend(headers.clone());
            request
        });
        let channel = BoxCloneSyncChannel::new(channel);
        open.insert(url.clone(), channel.clone());
        Ok(channel)
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        self.channel(url).map(create_worker_client)
    }
}
