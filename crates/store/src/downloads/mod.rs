//! Downloads of runs that lie elsewhere: each once, when somebody first opens the run, in the background.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use haloscope_profile::load::Part;
use haloscope_remote::{Downloaded, Progress, Session};

use crate::{Error, lock};

/// How long somebody who opens a run waits for its files, before it is said how far they are.
const WAIT: Duration = Duration::from_secs(5);

/// The downloads that are under way, and those that are done.
#[derive(Debug, Default)]
pub(crate) struct Downloads(Mutex<BTreeMap<String, Arc<Download>>>);

#[derive(Debug)]
struct Download {
    session: Session,
    state: Mutex<DownloadState>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct DownloadState {
    progress: Option<Progress>,
    end: Option<Result<Downloaded, haloscope_remote::Error>>,
}

impl Downloads {
    /// The files of a session here. The first who asks starts the download, which goes on when nobody waits any more.
    pub(crate) fn fetch(&self, session: &Session) -> Result<Downloaded, Error> {
        let download = self.download(session);
        let until = Instant::now() + WAIT;
        let mut state = lock(&download.state);
        while state.end.is_none() {
            let Some(left) = until.checked_duration_since(Instant::now()) else { break };
            state = download.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let bytes = state.progress.map_or(0, |progress| progress.bytes);
        let outcome = match &state.end {
            Some(Ok(downloaded)) => return Ok(downloaded.clone()),
            Some(Err(error)) => error.clone().into(),
            None => return Err(Error::Downloading { at: session.at.to_string(), bytes, of: session.bytes }),
        };
        drop(state);
        // The next one to ask tries again.
        lock(&self.0).retain(|_, known| !Arc::ptr_eq(known, &download));
        Err(outcome)
    }

    /// The files of a session, if they are here.
    pub(crate) fn downloaded(&self, session: &Session) -> Option<Downloaded> {
        let known = lock(&self.0).get(&session.at.to_string()).cloned()?;
        let state = lock(&known.state);
        (known.session == *session).then(|| state.end.clone()?.ok()).flatten()
    }

    /// How far the download of a session is, while it lasts.
    pub(crate) fn progress(&self, session: &Session) -> Option<Part> {
        let known = lock(&self.0).get(&session.at.to_string()).cloned()?;
        let state = lock(&known.state);
        let bytes = state.progress.map_or(0, |progress| progress.bytes);
        let all_files = session.objects.len() as u64;
        state.end.is_none().then(|| Part { bytes, all_bytes: session.bytes, all_files, ..Part::default() })
    }

    fn download(&self, session: &Session) -> Arc<Download> {
        let mut all = lock(&self.0);
        let key = session.at.to_string();
        if let Some(known) = all.get(&key).filter(|known| known.session == *session && known.is_usable()) {
            return Arc::clone(known);
        }
        let (session, moved) = (session.clone(), Condvar::new());
        let download = Arc::new(Download { session, state: Mutex::default(), moved });
        all.insert(key, Arc::clone(&download));
        let own = Arc::clone(&download);
        let begun = thread::Builder::new().name("haloscope-bring".to_owned()).spawn(move || own.run());
        if begun.is_err() {
            download.run();
        }
        download
    }
}

impl Download {
    fn run(&self) {
        let note = |progress: Progress| lock(&self.state).progress = Some(progress);
        let end = crate::find::download(&self.session, &note);
        lock(&self.state).end = Some(end);
        self.moved.notify_all();
    }

    /// Whether it is under way, or its files are still there: the cache may have let go of them.
    fn is_usable(&self) -> bool {
        match &lock(&self.state).end {
            None => true,
            Some(Ok(downloaded)) => downloaded.files.iter().all(|file| file.is_file()),
            Some(Err(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests;
