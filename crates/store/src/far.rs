//! A place that lies elsewhere: in a bucket, or on a web server. It is listed by asking, no more often than need be, and a run's
//! files are brought here when somebody opens it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use haloscope_profile::load::Part;
use haloscope_remote::{Address, Brought, Progress, Session};

use crate::{Error, lock};

/// A listing that is younger than this is given again.
const FRESH: Duration = Duration::from_secs(5);
/// A run is taken to be as it was listed for this long.
pub(crate) const STAYS: Duration = Duration::from_secs(30);
/// How long somebody who opens a run waits for its files, before it is said how far they are.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the runs that are listed may not be those that there are.
#[derive(Debug, Clone)]
pub struct Stale {
    /// When the place was listed last.
    pub since: SystemTime,
    /// Why it cannot be listed now.
    pub why: String,
}

/// The place, and what was seen of it.
#[derive(Debug)]
pub(crate) struct Far {
    pub(crate) at: Address,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    asked: Option<Instant>,
    good: Option<(SystemTime, Vec<Session>)>,
    bad: Option<haloscope_remote::Error>,
}

impl Far {
    pub(crate) fn new(at: Address) -> Self {
        Self { at, seen: Mutex::default() }
    }

    /// The sessions, the newest first. Where the place cannot be listed now, those of the last time that it could.
    pub(crate) fn sessions(&self) -> Result<Vec<Session>, Error> {
        // Who asks meanwhile waits here, and has the same.
        let mut seen = lock(&self.seen);
        if seen.asked.is_none_or(|asked| asked.elapsed() >= FRESH) {
            match haloscope_remote::sessions(&self.at) {
                Ok(sessions) => {
                    seen.good = Some((SystemTime::now(), sessions));
                    seen.bad = None;
                }
                Err(error) => seen.bad = Some(error),
            }
            seen.asked = Some(Instant::now());
        }
        match (&seen.good, &seen.bad) {
            (Some((_, sessions)), _) => Ok(sessions.clone()),
            (None, Some(error)) => Err(error.clone().into()),
            (None, None) => Ok(Vec::new()),
        }
    }

    pub(crate) fn stale(&self) -> Option<Stale> {
        let seen = lock(&self.seen);
        let (since, _) = seen.good.as_ref()?;
        Some(Stale { since: *since, why: seen.bad.as_ref()?.to_string() })
    }
}

/// What is brought and was.
#[derive(Debug, Default)]
pub(crate) struct Bringings(Mutex<BTreeMap<String, Arc<Bringing>>>);

#[derive(Debug)]
struct Bringing {
    session: Session,
    far: Mutex<How>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct How {
    progress: Option<Progress>,
    end: Option<Result<Brought, haloscope_remote::Error>>,
}

impl Bringings {
    /// The files of a session here. The first who asks has them brought; that goes on when nobody waits any more.
    pub(crate) fn bring(&self, session: &Session) -> Result<Brought, Error> {
        let bringing = self.of(session);
        let until = Instant::now() + PATIENCE;
        let mut how = lock(&bringing.far);
        while how.end.is_none() {
            let Some(left) = until.checked_duration_since(Instant::now()) else { break };
            how = bringing.moved.wait_timeout(how, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let bytes = how.progress.map_or(0, |progress| progress.bytes);
        let outcome = match &how.end {
            Some(Ok(brought)) => return Ok(brought.clone()),
            Some(Err(error)) => error.clone().into(),
            None => return Err(Error::Bringing { at: session.at.to_string(), bytes, of: session.bytes }),
        };
        drop(how);
        // The next one to ask tries again.
        lock(&self.0).retain(|_, known| !Arc::ptr_eq(known, &bringing));
        Err(outcome)
    }

    /// The files of a session, if they are here.
    pub(crate) fn brought(&self, session: &Session) -> Option<Brought> {
        let known = lock(&self.0).get(&session.at.to_string()).cloned()?;
        let how = lock(&known.far);
        (known.session == *session).then(|| how.end.clone()?.ok()).flatten()
    }

    /// How far the bringing of a session is, while it is brought.
    pub(crate) fn part(&self, session: &Session) -> Option<Part> {
        let known = lock(&self.0).get(&session.at.to_string()).cloned()?;
        let how = lock(&known.far);
        let bytes = how.progress.map_or(0, |progress| progress.bytes);
        let all_files = session.objects.len() as u64;
        how.end.is_none().then(|| Part { bytes, all_bytes: session.bytes, all_files, ..Part::default() })
    }

    fn of(&self, session: &Session) -> Arc<Bringing> {
        let mut all = lock(&self.0);
        let key = session.at.to_string();
        if let Some(known) = all.get(&key).filter(|known| known.session == *session && known.is_usable()) {
            return Arc::clone(known);
        }
        let (session, moved) = (session.clone(), Condvar::new());
        let bringing = Arc::new(Bringing { session, far: Mutex::default(), moved });
        all.insert(key, Arc::clone(&bringing));
        let own = Arc::clone(&bringing);
        let begun = thread::Builder::new().name("haloscope-bring".to_owned()).spawn(move || own.run());
        if begun.is_err() {
            bringing.run();
        }
        bringing
    }
}

impl Bringing {
    fn run(&self) {
        let note = |progress: Progress| lock(&self.far).progress = Some(progress);
        let end = crate::find::bring(&self.session, &note);
        lock(&self.far).end = Some(end);
        self.moved.notify_all();
    }

    /// Whether it is under way, or its files are still there: the cache may have let go of them.
    fn is_usable(&self) -> bool {
        match &lock(&self.far).end {
            None => true,
            Some(Ok(brought)) => brought.files.iter().all(|file| file.is_file()),
            Some(Err(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests;
