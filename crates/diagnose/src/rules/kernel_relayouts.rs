//! Kernels that mostly move values across lanes and sublanes.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::kernels::{NEEDS, Said, Seen, links, op, others};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, RELAYOUTS};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

pub(super) static RULE: Rule = Rule {
    id: "kernel_relayouts",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&RELAYOUTS),
    check,
};

fn see(kernel: &Facts) -> Seen {
    let working = kernel.hot.bundles.saturating_sub(kernel.hot.empty);
    if working == 0 {
        return Seen::No;
    }
    let share = (kernel.moving as f64 / working as f64).min(1.0);
    if RELAYOUTS.grade(share) == Grade::Good { Seen::Clear(share) } else { Seen::Found(share) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    evidence.look_at_kernels(
        see,
        |kernel, share| {
            format!("{}: {} of the hot loop's working bundles move values across lanes", op(kernel), units::share(share))
        },
        |found| {
            let (kernel, share) = found[0];
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "Most of what {} does is moving values across lanes and sublanes: {} of its hot loop's working bundles",
                    op(kernel),
                    units::share(share)
                ),
                evidence: format!(
                    "{}: {} of {} bundles that use a unit hold a rotation, permutation, transposition, shuffle or combination{}",
                    op(kernel),
                    kernel.moving,
                    kernel.hot.bundles.saturating_sub(kernel.hot.empty),
                    others(found, units::share)
                ),
                assuming: "as a kernel may be there to move values".into(),
                lever: "give arrays the layout that the kernel works in: the dimension that it reduces or gathers over last or before last, rows that are read whole, indices that are the same for a sublane; `kernel source` has the lines".into(),
                falsifier: "a version without the reshapes, transposes and gathers of these lines has a hot loop as long".into(),
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

    fn kernel(moving: u64, bundles: u64, empty: u64) -> Facts {
        Facts { moving, hot: Use { bundles, empty, ..Use::default() }, ..Facts::default() }
    }

    #[test]
    fn most_of_the_bundles_that_work_decides() {
        assert_eq!(see(&kernel(70, 120, 20)), Seen::Found(0.7));
        assert_eq!(see(&kernel(50, 100, 0)), Seen::Clear(0.5), "half is not most");
        assert_eq!(see(&kernel(10, 100, 0)), Seen::Clear(0.1));
        assert_eq!(see(&kernel(0, 100, 100)), Seen::No, "nothing works");
    }
}
