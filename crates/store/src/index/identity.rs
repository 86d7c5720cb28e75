//! Which file it is: what tells that a file is not the one that was read before.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// This very program: its version, and its executable as the system describes it. `None` where nobody can tell, and then
/// nothing is kept.
pub(super) fn program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let stamp = || {
        // The link leads to the running file even after another was put in its place.
        let own = Path::new("/proc/self/exe");
        let meta = fs::metadata(own).or_else(|_| fs::metadata(std::env::current_exe()?)).ok()?;
        let [device, inode] = place(&meta);
        let modified_ns = since_epoch(meta.modified().ok()?);
        let version = env!("CARGO_PKG_VERSION");
        Some(format!("{version} {device:x}:{inode} {} {modified_ns}", meta.len()))
    };
    PROGRAM.get_or_init(stamp).as_deref()
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
