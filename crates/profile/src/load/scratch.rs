//! Files without a name, in which columns lie that would not fit into the memory that may be used.
//!
//! They lose their names as soon as they are made, so that the system takes them back when the process ends, however it ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::map::Map;
use crate::{Segment, Shared, StoredColumns};

/// Length of a file; more for columns that need more. What is not written takes no room on disk.
const EXTENT: u64 = if cfg!(test) { 1 << 20 } else { 256 << 20 };
/// What is put begins at such a multiple, so that its pages are its own: no machine has larger ones.
const PAGE: u64 = 64 << 10;
/// Stands at the begin of each file.
const MARK: &[u8] = b"haloscope scratch";
/// Columns begin at such a multiple.
const ALIGNMENT: u64 = 8;

/// The files, the last of which is not full.
#[derive(Debug)]
pub(crate) struct Scratch {
    folders: Vec<PathBuf>,
    /// The first of them that is used: those before it take no file, or no more of one.
    from: AtomicUsize,
    last: Mutex<Option<Extent>>,
    full: AtomicBool,
}

#[derive(Debug)]
struct Extent {
    file: Arc<File>,
    map: Arc<Map>,
    taken: u64,
    /// Which of the folders it lies in.
    folder: usize,
}

/// A part of a file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    file: Arc<File>,
    map: Arc<Map>,
    range: Range<usize>,
    /// Which of the folders it lies in.
    folder: usize,
}

impl Place {
    /// Whether a part of the file could not be read.
    pub(crate) fn is_lost(&self) -> bool {
        self.map.is_cut()
    }

    /// Lets go of the pages that lie wholly in a part of it.
    pub(crate) fn release_part(&self, part: Range<usize>) {
        let at = |place: usize| self.range.start.saturating_add(place).min(self.range.end);
        self.map.drop_pages(at(part.start)..at(part.end));
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> Option<Segment> {
        let bytes: Shared = self.map.clone();
        Segment::new(bytes, self.range.clone())
    }

    /// Lets go of its pages.
    pub(crate) fn release(&self) {
        self.map.drop_pages(self.range.clone());
    }
}

/// A file without a name, and where it lies.
struct Nameless {
    file: File,
    path: PathBuf,
    /// Which of the folders that is.
    folder: usize,
}

/// A file that is being written from its begin to its end. Where its disk takes no more, it goes on in the next folder.
pub(crate) struct Stream<'s> {
    scratch: &'s Scratch,
    at: Nameless,
    written: u64,
}

