//! What ops lose to elements that are not there: tiles that are not filled, and zeros that the program itself adds.

use std::collections::BTreeSet;

use haloscope_hlo::{InstructionIdx, Module, Opcode};
use haloscope_program::compute::padded::{Padded, padded};
use haloscope_time::account::Class;
use haloscope_time::ops::Op;

use super::Evidence;
use super::work::{Limits, Rates, Roof};

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A product's sides are no multiples of the matrix unit's.
    Unit,
    /// Arrays take whole tiles in memory.
    Tiles,
    /// A `pad` of the program makes an operand of a product larger.
    Pad,
}

/// What an op loses to padding.
#[derive(Debug, Clone)]
pub(crate) struct Wasted {
    /// Position in [`Evidence::ops`].
    pub op: usize,
    pub way: Way,
    /// Time that would go at most without the padding, picoseconds, summed over devices.
    pub saved_ps: f64,
    /// Which shape it is, and how much of it is padding.
    pub detail: String,
}

/// What the padding of an op is a part of has to explain this share of its time, else something else holds the op up.
const BINDS: f64 = 0.5;
/// Work with padding that takes longer than the op did says that the padding is not worked on.
const REFUTED: f64 = 1.02;
/// Bytes are those of elements alone where they differ from these by no more.
const ALIKE: f64 = 0.02;
/// Longer chains are not followed to a `pad`.
const DEPTH: usize = 16;

impl Evidence<'_> {
    /// The ops that lose time to padding, most first: those whose time the matrix unit, or HBM, explains for the most part.
    /// `None` where tiles are not known.
    pub(crate) fn padding(&self) -> Option<&[Wasted]> {
        self.padding.get_or_init(|| self.find_padding()).as_deref()
    }

    fn find_padding(&self) -> Option<Vec<Wasted>> {
        let rates = self.rates();
        let mut all: Vec<Wasted> = Vec::new();
        for one in padded(self.profile, &self.selection, self.ops())? {
            let way = if one.is_product { Way::Unit } else { Way::Tiles };
            all.extend(self.wasted(&one, &rates, way));
        }
        for (at, op) in self.ops().iter().enumerate() {
            if Class::of(&op.meta) != Class::Compute {
                continue;
            }
            let Some((decoded, index)) = self.instruction(op) else { continue };
            let Some((share, detail)) = of_pads(&decoded.module, index, &mut Vec::new()) else { continue };
            let one = Padded { op: at, is_product: true, share, element_bytes: None, detail };
            all.extend(self.wasted(&one, &rates, Way::Pad));
        }
        all.sort_by(|a, b| b.saved_ps.total_cmp(&a.saved_ps));
        // An op's time goes once.
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        all.retain(|one| seen.insert(one.op));
        Some(all)
    }

    fn wasted(&self, one: &Padded, rates: &Rates, way: Way) -> Option<Wasted> {
        let (op, share) = (self.ops().get(one.op)?, one.share);
        if !matches!(Class::of(&op.meta), Class::Compute | Class::Copy) || op.self_ps <= 0 {
            return None;
        }
        let limits = self.limits(op, rates)?;
        let time_ps = op.self_ps as f64;
        let (with_ps, next_ps) = match way {
            Way::Unit => (self.useful(op) * limits.matrix_ps / (1.0 - share), but(&limits, Roof::Matrix)),
            Way::Pad => (limits.matrix_ps, but(&limits, Roof::Matrix)),
            // The compiler counts the bytes of whole tiles; of slices nobody knows which.
            Way::Tiles if self.slices(op) == Some(false) => {
                let counted = op.hbm_bytes.unwrap_or(0.0) / op.occurrences.max(1) as f64;
                // A profile that counts the elements alone leaves the tiles to be counted.
                let is_without =
                    one.element_bytes.is_some_and(|bytes| (counted / bytes - 1.0).abs() <= ALIKE);
                let whole_ps = if is_without { limits.hbm_ps / (1.0 - share) } else { limits.hbm_ps };
                (whole_ps, but(&limits, Roof::Hbm))
            }
            Way::Tiles => return None,
        };
        let binds = with_ps >= next_ps && (BINDS * time_ps..=REFUTED * time_ps).contains(&with_ps);
        let saved_ps = (time_ps * share).min(time_ps - next_ps) * self.compute_scale();
        (binds && saved_ps > 0.0).then(|| Wasted { op: one.op, way, saved_ps, detail: one.detail.clone() })
    }

    /// What part of an op's FLOPs its products have as they are written: some profilers count those of the padding too.
    fn useful(&self, op: &Op<'_>) -> f64 {
        let written: f64 = self.products(op).iter().filter_map(|one| one.flops()).map(|f| f as f64).sum();
        match op.flops {
            Some(flops) if flops > 0.0 => (written * op.occurrences as f64 / flops).min(1.0),
            _ => 1.0,
        }
    }
}

