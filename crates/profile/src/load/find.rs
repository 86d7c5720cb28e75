//! Discovery: which files a RUN argument stands for.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use super::session::Session;
use super::{dump, native, trace_json};
use haloscope_report::Error;

/// The files of one run, and how they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The files, sorted by name: of a profile one a host, of a compiled program one for each stage of each module.
    pub files: Vec<PathBuf>,
    /// The session's folder, the dump's, or the single file.
    pub path: PathBuf,
    /// Where the argument was a log folder with several sessions: how many there are. The newest was taken.
    pub chosen_from: usize,
}

/// How deep below a log folder sessions are looked for.
const DEPTH: usize = 8;

/// What XSpace files are called.
pub(super) const SUFFIXES: [&str; 3] = [".xplane.pb", ".xplane.pb.gz", RECORDS];

/// Those in pieces.
const RECORDS: &str = ".xplane.riegeli";

fn is_profile(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// The run that `path` stands for: a file (a profile, an HLO proto, HLO text or an op's LLO), a session folder, a log folder whose newest
/// session is taken, or, where there is no profile in or below it, a folder of HLO or LLO such as `--xla_dump_to` and
/// `--xla_jf_dump_to` make.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Input`] if there is neither profile nor program in it.
pub fn find(path: &Path) -> Result<Run, Error> {
    let path = &native(path);
    let io = |source| Error::Io { path: path.to_owned(), source };
    let meta = fs::metadata(path).map_err(io)?;
    if !meta.is_file() && !meta.is_dir() {
        // Not opened: a pipe that nobody writes to is waited for for ever, and a device may have no end.
        let message = "expected a file or a folder, found a pipe, a socket or a device; pass - and redirect it to stdin"
            .to_owned();
        return Err(Error::Input { path: path.to_owned(), message });
    }
    if meta.is_file() {
        return Ok(Run { files: vec![path.to_owned()], path: path.to_owned(), chosen_from: 1 });
    }
    let mut all = sessions(path)?;
    let count = all.len();
    if all.is_empty() {
        let message =
            "expected a log folder (with plugins/profile/<session>/<host>.xplane.pb below it), a session \
                       folder, a .xplane.pb file, a trace (.trace.json.gz), HLO (a dump of --xla_dump_to, an .hlo_proto.pb, HLO text), \
                       or LLO (a dump of --xla_jf_dump_to with --xla_jf_dump_llo_proto); \
                       found none of these. Pass the folder that was given to jax.profiler.trace or start_trace"
                .to_owned();
        return Err(Error::Input { path: path.to_owned(), message });
    }
    let newest = all.swap_remove(0);
    Ok(Run { files: newest.files, path: newest.path, chosen_from: count })
}

/// All sessions at or below a folder, the newest first (by the session's name where times are equal, later names first).
/// Where there is none, a compiled program in the folder itself is its one session.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be listed, or something below it for another reason than that it is gone or somebody else's.
pub fn sessions(root: &Path) -> Result<Vec<Session>, Error> {
    let mut found = Vec::new();
    fs::read_dir(root).map_err(|source| Error::Io { path: root.to_owned(), source })?;
    collect(root, root, 0, &mut found)?;
    if found.is_empty() {
        found.extend(dump::programs(root)?);
    }
    found.sort_by(|a, b| (b.modified, &b.name).cmp(&(a.modified, &a.name)));
    Ok(found)
}

/// The session whose files stand in `folder` itself, named after the folder; `None` if it holds no profile.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be listed.
pub fn session_at(folder: &Path) -> Result<Option<Session>, Error> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    Ok(Contents::read(folder).map_err(io)?.session(own_name(folder), folder))
}

/// The sessions in the folders directly below `folder`, each named after its own, sorted by name.
///
/// # Errors
/// As [`sessions`].
pub fn sessions_in(folder: &Path) -> Result<Vec<Session>, Error> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    let below = Contents::read(folder).map_err(io)?.folders;
    let mut found = Vec::new();
    for path in below {
        match Contents::read(&path) {
            Ok(contents) => found.extend(contents.session(own_name(&path), &path)),
            Err(error) if is_passed_over(&error) => {}
            Err(source) => return Err(Error::Io { path, source }),
        }
    }
    Ok(found)
}

