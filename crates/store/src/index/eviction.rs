//! How much the cache holds, and what goes first when it holds too much: what was not used for the longest time.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Cache, atomic_write};

/// The file that says how many bytes the cache held when that was last known. Two processes may overwrite each other's
/// words; the count is made anew from time to time.
const SIZE: &str = "size";
/// How long that word is believed.
const BELIEVED: Duration = Duration::from_secs(600);

/// What is evicted as one: an answer, the index of a file, or a run that was brought here.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) used: SystemTime,
    pub(super) is_folder: bool,
    /// It is a run that was brought here from elsewhere.
    pub(super) is_mirror: bool,
}

impl Cache {
    /// Counts what was written, and makes room where it is too much.
    pub(crate) fn wrote(&self, bytes: u64) {
        let path = self.folder.join(SIZE);
        let counted = fs::metadata(&path).and_then(|meta| meta.modified()).ok();
        let is_believed =
            |at: &SystemTime| SystemTime::now().duration_since(*at).is_ok_and(|age| age < BELIEVED);
        let counted = counted.filter(is_believed);
        let known = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let sum = known.filter(|_| counted.is_some()).map(|known| known.saturating_add(bytes));
        let sum = sum.filter(|sum| *sum <= self.max_bytes);
        let total = sum.unwrap_or_else(|| self.make_room());
        let text = format!("{total}\n");
        let written = atomic_write::write(&path, |out| std::io::Write::write_all(out, text.as_bytes()));
        // Adding up is no counting: the word grows old all the same.
        if let (Ok(_), Some(_), Some(counted)) = (written, sum, counted) {
            let _ = fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(counted));
        }
    }

    /// Removes what was not used for the longest time until a tenth of the room is free, if it is too much at all; what is
    /// left, in bytes.
    fn make_room(&self) -> u64 {
        let mut items = self.items();
        let mut total: u64 = items.iter().map(|item| item.bytes).sum();
        if total <= self.max_bytes {
            return total;
        }
        items.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for item in items {
            if total <= self.max_bytes - self.max_bytes / 10 {
                break;
            }
            if self.remove(&item) {
                total -= item.bytes;
            }
        }
        total
    }

    /// Whether the disk has room to spare for the columns of so many events: what nobody asked for must not fill it.
    pub(super) fn has_room_for(&self, events: u64) -> bool {
        /// Bytes of an event that has all columns.
        const EVENT: u64 = 40;
        /// What is left to others in any case.
        const SPARE: u64 = 1 << 30;
        free_bytes(&self.folder).is_none_or(|free| free >= events.saturating_mul(EVENT).saturating_add(SPARE))
    }

    /// Removes an item, unless somebody writes to it just now.
    pub(super) fn remove(&self, item: &Item) -> bool {
        if !item.is_folder {
            return fs::remove_file(&item.path).is_ok();
        }
        let lock = Self::lock_of(&item.path);
        // What is mapped by other processes stays readable to them until they are done.
        let Some(_held) = atomic_write::lock(&lock) else { return false };
        let gone = fs::remove_dir_all(&item.path).is_ok();
        let _ = fs::remove_file(lock);
        gone
    }

    /// Everything that is kept, without what is being written.
    pub(super) fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        let answers = self.answers_folder();
        atomic_write::sweep(&self.folder);
        atomic_write::sweep(&answers);
        for (path, meta) in entries(&answers).filter(|(path, meta)| is_kept(path) && meta.is_file()) {
            items.push(Item {
                path,
                bytes: meta.len(),
                used: used(&meta),
                is_folder: false,
                is_mirror: false,
            });
        }
        for (path, meta) in entries(&self.index_folder()).filter(|(_, meta)| meta.is_dir()) {
            atomic_write::sweep(&path);
            let files: Vec<Metadata> =
                entries(&path).filter(|(path, _)| is_kept(path)).map(|(_, meta)| meta).collect();
            let bytes = files.iter().map(Metadata::len).sum();
            let used = files.iter().map(used).max().unwrap_or_else(|| used(&meta));
            items.push(Item { path, bytes, used, is_folder: true, is_mirror: false });
        }
        for (path, meta) in entries(&self.mirror_folder()).filter(|(_, meta)| meta.is_dir()) {
            // Written anew each time that the run is asked for.
            let used = fs::metadata(path.join(haloscope_remote::ABOUT))
                .map_or_else(|_| used(&meta), |about| used(&about));
            items.push(Item { bytes: bytes_below(&path), path, used, is_folder: true, is_mirror: true });
        }
        items
    }

    /// Removes everything that is kept; how many bytes.
    pub(super) fn remove_all(&self) -> u64 {
        let items = self.items();
        let gone = items.iter().filter(|item| self.remove(item)).map(|item| item.bytes).sum();
        let _ = fs::remove_file(self.folder.join(SIZE));
        gone
    }
}

/// Bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    entries(folder).map(|(path, meta)| if meta.is_dir() { bytes_below(&path) } else { meta.len() }).sum()
}

fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    items.filter_map(|item| Some((item.path(), item.metadata().ok()?)))
}

/// Free bytes of the disk on which a folder lies; `None` where nobody can tell.
#[cfg(target_os = "linux")]
fn free_bytes(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

pub(super) fn is_kept(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == super::ENDING)
}

fn used(meta: &Metadata) -> SystemTime {
    meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}
