//! Work on elements that are not there: matrix units and tiles are filled up to whole ones.
//!
//! A TPU's matrix unit holds `edge` rows of the extent that is summed over times `edge` columns of one operand. Extents that
//! are no multiples leave part of it idle. Which operand it holds the compiler chooses; here the better of both is supposed,
//! so that the waste is a lower bound.

use haloscope_hlo::{Matmul, Shape};

use super::{Kind, Row};
use crate::compute::facts::{Fact, Limit};
use haloscope_profile::Peaks;
use haloscope_report::Status;
use haloscope_time::op_class::{Class, body};

/// Less padding than this share is not worth a row.
const SMALL: f64 = 0.02;

/// The share of the matrix unit that a product fills, and the extents that decide it, as words.
fn fill(product: &Matmul, edge: u64) -> Option<(f64, String)> {
    let by_columns = product.fill(edge)?;
    let turned = Matmul { m: product.n, n: product.m, ..*product };
    let by_rows = turned.fill(edge)?;
    let (fill, name, extent) =
        if by_columns >= by_rows { (by_columns, "columns", product.n) } else { (by_rows, "rows", product.m) };
    let whole = |extent: u64| extent.next_multiple_of(edge);
    Some((
        fill,
        format!("summed over {} of {}, {name} {extent} of {}", product.k, whole(product.k), whole(extent)),
    ))
}

/// Padding of less than this in one execution is not worth a row: a scalar takes a tile.
const SMALL_BYTES: f64 = 16384.0;

/// Elements that are not there, in what one op multiplies or moves.
pub(in crate::compute) struct Padding<'f, 'a, 'p> {
    /// Position of the op among the facts.
    pub(in crate::compute) at: usize,
    pub(in crate::compute) fact: &'f Fact<'a, 'p>,
    /// The part of its FLOPs at the matrix unit, or of its bytes, that is padding.
    pub(in crate::compute) share: f64,
    /// Bytes of the elements that are there, of one execution, where it is bytes.
    pub(in crate::compute) element_bytes: Option<f64>,
    /// How much is filled, and by which shape.
    pub(in crate::compute) detail: String,
}

/// Ops whose products leave part of the matrix unit idle.
pub(in crate::compute) fn of_products<'f, 'a, 'p>(
    facts: &'f [Fact<'a, 'p>],
    edge: u64,
) -> impl Iterator<Item = Padding<'f, 'a, 'p>> {
    facts.iter().enumerate().filter_map(move |(at, fact)| {
        let (module, index) = fact.hlo.filter(|_| fact.class == Class::Matmul)?;
        let (mut counted, mut padded, mut worst) = (0.0, 0.0, (1.0, String::new()));
        for part in body(module, index) {
            let Some(product) = module.matmul(part) else { continue };
            let Some((fill, detail)) = fill(&product, edge).filter(|(fill, _)| *fill > 0.0) else { continue };
            let flops = product.flops()? as f64;
            counted += flops;
            padded += flops / fill;
            if fill < worst.0 {
                worst = (fill, detail);
            }
        }
        let waste = padded / counted - 1.0;
        if waste.is_nan() || waste < SMALL {
            return None;
        }
        let detail =
            format!("fills {:.0}% of the {edge} x {edge} unit: {}", 100.0 * counted / padded, worst.1);
        Some(Padding { at, fact, share: 1.0 - counted / padded, element_bytes: None, detail })
    })
}