/// What stands in a folder.
#[derive(Default)]
struct Contents {
    /// Profiles.
    files: Vec<PathBuf>,
    /// Traces in JSON, with their sizes and times. They are what is left of a profile: where it stands beside, it is read.
    traces: Vec<(PathBuf, u64, Option<SystemTime>)>,
    /// Folders, sorted.
    folders: Vec<PathBuf>,
    /// Size of all profiles in bytes.
    bytes: u64,
    /// When the newest profile was written.
    modified: Option<SystemTime>,
}

impl Contents {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let meta = match fs::metadata(&path) {
                Ok(meta) => meta,
                Err(error) if is_passed_over(&error) => continue,
                Err(error) => return Err(error),
            };
            if meta.is_dir() {
                // A link to a folder could lead in a circle; profiles are not laid out with links.
                // A session that is being captured lies in a folder with such a name until it is whole.
                let is_draft = entry.file_name().to_string_lossy().starts_with(".haloscope-");
                if !is_draft && entry.file_type().is_ok_and(|t| !t.is_symlink()) {
                    found.folders.push(path);
                }
            } else if !meta.is_file() {
                // Links lead to devices and pipes too, and archives hold links.
            } else if is_profile(&path) {
                found.bytes += meta.len();
                found.modified = found.modified.max(meta.modified().ok());
                found.files.push(path);
            } else if trace_json::is_named(&path) {
                found.traces.push((path, meta.len(), meta.modified().ok()));
            }
        }
        found.folders.sort();
        Ok(found)
    }

    /// Puts traces in place of profiles. JAX's `perfetto_trace.json.gz` is another writing of the `.trace.json.gz` beside it.
    fn take_traces(&mut self) {
        let is_copy = |path: &Path| {
            path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("perfetto_trace.json"))
        };
        let has_own = self.traces.iter().any(|(path, ..)| !is_copy(path));
        for (path, bytes, modified) in std::mem::take(&mut self.traces) {
            if !(has_own && is_copy(&path)) {
                self.bytes += bytes;
                self.modified = self.modified.max(modified);
                self.files.push(path);
            }
        }
    }

    /// The session that the profiles make, if there are any.
    fn session(mut self, name: String, path: &Path) -> Option<Session> {
        if self.files.is_empty() {
            self.take_traces();
        }
        // Packed and unpacked, whole and in pieces, a file is one host, not two.
        let all = self.files.clone();
        let is_copy = |file: &PathBuf| match file.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => all.contains(&file.with_extension("")),
            Some("riegeli") => ["pb", "pb.gz"].iter().any(|other| all.contains(&file.with_extension(other))),
            _ => false,
        };
        self.files.retain(|file| !is_copy(file));
        self.files.sort();
        let modified = self.modified.unwrap_or(SystemTime::UNIX_EPOCH);
        let session = Session { name, path: path.to_owned(), files: self.files, bytes: self.bytes, modified };
        (!session.files.is_empty()).then_some(session)
    }
}

/// Whether what gave this error is passed over in a folder of runs: entries that vanished, or lead nowhere or in a circle, and folders of somebody else. All other
/// errors are of the disk or of this process, and what was not seen for them may be what was asked for.
#[must_use]
pub fn is_passed_over(error: &io::Error) -> bool {
    /// Too many links, one behind the other (`ELOOP`), which has no stable kind.
    const LOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied, io::ErrorKind::NotADirectory];
    kinds.contains(&error.kind()) || cfg!(unix) && error.raw_os_error() == Some(LOOP)
}

fn collect(root: &Path, folder: &Path, depth: usize, found: &mut Vec<Session>) -> Result<(), Error> {
    let mut contents = match Contents::read(folder) {
        Ok(contents) => contents,
        Err(error) if is_passed_over(&error) => return Ok(()),
        Err(source) => return Err(Error::Io { path: folder.to_owned(), source }),
    };
    let folders = std::mem::take(&mut contents.folders);
    found.extend(contents.session(session_name(root, folder), folder));
    if depth < DEPTH {
        for folder in folders {
            collect(root, &folder, depth + 1, found)?;
        }
    }
    Ok(())
}

fn own_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "run".to_owned(), |n| n.to_string_lossy().into_owned())
}

fn session_name(root: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let parts: Vec<_> = below.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    let mut name = Vec::new();
    let mut i = 0;
    while i < parts.len() {
        if parts[i] == "plugins" && parts.get(i + 1).is_some_and(|p| p == "profile") {
            i += 2;
        } else {
            name.push(parts[i].clone());
            i += 1;
        }
    }
    if name.is_empty() {
        return own_name(folder);
    }
    name.join("/")
}

#[cfg(test)]
mod tests;
