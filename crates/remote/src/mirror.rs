//! The mirror: where brought files lie here, and which ranges of each are there.
//!
//! `remote/<hash>/plugins/profile/<session>/<file>`, where the hash is of the address and of every file's etag and size: what
//! was changed elsewhere is another folder here. A file that is not whole yet is called `<file>.part`. Beside stands
//! `ranges/<file>.ranges`: the sum of each range that is there, so that a reading that broke off goes on where it was.
//!
//! Nothing is synchronised to the disk, which would cost more than it is worth: instead the sums are looked at anew after the
//! machine was started again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::{Error, Object, Session};

/// The folder of the cache with what was brought.
pub const FOLDER: &str = "remote";
/// The file in each mirror that names its address in its first line. It is written anew each time that the run is asked for.
pub const ABOUT: &str = "about";
/// How many bytes are asked for at once, at least and at most.
const RANGES: [u64; 2] = [1 << 20, 8 << 20];
/// How long is waited for a lock that somebody keeps though files are missing, as when they were removed by hand, and how often
/// is looked meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

/// The folder of one session's files, locked against eviction until the process ends.
#[derive(Debug)]
pub(crate) struct Mirror {
    folder: PathBuf,
    /// Held while files are written.
    lock: Option<File>,
}

/// Files that are made are this user's alone: profiles are nobody else's business.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes a text in place of what is there.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    private().write(true).create(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// The folders that are in use, each with its lock, until the process ends or [`release`] is called: what is in use is not evicted.
static HELD: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

impl Mirror {
    /// Takes the session's folder, waiting while another brings the same.
    pub(crate) fn open(session: &Session) -> Result<Self, Error> {
        let root = root()?;
        make(&root).map_err(|error| Error::local(&root, &error))?;
        let folder = root.join(key(session));
        let path = folder.with_extension("lock");
        let lock = private().write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(|error| Error::local(&path, &error))?;
        let mirror = Self { folder, lock: None };
        let lock = mirror.wait(lock, session);
        make(&mirror.folder).map_err(|error| Error::local(&mirror.folder, &error))?;
        let about = mirror.folder.join(ABOUT);
        write_private(&about, &format!("{}\n", session.at)).map_err(|error| Error::local(&about, &error))?;
        Ok(Self { lock, ..mirror })
    }

    /// The lock: shared where all files are here, so that any number of processes use them, else for us alone. Where there are no
    /// locks, or somebody keeps one though files are missing, two processes may bring the same at once; each range is written
    /// whole all the same.
    fn wait(&self, lock: File, session: &Session) -> Option<File> {
        let begun = Instant::now();
        loop {
            lock.lock_shared().ok()?;
            if self.is_whole(session) {
                return Some(lock);
            }
            lock.unlock().ok()?;
            match lock.try_lock() {
                Ok(()) => return Some(lock),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(LOOK),
                Err(_) => return None,
            }
        }
    }

    /// Whether all files of the session are here.
    fn is_whole(&self, session: &Session) -> bool {
        session.objects.iter().all(|object| {
            let (path, map) = self.places(session, object);
            is_whole(&path, &fs::read_to_string(map).unwrap_or_default(), object.size)
        })
    }

    /// Lets others read, and keeps the folder from being evicted until the process ends, or until it is [released](release).
    pub(crate) fn hold_shared(self) {
        let Some(lock) = self.lock else { return };
        // Nobody can come between for long: who evicts takes the lock for a moment and finds it used just now.
        let shared = lock.unlock().and_then(|()| lock.lock_shared());
        if shared.is_ok() {
            HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((self.folder, lock));
        }
    }

    /// The folder of the session's files: in the usual layout, or, of a single file, the mirror's own.
    pub(crate) fn session_folder(&self, session: &Session) -> PathBuf {
        if session.objects.iter().any(|object| object.path.is_empty()) {
            return self.folder.join("file");
        }
        self.folder.join("plugins/profile").join(safe(session.at.name()))
    }

    /// Opens what there is of a file.
    pub(crate) fn part(&self, session: &Session, object: &Object) -> Result<PartialFile, Error> {
        let (path, map) = self.places(session, object);
        for folder in [&path, &map].into_iter().filter_map(|path| path.parent()) {
            make(folder).map_err(|error| Error::local(folder, &error))?;
        }
        PartialFile::open(path.clone(), &map, object.size).map_err(|error| Error::local(&path, &error))
    }

    /// Where a file lies, and where it is noted which of its ranges are there.
    fn places(&self, session: &Session, object: &Object) -> (PathBuf, PathBuf) {
        let name = if object.path.is_empty() { session.at.name() } else { &object.path };
        let name = safe(&crate::address::decoded(name));
        let map = self.folder.join("ranges").join(format!("{name}.ranges"));
        (self.session_folder(session).join(name), map)
    }
}

/// Where mirrors lie: in the cache; if that is off, in a folder of this process.
fn root() -> Result<PathBuf, Error> {
    let cache = haloscope_cache_folder::cache_folder()
        .map_err(|error| Error::local(Path::new(haloscope_cache_folder::FOLDER_VARIABLE), &error))?;
    let Some(folder) = cache else { return Ok(process_folder()) };
    Ok(folder.join(FOLDER))
}

