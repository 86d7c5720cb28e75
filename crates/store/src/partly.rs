//! A run of many hosts of which not all have been read yet: answers come from those that have.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use haloscope_profile::load::{self, Part};
use haloscope_profile::{HostId, LineKind, Profile};
use haloscope_time::op_rows::holds_ops;

use crate::listing::{Listed, Stamp};
use crate::{Error, Indexes, Run, Store, lock};

/// A run of more hosts than this is worth a partial answer.
const MANY: usize = 2;
/// So many runs are remembered.
const ROOM: usize = 4;

/// A run as far as it has been read.
#[derive(Debug)]
pub struct Partly {
    /// The run; perhaps one host of it alone, while the whole is being opened.
    pub run: Arc<Run>,
    /// The hosts that have been read; `None` where all have.
    pub hosts: Option<Vec<String>>,
    /// How many hosts the run has.
    pub of: usize,
}

/// How far the reading of a run has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What is done now.
    pub state: State,
    /// Hosts and bytes of which that is done, of how many.
    pub part: Part,
}

/// What is done with a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing, or nobody asked for a part of it.
    #[default]
    Idle,
    /// Its files lie elsewhere, and are brought here.
    Bringing,
    /// Its files are opened.
    Opening,
    /// The events of its devices are read.
    Reading,
    /// All of them have been.
    Read,
}

impl State {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Bringing => "bringing",
            Self::Opening => "opening",
            Self::Reading => "reading",
            Self::Read => "read",
        }
    }
}

/// Runs that are being read in the background.
#[derive(Debug, Default)]
pub(crate) struct Fillings(Mutex<Vec<Arc<Filling>>>);

#[derive(Debug)]
struct Filling {
    id: String,
    listed: Listed,
    stamps: Vec<Stamp>,
    far: Mutex<Far>,
    moved: Condvar,
}

/// How far it is.
#[derive(Debug, Default)]
struct Far {
    run: Weak<Run>,
    /// A host alone, for answers before the whole is open.
    alone: Option<Arc<Run>>,
    hosts: Vec<String>,
    end: Option<Result<(), Error>>,
}

impl Store {
    /// The run with this id as far as it has been read. The first to ask has the rest read in the background; nobody waits for all
    /// of it longer than `patience`.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn partly(self: &Arc<Self>, id: &str, patience: Duration) -> Result<Partly, Error> {
        let in_memory = lock(&self.in_memory).iter().any(|run| run.info.id == id);
        if in_memory {
            return self.whole(id);
        }
        let listed = self.find(id, |l| l.info.id == id)?;
        if listed.info.hosts.len() <= MANY {
            return self.whole(id);
        }
        if listed.far.is_some() {
            // One host alone is not here before all are.
            return self.whole(id);
        }
        self.settling.check(&listed)?;
        let of = listed.info.hosts.len();
        let filling = self.filling(id, listed);
        if let Some(end) = filling.wait(patience) {
            return end.and_then(|()| self.whole(id));
        }
        if let Some((run, hosts)) = filling.read() {
            return Ok(Partly { run, hosts: Some(hosts), of });
        }
        let run = filling.alone()?;
        let hosts = run.profile.hosts.iter().map(|host| host.name.clone()).collect();
        Ok(Partly { run, hosts: Some(hosts), of })
    }

    /// How far the reading of a run has come, for which [`Store::partly`] was asked.
    #[must_use]
    pub fn reading(&self, id: &str) -> Reading {
        let listed = lock(&self.listed).iter().find(|listed| listed.info.id == id).cloned();
        let session = listed.as_ref().and_then(|listed| listed.far.as_deref());
        if let Some(part) = session.and_then(|session| self.bringings.part(session)) {
            return Reading { state: State::Bringing, part };
        }
        let known = lock(&self.fillings.0).iter().find(|filling| filling.id == id).cloned();
        known.map(|filling| filling.reading()).unwrap_or_default()
    }

    fn whole(&self, id: &str) -> Result<Partly, Error> {
        let run = self.open(id)?;
        let of = run.profile.hosts.len();
        Ok(Partly { run, hosts: None, of })
    }

    /// The filling of a run, begun if need be.
    fn filling(self: &Arc<Self>, id: &str, listed: Listed) -> Arc<Filling> {
        let stamps = listed.stamps();
        let mut all = lock(&self.fillings.0);
        all.retain(|filling| filling.id != id || (filling.stamps == stamps && !filling.is_gone()));
        if let Some(known) = all.iter().find(|filling| filling.id == id) {
            return Arc::clone(known);
        }
        let filling = Arc::new(Filling {
            id: id.to_owned(),
            listed,
            stamps,
            far: Mutex::default(),
            moved: Condvar::new(),
        });
        if all.len() >= ROOM {
            all.remove(0);
        }
        all.push(Arc::clone(&filling));
        let (store, own) = (Arc::clone(self), Arc::clone(&filling));
        let spawned = thread::Builder::new().name("filling".into()).spawn(move || own.fill(&store));
        if spawned.is_err() {
            // Without a thread whoever asks reads it all.
            filling.finish(Ok(()));
        }
        filling
    }
}

