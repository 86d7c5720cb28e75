//! Kernels that move values across lanes and sublanes for much of their time.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, RELAYOUTS};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_relayouts",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&RELAYOUTS),
    check,
};

/// Where such bundles are fewer than this of the loop, something else is what it does.
const WORTH: f64 = 0.25;

/// Bundles of the hot loop in which a vector or matrix unit works.
fn working(kernel: &Facts) -> u64 {
    kernel.hot.bundles.saturating_sub(kernel.hot.empty).saturating_sub(kernel.scalar_only)
}

fn see(kernel: &Facts) -> Seen {
    let working = working(kernel);
    if working == 0 {
        return Seen::No;
    }
    let share = (kernel.moving as f64 / working as f64).min(1.0);
    let is_worth = kernel.moving as f64 >= WORTH * kernel.hot.bundles as f64;
    if is_worth && RELAYOUTS.grade(share) != Grade::Good { Seen::Found(share) } else { Seen::Clear(share) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    evidence.look_at_kernels(
        see,
        |kernel, share| {
            format!("{}: {} of the hot loop's bundles that work on vectors move them across lanes", op(kernel), units::share(share))
        },
        |found| {
            let (kernel, share) = found[0];
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "{} moves values across lanes and sublanes in {} of its hot loop's bundles that work on vectors",
                    op(kernel),
                    units::share(share)
                ),
                evidence: format!(
                    "{}: {} of {} bundles in which vector or matrix units work hold a rotation, permutation, transposition, shuffle or combination{}",
                    op(kernel),
                    kernel.moving,
                    working(kernel),
                    others(found, units::share)
                ),
                assuming: "moving values may be what the kernel is for".into(),
                recommendation: "give arrays the layout that the kernel works in: the dimension that it reduces or gathers over last or before last, rows that are read whole, indices that are the same for a sublane; `kernel source` has the lines".into(),
                falsifier: "a version without the reshapes, transposes and gathers of these lines has an equally long hot loop".into(),
                status: Status::Derived,
                links: links("kernel source", kernel),
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

    /// A hot loop of 100 bundles, of which so many do nothing, or only count.
    fn kernel(moving: u64, empty: u64, scalar_only: u64) -> Facts {
        Facts { moving, scalar_only, hot: Use { bundles: 100, empty, ..Use::default() }, ..Facts::default() }
    }

    #[test]
    fn what_part_of_the_bundles_that_work_decides() {
        assert_eq!(see(&kernel(56, 10, 20)), Seen::Found(0.8));
        assert_eq!(see(&kernel(28, 10, 20)), Seen::Clear(0.4), "just at the limit");
        assert_eq!(see(&kernel(10, 0, 0)), Seen::Clear(0.1));
        assert_eq!(see(&kernel(9, 60, 30)), Seen::Clear(0.9), "the loop does something else");
        assert_eq!(see(&kernel(0, 70, 30)), Seen::No, "nothing works on vectors");
    }
}
