//! The file as chunks. Headers of blocks stand in it at every multiple of 64 KiB, wherever a chunk may be then.

use highway::{HighwayHash, HighwayHasher, Key};

use super::Why;

const BLOCK: u64 = 1 << 16;
/// Of a block's header.
const HEADER: u64 = 24;
const USABLE: u64 = BLOCK - HEADER;
const CHUNK_HEADER: usize = 40;
/// "Riegeli/", "records\n", twice.
const KEY: Key =
    Key([0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572, 0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572]);

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    Signature,
    Metadata,
    Padding,
    Simple,
    Transposed,
    Other(u8),
}

/// A chunk whose bytes are what was written.
pub(crate) struct Chunk {
    pub(crate) kind: ChunkKind,
    pub(crate) records: u64,
    /// Cursor of all its records.
    pub(crate) decoded: u64,
    pub(crate) data: Vec<u8>,
}

/// The chunks in their order. A damaged one is an error, and the one behind it comes next.
pub(crate) struct Chunks<'a> {
    bytes: &'a [u8],
    at: u64,
}

pub(crate) fn hash(data: &[u8]) -> u64 {
    HighwayHasher::new(KEY).hash64(data)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Where a chunk may begin: not within a block's header, nor right behind one.
fn possible_begin(at: u64) -> u64 {
    match at % BLOCK {
        within @ 1..=HEADER => at.saturating_add(HEADER + 1 - within),
        _ => at,
    }
}

/// The end of so many bytes of a chunk, headers of blocks counted.
fn end_of(begin: u64, length: u64) -> Option<u64> {
    let blocks = length.checked_add((begin.checked_add(USABLE - 1)?) % BLOCK)? / USABLE;
    begin.checked_add(length)?.checked_add(blocks.checked_mul(HEADER)?)
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `length` bytes from `at` on, without headers of blocks; fewer where the file ends.
    fn cut(&self, at: &mut u64, length: u64) -> Vec<u8> {
        let all = self.bytes.len() as u64;
        let mut out = Vec::with_capacity(length.min(all.saturating_sub(*at)) as usize);
        let mut left = length;
        while left > 0 && *at < all {
            if (*at).is_multiple_of(BLOCK) {
                *at += HEADER;
            }
            let end = all.min(*at + left.min(BLOCK - *at % BLOCK));
            let Some(part) = self.bytes.get(*at as usize..end as usize).filter(|part| !part.is_empty())
            else {
                break;
            };
            out.extend_from_slice(part);
            left -= part.len() as u64;
            *at = end;
        }
        out
    }

    /// Behind a header that cannot be trusted: the first chunk that the header of a block behind it names.
    fn recover(&self) -> u64 {
        let mut block = (self.at / BLOCK + 1).saturating_mul(BLOCK);
        while let Some(header) = self.bytes.get(block as usize..).and_then(|rest| rest.get(..HEADER as usize))
        {
            let (previous, next) = (u64_at(header, 8), u64_at(header, 16));
            if u64_at(header, 0) == hash(header.get(8..).unwrap_or_default()) {
                // A chunk that begins with this block, or the one behind the chunk that the block stands in.
                let begin = if previous == 0 { block } else { block.saturating_add(next) };
                if begin > self.at {
                    return begin;
                }
            }
            block += BLOCK;
        }
        u64::MAX
    }

    fn read(&mut self) -> Result<Chunk, Why> {
        let begin = self.at;
        let mut at = begin;
        let header = self.cut(&mut at, CHUNK_HEADER as u64);
        if header.len() < CHUNK_HEADER {
            self.at = u64::MAX;
            return Err(format!("the file ends at byte {} in the header of a chunk", self.bytes.len()).into());
        }
        if u64_at(&header, 0) != hash(header.get(8..).unwrap_or_default()) {
            self.at = self.recover();
            return Err(format!("the header of the chunk at byte {begin} is damaged").into());
        }
        let (length, records) = (u64_at(&header, 8), u64_at(&header, 24) >> 8);
        let end = end_of(begin, length.saturating_add(CHUNK_HEADER as u64))
            .map(|end| end.max(possible_begin(begin.saturating_add(records))));
        let Some(end) = end.filter(|end| *end > begin) else {
            self.at = u64::MAX;
            return Err(
                format!("the chunk at byte {begin} has an impossible length of {length} bytes").into()
            );
        };
        self.at = end;
        let data = self.cut(&mut at, length);
        if (data.len() as u64) < length {
            self.at = u64::MAX;
            return Err(format!(
                "the file ends at byte {}, and the chunk at byte {begin} goes to byte {end}",
                self.bytes.len()
            )
            .into());
        }
        if u64_at(&header, 16) != hash(&data) {
            return Err(format!("the chunk at byte {begin} is damaged").into());
        }
        let kind = match header.get(24) {
            Some(b's') => ChunkKind::Signature,
            Some(b'm') => ChunkKind::Metadata,
            Some(b'p') => ChunkKind::Padding,
            Some(b'r') => ChunkKind::Simple,
            Some(b't') => ChunkKind::Transposed,
            other => ChunkKind::Other(other.copied().unwrap_or(0)),
        };
        Ok(Chunk { kind, records, decoded: u64_at(&header, 32), data })
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk, Why>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.bytes.len() as u64).then(|| self.read())
    }
}
