//! Calls and work on threads of their own: a join has time for nothing else, and whoever does not answer a ping counts as dead.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Handle, Runtime};
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

/// Threads for connections: they wait more than they work.
const THREADS: usize = 2;

/// What the calls are named that work on plans; others are answered at once.
const WORK: [&str; 2] = ["/CoordinatorChannel", "/ExecuteTask"];

/// Where connections live, for as long as the process does.
///
/// # Errors
/// If the system has no thread for it.
pub(super) fn connections() -> io::Result<Handle> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime.handle().clone());
    }
    let made = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("connections")
        .enable_all()
        .build()?;
    Ok(RUNTIME.get_or_init(|| made).handle().clone())
}

/// A service whose work is done elsewhere.
#[derive(Clone)]
pub(super) struct Aside<S> {
    service: S,
    there: Handle,
}

impl<S> Aside<S> {
    pub(super) fn new(service: S, there: Handle) -> Self {
        Self { service, there }
    }
}

impl<S: NamedService> NamedService for Aside<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Aside<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let is_work = WORK.iter().any(|work| request.uri().path().ends_with(work));
        if !is_work {
            return Box::pin(self.service.call(request));
        }
        // What it starts runs where it runs.
        let (mut service, there) = (self.service.clone(), self.there.clone());
        let done = there.spawn(async move { service.call(request).await });
        Box::pin(async move {
            done.await.unwrap_or_else(|error| {
                let why = format!("a worker's own failure: {error}");
                Ok(Status::internal(why).into_http())
            })
        })
    }
}
