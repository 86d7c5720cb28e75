//! What the instructions inside of an op cost beside each other, roughly: which part of a fusion's time is whose.

use std::collections::HashMap;

use haloscope_hlo::{InstructionIdx, Module, Opcode, Shape};

use super::Evidence;
use haloscope_profile::DeviceKind;
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
        let body = body(module, index);
        let is_tpu = self.selection.devices.iter().any(|device| device.kind == DeviceKind::Tpu);
        let times = if is_tpu { HashMap::new() } else { evaluated(module, &body) };
        let inner = |index| {
            let times = times.get(&index).copied().unwrap_or(1.0);
            Inner { index, cost: cost(module, index) * times }
        };
        Some((module, body.into_iter().map(inner).filter(|one| one.cost > 0.0).collect()))
    }

    /// What part of an op's cost is in these of its instructions; `None` where the profile does not have the program, or nothing costs.
    pub(crate) fn part_of(&self, op: &Op<'_>, is: impl Fn(&Module, InstructionIdx) -> bool) -> Option<f64> {
        let (module, inner) = self.inner(op)?;
        let all: f64 = inner.iter().map(|one| one.cost).sum();
        let own: f64 = inner.iter().filter(|one| is(module, one.index)).map(|one| one.cost).sum();
        (all > 0.0).then(|| own / all)
    }
}

fn elements(shape: &Shape) -> f64 {
    shape.leaves().iter().filter_map(|leaf| leaf.element_count()).map(|count| count as f64).sum()
}

/// How often each value of an instruction is computed. XLA's fusions for CPUs and GPUs compute what an element of the result needs for each
/// element: what is broadcast, for each copy. Those that are computed once are left out.
fn evaluated(module: &Module, body: &[InstructionIdx]) -> HashMap<InstructionIdx, f64> {
    let mut count: HashMap<InstructionIdx, f64> = HashMap::new();
    // Users stand behind what they use.
    for index in body.iter().rev() {
        let own = elements(&module.instruction(*index).shape);
        let of_user = |user: &InstructionIdx| {
            let opcode = module.instruction(*user).opcode;
            let passes = opcode.is_elementwise()
                || matches!(
                    opcode,
                    Opcode::Bitcast | Opcode::Broadcast | Opcode::Reshape | Opcode::Transpose
                );
            count.get(user).copied().filter(|_| passes)
        };
        let most = module.users(*index).iter().filter_map(of_user).fold(own, f64::max);
        count.insert(*index, most);
    }
    let times = |(index, count): (InstructionIdx, f64)| {
        let own = elements(&module.instruction(index).shape);
        (own > 0.0 && count > own).then(|| (index, count / own))
    };
    count.into_iter().filter_map(times).collect()
}

/// What an instruction costs: moving values inside of a fusion costs nothing.
fn cost(module: &Module, index: InstructionIdx) -> f64 {
    let hlo = module.instruction(index);
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
