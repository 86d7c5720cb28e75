//! The run that an argument stands for, wherever it lies.

use std::fs::{DirEntry, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use haloscope_profile::load::{Part, Run};
use haloscope_report::{Error, units};
use tempfile::TempDir;

use crate::{Printer, progress};

/// What stdin is called.
const STDIN: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// What came from stdin, until the process ends. It can be read once only: whoever asks again gets the same.
static FROM_STDIN: Mutex<Option<FromStdin>> = Mutex::new(None);

/// What folders with what came from stdin begin with.
const PREFIX: &str = "haloscope-stdin-";
/// What the file in one is called, as it came or packed.
const FILES: [&str; 2] = ["stdin", "stdin.gz"];

/// What came from stdin: the folder, and the file in it, which is locked as long as somebody may read it.
struct FromStdin {
    folder: TempDir,
    _locked: File,
}

/// Removes what processes left that were ended while they read stdin, such as by Ctrl-C: it may be large.
fn remove_left(temporary: &Path) {
    let entries = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    // No link is followed, and what belongs to somebody else cannot be opened.
    let is_own = |entry: &DirEntry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX) && entry.file_type().is_ok_and(|t| t.is_dir())
    };
    for folder in entries.filter(is_own).map(|entry| entry.path()) {
        let held = FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        // One without a file is one that is being made.
        if held.is_some_and(|path| File::open(path).is_ok_and(|file| file.try_lock().is_ok())) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

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
    if let Some(held) = &*held {
        let names = FILES.map(|name| file(&held.folder, name));
        return Ok(names.into_iter().find(|path| path.exists()).unwrap_or_default());
    }
    if io::stdin().is_terminal() {
        let message = "RUN is stdin, but stdin is a terminal: pipe a profile into it, for example `ssh host cat run.xplane.pb | haloscope diagnose -`";
        return Err(Error::Usage(message.to_owned()));
    }
    let read = || {
        if cfg!(unix) {
            remove_left(&std::env::temp_dir());
        }
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
        let mut from = io::stdin().lock();
        let mut head = Vec::new();
        from.by_ref().take(GZIP.len() as u64).read_to_end(&mut head)?;
        let path = file(&folder, FILES[usize::from(head == GZIP)]);
        let mut to = File::create(&path)?;
        // Where a lock keeps others from reading, or there is none, what is left lies where the system cleans up.
        if cfg!(unix) {
            let _ = to.try_lock();
        }
        to.write_all(&head)?;
        let most = free_space(folder.path()) / 2;
        let is_whole = copy(&mut from, &mut to, most)?;
        Ok((FromStdin { folder, _locked: to }, path, is_whole.then_some(()).ok_or(most)))
    };
    let (read, path, whole) = read().map_err(|source| Error::Io { path: "stdin".into(), source })?;
    whole.map_err(|most| too_much(&std::env::temp_dir(), most))?;
    haloscope_report::naming::show_as(path.clone(), "stdin".to_owned());
    *held = Some(read);
    Ok(path)
}

/// Copies so many bytes at most; whether that was all.
fn copy(from: &mut impl Read, to: &mut impl Write, most: u64) -> io::Result<bool> {
    Ok(io::copy(&mut from.by_ref().take(most), to)? < most || from.read(&mut [0])? == 0)
}

/// The refusal of what comes without end: others need the disk too.
fn too_much(temporary: &Path, most: u64) -> Error {
    let message = format!(
        "stdin has more than {}, half of the free space in {}: write it to a file and use that as RUN, or set TMPDIR to a folder on a larger disk",
        units::bytes(most as f64),
        temporary.display()
    );
    Error::Input { path: "stdin".into(), message }
}

/// Bytes that are free on the disk of a folder; without bound where nothing says so.
fn free_space(folder: &Path) -> u64 {
    #[cfg(unix)]
    let free = rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    #[cfg(not(unix))]
    let free = {
        let _ = folder;
        None
    };
    free.unwrap_or(u64::MAX)
}

/// Removes what came from stdin.
pub(crate) fn leave() {
    let held = FROM_STDIN.lock().unwrap_or_else(PoisonError::into_inner).take();
    // What cannot be removed lies where the system cleans up.
    let _ = held.map(|held| held.folder.close());
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
    progress::while_doing("downloading the run", part, work)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_comes_without_end_is_left() {
        let copied = |mut from: &[u8]| {
            let mut to = Vec::new();
            (copy(&mut from, &mut to, 3).unwrap(), to.len())
        };
        assert_eq!(
            [copied(b""), copied(b"12"), copied(b"123"), copied(b"1234")],
            [(true, 0), (true, 2), (true, 3), (false, 3)]
        );
        let folder = tempfile::tempdir().unwrap();
        assert!(free_space(folder.path()) > 0);
        let said = too_much(Path::new("/tmp"), 1 << 30).to_string();
        assert!(said.contains("stdin") && said.contains("1.000 GiB") && said.contains("TMPDIR"), "{said}");
    }

    #[test]
    fn what_a_process_left_of_stdin_is_removed_and_what_one_reads_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        for name in ["haloscope-stdin-left", "haloscope-stdin-read", "haloscope-stdin-begun", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        for file in ["haloscope-stdin-left/stdin.gz", "haloscope-stdin-read/stdin", "other/stdin"] {
            fs::write(at(file), "x").unwrap();
        }
        let read = File::options().write(true).open(at("haloscope-stdin-read/stdin")).unwrap();
        read.lock().unwrap();
        remove_left(temporary.path());
        let mut kept: Vec<_> =
            fs::read_dir(temporary.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(kept, ["haloscope-stdin-begun", "haloscope-stdin-read", "other"]);
        drop(read);
        // A process that another test starts at this moment holds the file too, until it has begun.
        let begun = std::time::Instant::now();
        while at("haloscope-stdin-read").exists() {
            assert!(begun.elapsed().as_secs() < 60);
            remove_left(temporary.path());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(at("haloscope-stdin-begun").exists());
    }
}
