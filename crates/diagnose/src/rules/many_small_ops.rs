//! Programs of many small ops, in which the cost of starting each one counts.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SMALL_OPS, START_COST};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::ops::Op;
use haloscope_time::stats::quantile;

pub(super) static RULE: Rule = Rule {
    id: "many_small_ops",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "ops with their executions, of several lengths",
    threshold: Some(&SMALL_OPS),
    check,
};

/// Executions shorter than this are small, picoseconds.
const SMALL_PS: f64 = 10e6;
/// Fewer kinds of op do not show what starting one costs.
const FEWEST: usize = 8;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let is_work = |op: &&Op<'_>| {
        matches!(Class::of(&op.meta), Class::Compute | Class::Copy) && op.self_ps > 0 && op.occurrences > 0
    };
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(is_work).collect();
    if ops.len() < FEWEST {
        return Outcome::unknown(format!(
            "{} different ops compute: too few to tell what starting one costs",
            ops.len()
        ));
    }
    let mean = |op: &Op<'_>| op.self_ps as f64 / op.occurrences as f64;
    let mut lengths: Vec<f64> = ops.iter().map(|op| mean(op)).collect();
    lengths.sort_by(f64::total_cmp);
    // The shortest ops do next to nothing: their time is what starting costs.
    let start_ps = quantile(&lengths, 0.05);
    let all: f64 = ops.iter().map(|op| op.self_ps as f64).sum();
    let mut small: Vec<&&Op<'_>> = ops.iter().filter(|op| mean(op) < SMALL_PS).collect();
    small.sort_by_key(|op| std::cmp::Reverse(op.occurrences));
    let time: f64 = small.iter().map(|op| op.self_ps as f64).sum();
    let runs: u64 = small.iter().map(|op| op.occurrences).sum();
    let (share, scale) = (time / all.max(1.0), evidence.compute_scale());
    let saved = evidence.of_active(runs as f64 * start_ps * scale);
    let said = format!(
        "{} of the time that computes and copies is in executions of under {}; starting {runs} of them at about {} each takes {} of the active window",
        units::share(share),
        units::duration_ps(SMALL_PS),
        units::duration_ps(start_ps),
        units::share(saved),
    );
    if SMALL_OPS.grade(share) == Grade::Good || START_COST.grade(saved) == Grade::Good {
        return Outcome::clear(said);
    }
    let most: Vec<String> =
        small.iter().take(3).map(|op| format!("{} ({} times)", op.meta.name, op.occurrences)).collect();
    let mut links = vec![Link::to("ops")];
    // Kernels are what a GPU launches.
    if evidence.is_gpu() {
        links.push(Link::to("kernels").table("durations"));
    }
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Small ops dominate: {} of the ops' time is in executions shorter than {}",
            units::share(share),
            units::duration_ps(SMALL_PS),
        ),
        evidence: format!("{runs} executions of {} ops, most often {}; the shortest ops of the run take {}, so starting one costs about that much", small.len(), most.join(", "), units::duration_ps(start_ps)),
        saved: Some(saved),
        assuming: "if starting them cost nothing".into(),
        recommendation: "fewer, larger ops: a larger batch, layers in one loop (scan) with more work each, elementwise code where the compiler can fuse it, a custom kernel".into(),
        falsifier: "with twice the batch the time of these ops doubles: then it is their work, not their start".into(),
        status: Status::Estimated,
        links,
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Ten ops that run 10 times each for so many microseconds, back to back.
    fn run(long: i64, kinds: usize) -> Made {
        let names: Vec<String> = (0..kinds).map(|n| format!("fusion.{n}")).collect();
        let mut gpu = Made::tpu(0);
        let mut ops = Vec::new();
        let mut at = 0;
        for _ in 0..10 {
            for (n, name) in names.iter().enumerate() {
                let length = if n == 0 { 2 * US } else { long * US };
                ops.push((name.as_str(), "loop fusion", at, length));
                at += length;
            }
        }
        gpu.ops(&ops);
        gpu
    }

    #[test]
    fn ops_little_longer_than_the_shortest_are_found() {
        let found = check(&super::RULE, vec![run(4, 10)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Starting costs 2 us or a little more of about 4.
        let speedup = found.findings[0].speedup.unwrap();
        assert!(speedup > 2.0 && speedup < 4.5, "{speedup}");
    }

    #[test]
    fn long_ops_are_clear() {
        assert_eq!(check(&super::RULE, vec![run(100, 10)]).verdict, Verdict::Clear);
    }

    #[test]
    fn a_few_kinds_of_op_do_not_tell() {
        assert_eq!(check(&super::RULE, vec![run(4, 3)]).verdict, Verdict::Unknown);
    }
}
