//! On a CPU: loops inside of a program whose ops are so short that starting them takes the time.

use haloscope_hlo::{InstructionIdx, Module, Opcode};

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

/// Where passes need each other.
static MORE: Fix = Fix::jax_or(
    "give each pass more to do, such as more sequences at a time; `unroll` of the scan may help; a linear recurrence can be done by `jax.lax.associative_scan`, which moves more memory",
    "give each pass more to do, such as more sequences at a time",
);

/// Ops of which an execution takes less than this, picoseconds, are mostly started: an op of XLA's CPU runtime takes about half a
/// microsecond to start, and as much to record.
const SMALL_PS: f64 = 2e6;
/// Of a loop with fewer passes over the whole capture little is to be had.
const PASSES: u64 = 1000;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so what runs inside of a loop is unknown",
        );
    }
    let mean = |op: &Op<'_>| op.self_ps as f64 / op.occurrences.max(1) as f64;
    let is_small = |op: &&Op<'_>| mean(op) < SMALL_PS && op.occurrences >= PASSES;
    let small = ops().filter(is_small).filter_map(|op| Some((op, is_recurrence(evidence, op)?)));
    let (bound, free): (Vec<_>, Vec<_>) = small.partition(|(_, is_recurrence)| *is_recurrence);
    let of = |some: Vec<(_, bool)>| -> Vec<&Op<'_>> { some.into_iter().map(|(op, _)| op).collect() };
    let (bound, free) = (of(bound), of(free));
    let time = |some: &[&Op<'_>]| -> f64 { some.iter().map(|op| op.self_ps as f64).sum() };
    let share = |some: &[&Op<'_>]| evidence.of_active(time(some) * evidence.compute_scale());
    let said = format!(
        "ops inside of loops that take under {} an execution take {} of the active window, {} of it where each pass needs the one before",
        units::duration_ps(SMALL_PS),
        units::share(share(&free) + share(&bound)),
        units::share(share(&bound))
    );
    let is_worth = |some: &[&Op<'_>]| SMALL_LOOP.grade(share(some)) != Grade::Good;
    let (small, is_bound) = if is_worth(&free) { (free, false) } else { (bound, true) };
    let Some(first) = small.first().filter(|_| is_worth(&small)) else {
        return Outcome::clear(said);
    };
    let (share, time) = (share(&small), time(&small));
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
        saved: (!is_bound).then_some(share),
        assuming: if is_bound {
            "each pass needs the one before, so they cannot all be done at once"
        } else {
            "if one op over all passes cost nothing beside them; part of their time is the profiler's"
        }
        .into(),
        recommendation: evidence.fix(if is_bound { &MORE } else { &WHOLE }),
        falsifier:
            "with twice as much to do in each pass the loop takes twice as long: then its work takes the time"
                .into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    let outcome = Outcome::found(said, vec![finding.into_finding(evidence)]);
    if is_bound { outcome.standing(Standing::Fact) } else { outcome }
}

/// Whether the loop that an op is in, itself or in what its body calls, hands something from pass to pass that a pass changes by what it
/// was; `None` where it is in no loop.
fn is_recurrence(evidence: &Evidence<'_>, op: &Op<'_>) -> Option<bool> {
    let mut around = evidence.outwards(op).skip(1);
    let (module, index) =
        around.find(|(module, index)| module.instruction(*index).opcode == Opcode::While)?;
    let called = module.instruction(index).called_computations.iter().map(|body| module.computation(*body));
    // Of a loop's two computations one returns the state, the other whether there is one more pass.
    let is_state = |root: InstructionIdx| module.instruction(root).shape == module.instruction(index).shape;
    let body = called.rev().find(|body| is_state(body.root))?;
    let state = *body.parameters().first()?;
    let root = module.instruction(body.root);
    if root.opcode != Opcode::Tuple {
        return Some(body.root != state);
    }
    let new = &root.operands;
    Some((0..new.len()).any(|place| is_carried(module, state, place, new[place], body.root)))
}

/// Whether an element of a loop's state is more than a counter, a value that stays, or an array of which each pass writes a part.
fn is_carried(
    module: &Module,
    state: InstructionIdx,
    place: usize,
    new: InstructionIdx,
    root: InstructionIdx,
) -> bool {
    let is_old = |index: &InstructionIdx| {
        let hlo = module.instruction(*index);
        let element = hlo.attributes().tuple_index.and_then(|element| usize::try_from(element).ok());
        hlo.opcode == Opcode::GetTupleElement
            && hlo.operands.first() == Some(&state)
            && element == Some(place)
    };
    let shape = &module.instruction(new).shape;
    if shape.element_count() == Some(1) && !shape.element_type.is_float() {
        return false;
    }
    let old: Vec<InstructionIdx> = module.users(state).iter().copied().filter(is_old).collect();
    let is_read = old.iter().any(|old| module.users(*old).iter().any(|user| *user != root));
    is_read && !old.contains(&new) && !writes_a_part(module, new, DEPTH)
}

/// Values that are followed from what a loop's body returns.
const DEPTH: usize = 8;

/// Whether a value is an array with a part written anew.
fn writes_a_part(module: &Module, index: InstructionIdx, depth: usize) -> bool {
    let hlo = module.instruction(index);
    let Some(depth) = depth.checked_sub(1) else { return false };
    match hlo.opcode {
        Opcode::DynamicUpdateSlice => true,
        Opcode::Bitcast | Opcode::Copy | Opcode::Reshape => {
            hlo.operands.first().is_some_and(|operand| writes_a_part(module, *operand, depth))
        }
        Opcode::Fusion => {
            let body = hlo.called_computations.first();
            body.is_some_and(|body| writes_a_part(module, module.computation(*body).root, depth))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Standing, Verdict};
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
        assert!(found.findings[0].claim.contains("75.0%"), "{found:?}");
    }

    /// A loop that keeps a sum, or writes what it computes of each row into an array.
    fn carried(new: &str) -> Outcome {
        let text = format!(
            "HloModule m

body {{
  s = (s32[], f32[8]{{0}}, f32[100,8]{{1,0}}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(1)
  j = s32[] add(i, k)
  c = f32[8]{{0}} get-tuple-element(s), index=1
  r = f32[100,8]{{1,0}} get-tuple-element(s), index=2
  a = f32[8]{{0}} negate(c)
  b = f32[1,8]{{1,0}} bitcast(a)
  z = s32[] constant(0)
  u = f32[100,8]{{1,0}} dynamic-update-slice(r, b, i, z)
  ROOT t = (s32[], f32[8]{{0}}, f32[100,8]{{1,0}}) tuple(j, {new}, u)
}}

until {{
  q = (s32[], f32[8]{{0}}, f32[100,8]{{1,0}}) parameter(0)
  ROOT d = pred[] constant(false)
}}

ENTRY e {{
  x = (s32[], f32[8]{{0}}, f32[100,8]{{1,0}}) parameter(0)
  w = (s32[], f32[8]{{0}}, f32[100,8]{{1,0}}) while(x), condition=until, body=body
  o = f32[8]{{0}} get-tuple-element(w), index=1
  ROOT n = f32[8]{{0}} negate(o)
}}
"
        );
        check(&super::RULE, vec![run(1500), Made::program(&text)])
    }

    #[test]
    fn a_recurrence_has_no_ceiling_and_a_map_over_rows_has() {
        let (sum, map) = (carried("a"), carried("c"));
        assert_eq!((sum.verdict, sum.standing), (Verdict::Found, Some(Standing::Fact)), "{sum:?}");
        assert_eq!(sum.findings[0].speedup, None);
        assert_eq!(map.verdict, Verdict::Found, "{map:?}");
        assert!(map.findings[0].speedup.is_some_and(|speedup| (speedup - 4.0).abs() < 1e-9), "{map:?}");
    }

    #[test]
    fn few_of_them_and_those_outside_are_clear_and_without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(600), program("a", "n")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(1500), program("n", "a")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(1500)]).verdict, Verdict::Unknown);
    }
}
