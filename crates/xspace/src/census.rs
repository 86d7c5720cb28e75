//! What the structure of a file takes in memory, counted before anything is made of it.
//!
//! An empty line is two bytes in a file and hundreds in memory. So a file is not read because it is short: what it holds is
//! counted first, in a walk that keeps nothing, and held against what its reader may take.

use crate::wire::{Fields, Value};

/// How much of everything a file holds that is kept for as long as it is open. Events are not counted: they are read later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Planes.
    pub planes: u64,
    /// Lines of all planes.
    pub lines: u64,
    /// Entries of event metadata.
    pub events_metadata: u64,
    /// Entries of stat metadata.
    pub stats_metadata: u64,
    /// Stats of planes.
    pub stats: u64,
    /// Errors, warnings and hostnames.
    pub texts: u64,
}

impl Census {
    /// What one of each takes in memory at most, bytes: what is borrowed from the file while it is read, and what is made of it.
    const PLANE: u64 = 1024;
    const LINE: u64 = 640;
    const EVENT_METADATA: u64 = 256;
    const STAT_METADATA: u64 = 256;
    const STAT: u64 = 192;
    const TEXT: u64 = 96;

    /// Counts what `bytes`, a serialised `XSpace`, hold: to their end, or until it takes more than `most` bytes of memory.
    #[must_use]
    pub fn of(bytes: &[u8], most: u64) -> Self {
        let mut census = Self::default();
        for field in Fields::new(bytes, 0) {
            match (field.number, field.value) {
                (1, Value::Bytes(plane)) => {
                    census.planes += 1;
                    census.plane(plane, most);
                }
                (2..=4, _) => census.texts += 1,
                _ => {}
            }
            if census.memory() > most {
                break;
            }
        }
        census
    }

    fn plane(&mut self, plane: &[u8], most: u64) {
        /// So many between two looks at the sum.
        const OFTEN: u64 = 1 << 10;
        for (at, field) in (1_u64..).zip(Fields::new(plane, 0)) {
            match field.number {
                3 => self.lines += 1,
                4 => self.events_metadata += 1,
                5 => self.stats_metadata += 1,
                6 => self.stats += 1,
                _ => {}
            }
            if at.is_multiple_of(OFTEN) && self.memory() > most {
                break;
            }
        }
    }

    /// What all of it takes in memory at most, bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let parts = [
            (self.planes, Self::PLANE),
            (self.lines, Self::LINE),
            (self.events_metadata, Self::EVENT_METADATA),
            (self.stats_metadata, Self::STAT_METADATA),
            (self.stats, Self::STAT),
            (self.texts, Self::TEXT),
        ];
        parts.iter().fold(0, |all, (count, each)| all.saturating_add(count.saturating_mul(*each)))
    }

    /// What most of the memory goes to, in words: what it is, and how many there are.
    #[must_use]
    pub fn most(&self) -> (&'static str, u64) {
        let parts = [
            ("planes", self.planes, Self::PLANE),
            ("lines", self.lines, Self::LINE),
            ("entries of event metadata", self.events_metadata, Self::EVENT_METADATA),
            ("entries of stat metadata", self.stats_metadata, Self::STAT_METADATA),
            ("stats of planes", self.stats, Self::STAT),
            ("errors, warnings and hostnames", self.texts, Self::TEXT),
        ];
        let largest = parts.into_iter().max_by_key(|(_, count, each)| count.saturating_mul(*each));
        largest.map_or(("planes", 0), |(what, count, _)| (what, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x0a];
        let mut length = body.len();
        while length >= 128 {
            bytes.push(length as u8 & 127 | 128);
            length >>= 7;
        }
        bytes.push(length as u8);
        [&bytes, body].concat()
    }

    #[test]
    fn everything_that_is_kept_is_counted_and_nothing_else() {
        // A name, two lines, three and four entries of metadata, five stats; an event would stand within a line.
        let body = [
            &b"\x12\x01p"[..],
            &b"\x1a\x00".repeat(2),
            &b"\x22\x00".repeat(3),
            &b"\x2a\x00".repeat(4),
            &b"\x32\x00".repeat(5),
        ]
        .concat();
        let file = [plane(&body), plane(b""), b"\x12\x01e\x1a\x01w\x22\x01h".to_vec()].concat();
        let found = Census::of(&file, u64::MAX);
        let expected =
            Census { planes: 2, lines: 2, events_metadata: 3, stats_metadata: 4, stats: 5, texts: 3 };
        assert_eq!(found, expected);
        assert_eq!(Census::of(b"", u64::MAX), Census::default());
        assert_eq!(Census::default().memory(), 0);
        // What is malformed ends the count as it ends the reading.
        assert_eq!(Census::of(b"\x0a\x05\x1a\x00", u64::MAX).lines, 1);
    }

    #[test]
    fn the_count_stops_where_it_is_too_much() {
        let file = plane(&b"\x1a\x00".repeat(1_000_000));
        let found = Census::of(&file, 1 << 20);
        assert!(found.memory() > 1 << 20 && found.lines < 10_000, "{found:?}");
        assert_eq!(found.most().0, "lines");
        assert_eq!(Census::of(&file, u64::MAX).lines, 1_000_000);
        let planes = b"\x0a\x00".repeat(100_000);
        assert!(Census::of(&planes, 1 << 20).planes < 2_000);
    }
}
