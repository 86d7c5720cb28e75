//! What ops that compute could have taken at least, and how near to it comparable ops of the run come.

use haloscope_hlo::{ComputationIdx, InstructionIdx, Module, Opcode};

use super::Evidence;
use crate::derive::account::Class;
use crate::derive::op_meta::Access;
use crate::derive::ops::Op;
use crate::derive::stats::quantile;
use crate::profile::{DeviceKind, Stat};

/// The limit that an op is nearest to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analyses::diagnose) enum Roof {
    /// FLOPs of the matrix unit.
    Matrix,
    /// FLOPs of the vector unit, whose rate is a guess from that of the matrix unit.
    Vector,
    /// Bytes to and from HBM.
    Hbm,
    /// Bytes to and from the core's vector memory.
    Vmem,
}

impl Roof {
    /// What it is a limit of, in words.
    pub(in crate::analyses::diagnose) fn words(self) -> &'static str {
        match self {
            Self::Matrix => "peak FLOP/s",
            Self::Vector => "the vector unit's rate",
            Self::Hbm => "HBM bandwidth",
            Self::Vmem => "VMEM bandwidth",
        }
    }
}

/// An op that computes, against its roof.
#[derive(Debug, Clone, Copy)]
pub(in crate::analyses::diagnose) struct Piece {
    /// Position in [`Evidence::ops`].
    pub op: usize,
    /// Self time summed over devices, picoseconds; scaled to the time that compute takes where streams run side by side.
    pub time_ps: f64,
    /// The time that the nearest limit alone explains, picoseconds.
    pub floor_ps: f64,
    /// Which limit that is.
    pub roof: Roof,
}

impl Piece {
    /// The share of the roof that it reaches; above 1 only where a limit is a guess or the counts are wrong.
    pub(in crate::analyses::diagnose) fn efficiency(&self) -> f64 {
        self.floor_ps / self.time_ps.max(1.0)
    }
}

/// What the best of comparable ops reach.
#[derive(Debug, Clone, Copy)]
pub(in crate::analyses::diagnose) struct Reach {
    /// Share of the roof: the best quartile's.
    pub share: f64,
    /// How many different ops it was taken over; 0 where there are none to compare with, and the roof itself stands for them.
    pub peers: usize,
    /// True where the better half of them lies within a few percent.
    pub is_tight: bool,
}

/// A vector unit does this part of the matrix unit's FLOPs: on TPUs published figures give a 30th to a 35th.
const VECTOR_PART: f64 = 1.0 / 32.0;
/// Peers need this share of the active window each.
const SMALLEST_PEER: f64 = 0.0005;
/// Fewer peers say nothing.
const FEWEST_PEERS: usize = 3;

/// Rates of a core's vector memory, bytes a second, where the profile states them.
#[derive(Clone, Copy, Default)]
struct Vmem {
    read: Option<f64>,
    write: Option<f64>,
}

