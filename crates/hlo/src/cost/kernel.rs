//! Pallas kernels of TPUs: what their Mosaic module says that they do.

use std::sync::Arc;

use haloscope_mosaic::{Account, Call, Error, Module as Mosaic, Range, Reason, Role};

use super::{Cost, Counter};
use crate::index::InstructionIdx;
use crate::module::Module;
use crate::opcode::Opcode;
use crate::shape::Shape;
use crate::text::literal;

/// What one execution of a kernel computes and moves, from its Mosaic module. A number is exact, or it lies in a range of which
/// [`KernelCost::reasons`] says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCost {
    /// FLOPs of its matrix products; of a kernel without any, the arithmetic of its vectors.
    pub flops: Range,
    /// Arithmetic of its vectors, an element at a time.
    pub vectors: Range,
    /// Evaluations of exp, log, tanh, rsqrt and the like.
    pub transcendentals: Range,
    /// Bytes that it and the pipeline around it copy to and from arrays, in whatever memory those are.
    pub bytes: Range,
    /// The same without arrays that the compiler put into the chip's own memory.
    pub hbm_bytes: Range,
    /// Steps of its grid; `None` where they are known at run time only.
    pub steps: Option<u64>,
    /// Why a number is a range; empty where none is.
    pub reasons: Vec<Reason>,
}

/// The end of a range that stands for it: its upper one, else its lower one, where that is not 0.
#[must_use]
pub fn best(range: Range) -> Option<u64> {
    range.at_most.or(Some(range.at_least).filter(|least| *least > 0))
}

impl KernelCost {
    /// What the module of a kernel says, for a call with these operands and results; of operands that are constants, `constants`
    /// has the values.
    ///
    /// # Errors
    /// What is wrong with the bytecode.
    fn read(
        body: &[u8],
        operands: &[&Shape],
        results: &[&Shape],
        constants: &[Option<Vec<i64>>],
    ) -> Result<Self, Error> {
        let mosaic = Mosaic::decode(body)?;
        let kernel = mosaic.kernel()?;
        let arguments: Vec<usize> = (0..kernel.arguments.len())
            .filter(|index| kernel.arguments[*index].role == Role::Operand)
            .collect();
        let shapes = arrays(&kernel, arguments.len(), operands, results);
        let account = kernel.account(&call(&kernel, &shapes, constants));
        let of_window = |argument: usize| {
            let nth = arguments.iter().position(|index| *index == argument);
            nth.and_then(|nth| shapes.get(nth)).is_none_or(|shape| shape.memory_space() != VECTOR_MEMORY)
        };
        Ok(Self {
            flops: account.flops(),
            vectors: account.work.vectors,
            transcendentals: account.work.transcendentals,
            bytes: account.bytes(),
            hbm_bytes: bytes(&account, of_window),
            steps: account.steps,
            reasons: account.reasons,
        })
    }

    /// The numbers as a cost: upper ends of ranges, lower ones where there is no upper one.
    fn cost(&self) -> Cost {
        let all = [self.flops, self.transcendentals, self.bytes];
        Cost {
            flops: best(self.flops),
            transcendentals: best(self.transcendentals),
            bytes_accessed: best(self.bytes),
            unknown_instructions: u64::from(all.iter().any(|range| range.at_most.is_none())),
        }
    }
}

/// A constant is looked for behind this many copies.
const MOST_COPIES: usize = 4;

/// TPU layouts: the number of the chip's vector memory.
const VECTOR_MEMORY: i64 = 1;

/// The arrays that a kernel's operands and results are blocks of, in order; none where they are not those of the call.
fn arrays<'s>(
    kernel: &haloscope_mosaic::Kernel<'_>,
    count: usize,
    operands: &[&'s Shape],
    results: &[&'s Shape],
) -> Vec<&'s Shape> {
    let behind = prefetched(kernel).end;
    let all: Vec<&Shape> = operands.iter().skip(behind).chain(results).copied().collect();
    if all.len() == count { all } else { Vec::new() }
}

/// Which of a call's operands are scalars for all steps: extents of the grid that the program computes come before them.
fn prefetched(kernel: &haloscope_mosaic::Kernel<'_>) -> std::ops::Range<usize> {
    let first = kernel.grid.iter().filter(|dimension| dimension.extent.is_none()).count();
    let count = kernel.arguments.iter().filter(|argument| argument.role == Role::Prefetch).count();
    first..first + count
}

/// What is known of a call: the arrays of its operands and results, and which of its scalars are constants.
fn call(kernel: &haloscope_mosaic::Kernel<'_>, arrays: &[&Shape], constants: &[Option<Vec<i64>>]) -> Call {
    Call { arrays: extents(arrays), scalars: constants.get(prefetched(kernel)).unwrap_or(&[]).to_vec() }
}

