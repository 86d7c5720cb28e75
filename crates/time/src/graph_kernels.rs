//! Which HLO op the kernels of a CUDA graph belong to.
//!
//! XLA puts a stretch of a program's schedule into a command buffer, which a GPU runs as one graph: each of its kernels then
//! carries the name of the buffer (`command_buffer_1`) and the number of its node in the graph, and no op. But the nodes run
//! in the order of the schedule, and XLA calls the kernels that it compiles after their instructions (`fusion.3` is
//! `fusion_3`). So kernels and instructions are aligned like two texts: names hold the alignment in place, and kernels of
//! libraries (products, convolutions, sorts), whose names say nothing, fall to the instructions between them that call
//! libraries. One kernel may serve several equal instructions. What does not fit stays with the command buffer.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use haloscope_hlo::{ComputationIdx, FusionKind, Module};
use haloscope_profile::{Device, DeviceKind, LineKind, MetaIdx, Profile, filled};
use rustc_hash::{FxHashMap, FxHashSet};

use super::hlo_costs::Costs;

/// A node of a graph: the graph's number and the node's.
pub(crate) type Node = (u64, u64);

/// The ops of a device's graph nodes, by program and node.
#[derive(Debug, Default)]
pub(crate) struct GraphKernels {
    ops: FxHashMap<(u64, Node), Arc<str>>,
}

/// More cells than this are not compared: graphs are smaller.
const MOST_CELLS: usize = 1 << 23;
/// What an instruction without a kernel costs between two that have some: a graph runs one stretch of the schedule.
const LEFT_OUT: f32 = 0.05;
/// Loops and calls in calls deeper than this are no compiler's.
const DEPTH: usize = 32;

impl GraphKernels {
    /// The nodes of a device, found once for all who ask about a run that is asked again.
    pub(crate) fn of(profile: &Profile, device: &Device) -> Arc<Self> {
        #[derive(Default)]
        struct Kept(Vec<OnceLock<Arc<GraphKernels>>>);
        let cells = profile.memo(|p| Kept(p.devices.iter().map(|_| OnceLock::new()).collect()));
        let Some(cell) = cells.and_then(|kept| kept.0.get(device.id.index())) else {
            return Arc::new(Self::find(profile, device));
        };
        Arc::clone(filled(cell, || Arc::new(Self::find(profile, device))))
    }

    /// The instruction that a node runs; `None` where it is not known.
    pub(crate) fn op(&self, program_id: u64, node: Node) -> Option<&Arc<str>> {
        self.ops.get(&(program_id, node))
    }

    fn find(profile: &Profile, device: &Device) -> Self {
        let mut found = Self::default();
        if device.kind != DeviceKind::Gpu {
            return found;
        }
        let plane = profile.plane(device.plane);
        let source = profile.source_of(plane);
        let costs = Costs::new(profile, device);
        for ((program_id, _), launch) in longest(profile, device) {
            let Some(module) = costs.program(program_id) else { continue };
            let ops = scheduled(module);
            let kernels: Vec<Kernel> =
                launch.iter().map(|began| Kernel::of(&plane.meta_label(source, began.meta))).collect();
            for (began, op) in launch.iter().zip(align(&kernels, &ops)) {
                if let Some(op) = op {
                    found.ops.insert((program_id, began.node), Arc::clone(&ops[op].own_name));
                }
            }
        }
        found
    }
}

/// When a node began in a launch of its graph, and the metadata of its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Began {
    start_ps: i64,
    node: Node,
    meta: MetaIdx,
}

/// A program and one of its graphs.
type GraphOf = (u64, u64);

/// Of each graph that ran on a device the nodes of the launch that ran the most of them, in the order in which they began.
fn longest(profile: &Profile, device: &Device) -> BTreeMap<GraphOf, Vec<Began>> {
    let plane = profile.plane(device.plane);
    let source = profile.source_of(plane);
    let names = ["cuda_graph_id", "cuda_graph_node_id", "program_id", "correlation_id"];
    let ids = names.map(|name| plane.stat_id(name));
    if ids[..3].iter().any(Option::is_none) {
        return BTreeMap::new();
    }
    let mut launches: BTreeMap<(GraphOf, u64), Vec<Began>> = BTreeMap::new();
    for line in profile.lines_of(device.plane).filter(|l| l.kind == LineKind::Stream) {
        let events = profile.events(line);
        for event in events.iter() {
            let mut stated = [None; 4];
            for stat in events.stats(source, event.index) {
                if let Some(at) = ids.iter().position(|id| *id == Some(stat.metadata_id)) {
                    stated[at] = stat.value.and_then(|v| v.as_u64_bits());
                }
            }
            let [Some(graph), Some(node), Some(program_id), launch] = stated else { continue };
            let began = Began { start_ps: event.start_ps, node: (graph, node), meta: event.meta };
            launches.entry(((program_id, graph), launch.unwrap_or(0))).or_default().push(began);
        }
    }
    let mut longest: BTreeMap<GraphOf, Vec<Began>> = BTreeMap::new();
    for ((graph, _), mut nodes) in launches {
        nodes.sort_unstable();
        // In a loop a node runs again.
        let mut seen = FxHashSet::default();
        nodes.retain(|began| seen.insert(began.node));
        let best = longest.entry(graph).or_default();
        if nodes.len() > best.len() {
            *best = nodes;
        }
    }
    longest
}