/// The folder of this process, for where nothing is to be kept.
fn process_folder() -> PathBuf {
    std::env::temp_dir().join(format!("haloscope-remote-{}", process::id()))
}

/// Removes what this process brought for itself alone, the cache being off. To be called at its end.
pub fn leave() {
    let folder = process_folder();
    if folder.is_dir() {
        HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
        // What cannot be removed is the system's to clean up, as all temporary files.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Says that what a [`Downloaded`](crate::Downloaded) brought is not read any more: it may be evicted, unless somebody else reads it. Of
/// what this process brought for itself alone, the cache being off, nothing is left then. To be called once for each `Downloaded`.
pub fn release(folder: &Path) {
    let mut held = HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(at) = held.iter().position(|(own, _)| folder.starts_with(own)) else { return };
    let (own, lock) = held.swap_remove(at);
    // Whoever else reads it has the lock too, and whoever is about to finds it missing and brings it anew.
    if own.starts_with(process_folder()) && lock.unlock().is_ok() && lock.try_lock().is_ok() {
        let _ = fs::remove_dir_all(own);
    }
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// What a session's folder is called: another name for another state of any of its files.
fn key(session: &Session) -> String {
    let mut text = session.at.to_string();
    for object in &session.objects {
        let time = object.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // Times of stores differ between the listing and the object; where there is an etag, it alone tells.
        let state = object.etag.clone().unwrap_or_else(|| time.as_nanos().to_string());
        text.push_str(&format!("\n{}\t{}\t{state}", object.path, object.size));
    }
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// A name that is one part of a path on every system.
fn safe(name: &str) -> String {
    let kept: String =
        name.chars().map(|c| if c.is_control() || "/\\:*?\"<>|".contains(c) { '_' } else { c }).collect();
    if kept.trim_matches('.').is_empty() { "_".to_owned() } else { kept }
}

/// A file that is being brought, or was.
#[derive(Debug)]
pub(crate) struct PartialFile {
    /// Where it lies when it is whole.
    pub(crate) path: PathBuf,
    file: Option<File>,
    map: Option<Mutex<File>>,
    pub(crate) size: u64,
    /// The numbers of the ranges that are not there yet.
    pub(crate) missing: Vec<u64>,
    left: AtomicU64,
}

/// Where a file is until it is whole.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

impl PartialFile {
    fn open(path: PathBuf, map: &Path, size: u64) -> io::Result<Self> {
        let count = size.div_ceil(range_of(size));
        let boot = boot();
        let text = fs::read_to_string(map).unwrap_or_default();
        let mut lines = text.lines();
        let head = head(size);
        let known = lines.next().and_then(|line| line.strip_prefix(&head));
        let same_boot = known.is_some_and(|known| known == boot && known != "-");
        let partial = partial(&path);
        if is_whole(&path, &text, size) {
            return Ok(Self::whole(path, size));
        }
        if has_size(&path, size) {
            fs::rename(&path, &partial)?;
        }
        let file = private().read(true).write(true).create(true).truncate(false).open(&partial)?;
        let mut there = std::collections::BTreeMap::new();
        if known.is_some() && file.metadata()?.len() == size {
            for line in lines {
                let read = line.split_once(' ').and_then(|(number, sum)| {
                    Some((number.parse::<u64>().ok()?, u64::from_str_radix(sum, 16).ok()?))
                });
                let Some((number, sum)) = read.filter(|(number, _)| *number < count) else { continue };
                if same_boot || sum_of(&file, number, size)? == sum {
                    there.insert(number, sum);
                }
            }
        }
        file.set_len(size)?;
        let mut text = format!("{head}{boot}\n");
        for (number, sum) in &there {
            text.push_str(&format!("{number} {sum:016x}\n"));
        }
        write_private(map, &text)?;
        let map = OpenOptions::new().append(true).open(map)?;
        let missing: Vec<u64> = (0..count).filter(|number| !there.contains_key(number)).collect();
        let left = AtomicU64::new(missing.len() as u64);
        let part = Self { path, file: Some(file), map: Some(Mutex::new(map)), size, missing, left };
        if part.missing.is_empty() {
            part.finish()?;
        }
        Ok(part)
    }

    fn whole(path: PathBuf, size: u64) -> Self {
        Self { path, file: None, map: None, size, missing: Vec::new(), left: AtomicU64::new(0) }
    }

    /// Where a range begins and ends.
    pub(crate) fn range(&self, number: u64) -> (u64, u64) {
        bounds(number, self.size)
    }

    /// Writes bytes at their place.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        write_at(file, at, bytes)
    }

    /// Notes that a range is there, and gives the file its name if it was the last.
    pub(crate) fn done(&self, number: u64, sum: u64) -> io::Result<()> {
        if let Some(map) = &self.map {
            let mut map = map.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            map.write_all(format!("{number} {sum:016x}\n").as_bytes())?;
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.finish()?;
        }
        Ok(())
    }

    fn finish(&self) -> io::Result<()> {
        fs::rename(partial(&self.path), &self.path)
    }
}

/// Whether a file is here and was brought since the machine was started, by what is noted of its ranges.
fn is_whole(path: &Path, ranges: &str, size: u64) -> bool {
    let known = ranges.lines().next().and_then(|line| line.strip_prefix(&head(size)));
    has_size(path, size) && known.is_some_and(|known| known != "-" && known == boot())
}

fn has_size(path: &Path, size: u64) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.len() == size)
}

/// How the notes of a file's ranges begin; what tells the machine's running follows.
fn head(size: u64) -> String {
    format!("ranges of {} in {size}, boot ", range_of(size))
}

/// How large the ranges of a file are: small enough that some of them are whole where a reading breaks off early.
fn range_of(size: u64) -> u64 {
    let [least, most] = RANGES;
    (size / 64).next_multiple_of(least).clamp(least, most)
}

/// Where a range begins and ends.
fn bounds(number: u64, size: u64) -> (u64, u64) {
    let range = range_of(size);
    (number * range, ((number + 1) * range).min(size))
}

/// The sum of a range that lies in a file.
fn sum_of(mut file: &File, number: u64, size: u64) -> io::Result<u64> {
    let (from, to) = bounds(number, size);
    file.seek(SeekFrom::Start(from))?;
    let mut sum = Xxh3::new();
    let mut left = to - from;
    let mut block = vec![0; 1 << 20];
    while left > 0 {
        let some = &mut block[..left.min(1 << 20) as usize];
        file.read_exact(some)?;
        sum.update(some);
        left -= some.len() as u64;
    }
    Ok(sum.digest())
}

#[cfg(unix)]
fn write_at(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_at(file: &File, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        at += written as u64;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// What tells one running of this machine from another; `-` where nobody says.
fn boot() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned());
    told.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;

    fn session() -> Session {
        let object =
            Object { path: "a.xplane.pb".into(), size: 5, etag: None, modified: std::time::UNIX_EPOCH };
        let at = Address::parse("gs://b/run").unwrap();
        Session { name: "run".into(), at, objects: vec![object], modified: std::time::UNIX_EPOCH, bytes: 5 }
    }

    fn lock(folder: &Path) -> File {
        OpenOptions::new().write(true).create(true).truncate(false).open(folder.join("lock")).unwrap()
    }

    #[test]
    fn a_session_that_is_here_is_shared_and_one_that_is_not_is_brought_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Mirror { folder: folder.path().join("mirror"), lock: None };
        let session = session();
        let own = mirror.wait(lock(folder.path()), &session).unwrap();
        assert!(lock(folder.path()).try_lock_shared().is_err(), "it is ours alone while files are missing");
        let part = mirror.part(&session, &session.objects[0]).unwrap();
        part.write(0, b"12345").unwrap();
        part.done(0, 7).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let (mut folders, mut files) = (vec![mirror.folder.clone()], 0);
            while let Some(folder) = folders.pop() {
                for made in fs::read_dir(folder).unwrap().flatten() {
                    let meta = made.metadata().unwrap();
                    let ours = if meta.is_dir() { 0o700 } else { 0o600 };
                    assert_eq!(meta.permissions().mode() & 0o777, ours, "{}", made.path().display());
                    if meta.is_dir() { folders.push(made.path()) } else { files += 1 }
                }
            }
            assert_eq!(files, 2, "the file, and what is noted of its ranges");
        }
        drop(own);
        if boot() == "-" {
            return;
        }
        let begun = Instant::now();
        let first = mirror.wait(lock(folder.path()), &session);
        let second = mirror.wait(lock(folder.path()), &session);
        assert!(first.is_some() && second.is_some() && begun.elapsed() < PATIENCE);
        // Removed by hand while somebody uses it: nobody waits for ever.
        fs::remove_file(part.path).unwrap();
        assert!(mirror.wait(lock(folder.path()), &session).is_none());
    }

    #[test]
    fn what_nobody_reads_any_more_may_be_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("mirror");
        let is_held = || lock(folder.path()).try_lock().is_err();
        for _ in 0..2 {
            let shared = lock(folder.path());
            shared.lock_shared().unwrap();
            Mirror { folder: own.clone(), lock: Some(shared) }.hold_shared();
        }
        release(&own.join("file"));
        assert!(is_held(), "somebody else reads it");
        release(&own.join("file"));
        assert!(!is_held());
        release(&own.join("file"));
        // What lies in the folder of this process is nobody else's, and goes.
        let alone = process_folder().join("mirror-of-a-test");
        make(&alone).unwrap();
        for others in [1, 0] {
            let shared = lock(folder.path());
            shared.lock_shared().unwrap();
            Mirror { folder: alone.clone(), lock: Some(shared) }.hold_shared();
            let reader = lock(folder.path());
            if others > 0 {
                reader.lock_shared().unwrap();
            }
            release(&alone);
            assert_eq!(alone.exists(), others > 0);
        }
        leave();
        assert!(!process_folder().exists());
    }
}
