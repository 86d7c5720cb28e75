//! When devices computed: busy intervals, spans, and the duty cycle as XProf defines it.

use super::intervals::Intervals;
use super::op_meta::{MetaIds, OpMeta, is_off_duty};
use super::ops::walk_nested;
use crate::profile::{Device, DeviceKind, LineKind, Mark, Profile};

/// Gaps shorter than this inside one program execution on a TPU are the program's own overhead (set-up, tear-down, steps
/// from op to op), not idleness: a TPU runs a program without the host's help. On a GPU each kernel is a launch of its own
/// and such gaps are idle time.
const PROGRAM_OVERHEAD_PS: i64 = 10_000_000;

/// The time in which a device executed ops, on the run's clock: the union over the `XLA Ops` line (TPU, with gaps inside a
/// program of under 10 us), all streams (GPU) or all host events that name an HLO op (CPU).
#[must_use]
pub fn intervals(profile: &Profile, device: &Device) -> Intervals {
    let mut parts = Vec::new();
    for line in profile.lines_of(device.plane) {
        let takes = match device.kind {
            DeviceKind::Tpu => line.kind == LineKind::XlaOps,
            DeviceKind::Gpu => line.kind == LineKind::Stream,
            DeviceKind::Cpu => line.kind == LineKind::Thread,
        };
        if !takes {
            continue;
        }
        let events = profile.events(line);
        let is_op =
            |e: &crate::profile::Event| device.kind != DeviceKind::Cpu || events.has(e.index, Mark::HloOp);
        let union = Intervals::union_of_sorted(events.iter().filter(is_op).map(|e| (e.start_ps, e.end_ps)));
        parts.extend_from_slice(union.as_slice());
    }
    let ops = Intervals::union_of(parts);
    if device.kind != DeviceKind::Tpu {
        return ops;
    }
    let programs = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::XlaModules);
    let programs = programs.flat_map(|l| profile.events(l).iter()).map(|e| (e.start_ps, e.end_ps));
    let gaps = Intervals::union_of(programs.collect()).minus(&ops);
    let overhead = gaps.as_slice().iter().filter(|(from, to)| to - from < PROGRAM_OVERHEAD_PS);
    ops.union(&Intervals::union_of_sorted(overhead.copied()))
}

/// Busy and span of a TPU's duty cycle, picoseconds, as XProf 2.24.2 counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DutyCycle {
    /// The union of ops less the self time of off-duty ones (infeed, outfeed, host transfers, waits for asynchronous ops).
    pub busy_ps: i64,
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
    let source = profile.source_of(plane);
    let ids = MetaIds::of(plane);
    let off_duty: Vec<bool> = (0..plane.metas.len() as u32)
        .map(|m| is_off_duty(&OpMeta::read(plane, source, m, &ids).category))
        .collect();
    let (mut span, mut busy_ps) = (Vec::new(), 0);
    for line in profile.lines_of(plane.id) {
        if !matches!(line.kind, LineKind::XlaOps | LineKind::XlaModules) {
            continue;
        }
        let events = profile.events(line);
        span.extend(events.span_ps());
        if line.kind == LineKind::XlaOps {
            let union = Intervals::union_of_sorted(events.iter().map(|e| (e.start_ps, e.end_ps)));
            busy_ps =
                (cut.map_or_else(|| union.length(), |c| union.intersect(c).length())).saturating_add(busy_ps);
            walk_nested(events.iter(), cut, |event, self_ps| {
                if off_duty[event.meta as usize] {
                    busy_ps = busy_ps.saturating_sub(self_ps);
                }
            });
        }
    }
    let first = span.iter().map(|s| s.0).min()?;
    let last = span.iter().map(|s| s.1).max()?;
    let span_ps = cut.map_or(last - first, |c| c.overlap(first, last));
    (span_ps > 0).then_some(DutyCycle { busy_ps: busy_ps.max(0), span_ps })
}