/// Bytes of the copies of these windows, and of the kernel's own.
fn bytes(account: &Account, takes: impl Fn(usize) -> bool) -> Range {
    let own = account.work.read_bytes.plus(account.work.written_bytes);
    let windows = account.windows.iter().filter(|window| takes(window.argument));
    windows.fold(own, |sum, window| sum.plus(window.bytes))
}

/// A kernel that was counted, and what came of it.
pub(super) struct Counted<'m> {
    config: &'m [u8],
    /// Of its operands and results.
    shapes: Vec<&'m Shape>,
    /// Values of its operands, where they are constants.
    constants: Vec<Option<Vec<i64>>>,
    cost: Option<Arc<KernelCost>>,
}

impl<'m> Counter<'m> {
    /// The cost of a Pallas kernel, which is counted once for all calls with the same configuration and shapes; `None` where
    /// the call has no module of a kernel that can be read.
    pub(super) fn kernel(&mut self, index: InstructionIdx) -> Option<Cost> {
        let module: &'m Module = self.module;
        let hlo = module.instruction(index);
        let attributes = hlo.attributes();
        let target = attributes.custom_call_target.as_deref();
        if self.options.kernels_as_stated || target != Some("tpu_custom_call") {
            return None;
        }
        let config = &*attributes.backend_config;
        let operands: Vec<&Shape> = hlo.operands.iter().map(|op| &module.instruction(*op).shape).collect();
        let results = hlo.shape.leaves();
        let shapes: Vec<&Shape> = operands.iter().chain(&results).copied().collect();
        let constants = module.constants(index);
        let known = self
            .kernels
            .iter()
            .find(|known| known.config == config && known.shapes == shapes && known.constants == constants);
        let cost = match known {
            Some(known) => known.cost.clone(),
            None => {
                let body = haloscope_mosaic::body(config).ok().flatten();
                let read = |body: Vec<u8>| KernelCost::read(&body, &operands, &results, &constants).ok();
                let cost = body.and_then(read).map(Arc::new);
                self.kernels.push(Counted { config, shapes, constants, cost: cost.clone() });
                cost
            }
        }?;
        self.kernel_of.insert(index, Arc::clone(&cost));
        Some(cost.cost())
    }
}

impl Module {
    /// The Mosaic module of a Pallas kernel; `None` where the instruction has none.
    ///
    /// # Errors
    /// What is wrong with the bytecode.
    #[must_use]
    pub fn mosaic(&self, index: InstructionIdx) -> Option<Result<Mosaic, Error>> {
        let attributes = self.instruction(index).attributes();
        if attributes.custom_call_target.as_deref() != Some("tpu_custom_call") {
            return None;
        }
        match haloscope_mosaic::body(&attributes.backend_config) {
            Ok(body) => body.map(|body| Mosaic::decode(&body)),
            Err(error) => Some(Err(error)),
        }
    }

    /// What a kernel does in the call that it stands in.
    #[must_use]
    pub fn kernel_account(&self, index: InstructionIdx, kernel: &haloscope_mosaic::Kernel<'_>) -> Account {
        let hlo = self.instruction(index);
        let operands: Vec<&Shape> = hlo.operands.iter().map(|op| &self.instruction(*op).shape).collect();
        let count = kernel.arguments.iter().filter(|argument| argument.role == Role::Operand).count();
        let arrays = arrays(kernel, count, &operands, &hlo.shape.leaves());
        kernel.account(&call(kernel, &arrays, &self.constants(index)))
    }

    /// The values of an instruction's operands that are constant arrays of integers, copied or reshaped on the way perhaps.
    fn constants(&self, index: InstructionIdx) -> Vec<Option<Vec<i64>>> {
        let of = |operand: &InstructionIdx| {
            let mut at = *operand;
            for _ in 0..=MOST_COPIES {
                let hlo = self.instruction(at);
                match hlo.opcode {
                    Opcode::Constant => return literal::integers(hlo.attributes().literal.as_deref()?),
                    Opcode::Copy | Opcode::CopyStart | Opcode::CopyDone | Opcode::Reshape => {
                        at = *hlo.operands.first()?;
                    }
                    _ => return None,
                }
            }
            None
        };
        self.instruction(index).operands.iter().map(of).collect()
    }
}

/// Extents of arrays; `None` for one that XLA does not bound.
fn extents(shapes: &[&Shape]) -> Vec<Option<Vec<u64>>> {
    let one = |shape: &&Shape| shape.dimensions.iter().map(|extent| u64::try_from(*extent).ok()).collect();
    shapes.iter().map(one).collect()
}
