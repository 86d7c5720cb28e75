//! Where runs live: lists the profiles below a folder and keeps the ones in use open.
//!
//! A [`Store`] looks at one place (a log folder, a session folder or a file, here or in a bucket) and only reads. Runs are named by what the
//! listing says, so no request can reach a path outside that place.
//!
//! ```no_run
//! let store = haloscope_store::Store::new("logs".as_ref())?;
//! for run in store.list()? {
//!     println!("{} {}", run.id, run.size_bytes);
//! }
//! let run = store.open("2026_11_21_10_00_00")?;
//! println!("{} devices", run.profile.devices.len());
//! # Ok::<(), haloscope_store::Error>(())
//! ```

mod asked_run;
mod downloads;
mod error;
mod find;
mod fleet;
mod index;
mod ledger;
mod listing;
mod open_runs;
mod partial_run;
mod path_guard;
mod remote_root;
mod reports;
mod stop;
mod warm;
mod watch;
mod write_detector;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_remote::Address;

pub use asked_run::{AskedRun, ask};
pub use error::Error;
pub use find::{FarCopy, FarFile, FarPlace, FarRun, find, is_elsewhere};
pub use fleet::{Fleet, Since, since};
pub use haloscope_remote::{Progress, leave};
pub use index::{
    Body, Cache, Contents, FOLDER_VARIABLE, Indexes, MAX_VARIABLE, Question, check_kept_file, loaded_from,
};
pub use ledger::{Ledger, Written};
pub use listing::RunInfo;
pub use open_runs::Run;
pub use partial_run::{PartialRun, ReadProgress, ReadState};
pub use remote_root::Stale;
pub use reports::ask_body;
pub use warm::ActiveRequest;
pub use watch::{Tag, Watch};

use downloads::Downloads;
use listing::Listed;
use open_runs::OpenRuns;
use remote_root::RemoteRoot;
use warm::ActiveRequests;
use watch::LastListing;
use write_detector::WriteDetector;

/// How many runs stay open, however large. Files are mapped, so what a run costs is the lines that were looked at.
const OPEN_RUNS: usize = 4;
/// More of them do where all together have no more bytes than this: to open small runs again and again costs more.
const OPEN_BYTES: u64 = 64 << 20;

/// The runs of one place. All methods may be called from many threads at once.
#[derive(Debug)]
pub struct Store {
    root: Option<PathBuf>,
    /// The place, where it lies elsewhere.
    remote: Option<RemoteRoot>,
    /// The files of its runs that are brought here.
    downloads: Downloads,
    /// What requests may name that lies elsewhere.
    remote_roots: Vec<Address>,
    /// Where folders may lie that a request names: the root, and those given.
    roots: Vec<PathBuf>,
    in_memory: Mutex<Vec<Arc<Run>>>,
    /// The listing as it was last read, so that opening a run does not walk the folders again.
    listed: Mutex<Vec<Listed>>,
    open_runs: OpenRuns,
    write_detector: WriteDetector,
    active_requests: ActiveRequests,
    last: LastListing,
    background_reads: partial_run::BackgroundReads,
    cache: Option<Arc<Cache>>,
}

/// The newest run of a listing: complete, where there is one, and not handed over.
#[must_use]
pub fn newest_of(runs: &[RunInfo]) -> Option<&RunInfo> {
    let mut own = runs.iter().filter(|run| !run.dropped);
    own.clone().find(|run| !run.writing).or_else(|| own.next())
}

impl Store {
    /// The runs at `root`: a log folder, a session folder or a single profile, or the address of one of these elsewhere
    /// (`gs://bucket/logs`). There need not be any yet.
    ///
    /// # Errors
    /// [`Error::Read`] if there is no such file or folder, `Error::RemoteRoot` for what is no address.
    pub fn new(root: &Path) -> Result<Self, Error> {
        if let Some(at) = path_guard::address(root)? {
            return Ok(Self {
                remote_roots: vec![at.clone()],
                remote: Some(RemoteRoot::new(at)),
                ..Self::in_memory()
            });
        }
        let io = |source| haloscope_report::Error::Io { path: root.to_owned(), source };
        let root = load::native(root).canonicalize().map_err(io)?;
        Ok(Self { roots: vec![root.clone()], root: Some(root), ..Self::in_memory() })
    }