impl Evidence<'_> {
    /// The ops that compute and of which FLOPs or bytes, and the peak for them, are known; in the order of the ops.
    pub(in crate::analyses::diagnose) fn pieces(&self) -> Vec<Piece> {
        let vmem = self.vmem();
        let scale = self.compute_scale();
        let piece = |(index, op): (usize, &Op<'_>)| {
            let is_meant = Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
            let (floor_ps, roof) = is_meant.then(|| self.floor(op, vmem)).flatten()?;
            Some(Piece { op: index, time_ps: op.self_ps as f64 * scale, floor_ps, roof })
        };
        self.ops().iter().enumerate().filter_map(piece).collect()
    }

    /// Ops on several streams at once have more self time together than there is time with compute: by this factor less.
    pub(in crate::analyses::diagnose) fn compute_scale(&self) -> f64 {
        let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute;
        let all: f64 = self.ops().iter().filter(is_compute).map(|op| op.self_ps as f64).sum();
        if all > 0.0 { (self.times().of(Class::Compute) as f64 / all).min(1.0) } else { 1.0 }
    }

    /// What ops that are comparable to one reach: those of its category at the same limit, else all at that limit.
    pub(in crate::analyses::diagnose) fn reach(&self, pieces: &[Piece], of: &Piece) -> Reach {
        let category = |piece: &Piece| self.ops()[piece.op].meta.category.as_ref();
        let is_peer = |p: &&Piece| p.roof == of.roof && self.of_active(p.time_ps) >= SMALLEST_PEER;
        let same: Vec<&Piece> =
            pieces.iter().filter(is_peer).filter(|p| category(p) == category(of)).collect();
        if let Some(reach) = reach(&same) {
            return reach;
        }
        let others: Vec<&Piece> =
            pieces.iter().filter(is_peer).filter(|p| !is_irregular(category(p))).collect();
        reach(&others).unwrap_or(Reach { share: 1.0, peers: 0, is_tight: false })
    }

    fn vmem(&self) -> Vmem {
        let device = self.selection.devices.iter().find(|d| d.kind == DeviceKind::Tpu);
        let Some(device) = device else { return Vmem::default() };
        let plane = self.profile.plane(device.plane);
        let rate = |name| plane.stat(name).and_then(Stat::as_f64).filter(|v| *v > 0.0).map(|v| v * 1e9);
        Vmem {
            read: rate("peak_vmem_rd_bw_gigabytes_per_second"),
            write: rate("peak_vmem_wr_bw_gigabytes_per_second"),
        }
    }

    /// The least time that an op could take, and what limits it. Unknown FLOPs of a kernel leave it unknown; of other ops
    /// they count as none, because the compiler writes no zeros.
    fn floor(&self, op: &Op<'_>, vmem: Vmem) -> Option<(f64, Roof)> {
        let work = op.work(op.self_ps);
        let flops = match work.flops {
            None if op.meta.category.contains("custom") => return None,
            flops => flops.unwrap_or(0.0),
        };
        let peak = self.peaks.flops.map(|p| p.rate);
        let over = |amount: f64, rate: f64| if rate > 0.0 { amount / rate * 1e12 } else { 0.0 };
        let (flop_rate, flop_roof) = if self.is_matrix(op) {
            (peak, Roof::Matrix)
        } else {
            (peak.map(|rate| rate * VECTOR_PART), Roof::Vector)
        };
        let runs = op.occurrences as f64;
        let moved = |operation: u64| {
            let own = op.meta.accesses.iter().filter(|a| a.space == Access::VMEM && a.operation == operation);
            own.map(|a| a.bytes as f64).sum::<f64>() * runs
        };
        let hbm = self.peaks.hbm.map(|p| p.rate);
        let limits = [
            (flop_rate.map(|rate| over(flops, rate)), flop_roof),
            (work.hbm_bytes.zip(hbm).map(|(bytes, rate)| over(bytes, rate)), Roof::Hbm),
            (vmem.read.map(|rate| over(moved(Access::READ), rate)), Roof::Vmem),
            (vmem.write.map(|rate| over(moved(Access::WRITE), rate)), Roof::Vmem),
        ];
        // A limit that is not known may be the one that binds.
        limits[0].0?;
        limits[1].0?;
        let known = limits.into_iter().filter_map(|(ps, roof)| Some((ps?, roof)));
        known.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(ps, _)| *ps > 0.0)
    }

    /// Whether an op multiplies matrices: by its HLO where there is one, else by its category.
    fn is_matrix(&self, op: &Op<'_>) -> bool {
        let category = op.meta.category.as_ref();
        if category.contains("convolution") || category.contains("dot") || category.contains("custom") {
            return true;
        }
        match self.instruction(op) {
            Some((module, index)) => holds_product(module, index, 0),
            // The compiler builds output fusions around products.
            None => category == "output fusion" || category.contains("gemm"),
        }
    }

    /// The instruction of an op, where the profile holds its program.
    pub(in crate::analyses::diagnose) fn instruction(
        &self,
        op: &Op<'_>,
    ) -> Option<(&Module, InstructionIdx)> {
        let id = op.meta.program_id?;
        let entry = self.profile.modules.iter().find(|m| m.program_id == Some(id))?;
        let module = &entry.decode(&self.profile.sources[entry.source]).ok()?.module;
        Some((module, module.instruction_by_name(&op.meta.name)?))
    }
}

/// Ops whose accesses are scattered: nothing compares to them but ops of their kind.
pub(in crate::analyses::diagnose) fn is_irregular(category: &str) -> bool {
    [
        "gather",
        "scatter",
        "sort",
        "dynamic",
        "custom",
        "rng",
        "top",
        "select",
        "fft",
        "cholesky",
        "triangular",
    ]
    .iter()
    .any(|word| category.contains(word) && category != "all-gather")
}

/// The best quartile of ops, where there are enough.
fn reach(peers: &[&Piece]) -> Option<Reach> {
    let limit = |p: &&Piece| if p.roof == Roof::Vector { p.efficiency() } else { p.efficiency().min(1.0) };
    let mut shares: Vec<f64> = peers.iter().map(limit).collect();
    shares.sort_by(f64::total_cmp);
    if shares.len() < FEWEST_PEERS {
        return None;
    }
    let share = quantile(&shares, 0.75);
    let is_tight = share - quantile(&shares, 0.5) <= 0.03 * share;
    Some(Reach { share, peers: shares.len(), is_tight })
}

/// Whether an instruction, or what it calls, multiplies matrices.
fn holds_product(module: &Module, index: InstructionIdx, depth: u32) -> bool {
    /// Deeper nesting is no compiler's.
    const DEPTH: u32 = 8;
    let hlo = module.instruction(index);
    let is_product = matches!(hlo.opcode, Opcode::Dot | Opcode::Convolution | Opcode::RaggedDot);
    let inside = |computation: &ComputationIdx| {
        let body = module.computation(*computation);
        body.instructions().any(|inner| holds_product(module, inner, depth + 1))
    };
    is_product
        || hlo.opcode == Opcode::CustomCall
        || depth < DEPTH && hlo.opcode == Opcode::Fusion && hlo.called_computations.iter().any(inside)
}
