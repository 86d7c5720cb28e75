//! One capture that was asked for: how far it is, and what came of it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use haloscope_capture::{Captured, Event, Stop, Watch};
use tokio::sync::watch;

use super::request::CaptureRequest;
use crate::shapes::{Capture, CaptureFile, CaptureServer};

/// A capture that runs or ran.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) asked: CaptureRequest,
    pub(crate) stop: Stop,
    begun: Instant,
    begun_at: SystemTime,
    now: Mutex<Now>,
    over: watch::Sender<bool>,
}

/// How far it is.
#[derive(Debug, Default)]
struct Now {
    servers: Vec<Server>,
    written: usize,
    starts: Option<SystemTime>,
    outcome: Option<(Outcome, u64)>,
}

#[derive(Debug)]
struct Server {
    name: String,
    state: &'static str,
    elapsed_ms: u64,
    bytes: Option<u64>,
    attempt: u32,
    why: Option<String>,
}

/// What came of a capture.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The session, and the run's id in the listing, where it is listed already.
    Done(Captured, Option<String>),
    /// There is no session.
    Failed(Why),
    /// Somebody ended it.
    Cancelled,
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    pub(crate) error: String,
    pub(crate) kind: &'static str,
    pub(crate) hint: &'static str,
}

impl From<haloscope_capture::Error> for Why {
    fn from(error: haloscope_capture::Error) -> Self {
        Self { error: error.to_string(), kind: error.kind(), hint: error.hint().unwrap_or_default() }
    }
}

impl Job {
    pub(super) fn new(id: u64, asked: CaptureRequest) -> Self {
        let server = |name: &String| Server {
            name: name.clone(),
            state: "connecting",
            elapsed_ms: 0,
            bytes: None,
            attempt: 1,
            why: None,
        };
        let servers = asked.request.servers.iter().map(server).collect();
        Self {
            id,
            asked,
            stop: Stop::new(),
            begun: Instant::now(),
            begun_at: SystemTime::now(),
            now: Mutex::new(Now { servers, ..Now::default() }),
            over: watch::Sender::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        // Every statement under it leaves it whole.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self, outcome: Outcome) {
        self.lock().outcome = Some((outcome, millis(self.begun.elapsed())));
        self.over.send_replace(true);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().outcome.is_some()
    }

    /// What came of it, once something has.
    pub(crate) async fn outcome(&self) -> Option<Outcome> {
        // The sender lives as long as this does.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
        self.lock().outcome.as_ref().map(|(outcome, _)| outcome.clone())
    }

    /// It as clients see it.
    pub(crate) fn told(&self) -> Capture {
        let now = self.lock();
        let elapsed_ms = now.outcome.as_ref().map_or_else(|| millis(self.begun.elapsed()), |(_, took)| *took);
        let outcome = now.outcome.as_ref().map(|(outcome, _)| outcome);
        let state = match outcome {
            None if self.stop.is_stopped() => "ending",
            None => now.phase(),
            Some(Outcome::Done(..)) => "done",
            Some(Outcome::Failed(_)) => "failed",
            Some(Outcome::Cancelled) => "cancelled",
        };
        let server = |one: &Server| CaptureServer {
            server: one.name.clone(),
            state: one.state,
            elapsed_ms: one.elapsed_ms,
            bytes: one.bytes,
            attempt: one.attempt,
            why: one.why.clone(),
        };
        let told = Capture {
            id: self.id.to_string(),
            state,
            begun_ms: self.begun_at.duration_since(UNIX_EPOCH).map_or(0, millis),
            elapsed_ms,
            starts_in_ms: now.starts.map(|at| at.duration_since(SystemTime::now()).map_or(0, millis)),
            duration_ms: millis(self.asked.request.duration),
            delay_ms: millis(self.asked.request.delay),
            servers: now.servers.iter().map(server).collect(),
            ..Capture::default()
        };
        match outcome {
            Some(Outcome::Done(captured, run)) => {
                let file = |f: &haloscope_capture::File| CaptureFile {
                    name: f.name.clone(),
                    host: f.host.clone(),
                    server: f.server.clone(),
                    bytes: f.bytes,
                };
                Capture {
                    session: Some(captured.session.clone()),
                    path: Some(captured.path.clone()),
                    run: run.clone(),
                    files: captured.files.iter().map(file).collect(),
                    remarks: captured.remarks.clone(),
                    ..told
                }
            }
            Some(Outcome::Failed(why)) => {
                Capture { error: Some(why.error.clone()), kind: Some(why.kind), hint: Some(why.hint), ..told }
            }
            _ => told,
        }
    }

    #[cfg(test)]
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.told()).expect("plain values")
    }
}

