//! Values that are written to memory many times over, although every copy is the same.

use std::collections::BTreeSet;

use haloscope_hlo::{InstructionIdx, Module, Opcode};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, REPEATED_VALUES};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::op_class::body;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "repeated_values",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which shows what is repeated and what reads it",
    threshold: Some(&REPEATED_VALUES),
    check,
};

static ONCE: Fix = Fix::jax_or(
    "let the product read the value itself: `vmap` over `cond`, `while_loop` or `scan` repeats for each row what their branches and bodies use, such as weights; compute both branches outside of them and choose with `jnp.where`, or write the loop around the batch",
    "let what reads the copies read the value itself, by a product without a batch dimension for it",
);

/// A value that is repeated less often costs little more than itself.
const TIMES: u64 = 4;
/// Longer ways from a value to its readers are not followed.
const DEPTH: usize = 12;

/// An op that only repeats a value.
struct Repeated<'e, 'p> {
    op: &'e Op<'p>,
    times: u64,
    /// Batched products that read the copies: without them they are one product, which reads the value once.
    products: Vec<&'e Op<'p>>,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !evidence.has_programs() {
        return Outcome::unknown("the profile does not have the programs, so what is repeated is unknown");
    }
    let found: Vec<Repeated<'_, '_>> = ops().filter_map(|op| repeated(evidence, op)).collect();
    let share = |ps: i64| evidence.of_active(ps as f64 * evidence.compute_scale());
    let own = share(found.iter().map(|one| one.op.self_ps).sum());
    let said = format!("ops that only repeat a value take {} of the active window", units::share(own));
    let Some(first) = found.first().filter(|_| REPEATED_VALUES.grade(own) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let mut products: Vec<&Op<'_>> = found.iter().flat_map(|one| one.products.iter().copied()).collect();
    products.sort_by_key(|op| (op.meta.program_id, op.meta.name.clone()));
    products.dedup_by_key(|op| (op.meta.program_id, op.meta.name.clone()));
    let read = share(products.iter().map(|op| op.self_ps).sum());
    let readers = if products.is_empty() {
        String::new()
    } else {
        format!("; the products that read the copies take {}", units::share(read))
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window writes equal copies of a value to memory: {}",
            units::share(own),
            common(found.iter().map(|one| one.op))
        ),
        evidence: format!("{} writes its operand {} times{readers}", first.op.meta.name, first.times),
        saved: Some(own + read),
        assuming: if products.is_empty() {
            "if what reads the copies read the value itself".into()
        } else {
            "if one product that reads the value itself took next to no time".into()
        },
        recommendation: evidence.fix(&ONCE),
        falsifier: "the program computes the same without these ops, and a step takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.op.meta.name.as_ref()), evidence.timeline_of(first.op)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

fn repeated<'e, 'p>(evidence: &'e Evidence<'p>, op: &'e Op<'p>) -> Option<Repeated<'e, 'p>> {
    let (decoded, index) = evidence.instruction(op)?;
    let module = &decoded.module;
    let times = times(module, index)?;
    let mut read = BTreeSet::new();
    readers(module, index, DEPTH, &mut read);
    let names: Vec<&str> = read.iter().map(|index| module.instruction(*index).name.as_str()).collect();
    let is_reader = |other: &&Op<'p>| {
        other.meta.program_id == op.meta.program_id && names.contains(&other.meta.name.as_ref())
    };
    Some(Repeated { op, times, products: evidence.ops().iter().filter(is_reader).collect() })
}

/// How often an op that does nothing else repeats an array.
fn times(module: &Module, index: InstructionIdx) -> Option<u64> {
    let is_quiet = |part: &InstructionIdx| {
        matches!(
            module.instruction(*part).opcode,
            Opcode::Parameter | Opcode::Constant | Opcode::Broadcast | Opcode::Bitcast | Opcode::Reshape
        )
    };
    let parts = body(module, index);
    let broadcast = parts.iter().find(|part| module.instruction(**part).opcode == Opcode::Broadcast)?;
    if !parts.iter().all(is_quiet) {
        return None;
    }
    let operand = module.instruction(*broadcast).operands.first()?;
    let of = module.instruction(*operand).shape.element_count()?;
    let times = module.instruction(*broadcast).shape.element_count()?.checked_div(of)?;
    (of > 1 && times >= TIMES).then_some(times)
}

/// The batched products that read a value, also inside of the loops that it is handed to.
fn readers(module: &Module, value: InstructionIdx, depth: usize, found: &mut BTreeSet<InstructionIdx>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for user in module.users(value) {
        let hlo = module.instruction(*user);
        match hlo.opcode {
            Opcode::Dot if module.matmul(*user).is_some_and(|product| product.batch > 1) => {
                found.insert(*user);
            }
            Opcode::Bitcast | Opcode::Copy | Opcode::Reshape => readers(module, *user, depth, found),
            Opcode::Tuple => {
                let places: Vec<usize> =
                    (0..hlo.operands.len()).filter(|place| hlo.operands[*place] == value).collect();
                for part in carried(module, *user, &places) {
                    readers(module, part, depth, found);
                }
            }
            _ => {}
        }
    }
}

/// Inside of the loops that begin with a tuple: what holds the values at these places of it.
fn carried(module: &Module, tuple: InstructionIdx, places: &[usize]) -> Vec<InstructionIdx> {
    let loops = module.users(tuple).iter().filter(|user| module.instruction(**user).opcode == Opcode::While);
    let bodies = loops.flat_map(|one| module.instruction(*one).called_computations.iter());
    let inside = bodies.flat_map(|body| module.computation(*body).parameters().iter());
    let parts = inside.flat_map(|parameter| module.users(*parameter).iter().copied());
    let is_meant = |part: &InstructionIdx| {
        let hlo = module.instruction(*part);
        let place = hlo.attributes().tuple_index.and_then(|place| usize::try_from(place).ok());
        hlo.opcode == Opcode::GetTupleElement && place.is_some_and(|place| places.contains(&place))
    };
    parts.filter(is_meant).collect()
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[
            ("w", "broadcast", 0, 50 * US),
            ("d", "convolution", 50 * US, 30 * US),
            ("n", "loop fusion", 80 * US, 20 * US),
        ]);
        tpu
    }

    /// A weight of this shape for each of 128 rows, which a loop's product reads.
    fn program(weight: &str, dimensions: &str) -> Made {
        Made::program(&format!(
            "HloModule m

body {{
  s = (f32[128,96,96]{{2,1,0}}, f32[128,96]{{1,0}}) parameter(0)
  v = f32[128,96,96]{{2,1,0}} get-tuple-element(s), index=0
  x = f32[128,96]{{1,0}} get-tuple-element(s), index=1
  d = f32[128,96]{{1,0}} dot(x, v), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  ROOT t = (f32[128,96,96]{{2,1,0}}, f32[128,96]{{1,0}}) tuple(v, d)
}}

until {{
  s = (f32[128,96,96]{{2,1,0}}, f32[128,96]{{1,0}}) parameter(0)
  ROOT c = pred[] constant(false)
}}

ENTRY e {{
  p = {weight} parameter(0)
  x = f32[128,96]{{1,0}} parameter(1)
  w = f32[128,96,96]{{2,1,0}} broadcast(p), dimensions={{{dimensions}}}
  s = (f32[128,96,96]{{2,1,0}}, f32[128,96]{{1,0}}) tuple(w, x)
  l = (f32[128,96,96]{{2,1,0}}, f32[128,96]{{1,0}}) while(s), condition=until, body=body
  o = f32[128,96]{{1,0}} get-tuple-element(l), index=1
  ROOT n = f32[128,96]{{1,0}} negate(o)
}}
"
        ))
    }

    #[test]
    fn a_weight_for_each_row_is_found_with_the_products_that_read_it() {
        let found = check(&super::RULE, vec![run(), program("f32[96,96]{1,0}", "1,2")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.evidence.starts_with("w writes its operand 128 times; the products"), "{finding:?}");
        // 50 and 30 of 100 us.
        assert!((finding.speedup.unwrap() - 5.0).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn one_number_everywhere_is_clear_and_without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(), program("f32[]", "")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
