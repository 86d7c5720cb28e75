//! Where a ledger lives: a file of lines, or a folder of such files, one a writer.
//!
//! Lines are only ever added. One is written at once, under an advisory lock of the file, and is on the disk when
//! [`Ledger::append`] returns. The beginning of a line that a writer left who was killed while it wrote is removed first: nobody was told
//! that it was written.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use haloscope_analyses::ledger::{self, Entry};
use haloscope_report::Error;

use crate::lock;

/// The ending of a ledger's files.
const ENDING: &str = "jsonl";
/// A larger file is no ledger: at a kilobyte an entry it would have a quarter of a million.
const LARGEST: u64 = 256 << 20;

/// A ledger at a place.
#[derive(Debug)]
pub struct Ledger {
    place: PathBuf,
    kind: Layout,
    /// What was read last, and what its files were then.
    read: Mutex<Option<(Stamps, Arc<ledger::Ledger>)>>,
}

type Stamps = Vec<(PathBuf, u64, SystemTime)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    File,
    Folder,
}

/// Where an entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub file: PathBuf,
    /// Its line, counted from 1.
    pub line: usize,
}

impl Ledger {
    /// The ledger at `place`, which need not be there yet: a path that ends in `.jsonl` is a file, any other a folder.
    ///
    /// # Errors
    /// [`Error::Usage`] for a bucket, and for a place in a run's folder: nothing is ever written into a run.
    pub fn at(place: &Path) -> Result<Self, Error> {
        let words = place.to_string_lossy();
        if let Some(scheme) =
            ["gs://", "s3://", "az://", "http://", "https://"].iter().find(|s| words.starts_with(**s))
        {
            return Err(Error::Usage(format!(
                "{words}: ledgers in buckets ({scheme}) are not read or written yet; keep it in a folder, and copy that with the bucket's own tool (its files only grow, one per writer)"
            )));
        }
        let ends = place.extension().is_some_and(|e| e == ENDING);
        let kind = if place.is_file() || (ends && !place.is_dir()) { Layout::File } else { Layout::Folder };
        if let Some(run) = inside_a_run(place, kind) {
            return Err(Error::Usage(format!(
                "{words} is in the folder of a run ({}), where nothing is written: use a place outside it",
                run.display()
            )));
        }
        Ok(Self { place: place.to_owned(), kind, read: Mutex::default() })
    }

