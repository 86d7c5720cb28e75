//! The run that an argument stands for, wherever it lies.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use haloscope_profile::load::{Part, Run};
use haloscope_report::Error;

use crate::{Printer, progress};

/// Finds a run; says how far that is while its files are brought from elsewhere.
///
/// # Errors
/// As [`haloscope_store::find`].
pub(crate) fn find(path: &Path) -> Result<Run, Error> {
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

/// Names the session that was taken where there was a choice.
pub(crate) fn say_which(run: &Run, printer: &mut Printer) {
    if run.chosen_from > 1 {
        printer.note(format_args!(
            "newest of {} sessions: {}",
            run.chosen_from,
            haloscope_report::naming::shown(&run.path)
        ));
    }
}

/// What a run is called: its folder or file, and of a session the log folder that it is in.
pub(crate) fn run_name(path: &Path) -> String {
    let shown = PathBuf::from(haloscope_report::naming::shown(path));
    let path = path.canonicalize().ok().filter(|_| shown == path).unwrap_or(shown);
    let mut parts = path.iter().rev().map(|part| part.to_string_lossy().into_owned());
    let own = parts.next().unwrap_or_else(|| "run".to_owned());
    match (parts.next().as_deref(), parts.next().as_deref(), parts.next()) {
        (Some("profile"), Some("plugins"), Some(folder)) => format!("{folder}/{own}"),
        _ => own,
    }
}
