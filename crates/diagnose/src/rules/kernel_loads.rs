//! Matrix units that wait for loads: the hot loop is as long as its vector loads need.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, LOADS};
use haloscope_kernel::facts::Facts;
use haloscope_llo::UnitIdx;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_loads",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&LOADS),
    check,
};

fn see(kernel: &Facts) -> Seen {
    let (loads, products) = (kernel.floor(UnitIdx::VectorLoad), kernel.floor(UnitIdx::Mxu));
    if products == 0 || kernel.hot.bundles == 0 {
        return Seen::No;
    }
    let share = loads as f64 / kernel.hot.bundles as f64;
    // Loads that need fewer bundles than the products do hide behind them.
    let binds = loads > products && LOADS.grade(share) != Grade::Good;
    if binds { Seen::Found(share) } else { Seen::Clear(share) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    evidence.look_at_kernels(
        see,
        |kernel, share| format!("{}: vector loads need {} of the hot loop's bundles", op(kernel), units::share(share)),
        |found| {
            let (kernel, share) = found[0];
            let (loads, products) = (kernel.floor(UnitIdx::VectorLoad), kernel.floor(UnitIdx::Mxu));
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "In the hot loop of {}, vector loads need more bundles than the products: at least {loads} of {}, the products {products}",
                    op(kernel),
                    kernel.hot.bundles
                ),
                evidence: format!(
                    "{}: loads alone need {} of the hot loop's bundles{}",
                    op(kernel),
                    units::share(share),
                    others(found, units::share)
                ),
                assuming: "another unit may limit the loop next".into(),
                recommendation: "load less for each product: larger tiles of the result in registers, operands that stay in the matrix unit for more rows, narrower types".into(),
                falsifier: "a version with half the loads has an equally long hot loop".into(),
                status: Status::Derived,
                links: links("kernel bundles", kernel),
                ..Cause::default()
            };
            Said { cause, saved: None }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_kernel::model::Use;

    /// A hot loop of 100 bundles that loads and multiplies so much: a bundle has three loads and two products.
    fn kernel(loads: u64, products: u64) -> Facts {
        let mut hot = Use { bundles: 100, ..Use::default() };
        (hot.used[UnitIdx::VectorLoad as usize], hot.capacity[UnitIdx::VectorLoad as usize]) = (loads, 3);
        (hot.used[UnitIdx::Mxu as usize], hot.capacity[UnitIdx::Mxu as usize]) = (products, 2);
        Facts { hot, ..Facts::default() }
    }

    #[test]
    fn loads_that_set_the_length_are_found() {
        assert_eq!(see(&kernel(270, 60)), Seen::Found(0.9));
        assert_eq!(see(&kernel(270, 190)), Seen::Clear(0.9), "the products need more");
        assert_eq!(see(&kernel(90, 40)), Seen::Clear(0.3), "something else makes the loop long");
        assert_eq!(see(&kernel(180, 40)), Seen::Clear(0.6), "just at the limit");
    }

    #[test]
    fn a_kernel_without_products_has_no_matrix_unit_that_waits() {
        assert_eq!(see(&kernel(270, 0)), Seen::No);
        assert_eq!(see(&Facts::default()), Seen::No);
    }
}
