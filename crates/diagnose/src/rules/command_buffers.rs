//! Command buffers (CUDA graphs) hide which HLO op a kernel belongs to.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "command_buffers",
    standing: Standing::Caveat,
    on: &[DeviceKind::Gpu],
    needs: "kernels, and host events of launches (`cuGraphLaunch`, `hipGraphLaunch`)",
    threshold: None,
    check,
};

/// From this share of the kernel time on a caveat is due.
const UNNAMED: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let all: f64 = evidence.ops().iter().map(|op| op.self_ps as f64).sum();
    let nameless = evidence.ops().iter().filter(|op| op.meta.category == "kernel without HLO op");
    let share = nameless.map(|op| op.self_ps as f64).sum::<f64>() / all.max(1.0);
    let said = format!("kernels with {} of the kernel time name no HLO op", units::share(share));
    if share < UNNAMED {
        return Outcome::clear(said);
    }
    let launches = evidence.host_events_named(|name| {
        ["GraphLaunch", "CommandBufferThunk", "command_buffer"].iter().any(|part| name.contains(part))
    });
    if launches == 0 {
        return Outcome::unknown(format!("{said}, and no recorded launch of a graph explains it"));
    }
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Command buffers hide the HLO op of kernels with {} of the kernel time",
            units::share(share)
        ),
        evidence: format!("{said}; {launches} launches of graphs were recorded"),
        saved: None,
        assuming: "no time is lost, only the ops, layers and FLOPs of these kernels are missing".into(),
        recommendation: if evidence.profile.modules.is_empty() {
            "to see the ops in a capture, run without CUDA or HIP graphs; otherwise leave them on".into()
        } else {
            "to see the ops in a capture, run with --xla_gpu_enable_command_buffer= (empty); otherwise leave them on".into()
        },
        falsifier: "the same kernels have no HLO op without command buffers either".into(),
        status: Status::Derived,
        links: vec![Link::to("kernels"), Link::to("ops").param("by", "category")],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    fn gpu(has_op: bool) -> Made {
        let mut gpu = Made::named("/device:GPU:0");
        gpu.line("Stream #1(compute)");
        let stats =
            [("hlo_op", Value::Str("fusion.1".into())), ("hlo_module", Value::Str("jit_step".into()))];
        gpu.event("kernel", 0, 100 * US, if has_op { &stats } else { &[] });
        gpu
    }

    fn host() -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("cuGraphLaunch", 0, 10 * US, &[]);
        host
    }

    #[test]
    fn kernels_of_a_graph_without_their_ops_are_a_caveat() {
        let found = check(&super::RULE, vec![gpu(false), host()]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
    }

    #[test]
    fn kernels_that_name_their_op_are_clear() {
        assert_eq!(check(&super::RULE, vec![gpu(true), host()]).verdict, Verdict::Clear);
    }

    #[test]
    fn nameless_kernels_without_graphs_are_unknown() {
        assert_eq!(check(&super::RULE, vec![gpu(false)]).verdict, Verdict::Unknown);
    }
}
