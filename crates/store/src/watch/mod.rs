//! Notices new sessions, and what becomes of those that are being written, while nobody asks.
//!
//! The folder is looked at again and again, rather than left to the system to report on: log folders lie on network file
//! systems and in containers' mounts as a rule, where nothing is reported of what other machines write. A look reads names and
//! times, and it takes no more than a fiftieth of one core: where it takes long, it is done less often.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::stop::Stop;
use crate::warm::{Warmed, quiet_pool};
use crate::{Error, Run, RunInfo, Store, lock};

/// The time between two looks, at least and at most.
const PAUSE: Duration = Duration::from_secs(2);
/// At least, where the place lies elsewhere.
const FAR_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The pause is this many times as long as the look.
const SHARE: u32 = 50;
/// How often it is looked whether there is a new run to be read in the background.
const WARM_PAUSE: Duration = Duration::from_millis(500);

/// Stands for a listing: another listing has another, as good as always.
pub type Tag = u64;

/// The listing as it was seen last.
#[derive(Debug, Default)]
pub(crate) struct LastListing(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    tag: Option<Tag>,
    newest: Option<RunInfo>,
    /// Somebody looks again and again, so that this is no older than a pause.
    is_watched: bool,
}

/// What stands for this listing.
fn tag_of(runs: &[RunInfo]) -> Tag {
    let mut hasher = DefaultHasher::new();
    runs.hash(&mut hasher);
    hasher.finish()
}

impl LastListing {
    pub(crate) fn see(&self, runs: &[RunInfo]) {
        let mut seen = lock(&self.0);
        seen.tag = Some(tag_of(runs));
        seen.newest = crate::newest_of(runs).filter(|run| !run.writing).cloned();
    }

    /// The newest run that is complete.
    pub(crate) fn newest(&self) -> Option<RunInfo> {
        lock(&self.0).newest.clone()
    }
}

/// Looks at a store's place until it is dropped.
#[derive(Debug)]
pub struct Watch(Stop);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Store {
    /// What stands for a listing.
    #[must_use]
    pub fn tag(runs: &[RunInfo]) -> Tag {
        tag_of(runs)
    }

    /// The listing, unless it is still the one that `known` stands for. Costs next to nothing where the place is watched; it
    /// is then as old as the last look.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn list_unless(&self, known: Tag) -> Result<Option<Vec<RunInfo>>, Error> {
        let is_known = {
            let seen = lock(&self.last.0);
            seen.is_watched && seen.tag == Some(known)
        };
        if is_known {
            return Ok(None);
        }
        let runs = self.list()?;
        Ok((tag_of(&runs) != known).then_some(runs))
    }

    /// Looks at the place again and again, until the watch or the store is dropped. The newest complete run is opened and read
    /// in the background at low priority while nobody asks, and `then` is called with it.
    #[must_use]
    pub fn watch(self: &Arc<Self>, then: impl Fn(&Arc<Run>) + Send + Sync + 'static) -> Watch {
        let stop = Stop::default();
        if self.place().is_none() {
            return Watch(stop);
        }
        // What lies elsewhere is brought when somebody wants it: to bring it costs time and money.
        let is_near = self.root().is_some();
        let (store, told) = (Arc::downgrade(self), stop.clone());
        let looking = named("haloscope-watch", move || look(&store, &told));
        let (store, told) = (Arc::downgrade(self), stop.clone());
        // Without threads to spare the place is listed when somebody asks, as ever.
        if looking && is_near {
            named("haloscope-warmer", move || warm(&store, &told, &then));
        }
        Watch(stop)
    }
}

fn named(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    thread::Builder::new().name(name.to_owned()).spawn(work).is_ok()
}

fn look(store: &Weak<Store>, stop: &Stop) {
    loop {
        let Some(held) = store.upgrade() else { return };
        let begun = Instant::now();
        // A place that cannot be listed now is listed later: whoever asks is told why.
        let is_listed = held.list().is_ok();
        lock(&held.last.0).is_watched = is_listed;
        let took = begun.elapsed();
        let least = if held.root().is_some() { PAUSE } else { FAR_PAUSE };
        drop(held);
        if stop.wait((took * SHARE).clamp(least, LONGEST_PAUSE)) {
            break;
        }
    }
    if let Some(store) = store.upgrade() {
        lock(&store.last.0).is_watched = false;
    }
}

fn warm(store: &Weak<Store>, stop: &Stop, then: &(dyn Fn(&Arc<Run>) + Send + Sync)) {
    let Some(pool) = quiet_pool() else { return };
    let mut done: Option<RunInfo> = None;
    while !stop.wait(WARM_PAUSE) {
        let Some(held) = store.upgrade() else { return };
        let Some(newest) = held.last.newest().filter(|newest| Some(newest) != done.as_ref()) else {
            continue;
        };
        let work = || held.warm(&newest, stop, then);
        // A panic is a bug that whoever asks for the run is told of; the next run is read all the same.
        let warmed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.install(work)));
        if !matches!(warmed, Ok(Warmed::Not)) || held.last.newest().as_ref() == Some(&newest) {
            done = Some(newest);
        }
    }
}

#[cfg(test)]
mod tests;