/// What kind of work a kernel does, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Of a collective.
    Collective,
    /// Copies memory.
    Copy,
    /// Sets memory, before the work of an op that calls a library.
    Sets,
    /// Gathers what such an op computed in parts, after its work.
    Gathers,
    /// Anything else.
    Other,
}

/// A kernel of a graph.
#[derive(Debug)]
struct Kernel {
    name: String,
    base: String,
    work: Work,
}

impl Kernel {
    fn of(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        let work = match () {
            () if has(&["nccl", "rccl", "nvshmem"]) => Work::Collective,
            () if has(&["memset"]) => Work::Sets,
            () if has(&["splitk", "split_k"]) => Work::Gathers,
            () if has(&["memcpy", "copybuffer"]) => Work::Copy,
            () => Work::Other,
        };
        Self { name: name.to_owned(), base: base(name).to_owned(), work }
    }
}

/// What an instruction runs on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// A kernel that XLA compiled and named after it.
    Named,
    /// Kernels of a library.
    Library,
    /// A fusion that a library or a kernel of another language may run.
    Custom,
    /// A copy of memory.
    Copy,
    /// A collective.
    Collective,
}

/// An instruction that runs kernels, in the order of the schedule.
#[derive(Debug)]
struct Op {
    own_name: Arc<str>,
    name: String,
    base: String,
    runs: Runs,
}

/// The instructions that run kernels, in the order in which they run; bodies of loops and calls stand where they are called.
fn scheduled(module: &Module) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut seen = vec![false; module.computations().len()];
    collect(module, module.entry(), DEPTH, &mut seen, &mut ops);
    ops
}

fn collect(module: &Module, computation: ComputationIdx, depth: usize, seen: &mut [bool], ops: &mut Vec<Op>) {
    if depth == 0 || std::mem::replace(&mut seen[computation.index()], true) {
        return;
    }
    for &index in module.order(computation).iter() {
        let hlo = module.instruction(index);
        let opcode = hlo.opcode_name();
        let runs = match opcode {
            "parameter" | "constant" | "tuple" | "get-tuple-element" | "bitcast" | "after-all"
            | "add-dependency" | "opt-barrier" | "domain" | "partition-id" | "replica-id" => continue,
            "while" => {
                // What is asked before each round, then the round.
                for called in hlo.called_computations.iter().rev() {
                    collect(module, *called, depth - 1, seen, ops);
                }
                continue;
            }
            "call" | "conditional" | "async-start" => {
                for called in &hlo.called_computations {
                    collect(module, *called, depth - 1, seen, ops);
                }
                continue;
            }
            done if done.ends_with("-done") || done == "async-update" => continue,
            "fusion" if hlo.attributes().fusion_kind == Some(FusionKind::Custom) => Runs::Custom,
            "custom-call" | "convolution" | "dot" | "sort" | "fft" | "cholesky" | "triangular-solve"
            | "rng" | "rng-bit-generator" | "scatter" | "topk" | "select-and-scatter" => Runs::Library,
            "copy" | "copy-start" | "dynamic-slice" | "dynamic-update-slice" | "slice" | "concatenate" => {
                Runs::Copy
            }
            "all-reduce"
            | "all-reduce-start"
            | "all-gather"
            | "all-gather-start"
            | "reduce-scatter"
            | "all-to-all"
            | "ragged-all-to-all"
            | "collective-permute"
            | "collective-permute-start"
            | "collective-broadcast"
            | "send"
            | "recv" => Runs::Collective,
            _ => Runs::Named,
        };
        let name = sanitised(&hlo.name);
        ops.push(Op { own_name: hlo.name.as_str().into(), base: base(&name).to_owned(), name, runs });
    }
}

