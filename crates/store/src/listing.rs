//! Which runs a place holds, and whether their files are still the same.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use haloscope_profile::load;
use haloscope_remote::{Address, Object, Session};
use haloscope_report::Error;

use crate::remote_root::STAYS;

/// A run, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunInfo {
    /// Names the run in [`crate::Store::open`]: the session's name, or its path below the place where two share one.
    pub id: String,
    /// The session's name: its path below the log folder without `plugins/profile`; of a single file the stem.
    pub name: String,
    /// Its folder or file.
    pub path: String,
    /// The hosts, by the names of their files.
    pub hosts: Vec<String>,
    /// Size of all files in bytes.
    pub size_bytes: u64,
    /// When the newest file was written.
    pub modified: SystemTime,
    /// Whether a file of it is still being written, so that it cannot be opened yet.
    pub writing: bool,
    /// Whether somebody handed it over, such as a file dropped on the page: it is listed after the place's own runs, and is never the newest.
    pub dropped: bool,
}

impl RunInfo {
    /// When the newest file was written, in milliseconds since 1970.
    #[must_use]
    pub fn modified_ms(&self) -> u64 {
        let since = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A run with its files.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) info: RunInfo,
    pub(crate) path: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    /// Of a run that lies elsewhere: its objects. There are no `files` then until they are brought.
    pub(crate) remote: Option<Box<Session>>,
    seen: Instant,
    stamps: Vec<Stamp>,
}

/// What tells that a file was written again: its length in bytes, the time of its last change, and which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp(u64, SystemTime, FileId);

/// Device, inode, and seconds and nanoseconds of its last change of any kind: another file under the same name differs in
/// these, also where length and time are the same.
#[cfg(unix)]
type FileId = (u64, u64, i64, i64);
#[cfg(not(unix))]
type FileId = ();

#[cfg(unix)]
fn file_id(meta: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec())
}
#[cfg(not(unix))]
fn file_id(_: &Metadata) -> FileId {}

/// An object's state in place of a file's.
#[cfg(unix)]
fn object_id(object: &Object) -> FileId {
    let mut hasher = DefaultHasher::new();
    object.etag.hash(&mut hasher);
    (0, hasher.finish(), 0, 0)
}
#[cfg(not(unix))]
fn object_id(_: &Object) -> FileId {}

impl Stamp {
    pub(crate) fn read(path: &Path) -> Option<Self> {
        Self::try_read(path).ok()
    }

    fn try_read(path: &Path) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        Ok(Self(meta.len(), meta.modified().unwrap_or(UNIX_EPOCH), file_id(&meta)))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0
    }

    pub(crate) fn modified(&self) -> SystemTime {
        self.1
    }
}

impl Listed {
    /// A run of these files; `None` if none of them is (still) there.
    ///
    /// # Errors
    /// [`Error::Io`] where a file may be there and cannot be looked at: without it the run would be another one.
    fn new(id: String, name: String, path: PathBuf, all: Vec<PathBuf>) -> Result<Option<Self>, Error> {
        let (mut files, mut stamps) = (Vec::new(), Vec::new());
        for file in all {
            match Stamp::try_read(&file) {
                Ok(stamp) => {
                    stamps.push(stamp);
                    files.push(file);
                }
                Err(error) if load::is_passed_over(&error) => {}
                Err(source) => return Err(Error::Io { path: file, source }),
            }
        }
        let Some(modified) = stamps.iter().map(|s| s.1).max() else { return Ok(None) };
        let info = RunInfo {
            id,
            name,
            path: path.display().to_string(),
            hosts: files.iter().map(|f| stem(f)).collect(),
            size_bytes: stamps.iter().map(|s| s.0).sum(),
            modified,
            writing: false,
            dropped: false,
        };
        Ok(Some(Self { info, path, files, remote: None, seen: Instant::now(), stamps }))
    }

