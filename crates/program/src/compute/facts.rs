//! What is known of each op: what it does, for which part of a step, and how near its limit.

use rustc_hash::FxHashSet;

use crate::attribution::is_frame;
use haloscope_hlo::{InstructionIdx, Module};

use crate::typed_peak::{Precision, TypedPeak, TypedPeaks};
use haloscope_profile::Profile;
use haloscope_time::layer::Layer;
use haloscope_time::op_class::{Bodies, Class};
use haloscope_time::op_meta::is_container;
use haloscope_time::ops::Op;
use haloscope_time::phase::{self, Phase, components};
use haloscope_time::select::Selection;

/// An op and what is known of it.
pub(super) struct Fact<'a, 'p> {
    pub(super) op: &'a Op<'p>,
    pub(super) hlo: Option<(&'p Module, InstructionIdx)>,
    pub(super) class: Class,
    pub(super) phase: Phase,
    pub(super) precision: Option<Precision>,
    pub(super) peak: Option<TypedPeak>,
    pub(super) limit: Limit,
}

/// The least time that an op could take by the roofline, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// max(FLOPs / peak, bytes / bandwidth), picoseconds, and whether FLOPs decide.
    Floor { compute_ps: f64, memory_ps: f64 },
    /// Nobody counted its FLOPs.
    NoFlops,
    /// Nobody counted its bytes.
    NoBytes,
    /// The device's peaks are not known.
    NoPeaks,
    /// Communication, transfers, waits, own time of loops: FLOPs and bytes have nothing to do with the time.
    NotCompute,
}

impl Limit {
    /// Why an op is held against no limit, in words; `None` for one that is.
    pub(super) fn reason(self) -> Option<&'static str> {
        match self {
            Self::Floor { .. } => None,
            Self::NoFlops => Some("FLOPs not counted"),
            Self::NoBytes => Some("bytes not counted"),
            Self::NoPeaks => Some("peaks not known"),
            Self::NotCompute => Some("communication, transfers, waits, control flow"),
        }
    }
}

impl Fact<'_, '_> {
    /// Time beyond the limit, picoseconds, at least 0: an op above the roof was counted with bytes that a cache served.
    pub(super) fn shortfall_ps(&self) -> Option<f64> {
        match self.limit {
            Limit::Floor { compute_ps, memory_ps } => {
                Some((self.op.self_ps as f64 - compute_ps.max(memory_ps)).max(0.0))
            }
            _ => None,
        }
    }

    /// FLOPs that count in sums: those of containers are those of the ops inside.
    pub(super) fn flops(&self) -> Option<f64> {
        self.op.flops.filter(|_| self.class != Class::Control)
    }

    /// Likewise bytes.
    pub(super) fn hbm_bytes(&self) -> Option<f64> {
        self.op.hbm_bytes.filter(|_| self.class != Class::Control)
    }

    /// Those that pass in its own time: not those of asynchronous copies.
    pub(super) fn own_hbm_bytes(&self) -> Option<f64> {
        self.hbm_bytes().filter(|_| !matches!(self.class, Class::AsyncCopy | Class::HostTransfer))
    }

    /// The layer, as the scope path names it.
    pub(super) fn layer(&self) -> String {
        layer(&self.op.meta.framework_op)
    }
}

/// The layer that a scope path names: by number, or, where all layers run as one loop, by the scope in its body.
fn layer(path: &str) -> String {
    if let Some(layer) = Layer::of(path) {
        return layer.to_string();
    }
    let mut inside = components(path).skip_while(|part| *part != "body").skip(1).peekable();
    while let Some(part) = inside.next() {
        if !is_frame(part) && inside.peek().is_some() {
            return format!("{part} (all of a loop)");
        }
    }
    "(no layer)".to_owned()
}

/// The facts of all ops, in their order.
pub(super) fn all<'a, 'p>(
    profile: &'p Profile,
    selection: &Selection<'p>,
    ops: &'a [Op<'p>],
) -> Vec<Fact<'a, 'p>> {
    let bodies = Bodies::of(profile, ops.iter().filter_map(|op| op.meta.program_id));
    let program = |op: &Op<'p>| (op.meta.program_id, op.module.clone());
    let training: FxHashSet<_> = ops
        .iter()
        .filter(|op| phase::is_of_training(&op.meta.framework_op, op_type(op)))
        .map(program)
        .collect();
    let peaks = selection.peaks();
    let device = selection.devices.first().filter(|_| peaks.flops.is_some());
    let typed = device.and_then(|device| TypedPeaks::of(profile, device));
    let fact = |op: &'a Op<'p>| {
        let hlo = bodies.find(&op.meta);
        let class = bodies.class(&op.meta);
        let precision = match class {
            Class::Control | Class::Collective | Class::AsyncCopy | Class::HostTransfer => None,
            _ => Precision::of_op(&op.meta, hlo),
        };
        let peak = typed.map(|typed| typed.peak(precision));
        let of_training = training.contains(&program(op));
        Fact {
            op,
            hlo,
            class,
            phase: Phase::of(&op.meta.name, &op.meta.framework_op, op_type(op), of_training),
            precision,
            peak,
            limit: limit(op, class, peak, peaks.hbm.map(|p| p.rate)),
        }
    };
    ops.iter().map(fact).collect()
}

/// The type behind the last colon of `tf_op`.
fn op_type<'a>(op: &'a Op<'_>) -> &'a str {
    op.meta.tf_op.rsplit_once(':').map_or("", |(_, kind)| kind)
}

fn limit(op: &Op<'_>, class: Class, peak: Option<TypedPeak>, bandwidth: Option<f64>) -> Limit {
    if !class.has_limits() || is_container(&op.meta.category) {
        return Limit::NotCompute;
    }
    // What only moves data computes nothing, whether or not somebody counted that.
    let flops = op.flops.or((class == Class::DataMovement).then_some(0.0));
    let (Some(peak), Some(bandwidth)) = (peak, bandwidth) else { return Limit::NoPeaks };
    match (flops, op.hbm_bytes) {
        (None, _) => Limit::NoFlops,
        (_, None) => Limit::NoBytes,
        (Some(flops), Some(bytes)) => {
            Limit::Floor { compute_ps: flops / peak.rate * 1e12, memory_ps: bytes / bandwidth * 1e12 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_by_number_or_by_the_loop_that_runs_them() {
        assert_eq!(layer("jit(f)/layer_3/attention/add"), "layer 3");
        let looped =
            "jit(step)/transpose(jvp())/while/body/closed_call/checkpoint/decoder_layer/mlp/dot_general";
        assert_eq!(layer(looped), "decoder_layer (all of a loop)");
        assert_eq!(layer("jit(step)/jvp()/while/body/closed_call/add"), "(no layer)");
        assert_eq!(layer("jit(step)/jvp(logits)/dot_general"), "(no layer)");
        assert_eq!(layer(""), "(no layer)");
    }
}
