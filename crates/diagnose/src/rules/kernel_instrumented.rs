//! Kernels that were compiled with instructions for a trace: they are others than those that run without.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use haloscope_kernel::facts::Facts;
use haloscope_profile::DeviceKind;
use haloscope_report::Status;

use super::kernel_look::{NEEDS, Said, Seen, links, op, others};

pub(super) static RULE: Rule = Rule {
    id: "kernel_instrumented",
    standing: Standing::Caveat,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: None,
    check,
};

fn see(kernel: &Facts) -> Seen {
    match kernel.traces {
        (0, _) => Seen::Clear(0.0),
        (traces, _) => Seen::Found(traces as f64),
    }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let outcome = evidence.look_at_kernels(
        see,
        |_, _| "no kernel has tracing instructions".into(),
        |found| {
            let (kernel, _) = found[0];
            let (traces, bundles) = kernel.traces;
            let cause = Cause {
                id: RULE.id,
                claim: format!("{} was compiled with tracing instructions, so its timings are not those of the untraced kernel: {traces} instructions in {bundles} of its {} bundles", op(kernel), kernel.bundles),
                evidence: format!(
                    "{}: {traces} tracing instructions in {bundles} of {} bundles{}",
                    op(kernel),
                    kernel.bundles,
                    others(found, |n| format!("{n:.0}"))
                ),
                assuming: "timings of the traced kernel do not apply to the untraced one".into(),
                recommendation: "measure without `--xla_xprof_enable_custom_call_tracing`; source lines need only `--xla_xprof_register_llo_debug_info`, which changes no bundle".into(),
                falsifier: "`kernel diff` of both compilations shows a difference besides instrumentation".into(),
                status: Status::Measured,
                links: links("kernel opcodes", kernel),
                ..Cause::default()
            };
            Said { cause, saved: None }
        },
    );
    // It is to be known of the capture, whatever it costs.
    outcome.standing(Standing::Caveat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instruction_for_a_trace_is_enough() {
        let kernel = |traces| Facts { traces, ..Facts::default() };
        assert_eq!(see(&kernel((16, 14))), Seen::Found(16.0));
        assert_eq!(see(&kernel((1, 1))), Seen::Found(1.0));
        assert_eq!(see(&kernel((0, 0))), Seen::Clear(0.0));
    }
}
