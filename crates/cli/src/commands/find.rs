//! The run that an argument stands for, wherever it lies.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use haloscope_profile::load::{Part, Run};
use haloscope_report::Error;

use crate::progress;

/// Finds a run; says how far that is while its files are brought from elsewhere.
///
/// # Errors
/// As [`haloscope_store::find`].
pub(super) fn find(path: &Path) -> Result<Run, Error> {
    let (bytes, of) = (AtomicU64::new(0), AtomicU64::new(0));
    let part = || Part {
        bytes: bytes.load(Ordering::Relaxed),
        all_bytes: of.load(Ordering::Relaxed),
        ..Part::default()
    };
    let work = || {
        haloscope_store::find(path, &|progress| {
            bytes.store(progress.bytes, Ordering::Relaxed);
            of.store(progress.of, Ordering::Relaxed);
        })
    };
    progress::while_doing("bringing the run here", part, work)
}
