//! When devices computed: busy intervals, spans, and the duty cycle as XProf defines it.

use super::cpu_work;
use super::intervals::Intervals;
use super::nesting::walk_innermost;
use super::op_lines::holds_ops;
use super::op_meta::{MetaIds, OpMeta, is_off_duty};
use super::sweep::{Busy, Join, OnDuty};
use haloscope_profile::{Device, DeviceKind, Event, Line, LineKind, MetaIdx, Plane, Profile, StatId};

/// Gaps shorter than this inside one program execution on a TPU are the program's own overhead (set-up, tear-down, steps
/// from op to op), not idleness: a TPU runs a program without the host's help. On a GPU each kernel is a launch of its own
/// and such gaps are idle time.
const PROGRAM_OVERHEAD_PS: i64 = 10_000_000;

/// The time in which a device executed ops, on the run's clock: the union over the `XLA Ops` line (TPU, with gaps inside a
/// program of under 10 us), all streams (GPU), or all ops from their start until their work was done (CPU).
#[must_use]
pub fn intervals(profile: &Profile, device: &Device) -> Intervals {
    let mut parts = Vec::new();
    stretches(profile, device, |from, to| parts.push((from, to)));
    Intervals::of_disjoint(parts)
}

/// The stretches of [`intervals`], by time, without a list of them.
pub fn stretches(profile: &Profile, device: &Device, mut each: impl FnMut(i64, i64)) {
    if let Some(work) = cpu_work::of(profile, device) {
        return work.busy(each);
    }
    let programs = programs(profile, device);
    let mut busy = sweep(&programs);
    let lines: Vec<&Line> =
        profile.lines_of(device.plane).filter(|l| holds_ops(device.kind, l.kind)).collect();
    if let [line] = lines[..] {
        profile.events(line).iter().for_each(|e| busy.push(e.start_ps, e.end_ps, &mut each));
    } else {
        let mut parts = Vec::new();
        for line in lines {
            let mut join = Join::default();
            parts.extend(profile.events(line).iter().filter_map(|e| join.push(e.start_ps, e.end_ps)));
            parts.extend(join.finish());
        }
        // Each line's part is sorted: the stable sort finds that and merges them.
        parts.sort();
        parts.into_iter().for_each(|(from, to)| busy.push(from, to, &mut each));
    }
    busy.finish(each);
}

/// When a TPU ran programs. Of other devices nothing: each of their kernels is a launch of its own.
pub(super) fn programs(profile: &Profile, device: &Device) -> Intervals {
    if device.kind != DeviceKind::Tpu {
        return Intervals::default();
    }
    let lines = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::XlaModules);
    let events = lines.flat_map(|l| profile.events(l).iter()).map(|e| (e.start_ps, e.end_ps));
    Intervals::union_of(events.collect())
}

/// What finds the busy stretches of a device that ran these programs.
pub(super) fn sweep(programs: &Intervals) -> Busy<'_> {
    Busy::new(programs.as_slice(), PROGRAM_OVERHEAD_PS)
}

/// Busy and span of a TPU's duty cycle, picoseconds, as XProf 2.24.2 counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DutyCycle {
    /// The union of ops less the self time of off-duty ones (infeed, outfeed, host transfers, waits for asynchronous ops).
    pub busy_ps: i64,
    /// The same without the custom calls of which no event states FLOPs: nobody knows whether these compute or wait.
    pub certain_ps: i64,
    /// From the first start to the last end of ops and program executions.
    pub span_ps: i64,
}

/// The duty cycle of a TPU; `None` for other devices and where no op ran. Times are those of the profiler's timeline,
/// not of the device's own clock: XProf takes those here.
#[must_use]
pub fn duty_cycle(profile: &Profile, device: &Device, cut: Option<&Intervals>) -> Option<DutyCycle> {
    if device.kind != DeviceKind::Tpu {
        return None;
    }
    let plane = profile.plane(device.plane);
    let duties = Duties::of(profile, plane);
    let (mut busy_ps, mut certain_ps) = (0_i64, 0_i64);
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaOps) {
        let lengths = duties.lengths(profile, line, cut);
        let mut on_duty = OnDuty::default();
        profile.events(line).iter().for_each(|event| on_duty.push(event, &lengths));
        on_duty.finish(lengths);
        busy_ps = busy_ps.saturating_add(on_duty.busy_ps);
        certain_ps = certain_ps.saturating_add(on_duty.certain_ps);
    }
    let lines = profile.lines_of(plane.id);
    let lines = lines.filter(|l| matches!(l.kind, LineKind::XlaOps | LineKind::XlaModules));
    duty_of(busy_ps, certain_ps, lines.filter_map(|l| profile.events(l).span_ps()), cut)
}

