//! The newest run is opened and read before somebody asks for it: in the background, at low priority, and only while nobody
//! asks for anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haloscope_profile::{LineId, LineKind, Profile};
use haloscope_time::op_lines::holds_ops;

use crate::stop::Stop;
use crate::{Run, RunInfo, Store};

/// How often it is looked whether those who ask have their answers.
const PAUSE: Duration = Duration::from_millis(50);
/// Lines are read before somebody asks as long as all have no more events than this: some 2 GB in memory.
const EVENTS: u64 = 50_000_000;
/// How much the priority is lowered (`nice`). Not to the last: who asks for what is just being read waits for it.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// How many questions are being answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveRequests(Arc<AtomicUsize>);

/// Says that a question is being answered, until it is dropped.
#[derive(Debug)]
pub struct ActiveRequest(Arc<AtomicUsize>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ActiveRequests {
    fn are_there(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl Store {
    /// To be held while a question is answered: the background waits meanwhile.
    #[must_use]
    pub fn begin_request(&self) -> ActiveRequest {
        self.active_requests.0.fetch_add(1, Ordering::SeqCst);
        ActiveRequest(Arc::clone(&self.active_requests.0))
    }

    /// Opens a run and reads the lines that most questions are about, a line at a time; then `then` does more. Gives up where
    /// the server ends, or another run is the newest meanwhile.
    pub(crate) fn warm(
        &self,
        info: &RunInfo,
        stop: &Stop,
        then: &(dyn Fn(&Arc<Run>) + Send + Sync),
    ) -> Warmed {
        let is_newest = || self.last.newest().is_some_and(|newest| newest == *info);
        let may_go_on = || loop {
            if !is_newest() {
                return false;
            }
            if !self.active_requests.are_there() {
                return true;
            }
            if stop.wait(PAUSE) {
                return false;
            }
        };
        if !may_go_on() {
            return Warmed::Not;
        }
        let Ok(run) = self.open(&info.id) else { return Warmed::Not };
        for line in lines(&run.profile) {
            if !may_go_on() {
                return Warmed::Not;
            }
            let _read = run.profile.events(&run.profile.lines[line.index()]);
        }
        if !may_go_on() {
            return Warmed::Not;
        }
        let _ = run.timeline.tracks();
        if !may_go_on() {
            return Warmed::Not;
        }
        then(&run);
        self.index(&run, &may_go_on);
        Warmed::Whole
    }
}

/// How far a run was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Warmed {
    /// All that was to be read.
    Whole,
    /// Something came between, or it cannot be opened.
    Not,
}

/// The lines of devices' ops, programs and steps, in the order of the devices, as far as they are not too many events.
fn lines(profile: &Profile) -> Vec<LineId> {
    let mut left = EVENTS;
    let mut found = Vec::new();
    for device in &profile.devices {
        for line in profile.lines_of(device.plane) {
            let is_asked_for = holds_ops(device.kind, line.kind)
                || matches!(line.kind, LineKind::XlaModules | LineKind::Steps);
            if is_asked_for && line.event_count <= left {
                left -= line.event_count;
                found.push(line.id);
            }
        }
    }
    found
}

/// A thread for work that is not urgent, and whose parts that are computed side by side are computed on it alone.
pub(crate) fn quiet_pool() -> Option<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(1);
    builder.thread_name(|_| "haloscope-warm".to_owned()).start_handler(|_| lower_priority()).build().ok()
}

/// Lowers the priority of this thread, where threads have one of their own.
fn lower_priority() {
    // Refused where there is no such call: the work is done all the same.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}
