//! FLOPs, transcendentals and bytes of instructions, by the rules of XLA's `HloCostAnalysis`.
//!
//! The rules, with `n` the elements of the result:
//!
//! | instruction | FLOPs | bytes |
//! |---|---|---|
//! | elementwise | `n` (transcendental ops count `n` transcendentals instead) | operands + result |
//! | `dot`, `ragged-dot` | `2 * n * contracted extent` | operands + result |
//! | `convolution` | `2 * in features/groups * out features * batch/groups * valid positions` | operands + result |
//! | `reduce` | `(input - n)` times its function | operands + result |
//! | `reduce-window` | `(window - 1) * n` times its function | operands + result |
//! | `select-and-scatter` | per source element `window - 1` selects and one scatter | operands + result |
//! | `map`, `scatter` | `n`, or the updates' elements, times its function | operands + result; `scatter` 3 updates + indices |
//! | `sort` | `e * ceil(log2 e)` of the first operand's `e` elements | operands + result |
//! | `fft` | `8 * e * product of floor(log2 length)` | operands + result |
//! | `cholesky`, `triangular-solve` | `e * last dimension / 3`, `2 * e * last dimension` | the matrix counts half |
//! | `all-reduce` | `n`: two devices are assumed, as in XLA | operands + result |
//! | `rng`, `rng-bit-generator` | `n` transcendentals | operands + result |
//! | `slice`, `gather`, `dynamic-slice` | 0 | twice the result + indices |
//! | `dynamic-update-slice` | 0 | twice the update + indices: the operand is updated in place |
//! | `fusion` | sum of its body | what its body really reads of each parameter + results + large constants |
//! | `while` | body and condition **once** | the same |
//! | `conditional` | the largest branch, property by property | the same |
//! | `call`, `async-start` | the called computation | the same |
//! | `all-gather-start` and the like, and their `-done` | 0 (`all-reduce-start`: `n`) | operands, and result |
//! | `parameter`, `constant`, `tuple`, `get-tuple-element`, `bitcast` and the like | 0 | 0 |
//! | other data movement and collectives | 0 | operands + result |
//!
//! # Where this differs from XLA
//!
//! - XLA gives -1 where it does not know. Here it is `None`, and a sum is a lower bound with
//!   [`Cost::unknown_instructions`] above zero. Custom calls whose cost is known are counted: Pallas kernels by
//!   their Mosaic module ([`CostAnalysis::kernel`]), else by their author's `cost_estimate`, cuBLAS matrix products and cuDNN convolutions by the dimensions that their call
//!   carries, buffer allocations, sharding and other markers as nothing.
//! - XLA counts a tuple as its table of pointers (`8 * elements` bytes on CPU and GPU). Here a tuple that an instruction
//!   writes counts its arrays, and `tuple` itself nothing; [`CostOptions::xla`] counts as XLA does.
//! - XLA counts source and destination of asynchronous copies and collectives at both ends. Here, as in profiles, the
//!   start reads the source and the end writes the destination; an `async-start` has all of its computation's bytes.
//! - XLA calls batch normalisation, which it does not implement, 0 FLOPs. Here they are `None`.
//! - TPU's compiler agrees on FLOPs and transcendentals, and on bytes once [`CostOptions::tile_padding`] is set, apart from
//!   asynchronous copies (above), tuples (512 bytes each) and gathers and scatters (it pads each row to a tile).
//! - A fusion nested in another and at its root is counted as reading its operands, which XLA forgets.
//! - Sums are integers; XLA adds in 32-bit floats, so its large totals are rounded.

mod convolution;
mod custom_call;
mod fusion;
mod gpu;
mod gpu_cycles;
mod kernel;
mod leaf;
mod utilization;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use convolution::valid_positions;
pub use gpu::Traffic;
pub use kernel::{KernelCost, best};

use crate::{
    index::{ComputationIdx, InstructionIdx},
    instruction::Instruction,
    module::Module,
    opcode::Opcode,
    shape::Shape,
};

/// What an instruction or a set of instructions costs in one execution. `None` is unknown, which is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Floating-point (and integer) operations; a multiply-add is two. Transcendentals are not among them.
    pub flops: Option<u64>,
    /// Evaluations of exp, log, tanh, sqrt and the like.
    pub transcendentals: Option<u64>,
    /// Bytes read and written in memory, without tile padding.
    pub bytes_accessed: Option<u64>,
    /// How many instructions in the sum have an unknown property. Above 0, each property is a lower bound.
    pub unknown_instructions: u64,
}

impl Cost {
    /// Nothing at all, and known to be so.
    pub const ZERO: Self =
        Self { flops: Some(0), transcendentals: Some(0), bytes_accessed: Some(0), unknown_instructions: 0 };
    /// Nothing is known.
    pub const UNKNOWN: Self =
        Self { flops: None, transcendentals: None, bytes_accessed: None, unknown_instructions: 1 };

