//! Pipelined kernels that wait for their blocks.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, KERNEL_WAIT};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::kernel_units::KernelUnit;
use haloscope_time::op_meta::is_container;

pub(super) static RULE: Rule = Rule {
    id: "kernel_starved",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: "the line XLA TraceMe: region markers of pipelined kernels (custom call region trace on)",
    threshold: Some(&KERNEL_WAIT),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let has_kernels = evidence.ops().iter().any(|op| op.meta.category.contains("custom-call"));
    let Some(stages) = evidence.stages() else {
        return if has_kernels {
            Outcome::unknown("kernels ran without region markers, so what happens inside is unknown")
        } else {
            Outcome::not_applicable("no custom call ran")
        };
    };
    let waits = (stages.wait_in_ps.saturating_add(stages.wait_out_ps)) as f64;
    if stages.run_ps <= 0 {
        return Outcome::unknown(format!(
            "kernels wait {} for blocks, and do not mark when their body runs",
            units::duration_ps(waits)
        ));
    }
    let ratio = waits / stages.run_ps as f64;
    let said = format!(
        "kernels wait {} for blocks and run {}: ratio {ratio:.2}",
        units::duration_ps(waits),
        units::duration_ps(stages.run_ps as f64),
    );
    if KERNEL_WAIT.grade(ratio) == Grade::Good {
        return Outcome::clear(said);
    }
    let used: Vec<String> = KernelUnit::of_selection(evidence.profile, &evidence.selection)
        .iter()
        .take(3)
        .map(|unit| format!("{} {}", unit.name, units::share(unit.used)))
        .collect();
    let kernel = evidence
        .ops()
        .iter()
        .find(|op| op.meta.category.contains("custom-call") && !is_container(&op.meta.category));
    let mut links = Vec::new();
    if let Some(kernel) = kernel {
        links.push(evidence.timeline_of(kernel));
        links.push(Link::to("ops").row("ops", kernel.meta.name.as_ref()));
    }
    let direction =
        if stages.wait_in_ps >= stages.wait_out_ps { "inputs to arrive" } else { "results to be written" };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Kernels wait {ratio:.2} times as long for blocks as they compute, mostly for {direction}"
        ),
        evidence: format!(
            "ep_wait_in {}, ep_wait_out {}, ep_run_kernel {} in {} blocks of {}{}",
            units::duration_ps(stages.wait_in_ps as f64),
            units::duration_ps(stages.wait_out_ps as f64),
            units::duration_ps(stages.run_ps as f64),
            stages.blocks,
            units::duration_ps(stages.run_ps as f64 / stages.blocks.max(1) as f64),
            if used.is_empty() { String::new() } else { format!("; units by the compiler's schedule: {}", used.join(", ")) },
        ),
        saved: Some(evidence.of_active(waits)),
        assuming: "if every block arrived in time".into(),
        recommendation: "use more buffers (double or triple buffering), use larger blocks so that a block computes longer than its copy takes, read each block in fewer grid steps".into(),
        falsifier: "the wait stays with one more buffer: then bandwidth is the limit, not latency".into(),
        status: Status::Derived,
        links,
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn kernel(markers: &[(&str, i64, i64)]) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_kernel(7)", 0, 100 * US)]);
        tpu.ops(&[("kernel.1", "custom-call", 0, 100 * US)]);
        if !markers.is_empty() {
            tpu.line("XLA TraceMe");
            markers.iter().for_each(|(name, at, long)| tpu.event(name, at * US, long * US, &[]));
        }
        tpu
    }

    #[test]
    fn a_kernel_with_one_buffer_is_found() {
        let markers = [("ep_wait_in", 0, 40), ("ep_run_kernel", 40, 50), ("ep_wait_out", 90, 10)];
        let found = check(&super::RULE, vec![kernel(&markers)]);
        assert_eq!(found.verdict, Verdict::Found);
        assert!(found.findings[0].claim.contains("1.00 times"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_kernel_whose_blocks_are_there_is_clear() {
        let markers = [("ep_wait_in", 0, 5), ("ep_run_kernel", 5, 90), ("ep_wait_out", 95, 5)];
        assert_eq!(check(&super::RULE, vec![kernel(&markers)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_markers_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![kernel(&[])]).verdict, Verdict::Unknown);
    }
}
