//! How far the reading of a run has come.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Profile;

/// Runs that are being opened.
static OPENING: Mutex<Vec<(PathBuf, Arc<Progress>)>> = Mutex::new(Vec::new());

/// How far the opening of a run has come.
#[derive(Debug, Default)]
struct Progress {
    files: AtomicU64,
    bytes: AtomicU64,
    opened_files: AtomicU64,
    opened_bytes: AtomicU64,
}

/// Files and bytes, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// Files, one a host.
    pub files: u64,
    /// Of so many.
    pub all_files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Of so many.
    pub all_bytes: u64,
}

/// A run that is being opened, until this is dropped.
#[derive(Debug)]
pub(super) struct Opening(Arc<Progress>);

impl Opening {
    /// The run at `path`, whose files have these sizes in bytes.
    pub(super) fn begin(path: &Path, sizes: &[u64]) -> Self {
        let progress = Progress {
            files: (sizes.len() as u64).into(),
            bytes: sizes.iter().sum::<u64>().into(),
            ..Progress::default()
        };
        let progress = Arc::new(progress);
        held().push((path.to_owned(), Arc::clone(&progress)));
        Self(progress)
    }

    /// A file has been opened.
    pub(super) fn opened(&self, bytes: u64) {
        self.0.opened_files.fetch_add(1, Ordering::Relaxed);
        self.0.opened_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        held().retain(|(_, progress)| !Arc::ptr_eq(progress, &self.0));
    }
}

/// How much of the run at `path` is open, while some thread opens it ([`open`](super::open)).
#[must_use]
pub fn opening(path: &Path) -> Option<Part> {
    let all = held();
    let (_, progress) = all.iter().find(|(opened, _)| opened == path)?;
    let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
    Some(Part {
        files: get(&progress.opened_files),
        all_files: get(&progress.files),
        bytes: get(&progress.opened_bytes),
        all_bytes: get(&progress.bytes),
    })
}

fn held() -> MutexGuard<'static, Vec<(PathBuf, Arc<Progress>)>> {
    OPENING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Part {
    /// How much of a run's events has been decoded: hosts with any such line, and the bytes of the lines. Lines that no question
    /// needs are never decoded, so that this need not come to its end.
    #[must_use]
    pub fn decoded(profile: &Profile) -> Self {
        let mut part = Self { all_files: profile.sources.len() as u64, ..Self::default() };
        let mut seen = vec![false; profile.sources.len()];
        for line in &profile.lines {
            part.all_bytes += line.bytes();
            if line.loaded().is_none() {
                continue;
            }
            part.bytes += line.bytes();
            let seen = seen.get_mut(profile.plane(line.plane).source);
            part.files += u64::from(seen.is_some_and(|seen| !std::mem::replace(seen, true)));
        }
        part
    }
}
