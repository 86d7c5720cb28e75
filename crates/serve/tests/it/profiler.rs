//! A program with a profiler service that sends the tests' profile, and captures from it over HTTP.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http;
use haloscope_xspace::write::Space;
use prost::Message;
use prost::bytes::Bytes;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower_service::Service;

use crate::client::{TestServer, profile};

/// `ProfileRequest`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
struct Asked {
    #[prost(uint64, tag = "1")]
    duration_ms: u64,
}

/// `ProfileResponse`.
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(bytes = "bytes", tag = "8")]
    xspace: Bytes,
}

/// The service; it ends with the value.
struct Program {
    _runtime: tokio::runtime::Runtime,
    name: String,
}

impl Program {
    fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let name = format!("localhost:{}", listener.local_addr().unwrap().port());
        let incoming = TcpListenerStream::new(listener);
        runtime
            .spawn(tonic::transport::Server::builder().add_service(Profiler).serve_with_incoming(incoming));
        Self { _runtime: runtime, name }
    }
}

#[derive(Clone)]
struct Profiler;

type Soon<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl NamedService for Profiler {
    const NAME: &'static str = "tensorflow.ProfilerService";
}

impl Service<http::Request<Body>> for Profiler {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Soon<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            Ok(if request.uri().path().ends_with("/Profile") {
                Grpc::new(ProstCodec::<Answer, Asked>::default()).unary(Self, request).await
            } else {
                Status::unimplemented("unimplemented").into_http()
            })
        })
    }
}

impl UnaryService<Asked> for Profiler {
    type Response = Answer;
    type Future = Soon<Response<Answer>, Status>;

    fn call(&mut self, request: Request<Asked>) -> Self::Future {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(request.into_inner().duration_ms)).await;
            let space = Space { hostnames: vec!["worker-7".to_owned()], ..profile() };
            Ok(Response::new(Answer { xspace: space.to_bytes().into() }))
        })
    }
}

fn run_ids(server: &TestServer) -> Vec<Value> {
    server.json("/api/runs")["runs"].as_array().unwrap().iter().map(|run| run["id"].clone()).collect()
}

#[test]
fn a_capture_is_followed_to_its_run_and_its_report() {
    let (server, program) = (TestServer::start(), Program::start());
    let body = json!({"servers": [program.name], "duration_ms": 600, "options": ["host_tracer_level=1"]});
    let answer = server.send("POST", "/api/capture", "Content-Type: application/json\r\n", &body.to_string());
    assert_eq!(answer.status, 202, "{}", answer.text());
    let path = format!("/api/capture/{}", answer.json()["id"].as_str().unwrap());
    let mut states = Vec::new();
    let done = loop {
        let body = server.json(&path);
        let state = body["state"].as_str().unwrap().to_owned();
        assert!(!["failed", "cancelled"].contains(&&*state), "{body}");
        if state == "done" {
            break body;
        }
        states.push(state);
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(states.iter().any(|state| state == "profiling"), "{states:?}");
    // What is said to be done is listed, with the host that the profile names.
    assert!(run_ids(&server).contains(&done["run"]), "{done}");
    assert_eq!((&done["run"], &done["error"]), (&done["session"], &Value::Null));
    let file = &done["files"][0];
    assert_eq!((&file["host"], &file["name"]), (&"worker-7".into(), &"worker-7.xplane.pb".into()));
    assert_eq!(
        (&file["server"], &file["bytes"]),
        (&program.name.as_str().into(), &done["servers"][0]["bytes"])
    );
    let report = server.json(&format!("/api/report/overview?run={}", done["run"].as_str().unwrap()));
    assert_eq!(report["values"], server.json("/api/report/overview?run=train")["values"]);
    assert_eq!(server.json("/api/capture")["captures"][0]["id"], done["id"]);
}

#[test]
fn xprofs_route_captures_with_either_method() {
    let (server, program) = (TestServer::start(), Program::start());
    let at = &program.name;
    for (method, path) in [
        (
            "GET",
            format!(
                "/data/plugin/profile/capture_profile?service_addr=grpc://{at}&duration=100&is_tpu_name=false&worker_list="
            ),
        ),
        (
            "POST",
            format!(
                "/capture_profile?service_addr={at}&duration=100&num_retry=2&tpu_trace_mode=TRACE_ONLY_XLA"
            ),
        ),
    ] {
        let before = run_ids(&server).len();
        let answer = server.send(method, &path, "Sec-Fetch-Site: same-origin\r\n", "");
        let text = r#"{"result": "Capture profile successfully. Please refresh."}"#;
        assert_eq!((answer.status, answer.text().as_str()), (200, text));
        assert_eq!(run_ids(&server).len(), before + 1);
    }
}
