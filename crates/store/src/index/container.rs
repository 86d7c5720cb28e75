//! The form of every file in the cache: sections, a table of them at the end, and a checksum of each.
//!
//! ```text
//! header   magic, version, order of bytes                       16 bytes
//! sections each aligned to 8 bytes
//! table    kind, line, part, 0, place, length, XXH3             40 bytes a section
//! footer   place of the table, number of sections, length of the file, XXH3 of header, table and these, magic
//! ```
//!
//! A file is written once, from front to back, and never changed. What is wrong with it is found before anything of it is
//! used: the table when it is opened, a section when it is first asked for.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use haloscope_profile::{Segment, Shared};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"HALOKEPT";
/// Changes whenever a reader of the former form would misread the new one.
const VERSION: u32 = 1;
/// As this machine writes it: numbers in columns are in its own order.
const ORDER: u32 = 0x0a0b_0c0d;
const HEADER: usize = 16;
const ENTRY: usize = 40;
const FOOTER: usize = 40;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// What the file is about, in full: file names are only digests of it.
    Key = 1,
    /// Digests of the profile's bytes.
    Digests = 2,
    /// A finished report.
    Report = 3,
    /// The planes, lines and tables of a profile.
    Structure = 4,
    /// The columns of a line: part 0 is the head.
    Line = 5,
    /// An answer as it is sent.
    Body = 6,
    /// What kind of thing an answer that is sent is.
    ContentType = 7,
}

/// Which section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionName {
    pub(super) kind: SectionKind,
    pub(super) line: u32,
    pub(super) part: u32,
}

impl SectionName {
    /// The only section of its kind.
    pub(super) fn new(kind: SectionKind) -> Self {
        Self { kind, line: 0, part: 0 }
    }

    fn to_words(self) -> [u32; 4] {
        [self.kind as u32, self.line, self.part, 0]
    }
}

/// Writes a file of sections.
pub(super) struct Writer<W> {
    out: W,
    at: u64,
    table: Vec<u8>,
    count: u64,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&header())?;
        Ok(Self { out, at: HEADER as u64, table: Vec::new(), count: 0 })
    }

    pub(super) fn section(&mut self, name: SectionName, bytes: &[u8]) -> io::Result<()> {
        for word in name.to_words() {
            self.table.extend(word.to_le_bytes());
        }
        for word in [self.at, bytes.len() as u64, xxh3_64(bytes)] {
            self.table.extend(word.to_le_bytes());
        }
        self.count += 1;
        self.out.write_all(bytes)?;
        let padding = bytes.len().next_multiple_of(8) - bytes.len();
        self.out.write_all(&[0; 8][..padding])?;
        self.at += (bytes.len() + padding) as u64;
        Ok(())
    }

    /// Writes the table; the length of the file in bytes.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let length = self.at + self.table.len() as u64 + FOOTER as u64;
        let places = footer_words([self.at, self.count, length]);
        self.out.write_all(&self.table)?;
        self.out.write_all(&places)?;
        self.out.write_all(&checksum(&header(), &self.table, &places).to_le_bytes())?;
        self.out.write_all(&MAGIC)?;
        self.out.flush()?;
        Ok(length)
    }
}

fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..].copy_from_slice(&ORDER.to_ne_bytes());
    header
}

