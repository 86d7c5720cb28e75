//! Riegeli records (`*.xplane.riegeli`), each an XSpace, as one profile.
//!
//! Profilers that write while they measure put pieces of a profile into such a file one after another. They are unpacked and
//! merged into one XSpace, so that everything behind works as on a `.xplane.pb`. Damage costs the chunk in which it is: the
//! others are read, and it is told how many are missing and why.
//!
//! The format: <https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md>.
//!
//! ```
//! use haloscope_riegeli as riegeli;
//!
//! let file = include_bytes!("../vectors/zstd-transposed");
//! assert!(riegeli::has_signature(file));
//! let profile = riegeli::read(file, riegeli::Bounds::default())?;
//! assert_eq!((profile.records, profile.lost), (1, 1));
//! # Ok::<(), riegeli::Error>(())
//! ```

mod chunk;
mod compression;
mod simple;
#[cfg(test)]
mod tests;
mod transposed;
pub mod write;

use std::path::Path;

use chunk::{Chunk, ChunkKind, Chunks};
use haloscope_xspace::{Census, SpaceView, merge};

/// The first bytes of every such file: the hash and the fields of the first block's header.
const SIGNATURE: [u8; 24] =
    [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0];

/// What such files are called.
const ENDING: &str = ".riegeli";

/// How much is made of a file. Its own counts are no bound: it may state any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes that all its chunks may unpack to.
    pub unpacked: u64,
    /// Bytes of memory that the tables of all its records may take.
    pub memory: u64,
}

impl Default for Bounds {
    /// 16 GiB, for files that are trusted.
    fn default() -> Self {
        Self { unpacked: 16 << 30, memory: 16 << 30 }
    }
}

/// The records of one chunk, one behind another.
struct Records {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Records {
    /// Bytes that a record takes beside its own.
    const EACH: u64 = size_of::<usize>() as u64;

    /// Bytes of memory.
    fn takes(&self) -> u64 {
        (self.bytes.len() as u64).saturating_add((self.ends.len() as u64).saturating_mul(Self::EACH))
    }
}

/// Why a chunk cannot be used.
#[derive(Debug, PartialEq, Eq)]
enum Why {
    /// It is not what was written.
    Damage(String),
    /// A part of it unpacks to so many bytes, which is more than is left of the bound.
    TooMuch(u64),
}

impl From<String> for Why {
    fn from(damage: String) -> Self {
        Self::Damage(damage)
    }
}

impl From<&str> for Why {
    fn from(damage: &str) -> Self {
        Self::Damage(damage.to_owned())
    }
}

/// What a file of records holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// The records that were read, merged into one encoded XSpace.
    pub space: Vec<u8>,
    /// How many records were read.
    pub records: u64,
    /// How many chunks and records could not be.
    pub lost: u64,
    /// Why the first of those could not be.
    pub why: Option<String>,
}

/// Why nothing is made of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No record of it can be read.
    #[error(
        "expected Riegeli records, each an XSpace, found: {why}; the profiler may have been killed before it wrote, or the file was \
         cut while it was copied"
    )]
    NoRecord {
        /// Why the first that was lost could not be read.
        why: String,
    },
    /// Its chunks unpack to more than [`Bounds::unpacked`]. What was read until then is no answer: it would be another one with
    /// another bound.
    #[error(
        "expected Riegeli records that unpack to {most} bytes at most, found parts of {needed} bytes beyond"
    )]
    Unpacked {
        /// Bytes that the part takes which is too much.
        needed: u64,
        /// The bound.
        most: u64,
    },
    /// The tables of its records take more memory than [`Bounds::memory`].
    #[error(
        "expected Riegeli records whose tables take {most} bytes of memory at most, found more than {count} {what} in {bytes} bytes"
    )]
    Tables {
        /// What most of the memory goes to.
        what: &'static str,
        /// How many there are, as far as they were counted.
        count: u64,
        /// Bytes of the records that were counted.
        bytes: u64,
        /// The bound.
        most: u64,
    },
}

/// True if a file is called as these are.
#[must_use]
pub fn is_named(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(ENDING)
}

/// True if bytes begin as these files do.
#[must_use]
pub fn has_signature(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE)
}

/// Unpacks the records of a file and merges them.
///
/// # Errors
/// [`Error::NoRecord`] if none can be read; [`Error::Unpacked`] and [`Error::Tables`] for a file beyond the bounds, of which
/// nothing is read: damage costs the chunk in which it is, a bound the whole file.
pub fn read(bytes: &[u8], bounds: Bounds) -> Result<Unpacked, Error> {
    let mut found = Unpacked::default();
    let mut all: Vec<Records> = Vec::new();
    let mut left = bounds.unpacked;
    for chunk in Chunks::new(bytes) {
        match chunk.and_then(|chunk| records(&chunk, left)) {
            Ok(Some(records)) => {
                left = left.saturating_sub(records.takes());
                all.push(records);
            }
            Ok(None) => {}
            Err(Why::TooMuch(needed)) => return Err(Error::Unpacked { needed, most: bounds.unpacked }),
            Err(Why::Damage(why)) => {
                found.lost += 1;
                found.why.get_or_insert(why);
            }
        }
    }
    let mut records: Vec<&[u8]> = Vec::new();
    let (mut memory, mut bytes) = (0_u64, 0_u64);
    for chunk in &all {
        let begins = std::iter::once(0).chain(chunk.ends.iter().copied());
        for (begin, end) in begins.zip(&chunk.ends) {
            let record = chunk.bytes.get(begin..*end).unwrap_or_default();
            let census = Census::of(record, bounds.memory.saturating_sub(memory));
            memory = memory.saturating_add(census.memory()).saturating_add(size_of::<&[u8]>() as u64);
            bytes += record.len() as u64;
            if memory > bounds.memory {
                let (what, count) = census.most();
                return Err(Error::Tables { what, count, bytes, most: bounds.memory });
            }
            if is_space(record) {
                found.records += 1;
                records.push(record);
            } else {
                found.lost += 1;
                found.why.get_or_insert_with(|| "a record is no XSpace".to_owned());
            }
        }
    }
    if records.is_empty() {
        return Err(Error::NoRecord { why: found.why.unwrap_or_else(|| "no record in it".to_owned()) });
    }
    found.space = merge(&records);
    Ok(found)
}

/// Whether a record can be read as an XSpace at all. One of hostnames alone is one, and one without anything too.
fn is_space(record: &[u8]) -> bool {
    let space = SpaceView::parse(record);
    space.faults.count() == 0 || !space.planes.is_empty()
}

/// The records of a chunk, which may unpack to so many bytes; `None` for one that holds none.
fn records(chunk: &Chunk, left: u64) -> Result<Option<Records>, Why> {
    let read = match chunk.kind {
        ChunkKind::Signature | ChunkKind::Metadata | ChunkKind::Padding => return Ok(None),
        ChunkKind::Simple => simple::read,
        ChunkKind::Transposed => transposed::read,
        ChunkKind::Other(kind) => return Err(format!("a chunk of the unknown kind {kind:#04x}").into()),
    };
    if chunk.records == 0 {
        return Ok(None);
    }
    // A record takes a number at least, also where it has no bytes.
    let needed = chunk.decoded.saturating_add(chunk.records.saturating_mul(Records::EACH));
    if needed > left {
        return Err(Why::TooMuch(needed));
    }
    read(chunk, left).map(Some)
}