    /// The cost of doing both. A property that one side does not know is the other side's, as a lower bound, unless that
    /// is 0: "at least nothing" is unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.combine(other, u64::saturating_add)
    }

    /// The larger of each property.
    #[must_use]
    fn max(self, other: Self) -> Self {
        self.combine(other, u64::max)
    }

    fn combine(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let merge = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(with(a, b)),
            (known, None) | (None, known) => known,
        };
        Self {
            flops: merge(self.flops, other.flops),
            transcendentals: merge(self.transcendentals, other.transcendentals),
            bytes_accessed: merge(self.bytes_accessed, other.bytes_accessed),
            unknown_instructions: self.unknown_instructions.saturating_add(other.unknown_instructions),
        }
    }

    /// Turns a lower bound of nothing into `None`. Applied once, when a sum is complete.
    fn settled(mut self) -> Self {
        if self.unknown_instructions > 0 {
            for property in [&mut self.flops, &mut self.transcendentals, &mut self.bytes_accessed] {
                *property = property.filter(|value| *value > 0);
            }
        }
        self
    }

    /// Whether every property is known exactly.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unknown_instructions == 0
    }

    /// FLOPs and transcendentals `times` over, without bytes: how a function passed to `reduce` or `map` counts.
    fn compute_times(self, times: u64) -> Self {
        let scale = |property: Option<u64>| property.map(|value| value.saturating_mul(times));
        Self { flops: scale(self.flops), transcendentals: scale(self.transcendentals), ..self }
    }
}

/// How to count where XLA's own rule depends on the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostOptions {
    /// Bytes per element of a tuple, which is then counted as a table of pointers. `None` counts a tuple's arrays where
    /// an instruction writes them, and nothing for `tuple` itself.
    pub tuple_pointer_bytes: Option<u64>,
    /// Count the padding that tiled layouts add, as memory traffic on TPU does.
    pub tile_padding: bool,
    /// Count as XLA's GPU backend does.
    pub gpu: bool,
    /// Count Pallas kernels as their author's `cost_estimate` says, as XLA does, not by their module.
    pub kernels_as_stated: bool,
}

impl CostOptions {
    /// As XLA on CPU and GPU: pointers of 8 bytes.
    #[must_use]
    pub fn xla() -> Self {
        Self { tuple_pointer_bytes: Some(8), kernels_as_stated: true, ..Self::default() }
    }

    /// As XLA's GPU backend, and as XProf for GPUs: elementwise instructions in cycles, and what a fusion's result needs.
    #[must_use]
    pub fn xla_gpu() -> Self {
        Self { gpu: true, ..Self::xla() }
    }
}

/// The cost of every instruction and computation of a module.
#[derive(Clone, Debug)]
pub struct CostAnalysis {
    instructions: Vec<Cost>,
    computations: Vec<Cost>,
    traffic: Vec<Traffic>,
    kernels: BTreeMap<InstructionIdx, Arc<KernelCost>>,
    entry: ComputationIdx,
}

impl CostAnalysis {
    /// Counts a whole module, in time linear in its size.
    #[must_use]
    pub fn new(module: &Module, options: CostOptions) -> Self {
        let mut counter = Counter {
            module,
            options,
            instructions: vec![Cost::UNKNOWN; module.instructions.len()],
            computations: vec![None; module.computations.len()],
            parameter_reads: vec![None; module.instructions.len()],
            traffic: if options.gpu {
                vec![Traffic::default(); module.instructions.len()]
            } else {
                Vec::new()
            },
            parameter_use: BTreeMap::new(),
            kernels: Vec::new(),
            kernel_of: BTreeMap::new(),
        };
        for computation in module.callees_first() {
            let mut sum = Cost::ZERO;
            for index in module.computation(computation).instructions() {
                let cost = counter.instruction(index, module.instruction(index));
                counter.instructions[index.index()] = cost;
                sum = sum.plus(cost);
            }
            counter.computations[computation.index()] = Some(sum.settled());
        }
        Self {
            instructions: counter.instructions,
            traffic: counter.traffic,
            kernels: counter.kernel_of,
            computations: counter.computations.into_iter().map(|c| c.unwrap_or(Cost::UNKNOWN)).collect(),
            entry: module.entry(),
        }
    }

    /// Cost of one execution of an instruction; a loop's is one iteration. Inside a fusion the bytes are those that the
    /// instruction would move on its own.
    #[must_use]
    pub fn instruction(&self, index: InstructionIdx) -> Cost {
        self.instructions.get(index.index()).copied().unwrap_or(Cost::UNKNOWN)
    }

    /// What the Mosaic module of a Pallas kernel says that it does; `None` for other instructions, and where it has no module
    /// that can be read.
    #[must_use]
    pub fn kernel(&self, index: InstructionIdx) -> Option<&Arc<KernelCost>> {
        self.kernels.get(&index)
    }

    /// Sum over a computation's instructions.
    #[must_use]
    pub fn computation(&self, index: ComputationIdx) -> Cost {
        self.computations.get(index.index()).copied().unwrap_or(Cost::UNKNOWN)
    }

    /// Cost of one launch of the module, loops counted once.
    #[must_use]
    pub fn total(&self) -> Cost {
        self.computation(self.entry)
    }
}

