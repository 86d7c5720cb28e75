//! From the bytes of a line to columns: the hot loop of reading.

use haloscope_xspace::{EventTime, EventView, LineView, RawStat};

use super::names::{DEVICE_DURATION_PS, DEVICE_OFFSET_PS, HLO_OP, INPUT_STAGE, STEP_NUM};
use super::packed::{ELSEWHERE, near};
use super::parts::{self, Found, Part};
use super::sink::{DURATION_BASE, Layout, Sink};
use super::stat_keys::{Seen, StatKeys};
use super::{Events, Line, Mark, Plane, Source};
use haloscope_report::stop;
use haloscope_report::units::LARGEST_PS;

/// Stands beside the [`Mark`]s for the stats with the device's own times.
const DEVICE_START: u8 = 1 << 6;
const DEVICE_DURATION: u8 = 1 << 7;

/// A time cut to what is believed, see [`LARGEST_PS`].
fn believable(ps: i64) -> i64 {
    ps.clamp(-LARGEST_PS, LARGEST_PS)
}

/// Which stats are looked at, by key.
struct Wanted {
    /// For keys of one byte, which nearly all are.
    small: [u8; 128],
    others: Vec<(i64, u8)>,
}

impl Wanted {
    fn of(plane: &Plane) -> Self {
        let is_device = plane.kind.is_device();
        let device = [(DEVICE_OFFSET_PS, DEVICE_START), (DEVICE_DURATION_PS, DEVICE_DURATION)];
        let device = device.into_iter().filter(|_| is_device);
        let marks = [(HLO_OP, Mark::HloOp), (STEP_NUM, Mark::Step), (INPUT_STAGE, Mark::InputStage)];
        let marks = marks.into_iter().map(|(name, mark)| (name, mark as u8));
        let mut wanted = Self { small: [0; 128], others: Vec::new() };
        for (id, flag) in device.chain(marks).filter_map(|(name, flag)| Some((plane.stat_id(name)?, flag))) {
            match usize::try_from(id).ok().and_then(|id| wanted.small.get_mut(id)) {
                Some(flags) => *flags |= flag,
                None => wanted.others.push((id, flag)),
            }
        }
        wanted
    }

    fn any(&self, of: u8) -> bool {
        self.small.iter().chain(self.others.iter().map(|(_, flag)| flag)).any(|flags| flags & of != 0)
    }

    #[inline]
    fn flags(&self, id: i64) -> u8 {
        match usize::try_from(id).ok().and_then(|id| self.small.get(id)) {
            Some(flags) => *flags,
            None => self.others.iter().filter(|(other, _)| *other == id).fold(0, |all, (_, flag)| all | flag),
        }
    }
}

/// What the stats of an event say.
#[derive(Default)]
struct Noted {
    start: Option<i64>,
    duration: Option<i64>,
    marks: u8,
}

impl Noted {
    #[inline(always)]
    fn look(&mut self, stat: RawStat<'_>, wanted: &Wanted, seen: &mut Seen) {
        // A key of one byte tells at once whether there is anything to look at, and where.
        let (flags, value) = match stat.small_key() {
            Some(key) => match wanted.small[usize::from(key & 0x7f)] {
                0 => return seen.small(key),
                flags => (flags, stat.int_behind_small_key()),
            },
            None => match stat.key_and_int() {
                Some((id, value)) => {
                    match u8::try_from(id) {
                        Ok(key @ 0..0x80) => seen.small(key),
                        _ => seen.other(),
                    }
                    (wanted.flags(id), value)
                }
                None => return,
            },
        };
        self.marks |= flags & !(DEVICE_START | DEVICE_DURATION);
        if flags & DEVICE_START != 0 {
            self.start = value;
        }
        if flags & DEVICE_DURATION != 0 {
            self.duration = value;
        }
    }
}

/// What a line's events are decoded with.
struct Decoder<'a> {
    plane: &'a Plane,
    base_ps: i64,
    /// Where the line begins in the file.
    line_at: u64,
    wanted: Wanted,
    /// What the device's clock is ahead of the run's at the first event, picoseconds.
    device_base: i64,
}

