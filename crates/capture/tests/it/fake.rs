//! A profiler service that does as it is told. It speaks gRPC through tonic, with messages of its own.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use haloscope_xspace::write::{Line, Plane, Space};
use prost::Message;
use prost::bytes::Bytes;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower_service::Service;

/// `ProfileRequest`, read independently of the client.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Asked {
    #[prost(uint64, tag = "1")]
    pub duration_ms: u64,
    #[prost(message, optional, tag = "4")]
    pub opts: Option<Opts>,
    #[prost(string, tag = "5")]
    pub repository_root: String,
    #[prost(string, tag = "6")]
    pub session_id: String,
    #[prost(string, tag = "7")]
    pub host_name: String,
    #[prost(bool, tag = "9")]
    pub emit_xspace: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Opts {
    #[prost(uint32, tag = "2")]
    pub host_tracer_level: u32,
    #[prost(uint64, tag = "8")]
    pub start_timestamp_ns: u64,
}

/// `GetSnapshotRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Snapshot {
    #[prost(string, tag = "1")]
    pub session: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Answer {
    #[prost(bool, tag = "7")]
    pub empty_trace: bool,
    #[prost(bytes = "bytes", tag = "8")]
    pub xspace: Bytes,
}

/// What the server does when it is asked.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// Profiles as long as it is asked to, and sends this.
    Sends(Bytes),
    /// Says that nothing was recorded.
    Empty,
    /// Says so at first, and then sends.
    EmptyAtFirst(Bytes),
    /// Answers without a profile, as servers before that field do.
    Old,
    /// Answers so too, and writes the profile where it was told to, as those servers do.
    Writes(Bytes),
    /// Never answers.
    Hangs,
    /// Ends with its whole runtime after this time.
    Dies(Duration),
    /// Refuses with this status.
    Refuses(Status),
    /// Sends what is no profile.
    Damaged,
}

/// A runtime that anybody may end, with all its connections.
type Killable = Arc<Mutex<Option<tokio::runtime::Runtime>>>;

fn kill(runtime: &Killable) {
    if let Some(runtime) = runtime.lock().unwrap().take() {
        runtime.shutdown_background();
    }
}

/// A server on a thread of its own; it ends with the value.
pub(crate) struct Fake {
    pub at: SocketAddr,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    /// Calls that the client ended.
    pub ended: Arc<AtomicUsize>,
    runtime: Killable,
}

impl Fake {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let at = listener.local_addr().unwrap();
        let (asked, ended) = (Arc::default(), Arc::default());
        let killable = Killable::default();
        let handler = Handler {
            behaviour,
            asked: Arc::clone(&asked),
            ended: Arc::clone(&ended),
            runtime: Arc::clone(&killable),
        };
        runtime.spawn(
            tonic::transport::Server::builder()
                .add_service(Profiler(handler))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        *killable.lock().unwrap() = Some(runtime);
        Self { at, asked, ended, runtime: killable }
    }

    pub(crate) fn name(&self) -> String {
        format!("localhost:{}", self.at.port())
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        kill(&self.runtime);
    }
}

/// A profile of a host with one plane whose name has this many bytes.
pub(crate) fn space(host: &str, bytes: usize) -> Bytes {
    let plane = Plane { name: "x".repeat(bytes), lines: vec![Line::new(1, "steps")], ..Plane::default() };
    let space = Space { planes: vec![plane], hostnames: vec![host.to_owned()], ..Space::default() };
    Bytes::from(space.to_bytes())
}

#[derive(Clone)]
struct Handler {
    behaviour: Behaviour,
    asked: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicUsize>,
    runtime: Killable,
}

/// Counts a call whose future goes before its end: the client ended it.
struct Unfinished(Option<Arc<AtomicUsize>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(count) = self.0.take() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// As JAX 0.4.30 does.
fn write(asked: &Asked, space: &Bytes) -> Result<Answer, Status> {
    let folder = std::path::Path::new(&asked.repository_root).join(&asked.session_id);
    let path = folder.join(format!("{}.xplane.pb", asked.host_name));
    std::fs::create_dir_all(folder).map_err(|_| Status::internal("/dev/null is not a directory"))?;
    std::fs::write(path, space).map_err(|error| Status::internal(error.to_string()))?;
    Ok(Answer::default())
}

impl Handler {
    async fn profile(self, asked: Asked) -> Result<Answer, Status> {
        let number = {
            let mut all = self.asked.lock().unwrap();
            all.push(asked.clone());
            all.len()
        };
        let mut guard = Unfinished(Some(Arc::clone(&self.ended)));
        tokio::time::sleep(Duration::from_millis(asked.duration_ms)).await;
        let answer = match &self.behaviour {
            Behaviour::Sends(space) => Ok(Answer { xspace: space.clone(), ..Answer::default() }),
            Behaviour::EmptyAtFirst(space) if number > 1 => {
                Ok(Answer { xspace: space.clone(), ..Answer::default() })
            }
            Behaviour::Empty | Behaviour::EmptyAtFirst(_) => {
                Ok(Answer { empty_trace: true, ..Answer::default() })
            }
            Behaviour::Old => Ok(Answer::default()),
            Behaviour::Writes(space) => write(&asked, space),
            Behaviour::Damaged => Ok(Answer { xspace: vec![0x0a, 0xff].into(), ..Answer::default() }),
            Behaviour::Refuses(status) => Err(status.clone()),
            Behaviour::Hangs => std::future::pending().await,
            Behaviour::Dies(after) => {
                tokio::time::sleep(*after).await;
                // A runtime cannot be ended from within.
                let runtime = Arc::clone(&self.runtime);
                std::thread::spawn(move || kill(&runtime));
                std::future::pending().await
            }
        };
        guard.0 = None;
        answer
    }
}

#[derive(Clone)]
struct Profiler(Handler);

impl NamedService for Profiler {
    const NAME: &'static str = "tensorflow.ProfilerService";
}

type Made<T> = Pin<Box<dyn Future<Output = Result<T, Infallible>> + Send>>;

impl Service<http::Request<Body>> for Profiler {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Made<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let handler = self.0.clone();
        Box::pin(async move {
            let (profile, snapshot) = (ProstCodec::default(), ProstCodec::default());
            let path = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            Ok(match path.as_str() {
                "Profile" => {
                    Grpc::<ProstCodec<Answer, Asked>>::new(profile).unary(Unary(handler), request).await
                }
                "GetSnapshot" => {
                    Grpc::<ProstCodec<Answer, Snapshot>>::new(snapshot).unary(Unary(handler), request).await
                }
                _ => Status::unimplemented("unimplemented").into_http(),
            })
        })
    }
}

impl UnaryService<Snapshot> for Unary {
    type Response = Answer;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, Status>> + Send>>;

    fn call(&mut self, _: Request<Snapshot>) -> Self::Future {
        let handler = self.0.clone();
        Box::pin(async move { handler.profile(Asked::default()).await.map(Response::new) })
    }
}

struct Unary(Handler);

impl UnaryService<Asked> for Unary {
    type Response = Answer;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, Status>> + Send>>;

    fn call(&mut self, request: Request<Asked>) -> Self::Future {
        let handler = self.0.clone();
        Box::pin(async move { handler.profile(request.into_inner()).await.map(Response::new) })
    }
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
