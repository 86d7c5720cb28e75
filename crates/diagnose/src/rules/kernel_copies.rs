//! Kernels whose copies take longer than their schedule: nothing can hide them.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{COPIES, Grade};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::{Status, units};

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_copies",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&COPIES),
    check,
};

/// The least time of a kernel's copies; why it is not known otherwise, and nothing for what is no kernel.
fn copies_ps(kernel: &Facts) -> Result<f64, Seen> {
    let Some(written) = &kernel.mosaic else {
        return Err(if kernel.is_of_xla {
            Seen::No
        } else {
            Seen::Unknown(
                "the run has no HLO that says what it copies: dump with --xla_dump_to into the same folder",
            )
        });
    };
    written
        .copies_ps
        .ok_or(Seen::Unknown("XLA keeps some of its operands in VMEM, or the chip's HBM is not known"))
}

fn see(kernel: &Facts) -> Seen {
    let copies = match copies_ps(kernel) {
        Ok(copies) => copies,
        Err(seen) => return seen,
    };
    // Every branch taken: the schedule takes no longer than this, without waiting.
    let Some(modelled) = kernel.modelled_ps.filter(|modelled| *modelled > 0.0) else {
        return Seen::Unknown("how often its loops run is only known at run time");
    };
    if kernel.measured_ps.is_some_and(|measured| 0.0 < measured && measured < copies) {
        return Seen::Unknown(
            "it took less time than its copies from HBM would take, so some do not come from HBM",
        );
    }
    let ratio = copies / modelled;
    if COPIES.grade(ratio) == Grade::Good { Seen::Clear(ratio) } else { Seen::Found(ratio) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let times = |ratio: f64| format!("{ratio:.2}x");
    evidence.look_at_kernels(
        see,
        |kernel, ratio| format!("{}: copies take at least {} the time of the schedule", op(kernel), times(ratio)),
        |found| {
            let (kernel, ratio) = found[0];
            let copies = copies_ps(kernel).unwrap_or_default();
            let modelled = kernel.modelled_ps.unwrap_or_default();
            let cause = Cause {
                id: RULE.id,
                claim: format!(
                    "The copies of {} take at least {} the time of its whole schedule: nothing in it can hide them",
                    op(kernel),
                    times(ratio)
                ),
                evidence: format!(
                    "{}: its blocks and copies take {} or more at the rate of HBM, the schedule {} at most{}",
                    op(kernel),
                    units::duration_ps(copies),
                    units::duration_ps(modelled),
                    others(found, times)
                ),
                assuming: "HBM bandwidth is the limit, so only moving fewer bytes helps".into(),
                recommendation: "copy less: reuse blocks before moving on (order of the grid, larger blocks of what is read often), use narrower types, do the work of neighbouring ops in the same kernel".into(),
                falsifier: "in a profile it takes less time than the copies".into(),
                status: Status::Estimated,
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

    fn kernel(copies_ps: Option<f64>, modelled_ps: Option<f64>) -> Facts {
        let written = Written { copies_ps, ..Written::default() };
        Facts { mosaic: Some(written), modelled_ps, ..Facts::default() }
    }

    #[test]
    fn copies_longer_than_the_schedule_are_found() {
        assert_eq!(see(&kernel(Some(30e6), Some(10e6))), Seen::Found(3.0));
        assert_eq!(see(&kernel(Some(5e6), Some(10e6))), Seen::Clear(0.5));
        let timed = |measured_ps| Facts { measured_ps: Some(measured_ps), ..kernel(Some(30e6), Some(10e6)) };
        assert_eq!(see(&timed(32e6)), Seen::Found(3.0));
        assert!(matches!(see(&timed(12e6)), Seen::Unknown(_)), "a profile refutes it");
        assert_eq!(see(&kernel(Some(10.5e6), Some(10e6))), Seen::Clear(1.05), "within what is known of both");
    }

    #[test]
    fn what_is_not_known_is_not_clear() {
        assert!(matches!(see(&kernel(None, Some(1e6))), Seen::Unknown(_)));
        assert!(matches!(see(&kernel(Some(1e6), None)), Seen::Unknown(_)));
        assert!(matches!(see(&Facts::default()), Seen::Unknown(_)));
        assert_eq!(see(&Facts { is_of_xla: true, ..Facts::default() }), Seen::No);
    }
}
