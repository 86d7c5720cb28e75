//! Which op each event of a device belongs to.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cpu_work::{self, Claim, Run, Shares};
use super::intervals::Intervals;
use super::nesting::walk_nested;
use super::op_lines::NONE;
use super::op_meta::{OpMeta, is_collective, is_container, owned};
use super::op_readers::{EventOps, MetaOps, Name, OpName};
use haloscope_profile::{Device, DeviceKind, Event, Events, Line, LineId, LineKind, MetaIdx, Profile};

/// The ops of a device, and for each of its op lines which event is which op.
#[derive(Debug)]
pub struct DeviceOps<'p> {
    /// What is known of each op, and the name of its program. FLOPs and bytes are those of one execution.
    pub ops: Vec<(OpMeta<'p>, Cow<'p, str>)>,
    kind: DeviceKind,
    lines: Vec<(LineId, OfEvents)>,
    /// Positions in `ops` by metadata row, where the metadata says what an event is.
    of_meta: Vec<u32>,
    /// Of a GPU: the kernels of an execution of an op that another kernel counts, by line and row.
    parts: FxHashMap<LineId, FxHashSet<u32>>,
    /// Of a CPU: every execution, with its position in `ops`, and whose work each instant was.
    shared: Option<(Vec<(Run, u32)>, Shares)>,
}

/// What says which op an event of a line is.
#[derive(Debug)]
enum OfEvents {
    /// Its metadata: [`DeviceOps::of_meta`].
    ByMeta,
    /// The event itself: a position for each.
    ByEvent(Vec<u32>),
}

/// The positions of a line's events in [`DeviceOps::ops`].
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// By metadata row.
    ByMeta(&'a [u32]),
    /// By event.
    ByEvent(&'a [u32]),
}

impl Rows<'_> {
    /// The position of an event's op; one beyond the end of [`DeviceOps::ops`] where it is none.
    #[inline]
    #[must_use]
    pub fn of(&self, event: &Event) -> u32 {
        self.at(event.index, event.meta)
    }

    /// The same for an event of which the row and the metadata are known.
    #[inline]
    #[must_use]
    pub fn at(&self, index: usize, meta: MetaIdx) -> u32 {
        let found = match self {
            Self::ByMeta(rows) => rows.get(meta as usize),
            Self::ByEvent(rows) => rows.get(index),
        };
        found.copied().unwrap_or(NONE)
    }

    /// True of a line without ops.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::ByEvent([]))
    }
}

impl<'p> DeviceOps<'p> {
    /// Finds the ops of a device.
    #[must_use]
    pub fn find(profile: &'p Profile, device: &Device) -> Self {
        match device.kind {
            DeviceKind::Tpu => tpu(profile, device),
            DeviceKind::Gpu | DeviceKind::Cpu => named(profile, device, &EventOps::new(profile, device)),
        }
    }

    /// The same, but each event of a GPU is of the op that it names, as XProf has it: kernels of a command buffer are the buffer's.
    #[must_use]
    pub fn as_stated(profile: &'p Profile, device: &Device) -> Self {
        match device.kind {
            DeviceKind::Tpu => tpu(profile, device),
            DeviceKind::Gpu | DeviceKind::Cpu => {
                named(profile, device, &EventOps::as_stated(profile, device))
            }
        }
    }

    /// Calls `each` with the op, the event and its self time (that in the cut), for every event that is an op. Durations
    /// are those of the device's own clock where it recorded them, as in XProf's op tables. Without a cut the device's
    /// clock also says how ops nest; with one, which is on the run's clock, events stand where that clock places them.
    pub fn walk(&self, profile: &Profile, cut: Option<&Intervals>, each: impl FnMut(usize, &Event, i64)) {
        self.walk_lines(profile, cut, |_| true, each);
    }

    /// [`DeviceOps::walk`] on some of the lines.
    pub fn walk_lines(
        &self,
        profile: &Profile,
        cut: Option<&Intervals>,
        takes_line: impl Fn(LineId) -> bool,
        mut each: impl FnMut(usize, &Event, i64),
    ) {
        self.walk_on(profile, cut, cut.is_none(), takes_line, |row, event, own, _| each(row, event, own));
    }

