//! Which file it is: what tells that a file is not the one that was read before.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haloscope_profile::load;
use xxhash_rust::xxh3::Xxh3;

/// Blocks of a file that its digest covers: the first, the last, and others evenly between.
const BLOCKS: u64 = 64;
const BLOCK: u64 = 4096;

/// A file as the system describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Its path without links.
    path: PathBuf,
    pub(super) bytes: u64,
    device: u64,
    inode: u64,
    modified_ns: i128,
    /// When anything of it changed, permissions too: no program can set it. 0 where the system keeps no such time.
    changed_ns: i128,
}

impl Stamp {
    /// The file at a path; `None` if there is no ordinary file.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let meta = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let modified_ns = since_epoch(meta.modified().ok()?);
        let [device, inode] = place(&meta);
        Some(Self { path, bytes: meta.len(), device, inode, modified_ns, changed_ns: changed_ns(&meta) })
    }

    /// Whether the file has been left alone for this long: times of files are too coarse to tell two changes in short
    /// succession apart.
    pub(super) fn is_settled(&self, quiet: Duration) -> bool {
        let last = if self.changed_ns == 0 { self.modified_ns } else { self.changed_ns };
        since_epoch(SystemTime::now()) - last >= quiet.as_nanos() as i128
    }

    /// Whether the system's word is enough to know the file again. It is on file systems of this machine; others may learn
    /// late of changes, and there the bytes are looked at.
    pub(super) fn is_enough(&self) -> bool {
        self.changed_ns != 0 && is_local(&self.path)
    }

    /// A digest of the file's bytes, or of 64 blocks where it is large.
    pub(super) fn digest(&self) -> io::Result<u64> {
        let mut file = File::open(&self.path)?;
        let mut sum = Xxh3::new();
        let mut block = vec![0; BLOCK as usize];
        let last = self.bytes.saturating_sub(BLOCK);
        let all = self.bytes <= BLOCKS * BLOCK;
        let blocks = if all { self.bytes.div_ceil(BLOCK) } else { BLOCKS };
        for number in 0..blocks {
            let at = if all {
                number * BLOCK
            } else {
                (u128::from(last) * u128::from(number) / u128::from(BLOCKS - 1)) as u64
            };
            let room = &mut block[..BLOCK.min(self.bytes - at) as usize];
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(room)?;
            sum.update(room);
        }
        Ok(sum.digest())
    }
}

/// The files of a run as the system described them at one moment; those that are no ordinary files are `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilesSeen(Vec<Option<Stamp>>);

impl FilesSeen {
    pub(crate) fn now(run: &load::Run) -> Self {
        Self(run.files.iter().map(|path| Stamp::read(path)).collect())
    }
}

fn since_epoch(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

#[cfg(unix)]
fn place(meta: &Metadata) -> [u64; 2] {
    use std::os::unix::fs::MetadataExt;
    [meta.dev(), meta.ino()]
}

#[cfg(unix)]
fn changed_ns(meta: &Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt;
    i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec())
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> [u64; 2] {
    [0, 0]
}

#[cfg(not(unix))]
fn changed_ns(_: &Metadata) -> i128 {
    0
}

/// Whether a file lies on a file system that this machine alone writes to, and whose times it sets itself.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    // ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, overlayfs, ZFS, bcachefs: `statfs(2)` lists them.
    const LOCAL: [i64; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xca45_1a4e];
    #[expect(clippy::allow_attributes, reason = "the type of f_type differs between machines")]
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    rustix::fs::statfs(path).is_ok_and(|system| LOCAL.contains(&(system.f_type as i64)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}

/// The shared library that this code is in, as whoever loaded it said.
static LIBRARY: OnceLock<PathBuf> = OnceLock::new();

/// Says which file this code was loaded from, where it is a library that another program loaded. Where the system itself can
/// tell, that is believed and this is not.
pub fn loaded_from(path: &Path) {
    // The first word counts: code is loaded from one file.
    let _ = LIBRARY.set(path.to_owned());
}

/// The very code that asks: its version, and the file that it was loaded from as the system describes it. `None` where nobody
/// can tell, and then nothing is kept.
pub(super) fn program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let stamp = || {
        let meta = own_file()?;
        let [device, inode] = place(&meta);
        let modified_ns = since_epoch(meta.modified().ok()?);
        let version = env!("CARGO_PKG_VERSION");
        Some(format!("{version} {device:x}:{inode} {} {modified_ns}", meta.len()))
    };
    PROGRAM.get_or_init(stamp).as_deref()
}

/// The file that this function was loaded from: the program, or the library that a program such as Python has loaded.
fn own_file() -> Option<Metadata> {
    let here = own_file as fn() -> Option<Metadata> as usize as u64;
    match fs::read("/proc/self/maps") {
        Ok(maps) => Mapped::at(&String::from_utf8_lossy(&maps), here)?.file(),
        Err(_) => {
            fs::metadata(LIBRARY.get().map_or_else(std::env::current_exe, |own| Ok(own.clone())).ok()?).ok()
        }
    }
}

/// A file that is mapped where an address is.
#[derive(Debug, PartialEq, Eq)]
struct Mapped<'a> {
    inode: u64,
    path: &'a str,
}