impl Module {
    /// The cost of every instruction, counted with the default options. Keep the answer: each call counts anew.
    #[must_use]
    pub fn cost_analysis(&self) -> CostAnalysis {
        CostAnalysis::new(self, CostOptions::default())
    }
}

/// The state of one counting.
struct Counter<'m> {
    module: &'m Module,
    options: CostOptions,
    instructions: Vec<Cost>,
    /// `None` until counted: in a circle of calls some callee is met before its cost is known.
    computations: Vec<Option<Cost>>,
    /// Bytes read of a fused parameter, once worked out.
    parameter_reads: Vec<Option<Option<u64>>>,
    /// Bytes of each instruction to and from main memory; only counted for GPUs.
    traffic: Vec<Traffic>,
    /// How often each parameter of a GPU fusion is asked for.
    parameter_use: BTreeMap<InstructionIdx, Vec<f32>>,
    /// Pallas kernels that were counted.
    kernels: Vec<kernel::Counted<'m>>,
    kernel_of: BTreeMap<InstructionIdx, Arc<KernelCost>>,
}

impl Counter<'_> {
    fn instruction(&mut self, index: InstructionIdx, hlo: &Instruction) -> Cost {
        let cost = match hlo.opcode {
            _ if self.options.gpu => self.gpu(index, hlo),
            Opcode::Fusion => self.fusion(hlo),
            Opcode::While | Opcode::Call => self.sum_of_called(hlo),
            Opcode::AsyncStart if !hlo.called_computations.is_empty() => self.sum_of_called(hlo),
            Opcode::Conditional => self.largest_branch(hlo),
            Opcode::CustomCall => self.kernel(index).unwrap_or_else(|| self.custom_call(hlo)),
            _ => self.leaf(hlo),
        };
        let missing = cost.flops.is_none() || cost.transcendentals.is_none() || cost.bytes_accessed.is_none();
        Cost { unknown_instructions: cost.unknown_instructions.max(u64::from(missing)), ..cost }
    }

    fn sum_of_called(&self, hlo: &Instruction) -> Cost {
        let called = hlo.called_computations.iter().map(|c| self.called(*c));
        called.reduce(Cost::plus).unwrap_or(Cost::UNKNOWN).settled()
    }

    fn largest_branch(&self, hlo: &Instruction) -> Cost {
        let branches = hlo.called_computations.iter().map(|c| self.called(*c));
        branches.reduce(Cost::max).unwrap_or(Cost::UNKNOWN)
    }

    fn called(&self, computation: ComputationIdx) -> Cost {
        self.computations[computation.index()].unwrap_or(Cost::UNKNOWN)
    }

    fn operand(&self, hlo: &Instruction, position: usize) -> Option<&Instruction> {
        hlo.operands.get(position).map(|idx| self.module.instruction(*idx))
    }

    fn operand_shape(&self, hlo: &Instruction, position: usize) -> Option<&Shape> {
        self.operand(hlo, position).map(|operand| &operand.shape)
    }

    fn operand_bytes(&self, hlo: &Instruction, position: usize) -> Option<u64> {
        self.bytes(self.operand_shape(hlo, position)?)
    }

    /// Bytes of a value that is read or written.
    fn bytes(&self, shape: &Shape) -> Option<u64> {
        match self.options.tuple_pointer_bytes {
            Some(pointer) if shape.is_tuple() => pointer.checked_mul(shape.tuple_shapes.len() as u64),
            _ => self.array(shape),
        }
    }

    /// Bytes of all arrays in a shape.
    fn array(&self, shape: &Shape) -> Option<u64> {
        if self.options.tile_padding { shape.padded_bytes() } else { shape.bytes() }
    }

    fn all_operand_bytes(&self, hlo: &Instruction) -> Option<u64> {
        (0..hlo.operands.len()).try_fold(0u64, |sum, at| sum.checked_add(self.operand_bytes(hlo, at)?))
    }

    /// All operands and the result, the rule for whatever has no rule of its own.
    fn all_bytes(&self, hlo: &Instruction) -> Option<u64> {
        let result = if self.options.gpu { self.array(&hlo.shape) } else { self.bytes(&hlo.shape) };
        self.all_operand_bytes(hlo)?.checked_add(result?)
    }
}

/// Extent of one dimension in elements.
fn extent(shape: &Shape, dimension: usize) -> Option<u64> {
    u64::try_from(*shape.dimensions.get(dimension)?).ok()
}

#[cfg(test)]
mod tests {
    use super::Cost;

    #[test]
    fn unknown_is_not_zero() {
        assert_eq!(Cost::ZERO.plus(Cost::UNKNOWN).settled().flops, None);
        let known = Cost { flops: Some(7), ..Cost::ZERO };
        let sum = known.plus(Cost::UNKNOWN).settled();
        assert_eq!((sum.flops, sum.bytes_accessed, sum.is_complete()), (Some(7), None, false));
        assert_eq!(known.plus(known).flops, Some(14));
        let huge = Cost { flops: Some(u64::MAX), ..Cost::ZERO };
        assert_eq!(huge.plus(known).flops, Some(u64::MAX));
    }
}
