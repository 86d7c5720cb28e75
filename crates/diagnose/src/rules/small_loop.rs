//! On a CPU: loops inside of a program whose ops are so short that starting them takes the time.

use haloscope_hlo::Opcode;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SMALL_LOOP};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "small_loop",
    standing: Standing::Cost,
    on: &[DeviceKind::Cpu],
    needs: "the HLO of the programs, which says what runs inside of a loop",
    threshold: Some(&SMALL_LOOP),
    check,
};

static WHOLE: Fix = Fix::jax_or(
    "do the loop's passes at once where they do not need each other: `jax.vmap` in place of `lax.map` and `lax.scan`, a whole-array operation in place of `.at[i].set` in a `fori_loop`; else give each pass more to do, or `unroll` the scan",
    "do the loop's passes at once where they do not need each other; else give each pass more to do",
);

/// Ops of which an execution takes less than this, picoseconds, are mostly started: an op of XLA's CPU runtime takes about half a
/// microsecond to start, and as much to record.
const SMALL_PS: f64 = 2e6;
/// Of a loop with fewer passes over the whole capture little is to be had.
const PASSES: u64 = 1000;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !ops().any(|op| evidence.instruction(op).is_some()) {
        return Outcome::unknown(
            "the profile does not have the programs, so what runs inside of a loop is unknown",
        );
    }
    let mean = |op: &Op<'_>| op.self_ps as f64 / op.occurrences.max(1) as f64;
    let is_small = |op: &&Op<'_>| mean(op) < SMALL_PS && op.occurrences >= PASSES && is_in_loop(evidence, op);
    let small: Vec<&Op<'_>> = ops().filter(is_small).collect();
    let time: f64 = small.iter().map(|op| op.self_ps as f64).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!(
        "ops inside of loops that take under {} an execution take {} of the active window",
        units::duration_ps(SMALL_PS),
        units::share(share)
    );
    let Some(first) = small.first().filter(|_| SMALL_LOOP.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let runs: u64 = small.iter().map(|op| op.occurrences).sum();
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "A loop of very small ops takes {} of the active window: {}",
            units::share(share),
            common(small.iter().copied())
        ),
        evidence: format!(
            "{runs} executions of {} each; starting an op takes about half a microsecond, and recording it as much",
            units::duration_ps(time / runs.max(1) as f64)
        ),
        saved: Some(share),
        assuming: "if one op over all passes cost nothing beside them; part of their time is the profiler's"
            .into(),
        recommendation: evidence.fix(&WHOLE),
        falsifier:
            "with twice as much to do in each pass the loop takes twice as long: then its work takes the time"
                .into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// Whether an op is in the body or the condition of a loop, or in what these call.
fn is_in_loop(evidence: &Evidence<'_>, op: &Op<'_>) -> bool {
    let mut around = evidence.outwards(op).skip(1);
    around.any(|(module, index)| module.instruction(index).opcode == Opcode::While)
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// An op that runs so often for a microsecond, and one that takes 500.
    fn run(times: i64) -> Made {
        let mut ops: Vec<(&str, i64, i64)> = (0..times).map(|at| ("a", at * US, US)).collect();
        ops.push(("n", times * US, 500 * US));
        Made::cpu_ops(&ops)
    }

    /// The op in the body of a loop, and the other one behind it; or the other way round.
    fn program(inside: &str, behind: &str) -> Made {
        Made::program(&format!(
            "HloModule m

body {{
  p = f32[8]{{0}} parameter(0)
  ROOT {inside} = f32[8]{{0}} negate(p)
}}

until {{
  p = f32[8]{{0}} parameter(0)
  ROOT c = pred[] constant(false)
}}

ENTRY e {{
  x = f32[8]{{0}} parameter(0)
  w = f32[8]{{0}} while(x), condition=until, body=body
  ROOT {behind} = f32[8]{{0}} negate(w)
}}
"
        ))
    }

    #[test]
    fn many_short_executions_in_a_loop_are_found() {
        let found = check(&super::RULE, vec![run(1500), program("a", "n")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 4.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn few_of_them_and_those_outside_are_clear_and_without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(600), program("a", "n")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(1500), program("n", "a")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(1500)]).verdict, Verdict::Unknown);
    }
}
