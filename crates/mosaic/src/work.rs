//! What one operation computes and moves.

use crate::attribute::Attribute;
use crate::ids::{OpId, ValueId};
use crate::module::{Module, inner, product};
use crate::types::Type;

/// A number that lies between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// It is at least this.
    pub at_least: u64,
    /// It is at most this; `None` where there is no telling.
    pub at_most: Option<u64>,
}

impl Range {
    /// Nothing, and known to be so.
    pub const ZERO: Self = Self::exact(0);
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { at_least: 0, at_most: None };

    /// A known number.
    #[must_use]
    pub const fn exact(value: u64) -> Self {
        Self { at_least: value, at_most: Some(value) }
    }

    /// A number that is known or not.
    #[must_use]
    pub const fn of(value: Option<u64>) -> Self {
        match value {
            Some(value) => Self::exact(value),
            None => Self::UNKNOWN,
        }
    }

    /// The number, where it is known.
    #[must_use]
    pub fn value(self) -> Option<u64> {
        self.at_most.filter(|most| *most == self.at_least)
    }

    /// Whether it is known to be 0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.at_most == Some(0)
    }

    /// Both. What is over 64 bits has no upper end.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            at_least: self.at_least.saturating_add(other.at_least),
            at_most: self.at_most.zip(other.at_most).and_then(|(a, b)| a.checked_add(b)),
        }
    }

    /// As often as another number says.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::ZERO;
        }
        Self {
            at_least: self.at_least.saturating_mul(other.at_least),
            at_most: self.at_most.zip(other.at_most).and_then(|(a, b)| a.checked_mul(b)),
        }
    }

    /// One or the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            at_least: self.at_least.min(other.at_least),
            at_most: self.at_most.zip(other.at_most).map(|(a, b)| a.max(b)),
        }
    }
}

/// What is computed and moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// FLOPs of matrix products: twice the elements of the result times the extent that is summed over.
    pub products: Range,
    /// Arithmetic of vectors, an element at a time: one for each, whatever its type. Conversions and moves are none.
    pub vectors: Range,
    /// Evaluations of exp, log, tanh, rsqrt and the like.
    pub transcendentals: Range,
    /// Bytes that the kernel's own copies read from HBM.
    pub read_bytes: Range,
    /// Bytes that they write there.
    pub written_bytes: Range,
    /// Bytes that they send to other devices.
    pub sent_bytes: Range,
}

impl Work {
    /// Nothing, and known to be so.
    pub const ZERO: Self = Self {
        products: Range::ZERO,
        vectors: Range::ZERO,
        transcendentals: Range::ZERO,
        read_bytes: Range::ZERO,
        written_bytes: Range::ZERO,
        sent_bytes: Range::ZERO,
    };

