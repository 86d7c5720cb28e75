//! The events of one line as columns.

use haloscope_xspace::{EventTime, Faults, LineView, StatValue, StatView, Stats};

use super::names::{DEVICE_DURATION_PS, DEVICE_OFFSET_PS, HLO_OP, INPUT_STAGE, STEP_NUM};
use super::{Line, MetaIdx, Plane, Source, Span};
use crate::units::LARGEST_PS;

/// The events of a line, sorted by start, longer ones first among equals, so that a parent stands before its children.
///
/// An event costs 28 bytes, 16 more on lines whose events carry device times, and 1 more where any is marked ([`Mark`]).
#[derive(Debug, Default)]
pub struct Events {
    start_ps: Vec<i64>,
    duration_ps: Vec<i64>,
    meta: Vec<MetaIdx>,
    /// Body of each event: 40 bits of offset from the line's body, 24 bits of length.
    body: Vec<u64>,
    /// Bodies that do not fit in 24 bits of length, by event.
    long: Vec<(usize, Span)>,
    device: Option<DeviceTimes>,
    marks: Vec<u8>,
    line: Span,
    /// Events without a place in time: metadata, how many, and their total duration in picoseconds.
    pub aggregated: Vec<(MetaIdx, i64, i64)>,
    /// Events with a negative duration, which count as 0.
    pub negative: u64,
    /// Events whose metadata is missing.
    pub nameless: u64,
    /// What was malformed.
    pub faults: Faults,
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

#[derive(Debug)]
struct DeviceTimes {
    start_ps: Vec<i64>,
    duration_ps: Vec<i64>,
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

const LENGTH_BITS: u32 = 24;
const LONG: u64 = (1 << LENGTH_BITS) - 1;

/// A time cut to what is believed, see [`LARGEST_PS`].
fn believable(ps: i64) -> i64 {
    ps.clamp(-LARGEST_PS, LARGEST_PS)
}

impl Events {
    pub(super) fn decode(line: &Line, plane: &Plane, source: &Source) -> Self {
        let body = source.slice(line.body);
        let view = LineView { body, offset: line.body.at, ..LineView::default() };
        let ids = [plane.stat_id(DEVICE_OFFSET_PS), plane.stat_id(DEVICE_DURATION_PS)];
        let wants_device = plane.kind.is_device() && ids.iter().any(Option::is_some);
        let marked = [(HLO_OP, Mark::HloOp), (STEP_NUM, Mark::Step), (INPUT_STAGE, Mark::InputStage)];
        let marked = marked.map(|(name, mark)| (plane.stat_id(name), mark as u8));
        let wants_marks = marked.iter().any(|(id, _)| id.is_some());
        let mut all = Self { line: line.body, ..Self::default() };
        // A count from a header is trusted only as far as the bytes could hold it: an event takes two at least.
        let room = (line.event_count as usize).min(body.len() / 2 + 1);
        all.start_ps.reserve(room);
        all.duration_ps.reserve(room);
        all.meta.reserve(room);
        all.body.reserve(room);
        if wants_marks {
            all.marks.reserve(room);
        }
        let device_room = if wants_device { room } else { 0 };
        let mut device = DeviceTimes {
            start_ps: Vec::with_capacity(device_room),
            duration_ps: Vec::with_capacity(device_room),
        };
        let mut sorted = true;
        let mut last = (i64::MIN, 0);
        let mut events = view.events();
        loop {
            let (mut measured, mut marks) = ([None; 2], 0);
            let event = if wants_device || wants_marks {
                events.next_with(|stat| {
                    let Some((id, value)) = StatView::key_and_int(stat) else { return };
                    for (wanted, slot) in ids.iter().zip(&mut measured) {
                        if *wanted == Some(id) {
                            *slot = value;
                        }
                    }
                    for (wanted, mark) in &marked {
                        marks |= if *wanted == Some(id) { *mark } else { 0 };
                    }
                })
            } else {
                events.next()
            };
            let Some(event) = event else { break };
            let meta = plane.meta_index(event.metadata_id);
            all.nameless += u64::from(meta == 0);
            let duration = event.duration_ps.max(0);
            all.negative += u64::from(event.duration_ps < 0);
            let offset = match event.time {
                EventTime::OffsetPs(offset) => offset,
                EventTime::Occurrences(n) => {
                    all.aggregated.push((meta, n, duration));
                    continue;
                }
            };
            let start = believable(line.base_ps.saturating_add(offset));
            let duration = duration.min(LARGEST_PS - start);
            sorted &= last <= (start, -duration);
            last = (start, -duration);
            let at = event.offset - line.body.at;
            let len = event.body.len() as u64;
            if len >= LONG {
                all.long.push((all.meta.len(), Span { at: event.offset, len }));
            }
            all.start_ps.push(start);
            all.duration_ps.push(duration);
            all.meta.push(meta);
            all.body.push(at << LENGTH_BITS | len.min(LONG));
            if wants_device {
                let from = measured[0].map_or(start, |v| believable(line.base_ps.saturating_add(v)));
                let took = measured[1].map_or(duration, |v| v.max(0));
                device.start_ps.push(from);
                device.duration_ps.push(took.min(LARGEST_PS - from));
            }
            if wants_marks {
                all.marks.push(marks);
            }
        }
        all.faults = events.faults();
        if all.marks.iter().all(|m| *m == 0) {
            all.marks = Vec::new();
        }
        if wants_device {
            all.device = Some(device);
        }
        if !sorted {
            all.sort();
        }
        all
    }

    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&i| (self.start_ps[i], -self.duration_ps[i], i));
        let pick = |v: &Vec<i64>| order.iter().map(|&i| v[i]).collect::<Vec<_>>();
        self.start_ps = pick(&self.start_ps);
        self.duration_ps = pick(&self.duration_ps);
        if let Some(device) = &mut self.device {
            device.start_ps = pick(&device.start_ps);
            device.duration_ps = pick(&device.duration_ps);
        }
        if !self.marks.is_empty() {
            self.marks = order.iter().map(|&i| self.marks[i]).collect();
        }
        self.meta = order.iter().map(|&i| self.meta[i]).collect();
        self.body = order.iter().map(|&i| self.body[i]).collect();
        for (index, _) in &mut self.long {
            *index = order.iter().position(|&i| i == *index).unwrap_or(usize::MAX);
        }
    }

