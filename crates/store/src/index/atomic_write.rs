//! Files appear whole or not at all: written under a temporary name that is locked meanwhile, then renamed.
//!
//! A process that dies leaves a temporary file, whose lock ends with it: [`sweep`] removes those. Nothing is synchronised to
//! the disk: after a loss of power a file may be damaged, which its checksums tell.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The ending of temporary files.
const TEMPORARY: &str = "tmp";
/// A temporary file that is younger may not have been locked yet.
const YOUNG: Duration = Duration::from_secs(5);
/// Where locks are not supported, a temporary file that is older belongs to nobody.
const OLD: Duration = Duration::from_secs(3600);

/// Makes a folder and those above it, for this user only.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file, for this user only, in place of any that has its name; its length in bytes.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<u64> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!("{name}.{}-{count}.{TEMPORARY}", process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&temporary)?;
    let written = (|| {
        // Where there are no locks, age alone tells whose it is.
        let _ = file.try_lock();
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        fs::rename(&temporary, path)?;
        Ok(file.metadata()?.len())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes what dead processes left half-written in a folder.
pub(super) fn sweep(folder: &Path) {
    for (path, age) in temporary_files(folder) {
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
        let is_dead = match file.try_lock() {
            Ok(()) => age > YOUNG,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => age > OLD,
        };
        if is_dead {
            let _ = fs::remove_file(path);
        }
    }
}

fn temporary_files(folder: &Path) -> Vec<(PathBuf, Duration)> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let temporary =
        items.map(|item| item.path()).filter(|path| path.extension() == Some(OsStr::new(TEMPORARY)));
    let aged = |path: PathBuf| {
        let modified = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        Some((path, SystemTime::now().duration_since(modified).unwrap_or_default()))
    };
    temporary.filter_map(aged).collect()
}

/// A lock that ends with the process, or when this is dropped; `None` while another holds it, or where it cannot be had.
pub(super) fn lock(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).ok()?;
    file.try_lock().is_ok().then_some(file)
}

/// Notes that a file is in use, for the order in which files are evicted.
pub(super) fn touch(file: &File) {
    // Who may not write it may read it all the same.
    let _ = file.set_modified(SystemTime::now());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let items = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            items.map(|item| item.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_could_not_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(write(&path, |out| out.write_all(b"one")).unwrap(), 3);
        let failed = write(&path, |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_the_dead_left_is_swept_and_what_the_living_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["dead.1-0.tmp", "young.1-1.tmp", "living.1-2.tmp", "whole"] {
            let file = File::create(at(name)).unwrap();
            if name != "young.1-1.tmp" {
                file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
            }
        }
        let living = File::open(at("living.1-2.tmp")).unwrap();
        living.lock().unwrap();
        sweep(folder.path());
        assert_eq!(names(folder.path()), ["living.1-2.tmp", "whole", "young.1-1.tmp"]);
    }

    #[test]
    fn one_holds_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path).unwrap();
        assert!(lock(&path).is_none());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(held.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(held);
        assert!(lock(&path).is_some());
    }
}