/// Ops that read and write tiles with elements that are not there.
pub(in crate::compute) fn of_bytes<'f, 'a, 'p>(
    facts: &'f [Fact<'a, 'p>],
) -> impl Iterator<Item = Padding<'f, 'a, 'p>> {
    facts.iter().enumerate().filter_map(|(at, fact)| {
        let (module, index) = fact.hlo.filter(|_| fact.class.has_limits())?;
        let hlo = module.instruction(index);
        let operands = hlo.operands.iter().map(|operand| &module.instruction(*operand).shape);
        let in_main = |shape: &&Shape| shape.memory_space() == 0;
        let arrays = operands.chain([&hlo.shape]).flat_map(Shape::leaves).filter(in_main);
        let (mut bytes, mut padded, mut worst) = (0.0, 0.0, None);
        for shape in arrays {
            let (Some(own), Some(whole)) = (shape.bytes(), shape.padded_bytes()) else { continue };
            bytes += own as f64;
            padded += whole as f64;
            let more = whole.saturating_sub(own);
            if more > 0 && worst.as_ref().is_none_or(|(most, _)| more > *most) {
                worst = Some((more, shape.to_string()));
            }
        }
        let share = 1.0 - bytes / padded;
        if share.is_nan() || share < SMALL || padded - bytes < SMALL_BYTES {
            return None;
        }
        let detail = worst.map(|(more, shape)| {
            let whole = format!("{:.0}% of its tiles are padding", 100.0 * share);
            format!("{whole}; most in {shape} ({})", haloscope_report::units::bytes(more as f64))
        });
        Some(Padding { at, fact, share, element_bytes: Some(bytes), detail: detail.unwrap_or_default() })
    })
}

/// The rows of padded products.
pub(super) fn products<'f, 'a, 'p>(facts: &'f [Fact<'a, 'p>], edge: u64) -> Vec<Row<'f, 'a, 'p>> {
    let row = |one: Padding<'f, 'a, 'p>| {
        let fact = one.fact;
        let wasted_ps = match fact.limit {
            Limit::Floor { compute_ps, memory_ps } => {
                let without = compute_ps.max(memory_ps);
                let with = (compute_ps / (1.0 - one.share)).max(memory_ps);
                Some((with - without).min(fact.op.self_ps as f64))
            }
            _ => None,
        };
        Row {
            kind: Kind::PaddedProduct,
            what: String::new(),
            fact,
            self_ps: fact.op.self_ps,
            wasted_ps,
            bytes: None,
            detail: one.detail,
            status: Status::Estimated,
        }
    };
    of_products(facts, edge).map(row).collect()
}

/// The rows of padded bytes.
pub(super) fn bytes<'f, 'a, 'p>(facts: &'f [Fact<'a, 'p>], peaks: &Peaks) -> Vec<Row<'f, 'a, 'p>> {
    let row = |one: Padding<'f, 'a, 'p>| {
        let fact = one.fact;
        // The compiler counts the bytes of whole tiles.
        let wasted = fact.op.hbm_bytes? * one.share;
        let wasted_ps = match (fact.limit, peaks.hbm) {
            (Limit::Floor { compute_ps, memory_ps }, Some(_)) => {
                let without = compute_ps.max(memory_ps * (1.0 - one.share));
                Some((compute_ps.max(memory_ps) - without).min(fact.op.self_ps as f64))
            }
            _ => None,
        };
        Some(Row {
            kind: Kind::PaddedBytes,
            what: String::new(),
            fact,
            self_ps: fact.op.self_ps,
            wasted_ps,
            bytes: Some(wasted),
            detail: one.detail,
            status: Status::Estimated,
        })
    };
    of_bytes(facts).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use haloscope_hlo::ElementType;

    use super::*;

    #[test]
    fn the_better_operand_is_held_by_the_unit() {
        let product = Matmul {
            m: 4096,
            n: 8,
            k: 64,
            batch: 1,
            lhs: ElementType::Bf16,
            rhs: ElementType::Bf16,
            result: ElementType::F32,
        };
        // 64 of 128 are summed over; 4096 rows fill whole units, 8 columns a sixteenth of one.
        let (share, words) = fill(&product, 128).unwrap();
        assert!((share - 0.5).abs() < 1e-12);
        assert_eq!(words, "summed over 64 of 128, rows 4096 of 4096");
        assert!((fill(&Matmul { k: 256, ..product }, 256).unwrap().0 - 1.0).abs() < 1e-12);
    }
}
