//! Blocks that are too small for the vector memory that there is: what each step costs beside its work outweighs the work.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, STEP_OVERHEAD};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_small_blocks",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&STEP_OVERHEAD),
    check,
};

/// Blocks can grow if they take no more than this of the limit: twice as large in both directions they still fit.
const ROOM: f64 = 0.25;
/// A loop of fewer trips has nothing to spread over larger blocks: a pipeline adds two.
const FEWEST_TRIPS: u64 = 6;

/// Trips that a pipeline adds to the steps of the grid: the first copy in and the last one out.
const PIPELINE: u64 = 2;

/// Steps of the grid.
fn steps(kernel: &Facts) -> Option<u64> {
    kernel.mosaic.as_ref().and_then(|written| written.steps)
}

fn see(kernel: &Facts) -> Seen {
    if kernel.is_of_xla || kernel.hot.bundles == 0 {
        return Seen::No;
    }
    if kernel.mosaic.is_none() {
        return Seen::Unknown(
            "the run has no HLO that says whether it has blocks: dump with --xla_dump_to into the same folder",
        );
    }
    let share = (kernel.hot.empty + kernel.scalar_only) as f64 / kernel.hot.bundles as f64;
    if STEP_OVERHEAD.grade(share) == Grade::Good {
        return Seen::Clear(share);
    }
    let Some(limit) = kernel.vmem_limit_bytes else {
        return Seen::Unknown("the vector memory limit of this chip is not known");
    };
    let (Some(trips), Some(steps)) = (kernel.trips, steps(kernel)) else {
        return Seen::Unknown("how often its loop runs is only known at run time");
    };
    if !(steps..=steps + PIPELINE).contains(&trips) {
        return Seen::Unknown("its hot loop is not the loop over its blocks");
    }
    let has_room = kernel.vmem_bytes as f64 <= ROOM * limit as f64;
    if has_room && trips >= FEWEST_TRIPS { Seen::Found(share) } else { Seen::Clear(share) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    evidence.look_at_kernels(
        see,
        |kernel, share| {
            format!("{}: neither vector nor matrix units work in {} of the hot loop's bundles", op(kernel), units::share(share))
        },
        |found| {
            let (kernel, share) = found[0];
            let limit = kernel.vmem_limit_bytes.unwrap_or_default();
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "{} does too little in each of its {} steps: in {} of a step's bundles no vector or matrix unit works, and its blocks take {} of {}",
                    op(kernel),
                    steps(kernel).unwrap_or_default(),
                    units::share(share),
                    units::bytes(kernel.vmem_bytes as f64),
                    units::bytes(limit as f64)
                ),
                evidence: format!(
                    "{}: of {} bundles of the hot loop {} use no unit and {} scalar units alone{}",
                    op(kernel),
                    kernel.hot.bundles,
                    kernel.hot.empty,
                    kernel.scalar_only,
                    others(found, units::share)
                ),
                assuming: "larger blocks may spill, or copy values that are not used".into(),
                recommendation: "use larger blocks, or several rows in a step: `kernel` says whether twice as much fits, `kernel grid` has the blocks".into(),
                falsifier: "`kernel diff` with doubled blocks shows the same number of modelled bundles in total".into(),
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
    use haloscope_kernel::model::Use;

    /// A Pallas kernel of 66 steps of 100 bundles, of which so many do nothing; it takes so much of 32 MiB.
    fn kernel(idle: u64, mib: u64) -> Facts {
        Facts {
            hot: Use { bundles: 100, empty: idle / 2, ..Use::default() },
            scalar_only: idle - idle / 2,
            trips: Some(66),
            vmem_bytes: mib << 20,
            vmem_limit_bytes: Some(32 << 20),
            mosaic: Some(Written { steps: Some(64), ..Written::default() }),
            ..Facts::default()
        }
    }

    #[test]
    fn idle_steps_are_found_where_blocks_can_grow() {
        assert_eq!(see(&kernel(70, 1)), Seen::Found(0.7));
        assert_eq!(see(&kernel(20, 1)), Seen::Clear(0.2), "steps work");
        assert_eq!(see(&kernel(70, 20)), Seen::Clear(0.7), "there is no room");
        let one = Written { steps: Some(1), ..Written::default() };
        assert_eq!(
            see(&Facts { trips: Some(3), mosaic: Some(one), ..kernel(70, 1) }),
            Seen::Clear(0.7),
            "one step"
        );
        assert_eq!(see(&kernel(50, 1)), Seen::Clear(0.5), "just at the limit");
    }

    #[test]
    fn a_limit_trips_or_blocks_that_nobody_knows_are_unknown() {
        for kernel in [
            Facts { vmem_limit_bytes: None, ..kernel(70, 1) },
            Facts { trips: None, ..kernel(70, 1) },
            Facts { mosaic: None, ..kernel(70, 1) },
            Facts { mosaic: Some(Written::default()), ..kernel(70, 1) },
            // A loop inside of a step is the hot one.
            Facts { trips: Some(1024), ..kernel(70, 1) },
        ] {
            assert!(matches!(see(&kernel), Seen::Unknown(_)), "{kernel:?}");
        }
        // What XLA made has no blocks of its author's.
        assert_eq!(see(&Facts { mosaic: None, is_of_xla: true, ..kernel(70, 1) }), Seen::No);
    }
}