/// A duty cycle of times on duty and of the spans of lines.
pub(super) fn duty_of(
    busy_ps: i64,
    certain_ps: i64,
    spans: impl Iterator<Item = (i64, i64)>,
    cut: Option<&Intervals>,
) -> Option<DutyCycle> {
    let (first, last) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let span_ps = cut.map_or(last - first, |c| c.overlap(first, last));
    (span_ps > 0).then_some(DutyCycle { busy_ps, certain_ps, span_ps })
}

/// When a line's ops were on duty: at each instant the innermost op decides.
#[must_use]
pub fn on_duty(profile: &Profile, line: &Line, is_on: impl Fn(&Event) -> bool) -> Intervals {
    let mut parts: Vec<(i64, i64)> = Vec::new();
    walk_innermost(profile.events(line).iter(), |event, from, to| {
        if !is_on(event) {
            return;
        }
        match parts.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => parts.push((from, to)),
        }
    });
    Intervals::union_of_sorted(parts)
}

/// Whether an op is work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// It is.
    On,
    /// It waits for, or moves data to or from, the host or another core.
    Off,
    /// A custom call: it may be either.
    Uncertain,
}

/// Whether the ops of a plane are work, by event metadata.
#[derive(Debug)]
pub struct Duties {
    of_meta: Vec<Duty>,
    flops: [Option<StatId>; 2],
}

impl Duties {
    /// Reads the categories of a plane's ops.
    #[must_use]
    pub fn of(profile: &Profile, plane: &Plane) -> Self {
        let source = profile.source_of(plane);
        let ids = MetaIds::of(plane);
        let duty = |meta| match OpMeta::read_category(plane, source, meta, &ids).as_ref() {
            category if is_off_duty(category) => Duty::Off,
            "custom-call" => Duty::Uncertain,
            _ => Duty::On,
        };
        let flops = ["flops", "model_flops"].map(|name| plane.stat_id(name));
        Self { of_meta: (0..plane.metas.len() as u32).map(duty).collect(), flops }
    }

    /// True if there is a custom call among them.
    #[must_use]
    pub fn any_uncertain(&self) -> bool {
        self.of_meta.contains(&Duty::Uncertain)
    }

    /// True if all of them are work for certain: then a device is on duty whenever an op runs.
    #[must_use]
    pub fn all_on(&self) -> bool {
        self.of_meta.iter().all(|duty| *duty == Duty::On)
    }

    /// How much of a stretch of an event of this line is time on duty, and how much of it for certain, picoseconds.
    pub(super) fn lengths<'a>(
        &'a self,
        profile: &'a Profile,
        line: &'a Line,
        cut: Option<&'a Intervals>,
    ) -> impl Fn(&Event, i64, i64) -> (i64, i64) + 'a {
        move |event, from, to| {
            let length = || cut.map_or(to - from, |c| c.overlap(from, to));
            match self.of_event(profile, line, event) {
                Duty::On => (length(), length()),
                Duty::Uncertain => (length(), 0),
                Duty::Off => (0, 0),
            }
        }
    }

    /// Whether an op is work, by its metadata.
    #[must_use]
    pub fn of_op(&self, meta: MetaIdx) -> Duty {
        self.of_meta.get(meta as usize).copied().unwrap_or(Duty::On)
    }

    /// Whether an event of the plane is work: a custom call is where the event itself states FLOPs.
    #[must_use]
    pub fn of_event(&self, profile: &Profile, line: &Line, event: &Event) -> Duty {
        match self.of_op(event.meta) {
            Duty::Uncertain if self.event_flops(profile, line, event).any(|flops| flops > 0) => Duty::On,
            duty => duty,
        }
    }

    /// The FLOPs and model FLOPs that an event states itself.
    pub fn event_flops(&self, profile: &Profile, line: &Line, event: &Event) -> impl Iterator<Item = i64> {
        let source = profile.source_of(profile.plane(line.plane));
        let events = profile.events(line);
        let stated = self.flops.map(|id| events.stat(source, event.index, id).and_then(|v| v.as_i64()));
        stated.into_iter().flatten()
    }
}
