//! A folder of runs that lies elsewhere: in a bucket, or on a web server. It is listed by asking, no more often than need be.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use haloscope_remote::{Address, Session};

use crate::{Error, lock};

/// A listing that is younger than this is given again.
const FRESH: Duration = Duration::from_secs(5);
/// A run is taken to be as it was listed for this long.
pub(crate) const STAYS: Duration = Duration::from_secs(30);

/// Why the runs that are listed may not be those that there are.
#[derive(Debug, Clone)]
pub struct Stale {
    /// When the place was listed last.
    pub since: SystemTime,
    /// Why it cannot be listed now.
    pub why: String,
}

/// The folder elsewhere, and how it was listed last.
#[derive(Debug)]
pub(crate) struct RemoteRoot {
    pub(crate) at: Address,
    seen: Mutex<Listings>,
}

#[derive(Debug, Default)]
struct Listings {
    asked: Option<Instant>,
    good: Option<(SystemTime, Vec<Session>)>,
    bad: Option<haloscope_remote::Error>,
}

impl RemoteRoot {
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

#[cfg(test)]
mod tests;
