//! Copies between the device's memory and the host's that nothing hides.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, HOST_TRANSFER};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "host_offload",
    standing: Standing::Cause,
    on: ANY,
    needs: "ops with their categories and expressions (memory space 5 is the host's), or copies on a GPU's streams",
    threshold: Some(&HOST_TRANSFER),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.ops().iter().all(|op| op.meta.category.is_empty()) {
        return Outcome::unknown("the profile has no categories of ops, so transfers are unknown");
    }
    let ops = evidence.offloads();
    let all = evidence.share(Class::HostTransfer);
    let share = all * evidence.offloaded_share();
    let said = format!(
        "copies to and from the host's memory take {} of the active window while nothing else runs",
        units::share(share)
    );
    let Some(first) = ops.first().filter(|_| HOST_TRANSFER.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let is_gpu = evidence.is_gpu();
    let own = units::duration_ps(first.self_ps as f64 / first.occurrences.max(1) as f64);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Copies between device and host memory cost {} of the active window, first of all {}",
            units::share(share),
            first.meta.name
        ),
        evidence: format!(
            "{said}; {} ops; {} {} times, {own} each{}",
            ops.len(),
            first.meta.name,
            first.occurrences,
            if first.meta.source.is_empty() { String::new() } else { format!(", at {}", first.meta.source) }
        ),
        saved: Some(share),
        assuming: "if these copies were hidden or not needed".into(),
        recommendation: if is_gpu {
            "copy from pinned memory on a separate stream, ahead of use; keep on the device what is used each step".into()
        } else {
            "offload less (a remat policy that keeps more on the device, optimiser state in HBM), or start the copies earlier so that compute hides them".into()
        },
        falsifier: "the step is no shorter with the same values kept in the device's memory".into(),
        status: Status::Derived,
        links: vec![
            Link::to("ops").row("ops", first.meta.name.as_ref()),
            Link::to("idle").row("waterfall", Class::HostTransfer.phrase()),
            evidence.timeline_of(first),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu(expression: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.op("copy-done.1", "copy-done", expression, &[]);
        tpu.ops(&[
            ("fusion.1", "loop fusion", 0, 700 * US),
            ("copy-done.1", "copy-done", 700 * US, 300 * US),
        ]);
        tpu
    }

    #[test]
    fn a_wait_for_the_hosts_memory_is_found() {
        let found = check(&super::RULE, vec![tpu("%copy-done.1 = f32[8]{0:S(5)} copy-done(%c)")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.7).abs() < 1e-6, "{found:?}");
        assert!(found.findings[0].claim.ends_with("copy-done.1"), "{found:?}");
    }

    #[test]
    fn a_wait_for_a_copy_on_the_device_is_none() {
        let found = check(&super::RULE, vec![tpu("%copy-done.1 = f32[8]{0:S(1)} copy-done(%c)")]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn ops_without_category_are_unknown() {
        let mut tpu = Made::tpu(0);
        tpu.op("x", "", "", &[]);
        tpu.ops(&[("x", "", 0, 100 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