    /// A store without a place, for runs that are added with [`Store::add`].
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            root: None,
            remote: None,
            downloads: Downloads::default(),
            remote_roots: Vec::new(),
            roots: Vec::new(),
            in_memory: Mutex::default(),
            listed: Mutex::default(),
            open_runs: OpenRuns::new(OPEN_RUNS, OPEN_BYTES),
            write_detector: WriteDetector::default(),
            active_requests: ActiveRequests::default(),
            last: LastListing::default(),
            background_reads: partial_run::BackgroundReads::default(),
            cache: None,
        }
    }

    /// Lets requests name folders below `roots` too, not only below the store's own place; see [`Store::session_at`].
    ///
    /// # Errors
    /// [`Error::Read`] for a root that is not there.
    pub fn with_roots(mut self, roots: &[PathBuf]) -> Result<Self, Error> {
        let real = |root: &PathBuf| {
            root.canonicalize().map_err(|source| haloscope_report::Error::Io { path: root.clone(), source })
        };
        for root in roots {
            match path_guard::address(root)? {
                Some(at) => self.remote_roots.push(at),
                None => self.roots.push(real(root)?),
            }
        }
        Ok(self)
    }

    /// The place as it is shown: its path with links resolved, or its address; `None` for a store in memory.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let remote = || self.remote.as_ref().map(|remote| remote.at.to_string());
        self.root.as_ref().map(|root| root.display().to_string()).or_else(remote)
    }

    /// Why the listing may be old, if it is: the place lies elsewhere, and could not be listed the last time.
    #[must_use]
    pub fn stale(&self) -> Option<Stale> {
        self.remote.as_ref()?.stale()
    }

    /// The place, with links resolved; `None` for a store in memory, and for one whose place lies elsewhere.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Adds a run that is in memory already. Its id is `name`; a run of that name that was added before is replaced.
    pub fn add(&self, name: &str, profile: Profile) {
        self.hold(Self::in_memory_info(name, &profile), profile);
    }

    /// Adds a run that somebody handed over: as [`Store::add`], but it is listed after all others, and nobody who names no run gets it.
    pub fn add_dropped(&self, name: &str, profile: Profile) {
        let info = RunInfo { dropped: true, ..Self::in_memory_info(name, &profile) };
        self.hold(info, profile);
    }

    fn hold(&self, info: RunInfo, profile: Profile) {
        let mut runs = lock(&self.in_memory);
        runs.retain(|r| r.info.id != info.id);
        runs.insert(0, Arc::new(Run::new(info, profile, Indexes::default())));
    }

    fn in_memory_info(name: &str, profile: &Profile) -> RunInfo {
        RunInfo {
            id: name.to_owned(),
            name: name.to_owned(),
            path: "(in memory)".to_owned(),
            hosts: profile.hosts.iter().map(|h| h.name.clone()).collect(),
            size_bytes: profile.sources.iter().map(|s| s.bytes().len() as u64).sum(),
            modified: SystemTime::now(),
            writing: false,
            dropped: false,
        }
    }

    /// All runs: those in memory, then those of the place, then those that were handed over, each the newest first. Reads the folders anew.
    ///
    /// # Errors
    /// [`Error::Read`] if the place cannot be listed.
    pub fn list(&self) -> Result<Vec<RunInfo>, Error> {
        let mut runs: Vec<RunInfo> = lock(&self.in_memory).iter().map(|r| r.info.clone()).collect();
        if let Some(root) = &self.root {
            let mut listed = listing::read(root)?;
            for one in &mut listed {
                one.info.writing = self.write_detector.unfinished(one).is_some();
            }
            runs.extend(listed.iter().map(|l| l.info.clone()));
            *lock(&self.listed) = listed;
        }
        if let Some(remote) = &self.remote {
            let listed = listing::of_sessions(&remote.at, remote.sessions()?);
            runs.extend(listed.iter().map(|l| l.info.clone()));
            *lock(&self.listed) = listed;
        }
        // A stable sort: within each part the order stays.
        runs.sort_by_key(|run| run.dropped);
        self.last.see(&runs);
        Ok(runs)
    }

    /// The newest run of which no file is still being written; one that is, where there is no other. Runs that were handed over are left
    /// out: whoever wants one names it.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn newest(&self) -> Result<Option<RunInfo>, Error> {
        Ok(newest_of(&self.list()?).cloned())
    }

    /// The run with this id, opened now or before. Where several threads ask at once, one opens it and the others wait.
    ///
    /// A run whose files changed since is opened anew; who holds the former one keeps it.
    ///
    /// # Errors
    /// [`Error::UnknownRun`] if the listing has no such id; [`Error::Read`] if its files cannot be read;
    /// [`Error::StillWritten`] if one of them is not complete yet.
    pub fn open(&self, id: &str) -> Result<Arc<Run>, Error> {
        if let Some(run) = lock(&self.in_memory).iter().find(|r| r.info.id == id) {
            return Ok(Arc::clone(run));
        }
        self.open_listed(id, self.find(id, |l| l.info.id == id)?)
    }

    /// The files of the run with this id, for whoever reads them himself; brought here where they lie elsewhere. `None` for a run in memory,
    /// which has none.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn files_here(&self, id: &str) -> Result<Option<load::Run>, Error> {
        if lock(&self.in_memory).iter().any(|run| run.info.id == id) {
            return Ok(None);
        }
        let listed = self.find(id, |l| l.info.id == id)?;
        if listed.remote.is_none() {
            self.write_detector.check(&listed)?;
        }
        self.files_of(&listed).map(Some)
    }

    /// Whether the run with this id is open, so that to look into it takes no reading of files. It is not opened.
    #[must_use]
    pub fn is_open(&self, id: &str) -> bool {
        let is_in_memory = lock(&self.in_memory).iter().any(|run| run.info.id == id);
        is_in_memory
            || self
                .find(id, |l| l.info.id == id)
                .is_ok_and(|listed| self.open_runs.holds(id, &listed.stamps()))
    }

    /// The run that XProf's page and clients call `name`: the path below the log folder without `plugins/profile`.
    ///
    /// # Errors
    /// [`Error::UnknownRun`] if there is none; [`Error::Read`] if the place cannot be listed.
    pub fn named(&self, name: &str) -> Result<RunInfo, Error> {
        if let Some(run) = lock(&self.in_memory).iter().find(|r| r.info.name == name) {
            return Ok(run.info.clone());
        }
        // Of two sessions with one name, XProf knows the one below `plugins/profile`.
        let known = |l: &Listed| {
            l.info.name == name && l.path.parent().is_some_and(|p| p.ends_with("plugins/profile"))
        };
        let found = self.find(name, known).or_else(|_| self.find(name, |l| l.info.name == name))?;
        Ok(found.info)
    }

    fn open_listed(&self, key: &str, listed: Listed) -> Result<Arc<Run>, Error> {
        self.open_runs.get(key, listed.stamps(), || {
            if listed.remote.is_none() {
                self.write_detector.check(&listed)?;
            }
            let files = self.files_of(&listed)?;
            let (profile, indexes) = match &self.cache {
                Some(cache) => cache.open(&files)?,
                None => (load::open(&files)?, Indexes::default()),
            };
            Ok(Run::new(listed.info, profile, indexes))
        })
    }

    /// The files of a run here. Those that lie elsewhere are brought if need be.
    fn files_of(&self, listed: &Listed) -> Result<load::Run, Error> {
        let Some(session) = &listed.remote else {
            return Ok(load::Run { files: listed.files.clone(), path: listed.path.clone(), chosen_from: 1 });
        };
        Ok(find::run_of(session, self.downloads.fetch(session)?))
    }

    /// A listed run and its files as they are now; `name` is for the error.
    fn find(&self, name: &str, is: impl Fn(&Listed) -> bool) -> Result<Listed, Error> {
        let known = lock(&self.listed).iter().find(|l| is(l)).cloned();
        if let Some(known) = known.filter(Listed::is_unchanged) {
            return Ok(known);
        }
        self.list()?;
        let found = lock(&self.listed).iter().find(|l| is(l)).cloned();
        found.ok_or_else(|| Error::UnknownRun(name.to_owned()))
    }
}

/// What a mutex guards here is whole after every statement, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