impl Filling {
    /// Opens the run and reads one host after another.
    fn fill(&self, store: &Store) {
        let run = match store.open(&self.id) {
            Ok(run) => run,
            Err(error) => return self.finish(Err(error)),
        };
        lock(&self.far).run = Arc::downgrade(&run);
        for (id, host) in (0_u32..).map(HostId).zip(&run.profile.hosts) {
            read_host(&run.profile, id);
            lock(&self.far).hosts.push(host.name.clone());
            self.moved.notify_all();
        }
        self.finish(Ok(()));
    }

    fn finish(&self, end: Result<(), Error>) {
        let mut far = lock(&self.far);
        far.end = Some(end);
        far.alone = None;
        drop(far);
        self.moved.notify_all();
    }

    /// Whether it failed, or the run has been closed since.
    fn is_gone(&self) -> bool {
        let far = lock(&self.far);
        match &far.end {
            Some(Ok(())) => far.run.strong_count() == 0,
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Waits for the end, no longer than `patience`.
    fn wait(&self, patience: Duration) -> Option<Result<(), Error>> {
        let until = Instant::now() + patience;
        let mut far = lock(&self.far);
        while far.end.is_none() {
            let left = until.checked_duration_since(Instant::now())?;
            far = self.moved.wait_timeout(far, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        far.end.clone()
    }

    /// The run and its hosts that have been read, if there are any.
    fn read(&self) -> Option<(Arc<Run>, Vec<String>)> {
        let far = lock(&self.far);
        let run = far.run.upgrade().filter(|_| !far.hosts.is_empty())?;
        Some((run, far.hosts.clone()))
    }

    /// The first host that can be read, alone.
    fn alone(&self) -> Result<Arc<Run>, Error> {
        // Whoever else asks waits here and has the same.
        let mut far = lock(&self.far);
        if let Some(run) = &far.alone {
            return Ok(Arc::clone(run));
        }
        let mut last = Error::UnknownRun(self.id.clone());
        for (path, host) in self.listed.files.iter().zip(&self.listed.info.hosts) {
            let one = load::Run { files: vec![path.clone()], path: path.clone(), chosen_from: 1 };
            match load::open(&one) {
                Ok(profile) => {
                    let info = crate::RunInfo { hosts: vec![host.clone()], ..self.listed.info.clone() };
                    let run = Arc::new(Run::new(info, profile, Indexes::default()));
                    far.alone = Some(Arc::clone(&run));
                    return Ok(run);
                }
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    fn reading(&self) -> Reading {
        let far = lock(&self.far);
        let all = Part {
            all_files: self.listed.info.hosts.len() as u64,
            all_bytes: self.listed.info.size_bytes,
            ..Part::default()
        };
        match (&far.end, far.run.upgrade()) {
            (Some(Ok(())), _) => {
                let part = Part { files: all.all_files, bytes: all.all_bytes, ..all };
                Reading { state: State::Read, part }
            }
            (Some(Err(_)), _) => Reading { state: State::Idle, part: all },
            (None, Some(run)) => {
                let files = far.hosts.len() as u64;
                Reading { state: State::Reading, part: Part { files, ..Part::decoded(&run.profile) } }
            }
            (None, None) => {
                let part = load::opening(&self.listed.path).unwrap_or(all);
                Reading { state: State::Opening, part }
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
