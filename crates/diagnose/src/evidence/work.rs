//! What ops that compute could have taken at least, and how near to it comparable ops of the run come.

use std::collections::BTreeMap;

use haloscope_hlo::{ComputationIdx, InstructionIdx, Matmul, Module, Opcode, Shape};

use super::Evidence;
use haloscope_profile::{Decoded, DeviceKind, Stat, chips};
use haloscope_time::account::Class;
use haloscope_time::op_meta::Access;
use haloscope_time::ops::Op;
use haloscope_time::stats::quantile;

/// The limit that an op is nearest to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Roof {
    /// FLOPs of the matrix unit.
    Matrix,
    /// FLOPs of the vector unit, whose rate is a guess from that of the matrix unit.
    Vector,
    /// Bytes to and from HBM.
    Hbm,
    /// Bytes to and from the core's vector memory.
    Vmem,
    /// Exponentials and their kind, of which the vector unit's rate is a guess too.
    Exp,
}

impl Roof {
    /// What it is a limit of, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Matrix => "peak FLOP/s",
            Self::Vector => "the vector unit's rate",
            Self::Hbm => "HBM bandwidth",
            Self::Vmem => "VMEM bandwidth",
            Self::Exp => "the rate of exponentials",
        }
    }
}

/// An op that computes, against its roof.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// Position in [`Evidence::ops`].
    pub op: usize,
    /// Self time summed over devices, picoseconds; scaled to the time that compute takes where streams run side by side.
    pub time_ps: f64,
    /// The time that the nearest limit alone explains, picoseconds.
    pub floor_ps: f64,
    /// Which limit that is.
    pub roof: Roof,
    /// The time that its FLOPs alone would take at the peak for them, picoseconds.
    pub flops_ps: f64,
    /// The time that its bytes to and from HBM alone would take, picoseconds.
    pub hbm_ps: f64,
    /// What comparable ops reach: those of its category at the same limit, else all at that limit.
    pub reach: Reach,
}

impl Piece {
    /// The share of the roof that it reaches; above 1 only where a limit is a guess or the counts are wrong.
    pub(crate) fn efficiency(&self) -> f64 {
        self.floor_ps / self.time_ps.max(1.0)
    }
}

/// The times that each limit alone explains of an op, picoseconds, summed over its executions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// On the matrix unit; 0 of an op without products.
    pub matrix_ps: f64,
    /// On the vector unit; 0 of an op with products, whose FLOPs are theirs.
    pub vector_ps: f64,
    /// To and from HBM.
    pub hbm_ps: f64,
    /// To and from vector memory.
    pub vmem_ps: f64,
    /// Of exponentials.
    pub exp_ps: f64,
}

impl Limits {
    /// That of one limit.
    pub(crate) fn of(&self, roof: Roof) -> f64 {
        match roof {
            Roof::Matrix => self.matrix_ps,
            Roof::Vector => self.vector_ps,
            Roof::Hbm => self.hbm_ps,
            Roof::Vmem => self.vmem_ps,
            Roof::Exp => self.exp_ps,
        }
    }

    /// The limit that is nearest, and what it explains; `None` where nothing is explained.
    fn nearest(&self) -> Option<(f64, Roof)> {
        let all = [Roof::Matrix, Roof::Vector, Roof::Hbm, Roof::Vmem, Roof::Exp];
        let nearest = all.map(|roof| (self.of(roof), roof)).into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        (nearest.0 > 0.0).then_some(nearest)
    }
}

/// What the best of comparable ops reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reach {
    /// Share of the roof: the best quartile's; of twins the best one's.
    pub share: f64,
    /// Share of the roof that the best reach, where they agree within a few percent; else as `share`. Ceilings rest on it.
    pub best: f64,
    /// How many different ops it was taken over; 0 where there are none to compare with, and the roof itself stands for them.
    pub peers: usize,
    /// True where the better half of them lies within a few percent.
    pub is_tight: bool,
    /// True where they are twins: ops of the same category, FLOPs and bytes, of this program or another.
    pub is_twin: bool,
}

