//! What the instructions inside of an op cost beside each other, roughly: which part of a fusion's time is whose; and what an op is
//! inside of.

use std::collections::HashMap;

use haloscope_hlo::{Cost, FusionKind, InstructionIdx, Module, Opcode, Shape};

use super::Evidence;
use haloscope_time::op_class::body;
use haloscope_time::ops::Op;

/// What a transcendental function costs beside an addition: math libraries evaluate them by polynomials of a dozen terms or so, with
/// a reduction of the argument before it.
const TRANSCENDENTAL: f64 = 16.0;
/// What a FLOP of a product or a convolution costs beside an addition of an elementwise op, which waits for its operands.
const OF_PRODUCT: f64 = 0.125;
/// Computations around an op that are looked at.
const AROUND: usize = 4;

/// An instruction inside of an op, and what it costs beside the others: additions that take as long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Inner {
    pub(crate) index: InstructionIdx,
    pub(crate) cost: f64,
}

impl<'p> Evidence<'p> {
    /// The instructions that an op consists of and that cost something, with the module that they are in; `None` where the profile
    /// does not have the program, or it is not known what one of them costs.
    pub(crate) fn inner(&self, op: &Op<'_>) -> Option<(&Module, Vec<Inner>)> {
        let (decoded, index) = self.instruction(op)?;
        let module = &decoded.module;
        let body = body(module, index);
        // Libraries' kernels, such as those of YNNPACK, compute each value once.
        let is_custom = module.instruction(index).attributes().fusion_kind == Some(FusionKind::Custom);
        let times = if self.is_tpu() || is_custom { HashMap::new() } else { evaluated(module, &body) };
        let mut all = Vec::new();
        // What a fusion costs is what is in it.
        for index in body.into_iter().filter(|index| module.instruction(*index).opcode != Opcode::Fusion) {
            let cost = cost(module.instruction(index).opcode, decoded.costs.instruction(index))?;
            if cost > 0.0 {
                all.push(Inner { index, cost: cost * times.get(&index).copied().unwrap_or(1.0) });
            }
        }
        Some((module, all))
    }

    /// The instruction of an op, and those that call the computation that it is in, outwards: the loop or the call around it.
    pub(crate) fn outwards(&self, op: &Op<'_>) -> impl Iterator<Item = (&Module, InstructionIdx)> {
        let own = self.instruction(op).map(|(decoded, index)| (&decoded.module, index));
        let caller = |(module, index): &(&'_ Module, InstructionIdx)| {
            module.first_caller(module.instruction(*index).computation)
        };
        std::iter::successors(own, move |one| Some((one.0, caller(one)?))).take(AROUND + 1)
    }

    /// What part of an op's cost is in these of its instructions; `None` where that is not
    /// known, or nothing costs.
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

/// What an instruction costs, from what the module's cost analysis counts of it; `None` where that is not known. Moving values inside
/// of a fusion costs nothing.
fn cost(opcode: Opcode, counted: Cost) -> Option<f64> {
    let flops = counted.flops? as f64;
    let is_product =
        matches!(opcode, Opcode::Dot | Opcode::Convolution | Opcode::RaggedDot | Opcode::CustomCall);
    let flops = if is_product { flops * OF_PRODUCT } else { flops };
    Some(flops + counted.transcendentals? as f64 * TRANSCENDENTAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_is_not_known() {
        let of = |flops, transcendentals| Cost { flops, transcendentals, ..Cost::UNKNOWN };
        assert_eq!(cost(Opcode::Add, of(Some(8), Some(0))), Some(8.0));
        assert_eq!(cost(Opcode::Exponential, of(Some(0), Some(8))), Some(128.0));
        assert_eq!(cost(Opcode::Dot, of(Some(800), Some(0))), Some(100.0));
        assert_eq!(cost(Opcode::CustomCall, Cost::UNKNOWN), None);
        assert_eq!(cost(Opcode::Add, of(Some(8), None)), None);
    }
}
