//! A long line is decoded in parts, on as many threads as there is work and cores for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use haloscope_xspace::{Faults, LineView};

use super::Line;
use super::MetaIdx;
use super::sink::{Sink, WideNumbers};
use super::stat_keys::StatKeys;
use haloscope_report::stop;

/// A part of a line.
pub(super) struct Part<'a> {
    pub(super) body: &'a [u8],
    /// Where the part begins in the file.
    pub(super) offset: u64,
    /// Its events, at most.
    pub(super) room: usize,
}

/// What was found beside the columns.
pub(super) struct Found {
    pub(super) rows: usize,
    pub(super) far: WideNumbers,
    pub(super) aggregated: Vec<(MetaIdx, i64, i64)>,
    pub(super) negative: u64,
    pub(super) nameless: u64,
    pub(super) faults: Faults,
    pub(super) is_sorted: bool,
    pub(super) marks: u8,
    pub(super) keys: StatKeys,
}

impl Found {
    /// Nothing, which is in order.
    pub(super) fn nothing() -> Self {
        Self {
            rows: 0,
            far: WideNumbers::default(),
            aggregated: Vec::new(),
            negative: 0,
            nameless: 0,
            faults: Faults::default(),
            is_sorted: true,
            marks: 0,
            keys: StatKeys::NONE,
        }
    }
}

/// Fewer parts than these are not worth another thread: half a million events, some ten milliseconds.
const FEW: usize = 8;

/// Threads that decode now, of all lines.
static BUSY: AtomicUsize = AtomicUsize::new(0);

/// The parts of a line that has `room` events: one, unless somebody noted where others begin.
pub(super) fn of<'a>(body: &'a [u8], line: &Line, room: usize) -> Vec<Part<'a>> {
    const STRIDE: usize = LineView::STRIDE as usize;
    let whole = || vec![Part { body, offset: line.body.at, room }];
    let strides: Option<Vec<usize>> = line.strides.iter().map(|at| usize::try_from(*at).ok()).collect();
    let Some(mut ends) = strides.filter(|s| s.len() == room.saturating_sub(1) / STRIDE) else {
        return whole();
    };
    ends.push(body.len());
    let mut from = 0;
    let mut parts = Vec::with_capacity(ends.len());
    for (number, end) in ends.into_iter().enumerate() {
        let Some(part) = body.get(from..end) else { return whole() };
        let room = (room - number * STRIDE).min(STRIDE);
        parts.push(Part { body: part, offset: line.body.at + from as u64, room });
        from = end;
    }
    parts
}

/// Decodes parts, each into its own rows. What was found of each, in their order.
pub(super) fn decode<'s>(
    parts: &[Part<'_>],
    sink: Sink<'s>,
    decode: impl Fn(&Part<'_>, &mut Sink<'s>) -> Found + Sync,
) -> Vec<Found> {
    let mut rest = Some(sink);
    let mut sinks = Vec::with_capacity(parts.len());
    for part in parts {
        let Some((sink, others)) = rest.take().map(|rest| rest.split(part.room)) else { break };
        sinks.push(sink);
        rest = Some(others);
    }
    let work = parts.iter().zip(sinks);
    let cores = if parts.len() < FEW { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    let mine = cores.saturating_sub(BUSY.load(Ordering::Relaxed)).max(1);
    if mine == 1 {
        return work.map(|(part, mut sink)| counted(|| decode(part, &mut sink))).collect();
    }
    // Threads of their own: one of a pool might take up, while it waits, work that waits for this very line.
    let work = Mutex::new(work.enumerate());
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = stop::carried(|()| {
        counted(|| {
            let mut found = Vec::new();
            while let Some((number, (part, mut sink))) = next() {
                found.push((number, decode(part, &mut sink)));
            }
            found
        })
    });
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (1..mine).map(|_| scope.spawn(|| some(()))).collect();
        let mut found = some(());
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Runs something that keeps a core busy.
fn counted<T>(run: impl FnOnce() -> T) -> T {
    struct Busy;
    impl Drop for Busy {
        fn drop(&mut self) {
            BUSY.fetch_sub(1, Ordering::Relaxed);
        }
    }
    BUSY.fetch_add(1, Ordering::Relaxed);
    let _busy = Busy;
    run()
}

/// Joins what was found of parts, and their rows, in the order of starts.
pub(super) fn join(parts: &[Part<'_>], found: Vec<Found>, sink: &mut Sink<'_>) -> Found {
    let mut all = Found::nothing();
    let mut from = 0;
    let mut borders = Vec::new();
    for (part, found) in parts.iter().zip(found) {
        if all.rows < from && found.rows > 0 {
            sink.close_gap(from, found.rows, all.rows);
        }
        all.far.extend(&found.far, all.rows as i64);
        borders.push(all.rows);
        all.rows += found.rows;
        from += part.room;
        all.aggregated.extend(found.aggregated);
        all.negative += found.negative;
        all.nameless += found.nameless;
        all.faults.extend(&found.faults);
        all.is_sorted &= found.is_sorted;
        all.marks |= found.marks;
        all.keys = all.keys.union(found.keys);
    }
    let durations = sink.durations(all.rows, &all.far);
    let key = |row: usize| (sink.start_ps[row], -durations.at(row));
    let mut borders = borders.into_iter().filter(|row| *row > 0 && *row < all.rows);
    if !all.is_sorted || borders.any(|row| key(row - 1) > key(row)) {
        sink.sort(all.rows, &mut all.far);
    }
    all
}