    /// The same; `each` is told too whether the event counts as an execution of its op: see [`DeviceOps::parts_of`].
    pub fn walk_executions(
        &self,
        profile: &Profile,
        cut: Option<&Intervals>,
        takes_line: impl Fn(LineId) -> bool,
        each: impl FnMut(usize, &Event, i64, bool),
    ) {
        self.walk_on(profile, cut, cut.is_none(), takes_line, each);
    }

    /// The self time of every event that is an op, as [`DeviceOps::walk`] without a cut gives it: by line the row of the event, and
    /// picoseconds.
    #[must_use]
    pub fn own_times(&self, profile: &Profile) -> Vec<(LineId, Vec<(usize, i64)>)> {
        if let Some((runs, shares)) = &self.shared {
            let mut all: FxHashMap<LineId, Vec<(usize, i64)>> = FxHashMap::default();
            for ((run, op), own) in runs.iter().zip(shares.own(runs.len(), None)) {
                if *op != NONE {
                    all.entry(run.line).or_default().push((run.index, own));
                }
            }
            return self.lines.iter().filter_map(|(line, _)| Some((*line, all.remove(line)?))).collect();
        }
        let of_line = |(line, _): &(LineId, OfEvents)| {
            let mut own = Vec::new();
            self.walk_lines(profile, None, |id| id == *line, |_, event, time| own.push((event.index, time)));
            (*line, own)
        };
        self.lines.iter().map(of_line).collect()
    }

    /// The lines that hold the ops, and for each of their events the position in [`DeviceOps::ops`]; a position beyond
    /// the end where an event is no op.
    pub fn lines<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = (&'a Line, Rows<'a>)> {
        self.lines.iter().map(|(line, of)| (profile.line(*line), self.rows(of)))
    }