/// An instruction's name as XLA gives it to its kernel.
fn sanitised(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// A name without the number behind it.
fn base(name: &str) -> &str {
    let cut = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match cut.strip_suffix('_') {
        Some(cut) if cut.len() < name.len() && !cut.is_empty() => cut,
        _ => name,
    }
}

/// How well a kernel fits an instruction: what it counts as the first kernel of it that does its work, and as another one.
/// `None` where it cannot be of it.
fn fits(kernel: &Kernel, op: &Op, is_foreign: bool) -> Option<Fit> {
    if kernel.name == op.name {
        return Some(Fit { does_work: true, score: 10.0, more: None });
    }
    if kernel.name.strip_prefix(op.name.as_str()).is_some_and(|rest| rest.starts_with("__")) {
        return Some(Fit { does_work: true, score: 9.0, more: Some(2.0) });
    }
    if kernel.base == op.base && op.runs != Runs::Library {
        return Some(Fit { does_work: true, score: 6.0, more: None });
    }
    let helper = |score, more| Some(Fit { does_work: false, score, more: Some(more) });
    let work = |score, more| Some(Fit { does_work: true, score, more: Some(more) });
    match (kernel.work, op.runs) {
        (Work::Collective, Runs::Collective) => work(8.0, 1.0),
        (Work::Copy, Runs::Copy) => work(4.0, 0.2),
        (Work::Copy | Work::Sets, Runs::Library | Runs::Custom) => helper(0.5, 0.2),
        (Work::Gathers, Runs::Library | Runs::Custom) => helper(0.1, 0.5),
        // Results that are added to are set to zero first.
        (Work::Sets, Runs::Named) => helper(0.1, 0.0),
        (Work::Other, Runs::Library) if is_foreign => work(4.0, 1.0),
        (Work::Other, Runs::Custom) if is_foreign => work(2.0, 0.5),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy)]
struct Fit {
    /// It can be what does the op's work.
    does_work: bool,
    score: f32,
    /// What it counts beside another kernel that does the op's work; `None` where it stands alone.
    more: Option<f32>,
}

/// How the best alignment of some kernels and some ops came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It is none: the kernel is not of this op.
    Nowhere,
    /// Without the last op.
    WithoutOp,
    /// Without the last kernel.
    WithoutKernel,
    /// The last kernel is of the last op, whose work is still to be done.
    Waits,
    /// The last kernel is of the last op, whose work is done.
    Done,
    /// The kernel is the first of its op.
    First,
}

/// The op of each kernel: of the alignments that keep both orders the one that scores highest (Needleman and Wunsch, with ops that
/// may have several kernels in a row).
fn align(kernels: &[Kernel], ops: &[Op]) -> Vec<Option<usize>> {
    const NONE: f32 = f32::NEG_INFINITY;
    let (rows, columns) = (kernels.len(), ops.len());
    if columns == 0 || rows.saturating_mul(columns) > MOST_CELLS {
        return vec![None; rows];
    }
    let bases: FxHashSet<&str> = ops.iter().map(|op| op.base.as_str()).collect();
    // With the kernels so far: the best over the first ops, and the best in which the last kernel is of each op.
    let mut best = vec![0.0_f32; columns + 1];
    let (mut waits, mut done) = (vec![NONE; columns], vec![NONE; columns]);
    let mut best_by = vec![Step::WithoutKernel; rows * columns];
    let (mut waits_by, mut done_by) =
        (vec![Step::Nowhere; rows * columns], vec![Step::Nowhere; rows * columns]);
    for (row, kernel) in kernels.iter().enumerate() {
        let is_foreign = !bases.contains(kernel.base.as_str());
        let (mut now_waits, mut now_done) = (vec![NONE; columns], vec![NONE; columns]);
        let mut now_best = vec![0.0_f32; columns + 1];
        for (column, op) in ops.iter().enumerate() {
            let cell = row * columns + column;
            if let Some(fit) = fits(kernel, op, is_foreign) {
                let (score, by) = highest([(best[column], Step::First), (waits[column], Step::Waits)]);
                if fit.does_work {
                    (now_done[column], done_by[cell]) = (score + fit.score, by);
                } else {
                    (now_waits[column], waits_by[cell]) = (score + fit.score, by);
                }
                let more = fit.more.map_or(NONE, |more| done[column] + more);
                if more > now_done[column] {
                    (now_done[column], done_by[cell]) = (more, Step::Done);
                }
            }
            (now_best[column + 1], best_by[cell]) = highest([
                (best[column + 1], Step::WithoutKernel),
                (now_best[column] - LEFT_OUT, Step::WithoutOp),
                (now_waits[column], Step::Waits),
                (now_done[column], Step::Done),
            ]);
        }
        (best, waits, done) = (now_best, now_waits, now_done);
    }
    // The way back, from the last kernel and the op with which the stretch ends.
    let mut found = vec![None; rows];
    let end = (0..=columns).rev().max_by(|a, b| best[*a].total_cmp(&best[*b])).unwrap_or(columns);
    let (mut row, mut column, mut state) = (rows, end, None);
    while row > 0 && column > 0 {
        let cell = (row - 1) * columns + column - 1;
        let by = match state {
            None => best_by[cell],
            Some(Step::Waits) => waits_by[cell],
            Some(_) => done_by[cell],
        };
        match (state, by) {
            (None, Step::WithoutOp) => column -= 1,
            (None, Step::WithoutKernel) => row -= 1,
            (None, here) => state = Some(here),
            (Some(_), by) => {
                found[row - 1] = Some(column - 1);
                row -= 1;
                if matches!(by, Step::Waits | Step::Done) {
                    state = Some(by);
                } else {
                    (column, state) = (column - 1, None);
                }
            }
        }
    }
    found
}

