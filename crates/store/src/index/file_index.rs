//! The index of one file: its structure and the columns of its lines, in files that are only ever added.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use haloscope_profile::load::map::Map;
use haloscope_profile::{ColumnStore, Line, Profile, Segment, Shared, StoredColumns};
use xxhash_rust::xxh3::xxh3_128;

use super::container::{File, SectionKind, SectionName, Writer};
use super::identity::{self, Stamp};
use super::{Cache, ENDING, atomic_write, eviction};

/// Files of profiles as profilers write them; what is packed is unpacked into memory each time.
const PROFILE: &str = ".xplane.pb";
/// The file whose time says when the index was used last. Those with columns keep theirs: it tells that nobody wrote to them.
const USED: &str = "used";
/// An index of more files than this was written by something else.
const MOST_FILES: usize = 1024;

/// The index of a file as it is now.
#[derive(Debug)]
pub(super) struct FileIndex {
    folder: PathBuf,
    /// What the index is of, in full.
    key: String,
    /// Of the file's bytes, once it was needed.
    digest: OnceLock<Option<u64>>,
    pub(super) stamp: Stamp,
    files: RwLock<Vec<Indexed>>,
    /// A file that was closed because somebody changed it: of what was given out of it before, nothing is to be believed.
    lost: OnceLock<(PathBuf, String)>,
}

/// A file of the index.
#[derive(Debug)]
struct Indexed {
    path: PathBuf,
    map: Arc<Map>,
    sections: File,
}

impl Cache {
    /// What is known of a file; `None` for one that is not indexed: no profile, packed, or just written.
    pub(super) fn index_of(&self, path: &Path) -> Option<FileIndex> {
        if !path.to_string_lossy().ends_with(PROFILE) {
            return None;
        }
        let stamp = Stamp::read(path).filter(|stamp| stamp.is_settled(self.quiet))?;
        let key = format!("{}\n{stamp:?}", identity::program()?);
        let folder = self.index_folder().join(format!("{:032x}", xxh3_128(key.as_bytes())));
        let index = FileIndex {
            folder,
            key,
            digest: OnceLock::new(),
            stamp,
            files: RwLock::default(),
            lost: OnceLock::new(),
        };
        index.open_files();
        Some(index)
    }
}

