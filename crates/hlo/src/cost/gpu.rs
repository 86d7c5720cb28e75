//! What XLA's GPU backend, and XProf with it, counts otherwise.
//!
//! - Elementwise instructions and the functions of reductions count cycles (`gpu_cycles`) rather than operations,
//!   transcendentals among them; comparing and branching in a `concatenate` counts too.
//! - A fusion counts each of its instructions as often as its result needs it (`utilization`).
//! - Collectives count what each device of a group sends and receives.
//! - Library calls other than `__cublas$lt$...` and cuDNN convolutions, `__cublas$gemm` too, are unknown.
//! - A tuple is its arrays where it is written and a table of pointers where it is read.

use super::{Cost, CostAnalysis, Counter, convolution, gpu_cycles, leaf};
use crate::{
    backend_config, element::ElementType, index::InstructionIdx, instruction::Instruction, module::Module,
    opcode::Opcode, shape::Shape,
};

/// FLOPs an element of a `concatenate`: to compare and to branch; where the operands' border does not fall on a whole
/// warp, as many as keep the compiler from fusing it.
const CONCATENATE: (u64, u64) = (6, 400);
const WARP: i64 = 32;

/// Bytes that an instruction moves to and from the device's main memory, as far as its operands and result tell: not
/// those of elements of tuples, except where a fusion writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Counter<'_> {
    pub(super) fn gpu(&mut self, index: InstructionIdx, hlo: &Instruction) -> Cost {
        let cost = match hlo.opcode {
            Opcode::Fusion => return self.gpu_fusion(index, hlo).rounded(),
            Opcode::CustomCall => self.gpu_custom_call(hlo),
            Opcode::While | Opcode::Call => return self.sum_of_called(hlo).rounded(),
            Opcode::Conditional => return self.largest_branch(hlo).rounded(),
            Opcode::AsyncStart => return self.gpu_async_start(hlo),
            Opcode::Copy => self.moves(self.all_bytes(hlo)),
            opcode if opcode.is_elementwise() => self.computes(hlo, gpu_cycles::flops(opcode, hlo)),
            Opcode::Concatenate => self.computes(hlo, self.concatenate_flops(hlo)),
            Opcode::AllReduce => self.computes(hlo, self.applied_flops(hlo)),
            Opcode::AllReduceStart => {
                Cost { flops: self.applied_flops(hlo), ..self.moves(self.array(&hlo.shape)) }
            }
            Opcode::AllGather | Opcode::AllGatherStart => self.moves(self.gathered_bytes(hlo)),
            Opcode::ReduceScatter => {
                Cost { flops: self.applied_flops(hlo), ..self.moves(self.scattered_bytes(hlo)) }
            }
            Opcode::Reduce => Cost { bytes_accessed: self.reduced_bytes(hlo), ..self.leaf(hlo) },
            Opcode::AsyncDone
            | Opcode::AsyncUpdate
            | Opcode::OptimizationBarrier
            | Opcode::AllGatherDone
            | Opcode::AllReduceDone
            | Opcode::CollectivePermuteStart
            | Opcode::CollectivePermuteDone
            | Opcode::CopyStart
            | Opcode::CopyDone => self.moves(self.all_bytes(hlo)),
            _ => self.leaf(hlo),
        };
        if cost.bytes_accessed.is_some_and(|bytes| bytes > 0) {
            self.traffic[index.index()] = self.gpu_traffic(hlo, hlo);
        }
        cost.rounded()
    }

    /// Only collectives that XLA's GPU backend knows by themselves count at their start.
    fn gpu_async_start(&self, hlo: &Instruction) -> Cost {
        let wrapped = hlo.called_computations.first().map(|c| self.module.computation(*c).root);
        match wrapped.map(|root| self.module.instruction(root).opcode) {
            Some(Opcode::AllReduce | Opcode::AllGather | Opcode::ReduceScatter) => self.sum_of_called(hlo),
            _ => Cost::ZERO,
        }
    }

    fn gpu_custom_call(&self, hlo: &Instruction) -> Cost {
        let target = hlo.attributes().custom_call_target.as_deref().unwrap_or("");
        let Some(result) = leaf::first_array(&hlo.shape) else { return Cost::UNKNOWN };
        let bytes = || self.all_operand_bytes(hlo)?.checked_add(self.array(result)?);
        if target.starts_with("__cublas$lt$") {
            let sums_over = backend_config::lhs_contracting_dimensions(&hlo.attributes().backend_config);
            let flops = || {
                let lhs = self.operand_shape(hlo, 0)?;
                leaf::matrix_flops(lhs, &sums_over.unwrap_or_default(), result.element_count()?)
            };
            return Cost { flops: flops(), bytes_accessed: bytes(), ..Cost::ZERO };
        }
        if target.starts_with("__cudnn$conv") {
            let flops = || {
                let (lhs, rhs) = (self.operand_shape(hlo, 0)?, self.operand_shape(hlo, 1)?);
                convolution::flops(hlo.attributes(), lhs, rhs, result)
            };
            return Cost { flops: flops(), bytes_accessed: bytes(), ..Cost::ZERO };
        }
        Cost::UNKNOWN
    }

    fn concatenate_flops(&self, hlo: &Instruction) -> Option<u64> {
        let dimension = usize::try_from(*hlo.attributes().dimensions.first()?).ok()?;
        let extent = *self.operand_shape(hlo, 0)?.dimensions.get(dimension)?;
        let uneven = dimension > 0 && extent % WARP != 0;
        let each = if uneven { CONCATENATE.1 } else { CONCATENATE.0 };
        hlo.shape.element_count_recursive()?.checked_mul(each)
    }

    /// The function that a collective applies, once for each element that it returns.
    fn applied_flops(&self, hlo: &Instruction) -> Option<u64> {
        let function = self.module.computation(*hlo.called_computations.first()?);
        gpu_cycles::flops(self.module.instruction(function.root).opcode, hlo)
    }

    /// Each device reads the other devices' parts, and writes its own and, twice, those of the others.
    fn passed_around(&self, hlo: &Instruction, part: u64) -> Option<u64> {
        let groups = hlo.attributes().replica_groups.as_ref();
        let devices = groups.and_then(crate::ReplicaGroups::group_size).unwrap_or(1).max(1);
        part.checked_mul(devices.checked_mul(3)?.checked_sub(1)?)
    }

    fn gathered_bytes(&self, hlo: &Instruction) -> Option<u64> {
        // The start returns what it was given, too.
        let whole = match hlo.opcode {
            Opcode::AllGatherStart => hlo.shape.tuple_element(1)?,
            _ => &hlo.shape,
        };
        let groups = hlo.attributes().replica_groups.as_ref();
        let devices = groups.and_then(crate::ReplicaGroups::group_size).unwrap_or(1).max(1);
        self.passed_around(hlo, self.array(whole)? / devices)
    }

    /// Inputs, result and initial values, of which each element of the result reads one.
    fn reduced_bytes(&self, hlo: &Instruction) -> Option<u64> {
        let half = hlo.operands.len() / 2;
        let inputs = (0..half).map(|at| self.operand_bytes(hlo, at)).sum::<Option<u64>>()?;
        let initial =
            (half..hlo.operands.len()).map(|at| self.initial_bytes(hlo, at)).sum::<Option<u64>>()?;
        inputs.checked_add(initial)?.checked_add(self.array(&hlo.shape)?)
    }

    /// What a `reduce` reads of one of its initial values.
    fn initial_bytes(&self, hlo: &Instruction, operand: usize) -> Option<u64> {
        leaf::first_array(&hlo.shape)?.element_count()?.checked_mul(self.operand_bytes(hlo, operand)?)
    }

    fn scattered_bytes(&self, hlo: &Instruction) -> Option<u64> {
        self.passed_around(hlo, self.array(&hlo.shape)?)
    }

    /// What an instruction reads of the operands of `caller`, which is itself or a fusion that stands for it, and writes to
    /// the caller's result.
    pub(super) fn gpu_traffic(&self, hlo: &Instruction, caller: &Instruction) -> Traffic {
        let counts = |at: usize| self.operand_shape(caller, at).is_some_and(in_main_memory);
        let part = |at: usize, bytes: Option<u64>| if counts(at) { bytes.unwrap_or(0) } else { 0 };
        let whole = |at: usize| part(at, self.operand_bytes(hlo, at));
        let all = |range: std::ops::Range<usize>| range.map(whole).fold(0, u64::saturating_add);
        let count = hlo.operands.len();
        let result = self.array(&hlo.shape);
        let (read, written) = match hlo.opcode {
            Opcode::Tuple => (0, Some(0)),
            Opcode::Slice => (part(0, result), result),
            Opcode::DynamicSlice | Opcode::Gather => (part(0, result).saturating_add(all(1..count)), result),
            Opcode::DynamicUpdateSlice => (all(1..count), self.operand_bytes(hlo, 1)),
            Opcode::Scatter => {
                let arrays = count.saturating_sub(1) / 2;
                let updates = || (arrays + 1)..(2 * arrays + 1);
                let before: u64 =
                    (0..arrays).map(|at| part(at, self.operand_bytes(hlo, arrays + 1 + at))).sum();
                let written = updates().map(|at| self.operand_bytes(hlo, at)).sum();
                (before.saturating_add(whole(arrays)).saturating_add(all(updates())), written)
            }
            Opcode::Reduce => {
                let initial: u64 = (count / 2..count).map(|at| part(at, self.initial_bytes(hlo, at))).sum();
                (all(0..count / 2).saturating_add(initial), result)
            }
            Opcode::Cholesky => (whole(0) / 2, result.map(|bytes| bytes / 2)),
            Opcode::TriangularSolve => (whole(0) / 2, result),
            _ => (all(0..count), result),
        };
        let written = written.filter(|_| in_main_memory(&caller.shape)).unwrap_or(0);
        Traffic { read, written }
    }
}