impl Now {
    /// What the slowest server does.
    fn phase(&self) -> &'static str {
        let order = ["connecting", "retrying", "waiting", "profiling", "receiving"];
        let is_in = |state: &&&str| self.servers.iter().any(|server| server.state == **state);
        if self.written > 0 { "writing" } else { order.iter().find(is_in).copied().unwrap_or("writing") }
    }

    fn server(&mut self, name: &str) -> Option<&mut Server> {
        self.servers.iter_mut().find(|server| server.name == name)
    }

    fn set(&mut self, name: &str, state: &'static str, change: impl FnOnce(&mut Server)) {
        if let Some(server) = self.server(name) {
            server.state = state;
            change(server);
        }
    }
}

impl Watch for Job {
    fn event(&self, event: &Event<'_>) {
        let mut now = self.lock();
        match *event {
            Event::Connecting { server } => now.set(server, "connecting", |_| {}),
            Event::Waiting { until } => {
                now.starts = Some(until);
                for server in &mut now.servers {
                    server.state = "waiting";
                }
            }
            Event::Profiling { server, elapsed, .. } => {
                now.set(server, "profiling", |one| one.elapsed_ms = millis(elapsed));
            }
            Event::Receiving { server, bytes } => now.set(server, "receiving", |one| one.bytes = Some(bytes)),
            Event::Received { server, bytes } => now.set(server, "received", |one| one.bytes = Some(bytes)),
            Event::Retrying { server, attempt, why } => {
                now.starts = None;
                for one in &mut now.servers {
                    (one.state, one.elapsed_ms, one.bytes, one.attempt) = ("retrying", 0, None, attempt);
                }
                now.set(server, "retrying", |one| one.why = Some(why.to_owned()));
            }
            Event::Written { .. } => now.written += 1,
            _ => {}
        }
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    fn job() -> Job {
        let body = br#"{"servers": ["a:1", "b:2"], "duration_ms": 500, "delay_ms": 100}"#;
        Job::new(7, CaptureRequest::parse(body, &super::super::CaptureHosts::Any).unwrap())
    }

    #[test]
    fn a_job_is_where_its_slowest_server_is() {
        let job = job();
        let state = || job.to_json()["state"].as_str().unwrap().to_owned();
        let of = Duration::from_millis(500);
        assert_eq!(state(), "connecting");
        job.event(&Event::Waiting { until: SystemTime::now() + Duration::from_secs(60) });
        assert_eq!(state(), "waiting");
        assert!(job.to_json()["starts_in_ms"].as_u64().unwrap() > 50_000);
        job.event(&Event::Profiling { server: "a:1", elapsed: Duration::from_millis(200), of });
        assert_eq!(state(), "waiting");
        job.event(&Event::Profiling { server: "b:2", elapsed: Duration::from_millis(300), of });
        assert_eq!(state(), "profiling");
        job.event(&Event::Receiving { server: "b:2", bytes: 10 });
        job.event(&Event::Received { server: "a:1", bytes: 20 });
        assert_eq!(state(), "receiving");
        let body = job.to_json();
        assert_eq!(
            (&body["servers"][0]["bytes"], &body["servers"][0]["elapsed_ms"]),
            (&20.into(), &200.into())
        );
        job.event(&Event::Received { server: "b:2", bytes: 30 });
        assert_eq!(state(), "writing");
        job.event(&Event::Written { path: Path::new("x"), bytes: 30 });
        assert_eq!(state(), "writing");
    }

    #[test]
    fn another_attempt_begins_anew_and_says_why() {
        let job = job();
        job.event(&Event::Received { server: "a:1", bytes: 20 });
        job.event(&Event::Retrying { server: "b:2", attempt: 2, why: "refused" });
        let body = job.to_json();
        assert_eq!(body["state"], "retrying");
        let [a, b] = [0, 1].map(|at| &body["servers"][at]);
        assert_eq!(
            (&a["bytes"], &a["attempt"], &a["why"]),
            (&serde_json::Value::Null, &2.into(), &serde_json::Value::Null)
        );
        assert_eq!((&b["state"], &b["why"]), (&"retrying".into(), &"refused".into()));
        // Of a server that nobody asked for nothing is known.
        job.event(&Event::Received { server: "c:3", bytes: 1 });
        assert_eq!(job.to_json()["servers"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn what_came_of_it_is_told_to_all_who_wait() {
        let job = job();
        assert!(!job.is_over());
        let why = haloscope_capture::Error::Empty { server: "a:1".into() };
        job.end(Outcome::Failed(why.into()));
        let body = job.to_json();
        assert_eq!((&body["state"], &body["kind"]), (&"failed".into(), &"empty".into()));
        assert!(body["error"].as_str().unwrap().starts_with("a:1: the profile is empty"), "{body}");
        assert!(body["hint"].as_str().unwrap().contains("running steps"), "{body}");
        let took = body["elapsed_ms"].clone();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(job.to_json()["elapsed_ms"], took);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for _ in 0..2 {
            assert!(matches!(runtime.block_on(job.outcome()), Some(Outcome::Failed(_))));
        }
    }
}
