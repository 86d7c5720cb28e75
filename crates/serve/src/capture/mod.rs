//! Captures from the page: servers of profiles are asked, and the session lands in the log folder that is served.
//!
//! Everything else here only reads. This connects to other machines and writes, so that more is asked of who wants it:
//!
//! - where a page elsewhere makes a browser send the request, it is refused (`guard::acting`);
//! - it goes to servers only that [`CaptureHosts`] names: without `--capture-hosts` to any where only this machine reaches
//!   this server, and to none where others do, token or not;
//! - what is written is a new session below the log folder, under a name that no request says; nothing is overwritten;
//! - a few at a time, of limited length (`asked`), and all end with the server.

mod handlers;
mod hosts;
mod job;
mod request;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use haloscope_capture::Captured;
use haloscope_store::Store;

use crate::answer::Failure;

pub(crate) use handlers::{all, begin, cancel, progress, start, tell};
pub use hosts::{CaptureHosts, HostRule};
pub(crate) use job::{Job, Outcome, Why};
pub(crate) use request::CaptureRequest;

/// How many captures run at once.
const AT_ONCE: usize = 4;
/// How many are remembered.
const KEPT: usize = 32;
/// The largest body of a request, in bytes.
pub(crate) const BODY: usize = 64 << 10;
/// How long captures that are ended with the server may take for it.
const ENDING: Duration = Duration::from_secs(2);

/// The captures that were asked for.
#[derive(Debug)]
pub(crate) struct Captures {
    hosts: CaptureHosts,
    jobs: Mutex<VecDeque<Arc<Job>>>,
    last: AtomicU64,
}

/// Where a session may be written, else why there is no such place.
type Place = Result<PathBuf, &'static str>;

impl Captures {
    /// None yet, on a server that is reached at this address.
    pub(crate) fn new(hosts: CaptureHosts, bound: SocketAddr) -> Self {
        Self { hosts: hosts.settled(bound), jobs: Mutex::default(), last: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log folder that sessions are written to.
    pub(crate) fn place(&self, store: &Store) -> Place {
        if self.hosts == CaptureHosts::Nobody {
            return Err("this server may not connect to any profiler server: start it with --capture-hosts");
        }
        log_folder(store.root().ok_or("this server serves no local folder to write a session to")?)
    }

    /// Whether something can be captured.
    pub(crate) fn is_offered(&self, store: &Store) -> bool {
        self.place(store).is_ok()
    }

    pub(crate) fn hosts(&self) -> &CaptureHosts {
        &self.hosts
    }

    /// Begins a capture on a thread of its own, which `work` is.
    fn begin(
        &self,
        store: &Arc<Store>,
        asked: CaptureRequest,
        work: impl FnOnce(&Job) -> Result<Captured, haloscope_capture::Error> + Send + 'static,
    ) -> Result<Arc<Job>, Failure> {
        let mut jobs = self.lock();
        if jobs.iter().filter(|job| !job.is_over()).count() >= AT_ONCE {
            return Err(Failure::busy(
                format!("{AT_ONCE} captures are under way"),
                "wait until one has ended, or end one",
            ));
        }
        while jobs.len() >= KEPT {
            let Some(oldest) = jobs.iter().position(|job| job.is_over()) else { break };
            jobs.remove(oldest);
        }
        let job = Arc::new(Job::new(self.last.fetch_add(1, Ordering::Relaxed) + 1, asked));
        let (store, own) = (Arc::clone(store), Arc::clone(&job));
        let body = move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&own)));
            own.end(match done {
                Ok(Ok(captured)) => {
                    let run = listed(&store, &captured);
                    Outcome::Done(captured, run)
                }
                Ok(Err(_)) if own.stop.is_stopped() => Outcome::Cancelled,
                Ok(Err(error)) => Outcome::Failed(error.into()),
                Err(_) => Outcome::Failed(Why {
                    error: "the server failed while it captured".to_owned(),
                    kind: "bug",
                    hint: "this is a bug of Haloscope; please report it",
                }),
            });
        };
        thread::Builder::new()
            .name("haloscope-capture".to_owned())
            .spawn(body)
            .map_err(|error| Failure::busy(format!("no thread for a capture: {error}"), "try again later"))?;
        jobs.push_back(Arc::clone(&job));
        Ok(job)
    }

    fn find(&self, id: &str) -> Result<Arc<Job>, Failure> {
        let found = self.lock().iter().find(|job| job.id.to_string() == id).cloned();
        found.ok_or_else(|| {
            Failure::not_found(format!("there is no capture `{id}`"), "/api/capture lists them")
        })
    }

    /// Ends all captures, and waits a little until they have: what they had begun to write goes with them.
    pub(crate) fn end(&self) {
        let running: Vec<_> = self.lock().iter().filter(|job| !job.is_over()).cloned().collect();
        for job in &running {
            job.stop.stop();
        }
        let begun = Instant::now();
        while begun.elapsed() < ENDING && running.iter().any(|job| !job.is_over()) {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The log folder of a place that is served: sessions land below it, where they are listed.
fn log_folder(root: &Path) -> Place {
    const NO_FOLDER: &str =
        "this server serves one session or file, not a log folder that could get another session";
    if !root.is_dir() {
        return Err(NO_FOLDER);
    }
    // Who serves the folder of sessions itself means the log folder that it belongs to.
    if root.ends_with("plugins/profile") {
        return root.ancestors().nth(2).map(Path::to_owned).ok_or(NO_FOLDER);
    }
    if root.join("plugins/profile").is_dir() || !holds_profiles(root) {
        Ok(root.to_owned())
    } else {
        Err(NO_FOLDER)
    }
}

/// Whether profiles lie in the folder itself, which makes it a session.
fn holds_profiles(folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.into_iter().any(|name| {
        let name = name.to_string_lossy();
        name.contains(".xplane.") || name.contains(".trace.json")
    })
}

/// The id in the listing of what was captured.
fn listed(store: &Store, captured: &Captured) -> Option<String> {
    let runs = store.list().ok()?;
    let real = Path::new(&captured.path).canonicalize().ok();
    let is = |path: &str| path == captured.path || real.as_deref() == Some(Path::new(path));
    runs.into_iter().find(|run| is(&run.path)).map(|run| run.id)
}

/// Whether a text is the address of a server.
pub(crate) fn is_address(text: &str) -> bool {
    hosts::Address::parse(text).is_some()
}

#[cfg(test)]
mod tests;
