//! Whether a file is whole, or somebody is still writing it.
//!
//! A profiler writes its file under the final name, and a copy over a network takes minutes. What was changed a moment ago is
//! waited for; what was changed lately, and looks as if more came, is waited for longer. Then it is read as it is: a profiler
//! that was killed leaves half a file for good.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use crate::listing::{Listed, Stamp};
use crate::{Error, lock};

/// Nothing is read that changed less than this long ago.
const QUIET: Duration = Duration::from_secs(2);
/// A file that grew, and lacks what most profilers write last, is waited for this long after its last change.
const DOUBT: Duration = Duration::from_secs(10);
/// One that ends in the middle is waited for this long.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The plane that a JAX profile has when it is complete.
const LAST_PLANE: &[u8] = b"Task Environment";
/// The first bytes of a plane that are looked at for its name.
const HEAD: usize = 64;
/// More fields than this has no profile at its top.
const FIELDS: usize = 1 << 20;

/// What was seen of files that changed lately. Times of files may come from another machine's clock, ahead of ours; how long a
/// file has stayed the same is also measured here.
#[derive(Debug, Default)]
pub(crate) struct WriteDetector(Mutex<Vec<Seen>>);

#[derive(Debug)]
struct Seen {
    path: PathBuf,
    stamp: Stamp,
    since: Instant,
    grew: bool,
}

impl WriteDetector {
    /// The first file of a run that is still being written.
    pub(crate) fn unfinished<'l>(&self, listed: &'l Listed) -> Option<(&'l Path, &'l Stamp)> {
        listed.stamped().find(|(path, stamp)| !self.is_settled(path, stamp, SystemTime::now()))
    }

    /// Refuses a run of which a file is still being written.
    pub(crate) fn check(&self, listed: &Listed) -> Result<(), Error> {
        match self.unfinished(listed) {
            None => Ok(()),
            Some((path, stamp)) => Err(Error::StillWritten { path: path.to_owned(), bytes: stamp.bytes() }),
        }
    }

    fn is_settled(&self, path: &Path, stamp: &Stamp, now: SystemTime) -> bool {
        let age = now.duration_since(stamp.modified()).unwrap_or_default();
        if age >= LONGEST_WAIT {
            return true;
        }
        let (same_for, grew) = self.see(path, stamp);
        let quiet = age.max(same_for);
        if quiet < QUIET {
            return false;
        }
        quiet >= LONGEST_WAIT
            || match Shape::of_file(path) {
                Shape::Cut => false,
                Shape::Whole { has_last_plane } => has_last_plane || !grew || quiet >= DOUBT,
                Shape::Other => true,
            }
    }

    /// How long a file has been seen as it is, and whether it was seen shorter before.
    fn see(&self, path: &Path, stamp: &Stamp) -> (Duration, bool) {
        let mut all = lock(&self.0);
        all.retain(|seen| seen.path == path || seen.since.elapsed() < 2 * LONGEST_WAIT);
        let Some(seen) = all.iter_mut().find(|seen| seen.path == path) else {
            let (path, stamp) = (path.to_owned(), stamp.clone());
            all.push(Seen { path, stamp, since: Instant::now(), grew: false });
            return (Duration::ZERO, false);
        };
        if seen.stamp != *stamp {
            seen.grew |= seen.stamp.bytes() < stamp.bytes();
            (seen.stamp, seen.since) = (stamp.clone(), Instant::now());
        }
        (seen.since.elapsed(), seen.grew)
    }
}

/// What a file looks like from its outermost fields, of which only a few bytes each are read.
#[derive(Debug, PartialEq, Eq)]
enum Shape {
    /// It ends where a plane ends.
    Whole { has_last_plane: bool },
    /// It ends in the middle of a plane.
    Cut,
    /// It is no profile, is packed, or cannot be read: nobody can tell.
    Other,
}

impl Shape {
    fn of_file(path: &Path) -> Self {
        if !path.to_string_lossy().ends_with(".xplane.pb") {
            return Self::Other;
        }
        let Ok(mut file) = File::open(path) else { return Self::Other };
        let Ok(length) = file.metadata().map(|meta| meta.len()) else { return Self::Other };
        Self::read(&mut file, length).unwrap_or(Self::Other)
    }

    fn read(file: &mut (impl Read + Seek), length: u64) -> std::io::Result<Self> {
        let (mut at, mut has_last_plane) = (0, false);
        for _ in 0..FIELDS {
            if at == length && length > 0 {
                return Ok(Self::Whole { has_last_plane });
            }
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::with_capacity(HEAD);
            file.by_ref().take(HEAD as u64).read_to_end(&mut bytes)?;
            let mut head = &bytes[..];
            // A file of 0 bytes, or one that ends within a key, has more to come.
            let Some(key) = varint(&mut head) else { return Ok(Self::Cut) };
            // All fields of an XSpace at its top are texts and messages.
            if key & 7 != 2 || key > 0xff {
                return Ok(Self::Other);
            }
            let Some(size) = varint(&mut head) else { return Ok(Self::Cut) };
            has_last_plane |= key >> 3 == 1 && plane_name(head) == Some(LAST_PLANE);
            at = at.saturating_add((bytes.len() - head.len()) as u64).saturating_add(size);
            if at > length {
                return Ok(Self::Cut);
            }
        }
        Ok(Self::Other)
    }
}

/// The name at the start of a plane: behind its id, if it has one.
fn plane_name(mut head: &[u8]) -> Option<&[u8]> {
    let mut key = varint(&mut head)?;
    if key == 1 << 3 {
        varint(&mut head)?;
        key = varint(&mut head)?;
    }
    let size = (key == (2 << 3 | 2)).then(|| varint(&mut head)).flatten()?;
    head.get(..usize::try_from(size).ok()?)
}

/// A number as protobufs write it, at most ten bytes.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for i in 0..10 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * i);
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
