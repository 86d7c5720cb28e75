//! Collectives that nothing hides, by kind. What of that is waiting for a slow device, a late host or a slow link, those rules
//! explain.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::collectives::Kind;
use crate::evidence::names::counted;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{EXPOSED_COMMUNICATION, Grade, OP_WORTH};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "exposed_communication",
    standing: Standing::Cost,
    on: ANY,
    needs: "ops with their categories; for waits, several devices with steps",
    threshold: Some(&EXPOSED_COMMUNICATION),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let share = evidence.share(Class::Communication);
    if share <= 0.0 && evidence.ops().iter().all(|op| op.meta.category.is_empty()) {
        return Outcome::unknown("the profile has no categories of ops, so collectives are unknown");
    }
    if share <= 0.0 {
        return Outcome::not_applicable("no collective is exposed");
    }
    let waiting = evidence.waits().waiting;
    let said = format!(
        "exposed collectives take {} of the active window{}",
        units::share(share),
        waiting.map_or_else(String::new, |w| {
            format!(", {} of it waiting for late members", units::share(w))
        }),
    );
    if EXPOSED_COMMUNICATION.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let kinds = evidence.collectives();
    let worth = kinds.kinds.iter().filter(|kind| evidence.of_active(kind.time_ps) >= OP_WORTH.good);
    let findings = worth.map(|kind| finding(evidence, kind)).collect();
    Outcome::found(said, findings)
}

fn finding(evidence: &Evidence<'_>, kind: &Kind<'_, '_>) -> Finding {
    let saved = evidence.of_active(kind.time_ps);
    let sync = kind.sync_ps / kind.time_ps.max(1.0);
    let first = kind.ops.first();
    let largest = first.map_or_else(String::new, |(op, exposed_ps)| {
        let path = op.meta.framework_op.as_ref();
        let of = if path.is_empty() { String::new() } else { format!(" (`{path}`)") };
        let own = units::share(evidence.of_active(*exposed_ps));
        format!("; the largest is {} with {own}{of}", op.meta.name)
    });
    let mut links = vec![Link::to("comm").row("kinds", kind.name), Link::to("ops").param("by", "category")];
    links.extend(first.map(|(op, _)| evidence.timeline_of(op)));
    Cause {
        id: RULE.id,
        claim: format!("{} take {} of the active window with nothing to hide them", kind.plural(), units::share(saved)),
        evidence: format!(
            "{} of their exposed time is in synchronous ops, {} in waits for asynchronous ones; {}, {}{largest}",
            units::share(sync),
            units::share(1.0 - sync),
            counted(kind.ops.len() as u64, "op"),
            counted(kind.ops.iter().map(|(op, _)| op.occurrences).sum(), "execution"),
        ),
        saved: Some(saved),
        assuming: "if compute hid all of it".into(),
        recommendation: recommendation(kind.name, sync > 0.5, evidence.computes_gradients()).into(),
        falsifier: "a step takes just as long on one device with the same work per device and no collectives; or it is no shorter with the collective's result replaced by zeros".into(),
        status: Status::Derived,
        links,
    }
    .into_finding(evidence)
}

fn recommendation(kind: &str, is_sync: bool, is_training: bool) -> &'static str {
    match (kind, is_sync) {
        ("all-gather", true) => {
            "let the compiler make them asynchronous and gather weights one layer ahead (async collective fusion, latency hiding scheduler), or shard fewer weights over this axis"
        }
        ("all-reduce" | "reduce-scatter", true) if !is_training => {
            "let the compiler make them asynchronous, split them into chunks that overlap with the products around them (collective matmul), or shard so that fewer layers need it"
        }
        ("all-reduce", true) => {
            "let the compiler make them asynchronous (async all-reduce, overlap with the backward pass), or replace them by reduce-scatter and all-gather along the sequence (sequence parallelism)"
        }
        ("reduce-scatter", true) => {
            "let the compiler make them asynchronous, or accumulate gradients over more micro-batches before each"
        }
        ("all-to-all", _) => {
            "split them into chunks that overlap with the experts' products, or put experts on nearer devices"
        }
        ("collective-permute", _) => {
            "start the next transfer before the product that uses the last one (double buffering)"
        }
        (_, true) => "let the compiler make them asynchronous, or change the sharding so that less is sent",
        (_, false) => {
            "they are asynchronous and end late: start them earlier (scheduling window, memory limit of the scheduler) or put more compute between start and done"
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check, check_hosts};

    fn run(collective: i64) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[
            ("fusion.1", "convolution fusion", 0, (1000 - collective) * US),
            ("all-gather.1", "all-gather", (1000 - collective) * US, collective * US),
        ]);
        tpu
    }

    #[test]
    fn a_synchronous_collective_is_found_by_its_kind() {
        let found = check(&super::RULE, vec![run(200)]);
        assert_eq!(found.verdict, Verdict::Found);
        assert!(found.findings[0].claim.starts_with("All-gathers take 20.0%"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.25).abs() < 1e-9);
    }

    #[test]
    fn little_of_it_is_clear_and_none_does_not_apply() {
        assert_eq!(check(&super::RULE, vec![run(30)]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(0)]).verdict, Verdict::NotApplicable);
    }

    #[test]
    fn waiting_for_a_slow_device_is_not_its_cause() {
        let device = |work: i64| {
            let mut tpu = Made::tpu(0);
            let steps: Vec<_> = (0..4).map(|n| (n, n * 1000 * US, 1000 * US)).collect();
            tpu.steps(&steps);
            tpu.line("XLA Modules");
            steps.iter().for_each(|(_, at, long)| tpu.event("jit_step(7)", *at, *long, &[]));
            let ops: Vec<_> = (0..4i64)
                .flat_map(|n| {
                    let at = n * 1000 * US;
                    [
                        ("fusion.1", "convolution fusion", at, work * US),
                        ("all-reduce.1", "all-reduce", at + work * US, (1000 - work) * US),
                    ]
                })
                .collect();
            tpu.ops(&ops);
            tpu
        };
        let hosts = [600, 601, 599, 602, 970];
        let names = ["a", "b", "c", "d", "e"];
        let hosts = || names.iter().zip(hosts).map(|(name, work)| (*name, vec![device(work)])).collect();
        let found = check_hosts(&super::RULE, hosts());
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let slow = check_hosts(&super::super::straggler::RULE, hosts()).findings.remove(0);
        let explained = slow.explains.iter().find(|e| e.rule == "exposed_communication").unwrap();
        // All but what the slow one itself communicates: 30 us of 1000.
        let claimed = 1.0 - 1.0 / found.findings[0].speedup.unwrap();
        assert!((claimed - explained.share - 0.03).abs() < 2e-3, "{claimed} {explained:?}");
    }

    #[test]
    fn without_categories_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("all-gather.1", "", 0, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