impl<'a> Mapped<'a> {
    /// The file at an address, by the text of `/proc/self/maps`: `FROM-TO RIGHTS OFFSET DEVICE INODE PATH` a line (`proc(5)`).
    fn at(maps: &'a str, address: u64) -> Option<Self> {
        maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (from, to) = range.split_once('-')?;
            let range = u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?;
            if !range.contains(&address) {
                return None;
            }
            let (_device, rest) = rest.splitn(3, ' ').nth(2)?.split_once(' ')?;
            let (inode, path) = rest.split_once(' ')?;
            Some(Self { inode: inode.parse().ok()?, path: path.trim_start() })
        })
    }

    /// The file as the system describes it; `None` where another was put in its place meanwhile.
    fn file(&self) -> Option<Metadata> {
        // The link leads to the running program even after another was put in its place.
        let program = Path::new("/proc/self/exe");
        if fs::read_link(program).is_ok_and(|own| own.to_string_lossy() == self.path) {
            return fs::metadata(program).ok();
        }
        // The device is not compared: some file systems say one here and another there.
        fs::metadata(self.path).ok().filter(|meta| place(meta)[1] == self.inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_modified(path: &Path, time: SystemTime) {
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn a_file_that_was_written_again_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, vec![7; 1_000_000]).unwrap();
        let before = Stamp::read(&path).unwrap();
        assert_eq!(before, Stamp::read(&path).unwrap());
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let sum = before.digest().unwrap();
        assert_eq!(sum, before.digest().unwrap());
        // One byte of the middle block of the digest, with the former time put back.
        std::thread::sleep(Duration::from_millis(20));
        let mut bytes = vec![7; 1_000_000];
        bytes[(1_000_000 - 4096) * 20 / 63 + 5] = 8;
        fs::write(&path, &bytes).unwrap();
        set_modified(&path, time);
        let after = Stamp::read(&path).unwrap();
        assert_eq!(before.modified_ns, after.modified_ns);
        assert_ne!(sum, after.digest().unwrap());
        #[cfg(unix)]
        assert_ne!(before, after);
        // The same bytes in another file under the same name.
        let other = folder.path().join("b");
        fs::write(&other, &bytes).unwrap();
        set_modified(&other, time);
        fs::rename(&other, &path).unwrap();
        assert_ne!(after, Stamp::read(&path).unwrap());
        assert_eq!(after.digest().unwrap(), Stamp::read(&path).unwrap().digest().unwrap());
    }

    #[test]
    fn the_code_that_asks_is_known_by_the_file_it_was_loaded_from() {
        // A test is no library: its code is in its own program.
        let own = fs::metadata(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(own_file().map(|meta| meta.len()), Some(own.len()));
        assert!(program().unwrap().contains(&format!(" {} ", own.len())));
        let folder = tempfile::tempdir().unwrap();
        let [library, other] = ["lib rary.so", "other.so"].map(|name| folder.path().join(name));
        fs::write(&library, b"code").unwrap();
        let inode = place(&fs::metadata(&library).unwrap())[1];
        let maps = format!(
            "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/python3\n\
             7f0000000000-7f0000002000 r--p 00000000 08:02 {inode} {}\n\
             7f0000002000-7f0000009000 r-xp 00002000 08:02 {inode}                     {}\n\
             7f0000009000-7f000000a000 rw-p 00000000 00:00 0 \n",
            library.display(),
            library.display(),
        );
        assert_eq!(Mapped::at(&maps, 0x40_0000).unwrap().path, "/usr/bin/python3");
        assert_eq!(Mapped::at(&maps, 0x45_2000), None);
        let found = Mapped::at(&maps, 0x7f00_0000_8fff).unwrap();
        assert_eq!((found.inode, Path::new(found.path)), (inode, library.as_path()));
        #[cfg(unix)]
        {
            assert_eq!(found.file().unwrap().len(), 4);
            // Another file under the name is not the one that was loaded, and memory without a file is none.
            fs::write(&other, b"other").unwrap();
            fs::rename(&other, &library).unwrap();
            assert!(found.file().is_none());
            assert!(Mapped::at(&maps, 0x7f00_0000_9000).unwrap().file().is_none());
        }
    }

    #[test]
    fn all_bytes_of_a_small_file_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut sums = vec![];
        for at in [0, 1, 4095, 4096, 9999] {
            let mut bytes = vec![0_u8; 10_000];
            bytes[at] = 1;
            fs::write(&path, &bytes).unwrap();
            sums.push(Stamp::read(&path).unwrap().digest().unwrap());
        }
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 5);
        fs::write(&path, b"").unwrap();
        Stamp::read(&path).unwrap().digest().unwrap();
    }

    #[test]
    fn what_was_just_written_has_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"x").unwrap();
        let stamp = Stamp::read(&path).unwrap();
        assert!(stamp.is_settled(Duration::ZERO));
        assert!(!stamp.is_settled(Duration::from_secs(60)));
        assert!(Stamp::read(folder.path()).is_none() && Stamp::read(&folder.path().join("no")).is_none());
    }
}