/// What the other limits explain of an op's time, the most of them.
fn but(limits: &Limits, roof: Roof) -> f64 {
    let others = [Roof::Matrix, Roof::Vector, Roof::Hbm, Roof::Vmem, Roof::Exp];
    others.into_iter().filter(|other| *other != roof).map(|other| limits.of(other)).fold(0.0, f64::max)
}

/// The part of a product's FLOPs that is spent on what a `pad` adds to an operand, and which; `calls`: the fusions that it stands
/// in, outermost first. Both operands may be padded along one dimension, so that only the larger part counts.
fn of_pads(module: &Module, index: InstructionIdx, calls: &mut Vec<InstructionIdx>) -> Option<(f64, String)> {
    let hlo = module.instruction(index);
    match hlo.opcode {
        Opcode::Dot | Opcode::Convolution => {
            module.matmul(index)?;
            let pads = hlo
                .operands
                .iter()
                .take(2)
                .filter_map(|operand| pad(module, *operand, &mut calls.clone(), DEPTH));
            pads.max_by(|a, b| a.0.total_cmp(&b.0))
        }
        Opcode::Fusion if calls.len() < DEPTH => {
            calls.push(index);
            let bodies = hlo.called_computations.iter();
            let inner = bodies.flat_map(|body| module.computation(*body).instructions());
            let found =
                inner.filter_map(|inner| of_pads(module, inner, calls)).max_by(|a, b| a.0.total_cmp(&b.0));
            calls.pop();
            found
        }
        _ => None,
    }
}

/// Whether a value is another one with elements around it: the part that these are, and both shapes.
fn pad(
    module: &Module,
    index: InstructionIdx,
    calls: &mut Vec<InstructionIdx>,
    depth: usize,
) -> Option<(f64, String)> {
    let depth = depth.checked_sub(1)?;
    let hlo = module.instruction(index);
    let first = *hlo.operands.first().unwrap_or(&index);
    match hlo.opcode {
        Opcode::Pad => {
            let from = &module.instruction(first).shape;
            let (own, whole) = (from.element_count()? as f64, hlo.shape.element_count()? as f64);
            (own > 0.0 && own < whole)
                .then(|| (1.0 - own / whole, format!("{} makes {:#} of {from:#}", hlo.name, hlo.shape)))
        }
        Opcode::Convert | Opcode::Bitcast | Opcode::Copy | Opcode::Reshape | Opcode::Transpose => {
            pad(module, first, calls, depth)
        }
        Opcode::Fusion => {
            calls.push(index);
            let found = pad(module, module.computation(*hlo.called_computations.first()?).root, calls, depth);
            calls.pop();
            found
        }
        Opcode::Parameter => {
            let call = calls.pop()?;
            let number = usize::try_from(hlo.attributes().parameter_number?).ok();
            let outside = number.and_then(|number| module.instruction(call).operands.get(number).copied());
            let found = outside.and_then(|outside| pad(module, outside, calls, depth));
            calls.push(call);
            found
        }
        _ => None,
    }
}
