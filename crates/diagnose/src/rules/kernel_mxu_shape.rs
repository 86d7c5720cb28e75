//! Products that fill matrix units badly by their shape: k or n is no multiple of the unit's edge.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, MXU_FILL};
use haloscope_kernel::facts::{Facts, Product};
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_mxu_shape",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&MXU_FILL),
    check,
};

/// How much of the matrix units a kernel's products fill, by FLOPs: the FLOPs over those of units that are filled.
fn fill(products: &[Product], edge: u64) -> Option<f64> {
    let (mut useful, mut whole) = (0.0, 0.0);
    for product in products {
        let (flops, fill) = (product.flops? as f64, product.fill(edge).filter(|fill| *fill > 0.0)?);
        useful += flops;
        whole += flops / fill;
    }
    (whole > 0.0).then(|| useful / whole)
}

fn see(kernel: &Facts) -> Seen {
    let Some(written) = &kernel.mosaic else {
        return if kernel.is_of_xla {
            Seen::No
        } else {
            Seen::Unknown(
                "the run has no HLO that says the shapes of its products: dump with --xla_dump_to into the same folder",
            )
        };
    };
    if written.products.is_empty() {
        return Seen::No;
    }
    let Some(edge) = kernel.matrix_edge else {
        return Seen::Unknown("the matrix units of its chip are not known");
    };
    let Some(fill) = fill(&written.products, edge) else {
        return Seen::Unknown("the sizes of a product are only known at run time");
    };
    // The larger the number the worse, as everywhere.
    if MXU_FILL.grade(fill) == Grade::Good { Seen::Clear(1.0 - fill) } else { Seen::Found(1.0 - fill) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let filled = |empty: f64| units::share(1.0 - empty);
    evidence.look_at_kernels(
        see,
        |kernel, empty| format!("{}: its products fill {} of the matrix units by k and n", op(kernel), filled(empty)),
        |found| {
            let (kernel, empty) = found[0];
            let edge = kernel.matrix_edge.unwrap_or_default();
            let products = kernel.mosaic.as_ref().map(|written| &written.products[..]).unwrap_or_default();
            let worst = products
                .iter()
                .filter_map(|product| Some((product.fill(edge)?, product)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let shape = worst.map(|(_, product)| {
                let words = |extent: Option<u64>| extent.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
                format!("k {} and n {} ({})", words(product.k), words(product.n), product.types)
            });
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "The products of {} fill {} of matrix units of {edge} x {edge}: {}",
                    op(kernel),
                    filled(empty),
                    shape.unwrap_or_default()
                ),
                evidence: format!(
                    "{}: {} products, each by its extents k and n over the next multiple of {edge}, weighted by FLOPs{}",
                    op(kernel),
                    products.len(),
                    others(found, filled)
                ),
                assuming: "something other than the matrix unit may limit the kernel".into(),
                recommendation: format!("use blocks whose inner sides are multiples of {edge}: heads or rows together in one product, or another order of the factors"),
                falsifier: "with full sides and the same useful FLOPs, the kernel has as many modelled bundles".into(),
                status: Status::Derived,
                links: links("kernel grid", kernel),
                ..Cause::default()
            };
            Said { cause, saved: None }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_kernel::facts::Written;

    fn kernel(sides: &[(u64, u64)], edge: Option<u64>) -> Facts {
        let product = |(k, n): &(u64, u64)| Product {
            k: Some(*k),
            n: Some(*n),
            flops: Some(1000),
            types: String::new(),
        };
        let products = sides.iter().map(product).collect();
        Facts {
            mosaic: Some(Written { products, ..Written::default() }),
            matrix_edge: edge,
            ..Facts::default()
        }
    }

    #[test]
    fn short_sides_are_found_by_the_edge_of_the_chip() {
        assert_eq!(see(&kernel(&[(64, 512)], Some(256))), Seen::Found(0.75));
        assert_eq!(see(&kernel(&[(128, 512)], Some(128))), Seen::Clear(0.0));
        assert_eq!(
            see(&kernel(&[(128, 512)], Some(256))),
            Seen::Found(0.5),
            "the next chip's units are larger"
        );
        // A little over a multiple of the edge is within what is good.
        assert!(matches!(see(&kernel(&[(1250, 256)], Some(128))), Seen::Clear(_)));
    }

    #[test]
    fn what_takes_most_work_weighs_most() {
        // Two products of as many FLOPs: the second takes four times as long as its FLOPs need.
        assert_eq!(see(&kernel(&[(256, 256), (64, 256)], Some(256))), Seen::Found(1.0 - 2.0 / 5.0));
    }

    #[test]
    fn what_is_not_known_is_unknown_and_without_products_nothing_is_asked() {
        assert!(matches!(see(&kernel(&[(64, 64)], None)), Seen::Unknown(_)));
        let mut dynamic = kernel(&[(64, 64)], Some(128));
        dynamic.mosaic.as_mut().unwrap().products[0].n = None;
        assert!(matches!(see(&dynamic), Seen::Unknown(_)));
        assert!(matches!(see(&Facts::default()), Seen::Unknown(_)));
        assert_eq!(see(&kernel(&[], Some(128))), Seen::No);
        assert_eq!(see(&Facts { is_of_xla: true, ..Facts::default() }), Seen::No);
    }
}
