//! How much of the runs was read, for whoever wants to know what a query costs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts over all scans of a query.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    lines: AtomicU64,
    all_lines: AtomicU64,
    events: AtomicU64,
    given: AtomicU64,
    bytes: AtomicU64,
}

impl Stats {
    /// A scan looks at so many of all lines.
    pub(crate) fn scans(&self, lines: usize, all_lines: usize) {
        self.lines.fetch_add(lines as u64, Ordering::Relaxed);
        self.all_lines.fetch_add(all_lines as u64, Ordering::Relaxed);
    }

    /// A part of a line was read: events looked at and given on, and bytes of the file.
    pub(crate) fn read(&self, events: u64, given: u64, bytes: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.given.fetch_add(given, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The counts as a sentence.
    pub(crate) fn words(&self) -> String {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        format!(
            "{} of {} lines read, {} events scanned, {} given to the query, {} bytes of files",
            of(&self.lines),
            of(&self.all_lines),
            of(&self.events),
            of(&self.given),
            of(&self.bytes),
        )
    }
}