    /// The positions of one line's events in [`DeviceOps::ops`], as in [`DeviceOps::lines`]; none of a line without ops.
    #[must_use]
    pub fn rows_of(&self, line: LineId) -> Rows<'_> {
        self.lines.iter().find(|(id, _)| *id == line).map_or(Rows::ByEvent(&[]), |(_, of)| self.rows(of))
    }

    /// Of a CPU the stretches of time in which any op was at work, by time, each with the ops whose work it was and the number
    /// of threads that worked for each. `None` of other devices.
    pub fn shared(&self) -> Option<impl Iterator<Item = (i64, i64, impl Iterator<Item = (u32, u32)>)>> {
        let (runs, shares) = self.shared.as_ref()?;
        Some(shares.pieces().map(|(from, to, owners)| {
            let op = |(run, threads): &(u32, u32)| (runs[*run as usize].1, *threads);
            (from, to, owners.iter().map(op).filter(|(op, _)| *op != NONE))
        }))
    }

    /// The rows of a line's events that are no executions of their ops: on a GPU one execution may take several kernels (a product
    /// that sets its counter first), of which the longest counts it. `None` where each event is one.
    #[must_use]
    pub fn parts_of(&self, line: LineId) -> Option<&FxHashSet<u32>> {
        self.parts.get(&line)
    }

    /// The kind of the device.
    pub(super) fn kind(&self) -> DeviceKind {
        self.kind
    }

    fn rows<'a>(&'a self, of: &'a OfEvents) -> Rows<'a> {
        match of {
            OfEvents::ByMeta => Rows::ByMeta(&self.of_meta),
            OfEvents::ByEvent(rows) => Rows::ByEvent(rows),
        }
    }

    /// The same on its own, so that it may be kept as long as the profile.
    #[must_use]
    pub fn into_owned(self) -> DeviceOps<'static> {
        let ops = self.ops.into_iter().map(|(meta, module)| (meta.into_owned(), owned(module)));
        let Self { kind, lines, of_meta, parts, shared, .. } = self;
        DeviceOps { ops: ops.collect(), kind, lines, of_meta, parts, shared }
    }

    /// [`DeviceOps::walk`] without a cut, with events where the run's clock places them.
    pub fn walk_placed(&self, profile: &Profile, each: impl FnMut(usize, &Event, i64, bool)) {
        self.walk_on(profile, None, false, |_| true, each);
    }

    fn walk_on(
        &self,
        profile: &Profile,
        cut: Option<&Intervals>,
        device_clock: bool,
        takes_line: impl Fn(LineId) -> bool,
        mut each: impl FnMut(usize, &Event, i64, bool),
    ) {
        // An event before or after all that counts neither counts nor changes what nests in what.
        let hull = cut.map(|c| c.hull().unwrap_or((0, 0)));
        let reaches = |e: &Event| hull.is_none_or(|(from, to)| e.touches(from, to));
        if let Some((runs, shares)) = &self.shared {
            let own = shares.own(runs.len(), cut);
            for ((run, op), own) in
                runs.iter().zip(own).filter(|((run, op), _)| *op != NONE && takes_line(run.line))
            {
                let event =
                    Event { end_ps: run.end_ps, ..profile.events(profile.line(run.line)).get(run.index) };
                if reaches(&event) {
                    each(*op as usize, &event, own, true);
                }
            }
            return;
        }
        for (line, rows) in self.lines(profile).filter(|(line, _)| takes_line(line.id)) {
            let events = profile.events(line);
            let event = |i| if device_clock { events.on_device_clock(i) } else { events.placed(i) };
            let last = hull.map_or(events.len(), |(_, to)| events.rows_before(to));
            let ops = || (0..last).map(event).filter(|e| rows.of(e) != NONE && reaches(e));
            match self.kind {
                DeviceKind::Tpu => {
                    let mut each = |e: Event, own| each(rows.of(&e) as usize, &e, own, true);
                    // Both clocks agree on the order but for rounding, so that sorting is rarely needed.
                    let key = |e: &Event| (e.start_ps, e.start_ps - e.end_ps);
                    if ops().is_sorted_by_key(|e| key(&e)) {
                        walk_nested(ops(), cut, &mut each);
                    } else {
                        let mut ordered: Vec<Event> = ops().collect();
                        ordered.sort_by_key(key);
                        walk_nested(ordered.into_iter(), cut, &mut each);
                    }
                }
                DeviceKind::Cpu => {}
                // Kernels of one stream do not nest.
                DeviceKind::Gpu => {
                    let parts = self.parts_of(line.id);
                    ops().for_each(|e| {
                        let own = cut.map_or(e.end_ps - e.start_ps, |c| c.overlap(e.start_ps, e.end_ps));
                        let counts = parts.is_none_or(|parts| !parts.contains(&(e.index as u32)));
                        each(rows.of(&e) as usize, &e, own, counts);
                    });
                }
            }
        }
    }
}

/// TPU ops: the metadata of events on the `XLA Ops` line says what they are.
fn tpu<'p>(profile: &'p Profile, device: &Device) -> DeviceOps<'p> {
    let plane = profile.plane(device.plane);
    let reader = MetaOps::new(profile, plane);
    let of_meta = vec![NONE; plane.metas.len()];
    let (parts, shared) = (FxHashMap::default(), None);
    let mut found =
        DeviceOps { ops: Vec::new(), kind: device.kind, lines: Vec::new(), of_meta, parts, shared };
    let mut seen = vec![false; plane.metas.len()];
    let mut row_of_key: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaOps) {
        let events = profile.events(line);
        let mut fresh = Vec::new();
        for &meta in events.metas() {
            if !std::mem::replace(&mut seen[meta as usize], true) {
                fresh.push(meta);
            }
        }
        for (meta, op) in reader.ops(events, fresh) {
            // Several metadata entries may stand for one op.
            let key = (op.program_id, op.name.clone());
            found.of_meta[meta as usize] = *row_of_key.entry(key).or_insert_with(|| {
                let module = reader.module(&op);
                found.ops.push((op, module));
                found.ops.len() as u32 - 1
            });
        }
        found.lines.push((line.id, OfEvents::ByMeta));
    }
    found
}