    pub(crate) fn with(self, other: Self, f: impl Fn(Range, Range) -> Range) -> Self {
        Self {
            products: f(self.products, other.products),
            vectors: f(self.vectors, other.vectors),
            transcendentals: f(self.transcendentals, other.transcendentals),
            read_bytes: f(self.read_bytes, other.read_bytes),
            written_bytes: f(self.written_bytes, other.written_bytes),
            sent_bytes: f(self.sent_bytes, other.sent_bytes),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        self.with(other, Range::plus)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.with(other, Range::or)
    }

    pub(crate) fn times(self, count: Range) -> Self {
        self.with(self, |one, _| one.times(count))
    }

    pub(crate) fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl Module {
    /// What an operation computes and moves itself, what is in its regions not among it.
    pub(crate) fn work(&self, op: OpId) -> Work {
        let name = self.name(op);
        let mut work = Work::ZERO;
        match name {
            "tpu.matmul" | "vector.contract" => work.products = Range::of(self.product_flops(op)),
            // One half of a product whose other half was put into the unit before.
            "tpu.matmul_acc_lhs" | "tpu.matmul_pop" => work.products = Range::UNKNOWN,
            "vector.multi_reduction" | "tpu.reduce" | "vector.reduction" => {
                let from = self.operand_elements(op, 0);
                let to = self.result_elements(op).unwrap_or(1);
                work.vectors = Range::of(from.map(|from| from.saturating_sub(to)));
            }
            "tpu.enqueue_dma" => self.copy(op, &mut work),
            "tpu.enqueue_indirect_dma" => self.indirect_copy(op, &mut work),
            _ if is_transcendental(name) => {
                work.transcendentals = self.vector_work(op).map_or(Range::ZERO, Range::exact);
            }
            _ if is_arithmetic(name) => work.vectors = self.vector_work(op).map_or(Range::ZERO, Range::exact),
            _ => {}
        }
        work
    }

    /// Elements of the vector that an operation gives; `None` where it gives none.
    fn vector_work(&self, op: OpId) -> Option<u64> {
        let ty = self.type_of(self.op(op).results().next()?)?;
        matches!(ty, Type::Vector { .. }).then(|| self.elements(ty)).flatten()
    }

    fn operand_elements(&self, op: OpId, index: usize) -> Option<u64> {
        self.elements(self.type_of(*self.op(op).operands.get(index)?)?)
    }

    fn result_elements(&self, op: OpId) -> Option<u64> {
        self.elements(self.type_of(self.op(op).results().next()?)?)
    }

    /// FLOPs of a matrix product: 2 for each element of the result and each that is summed into it.
    #[must_use]
    pub(crate) fn product_flops(&self, op: OpId) -> Option<u64> {
        if self.name(op) == "vector.contract" {
            return self.contract_flops(op);
        }
        let contracted = self.contracted(op)?;
        self.result_elements(op)?.checked_mul(contracted)?.checked_mul(2)
    }

    /// The extent that a `tpu.matmul` sums over.
    pub(crate) fn contracted(&self, op: OpId) -> Option<u64> {
        let left = self.shape(self.type_of(*self.op(op).operands.first()?)?)?;
        let summed = match self.attribute(op, "dimension_numbers").and_then(|a| self.words(a)) {
            Some(text) => contracting(text)?,
            None => {
                let is_transposed = self.attribute(op, "transpose_lhs").and_then(|a| self.integer(a));
                vec![if is_transposed == Some(1) { 0 } else { left.len().checked_sub(1)? }]
            }
        };
        let extents: Vec<i64> = summed.iter().map(|dim| left.get(*dim).copied()).collect::<Option<_>>()?;
        product(&extents)
    }

    /// `vector.contract`: twice the product of all extents that its maps name.
    fn contract_flops(&self, op: OpId) -> Option<u64> {
        let Attribute::Array(maps) = self.attribute(op, "indexing_maps")? else { return None };
        let mut extents: Vec<(String, i64)> = Vec::new();
        for (map, operand) in maps.iter().zip(&self.op(op).operands) {
            let (_, results) = self.text_of(*map)?.strip_suffix(")>")?.split_once(" -> (")?;
            for (dim, extent) in results.split(", ").zip(self.shape(self.type_of(*operand)?)?) {
                if !extents.iter().any(|(known, _)| known == dim) {
                    extents.push((dim.to_owned(), *extent));
                }
            }
        }
        let extents: Vec<i64> = extents.into_iter().map(|(_, extent)| extent).collect();
        product(&extents)?.checked_mul(2)
    }

    /// Operands of an operation by `operandSegmentSizes`; `None` where it does not say, or they are not those that it has.
    fn segment(&self, op: OpId, index: usize) -> Option<&[ValueId]> {
        let sizes = self.integers(self.attribute(op, "operandSegmentSizes")?)?;
        let sizes: Vec<usize> = sizes.iter().map(|s| usize::try_from(*s).ok()).collect::<Option<_>>()?;
        let end = sizes.get(..=index)?.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size))?;
        self.op(op).operands.get(end - sizes[index]..end)
    }

