//! Files that were opened, kept for the next question as long as there is room, and confined to the roots that were given.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use haloscope_profile::{Profile, load};
use haloscope_report::Error;
use haloscope_store::{Cache, FarCopy, FarFile, FarPlace};

use crate::runs::{Place, Run};

/// What a worker says of a file that it may not read, by which whoever asks knows it.
pub(super) const OUTSIDE: &str = "outside the worker's --roots";

/// What stands before all that is said of a file that was not read, likewise.
pub(super) const UNREAD: &str = "a file was not read: ";

/// A file of a run, with what must be known of the others to read it as one of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileRef {
    /// Its position among all files that are asked.
    pub(super) at: u32,
    /// What the column `run` says.
    pub(super) run: String,
    /// Where it is: from the root of the file system, or its address.
    pub(super) path: String,
    /// What it is called in answers.
    pub(super) shown: String,
    /// Its bytes, as whoever asks sees it.
    pub(super) bytes: u64,
    /// Of one at an address: in which state it was listed.
    pub(super) version: Option<Version>,
    /// Where it stands in the run; nothing where that is not known yet.
    pub(super) place: Place,
}

/// The state of a file that lies elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// What its store calls it.
    pub(super) etag: Option<String>,
    /// When it was written: nanoseconds since 1970.
    pub(super) modified_ns: u64,
}

impl Version {
    pub(super) fn of(file: &FarFile) -> Self {
        let since = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Self { etag: file.etag.clone(), modified_ns }
    }

    fn modified(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_nanos(self.modified_ns)).unwrap_or(UNIX_EPOCH)
    }
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
    version: Option<Version>,
}

/// A file that is open, or is being opened by whoever holds the lock.
type Slot = Arc<Mutex<Option<(FileRef, Arc<[Run]>)>>>;

/// What may be read.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// Folders, each as it was given and without links; `None` where the process reads its own user's files.
    pub(super) folders: Option<Vec<(PathBuf, PathBuf)>>,
    /// Addresses, with what is secret of them.
    pub(super) places: Vec<FarPlace>,
}

/// Open files.
pub(super) struct Shelf {
    /// Outside of these nothing is read.
    roots: Roots,
    /// Bytes of files that are kept open when nobody reads them.
    most: u64,
    /// Where what was made of files is kept for the next question.
    pub(super) cache: Option<Cache>,
    /// The one that was asked for last is the last.
    open: Mutex<Vec<(Seen, Slot)>>,
}

impl Shelf {
    pub(super) fn new(roots: Roots, most: u64, cache: Option<Cache>) -> Self {
        Self { roots, most, cache, open: Mutex::default() }
    }

    /// Where a file really is.
    fn allowed(&self, path: &Path) -> Result<PathBuf, Closed> {
        let Some(roots) = &self.roots.folders else { return Ok(path.to_owned()) };
        let refused = || Closed::Refused(format!("{}: {OUTSIDE}", path.display()));
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
        match &file.version {
            None => self.open_here(file),
            Some(version) => self.open_far(file, version),
        }
    }

    fn open_here(&self, file: &FileRef) -> Result<Arc<[Run]>, Closed> {
        let path = Path::new(&file.path);
        let (real, changed) = self.looked_at(file)?;
        let seen = Seen { path: file.path.clone(), bytes: file.bytes, changed, version: None };
        self.kept(&seen, file, || {
            let run = read(path, file).map_err(Closed::Unread)?;
            // A link that was changed meanwhile leads nowhere else.
            if self.allowed(path)? != real {
                return Err(outside(file));
            }
            Ok(run)
        })
    }

    /// Where a file really is, and when it was written; that it is the one that is meant.
    fn looked_at(&self, file: &FileRef) -> Result<(PathBuf, Option<SystemTime>), Closed> {
        let path = Path::new(&file.path);
        let real = self.allowed(path)?;
        let unread = |source| Closed::Unread(Error::Io { path: path.to_owned(), source });
        let meta = fs::metadata(&real).map_err(unread)?;
        if meta.len() != file.bytes {
            return Err(Closed::Refused(format!(
                "{}: {} bytes on the worker, {} on the client: not the same file",
                file.path,
                meta.len(),
                file.bytes
            )));
        }
        Ok((real, meta.modified().ok()))
    }

