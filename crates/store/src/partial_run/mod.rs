//! A run of many hosts of which not all have been read yet: answers come from those that have.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use haloscope_profile::load::{self, Part};
use haloscope_profile::{HostId, LineKind, Profile};
use haloscope_time::op_lines::holds_ops;

use crate::listing::{Listed, Stamp};
use crate::{Error, Indexes, Run, Store, lock};

/// A run of more hosts than this is worth a partial answer.
const MANY: usize = 2;
/// So many runs are remembered.
const ROOM: usize = 4;

/// A run as far as it has been read.
#[derive(Debug)]
pub struct PartialRun {
    /// The run; perhaps one host of it alone, while the whole is being opened.
    pub run: Arc<Run>,
    /// The hosts that have been read; `None` where all have.
    pub hosts: Option<Vec<String>>,
    /// How many hosts the run has.
    pub of: usize,
}

/// How far the reading of a run has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// What is done now.
    pub state: ReadState,
    /// Hosts and bytes of which that is done, of how many.
    pub part: Part,
}

/// What is done with a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadState {
    /// Nothing, or nobody asked for a part of it.
    #[default]
    Idle,
    /// Its files lie elsewhere, and are brought here.
    Downloading,
    /// Its files are opened.
    Opening,
    /// The events of its devices are read.
    Reading,
    /// All of them have been.
    Read,
}

impl ReadState {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Downloading => "bringing",
            Self::Opening => "opening",
            Self::Reading => "reading",
            Self::Read => "read",
        }
    }
}

/// Runs that are being read in the background.
#[derive(Debug, Default)]
pub(crate) struct BackgroundReads(Mutex<Vec<Arc<BackgroundRead>>>);

#[derive(Debug)]
struct BackgroundRead {
    id: String,
    listed: Listed,
    stamps: Vec<Stamp>,
    read_so_far: Mutex<HostsRead>,
    moved: Condvar,
}

/// How far it is.
#[derive(Debug, Default)]
struct HostsRead {
    run: Weak<Run>,
    /// A host alone, for answers before the whole is open.
    alone: Option<Arc<Run>>,
    hosts: Vec<String>,
    end: Option<Result<(), Error>>,
}

impl Store {
    /// The run with this id as far as it has been read. The first to ask has the rest read in the background; nobody waits for all
    /// of it longer than `timeout`.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn partial_run(self: &Arc<Self>, id: &str, timeout: Duration) -> Result<PartialRun, Error> {
        let in_memory = lock(&self.in_memory).iter().any(|run| run.info.id == id);
        if in_memory {
            return self.whole(id);
        }
        let listed = self.find(id, |l| l.info.id == id)?;
        if listed.info.hosts.len() <= MANY {
            return self.whole(id);
        }
        if listed.remote.is_some() {
            // One host alone is not here before all are.
            return self.whole(id);
        }
        self.write_detector.check(&listed)?;
        let of = listed.info.hosts.len();
        let background_read = self.background_read(id, listed);
        if let Some(end) = background_read.wait(timeout) {
            return end.and_then(|()| self.whole(id));
        }
        if let Some((run, hosts)) = background_read.read() {
            return Ok(PartialRun { run, hosts: Some(hosts), of });
        }
        let run = background_read.alone()?;
        let hosts = run.profile.hosts.iter().map(|host| host.name.clone()).collect();
        Ok(PartialRun { run, hosts: Some(hosts), of })
    }

    /// How far the reading of a run has come, for which [`Store::partial_run`] was asked.
    ///
    /// # Errors
    /// [`Error::UnknownRun`] if the listing has no such id; [`Error::Read`] if the place cannot be listed.
    pub fn read_progress(&self, id: &str) -> Result<ReadProgress, Error> {
        let known = lock(&self.listed).iter().find(|listed| listed.info.id == id).cloned();
        let is_in_memory = || lock(&self.in_memory).iter().any(|run| run.info.id == id);
        let listed = match known {
            Some(listed) => Some(listed),
            None if is_in_memory() => None,
            None => Some(self.find(id, |listed| listed.info.id == id)?),
        };
        let session = listed.as_ref().and_then(|listed| listed.remote.as_deref());
        if let Some(part) = session.and_then(|session| self.downloads.progress(session)) {
            return Ok(ReadProgress { state: ReadState::Downloading, part });
        }
        let known =
            lock(&self.background_reads.0).iter().find(|background_read| background_read.id == id).cloned();
        Ok(known.map(|background_read| background_read.read_progress()).unwrap_or_default())
    }

    fn whole(&self, id: &str) -> Result<PartialRun, Error> {
        let run = self.open(id)?;
        let of = run.profile.hosts.len();
        Ok(PartialRun { run, hosts: None, of })
    }

    /// The filling of a run, begun if need be.
    fn background_read(self: &Arc<Self>, id: &str, listed: Listed) -> Arc<BackgroundRead> {
        let stamps = listed.stamps();
        let mut all = lock(&self.background_reads.0);
        all.retain(|background_read| {
            background_read.id != id || (background_read.stamps == stamps && !background_read.is_gone())
        });
        if let Some(known) = all.iter().find(|background_read| background_read.id == id) {
            return Arc::clone(known);
        }
        let background_read = Arc::new(BackgroundRead {
            id: id.to_owned(),
            listed,
            stamps,
            read_so_far: Mutex::default(),
            moved: Condvar::new(),
        });
        if all.len() >= ROOM {
            all.remove(0);
        }
        all.push(Arc::clone(&background_read));
        let (store, own) = (Arc::clone(self), Arc::clone(&background_read));
        let spawned = thread::Builder::new().name("filling".into()).spawn(move || own.fill(&store));
        if spawned.is_err() {
            // Without a thread whoever asks reads it all.
            background_read.finish(Ok(()));
        }
        background_read
    }
}

