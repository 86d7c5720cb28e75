//! Spills that cost: the schedule is longer than if spills and fills took no slot.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SPILL_COST};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_spill_cost",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&SPILL_COST),
    check,
};

fn see(kernel: &Facts) -> Seen {
    if kernel.spills == 0 {
        return Seen::Clear(0.0);
    }
    let Some((cost, without)) = kernel.spill_cost.zip(kernel.without_spills).filter(|(_, n)| *n > 0) else {
        return Seen::Unknown(
            "it spills; the cost is only in a dump with --xla_jf_dump_llo_text=true, and is often zero",
        );
    };
    let share = cost as f64 / without as f64;
    if SPILL_COST.grade(share) == Grade::Good { Seen::Clear(share.max(0.0)) } else { Seen::Found(share) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    evidence.look_at_kernels(
        see,
        |kernel, share| match kernel.spills {
            0 => "no kernel spills a vector".into(),
            spills => format!("{}: {spills} vector spills make the schedule {} longer", op(kernel), units::share(share)),
        },
        |found| {
            let (kernel, share) = found[0];
            let (cost, without) = (kernel.spill_cost.unwrap_or(0), kernel.without_spills.unwrap_or(0));
            let cause = Cause {
                id: RULE.id,
                claim: format!("Spills make the schedule of {} {} longer: {cost} bundles of one pass", op(kernel), units::share(share)),
                evidence: format!(
                    "{}: {} bundles with its {} vector spills, {without} if spills and fills took no slot{}",
                    op(kernel),
                    kernel.bundles,
                    kernel.spills,
                    others(found, units::share)
                ),
                assuming: "the bundles of one pass do not say how often each runs".into(),
                recommendation: "keep fewer values at once: smaller blocks, a loop instead of an unrolled body, values computed again where they are used".into(),
                falsifier: "a version without spills is just as long in `kernel stages`".into(),
                status: Status::Estimated,
                links: links("kernel spills", kernel),
                ..Cause::default()
            };
            Said { cause, saved: None }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(spills: u64, cost: Option<i64>, without: Option<u64>) -> Facts {
        Facts { spills, spill_cost: cost, without_spills: without, ..Facts::default() }
    }

    #[test]
    fn what_spills_cost_decides_and_not_that_they_are_there() {
        assert_eq!(see(&kernel(438, Some(132), Some(756))), Seen::Found(132.0 / 756.0));
        assert_eq!(see(&kernel(199, Some(0), Some(695))), Seen::Clear(0.0));
        assert_eq!(see(&kernel(186, Some(1), Some(716))), Seen::Clear(1.0 / 716.0), "a bundle is nothing");
        assert_eq!(
            see(&kernel(5, Some(-3), Some(100))),
            Seen::Clear(0.0),
            "the packer was luckier with them"
        );
        assert_eq!(see(&kernel(0, None, None)), Seen::Clear(0.0));
    }

    #[test]
    fn without_a_dump_nobody_knows() {
        assert!(matches!(see(&kernel(438, None, None)), Seen::Unknown(_)));
        assert!(matches!(see(&kernel(438, Some(3), Some(0))), Seen::Unknown(_)));
    }
}