/// Peers need this share of the active window each.
const SMALLEST_PEER: f64 = 0.0005;
/// Products are all held back where they reach less than this of what others at the same limit reach.
const HELD_BACK: f64 = 0.6;
/// The matrix unit does not hold an op up where it explains at most this of its time, padding counted.
const MATRIX_EXPLAINS: f64 = 0.5;
/// Fewer peers say nothing.
const FEWEST_PEERS: usize = 3;

/// Nothing to compare with.
const ALONE: Reach = Reach { share: 1.0, best: 1.0, peers: 0, is_tight: false, is_twin: false };
/// A twin that reaches so much more shows what the op could; less is noise.
const TWIN_GAIN: f64 = 1.1;

/// What part of the matrix unit's FLOPs the vector unit does, and what part of the vector unit's are exponentials: four times
/// 1024 lanes and one result of an exponential a lane and cycle, against matrix units of 128 x 128.
const TPU: (f64, f64) = (1.0 / 32.0, 1.0 / 4.0);
/// The same for chips with matrix units of 256 x 256.
const WIDE_TPU: (f64, f64) = (1.0 / 128.0, 1.0 / 4.0);
/// The same for GPUs with tensor cores: 128 lanes of two FLOPs, 16 of special functions.
const GPU: (f64, f64) = (1.0 / 16.0, 1.0 / 16.0);

/// Rates beside the device's peaks, FLOP/s, results a second and bytes a second; the first two are estimates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    vector: Option<f64>,
    exp: Option<f64>,
    vmem_read: Option<f64>,
    vmem_write: Option<f64>,
}