/// The highest of some scores, of equal ones the first.
fn highest<const N: usize>(scores: [(f32, Step); N]) -> (f32, Step) {
    scores
        .into_iter()
        .fold((f32::NEG_INFINITY, Step::Nowhere), |best, next| if next.0 > best.0 { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(name: &str, runs: Runs) -> Op {
        let own = sanitised(name);
        Op { own_name: name.into(), base: base(&own).to_owned(), name: own, runs }
    }

    fn aligned<'a>(kernels: &[&str], ops: &'a [Op]) -> Vec<&'a str> {
        let kernels: Vec<Kernel> = kernels.iter().map(|name| Kernel::of(name)).collect();
        let name = |at: Option<usize>| at.map_or("", |at| &*ops[at].own_name);
        align(&kernels, ops).into_iter().map(name).collect()
    }

    #[test]
    fn kernels_of_libraries_fall_between_those_with_names() {
        // As a step of a perceptron runs on an H200: one kernel serves two equal fusions, and each product sets a counter first.
        let ops = [
            op("gemm_fusion_dot_general.8", Runs::Custom),
            op("gemm_fusion_dot_general.9", Runs::Custom),
            op("gemm_fusion_dot_general.10", Runs::Custom),
            op("input_multiply_reduce_fusion", Runs::Named),
            op("loop_convert_fusion", Runs::Named),
            op("custom-call.4", Runs::Library),
            op("wrapped_subtract.2", Runs::Named),
            op("custom-call.1", Runs::Library),
            op("custom-call.3", Runs::Library),
            op("wrapped_subtract.1", Runs::Named),
        ];
        let kernels = [
            "gemm_fusion_dot_general_8",
            "gemm_fusion_dot_general_9",
            "gemm_fusion_dot_general_9",
            "input_multiply_reduce_fusion",
            "loop_convert_fusion",
            "Memset 0",
            "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT",
            "wrapped_subtract_2",
            "Memset 0",
            "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
            "Memset 0",
            "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT",
            "void cublasLt::splitKreduce_kernel<32, 16, int>",
            "wrapped_subtract_2",
        ];
        let expected = [
            "gemm_fusion_dot_general.8",
            "gemm_fusion_dot_general.9",
            "gemm_fusion_dot_general.10",
            "input_multiply_reduce_fusion",
            "loop_convert_fusion",
            "custom-call.4",
            "custom-call.4",
            "wrapped_subtract.2",
            "custom-call.1",
            "custom-call.1",
            "custom-call.3",
            "custom-call.3",
            "custom-call.3",
            "wrapped_subtract.1",
        ];
        assert_eq!(aligned(&kernels, &ops), expected);
    }

    #[test]
    fn a_graph_of_a_part_of_the_schedule_is_found_there() {
        let ops = [
            op("custom-call.1", Runs::Library),
            op("fusion.1", Runs::Named),
            op("custom-call.2", Runs::Library),
            op("fusion.2", Runs::Named),
            op("all-reduce-start.1", Runs::Collective),
        ];
        assert_eq!(aligned(&["gemm", "fusion_2"], &ops), ["custom-call.2", "fusion.2"]);
        assert_eq!(
            aligned(&["fusion_2", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"], &ops),
            ["fusion.2", "all-reduce-start.1"]
        );
    }

    #[test]
    fn what_fits_nothing_is_of_no_op() {
        let ops = [op("fusion.1", Runs::Named), op("copy.2", Runs::Copy)];
        assert_eq!(aligned(&["fusion_1", "nvjet_x", "memcpy128"], &ops), ["fusion.1", "", "copy.2"]);
        assert_eq!(aligned(&["fusion_1", "ncclDevKernel_AllGather"], &ops), ["fusion.1", ""]);
        assert!(aligned(&["a", "b"], &[]).iter().all(|name| name.is_empty()));
        // Names with numbers that no other op has are XLA's own, of another program: not a library's.
        assert_eq!(
            aligned(&["fusion_9"], &[op("custom-call", Runs::Library), op("fusion.1", Runs::Library)]),
            [""]
        );
    }

    #[test]
    fn names_without_their_numbers() {
        assert_eq!(
            [base("fusion_12"), base("fusion"), base("copy_1_2"), base("_7"), base("h100")],
            ["fusion", "fusion", "copy_1", "_7", "h100"]
        );
        assert_eq!(sanitised("copy-start.3"), "copy_start_3");
    }
}
