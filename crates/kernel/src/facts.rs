//! What can be shown of a kernel from its schedule, its Mosaic module and its dump: the numbers that a diagnosis rests on.

use std::collections::BTreeSet;

use haloscope_llo::{Category, Chip, Module, Opcode, Space, UnitIdx};
use haloscope_profile::{Profile, chips};

use crate::chip;
use crate::difference::traced_bundles;
use crate::dump::WITHOUT_SPILLS;
use crate::model::Use;
use crate::mosaic;
use crate::subject::Subject;

/// Numbers of a kernel. Those of the hot loop are of its body, each bundle once; of a kernel without a loop of all of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// `module(number)::op`.
    pub name: String,
    /// Time of all executions in the scope, picoseconds, over devices; `None` without a timeline.
    pub total_ps: Option<i64>,
    /// Mean time of one execution, picoseconds.
    pub measured_ps: Option<f64>,
    /// Modelled time of one execution, every branch taken, picoseconds.
    pub modelled_ps: Option<f64>,
    /// Bundles of the whole schedule.
    pub bundles: u64,
    /// What the bundles of the hot loop use.
    pub hot: Use,
    /// Trips of the hot loop; `None` where they are not known or there is no loop.
    pub trips: Option<u64>,
    /// Share of the modelled bundles, every branch taken, that use no unit and are of the hot loop.
    pub empty_of_modelled: Option<f64>,
    /// Bundles of the hot loop that move values across lanes or sublanes; reductions do not count.
    pub moving: u64,
    /// Bundles of the hot loop in which no vector or matrix unit works.
    pub scalar_only: u64,
    /// Instructions of the hot loop that wait for a copy.
    pub copy_waits: u64,
    /// Vectors that the code stores for want of a register.
    pub spills: u64,
    /// Bundles of one pass that spills add; `None` without a dump.
    pub spill_cost: Option<i64>,
    /// Bundles of one pass if spills took no slot; `None` without a dump.
    pub without_spills: Option<u64>,
    /// Instructions that are there for a trace only, and bundles that hold one.
    pub traces: (u64, u64),
    /// Vector memory that it has for itself, bytes.
    pub vmem_bytes: u64,
    /// What it may have where nobody raises the limit, bytes; `None` where that is not known of the chip.
    pub vmem_limit_bytes: Option<u64>,
    /// What its Mosaic module says; `None` for what is no Pallas kernel, and where the run has no HLO of it.
    pub mosaic: Option<Written>,
    /// Whether it is known to be no Pallas kernel, but a fusion or the like.
    pub is_of_xla: bool,
    /// Rows and columns of the chip's matrix units; `None` for a chip that is not known.
    pub matrix_edge: Option<u64>,
}

/// What a kernel's author wrote.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    /// Steps of the grid; `None` where they are known at run time only.
    pub steps: Option<u64>,
    /// The least time that its copies between HBM and the chip take at the data sheet's rate, picoseconds; `None` where operands do
    /// not lie in HBM, or the chip is not known.
    pub copies_ps: Option<f64>,
    /// Its matrix products, as they stand in the code.
    pub products: Vec<Product>,
}

/// A matrix product.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Product {
    /// The extent that is summed over; `None` where it is not known.
    pub k: Option<u64>,
    /// The last extent of the result.
    pub n: Option<u64>,
    /// FLOPs of one execution of it.
    pub flops: Option<u64>,
    /// Types of both factors, in words.
    pub types: String,
}

impl Product {
    /// How much of matrix units of this edge the product fills by k and n: extents over the next multiple of the edge.
    #[must_use]
    pub fn fill(&self, edge: u64) -> Option<f64> {
        let of = |extent: u64| {
            let whole = extent.checked_next_multiple_of(edge)?;
            (whole > 0).then(|| extent as f64 / whole as f64)
        };
        Some(of(self.k?)? * of(self.n?)?)
    }
}

impl Facts {
    /// Of a kernel.
    #[must_use]
    pub fn of(profile: &Profile, subject: &Subject<'_>) -> Self {
        let (module, model) = (&subject.module, &subject.model);
        let hot = model.hot();
        let bundles = module.bundles();
        let range = hot.map_or(0..bundles, |hot| hot.first as usize..hot.limit as usize);
        let stages = subject.stages(profile);
        let chip = subject.chip();
        let modelled = model.most();
        let empty_runs: Option<f64> = range
            .clone()
            .filter(|bundle| module.utilization.is_empty(*bundle))
            .map(|bundle| model.runs_of(bundle))
            .sum();
        let held = Held::of(module);
        let inside = |bundles: &BTreeSet<u32>| {
            bundles.iter().filter(|bundle| range.contains(&(**bundle as usize))).count() as u64
        };
        let clock = chip.and_then(chip::clock_hz);
        let found = mosaic::of(profile, subject);
        Self {
            name: subject.name.clone(),
            total_ps: subject.measured.map(|time| time.total_ps),
            measured_ps: subject.measured.and_then(|time| time.mean_ps()),
            modelled_ps: modelled.zip(clock).map(|(bundles, hz)| bundles / hz * 1e12),
            bundles: bundles as u64,
            hot: Use::of(module, range.clone()),
            trips: hot.and_then(|hot| hot.trips),
            empty_of_modelled: empty_runs
                .zip(modelled)
                .filter(|(_, all)| *all > 0.0)
                .map(|(empty, all)| empty / all),
            moving: inside(&held.moving),
            scalar_only: range.clone().filter(|bundle| is_scalar_only(module, *bundle)).count() as u64,
            copy_waits: held.waits.iter().filter(|bundle| range.contains(&(**bundle as usize))).count()
                as u64,
            spills: module.utilization.spills.iter().map(|n| u64::from(*n)).sum(),
            spill_cost: stages.as_ref().and_then(|stages| stages.spill_cost()),
            without_spills: stages.as_ref().and_then(|stages| stages.bundles(WITHOUT_SPILLS)),
            traces: (subject.traces(), traced_bundles(module)),
            vmem_bytes: module.allocated_bytes(Space::Vmem),
            vmem_limit_bytes: chip.and_then(chip::vmem_limit_bytes),
            is_of_xla: matches!(found, mosaic::Found::Other),
            mosaic: found.kernel().and_then(|source| written(&source, chip)),
            matrix_edge: chip.and_then(sheet).map(|sheet| sheet.matrix_edge),
        }
    }