impl Evidence<'_> {
    /// The ops that compute and of which FLOPs or bytes, and the peak for them, are known; in the order of the ops.
    pub(crate) fn pieces(&self) -> &[Piece] {
        self.pieces.get_or_init(|| {
            let rates = self.rates();
            let scale = self.compute_scale();
            let piece = |(index, op): (usize, &Op<'_>)| {
                let is_meant = Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
                let limits = is_meant.then(|| self.limits(op, &rates)).flatten()?;
                let (floor_ps, roof) = limits.nearest()?;
                let (flops_ps, hbm_ps) = (limits.matrix_ps.max(limits.vector_ps), limits.hbm_ps);
                let time_ps = op.self_ps as f64 * scale;
                Some(Piece { op: index, time_ps, floor_ps, roof, flops_ps, hbm_ps, reach: ALONE })
            };
            let pieces: Vec<Piece> = self.ops().iter().enumerate().filter_map(piece).collect();
            self.compared(pieces)
        })
    }

    /// Ops on several streams at once have more self time together than there is time with compute: by this factor less.
    pub(crate) fn compute_scale(&self) -> f64 {
        let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute;
        let all: f64 = self.ops().iter().filter(is_compute).map(|op| op.self_ps as f64).sum();
        if all > 0.0 { (self.times().of(Class::Compute) as f64 / all).min(1.0) } else { 1.0 }
    }

    /// The same pieces with what comparable ones reach.
    fn compared(&self, mut pieces: Vec<Piece>) -> Vec<Piece> {
        let smallest = SMALLEST_PEER * self.active_ps();
        let category = |piece: &Piece| self.ops().get(piece.op).map_or("", |op| op.meta.category.as_ref());
        let mut same: BTreeMap<(Roof, &str), Vec<f64>> = BTreeMap::new();
        let mut all: BTreeMap<Roof, Vec<f64>> = BTreeMap::new();
        for piece in pieces.iter().filter(|piece| piece.time_ps >= smallest) {
            let share = piece.efficiency().min(1.0);
            same.entry((piece.roof, category(piece))).or_default().push(share);
            if !is_irregular(category(piece)) {
                all.entry(piece.roof).or_default().push(share);
            }
        }
        let same: BTreeMap<_, _> = same.into_iter().map(|(key, shares)| (key, reach(shares))).collect();
        let all: BTreeMap<_, _> = all.into_iter().map(|(key, shares)| (key, reach(shares))).collect();
        let twins = self.twins(&pieces, smallest);
        for piece in &mut pieces {
            let own = same.get(&(piece.roof, category(piece))).copied().flatten();
            let others = all.get(&piece.roof).copied().flatten();
            piece.reach = match own.zip(others) {
                Some((own, others)) if self.are_held_back(piece, own, others) => others,
                _ => own.or(others).unwrap_or(ALONE),
            };
            let twins = self.twin_key(piece).and_then(|key| twins.get(&key));
            if let Some((best, count)) = twins.filter(|(best, _)| *best > TWIN_GAIN * piece.efficiency()) {
                let best = best.min(1.0);
                piece.reach = Reach { share: best, best, peers: count - 1, is_tight: true, is_twin: true };
            }
        }
        pieces
    }

    /// Whether all products of a piece's category that memory limits are far from what other ops reach of memory, and the matrix unit
    /// does not explain it, however badly their shapes fill it: then what they reach is not what such products can.
    fn are_held_back(&self, piece: &Piece, own: Reach, others: Reach) -> bool {
        if piece.roof != Roof::Hbm || !others.is_tight || own.share >= HELD_BACK * others.share {
            return false;
        }
        let edge = self.selection.devices.first().and_then(|device| chips::tpu(&device.type_name));
        let Some((op, edge)) = self.ops().get(piece.op).zip(edge.map(|chip| chip.matrix_edge)) else {
            return false;
        };
        // Loading a tile of the second operand takes as long as a tile's rows of the first.
        let fill = |one: &Matmul| Some(one.fill(edge)? * (one.m as f64 / edge as f64).min(1.0));
        let fills: Option<Vec<f64>> = self.products(op).iter().map(fill).collect();
        let least = fills.filter(|all| !all.is_empty()).map(|all| all.into_iter().fold(1.0, f64::min));
        least.is_some_and(|least| piece.flops_ps <= MATRIX_EXPLAINS * least * piece.time_ps)
    }

    /// Of ops of one category, with the same FLOPs and bytes: what the best reaches, and how many they are.
    fn twins(&self, pieces: &[Piece], smallest: f64) -> BTreeMap<(Roof, String, u64, u64), (f64, usize)> {
        let mut twins = BTreeMap::new();
        for piece in pieces.iter().filter(|piece| piece.time_ps >= smallest) {
            let Some(key) = self.twin_key(piece) else { continue };
            let best = twins.entry(key).or_insert((0.0_f64, 0));
            *best = (best.0.max(piece.efficiency()), best.1 + 1);
        }
        twins
    }

    /// What twins share: the limit, the category, FLOPs and bytes of an execution.
    fn twin_key(&self, piece: &Piece) -> Option<(Roof, String, u64, u64)> {
        let op = self.ops().get(piece.op).filter(|op| op.occurrences > 0)?;
        let each = |amount: Option<f64>| (amount.unwrap_or(0.0) / op.occurrences as f64).round() as u64;
        Some((piece.roof, op.meta.category.to_string(), each(op.flops), each(op.hbm_bytes)))
    }

    pub(super) fn rates(&self) -> Rates {
        let Some(device) = self.selection.devices.first() else { return Rates::default() };
        let plane = self.profile.plane(device.plane);
        let rate = |name| plane.stat(name).and_then(Stat::as_f64).filter(|v| *v > 0.0).map(|v| v * 1e9);
        let (vector_part, exp_part) = match (device.kind, device.type_name.as_str()) {
            (DeviceKind::Tpu, "TPU v6 Lite" | "TPU v7x") => WIDE_TPU,
            (DeviceKind::Tpu, _) => TPU,
            _ => GPU,
        };
        let vector = self.peaks.flops.map(|peak| peak.rate * vector_part);
        Rates {
            vector,
            exp: vector.map(|rate| rate * exp_part),
            vmem_read: rate("peak_vmem_rd_bw_gigabytes_per_second"),
            vmem_write: rate("peak_vmem_wr_bw_gigabytes_per_second"),
        }
    }

    /// What each limit explains of an op's time. `None` where one that may bind is not known: unknown FLOPs of a kernel leave it
    /// unknown; of other ops they count as none, because the compiler writes no zeros.
    pub(super) fn limits(&self, op: &Op<'_>, rates: &Rates) -> Option<Limits> {
        let work = op.work(op.self_ps);
        let flops = match work.flops {
            None if op.meta.category.contains("custom") => return None,
            flops => flops.unwrap_or(0.0),
        };
        let over = |amount: f64, rate: f64| if rate > 0.0 { amount / rate * 1e12 } else { 0.0 };
        let runs = op.occurrences as f64;
        let moved = |operation: u64| {
            let own = op.meta.accesses.iter().filter(|a| a.space == Access::VMEM && a.operation == operation);
            own.map(|a| a.bytes as f64).sum::<f64>() * runs
        };
        let (matrix_ps, vector_ps) = if self.is_matrix(op) {
            (over(flops, self.peaks.flops?.rate), 0.0)
        } else {
            (0.0, over(flops, rates.vector?))
        };
        let read_ps = rates.vmem_read.map_or(0.0, |rate| over(moved(Access::READ), rate));
        let write_ps = rates.vmem_write.map_or(0.0, |rate| over(moved(Access::WRITE), rate));
        let exps = self.transcendentals(op).unwrap_or(0.0) * runs;
        Some(Limits {
            matrix_ps,
            vector_ps,
            hbm_ps: over(work.hbm_bytes?, self.peaks.hbm?.rate),
            vmem_ps: read_ps.max(write_ps),
            exp_ps: rates.exp.map_or(0.0, |rate| over(exps, rate)),
        })
    }

    /// Exponentials, logarithms and their kind in one execution of an op, where the profile holds its program.
    pub(crate) fn transcendentals(&self, op: &Op<'_>) -> Option<f64> {
        let (decoded, index) = self.instruction(op)?;
        decoded.costs.instruction(index).transcendentals.map(|count| count as f64)
    }

    /// Whether an op multiplies matrices: by its HLO where there is one, else by its category.
    pub(crate) fn is_matrix(&self, op: &Op<'_>) -> bool {
        let category = op.meta.category.as_ref();
        if category.contains("convolution") || category.contains("dot") || category.contains("custom") {
            return true;
        }
        match self.instruction(op) {
            Some((decoded, index)) => holds_product(&decoded.module, index, 0),
            // The compiler builds output fusions around products.
            None => category == "output fusion" || category.contains("gemm"),
        }
    }

    /// Whether an op slices, updates in place, gathers or scatters, itself or inside of its fusion; `None` where the profile
    /// does not hold its program.
    pub(crate) fn slices(&self, op: &Op<'_>) -> Option<bool> {
        let (decoded, index) = self.instruction(op)?;
        let is_slice = |opcode: Opcode| {
            matches!(
                opcode,
                Opcode::DynamicSlice | Opcode::DynamicUpdateSlice | Opcode::Gather | Opcode::Scatter
            )
        };
        Some(holds(&decoded.module, index, 0, &is_slice))
    }

    /// Whether the profile holds the program of some op that took time.
    pub(crate) fn has_programs(&self) -> bool {
        self.ops().iter().any(|op| op.self_ps > 0 && self.instruction(op).is_some())
    }

    /// The matrix products of an op, those inside of a fusion too; none where the profile does not hold its program.
    pub(crate) fn products(&self, op: &Op<'_>) -> Vec<Matmul> {
        let mut found = Vec::new();
        if let Some((decoded, index)) = self.instruction(op) {
            collect(&decoded.module, index, 0, &mut found, &Module::matmul);
        }
        found
    }

    /// Whether all matrix products of an op are asked to count in full: see [`Module::is_highest_precision`].
    pub(crate) fn is_exact_product(&self, op: &Op<'_>) -> bool {
        let Some((decoded, index)) = self.instruction(op) else { return false };
        let mut rounded = Vec::new();
        let is_rounded = |module: &Module, at| module.matmul(at).filter(|_| !module.is_highest_precision(at));
        collect(&decoded.module, index, 0, &mut rounded, &is_rounded);
        rounded.is_empty() && !self.products(op).is_empty()
    }

    /// The convolutions of an op that are no matrix product in themselves, those inside of a fusion too, as the products of patches
    /// and kernels that they can be done as.
    pub(crate) fn convolutions(&self, op: &Op<'_>) -> Vec<Matmul> {
        let mut found = Vec::new();
        if let Some((decoded, index)) = self.instruction(op) {
            collect(&decoded.module, index, 0, &mut found, &as_product);
        }
        found
    }

    /// The instruction of an op, where the profile holds its program.
    pub(crate) fn instruction(&self, op: &Op<'_>) -> Option<(&Decoded, InstructionIdx)> {
        let decoded = self.program(op.meta.program_id?)?;
        Some((decoded, decoded.module.instruction_by_name(&op.meta.name)?))
    }
}

