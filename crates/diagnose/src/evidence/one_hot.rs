//! Products one of whose operands is a one-hot matrix: a lookup, or its gradient, done as arithmetic.

use haloscope_hlo::{InstructionIdx, Module, Opcode};

use super::Evidence;
use haloscope_time::account::Class;
use haloscope_time::ops::Op;

/// An op that multiplies by a one-hot matrix.
#[derive(Debug, Clone)]
pub(crate) struct OneHot<'e, 'p> {
    pub op: &'e Op<'p>,
    /// Classes of the one-hot matrix: how many rows the table has.
    pub classes: u64,
    /// Whether it sums the rows of each class, and looks up none: what is summed over are the indices.
    pub sums: bool,
    /// The ops that write the matrix, and the count that it is compared with, to memory; none where the product makes both itself.
    pub makers: Vec<&'e Op<'p>>,
}

impl<'p> Evidence<'p> {
    /// The ops that multiply by one-hot matrices, in the order of the ops.
    pub(crate) fn one_hots(&self) -> Vec<OneHot<'_, 'p>> {
        let is_meant = |op: &&Op<'p>| Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
        let mut found = Vec::new();
        for op in self.ops().iter().filter(is_meant) {
            let Some((decoded, index)) = self.instruction(op) else { continue };
            let module = &decoded.module;
            let Some(made) = product(module, index, &mut Vec::new()) else { continue };
            let maker = |maker: InstructionIdx| {
                let name = &module.instruction(maker).name;
                let is_maker =
                    |other: &&Op<'p>| other.meta.program_id == op.meta.program_id && other.meta.name == *name;
                self.ops().iter().find(is_maker)
            };
            let makers = made.makers.into_iter().flatten().filter_map(maker).collect();
            let over = self.products(op).iter().map(|product| product.k).max();
            let sums = over.is_some_and(|over| over != made.classes);
            found.push(OneHot { op, classes: made.classes, sums, makers });
        }
        found
    }
}

/// Deeper chains are not followed.
const DEPTH: usize = 24;
/// A table of fewer rows is as fast looked up either way.
const FEWEST_CLASSES: u64 = 16;

/// A one-hot matrix.
struct Made {
    classes: u64,
    /// The instructions of the program itself that make it and the count, where they are not the one that was asked about.
    makers: [Option<InstructionIdx>; 2],
}

/// The one-hot operand of the product that an instruction is or holds; `calls`: the fusions that it stands in, outermost first.
fn product(module: &Module, index: InstructionIdx, calls: &mut Vec<InstructionIdx>) -> Option<Made> {
    let hlo = module.instruction(index);
    match hlo.opcode {
        Opcode::CustomCall if module.matmul(index).is_none() => None,
        Opcode::Dot | Opcode::Convolution | Opcode::CustomCall => {
            hlo.operands.iter().take(2).find_map(|operand| {
                let outermost = calls.first().copied().unwrap_or(index);
                one_hot(module, *operand, &mut calls.clone(), outermost, DEPTH)
            })
        }
        Opcode::Fusion if calls.len() < 8 => {
            calls.push(index);
            let bodies = hlo.called_computations.iter();
            let mut inner = bodies.flat_map(|body| module.computation(*body).instructions());
            let found = inner.find_map(|inner| product(module, inner, calls));
            calls.pop();
            found
        }
        _ => None,
    }
}

/// Whether a value is one-hot: the comparison of indices with a count, as a number.
fn one_hot(
    module: &Module,
    index: InstructionIdx,
    calls: &mut Vec<InstructionIdx>,
    asked: InstructionIdx,
    depth: usize,
) -> Option<Made> {
    let depth = depth.checked_sub(1)?;
    let hlo = module.instruction(index);
    let first = || hlo.operands.first().copied();
    match hlo.opcode {
        Opcode::Convert | Opcode::Bitcast | Opcode::Copy | Opcode::Reshape | Opcode::Transpose => {
            one_hot(module, first()?, calls, asked, depth)
        }
        // `where(ids == iota, 1, 0)`.
        Opcode::Select
            if is_number(module, *hlo.operands.get(1)?, 4) && is_number(module, *hlo.operands.get(2)?, 4) =>
        {
            one_hot(module, first()?, calls, asked, depth)
        }
        Opcode::Fusion => {
            calls.push(index);
            let root = module.computation(*hlo.called_computations.first()?).root;
            let found = one_hot(module, root, calls, asked, depth);
            calls.pop();
            found
        }
        Opcode::Parameter => {
            let call = calls.pop()?;
            let number = usize::try_from(hlo.attributes().parameter_number?).ok()?;
            let outside = *module.instruction(call).operands.get(number)?;
            let found = one_hot(module, outside, calls, asked, depth);
            calls.push(call);
            found
        }
        Opcode::Compare if hlo.attributes().comparison_direction.as_deref() == Some("EQ") => {
            let &[left, right] = hlo.operands.as_slice() else { return None };
            let counts = [left, right].map(|side| counted(module, side, calls, depth));
            // Two counts make a unit matrix or a mask, and no lookup.
            let ([Some((classes, counter)), None] | [None, Some((classes, counter))]) = counts else {
                return None;
            };
            let outermost = calls.first().copied().unwrap_or(index);
            let maker = (outermost != asked).then_some(outermost);
            let counter = counter.filter(|counter| *counter != asked && *counter != outermost);
            (classes >= FEWEST_CLASSES).then_some(Made { classes, makers: [maker, counter] })
        }
        _ => None,
    }
}

/// Over how many values a count runs, where this is one, repeated or not, and the outermost fusion that makes it.
fn counted(
    module: &Module,
    index: InstructionIdx,
    calls: &mut Vec<InstructionIdx>,
    depth: usize,
) -> Option<(u64, Option<InstructionIdx>)> {
    let depth = depth.checked_sub(1)?;
    let hlo = module.instruction(index);
    match hlo.opcode {
        Opcode::Iota => {
            let dimension = usize::try_from(*hlo.attributes().dimensions.first()?).ok()?;
            let count = u64::try_from(*hlo.shape.dimensions.get(dimension)?).ok()?;
            Some((count, Some(calls.first().copied().unwrap_or(index))))
        }
        Opcode::Fusion => {
            calls.push(index);
            let root = module.computation(*hlo.called_computations.first()?).root;
            let found = counted(module, root, calls, depth);
            calls.pop();
            found
        }
        Opcode::Broadcast
        | Opcode::Convert
        | Opcode::Bitcast
        | Opcode::Copy
        | Opcode::Reshape
        | Opcode::Transpose => counted(module, *hlo.operands.first()?, calls, depth),
        Opcode::Parameter => {
            let call = calls.pop()?;
            let outside = usize::try_from(hlo.attributes().parameter_number?)
                .ok()
                .and_then(|number| module.instruction(call).operands.get(number).copied());
            let found = outside.and_then(|outside| counted(module, outside, calls, depth));
            calls.push(call);
            found
        }
        _ => None,
    }
}

/// Whether a value is one constant.
fn is_number(module: &Module, index: InstructionIdx, depth: usize) -> bool {
    let hlo = module.instruction(index);
    match hlo.opcode {
        Opcode::Constant => hlo.shape.dimensions.is_empty(),
        Opcode::Broadcast | Opcode::Convert if depth > 0 => {
            hlo.operands.first().is_some_and(|inner| is_number(module, *inner, depth - 1))
        }
        _ => false,
    }
}