impl BackgroundRead {
    /// Opens the run and reads one host after another.
    fn fill(&self, store: &Store) {
        let run = match store.open(&self.id) {
            Ok(run) => run,
            Err(error) => return self.finish(Err(error)),
        };
        lock(&self.read_so_far).run = Arc::downgrade(&run);
        for (id, host) in (0_u32..).map(HostId).zip(&run.profile.hosts) {
            read_host(&run.profile, id);
            lock(&self.read_so_far).hosts.push(host.name.clone());
            self.moved.notify_all();
        }
        self.finish(Ok(()));
    }

    fn finish(&self, end: Result<(), Error>) {
        let mut read_so_far = lock(&self.read_so_far);
        read_so_far.end = Some(end);
        read_so_far.alone = None;
        drop(read_so_far);
        self.moved.notify_all();
    }

    /// Whether it failed, or the run has been closed since.
    fn is_gone(&self) -> bool {
        let read_so_far = lock(&self.read_so_far);
        match &read_so_far.end {
            Some(Ok(())) => read_so_far.run.strong_count() == 0,
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Waits for the end, no longer than `timeout`.
    fn wait(&self, timeout: Duration) -> Option<Result<(), Error>> {
        let until = Instant::now() + timeout;
        let mut read_so_far = lock(&self.read_so_far);
        while read_so_far.end.is_none() {
            let left = until.checked_duration_since(Instant::now())?;
            read_so_far =
                self.moved.wait_timeout(read_so_far, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        read_so_far.end.clone()
    }

    /// The run and its hosts that have been read, if there are any.
    fn read(&self) -> Option<(Arc<Run>, Vec<String>)> {
        let read_so_far = lock(&self.read_so_far);
        let run = read_so_far.run.upgrade().filter(|_| !read_so_far.hosts.is_empty())?;
        Some((run, read_so_far.hosts.clone()))
    }

    /// The first host that can be read, alone.
    fn alone(&self) -> Result<Arc<Run>, Error> {
        // Whoever else asks waits here and has the same.
        let mut read_so_far = lock(&self.read_so_far);
        if let Some(run) = &read_so_far.alone {
            return Ok(Arc::clone(run));
        }
        let mut last = Error::UnknownRun(self.id.clone());
        for (path, host) in self.listed.files.iter().zip(&self.listed.info.hosts) {
            let one = load::Run { files: vec![path.clone()], path: path.clone(), chosen_from: 1 };
            match load::open(&one) {
                Ok(profile) => {
                    let info = crate::RunInfo { hosts: vec![host.clone()], ..self.listed.info.clone() };
                    let run = Arc::new(Run::new(info, profile, Indexes::default()));
                    read_so_far.alone = Some(Arc::clone(&run));
                    return Ok(run);
                }
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    fn read_progress(&self) -> ReadProgress {
        let read_so_far = lock(&self.read_so_far);
        let all = Part {
            all_files: self.listed.info.hosts.len() as u64,
            all_bytes: self.listed.info.size_bytes,
            ..Part::default()
        };
        match (&read_so_far.end, read_so_far.run.upgrade()) {
            (Some(Ok(())), _) => {
                let part = Part { files: all.all_files, bytes: all.all_bytes, ..all };
                ReadProgress { state: ReadState::Read, part }
            }
            (Some(Err(_)), _) => ReadProgress { state: ReadState::Idle, part: all },
            (None, Some(run)) => {
                let files = read_so_far.hosts.len() as u64;
                ReadProgress {
                    state: ReadState::Reading,
                    part: Part { files, ..Part::decoded(&run.profile) },
                }
            }
            (None, None) => {
                let part = load::opening(&self.listed.path).unwrap_or(all);
                ReadProgress { state: ReadState::Opening, part }
            }
        }
    }
}

/// Decodes what most questions are about: the ops, programs and steps of a host's devices.
fn read_host(profile: &Profile, host: HostId) {
    for device in profile.devices.iter().filter(|device| device.host == host) {
        for line in profile.lines_of(device.plane) {
            if holds_ops(device.kind, line.kind)
                || matches!(line.kind, LineKind::XlaModules | LineKind::Steps)
            {
                let _ = profile.events(line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