    /// The place as it was given.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// All entries. Files that did not change since they were read last are not read again.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not there, or is no ledger; [`Error::Io`] if it cannot be read.
    pub fn read(&self) -> Result<Arc<ledger::Ledger>, Error> {
        if !self.place.exists() {
            let message = "expected a ledger (a .jsonl file, or a folder of them), found nothing there; `haloscope ledger add RUN --ledger PATH` creates one";
            return Err(Error::Input { path: self.place.clone(), message: message.into() });
        }
        let files = self.files()?;
        let mut stamps = Stamps::new();
        for path in files {
            let meta = fs::metadata(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
            if meta.len() > LARGEST {
                let message = format!("expected a ledger of at most {LARGEST} bytes, found {}", meta.len());
                return Err(Error::Input { path, message });
            }
            let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            stamps.push((path, meta.len(), modified));
        }
        let mut read = lock(&self.read);
        if let Some((then, ledger)) = &*read
            && *then == stamps
        {
            return Ok(Arc::clone(ledger));
        }
        let mut parts = Vec::new();
        for (path, ..) in &stamps {
            let bytes = fs::read(path).map_err(|source| Error::Io { path: path.clone(), source })?;
            parts.push(ledger::parse(&name(path), &bytes));
        }
        let ledger = Arc::new(ledger::Ledger::of(parts));
        *read = Some((stamps, Arc::clone(&ledger)));
        Ok(ledger)
    }

    /// Adds an entry. In a folder it goes to the file of `writer`.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written, [`Error::Input`] for a file that is none of a ledger.
    pub fn append(&self, entry: &Entry, writer: &str) -> Result<Written, Error> {
        let path = match self.kind {
            Layout::File => self.place.clone(),
            Layout::Folder => self.place.join(format!("{}.{ENDING}", file_name(writer))),
        };
        let failed = |source| Error::Io { path: path.clone(), source };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
        let is_new = !path.exists();
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        // Other writers of this program wait here; the lock ends with the file.
        file.lock().map_err(failed)?;
        let before = before(&mut file, &path)?;
        if let Some(torn) = before.torn {
            file.set_len(torn).map_err(failed)?;
        }
        let mut text = String::new();
        if !before.ended {
            text.push('\n');
        }
        text += &entry.to_line();
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        if is_new {
            // The name of a new file is its folder's content. Not every system lets a folder be synchronised.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(Written { file: path.clone(), line: before.lines + 1 })
    }

    /// The files, by name.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        if self.kind == Layout::File {
            return Ok(vec![self.place.clone()]);
        }
        let failed = |source| Error::Io { path: self.place.clone(), source };
        let mut files = Vec::new();
        for item in fs::read_dir(&self.place).map_err(failed)? {
            let path = item.map_err(failed)?.path();
            if path.is_file() && path.extension().is_some_and(|e| e == ENDING) {
                files.push(path);
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

/// What a file holds before a line is added.
struct Before {
    lines: usize,
    /// Whether its last line has its end.
    ended: bool,
    /// Where a line begins that is there in part, at the end.
    torn: Option<u64>,
}

/// What every line begins with.
const BEGIN: &[u8] = b"{\"ledger\":";

/// Whether this is the beginning of a line, and not all of it.
fn is_torn(tail: &[u8]) -> bool {
    let is_ours = tail.iter().zip(BEGIN).all(|(own, begin)| own == begin);
    let whole = serde_json::from_slice::<serde_json::Value>(tail);
    !tail.is_empty() && is_ours && whole.is_err_and(|error| error.is_eof())
}

/// Refuses files of others: a line of ours at their end would be damage.
fn before(file: &mut File, path: &Path) -> Result<Before, Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Read::take(&mut *file, LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    let last = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let torn = is_torn(&bytes[last..]).then_some(last as u64);
    if torn.is_some() {
        bytes.truncate(last);
    }
    let (entries, bad) = ledger::parse(&name(path), &bytes);
    if let (true, Some(first)) = (entries.is_empty(), bad.first()) {
        let message = format!(
            "expected a ledger (lines of JSON with `\"ledger\":1`), found a file without such lines (line {}: {}); nothing was written. Use another path",
            first.line, first.why
        );
        return Err(Error::Input { path: path.to_owned(), message });
    }
    let ended = bytes.is_empty() || bytes.ends_with(b"\n");
    let lines = bytes.iter().filter(|b| **b == b'\n').count() + usize::from(!ended);
    Ok(Before { lines, ended, torn })
}

/// The session folder that a folder, which need not be there yet, is or lies in.
pub(crate) fn run_around(folder: &Path) -> Option<PathBuf> {
    inside_a_run(folder, Layout::Folder)
}

/// The session folder that a place lies in: a folder right below `plugins/profile`, or one that holds profiles itself.
fn inside_a_run(place: &Path, kind: Layout) -> Option<PathBuf> {
    let folder = if kind == Layout::File { place.parent()? } else { place };
    let folder = std::path::absolute(folder).ok()?;
    // Links are followed as far as there is something; what is not there yet lies in what is.
    // Looked at once: another process may make the folder meanwhile, and then what is above it would pass for it.
    let own = folder.canonicalize().ok();
    let there = own.clone().or_else(|| folder.ancestors().find_map(|folder| folder.canonicalize().ok()))?;
    let is_session =
        |folder: &&Path| folder.parent().is_some_and(|parent| parent.ends_with("plugins/profile"));
    let session = there.ancestors().chain(folder.ancestors()).find(is_session);
    session
        .or_else(|| (own.as_ref() == Some(&there) && holds_profiles(&there)).then_some(&*there))
        .map(Path::to_owned)
}

fn holds_profiles(folder: &Path) -> bool {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    items.map(|item| item.file_name()).any(|name| {
        let name = name.to_string_lossy();
        [".xplane.pb", ".xplane.pb.gz", ".xplane.riegeli"].iter().any(|ending| name.ends_with(ending))
    })
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A writer's name as a file's: letters, digits, `-`, `_` and `.`, no more than 100.
fn file_name(writer: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = writer.chars().take(100).map(plain).collect();
    let name = name.trim_matches('.');
    if name.is_empty() { "ledger".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
