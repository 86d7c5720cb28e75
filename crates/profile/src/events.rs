//! The events of one line as columns.

use std::fmt;

use haloscope_xspace::{EventView, Faults, RawStat, StatValue, Stats};

use super::rows::{Rows, Table};
use super::stat_keys::StatKeys;
use super::{MetaIdx, Packed, Source, Span};
use haloscope_report::units::LARGEST_PS;

/// The events of a line, sorted by start, longer ones first among equals, so that a parent stands before its children.
///
/// An event costs 20 bytes, 8 more on lines whose events carry device times (those that are zero take no memory), and 1 more
/// where any is marked ([`Mark`]). docs/benchmarks.md#what-reading-costs says why.
pub struct Events {
    pub(super) table: Table,
    pub(super) line: Span,
    /// What had been added to offsets when they were decoded, picoseconds.
    pub(super) base_ps: i64,
    /// Events without a place in time: metadata, how many, and their total duration in picoseconds.
    pub aggregated: Vec<(MetaIdx, i64, i64)>,
    /// Events with a negative duration, which count as 0.
    pub negative: u64,
    /// Events whose metadata is missing.
    pub nameless: u64,
    /// What was malformed.
    pub faults: Faults,
    pub(super) keys: StatKeys,
}

/// A stat that analyses look for on all events of a line. Noted when events are decoded, so that nobody has to look twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The event names its HLO op (`hlo_op`).
    HloOp = 1,
    /// The event marks a step (`step_num`).
    Step = 2,
    /// The event is a stage of an input pipeline (`_ipl_stage_id`).
    InputStage = 4,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its row.
    pub index: usize,
    /// What it is.
    pub meta: MetaIdx,
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// End, picoseconds.
    pub end_ps: i64,
}

impl Event {
    /// True if the event has a part in `[from_ps, to_ps)`. One without duration is where it stands.
    #[inline]
    #[must_use]
    pub fn touches(&self, from_ps: i64, to_ps: i64) -> bool {
        self.start_ps < to_ps && self.end_ps.max(self.start_ps.saturating_add(1)) > from_ps
    }
}

impl Rows<'_> {
    #[inline]
    fn get(&self, index: usize) -> Event {
        let start_ps = self.start_ps[index];
        let end_ps = start_ps.saturating_add(self.duration_ps.at(index));
        Event { index, meta: self.meta[index], start_ps, end_ps }
    }
}

impl Events {
    #[inline]
    pub(super) fn rows(&self) -> &Rows<'_> {
        self.table.get()
    }

    /// Number of events with a place in time.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows().meta.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts on the run's clock, picoseconds, ascending.
    #[inline]
    #[must_use]
    pub fn starts_ps(&self) -> &[i64] {
        self.rows().start_ps
    }

    /// Durations in picoseconds, 0 or more.
    #[inline]
    #[must_use]
    pub fn durations_ps(&self) -> Packed<'_> {
        self.rows().duration_ps
    }

    /// Metadata rows.
    #[inline]
    #[must_use]
    pub fn metas(&self) -> &[MetaIdx] {
        self.rows().meta
    }

    /// One event.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Event {
        self.rows().get(index)
    }

    /// All events, by start.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        let rows = *self.rows();
        (0..rows.meta.len()).map(move |i| rows.get(i))
    }

    /// The event by the device's own clock (`device_offset_ps`, `device_duration_ps`), which XProf's op tables use; the
    /// same as [`Events::get`] where the profiler did not record it.
    #[inline]
    #[must_use]
    pub fn on_device_clock(&self, index: usize) -> Event {
        let rows = self.rows();
        let event = rows.get(index);
        let Some((start, duration)) = &rows.device else { return event };
        let start_ps = event.start_ps.saturating_add(start.at(index));
        let took = rows.duration_ps.at(index).saturating_add(duration.at(index));
        Event { start_ps, end_ps: start_ps.saturating_add(took), ..event }
    }

    /// The event where the run's clock places it, as long as the device's own clock says: for cutting time by steps or
    /// windows, which are on the run's clock, without changing how long anything took.
    #[inline]
    #[must_use]
    pub fn placed(&self, index: usize) -> Event {
        let rows = self.rows();
        let event = rows.get(index);
        let Some((_, duration)) = &rows.device else { return event };
        let took = rows.duration_ps.at(index).saturating_add(duration.at(index));
        Event { end_ps: event.start_ps.saturating_add(took).min(LARGEST_PS), ..event }
    }

    /// True if the event carries the stat that the mark stands for.
    #[inline]
    #[must_use]
    pub fn has(&self, index: usize, mark: Mark) -> bool {
        self.rows().marks.get(index).is_some_and(|m| m & mark as u8 != 0)
    }

    /// First start and last end, picoseconds on the run's clock.
    #[must_use]
    pub fn span_ps(&self) -> Option<(i64, i64)> {
        let first = *self.starts_ps().first()?;
        Some((first, self.iter().map(|e| e.end_ps).max()?))
    }

    /// The number of events that start before `to_ps`: the rows after them cannot overlap a window that ends there.
    #[must_use]
    pub fn rows_before(&self, to_ps: i64) -> usize {
        self.starts_ps().partition_point(|&s| s < to_ps)
    }

    /// The event's bytes, and where they stand in the file.
    fn body<'a>(&self, source: &'a Source, index: usize) -> (&'a [u8], u64) {
        let rows = self.rows();
        let place = rows.place.get(index).map(|place| u64::from(*place));
        let place = place.or_else(|| rows.far_place.get(index).copied()).unwrap_or(self.line.len);
        let at = self.line.at.saturating_add(place);
        EventView::body_at(source.slice(Span { at, len: self.line.len.saturating_sub(place) }), at)
    }

    /// The duration as it stands in the file, picoseconds; below 0 in damaged ones, where [`Events::durations_ps`] says 0.
    #[must_use]
    pub fn wire_duration_ps(&self, source: &Source, index: usize) -> i64 {
        const DURATION: u32 = 3;
        let (body, at) = self.body(source, index);
        let fields = haloscope_xspace::wire::Fields::new(body, at);
        let duration = fields.filter(|f| f.number == DURATION).filter_map(|f| f.int("XEvent").ok()).last();
        duration.unwrap_or(0)
    }

    /// The stats of an event, decoded as they are asked for.
    #[must_use]
    pub fn stats<'a>(&self, source: &'a Source, index: usize) -> Stats<'a> {
        let (body, at) = self.body(source, index);
        Stats::of_event(body, at)
    }

    /// True if any event may carry a stat with this key: where it is false, none does.
    #[must_use]
    pub fn may_carry(&self, id: i64) -> bool {
        self.keys.may_have(id)
    }

    /// Hands the stats of an event to `each` as they stand in the file: for loops over all events that want few of them.
    #[inline]
    pub fn raw_stats<'a>(&self, source: &'a Source, index: usize, each: impl FnMut(RawStat<'a>)) {
        let (body, at) = self.body(source, index);
        // An event that could not be read has no row.
        let _ = EventView::parse_with(body, at, each);
    }

    /// The stat of an event with this key.
    #[must_use]
    pub fn stat<'a>(&self, source: &'a Source, index: usize, id: Option<i64>) -> Option<StatValue<'a>> {
        let id = id?;
        self.stats(source, index).find(|s| s.metadata_id == id).and_then(|s| s.value)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("len", &self.len()).field("line", &self.line).finish_non_exhaustive()
    }
}