/// Ops whose accesses are scattered: nothing compares to them but ops of their kind.
pub(crate) fn is_irregular(category: &str) -> bool {
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
fn reach(mut shares: Vec<f64>) -> Option<Reach> {
    shares.sort_by(f64::total_cmp);
    if shares.len() < FEWEST_PEERS {
        return None;
    }
    let share = quantile(&shares, 0.75);
    let is_tight = share - quantile(&shares, 0.5) <= 0.03 * share;
    let best = if is_tight { quantile(&shares, 0.95) } else { share };
    Some(Reach { share, best, peers: shares.len(), is_tight, is_twin: false })
}

/// Deeper nesting is no compiler's.
const DEPTH: u32 = 8;

fn collect(
    module: &Module,
    index: InstructionIdx,
    depth: u32,
    found: &mut Vec<Matmul>,
    is_one: &dyn Fn(&Module, InstructionIdx) -> Option<Matmul>,
) {
    found.extend(is_one(module, index));
    let hlo = module.instruction(index);
    if depth < DEPTH && hlo.opcode == Opcode::Fusion {
        for inner in
            hlo.called_computations.iter().flat_map(|called| module.computation(*called).instructions())
        {
            collect(module, inner, depth + 1, found, is_one);
        }
    }
}

/// A convolution as a product of patches and kernels (im2col): a row for each output position, a column for each output feature,
/// summed over the kernel's positions and input features. `None` of what is a matrix product in itself, and of those with groups
/// or holes, which fill the matrix unit otherwise.
fn as_product(module: &Module, index: InstructionIdx) -> Option<Matmul> {
    let hlo = module.instruction(index);
    if hlo.opcode != Opcode::Convolution || module.matmul(index).is_some() {
        return None;
    }
    let attributes = hlo.attributes();
    let dims = attributes.convolution.as_ref()?;
    let is_one = |count: Option<i64>| count.unwrap_or(1) == 1;
    let is_whole =
        attributes.window.iter().all(|window| window.base_dilation <= 1 && window.window_dilation <= 1);
    if !is_one(attributes.feature_group_count) || !is_one(attributes.batch_group_count) || !is_whole {
        return None;
    }
    let &[lhs, rhs, ..] = hlo.operands.as_slice() else { return None };
    let (lhs, rhs) = (&module.instruction(lhs).shape, &module.instruction(rhs).shape);
    let n = u64::try_from(*rhs.dimensions.get(usize::try_from(dims.kernel_output_feature).ok()?)?).ok()?;
    let over = |shape: &Shape| shape.element_count()?.checked_div(n);
    Some(Matmul {
        m: over(&hlo.shape)?,
        n,
        k: over(rhs)?,
        batch: 1,
        lhs: lhs.element_type,
        rhs: rhs.element_type,
        result: hlo.shape.element_type,
    })
}

/// Whether an instruction, or what it calls, multiplies matrices.
fn holds_product(module: &Module, index: InstructionIdx, depth: u32) -> bool {
    let is_product = |opcode: Opcode| {
        matches!(opcode, Opcode::Dot | Opcode::Convolution | Opcode::RaggedDot | Opcode::CustomCall)
    };
    holds(module, index, depth, &is_product)
}

/// Whether an instruction, or one inside of the fusion that it is, has such an opcode.
fn holds(module: &Module, index: InstructionIdx, depth: u32, is_meant: &dyn Fn(Opcode) -> bool) -> bool {
    let hlo = module.instruction(index);
    let inside = |computation: &ComputationIdx| {
        let body = module.computation(*computation);
        body.instructions().any(|inner| holds(module, inner, depth + 1, is_meant))
    };
    is_meant(hlo.opcode)
        || depth < DEPTH && hlo.opcode == Opcode::Fusion && hlo.called_computations.iter().any(inside)
}