    /// Number of events with a place in time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.meta.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.meta.is_empty()
    }

    /// Starts on the run's clock, picoseconds, ascending.
    #[must_use]
    pub fn starts_ps(&self) -> &[i64] {
        &self.start_ps
    }

    /// Durations in picoseconds, 0 or more.
    #[must_use]
    pub fn durations_ps(&self) -> &[i64] {
        &self.duration_ps
    }

    /// Metadata rows.
    #[must_use]
    pub fn metas(&self) -> &[MetaIdx] {
        &self.meta
    }

    /// One event.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Event {
        let start_ps = self.start_ps[index];
        Event { index, meta: self.meta[index], start_ps, end_ps: start_ps + self.duration_ps[index] }
    }

    /// All events, by start.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The event by the device's own clock (`device_offset_ps`, `device_duration_ps`), which XProf's op tables use; the
    /// same as [`Events::get`] where the profiler did not record it.
    #[inline]
    #[must_use]
    pub fn on_device_clock(&self, index: usize) -> Event {
        let Some(device) = &self.device else { return self.get(index) };
        let start_ps = device.start_ps[index];
        Event { index, meta: self.meta[index], start_ps, end_ps: start_ps + device.duration_ps[index] }
    }

    /// The event where the run's clock places it, as long as the device's own clock says: for cutting time by steps or
    /// windows, which are on the run's clock, without changing how long anything took.
    #[inline]
    #[must_use]
    pub fn placed(&self, index: usize) -> Event {
        let Some(device) = &self.device else { return self.get(index) };
        let start_ps = self.start_ps[index];
        let end_ps = start_ps.saturating_add(device.duration_ps[index]).min(LARGEST_PS);
        Event { index, meta: self.meta[index], start_ps, end_ps }
    }

    /// True if the event carries the stat that the mark stands for.
    #[inline]
    #[must_use]
    pub fn has(&self, index: usize, mark: Mark) -> bool {
        self.marks.get(index).is_some_and(|m| m & mark as u8 != 0)
    }

    /// First start and last end, picoseconds on the run's clock.
    #[must_use]
    pub fn span_ps(&self) -> Option<(i64, i64)> {
        let first = *self.start_ps.first()?;
        Some((first, self.iter().map(|e| e.end_ps).max()?))
    }

    /// The number of events that start before `to_ps`: the rows after them cannot overlap a window that ends there.
    #[must_use]
    pub fn rows_before(&self, to_ps: i64) -> usize {
        self.start_ps.partition_point(|&s| s < to_ps)
    }

    fn body_span(&self, index: usize) -> Span {
        let packed = self.body[index];
        if packed & LONG == LONG
            && let Some((_, span)) = self.long.iter().find(|(i, _)| *i == index)
        {
            return *span;
        }
        Span { at: self.line.at + (packed >> LENGTH_BITS), len: packed & LONG }
    }

    /// The duration as it stands in the file, picoseconds; below 0 in damaged ones, where [`Events::durations_ps`] says 0.
    #[must_use]
    pub fn wire_duration_ps(&self, source: &Source, index: usize) -> i64 {
        const DURATION: u32 = 3;
        let span = self.body_span(index);
        let fields = haloscope_xspace::wire::Fields::new(source.slice(span), span.at);
        let duration = fields.filter(|f| f.number == DURATION).filter_map(|f| f.int("XEvent").ok()).last();
        duration.unwrap_or(0)
    }

    /// The stats of an event, decoded as they are asked for.
    #[must_use]
    pub fn stats<'a>(&self, source: &'a Source, index: usize) -> Stats<'a> {
        let span = self.body_span(index);
        Stats::of_event(source.slice(span), span.at)
    }

    /// The stat of an event with this key.
    #[must_use]
    pub fn stat<'a>(&self, source: &'a Source, index: usize, id: Option<i64>) -> Option<StatValue<'a>> {
        let id = id?;
        self.stats(source, index).find(|s| s.metadata_id == id).and_then(|s| s.value)
    }
}
