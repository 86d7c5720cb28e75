//! Riegeli records (`*.xplane.riegeli`), each an XSpace, as one profile.
//!
//! Profilers that write while they measure put pieces of a profile into such a file one after another. They are unpacked and
//! merged into one XSpace, so that everything behind works as on a `.xplane.pb`. Damage costs the chunk in which it is: the
//! others are read, and a remark says what is missing.
//!
//! The format: <https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md>.

mod blocks;
mod packed;
mod simple;
#[cfg(test)]
mod tests;
mod transposed;

use std::path::Path;

use haloscope_xspace::{SpaceView, merge};

use crate::Pieces;
use blocks::{Chunk, Chunks, Kind};
use haloscope_report::Error;

/// The first bytes of every such file: the hash and the fields of the first block's header.
const SIGNATURE: [u8; 24] =
    [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0];

/// What such files are called.
const ENDING: &str = ".riegeli";

/// Unpacked bytes that are read at most.
const LARGEST: u64 = 16 << 30;

/// The records of one chunk, one behind another.
struct Records {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

/// Why a chunk cannot be used.
type Bad = String;

/// True if a file is called as these are.
pub(super) fn is_named(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(ENDING)
}

/// True if bytes begin as these files do.
pub(super) fn is_meant(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE)
}

/// Unpacks and merges the records of a file; `path` is for errors.
///
/// # Errors
/// [`Error::Input`] if no record can be read, or they are larger than what is read at most.
pub(super) fn convert(path: &Path, bytes: &[u8]) -> Result<(Vec<u8>, Pieces), Error> {
    let mut found = Pieces::default();
    let mut all: Vec<Records> = Vec::new();
    let mut left = LARGEST;
    for chunk in Chunks::new(bytes) {
        match chunk.and_then(|chunk| records(&chunk, left)) {
            Ok(Some(records)) => {
                left = left.saturating_sub(records.bytes.len() as u64);
                all.push(records);
            }
            Ok(None) => {}
            Err(why) => {
                found.lost += 1;
                found.why.get_or_insert(why);
            }
        }
    }
    let mut records: Vec<&[u8]> = Vec::new();
    for chunk in &all {
        let begins = std::iter::once(0).chain(chunk.ends.iter().copied());
        for (begin, end) in begins.zip(&chunk.ends) {
            let record = chunk.bytes.get(begin..*end).unwrap_or_default();
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
        let why = found.why.unwrap_or_else(|| "no record in it".to_owned());
        let message = format!(
            "expected Riegeli records, each an XSpace, found: {why}; the profiler may have been killed before it wrote, or the \
             file was cut while it was copied"
        );
        return Err(Error::Input { path: path.to_owned(), message });
    }
    Ok((merge(&records), found))
}

/// Whether a record can be read as an XSpace at all. One of hostnames alone is one, and one without anything too.
fn is_space(record: &[u8]) -> bool {
    let space = SpaceView::parse(record);
    space.faults.count() == 0 || !space.planes.is_empty()
}

/// The records of a chunk; `None` for one that holds none.
fn records(chunk: &Chunk, largest: u64) -> Result<Option<Records>, Bad> {
    let read = match chunk.kind {
        Kind::Signature | Kind::Metadata | Kind::Padding => return Ok(None),
        Kind::Simple => simple::read,
        Kind::Transposed => transposed::read,
        Kind::Other(kind) => return Err(format!("a chunk of the unknown kind {kind:#04x}")),
    };
    if chunk.records == 0 {
        return Ok(None);
    }
    if chunk.decoded > largest {
        return Err(format!("records of {} bytes, and no more than {LARGEST} are read", chunk.decoded));
    }
    read(chunk).map(Some)
}