    /// A copy that the kernel starts itself: source, its semaphore, target, its semaphore, device, core.
    fn copy(&self, op: OpId, work: &mut Work) {
        let operands = &self.op(op).operands;
        let source = self.segment(op, 0).and_then(|s| s.first()).or(operands.first());
        let target = self.segment(op, 2).and_then(|s| s.first());
        let is_sent = self.segment(op, 4).is_some_and(|s| !s.is_empty());
        let ty = |value: Option<&ValueId>| value.and_then(|v| self.type_of(*v));
        let (source, target) = (ty(source), ty(target));
        let bytes = Range::of(source.and_then(|ty| self.bytes(ty)));
        if source.is_none_or(|ty| self.is_hbm(ty)) {
            work.read_bytes = bytes;
        }
        if is_sent {
            work.sent_bytes = bytes;
        } else if target.is_none_or(|ty| self.is_hbm(ty)) {
            work.written_bytes = bytes;
        }
    }

    /// A copy of rows by a list of their numbers: as many bytes as the side on the chip takes.
    fn indirect_copy(&self, op: OpId, work: &mut Work) {
        let operands = &self.op(op).operands;
        let ty = |index: usize| operands.get(index).and_then(|v| self.type_of(*v));
        let (Some(source), Some(target)) = (ty(0), ty(1)) else {
            (work.read_bytes, work.written_bytes) = (Range::UNKNOWN, Range::UNKNOWN);
            return;
        };
        if self.is_hbm(source) {
            work.read_bytes = Range::of(self.bytes(target));
        }
        if self.is_hbm(target) {
            work.written_bytes = Range::of(self.bytes(source));
        }
    }

    /// Whether a reference is into the device's main memory, where `any` leaves operands too.
    pub(crate) fn is_hbm(&self, ty: &Type) -> bool {
        matches!(self.space(ty), "hbm" | "any" | "")
    }
}

/// The dimensions of the left operand that `#tpu.dot_dimension_numbers<[1], [0], ...>` sums over.
fn contracting(text: &str) -> Option<Vec<usize>> {
    let list = inner(text)?.trim_start().strip_prefix('[')?;
    let (list, _) = list.split_once(']')?;
    list.split(',').map(str::trim).filter(|dim| !dim.is_empty()).map(|dim| dim.parse().ok()).collect()
}

fn is_transcendental(name: &str) -> bool {
    let Some(name) = name.strip_prefix("math.") else { return false };
    !matches!(name, "absf" | "absi" | "fma" | "floor" | "ceil" | "round" | "roundeven" | "trunc" | "copysign")
}

fn is_arithmetic(name: &str) -> bool {
    match name.split_once('.') {
        Some(
            ("tpu", "reciprocal")
            | ("math", "absf" | "absi" | "floor" | "ceil" | "round" | "roundeven" | "trunc" | "copysign"),
        ) => true,
        Some(("arith", name)) => matches!(
            name,
            "addf"
                | "subf"
                | "mulf"
                | "divf"
                | "remf"
                | "negf"
                | "maximumf"
                | "minimumf"
                | "maxnumf"
                | "minnumf"
                | "cmpf"
                | "select"
                | "addi"
                | "subi"
                | "muli"
                | "divsi"
                | "divui"
                | "remsi"
                | "remui"
                | "andi"
                | "ori"
                | "xori"
                | "shli"
                | "shrsi"
                | "shrui"
                | "maxsi"
                | "maxui"
                | "minsi"
                | "minui"
                | "cmpi"
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimension_numbers() {
        let text = "#tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>";
        assert_eq!(contracting(text), Some(vec![1]));
        assert_eq!(contracting("#tpu.dot_dimension_numbers<[1, 2], [0]>"), Some(vec![1, 2]));
        assert_eq!(contracting("#tpu.dot_dimension_numbers<[x], [0]>"), None);
    }

    #[test]
    fn ranges() {
        let gated = Range { at_least: 0, at_most: Some(4) };
        assert_eq!(Range::exact(3).plus(gated), Range { at_least: 3, at_most: Some(7) });
        assert_eq!(Range::UNKNOWN.times(Range::ZERO), Range::ZERO);
        assert_eq!(Range::exact(2).times(Range::UNKNOWN), Range::UNKNOWN);
        assert_eq!(Range::exact(u64::MAX).plus(Range::exact(1)).value(), None);
        assert_eq!(Range::exact(5).or(Range::exact(5)).value(), Some(5));
    }
}
