//! What the instructions inside of an op cost beside each other, roughly: which part of a fusion's time is whose.

use haloscope_hlo::{InstructionIdx, Module, Opcode, Shape};

use super::Evidence;
use haloscope_time::op_class::body;
use haloscope_time::ops::Op;

/// What a transcendental function costs beside an addition: math libraries evaluate them by polynomials of a dozen terms or so, with
/// a reduction of the argument before it.
const TRANSCENDENTAL: f64 = 16.0;
/// What a FLOP of a matrix product costs beside an addition of an elementwise op, which waits for its operands.
const OF_PRODUCT: f64 = 0.125;

/// An instruction inside of an op, and what it costs beside the others: additions that take as long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Inner {
    pub(crate) index: InstructionIdx,
    pub(crate) cost: f64,
}

impl<'p> Evidence<'p> {
    /// The instructions that an op consists of and that cost something, with the module that they are in; `None` where the profile
    /// does not have the program.
    pub(crate) fn inner(&self, op: &Op<'_>) -> Option<(&Module, Vec<Inner>)> {
        let (decoded, index) = self.instruction(op)?;
        let module = &decoded.module;
        let inner = |index| Inner { index, cost: cost(module, index) };
        Some((module, body(module, index).into_iter().map(inner).filter(|one| one.cost > 0.0).collect()))
    }

    /// What part of an op's cost is in these of its instructions; `None` where the profile does not have the program, or nothing costs.
    pub(crate) fn part_of(&self, op: &Op<'_>, is: impl Fn(&Module, InstructionIdx) -> bool) -> Option<f64> {
        let (module, inner) = self.inner(op)?;
        let all: f64 = inner.iter().map(|one| one.cost).sum();
        let own: f64 = inner.iter().filter(|one| is(module, one.index)).map(|one| one.cost).sum();
        (all > 0.0).then(|| own / all)
    }
}

/// What an instruction costs: moving values inside of a fusion costs nothing.
fn cost(module: &Module, index: InstructionIdx) -> f64 {
    let hlo = module.instruction(index);
    let elements = |shape: &Shape| -> f64 {
        shape.leaves().iter().filter_map(|leaf| leaf.element_count()).map(|count| count as f64).sum()
    };
    if let Some(product) = module.matmul(index) {
        return product.flops().unwrap_or(0) as f64 * OF_PRODUCT;
    }
    match hlo.opcode {
        Opcode::Reduce | Opcode::ReduceWindow => {
            hlo.operands.first().map_or(0.0, |operand| elements(&module.instruction(*operand).shape))
        }
        Opcode::Convert => elements(&hlo.shape),
        Opcode::Rng | Opcode::RngBitGenerator => TRANSCENDENTAL * elements(&hlo.shape),
        opcode if opcode.is_transcendental() => TRANSCENDENTAL * elements(&hlo.shape),
        opcode if opcode.is_elementwise() => elements(&hlo.shape),
        _ => 0.0,
    }
}