/// GPU kernels and CPU ops: events that name their HLO op themselves.
fn named<'p>(profile: &'p Profile, device: &Device, reader: &EventOps<'p>) -> DeviceOps<'p> {
    let mut found = DeviceOps {
        ops: Vec::new(),
        kind: device.kind,
        lines: Vec::new(),
        of_meta: Vec::new(),
        parts: FxHashMap::default(),
        shared: None,
    };
    let mut row_of_key: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    // Texts are looked at once for each way in which events name an op.
    let mut row_of_name: FxHashMap<(Option<u64>, OpName), u32> = FxHashMap::default();
    for line in profile.lines_of(device.plane).filter(|l| reader.reads(l)) {
        let events = profile.events(line);
        let row = |event: Event| {
            let name = match reader.name(events, &event) {
                Name::No => return NONE,
                Name::Key(program, name) => Some((program, name)),
                Name::Text => None,
            };
            if let Some(row) = name.and_then(|name| row_of_name.get(&name)) {
                return *row;
            }
            let Some(names) = reader.names(events, &event) else { return NONE };
            let key = (names.program_id, names.op.clone());
            let row = *row_of_key.entry(key).or_insert_with(|| {
                found.ops.push(reader.op(names));
                found.ops.len() as u32 - 1
            });
            row_of_name.extend(name.map(|name| (name, row)));
            row
        };
        let rows: Vec<u32> = events.iter().map(row).collect();
        if device.kind == DeviceKind::Gpu && reader.groups() {
            let parts = parts(events, &rows);
            if !parts.is_empty() {
                found.parts.insert(line.id, parts);
            }
        }
        found.lines.push((line.id, OfEvents::ByEvent(rows)));
    }
    if let Some(work) = cpu_work::of(profile, device) {
        let rows: Vec<u32> = work.runs.iter().map(|run| found.rows_of(run.line).at(run.index, 0)).collect();
        let claims = found.ops.iter().map(|(meta, _)| claim(meta)).collect::<Vec<_>>();
        let shares = Shares::of(work, |run| claims.get(rows[run] as usize).copied().unwrap_or(Claim::Works));
        found.shared = Some((work.runs.iter().copied().zip(rows).collect(), shares));
    }
    found
}

/// The kernels of a stream that do not count an execution of their op: those that run one after another for one op, no function
/// twice, are one execution, which the longest of them counts.
fn parts(events: &Events, rows: &[u32]) -> FxHashSet<u32> {
    let mut parts = FxHashSet::default();
    // The kernels of the execution so far: function, row of the event, length.
    let mut group: Vec<(MetaIdx, u32, i64)> = Vec::new();
    let mut op = NONE;
    let mut end = |group: &mut Vec<(MetaIdx, u32, i64)>| {
        let longest = group.iter().max_by_key(|(_, row, length)| (*length, std::cmp::Reverse(*row))).copied();
        let others = group.drain(..).filter(|kernel| Some(*kernel) != longest);
        parts.extend(others.map(|(_, row, _)| row));
    };
    for (event, row) in events.iter().zip(rows) {
        if *row != op || group.iter().any(|(meta, ..)| *meta == event.meta) {
            end(&mut group);
        }
        op = *row;
        if op != NONE {
            group.push((event.meta, event.index as u32, event.end_ps - event.start_ps));
        }
    }
    end(&mut group);
    parts
}

/// How an op's claim to an instant of a CPU stands to that of the others that are at work.
fn claim(meta: &OpMeta<'_>) -> Claim {
    // Without its module an op has no category, but nearly always the name that its opcode gives it.
    let named = meta.name.split('.').next().unwrap_or_default();
    let category = if meta.category.is_empty() { named } else { &meta.category };
    match () {
        () if is_container(category) => Claim::Holds,
        () if is_collective(category, &meta.name) => Claim::Waits,
        () => Claim::Works,
    }
}
