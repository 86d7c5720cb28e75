//! Programs of many small ops, in which the cost of starting each one counts: as far as ops that are small could be one with those that
//! read their values. A program whose ops are short because there is little to do in each, and whose values pass through collectives,
//! several readers and loops' bookkeeping, starts as many as it has to.

use std::collections::BTreeSet;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SMALL_OPS, START_COST};
use haloscope_profile::DeviceKind;
use haloscope_program::fusion_gaps;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::executions::Executions;
use haloscope_time::ops::Op;
use haloscope_time::stats::quantile;

pub(super) static RULE: Rule = Rule {
    id: "many_small_ops",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "ops with their executions, of several lengths, and the programs, which say what could be one op",
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
            "{} different ops compute: too few to know what it costs to start one",
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
    let share = time / all.max(1.0);
    let cost = |runs: u64| evidence.of_active(runs as f64 * start_ps * evidence.compute_scale());
    let said = format!(
        "{} of the time that computes and copies is in executions of under {}; starting {runs} of them at about {} each takes {} of the active window",
        units::share(share),
        units::duration_ps(SMALL_PS),
        units::duration_ps(start_ps),
        units::share(cost(runs)),
    );
    if SMALL_OPS.grade(share) == Grade::Good || START_COST.grade(cost(runs)) == Grade::Good {
        return Outcome::clear(said);
    }
    let Spared { ops: spared, unknown } = spared(evidence, &small);
    let gone: u64 = spared.iter().map(|op| op.occurrences).sum();
    let saved = cost(gone);
    if START_COST.grade(saved) == Grade::Good && START_COST.grade(cost(gone + unknown)) != Grade::Good {
        return Outcome::unknown(format!(
            "{said}; the profile does not have the programs of {unknown} of them: which of those could be fused is not known"
        ));
    }
    let said =
        format!("{said}, {} of it in ops that could be fused with what reads them", units::share(saved));
    if START_COST.grade(saved) == Grade::Good {
        return Outcome::clear(said);
    }
    let most: Vec<String> =
        spared.iter().take(3).map(|op| format!("{} ({} times)", op.meta.name, op.occurrences)).collect();
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
        evidence: format!("{runs} executions of {} ops; {gone} of them, of {} ops, pass a value to one other op with which they could be fused, most often {}; the shortest ops of the run take {}, so starting one costs about that much", small.len(), spared.len(), most.join(", "), units::duration_ps(start_ps)),
        saved: Some(saved),
        assuming: "if ops that could be fused with another had no start of their own".into(),
        recommendation: "use fewer, larger ops: a larger batch, layers in one loop (scan) with more work each, elementwise code where the compiler can fuse it, a custom kernel".into(),
        falsifier: "with twice the batch the time of these ops doubles: then their work takes the time, not their start".into(),
        status: Status::Estimated,
        links,
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// Small ops whose starts could go.
struct Spared<'e, 'p> {
    /// Those whose only reader could be one op with them.
    ops: Vec<&'e Op<'p>>,
    /// Executions of those whose program the profile does not hold.
    unknown: u64,
}

/// Those of these ops that need no start of their own, in their order. A single number is a loop's bookkeeping, which is the compiler's.
fn spared<'e, 'p>(evidence: &Evidence<'p>, small: &[&&'e Op<'p>]) -> Spared<'e, 'p> {
    let mut ids: Vec<u64> = small.iter().filter_map(|op| op.meta.program_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let (mut known, mut producers) = (BTreeSet::new(), BTreeSet::new());
    for id in ids {
        let Some(decoded) = evidence.program(id) else { continue };
        known.insert(id);
        let module = &decoded.module;
        let (near, elsewhere) = fusion_gaps::find(module, &Executions::new(module));
        for gap in near.iter().chain(&elsewhere).filter(|gap| gap.could_fuse()) {
            let producer = module.instruction(gap.producer);
            if producer.shape.element_count() != Some(1) {
                producers.insert((id, producer.name.as_str().to_owned()));
            }
        }
    }
    let is_spared = |op: &&&&Op<'p>| {
        op.meta.program_id.is_some_and(|id| producers.contains(&(id, op.meta.name.to_string())))
    };
    let is_known = |op: &Op<'p>| op.meta.program_id.is_some_and(|id| known.contains(&id));
    Spared {
        ops: small.iter().filter(is_spared).map(|op| **op).collect(),
        unknown: small.iter().filter(|op| !is_known(op)).map(|op| op.occurrences).sum(),
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Ops that run 10 times each for so many microseconds, back to back, the first of them for 2.
    fn run(long: i64, kinds: usize) -> Made {
        let names: Vec<String> = (0..kinds).map(|n| format!("fusion.{n}")).collect();
        let mut tpu = Made::tpu(0);
        let mut ops = Vec::new();
        let mut at = 0;
        for _ in 0..10 {
            for (n, name) in names.iter().enumerate() {
                let length = if n == 0 { 2 * US } else { long * US };
                ops.push((name.as_str(), "loop fusion", at, length));
                at += length;
            }
        }
        tpu.ops(&ops);
        tpu
    }

    /// A program in which so many of these ten ops read the one before, arrays of so many numbers, and the others an operand of the program.
    fn program(chained: usize, numbers: &str) -> Made {
        let shape = format!("f32[{numbers}]");
        let mut text = format!("HloModule m, is_scheduled=true\n\nENTRY e {{\n  p = {shape} parameter(0)\n");
        for n in 0..10 {
            let read = if n == 0 || n > chained { "p".to_owned() } else { format!("fusion.{}", n - 1) };
            text.push_str(&format!("  fusion.{n} = {shape} negate({read})\n"));
        }
        let last: Vec<String> = (chained..10).map(|n| format!("fusion.{n}")).collect();
        let shapes = vec![shape; last.len()].join(", ");
        text.push_str(&format!("  ROOT t = ({shapes}) tuple({})\n}}\n", last.join(", ")));
        Made::program(&text)
    }

    #[test]
    fn ops_little_longer_than_the_shortest_that_could_be_one_are_found() {
        let found = check(&super::RULE, vec![run(4, 10), program(9, "64")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Nine of ten starts of 2.9 us, the shortest twentieth, of 380 us in all.
        let speedup = found.findings[0].speedup.unwrap();
        assert!(speedup > 1.8 && speedup < 4.5, "{speedup}");
        assert!(found.findings[0].evidence.contains("90 of them, of 9 ops,"), "{found:?}");
    }

    #[test]
    fn ops_that_could_not_be_one_with_another_are_clear() {
        // Each has an operand of its own, and its result is needed; single numbers are bookkeeping.
        for program in [program(0, "64"), program(9, "")] {
            let found = check(&super::RULE, vec![run(4, 10), program]);
            assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
            assert!(
                found.said.ends_with("0.0% of it in ops that could be fused with what reads them"),
                "{found:?}"
            );
        }
        // Near miss: one of thirty could, which is less than is worth a word.
        let found = check(&super::RULE, vec![run(9, 30), program(1, "64")]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn long_ops_are_clear_and_without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(100, 10)]).verdict, Verdict::Clear);
        let found = check(&super::RULE, vec![run(4, 10)]);
        assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    }

    #[test]
    fn a_few_kinds_of_op_do_not_tell() {
        assert_eq!(check(&super::RULE, vec![run(4, 3), program(9, "64")]).verdict, Verdict::Unknown);
    }
}
