//! Hot loops that wait: bundles in which no unit works.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{EMPTY_BUNDLES, Grade};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_empty_bundles",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&EMPTY_BUNDLES),
    check,
};

/// A model that takes longer than the kernel did counts branches that were not taken: nothing follows from it.
const REFUTED: f64 = 1.02;

fn see(kernel: &Facts) -> Seen {
    let Some(share) = kernel.hot.empty_share() else { return Seen::No };
    if EMPTY_BUNDLES.grade(share) == Grade::Good { Seen::Clear(share) } else { Seen::Found(share) }
}

/// The share of a kernel's time that its empty bundles take at most; `None` where the model does not hold for it, or it was not timed.
fn empty_of_time(kernel: &Facts) -> Option<f64> {
    let (empty, modelled) = kernel.empty_of_modelled.zip(kernel.modelled_ps)?;
    let measured = kernel.measured_ps.filter(|measured| *measured > 0.0 && modelled <= REFUTED * measured)?;
    Some((empty * modelled / measured).min(1.0))
}

/// What else than results of earlier bundles the hot loop waits for, as the end of a sentence of evidence.
fn waits(kernel: &Facts) -> String {
    match kernel.copy_waits {
        0 => ", and none of its instructions waits for a copy".to_owned(),
        1 => "; 1 of its instructions waits for a copy".to_owned(),
        several => format!("; {several} of its instructions wait for copies"),
    }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    evidence.look_at_kernels(
        see,
        |kernel, share| format!("{}: {} of the hot loop's bundles use no unit", op(kernel), units::share(share)),
        |found| {
            let (kernel, share) = found[0];
            let of = |kernel: &Facts| Some(evidence.kernel_share(kernel)? * empty_of_time(kernel)?);
            // Of some nobody can tell: then the sum is not what would go at most.
            let saved: Option<f64> = found.iter().map(|(kernel, _)| of(kernel)).sum();
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "The hot loop of {} waits: in {} of its bundles no unit works",
                    op(kernel),
                    units::share(share)
                ),
                evidence: format!(
                    "{}: {} of {} bundles of the hot loop use no unit{}{}",
                    op(kernel),
                    kernel.hot.empty,
                    kernel.hot.bundles,
                    waits(kernel),
                    others(found, units::share)
                ),
                assuming: "if other work filled every one of them".into(),
                recommendation: "do more independent work in a step: larger blocks, an unrolled inner loop, several rows or tiles at once, so that one computes while another waits for results".into(),
                falsifier: "a step with twice the work has twice the empty bundles".into(),
                status: Status::Estimated,
                links: links("kernel bundles", kernel),
                ..Cause::default()
            };
            Said { cause, saved }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_kernel::model::Use;

    #[test]
    fn waits_for_copies_are_told() {
        assert!(waits(&kernel(52)).contains("none"));
        assert!(waits(&Facts { copy_waits: 3, ..kernel(52) }).contains("3 of its instructions wait"));
    }

    fn kernel(empty: u64) -> Facts {
        Facts { hot: Use { bundles: 100, empty, ..Use::default() }, ..Facts::default() }
    }

    #[test]
    fn a_loop_that_waits_is_found() {
        assert_eq!(see(&kernel(52)), Seen::Found(0.52));
        assert_eq!(see(&kernel(30)), Seen::Clear(0.3), "just at the limit");
        assert_eq!(see(&kernel(2)), Seen::Clear(0.02));
        assert_eq!(see(&Facts::default()), Seen::No, "no bundles");
    }

    #[test]
    fn a_ceiling_needs_a_time_that_the_model_does_not_exceed() {
        let timed = |measured_ps| Facts {
            modelled_ps: Some(8e6),
            measured_ps,
            empty_of_modelled: Some(0.5),
            ..kernel(52)
        };
        assert_eq!(empty_of_time(&timed(Some(16e6))), Some(0.25));
        assert_eq!(empty_of_time(&timed(Some(4e6))), None, "branches that were not taken count");
        assert_eq!(empty_of_time(&timed(None)), None);
        assert_eq!(empty_of_time(&Facts { empty_of_modelled: None, ..timed(Some(16e6)) }), None);
    }
}
