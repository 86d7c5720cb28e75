//! Files that were opened, kept for the next question as long as there is room, and confined to the roots that were given.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use haloscope_profile::{Profile, load};
use haloscope_report::Error;

use crate::runs::{Place, Run};

/// What a worker says of a file that it may not read, by which whoever asks knows it.
pub(super) const OUTSIDE: &str = "outside of the worker's --roots";

/// What stands before all that is said of a file that was not read, likewise.
pub(super) const UNREAD: &str = "a file was not read: ";

/// A file of a run, with what must be known of the others to read it as one of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileRef {
    /// Its position among all files that are asked.
    pub(super) at: u32,
    /// What the column `run` says.
    pub(super) run: String,
    /// Where it is, from the root of the file system.
    pub(super) path: String,
    /// What it is called in answers.
    pub(super) shown: String,
    /// Its bytes, as whoever asks sees it.
    pub(super) bytes: u64,
    /// Where it stands in the run; nothing where that is not known yet.
    pub(super) place: Place,
}

/// Why a file was not opened.
#[derive(Debug)]
pub(super) enum Closed {
    /// It may not be read, or is another here.
    Refused(String),
    /// It cannot be read.
    Unread(Error),
}

impl From<Closed> for DataFusionError {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::Refused(why) => Self::Execution(format!("{UNREAD}{why}")),
            Closed::Unread(error) => Self::Execution(format!("{UNREAD}{error}")),
        }
    }
}

/// A file as it was when it was opened.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    path: String,
    bytes: u64,
    changed: Option<SystemTime>,
}

/// A file that is open, or is being opened by whoever holds the lock.
type Slot = Arc<Mutex<Option<(FileRef, Arc<[Run]>)>>>;

/// Open files.
pub(super) struct Shelf {
    /// Folders outside of which nothing is read; `None` where the process reads its own user's files.
    roots: Option<Vec<(PathBuf, PathBuf)>>,
    /// Bytes of files that are kept open when nobody reads them.
    most: u64,
    /// The one that was asked for last is the last.
    open: Mutex<Vec<(Seen, Slot)>>,
}

impl Shelf {
    /// For files below these folders: each as it was given, and without links.
    pub(super) fn new(roots: Option<Vec<(PathBuf, PathBuf)>>, most: u64) -> Self {
        Self { roots, most, open: Mutex::default() }
    }

    /// Where a file really is.
    fn allowed(&self, path: &Path) -> Result<PathBuf, Closed> {
        let Some(roots) = &self.roots else { return Ok(path.to_owned()) };
        let refused = || outside(path);
        let is_plain = path.is_absolute()
            && path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        if !is_plain {
            return Err(refused());
        }
        match fs::canonicalize(path) {
            Ok(real) if roots.iter().any(|(_, root)| real.starts_with(root)) => Ok(real),
            // Whether there is such a file elsewhere is not said.
            Err(source)
                if roots.iter().any(|(given, root)| path.starts_with(given) || path.starts_with(root)) =>
            {
                Err(Closed::Unread(Error::Io { path: path.to_owned(), source }))
            }
            _ => Err(refused()),
        }
    }

    /// A file of a run, opened now or before.
    ///
    /// # Errors
    /// Why it is not.
    pub(super) fn open(&self, file: &FileRef) -> Result<Arc<[Run]>, Closed> {
        let path = Path::new(&file.path);
        let (real, changed) = self.looked_at(file)?;
        let seen = Seen { path: file.path.clone(), bytes: file.bytes, changed };
        let slot = self.slot(&seen);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, runs)) = slot.as_ref().filter(|(known, _)| known == file) {
            debug_assert_eq!(known.path, file.path);
            return Ok(Arc::clone(runs));
        }
        // What another question has opened stands elsewhere in its run: it is placed anew if nobody reads it, else opened again.
        let placed = slot.take().and_then(|(_, mut runs)| {
            let run = Arc::get_mut(&mut runs)?.first_mut()?;
            run.placed(&file.run, &file.shown, &file.place).then_some(runs)
        });
        let runs = match placed {
            Some(runs) => runs,
            None => {
                let profile = profile(path).map_err(Closed::Unread)?;
                Arc::new([Run::of_file(&file.run, &file.shown, profile, &file.place)])
            }
        };
        // A link that was changed meanwhile leads nowhere else.
        if self.allowed(path)? != real {
            return Err(outside(path));
        }
        *slot = Some((file.clone(), Arc::clone(&runs)));
        Ok(runs)
    }

    /// Where a file really is, and when it was written; that it is the one that is meant.
    fn looked_at(&self, file: &FileRef) -> Result<(PathBuf, Option<SystemTime>), Closed> {
        let path = Path::new(&file.path);
        let real = self.allowed(path)?;
        let unread = |source| Closed::Unread(Error::Io { path: path.to_owned(), source });
        let meta = fs::metadata(&real).map_err(unread)?;
        if meta.len() != file.bytes {
            return Err(Closed::Refused(format!(
                "{}: {} bytes on the worker, {} where the question was asked: not the same file",
                file.path,
                meta.len(),
                file.bytes
            )));
        }
        Ok((real, meta.modified().ok()))
    }

    /// A file as it is on the disk, for what is made of it alone: it is opened for that, and not kept.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn alone(&self, file: &FileRef) -> Result<Profile, Closed> {
        let path = Path::new(&file.path);
        let (real, _) = self.looked_at(file)?;
        let profile = profile(path).map_err(Closed::Unread)?;
        if self.allowed(path)? != real {
            return Err(outside(path));
        }
        Ok(profile)
    }

    /// The place of a file, to be filled by whoever comes first. Those that were not asked for the longest make room.
    fn slot(&self, seen: &Seen) -> Slot {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match open.iter().position(|(known, _)| known == seen) {
            Some(at) => open.remove(at).1,
            None => Slot::default(),
        };
        open.retain(|(known, _)| known.path != seen.path);
        let mut bytes: u64 = open.iter().map(|(known, _)| known.bytes).sum();
        while bytes.saturating_add(seen.bytes) > self.most && !open.is_empty() {
            bytes -= open.remove(0).0.bytes;
        }
        open.push((seen.clone(), Arc::clone(&slot)));
        slot
    }
}

fn outside(path: &Path) -> Closed {
    Closed::Refused(format!("{}: {OUTSIDE}", path.display()))
}

/// The profile of one host.
fn profile(path: &Path) -> Result<Profile, Error> {
    let found = load::Run { files: vec![path.to_owned()], path: path.to_owned(), chosen_from: 1 };
    let profile = load::open(&found)?;
    if profile.is_program() || profile.is_flags() || profile.has_parts() {
        let message = "expected the profile of a host, found something else".to_owned();
        return Err(Error::Input { path: path.to_owned(), message });
    }
    Ok(profile)
}

/// Fails where a file was written to since it was opened.
pub(super) fn unchanged(runs: &[Run]) -> Result<()> {
    match runs.iter().try_for_each(|run| run.profile.unchanged()) {
        Ok(()) => Ok(()),
        Err(error) => exec_err!("{UNREAD}{error}"),
    }
}