    /// Bundles of the hot loop that a unit alone would need.
    #[must_use]
    pub fn floor(&self, unit: UnitIdx) -> u64 {
        self.hot.floor(unit)
    }
}

/// The data sheet of a chip.
fn sheet(chip: Chip) -> Option<&'static chips::Tpu> {
    chips::tpu(chip.name().rsplit(' ').next()?)
}

/// Which bundles hold what.
struct Held {
    moving: BTreeSet<u32>,
    waits: Vec<u32>,
}

impl Held {
    fn of(module: &Module<'_>) -> Self {
        let scheduled = || module.instructions.iter().filter_map(|i| Some((i.opcode, i.bundle?)));
        Self {
            moving: scheduled().filter(|(opcode, _)| moves(*opcode)).map(|(_, bundle)| bundle).collect(),
            waits: scheduled()
                .filter(|(opcode, _)| opcode.is_copy_wait())
                .map(|(_, bundle)| bundle)
                .collect(),
        }
    }
}

/// Whether an operation moves values across lanes or sublanes of vectors, and computes nothing: rotations, permutations,
/// transpositions, shuffles, combinations of halves. Reductions across lanes compute.
fn moves(opcode: Opcode) -> bool {
    let Some(name) = opcode.known_name() else { return false };
    let is_across = opcode.category() == Category::CrossLane || name.contains("SUBLANE_SHUFFLE");
    is_across && !name.contains("REDUCE") && !name.contains("XLANE_RESULT") && !name.contains("_SET_")
}

fn is_scalar_only(module: &Module<'_>, bundle: usize) -> bool {
    let used = |unit| module.utilization.used(unit, bundle);
    let is_vector = haloscope_llo::UNITS.iter().any(|unit| *unit != UnitIdx::ScalarAlu && used(*unit) > 0);
    !is_vector && used(UnitIdx::ScalarAlu) > 0
}

fn written(source: &mosaic::Source, chip: Option<Chip>) -> Option<Written> {
    let kernel = source.module.kernel().ok()?;
    let rate = chip.and_then(sheet).map(|sheet| sheet.hbm_bytes_per_s);
    let bytes = source.account.bytes().at_least as f64;
    let products = kernel.products().into_iter().map(|product| Product {
        k: product.contracted,
        n: last_extent(&product.types[2]),
        flops: product.flops,
        types: format!("{} x {}", product.types[0], product.types[1]),
    });
    Some(Written {
        steps: source.account.steps,
        copies_ps: rate.filter(|_| source.is_in_hbm).map(|rate| bytes / rate * 1e12),
        products: products.collect(),
    })
}

/// The last extent of a type as MLIR writes it: 256 of `vector<128x256xf32>`.
fn last_extent(ty: &str) -> Option<u64> {
    let inner = ty.split_once('<')?.1;
    let inner = inner.split(['>', ',']).next()?;
    // Behind the last extent stands the type of the elements.
    inner.split('x').rev().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_fills_a_unit_by_its_inner_sides() {
        let product = |k, n| Product { k: Some(k), n: Some(n), ..Product::default() };
        assert_eq!(product(256, 512).fill(256), Some(1.0));
        assert_eq!(product(64, 512).fill(256), Some(0.25));
        assert_eq!(product(128, 64).fill(128), Some(0.5));
        // A little over a multiple fills a second unit badly.
        assert_eq!(product(384, 256).fill(256), Some(0.75));
        assert_eq!(Product { k: Some(128), ..Product::default() }.fill(128), None);
        assert_eq!(product(0, 128).fill(128), None);
    }

    #[test]
    fn the_last_extent_stands_before_the_element_type() {
        assert_eq!(last_extent("vector<128x256xf32>"), Some(256));
        assert_eq!(last_extent("vector<8xbf16>"), Some(8));
        assert_eq!(last_extent("memref<4x8xf32, #tpu.memory_space<vmem>>"), Some(8));
        assert_eq!(last_extent("memref<4x?xf32>"), None, "known at run time only");
        assert_eq!((last_extent("f32"), last_extent("vector<bf16>"), last_extent("")), (None, None, None));
    }

    #[test]
    fn reductions_compute_and_rotations_move() {
        let of = |name: &str| (0..600).map(Opcode).find(|opcode| opcode.known_name() == Some(name)).unwrap();
        for name in ["VECTOR_ROTATE", "VECTOR_TRANSPOSE", "VECTOR_LOAD_SUBLANE_SHUFFLE", "VECTOR_COMBINE_LOW"]
        {
            assert!(moves(of(name)), "{name}");
        }
        for name in ["VECTOR_ADD_REDUCE_F32", "VECTOR_ADD_F32", "VECTOR_LOAD", "VECTOR_SET_PERMUTE_PATTERN"] {
            assert!(!moves(of(name)), "{name}");
        }
        assert!(!moves(Opcode(99_999)), "nobody knows what it does");
    }
}
