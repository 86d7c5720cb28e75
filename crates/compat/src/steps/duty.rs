//! The duty cycle of TPU chips: how much of the time any of a chip's cores computed.

use std::collections::BTreeMap;

use haloscope_profile::{HostId, Line, LineKind, Profile};
use haloscope_time::busy::{self, Duties, Duty};
use haloscope_time::intervals::Intervals;

use super::environment::chip;

/// Times summed over chips, picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DutyCycle {
    /// A core computed.
    pub(crate) busy_ps: i64,
    /// The same without custom calls of which nobody knows whether they compute.
    pub(crate) certain_ps: i64,
    /// From the first event to the last.
    pub(crate) span_ps: i64,
}

#[derive(Debug, Default)]
struct Chip {
    busy: Intervals,
    certain: Intervals,
    span: Option<(i64, i64)>,
}

impl DutyCycle {
    /// The duty cycle of these hosts' chips. A SparseCore counts with the TensorCore beside it.
    pub(crate) fn new(profile: &Profile, hosts: &[HostId]) -> Self {
        let mut all = Self::default();
        for host in hosts {
            for chip in chips(profile, *host).into_values() {
                let Some((first, last)) = chip.span else { continue };
                all.busy_ps = all.busy_ps.saturating_add(chip.busy.length());
                all.certain_ps = all.certain_ps.saturating_add(chip.certain.length());
                all.span_ps = all.span_ps.saturating_add(last - first);
            }
        }
        all
    }

    /// Busy time over the span, percent.
    pub(crate) fn percent(&self) -> f64 {
        self.share(self.busy_ps)
    }

    /// The same of what is certain.
    pub(crate) fn certain_percent(&self) -> f64 {
        self.share(self.certain_ps)
    }

    fn share(&self, ps: i64) -> f64 {
        if self.span_ps > 0 { ps as f64 / self.span_ps as f64 * 100.0 } else { 0.0 }
    }
}

/// The chips of a host: by number, planes that state none by their own.
fn chips(profile: &Profile, host: HostId) -> BTreeMap<(bool, u64), Chip> {
    let mut chips: BTreeMap<(bool, u64), Chip> = BTreeMap::new();
    for plane in profile.planes_of(host).filter(|p| p.name.starts_with("/device:TPU:")) {
        let key = chip(profile, plane).map_or((true, u64::from(plane.id.0)), |number| (false, number));
        let chip = chips.entry(key).or_default();
        let duties = Duties::of(profile, plane);
        for line in profile.lines_of(plane.id) {
            let is_sparse_ops = line.name == "Sparse Core Ops";
            let is_ops = is_sparse_ops || line.kind == LineKind::XlaOps;
            if !is_ops && line.kind != LineKind::XlaModules && line.name != "Sparse Core Modules" {
                continue;
            }
            let events = profile.events(line);
            // Events without a place in time stand where the line begins, as in XProf.
            let placeless = events.aggregated.iter().map(|(meta, _, length)| (*meta, line.base_ps, *length));
            let placeless: Vec<(u32, i64, i64)> = placeless.collect();
            let spans = placeless.iter().map(|(_, start, length)| (*start, start.saturating_add(*length)));
            for (first, last) in spans.chain(span_of(profile, line)) {
                let span = chip.span.get_or_insert((first, last));
                *span = (span.0.min(first), span.1.max(last));
            }
            if is_ops {
                let (busy, certain) = on_duty(profile, line, &duties, is_sparse_ops);
                chip.certain = chip.certain.union(certain.as_ref().unwrap_or(&busy));
                chip.busy = chip.busy.union(&busy);
                for (meta, start, length) in placeless {
                    let event = Intervals::one(start, start.saturating_add(length));
                    match duties.of_op(meta) {
                        Duty::Off => {}
                        Duty::Uncertain => chip.busy = chip.busy.union(&event),
                        Duty::On => {
                            chip.busy = chip.busy.union(&event);
                            chip.certain = chip.certain.union(&event);
                        }
                    }
                }
            }
        }
    }
    chips
}

/// From the first start to the last end of a line's events. As in XProf an event that neither begins after 1970 nor takes
/// time is none.
fn span_of(profile: &Profile, line: &Line) -> Option<(i64, i64)> {
    let events = profile.events(line);
    let span = events.span_ps()?;
    if line.timestamp_ns != 0 || span.0 != line.base_ps {
        return Some(span);
    }
    let first = events.iter().find(|e| (e.start_ps, e.end_ps) != (line.base_ps, line.base_ps))?;
    Some((first.start_ps.min(span.1), span.1))
}

/// When a core was on duty, and when it certainly was where that differs.
fn on_duty(
    profile: &Profile,
    line: &Line,
    duties: &Duties,
    is_sparse: bool,
) -> (Intervals, Option<Intervals>) {
    let busy = busy::on_duty(profile, line, |event| duties.of_op(event.meta) != Duty::Off);
    // What a SparseCore runs is work.
    let certain = (!is_sparse && duties.any_uncertain()).then(|| {
        busy::on_duty(profile, line, |event| match duties.of_op(event.meta) {
            Duty::On => true,
            Duty::Off => false,
            // XProf keeps the lower 32 bits of what an event states.
            Duty::Uncertain => duties.event_flops(profile, line, event).any(|flops| flops as i32 > 0),
        })
    });
    (busy, certain)
}