impl Stream<'_> {
    /// The folder that it lies in.
    pub(crate) fn folder(&self) -> &Path {
        self.at.path.parent().unwrap_or(&self.at.path)
    }

    /// What was written, mapped.
    ///
    /// # Errors
    /// What the system says where it cannot be mapped, or the map does not show what was written.
    pub(crate) fn finish(self) -> io::Result<Place> {
        let map = Map::of(&self.at.file, &self.at.path)?;
        if !map.starts_with(MARK) {
            return Err(io::Error::other("what is written to a scratch file does not show in the map"));
        }
        let range = MARK.len()..map.len();
        Ok(Place { file: Arc::new(self.at.file), map: Arc::new(map), range, folder: self.at.folder })
    }

    /// Goes on in the next folder that takes what was written so far.
    fn move_on(&mut self, mut why: io::Error) -> io::Result<()> {
        let mut full = self.at.folder;
        loop {
            self.scratch.pass(full);
            let Ok(mut next) = self.scratch.file() else { return Err(why) };
            let mut former = &self.at.file;
            former.seek(SeekFrom::Start(0))?;
            match io::copy(&mut former.take(self.written), &mut next.file) {
                Ok(_) => {
                    self.at = next;
                    return Ok(());
                }
                Err(error) => (why, full) = (error, next.folder),
            }
        }
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.at.file.write(bytes) {
                Ok(written) => {
                    self.written += written as u64;
                    return Ok(written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => self.move_on(error)?,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.at.file.flush()
    }
}

impl Scratch {
    /// A file of its own that begins with these bytes; `None` where no folder takes one.
    ///
    /// # Errors
    /// What the system says where they cannot be written to any.
    pub(crate) fn stream(&self, first: &[u8]) -> Result<Option<Stream<'_>>, (PathBuf, io::Error)> {
        let Ok(at) = self.file() else { return Ok(None) };
        let mut stream = Stream { scratch: self, at, written: 0 };
        let written = stream.write_all(MARK).and_then(|()| stream.write_all(first));
        match written {
            Ok(()) => Ok(Some(stream)),
            Err(error) => Err((stream.folder().to_owned(), error)),
        }
    }

    /// Files in the first of these folders that takes one. Nothing is made before it is needed.
    pub(crate) fn below(folders: Vec<PathBuf>) -> Self {
        Self { folders, from: AtomicUsize::new(0), last: Mutex::default(), full: AtomicBool::new(false) }
    }

    /// Whether nothing more can be put here: no folder took a file, or a disk was full.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Writes columns, to the next folder where a disk takes no more; `None` where they could not be written to any, and then no
    /// more are taken.
    pub(crate) fn put(&self, head: &[u8], columns: &[&[u8]]) -> Option<(Place, StoredColumns)> {
        while !self.is_full() {
            match self.write(head, columns) {
                Ok(written) => return Some(written),
                Err(Some(folder)) => self.pass(folder),
                Err(None) => self.full.store(true, Ordering::Relaxed),
            }
        }
        None
    }

    /// Uses no folder up to this one any more.
    fn pass(&self, folder: usize) {
        self.from.fetch_max(folder + 1, Ordering::Relaxed);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|extent| extent.folder <= folder) {
            *last = None;
        }
    }

    /// Writes columns. Where they could not be written the error is the folder that does not take them, or that none does.
    fn write(&self, head: &[u8], columns: &[&[u8]]) -> Result<(Place, StoredColumns), Option<usize>> {
        let parts = || std::iter::once(head).chain(columns.iter().copied());
        let need: u64 = parts().map(|part| (part.len() as u64).next_multiple_of(ALIGNMENT)).sum();
        let place = self.take(need.max(ALIGNMENT))?;
        let folder = Some(place.folder);
        let bytes: Shared = place.map.clone();
        let mut at = place.range.start;
        let mut segments = Vec::with_capacity(columns.len() + 1);
        for part in parts() {
            write_at(&place.file, part, at as u64).map_err(|_| folder)?;
            segments.push(Segment::new(Arc::clone(&bytes), at..at + part.len()).ok_or(folder)?);
            at += part.len().next_multiple_of(ALIGNMENT as usize);
        }
        let columns = segments.split_off(1);
        Ok((place, StoredColumns { head: segments.pop().ok_or(folder)?, columns }))
    }

    /// Room for `need` bytes, at the begin of a page. Only this is done under the lock: writing takes longer.
    fn take(&self, need: u64) -> Result<Place, Option<usize>> {
        let need = need.next_multiple_of(PAGE);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |extent: &Extent| extent.taken.saturating_add(need) <= extent.map.len() as u64;
        if !last.as_ref().is_some_and(fits) {
            let made = self.file().map_err(|_| None)?;
            let folder = made.folder;
            *last = Some(Extent::of(made, (PAGE + need).max(EXTENT)).map_err(|_| Some(folder))?);
        }
        let Some(extent) = last.as_mut() else { return Err(None) };
        let range = extent.taken as usize..(extent.taken + need) as usize;
        extent.taken += need;
        Ok(Place {
            file: Arc::clone(&extent.file),
            map: Arc::clone(&extent.map),
            range,
            folder: extent.folder,
        })
    }

    /// A file in the first folder that takes one.
    fn file(&self) -> io::Result<Nameless> {
        let mut last = io::Error::other("no folder to put it in");
        for (at, folder) in self.folders.iter().enumerate().skip(self.from.load(Ordering::Relaxed)) {
            match nameless(folder) {
                Ok((file, path)) => return Ok(Nameless { file, path, folder: at }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Extent {
    /// A file of so many bytes, of which none is taken.
    fn of(Nameless { file, path, folder }: Nameless, length: u64) -> io::Result<Self> {
        file.set_len(length)?;
        let map = Arc::new(Map::of(&file, &path)?);
        // Columns are read from the map what was written to the file: where it is a copy they must stay on the heap.
        write_at(&file, MARK, 0)?;
        if !map.starts_with(MARK) {
            return Err(io::Error::other("what is written does not show in the map"));
        }
        Ok(Self { file: Arc::new(file), map, taken: PAGE, folder })
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A new file in `folder`, which is made if need be, that has lost its name already.
#[cfg(unix)]
fn nameless(folder: &Path) -> io::Result<(File, PathBuf)> {
    use std::os::unix::fs::OpenOptionsExt;
    static MADE: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(folder)?;
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("scratch-{}-{number}", std::process::id()));
    // One of a process that had this number before and was ended between the two calls below.
    let _ = fs::remove_file(&path);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok((file, path))
}

/// Elsewhere a file that is open keeps its name: columns stay in memory.
#[cfg(not(unix))]
fn nameless(_: &Path) -> io::Result<(File, PathBuf)> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_comes_back_also_after_its_pages_were_let_go_of() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(vec![folder.path().join("new/folder")]);
        let mut kept = Vec::new();
        for size in [0_usize, 1, 7, 4096, 300_000, 3 << 20] {
            let column: Vec<u8> = (0..size).map(|i| (i * 7 + size) as u8).collect();
            let (place, kept_here) = scratch.put(b"head", &[&column, b"abc"]).unwrap();
            kept.push((column, place, kept_here));
        }
        for (column, place, kept) in &kept {
            for _ in 0..2 {
                assert_eq!(&*kept.head, b"head");
                assert_eq!(&*kept.columns[0], &column[..]);
                assert_eq!(&*kept.columns[1], b"abc");
                assert_eq!(kept.columns[1].as_ptr() as usize % 8, 0);
                place.release();
            }
        }
        let left: Vec<_> = fs::read_dir(folder.path().join("new/folder")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn a_folder_that_takes_no_file_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::write(&taken, "a file").unwrap();
        let none = Scratch::below(vec![taken.clone()]);
        assert!(none.put(b"head", &[]).is_none() && none.is_full());
        let second = Scratch::below(vec![taken, folder.path().to_owned()]);
        assert!(second.put(b"head", &[]).is_some() && !second.is_full());
    }

    /// A file that can be read, and takes nothing more.
    fn taking_nothing(folder: &Path, holds: &[u8]) -> Nameless {
        let path = folder.join("full");
        fs::write(&path, holds).unwrap();
        Nameless { file: File::open(&path).unwrap(), path, folder: 0 }
    }

    #[test]
    fn what_a_disk_takes_no_more_of_goes_on_in_the_next_folder() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let begun = [MARK, b"begun, "].concat();
        let both = || vec![one.path().to_owned(), two.path().to_owned()];
        let scratch = Scratch::below(both());
        let at = taking_nothing(one.path(), &begun);
        let mut stream = Stream { scratch: &scratch, at, written: begun.len() as u64 };
        stream.write_all(b"and ended").unwrap();
        assert_eq!(stream.folder(), two.path());
        assert_eq!(&*stream.finish().unwrap().bytes().unwrap(), b"begun, and ended");

        // Columns too, and those behind them.
        let scratch = Scratch::below(both());
        let full = taking_nothing(one.path(), &[0; 1 << 20]);
        let map = Arc::new(Map::of(&full.file, &full.path).unwrap());
        *scratch.last.lock().unwrap() =
            Some(Extent { file: Arc::new(full.file), map, taken: PAGE, folder: 0 });
        for _ in 0..2 {
            let (place, kept) = scratch.put(b"head", &[b"column"]).unwrap();
            assert_eq!((place.folder, &*kept.head, &*kept.columns[0]), (1, &b"head"[..], &b"column"[..]));
        }
        assert!(!scratch.is_full());

        // Where none takes it, that is told.
        let scratch = Scratch::below(vec![one.path().to_owned()]);
        let at = taking_nothing(one.path(), &begun);
        let mut stream = Stream { scratch: &scratch, at, written: begun.len() as u64 };
        assert!(stream.write_all(b"and ended").is_err());
        assert_eq!(stream.folder(), one.path());
    }
}
