//! The run that an argument stands for, wherever it lies.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use haloscope_profile::load::{Part, Run};
use haloscope_report::Error;
use tempfile::TempDir;

use crate::{Printer, progress};

/// What stdin is called.
const STDIN: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// What came from stdin, until the process ends. It can be read once only: whoever asks again gets the same.
static FROM_STDIN: Mutex<Option<TempDir>> = Mutex::new(None);

/// Whether a RUN is what comes on stdin, of which nothing is kept.
pub(crate) fn is_stdin(path: &Path) -> bool {
    STDIN.iter().any(|name| path == Path::new(name))
}

/// The file that stdin was written to, below a folder of its own.
fn from_stdin() -> Result<PathBuf, Error> {
    /// The first bytes of gzip data.
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut held = FROM_STDIN.lock().unwrap_or_else(PoisonError::into_inner);
    let file = |folder: &TempDir, name: &str| folder.path().join(name);
    if let Some(folder) = &*held {
        let names = ["stdin", "stdin.gz"].map(|name| file(folder, name));
        return Ok(names.into_iter().find(|path| path.exists()).unwrap_or_default());
    }
    if io::stdin().is_terminal() {
        let message = "RUN is stdin, which is a terminal: pipe a profile into it, as in `ssh host cat run.xplane.pb | haloscope \
                       diagnose -`";
        return Err(Error::Usage(message.to_owned()));
    }
    let read = || {
        let folder = tempfile::Builder::new().prefix("haloscope-stdin-").tempdir()?;
        let mut from = io::stdin().lock();
        let mut head = Vec::new();
        from.by_ref().take(GZIP.len() as u64).read_to_end(&mut head)?;
        let path = file(&folder, if head == GZIP { "stdin.gz" } else { "stdin" });
        let mut to = File::create(&path)?;
        to.write_all(&head)?;
        io::copy(&mut from, &mut to)?;
        Ok((folder, path))
    };
    let (folder, path) = read().map_err(|source| Error::Io { path: "stdin".into(), source })?;
    haloscope_report::naming::show_as(path.clone(), "stdin".to_owned());
    *held = Some(folder);
    Ok(path)
}

/// Removes what came from stdin.
pub(crate) fn leave() {
    let folder = FROM_STDIN.lock().unwrap_or_else(PoisonError::into_inner).take();
    // What cannot be removed lies where the system cleans up.
    let _ = folder.map(TempDir::close);
}

/// Finds a run; says how far that is while its files are brought from elsewhere.
///
/// # Errors
/// As [`haloscope_store::find`]; [`Error::Usage`] where stdin is meant and is a terminal.
pub(crate) fn find(path: &Path) -> Result<Run, Error> {
    if is_stdin(path) {
        return haloscope_profile::load::find(&from_stdin()?);
    }
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