    /// One that lies elsewhere.
    fn open_far(&self, file: &FileRef, version: &Version) -> Result<Arc<[Run]>, Closed> {
        // What is outside takes no place among those that are open.
        self.root_of(file, version)?;
        let (path, listed) = (file.path.clone(), Some(version.clone()));
        let seen = Seen { path, bytes: file.bytes, changed: None, version: listed };
        self.kept(&seen, file, || {
            let copy = self.brought(file, version)?;
            Ok(read(copy.path(), file).map_err(Closed::Unread)?.holding(copy))
        })
    }

    /// Brings a file here in the state in which it was listed, unless it is here in that state.
    fn brought(&self, file: &FileRef, version: &Version) -> Result<FarCopy, Closed> {
        let (place, far) = self.root_of(file, version)?;
        place.bring(&far).map_err(|error| match error {
            // What to do about it is to be done where the worker is.
            Error::Input { path, message } if self.roots.folders.is_some() => {
                let message = format!("{message} (a worker asked, as its environment and its --roots say)");
                Closed::Unread(Error::Input { path, message })
            }
            other => Closed::Unread(other),
        })
    }

    /// The root that an address lies below.
    fn root_of(&self, file: &FileRef, version: &Version) -> Result<(&FarPlace, FarFile), Closed> {
        let far = FarFile {
            address: file.path.clone(),
            size: file.bytes,
            etag: version.etag.clone(),
            modified: version.modified(),
        };
        let place = self.roots.places.iter().find(|place| place.holds(&far));
        Ok((place.ok_or_else(|| outside(file))?, far))
    }

    /// What was opened before, placed as it is asked for now; else it is opened.
    fn kept(
        &self,
        seen: &Seen,
        file: &FileRef,
        open: impl FnOnce() -> Result<Run, Closed>,
    ) -> Result<Arc<[Run]>, Closed> {
        let slot = self.slot(seen);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, runs)) = slot.as_ref().filter(|(known, _)| known == file) {
            return Ok(Arc::clone(runs));
        }
        // What another question has opened stands elsewhere in its run: it is placed anew if nobody reads it, else opened again.
        let placed = slot.take().and_then(|(_, mut runs)| {
            let run = Arc::get_mut(&mut runs)?.first_mut()?;
            run.placed(&file.run, &file.shown, &file.place).then_some(runs)
        });
        let runs = match placed {
            Some(runs) => runs,
            None => Arc::new([open()?]),
        };
        *slot = Some((file.clone(), Arc::clone(&runs)));
        Ok(runs)
    }

    /// What `make` makes of a file that lies at this path, for what is made of it alone.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn alone<T>(
        &self,
        file: &FileRef,
        make: impl FnOnce(&Path) -> Result<T, Error>,
    ) -> Result<T, Closed> {
        if let Some(version) = &file.version {
            let copy = self.brought(file, version)?;
            return make(copy.path()).map_err(Closed::Unread);
        }
        let path = Path::new(&file.path);
        let (real, _) = self.looked_at(file)?;
        let made = make(path).map_err(Closed::Unread)?;
        if self.allowed(path)? != real {
            return Err(outside(file));
        }
        Ok(made)
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

fn outside(file: &FileRef) -> Closed {
    Closed::Refused(format!("{}: {OUTSIDE}", file.path))
}

/// The profile of one host.
pub(super) fn profile(path: &Path) -> Result<Profile, Error> {
    let found = load::Run { files: vec![path.to_owned()], path: path.to_owned(), chosen_from: 1 };
    let profile = load::open(&found)?;
    if profile.is_program() || profile.is_flags() || profile.has_parts() {
        let message = "expected the profile of a host, found something else".to_owned();
        return Err(Error::Input { path: path.to_owned(), message });
    }
    Ok(profile)
}

/// The same as a file of its run.
fn read(path: &Path, file: &FileRef) -> Result<Run, Error> {
    Ok(Run::of_file(&file.run, &file.shown, profile(path)?, &file.place))
}

/// Fails where a file was written to since it was opened.
pub(super) fn unchanged(runs: &[Run]) -> Result<()> {
    match runs.iter().try_for_each(|run| run.profile.unchanged()) {
        Ok(()) => Ok(()),
        Err(error) => exec_err!("{UNREAD}{error}"),
    }
}
