//! Writes files of records as Riegeli does, for tests and fuzzing: chunks, and headers of blocks wherever one begins.
//!
//! Records are laid into simple chunks; chunks of any kind may be given as they are.

use haloscope_xspace::write::varint;

use crate::chunk::hash;

/// Bytes between two headers of blocks.
const BLOCK: usize = 1 << 16;
/// Bytes of a block's header.
const HEADER: usize = 24;

/// A file that grows by chunks.
#[derive(Debug, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// A file with its signature alone.
    #[must_use]
    pub fn new() -> Self {
        let mut writer = Self { bytes: Vec::new() };
        writer.chunk(b's', 0, 0, &[]);
        writer
    }

    /// Adds a chunk: the letter of its kind, how many records it holds, the bytes that they unpack to, and its data as it is written.
    pub fn chunk(&mut self, kind: u8, records: u64, decoded: u64, data: &[u8]) {
        let begin = self.bytes.len();
        let mut chunk = Vec::new();
        for field in [data.len() as u64, hash(data), u64::from(kind) | records << 8, decoded] {
            chunk.extend(field.to_le_bytes());
        }
        chunk.splice(0..0, hash(&chunk).to_le_bytes());
        chunk.extend(data);
        // What is left of the chunk behind a place, headers of blocks not counted, tells where it ends.
        let mut end = begin;
        let mut left = chunk.len();
        while left > 0 {
            if end.is_multiple_of(BLOCK) {
                end += HEADER;
            }
            let part = left.min(BLOCK - end % BLOCK);
            (end, left) = (end + part, left - part);
        }
        for byte in chunk {
            let at = self.bytes.len();
            if at.is_multiple_of(BLOCK) {
                let mut header = Vec::new();
                header.extend((at as u64 - begin as u64).to_le_bytes());
                header.extend((end as u64 - at as u64).to_le_bytes());
                self.bytes.extend(hash(&header).to_le_bytes());
                self.bytes.extend(header);
            }
            self.bytes.push(byte);
        }
    }

    /// Adds a simple chunk of these records, uncompressed.
    pub fn records(&mut self, records: &[&[u8]]) {
        self.compressed_records(records, 0, <[u8]>::to_vec);
    }

    /// Adds a simple chunk of these records, each of its parts compressed by `compress`, of which `compression` is the letter.
    pub fn compressed_records(
        &mut self,
        records: &[&[u8]],
        compression: u8,
        compress: impl Fn(&[u8]) -> Vec<u8>,
    ) {
        let mut sizes = Vec::new();
        records.iter().for_each(|record| varint(&mut sizes, record.len() as u64));
        let all = records.concat();
        let part = |bytes: &[u8]| {
            let mut out = Vec::new();
            if compression != 0 {
                varint(&mut out, bytes.len() as u64);
            }
            out.extend(compress(bytes));
            out
        };
        let mut data = vec![compression];
        let sizes = part(&sizes);
        varint(&mut data, sizes.len() as u64);
        data.extend(sizes);
        data.extend(part(&all));
        self.chunk(b'r', records.len() as u64, all.len() as u64, &data);
    }

    /// The file so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The whole file.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
