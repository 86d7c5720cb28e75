//! The floors that we know ourselves: what the counted work takes at least at the device's peaks.
//!
//! A time below them is not possible with that work: either the time is not of this work, or the work was not done as counted,
//! as where a kernel skips the masked half of attention and its author counted all of it.

use super::metric::Source;
use super::quantity::words;
use haloscope_profile::{Device, DeviceKind};
use haloscope_program::typed_peak::{Precision, TypedPeaks};
use haloscope_report::Unit;
use haloscope_time::account::Class;
use haloscope_time::ops::{self, Op};
use haloscope_time::pallas::Bound;

/// Clocks and counts agree to this share.
const SLACK: f64 = 0.02;

/// The least time of something that ran.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Floor {
    /// What ran.
    pub what: String,
    /// The time it took, picoseconds, summed over executions and devices.
    pub time_ps: f64,
    /// The least time of its counted work, likewise.
    pub least_ps: f64,
    /// What was counted.
    limit: Limit,
    /// The op stated the count itself: its author's estimate.
    is_stated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Flops,
    HbmBytes,
}

impl Floor {
    /// Whether it took less than is possible.
    pub(super) fn is_beaten(&self) -> bool {
        self.time_ps < self.least_ps * (1.0 - SLACK)
    }

    /// What that says, in words.
    pub(super) fn why(&self) -> String {
        let (time, least) = (words(self.time_ps, Unit::Ps), words(self.least_ps, Unit::Ps));
        let (counted, peak) = match self.limit {
            Limit::Flops => ("FLOPs", "peak FLOP/s"),
            Limit::HbmBytes => ("HBM bytes", "peak HBM bandwidth"),
        };
        if !self.is_beaten() {
            return format!(
                "{time} for work that takes at least {least} at {peak}: {} of peak",
                words(self.least_ps / self.time_ps.max(1.0), Unit::Share)
            );
        }
        let reason = match (self.limit, self.is_stated) {
            (Limit::Flops, true) => {
                "the work is probably over-counted: its author stated the FLOPs, and the kernel may skip part of them (masked blocks)"
            }
            (Limit::Flops, false) => {
                "the compiler counted the FLOPs: either the peak is for another type, or not all of the work was timed"
            }
            (Limit::HbmBytes, _) => {
                "the bytes are probably over-counted: values in a nearer memory are not read from HBM again"
            }
        };
        format!("impossible as counted: {time} for {counted} that take at least {least} at {peak}; {reason}")
    }
}

/// The floor of all ops that compute together: the sum of what each takes at least by its FLOPs. `None` where FLOPs or peaks
/// are not known.
pub(super) fn of_run(run: &Source<'_>) -> Option<Floor> {
    let selection = run.asked.selection().ok()?;
    let device = selection.devices.first()?;
    let peaks = TypedPeaks::of(run.profile, device)?;
    let ops = ops::collect(run.profile, selection);
    let is_meant = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute;
    let floors: Vec<Floor> = ops.iter().filter(is_meant).filter_map(|op| by_flops(op, &peaks)).collect();
    let least_ps: f64 = floors.iter().map(|floor| floor.least_ps).sum();
    let time_ps: f64 = ops.iter().filter(is_meant).map(|op| op.self_ps as f64).sum();
    let stated: f64 = floors.iter().filter(|f| f.is_stated).map(|f| f.least_ps).sum();
    (least_ps > 0.0 && time_ps > 0.0).then(|| Floor {
        what: "all ops that compute".into(),
        time_ps,
        least_ps,
        limit: Limit::Flops,
        is_stated: stated * 2.0 > least_ps,
    })
}

/// The ops that took less than their counted work takes at least, those that take most time first.
pub(super) fn beaten(run: &Source<'_>) -> Vec<Floor> {
    let Ok(selection) = run.asked.selection() else { return Vec::new() };
    let Some(device) = selection.devices.first() else { return Vec::new() };
    let typed = TypedPeaks::of(run.profile, device);
    let ops = ops::collect(run.profile, selection);
    let floors = ops.iter().filter(|op| Class::of(&op.meta) == Class::Compute && op.self_ps > 0);
    let floors = floors.flat_map(|op| {
        let of_flops = typed.as_ref().and_then(|peaks| by_flops(op, peaks));
        [of_flops, by_bytes(op, device)].into_iter().flatten()
    });
    floors.filter(Floor::is_beaten).collect()
}

fn by_flops(op: &Op<'_>, peaks: &TypedPeaks) -> Option<Floor> {
    let work = op.work(op.self_ps);
    let rate = peaks.peak(Precision::of_op(&op.meta, None)).rate;
    let least_ps = work.flops.filter(|flops| *flops > 0.0 && rate > 0.0)? / rate * 1e12;
    Some(Floor {
        what: op.meta.name.clone().into_owned(),
        time_ps: work.time_ps,
        least_ps,
        limit: Limit::Flops,
        is_stated: (op.meta.category.contains("custom") || op.meta.flops_from_events)
            && op.meta.pallas.as_ref().is_none_or(|kernel| kernel.flops() == Bound::Stated),
    })
}

/// Of GPUs and CPUs caches stand between an op and its bytes, and nobody counts what passes them.
fn by_bytes(op: &Op<'_>, device: &Device) -> Option<Floor> {
    if device.kind != DeviceKind::Tpu {
        return None;
    }
    let work = op.work(op.self_ps);
    let rate = device.peaks.hbm.map(|peak| peak.rate).filter(|rate| *rate > 0.0)?;
    let least_ps = work.hbm_bytes.filter(|bytes| *bytes > 0.0)? / rate * 1e12;
    Some(Floor {
        what: op.meta.name.clone().into_owned(),
        time_ps: work.time_ps,
        least_ps,
        limit: Limit::HbmBytes,
        is_stated: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beaten_floor_says_which_count_to_doubt() {
        let floor =
            |limit, is_stated| Floor { what: "k".into(), time_ps: 1e9, least_ps: 1.5e9, limit, is_stated };
        assert!(floor(Limit::Flops, true).is_beaten());
        assert!(floor(Limit::Flops, true).why().contains("over-counted: its author stated"));
        assert!(floor(Limit::Flops, false).why().contains("the compiler counted"));
        assert!(floor(Limit::HbmBytes, false).why().contains("nearer memory"));
        let kept = Floor { least_ps: 0.5e9, ..floor(Limit::Flops, true) };
        assert!(!kept.is_beaten() && kept.why().contains("50.0% of peak"), "{}", kept.why());
        // Rounding is no wonder.
        assert!(!Floor { least_ps: 1.01e9, ..floor(Limit::Flops, true) }.is_beaten());
    }
}