impl Events {
    pub(super) fn decode(line: &Line, plane: &Plane, source: &Source) -> Self {
        let body = source.slice(line.body);
        let view = LineView { body, offset: line.body.at, ..LineView::default() };
        let wanted = Wanted::of(plane);
        let has_device = wanted.any(DEVICE_START | DEVICE_DURATION);
        let has_marks = wanted.any(!(DEVICE_START | DEVICE_DURATION));
        // A count from a header is trusted only as far as the bytes could hold it: an event takes two at least.
        let room = (line.event_count as usize).min(body.len() / 2 + 1);
        let layout = Layout::new(room, line.body.len, has_device, has_marks);
        let mut memory = layout.memory();
        let mut decoder =
            Decoder { plane, base_ps: line.base_ps, line_at: line.body.at, wanted, device_base: 0 };
        decoder.device_base = decoder.ahead(&view);
        let decode = |part: &Part<'_>, sink: &mut Sink<'_>| {
            stop::check();
            let view = LineView { body: part.body, offset: part.offset, ..LineView::default() };
            let found = if has_device || has_marks {
                decoder.fill::<true>(view.events(), sink)
            } else {
                decoder.fill::<false>(view.events(), sink)
            };
            source.has_read(part.offset, part.body.len());
            found
        };
        let parts = parts::of(body, line, room);
        let found = parts::decode(&parts, layout.sink(&mut memory), decode);
        let found = parts::join(&parts, found, &mut layout.sink(&mut memory));
        let memory = memory.share();
        let mut columns = layout.columns(&memory, found.rows, found.far, decoder.device_base);
        if found.marks == 0 {
            columns.marks = super::Column::default();
        }
        Self {
            table: columns.table(),
            line: line.body,
            base_ps: line.base_ps,
            aggregated: found.aggregated,
            negative: found.negative,
            nameless: found.nameless,
            faults: found.faults,
            keys: found.keys,
        }
    }
}

impl Decoder<'_> {
    /// What the device's clock is ahead of the run's at the line's first event, picoseconds; 0 where that does not say.
    fn ahead(&self, view: &LineView<'_>) -> i64 {
        let mut noted = Noted::default();
        let mut seen = self.seen();
        let first = view.events().next_with(|stat| noted.look(stat, &self.wanted, &mut seen));
        let Some(EventView { time: EventTime::OffsetPs(offset), .. }) = first else { return 0 };
        let on_run = believable(self.base_ps.saturating_add(offset));
        noted.start.map_or(0, |v| believable(self.base_ps.saturating_add(v)) - on_run)
    }

    /// Keys that are looked for are not noted one by one.
    fn seen(&self) -> Seen {
        Seen::new(|key| self.wanted.small[usize::from(key)] != 0)
    }

    /// Decodes events, as many as the sink has rows for.
    fn fill<const STATS: bool>(
        &self,
        mut events: haloscope_xspace::Events<'_>,
        sink: &mut Sink<'_>,
    ) -> Found {
        let mut found = Found::nothing();
        let mut seen = self.seen();
        let (mut last, mut last_took) = (i64::MIN, 0);
        let rows = sink.start_ps.len();
        // All of one length, which the compiler then knows.
        let (start_ps, duration_ps) = (&mut *sink.start_ps, &mut sink.duration_ps[..rows]);
        let (meta_rows, places, far_places) =
            (&mut sink.meta[..rows], &mut *sink.place, &mut *sink.far_place);
        let (device_start, device_duration) = (&mut *sink.device_start, &mut *sink.device_duration);
        let has_device = device_start.len() >= rows && device_duration.len() >= rows;
        let mut row = 0;
        while row < rows {
            let mut noted = Noted::default();
            let event = if STATS {
                events.next_with(|stat| noted.look(stat, &self.wanted, &mut seen))
            } else {
                events.next()
            };
            let Some(event) = event else { break };
            let meta = self.plane.meta_index(event.metadata_id);
            found.nameless += u64::from(meta == 0);
            let duration = event.duration_ps.max(0);
            found.negative += u64::from(event.duration_ps < 0);
            let offset = match event.time {
                EventTime::OffsetPs(offset) => offset,
                EventTime::Occurrences(n) => {
                    found.aggregated.push((meta, n, duration));
                    continue;
                }
            };
            let start = believable(self.base_ps.saturating_add(offset));
            let duration = duration.min(LARGEST_PS - start);
            found.is_sorted &= last < start || (last == start && last_took >= duration);
            (last, last_took) = (start, duration);
            start_ps[row] = start;
            duration_ps[row] = pack(duration, DURATION_BASE, row, &mut found.far.duration_ps);
            meta_rows[row] = meta;
            let place = events.at() - self.line_at;
            match places.get_mut(row) {
                Some(slot) => *slot = place as u32,
                None => far_places[row] = place,
            }
            if STATS && has_device {
                let from = noted.start.map_or(start, |v| believable(self.base_ps.saturating_add(v)));
                let took = noted.duration.map_or(duration, |v| v.max(0)).min(LARGEST_PS - from);
                // Memory that is never written takes none.
                let ahead = pack(from - start, self.device_base, row, &mut found.far.device_start);
                if ahead != 0 {
                    device_start[row] = ahead;
                }
                let longer = pack(took - duration, 0, row, &mut found.far.device_duration);
                if longer != 0 {
                    device_duration[row] = longer;
                }
            }
            if STATS && noted.marks != 0 {
                found.marks |= noted.marks;
                sink.marks[row] = noted.marks;
            }
            row += 1;
        }
        found.rows = row;
        found.keys = if STATS { seen.keys() } else { StatKeys::ANY };
        found.faults = events.faults();
        found
    }
}

/// The number as it stands in a column; one that does not fit goes to the list.
#[inline]
fn pack(number: i64, base: i64, row: usize, far: &mut Vec<[i64; 2]>) -> i32 {
    near(number, base).unwrap_or_else(|| {
        far.push([row as i64, number]);
        ELSEWHERE
    })
}