fn footer_words(words: [u64; 3]) -> [u8; 24] {
    let mut bytes = [0; 24];
    for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn checksum(header: &[u8], table: &[u8], places: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    [header, table, places].iter().for_each(|part| sum.update(part));
    sum.digest()
}

/// A file of sections, whose table is sound.
pub(super) struct File {
    bytes: Shared,
    entries: Vec<Entry>,
}

struct Entry {
    words: [u32; 4],
    range: Range<usize>,
    sum: u64,
    state: AtomicU8,
}

const UNSEEN: u8 = 0;
const SOUND: u8 = 1;
const DAMAGED: u8 = 2;

impl File {
    /// Reads the table; `None` for a file that is not whole, of another version or machine, or damaged.
    pub(super) fn open(bytes: Shared) -> Option<Self> {
        let all: &[u8] = &bytes;
        let front = all.get(..HEADER)?;
        let footer = all.get(all.len().checked_sub(FOOTER).filter(|at| *at >= HEADER)?..)?;
        let (places, rest) = footer.split_at(24);
        let [table_at, count, length] = [0, 8, 16].map(|at| u64_at(places, at));
        if front != header() || rest[8..] != MAGIC || length != all.len() as u64 {
            return None;
        }
        let (table_at, end) = (usize::try_from(table_at).ok()?, all.len() - FOOTER);
        let table = all.get(table_at..end).filter(|_| table_at >= HEADER)?;
        let whole = table.len() % ENTRY == 0 && (table.len() / ENTRY) as u64 == count;
        if !whole || checksum(front, table, places) != u64_at(rest, 0) {
            return None;
        }
        let entries = table.chunks_exact(ENTRY).map(|entry| {
            let small = |at: usize| u64_at(entry, at & !7).to_le_bytes();
            let half = |at: usize| {
                let bytes = small(at);
                let from = at & 7;
                u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]])
            };
            let from = usize::try_from(u64_at(entry, 16)).ok()?;
            let to = from.checked_add(usize::try_from(u64_at(entry, 24)).ok()?)?;
            let inside = from >= HEADER && from % 8 == 0 && to <= table_at;
            inside.then_some(Entry {
                words: [half(0), half(4), half(8), half(12)],
                range: from..to,
                sum: u64_at(entry, 32),
                state: AtomicU8::new(UNSEEN),
            })
        });
        let entries = entries.collect::<Option<Vec<_>>>()?;
        Some(Self { bytes, entries })
    }

    /// A section, checked when it is first asked for; `None` if there is none or it is damaged.
    pub(super) fn section(&self, name: SectionName) -> Option<Segment> {
        self.sound(self.entries.iter().find(|entry| entry.words == name.to_words())?)
    }

    /// All parts of a line, in order; `None` if there are none or one is damaged.
    pub(super) fn line(&self, line: u32) -> Option<Vec<Segment>> {
        let first = SectionName { kind: SectionKind::Line, line, part: 0 }.to_words();
        let from = self.entries.iter().position(|entry| entry.words == first)?;
        let ours = self.entries[from..].iter().take_while(|entry| entry.words[..2] == first[..2]);
        let parts = ours.enumerate().map(|(part, entry)| {
            let in_order = entry.words[2] as usize == part;
            in_order.then(|| self.sound(entry)).flatten()
        });
        parts.collect()
    }

    /// Where the parts of a line lie, from the first byte to the last.
    pub(super) fn line_range(&self, line: u32) -> Option<Range<usize>> {
        let ours = self.entries.iter().filter(|entry| entry.words[..2] == [SectionKind::Line as u32, line]);
        ours.map(|entry| entry.range.clone())
            .reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
    }

    /// The lines that have columns here, ascending.
    pub(super) fn lines(&self) -> Vec<u32> {
        let head = |entry: &&Entry| entry.words[0] == SectionKind::Line as u32 && entry.words[2] == 0;
        let mut lines: Vec<u32> = self.entries.iter().filter(head).map(|entry| entry.words[1]).collect();
        lines.sort_unstable();
        lines
    }

    /// Whether a section was found to be damaged.
    pub(super) fn is_damaged(&self) -> bool {
        self.entries.iter().any(|entry| entry.state.load(Ordering::Relaxed) == DAMAGED)
    }

    fn sound(&self, entry: &Entry) -> Option<Segment> {
        let segment = Segment::new(Shared::clone(&self.bytes), entry.range.clone())?;
        if entry.state.load(Ordering::Relaxed) == UNSEEN {
            // Two threads may both look: they find the same.
            let state = if xxh3_64(&segment) == entry.sum { SOUND } else { DAMAGED };
            entry.state.store(state, Ordering::Relaxed);
        }
        (entry.state.load(Ordering::Relaxed) == SOUND).then_some(segment)
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("sections", &self.entries.len()).finish()
    }
}

/// The number at a place; 0 past the end, which no caller asks for.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(bytes.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out).unwrap();
        writer.section(SectionName::new(SectionKind::Key), b"the key").unwrap();
        for (line, parts) in [(3, 2), (9, 1)] {
            for part in 0..parts {
                writer
                    .section(SectionName { kind: SectionKind::Line, line, part }, &[line as u8; 21])
                    .unwrap();
            }
        }
        let length = writer.finish().unwrap();
        assert_eq!(length, out.len() as u64);
        out
    }

    fn open(bytes: &[u8]) -> Option<File> {
        File::open(Arc::new(bytes.to_vec()))
    }

    /// All that a file gives.
    fn all(file: &File) -> Vec<Option<Vec<u8>>> {
        let key = file.section(SectionName::new(SectionKind::Key)).map(|key| key.to_vec());
        let lines =
            [3, 9].iter().map(|line| Some(file.line(*line)?.iter().flat_map(|part| part.to_vec()).collect()));
        std::iter::once(key).chain(lines).collect()
    }

    #[test]
    fn sections_come_back() {
        let file = open(&sample()).unwrap();
        assert_eq!(file.lines(), [3, 9]);
        assert_eq!(all(&file), [Some(b"the key".to_vec()), Some(vec![3; 42]), Some(vec![9; 21])]);
        assert!(file.line(4).is_none() && file.section(SectionName::new(SectionKind::Report)).is_none());
        assert!(!file.is_damaged());
    }

    #[test]
    fn no_changed_byte_and_no_cut_is_believed() {
        let whole = sample();
        let truth = all(&open(&whole).unwrap());
        for at in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                for (found, wanted) in open(&bytes).iter().flat_map(all).zip(&truth) {
                    // Bytes between sections say nothing; any other change makes what it touches absent.
                    assert!(found.is_none() || found == *wanted, "byte {at}");
                }
            }
            assert!(open(&whole[..at]).is_none(), "cut at {at}");
        }
        let longer = [&whole[..], b"\0"].concat();
        assert!(open(&longer).is_none());
    }

    #[test]
    fn another_version_is_another_file() {
        let mut bytes = sample();
        bytes[8] += 1;
        assert!(open(&bytes).is_none());
    }
}