    /// A run that lies elsewhere.
    pub(crate) fn elsewhere(id: String, session: Session) -> Self {
        let name = |object: &Object| {
            let name = if object.path.is_empty() { session.at.name() } else { &object.path };
            stem(Path::new(name))
        };
        let id_of = |object: &Object| Stamp(object.size, object.modified, object_id(object));
        let path = session.at.to_string();
        let info = RunInfo {
            id,
            name: if session.objects.iter().any(|object| object.path.is_empty()) {
                stem(Path::new(&session.name))
            } else {
                session.name.clone()
            },
            path: path.clone(),
            hosts: session.objects.iter().map(name).collect(),
            size_bytes: session.bytes,
            modified: session.modified,
            // An object appears when it is whole.
            writing: false,
            dropped: false,
        };
        let stamps = session.objects.iter().map(id_of).collect();
        let (files, seen) = (Vec::new(), Instant::now());
        Self { info, path: path.into(), files, remote: Some(Box::new(session)), seen, stamps }
    }

    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        self.stamps.clone()
    }

    /// Its files, each with what it was when it was listed.
    pub(crate) fn stamped(&self) -> impl Iterator<Item = (&Path, &Stamp)> {
        self.files.iter().map(PathBuf::as_path).zip(&self.stamps)
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        if self.remote.is_some() {
            return self.seen.elapsed() < STAYS;
        }
        self.files.iter().zip(&self.stamps).all(|(file, stamp)| Stamp::read(file).as_ref() == Some(stamp))
    }
}

/// The runs at a place whose path has no links in it.
pub(crate) fn read(root: &Path) -> Result<Vec<Listed>, Error> {
    let meta = std::fs::metadata(root).map_err(|source| Error::Io { path: root.to_owned(), source })?;
    if meta.is_file() {
        let name = stem(root);
        let listed = Listed::new(name.clone(), name, root.to_owned(), vec![root.to_owned()])?;
        return Ok(listed.into_iter().collect());
    }
    let sessions = load::sessions(root)?;
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &sessions {
        *named.entry(&session.name).or_default() += 1;
    }
    let run = |session: &load::Session| {
        let id =
            if named[session.name.as_str()] > 1 { below(root, &session.path) } else { session.name.clone() };
        of_session(id, session, &[root.to_owned()])
    };
    sessions.iter().filter_map(|session| run(session).transpose()).collect()
}

/// The runs of a place that lies elsewhere.
pub(crate) fn of_sessions(at: &Address, sessions: Vec<Session>) -> Vec<Listed> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for session in &sessions {
        *named.entry(session.name.clone()).or_default() += 1;
    }
    let root = at.to_string();
    let id = |session: &Session| {
        if named.get(&session.name).is_some_and(|count| *count > 1) {
            let path = session.at.to_string();
            let below = path.strip_prefix(root.as_str()).unwrap_or(&path).trim_matches('/');
            return if below.is_empty() { ".".to_owned() } else { below.to_owned() };
        }
        if session.objects.iter().any(|object| object.path.is_empty()) {
            return stem(Path::new(&session.name));
        }
        session.name.clone()
    };
    sessions.into_iter().map(|session| Listed::elsewhere(id(&session), session)).collect()
}

/// The run that a session makes, without the files that lie in none of `roots`: a link may lead anywhere, and what it leads
/// to elsewhere was not meant to be shown.
///
/// # Errors
/// As [`Listed::new`].
pub(crate) fn of_session(
    id: String,
    session: &load::Session,
    roots: &[PathBuf],
) -> Result<Option<Listed>, Error> {
    let mut files = Vec::new();
    for file in &session.files {
        match file.canonicalize() {
            Ok(real) if roots.iter().any(|root| real.starts_with(root)) => files.push(file.clone()),
            Ok(_) => {}
            Err(error) if load::is_passed_over(&error) => {}
            Err(source) => return Err(Error::Io { path: file.clone(), source }),
        }
    }
    Listed::new(id, session.name.clone(), session.path.clone(), files)
}

fn below(root: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let parts: Vec<_> = below.iter().map(|p| p.to_string_lossy()).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// A file's name without the endings of profiles, which is what its host is called.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let short = name.strip_suffix(".gz").unwrap_or(&name);
    let endings = [".xplane.pb", ".xplane.riegeli", ".pb", ".trace.json", ".json"];
    endings.iter().find_map(|ending| short.strip_suffix(ending)).unwrap_or(short).to_owned()
}