impl FileIndex {
    /// Opens the files of the index that are not open yet. What is damaged or of something else is removed.
    fn open_files(&self) {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let items = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|item| item.path());
        let mut paths: Vec<PathBuf> = items.filter(|path| eviction::is_kept(path)).take(MOST_FILES).collect();
        paths.sort_unstable();
        for path in paths {
            if files.iter().any(|file| file.path == path) {
                continue;
            }
            match self.open(&path) {
                Some(file) => files.push(file),
                None => drop(fs::remove_file(&path)),
            }
        }
        if !files.is_empty()
            && let Ok(used) = fs::File::create(self.folder.join(USED))
        {
            atomic_write::touch(&used);
        }
    }

    fn open(&self, path: &Path) -> Option<Indexed> {
        let map = Arc::new(Map::open(path).ok()?);
        let sections = File::open(Arc::<Map>::clone(&map) as Shared)?;
        let is = |kind, bytes: &[u8]| {
            sections.section(SectionName::new(kind)).is_some_and(|found| *found == *bytes)
        };
        let is_ours = is(SectionKind::Key, self.key.as_bytes())
            && is(SectionKind::Digests, &self.digest()?.to_le_bytes());
        is_ours.then(|| Indexed { path: path.to_owned(), map, sections })
    }

    fn digest(&self) -> Option<u64> {
        *self.digest.get_or_init(|| self.stamp.digest().ok())
    }

    /// What `find` finds first. A file that turns out to be damaged is closed and removed.
    fn first<T>(&self, find: impl Fn(&File) -> Option<T>) -> Option<T> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let found = files.iter().find_map(|file| find(&file.sections));
        let is_damaged = found.is_none() && files.iter().any(|file| file.sections.is_damaged());
        drop(files);
        if is_damaged {
            let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
            files.retain(|file| {
                let keep = !file.sections.is_damaged();
                if !keep {
                    // What was damaged all along was never given out; what was cut just now may have been.
                    if let Some(change) = file.map.content_changed() {
                        let _ = self.lost.set((file.path.clone(), change));
                    }
                    let _ = fs::remove_file(&file.path);
                }
                keep
            });
        }
        found
    }

    pub(super) fn structure(&self) -> Option<Segment> {
        self.first(|file| file.section(SectionName::new(SectionKind::Structure)))
    }

    /// The lines whose columns are here, ascending.
    pub(super) fn lines(&self) -> Vec<u32> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<u32> = files.iter().flat_map(|file| file.sections.lines()).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Whether the file was asked about before, by anybody.
    pub(super) fn is_begun(&self) -> bool {
        self.folder.is_dir()
    }

    /// Notes that the file was asked about.
    pub(super) fn begin(&self, cache: &Cache) -> io::Result<()> {
        cache.make(&self.folder)
    }

    /// Adds what is missing of these lines, which are of the file `source` of the profile, and the structure. How many bytes
    /// were written: 0 where nothing is missing, another process writes, or there is no room.
    pub(super) fn add<'p>(
        &self,
        cache: &Cache,
        profile: &'p Profile,
        source: usize,
        lines: impl Iterator<Item = (u32, &'p Line)>,
        go_on: &dyn Fn() -> bool,
    ) -> io::Result<u64> {
        cache.make(&self.folder)?;
        let Some(_lock) = atomic_write::lock(&Cache::lock_of(&self.folder)) else { return Ok(0) };
        let Some(digest) = self.digest() else { return Ok(0) };
        atomic_write::sweep(&self.folder);
        // Another may have added something since.
        self.open_files();
        let known = self.lines();
        let missing: Vec<_> = lines.filter(|(number, _)| known.binary_search(number).is_err()).collect();
        let structure = if self.structure().is_some() { None } else { profile.structure(source) };
        let events: u64 = missing.iter().map(|(_, line)| line.event_count).sum();
        if (missing.is_empty() && structure.is_none()) || events.saturating_mul(LEAST) > cache.max_bytes {
            return Ok(0);
        }
        let number = fs::read_dir(&self.folder)?.count();
        let path = self.folder.join(format!("{number:04}-{:x}.{ENDING}", std::process::id()));
        let written = atomic_write::write(&path, |out| {
            let mut writer = Writer::new(out)?;
            writer.section(SectionName::new(SectionKind::Key), self.key.as_bytes())?;
            writer.section(SectionName::new(SectionKind::Digests), &digest.to_le_bytes())?;
            if let Some(structure) = structure {
                writer.section(SectionName::new(SectionKind::Structure), &structure)?;
            }
            for (number, line) in missing {
                if !go_on() {
                    break;
                }
                put(&mut writer, number, profile, line)?;
            }
            // What was read from a file that changed meanwhile is not what the key says.
            profile.unchanged().map_err(io::Error::other)?;
            writer.finish().map(drop)
        })?;
        self.open_files();
        Ok(written)
    }
}

/// Bytes that an event takes at least.
const LEAST: u64 = 8;

/// Writes the columns of a line, which the profile has or which are decoded for this.
fn put<W: Write>(writer: &mut Writer<W>, number: u32, profile: &Profile, line: &Line) -> io::Result<()> {
    let decoded;
    let events = match line.loaded() {
        Some(events) => events,
        None => {
            decoded = profile.decode_events(line);
            &decoded
        }
    };
    let parts = events.parts();
    writer.section(SectionName { kind: SectionKind::Line, line: number, part: 0 }, &parts.head)?;
    for (part, column) in (1..).zip(&parts.columns) {
        writer.section(SectionName { kind: SectionKind::Line, line: number, part }, column)?;
    }
    Ok(())
}

impl ColumnStore for FileIndex {
    fn get(&self, line: usize) -> Option<StoredColumns> {
        let number = u32::try_from(line).ok()?;
        let mut columns = self.first(|file| file.line(number))?;
        (!columns.is_empty()).then(|| StoredColumns { head: columns.remove(0), columns })
    }

    /// Columns are written when an answer has been given, all together.
    fn wants(&self, _: usize, _: u64) -> bool {
        false
    }

    fn put(&self, _: usize, _: &[u8], _: &[&[u8]]) -> Option<StoredColumns> {
        None
    }

    fn changed(&self) -> Option<(PathBuf, String)> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let found = files.iter().find_map(|file| Some((file.path.clone(), file.map.content_changed()?)));
        found.or_else(|| self.lost.get().cloned())
    }

    fn drop_pages(&self, line: usize) {
        let Ok(number) = u32::try_from(line) else { return };
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        for file in files.iter() {
            if let Some(range) = file.sections.line_range(number) {
                file.map.drop_pages(range);
            }
        }
    }
}
