//! One call to one server, with a bound on its silence, and what its failures mean.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::{Instant, interval, sleep};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use crate::counted::{Count, Counted};
use crate::server::Server;
use crate::{Error, Stop};

/// How often what comes in is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Large replies over long links need large windows.
const WINDOW: u32 = 16 << 20;
/// A connection through a dead host is noticed after a few of these.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How often a call is tried whose connections end before it is sent.
const TRIES: u32 = 3;

/// A method of the service, and what it does in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Method {
    name: &'static str,
    what: &'static str,
}

pub(crate) const PROFILE: Method = Method { name: "Profile", what: "a profiler service" };
pub(crate) const MONITOR: Method = Method { name: "Monitor", what: "monitoring" };
pub(crate) const START: Method = Method { name: "StartContinuousProfiling", what: "continuous profiling" };
pub(crate) const SNAPSHOT: Method = Method { name: "GetSnapshot", what: "snapshots of continuous profiling" };
pub(crate) const END: Method = Method { name: "StopContinuousProfiling", what: "continuous profiling" };

/// A connection to a server.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub server: Server,
    channel: Channel,
    timeout: Duration,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// [`Error::Refused`], or [`Error::Unanswered`] after `timeout`.
    pub(crate) async fn open(server: &Server, timeout: Duration, stop: &Stop) -> Result<Self, Error> {
        let endpoint = Endpoint::from(server.uri()?)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEPALIVE))
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        let channel = tokio::select! {
            made = endpoint.connect() => made.map_err(|why| refused(server, &why))?,
            () = sleep(timeout) => {
                let expected = "to take the connection";
                return Err(Error::Unanswered { server: server.to_string(), after: timeout, expected });
            }
            () = stop.stopped() => return Err(Error::Stopped),
        };
        Ok(Self { server: server.clone(), channel, timeout })
    }

    /// Calls a method; `busy` is how long the server has work to do before it can answer. `look` is told the bytes that came in
    /// so far, a few times a second.
    ///
    /// # Errors
    /// As the server, the connection or the lack of an answer have it.
    pub(crate) async fn call<Q, A>(
        &self,
        method: Method,
        message: Q,
        busy: Duration,
        stop: &Stop,
        look: impl Fn(u64),
    ) -> Result<A, Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let count = Count::default();
        let since = Instant::now();
        let answer = self.unary(method, message, count.clone());
        tokio::pin!(answer);
        let mut looks = interval(LOOK);
        let mut came = 0;
        let mut silent_since = since + busy;
        loop {
            tokio::select! {
                answer = &mut answer => {
                    return answer.map_err(|status| self.meaning(method, &status, since.elapsed()));
                }
                _ = looks.tick() => {
                    let now = count.load(Ordering::Relaxed);
                    look(now);
                    if now > came {
                        came = now;
                        silent_since = silent_since.max(Instant::now());
                    }
                    if silent_since.elapsed() >= self.timeout {
                        let expected = if came > 0 { "to send the rest of its answer" } else { "to answer" };
                        return Err(Error::Unanswered { server: self.name(), after: since.elapsed(), expected });
                    }
                }
                () = stop.stopped() => return Err(Error::Stopped),
            }
        }
    }

    /// `host:port`.
    pub(crate) fn name(&self) -> String {
        self.server.to_string()
    }

    /// Calls the method. A call that was not sent, as its connection had ended, is sent through a new one: a server that ends
    /// idle connections is asked again.
    async fn unary<Q, A>(&self, method: Method, message: Q, count: Count) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut tried = 1;
        loop {
            match self.once(method, message.clone(), count.clone()).await {
                Err(status) if tried < TRIES && is_unsent(&status) => tried += 1,
                answer => return answer,
            }
        }
    }

    async fn once<Q, A>(&self, method: Method, message: Q, count: Count) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut client =
            Grpc::new(Counted::new(self.channel.clone(), count)).max_decoding_message_size(usize::MAX);
        client.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let path = PathAndQuery::try_from(format!("/tensorflow.ProfilerService/{}", method.name));
        let path = path.map_err(|_| Status::internal("the method's name is not a path"))?;
        let codec = ProstCodec::<Q, A>::default();
        Ok(client.unary(Request::new(message), path, codec).await?.into_inner())
    }

    /// What a failed call means.
    fn meaning(&self, method: Method, status: &Status, after: Duration) -> Error {
        let server = self.name();
        let message = status.message().to_owned();
        // What the connection said has a source; what the server said has none.
        if let Some(source) = std::error::Error::source(status) {
            if is_unsent(status) {
                return Error::Other {
                    server,
                    found: "it closes connections before it receives a request".to_owned(),
                };
            }
            let why = innermost(source);
            let is_foreign = ["frame", "PROTOCOL_ERROR", "invalid"].iter().any(|word| why.contains(word));
            return if is_foreign {
                Error::Other { server, found: why }
            } else {
                Error::Died { server, after, why }
            };
        }
        match status.code() {
            Code::Unimplemented => Error::Unimplemented { server, what: method.what },
            Code::NotFound if method.name != PROFILE.name => Error::Idle { server },
            Code::AlreadyExists => Error::Busy { server, message },
            code => Error::Failed { server, code: format!("{code:?}"), message },
        }
    }
}

fn refused(server: &Server, why: &tonic::transport::Error) -> Error {
    Error::Refused { server: server.to_string(), why: innermost(why) }
}

/// Whether the connection ended before the call was sent.
fn is_unsent(status: &Status) -> bool {
    causes(status).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled))
}

/// An error and what caused it, from the outermost to the innermost.
fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// What the innermost cause said: the outer ones say only that there was one.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}
