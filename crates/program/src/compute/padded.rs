//! Which ops multiply or move elements that are not there: `compute` lists them, `diagnose` asks what they cost.

use haloscope_profile::{Profile, chips};
use haloscope_time::ops::Op;
use haloscope_time::select::Selection;

use super::audit::padding::{Padding, of_bytes, of_products};
use super::facts;

/// An op with padding.
#[derive(Debug, Clone, PartialEq)]
pub struct Padded {
    /// Position in the ops that were asked about.
    pub op: usize,
    /// Whether it is the matrix unit that is not filled; else it is bytes of tiles.
    pub is_product: bool,
    /// The part of its FLOPs at the matrix unit, or of its bytes to and from HBM, that is padding: 0 to 1. Of a product a lower
    /// bound: the unit is supposed to hold the operand that fills it better.
    pub share: f64,
    /// Bytes of the elements that are there, read and written by one execution, where it is bytes.
    pub element_bytes: Option<f64>,
    /// How much is filled, and by which shape.
    pub detail: String,
}

/// The ops with padding, by their position. `None` where the extents of the matrix unit and of tiles are not known: on chips
/// that are not TPUs of the table, and where the profile holds none of the programs.
#[must_use]
pub fn padded<'p>(profile: &'p Profile, selection: &Selection<'p>, ops: &[Op<'p>]) -> Option<Vec<Padded>> {
    let chip = chips::tpu(&selection.device_type())?;
    let facts = facts::all(profile, selection, ops);
    if facts.iter().all(|fact| fact.hlo.is_none()) {
        return None;
    }
    let found = |is_product: bool| {
        move |one: Padding<'_, '_, '_>| Padded {
            op: one.at,
            is_product,
            share: one.share,
            element_bytes: one.element_bytes,
            detail: one.detail,
        }
    };
    let products = of_products(&facts, chip.matrix_edge).map(found(true));
    let mut all: Vec<Padded> = products.chain(of_bytes(&facts).map(found(false))).collect();
    all.sort_by_key(|one| (one.op, !one.is_product));
    Some(all)
}