/// Whether a value is an array in the device's main memory.
pub(super) fn in_main_memory(shape: &Shape) -> bool {
    shape.is_array() && shape.memory_space() == 0
}

impl Cost {
    /// As a sum in 32-bit floats comes out.
    fn rounded(self) -> Self {
        let round = |value: Option<u64>| value.map(|v| v as f32 as u64);
        Self { flops: round(self.flops), bytes_accessed: round(self.bytes_accessed), ..self }
    }
}

impl CostAnalysis {
    /// Bytes that an instruction moves to and from main memory. Known with [`CostOptions::xla_gpu`](super::CostOptions);
    /// 0 otherwise.
    #[must_use]
    pub fn traffic(&self, index: InstructionIdx) -> Traffic {
        self.traffic.get(index.index()).copied().unwrap_or_default()
    }

    /// FLOPs in units of 16-bit ones, as XProf compares them with a GPU's peak: half where the widest operand has 8 bits,
    /// a quarter where it has 4.
    #[must_use]
    pub fn flops_of_16_bits(&self, module: &Module, index: InstructionIdx) -> Option<u64> {
        let flops = self.instruction(index).flops?;
        let hlo = module.instruction(index);
        // Booleans, which take a byte, are not meant.
        let width = |operand: &InstructionIdx| {
            let element = module.instruction(*operand).shape.element_type;
            element.bits().filter(|_| element != ElementType::Pred)
        };
        let operands = hlo.operands.iter();
        let target = || hlo.attributes().custom_call_target.as_deref().unwrap_or("");
        let widest = match hlo.opcode {
            Opcode::CustomCall if !target().starts_with("__cublas$lt$") => None,
            Opcode::CustomCall => operands.take(1).filter_map(width).next(),
            _ => operands.filter_map(width).max(),
        };
        let share = match widest {
            Some(8) => 2.0,
            Some(4) => 4.0,
            _ => return Some(flops),
        };
        let model = flops as f32;
        Some(flops - (model - model / share) as u64)
    }
}
