//! Whole rows are sorted where only a few of the largest or smallest values are used.

use haloscope_hlo::{InstructionIdx, Module, Opcode};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::counted;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, WHOLE_SORT};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "whole_sort",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which shows how much of a sorted value is used",
    threshold: Some(&WHOLE_SORT),
    check,
};

/// Where one value of each row is used.
static ONE: Fix = Fix {
    jax: "use `jnp.max`, `jnp.min`, `jnp.argmax` or `jnp.argmin` instead of `jnp.sort` and `jnp.argsort`",
    tensorflow: "use `tf.reduce_max`, `tf.reduce_min`, `tf.argmax` or `tf.argmin` instead of `tf.sort` and `tf.argsort`",
    pytorch: "use `torch.max`, `torch.min`, `torch.argmax` or `torch.argmin` instead of `torch.sort` and `torch.argsort`",
    any: "take the maximum or minimum, or its index, instead of sorting",
};

/// Where several are.
static FEW: Fix = Fix {
    jax: "use `jax.lax.top_k(x, k)` (of `-x` for the smallest), or `jax.lax.approx_max_k` if approximate ones are enough, instead of `jnp.sort` and `jnp.argsort`",
    tensorflow: "use `tf.math.top_k` (of `-x` for the smallest) instead of `tf.sort` and `tf.argsort`",
    pytorch: "use `torch.topk` instead of `torch.sort` and `torch.argsort`",
    any: "take the k largest values instead of sorting all",
};

/// Of more than this part of a row's values a sort is no waste.
const PART: f64 = 0.1;
/// Shorter rows are as fast sorted as looked through.
const SHORTEST: u64 = 32;
/// A fusion that takes one value more often than this is not looked into.
const MOST_GIVEN: usize = 8;
/// Deeper chains are not followed.
const DEPTH: usize = 24;

/// A sort of which a few values are used.
struct Sorted<'e, 'p> {
    op: &'e Op<'p>,
    /// Values in a row, and how many of them are used at most.
    of: (u64, u64),
    /// Bytes of one pass over what is sorted, in all executions.
    bytes: f64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so how much of a sort is used is unknown",
        );
    }
    let found = sorts(evidence);
    let time: f64 = found.iter().map(|one| one.op.self_ps as f64).sum::<f64>() * evidence.compute_scale();
    let share = evidence.of_active(time);
    let said = format!("sorts with few used values take {} of the active window", units::share(share));
    let Some(first) = found.first().filter(|_| WHOLE_SORT.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    // One pass over the values stays.
    let pass = evidence.peaks.hbm.filter(|peak| peak.rate > 0.0).map(|peak| {
        let bytes: f64 = found.iter().map(|one| one.bytes).sum();
        evidence.of_active(bytes / peak.rate * 1e12).min(share)
    });
    let (row, used) = first.of;
    let values = |n: u64| counted(n, "value");
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Sorts take {} of the active window, and of each row {} used: {}{}",
            units::share(share),
            if used == 1 { "one value is".to_owned() } else { format!("no more than {} are", values(used)) },
            first.op.meta.name,
            if found.len() > 1 { format!(" and {} more", found.len() - 1) } else { String::new() },
        ),
        evidence: format!(
            "{} sorts rows of {}, and every op that uses it takes only {} from one end",
            first.op.meta.name,
            values(row),
            values(used),
        ),
        saved: Some(share - pass.unwrap_or(0.0)),
        assuming: if pass.is_some() {
            "if one pass over the values, at the memory's full bandwidth, found those that are used".into()
        } else {
            "if finding those that are used cost nothing".into()
        },
        recommendation: evidence.fix(if used == 1 { &ONE } else { &FEW }),
        falsifier: "the maximum, or the k largest values, take as long as the sort; this can happen with many short rows".into(),
        status: Status::Derived,
        links: vec![Link::to("ops").row("ops", first.op.meta.name.as_ref()), evidence.timeline_of(first.op)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// The ops that sort whole rows for a few of their values, in the order of the ops.
fn sorts<'e, 'p>(evidence: &'e Evidence<'p>) -> Vec<Sorted<'e, 'p>> {
    let mut found = Vec::new();
    for op in evidence.ops().iter().filter(|op| op.self_ps > 0) {
        let Some((decoded, index)) = evidence.instruction(op) else { continue };
        let module = &decoded.module;
        let Some(sort) = sort_of(module, index) else { continue };
        let Some((dimension, row)) = sorted_dimension(module, sort) else { continue };
        let Some(used) = used(module, sort, dimension, row, DEPTH) else { continue };
        if row < SHORTEST || used as f64 > PART * row as f64 {
            continue;
        }
        let operands = module.instruction(sort).operands.iter();
        let bytes: u64 = operands.filter_map(|operand| module.instruction(*operand).shape.bytes()).sum();
        found.push(Sorted { op, of: (row, used), bytes: bytes as f64 * op.occurrences as f64 });
    }
    found
}

/// The sort that an op is: an instruction, or the kernel of a library.
fn sort_of(module: &Module, index: InstructionIdx) -> Option<InstructionIdx> {
    let hlo = module.instruction(index);
    let is_library = || {
        let target = hlo.attributes().custom_call_target.as_deref();
        target.is_some_and(|target| target.contains("RadixSort"))
    };
    let is_sort = hlo.opcode == Opcode::Sort || hlo.opcode == Opcode::CustomCall && is_library();
    is_sort.then_some(index)
}

/// The dimension along which it sorts, and how many values a row has; libraries sort along the last one.
fn sorted_dimension(module: &Module, sort: InstructionIdx) -> Option<(usize, u64)> {
    let hlo = module.instruction(sort);
    let shape = &module.instruction(*hlo.operands.first()?).shape;
    let dimension = match hlo.opcode {
        Opcode::Sort => usize::try_from(hlo.attributes().dimensions.first().copied().unwrap_or(0)).ok()?,
        _ => shape.dimensions.len().checked_sub(1)?,
    };
    Some((dimension, u64::try_from(*shape.dimensions.get(dimension)?).ok()?))
}

/// How many values of a row are used at most, where all that read the value cut a part off at an end of the row; `None` where
/// something reads more.
fn used(module: &Module, value: InstructionIdx, dimension: usize, row: u64, depth: usize) -> Option<u64> {
    let depth = depth.checked_sub(1)?;
    let users = module.users(value);
    let mut most = None;
    for user in users {
        most = most.max(Some(used_by(module, value, *user, dimension, row, depth)?));
    }
    let computation = module.computation(module.instruction(value).computation);
    if computation.root != value {
        return most;
    }
    // What a fusion gives is used by who uses the fusion; what the program gives is used whole.
    let callers = module.callers(module.instruction(value).computation);
    let [caller] = callers.as_slice() else { return None };
    if module.instruction(*caller).opcode != Opcode::Fusion {
        return None;
    }
    most.max(Some(used(module, *caller, dimension, row, depth)?))
}

fn used_by(
    module: &Module,
    value: InstructionIdx,
    user: InstructionIdx,
    dimension: usize,
    row: u64,
    depth: usize,
) -> Option<u64> {
    let hlo = module.instruction(user);
    match hlo.opcode {
        Opcode::Slice => {
            let cut = hlo.attributes().slice.get(dimension)?;
            let at_end = cut.start == 0 || u64::try_from(cut.limit).ok()? == row;
            let count = u64::try_from(cut.limit.saturating_sub(cut.start).max(0)).ok()?;
            at_end.then(|| count.div_ceil(u64::try_from(cut.stride.max(1)).unwrap_or(1)))
        }
        Opcode::GetTupleElement | Opcode::Copy | Opcode::Convert | Opcode::Reverse => {
            used(module, user, dimension, row, depth)
        }
        // Of the same dimensions only the order in memory is another.
        Opcode::Bitcast
            if hlo.shape.dimensions.as_slice() == module.instruction(value).shape.dimensions.as_slice() =>
        {
            used(module, user, dimension, row, depth)
        }
        Opcode::Fusion => {
            let body = module.computation(*hlo.called_computations.first()?);
            let given: Vec<usize> = (0..hlo.operands.len()).filter(|at| hlo.operands[*at] == value).collect();
            if given.len() > MOST_GIVEN {
                return None;
            }
            let mut most = None;
            for number in given {
                let parameter = body.instructions().find(|inner| {
                    let inner = module.instruction(*inner);
                    inner.opcode == Opcode::Parameter
                        && inner.attributes().parameter_number == i64::try_from(number).ok()
                })?;
                most = most.max(Some(used(module, parameter, dimension, row, depth)?));
            }
            most
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("s", "sort", 0, 800 * US), ("n", "loop fusion", 800 * US, 200 * US)]);
        tpu
    }

    /// Rows of `row` values are sorted with their places, which alone are used: `uses` makes `n` of `places`.
    fn said(row: u64, uses: &str) -> Outcome {
        let text = format!(
            "HloModule m

less {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}}

cut {{
  p = s32[64,{row}]{{1,0}} parameter(0)
  last = s32[64,1]{{1,0}} slice(p), slice={{[0:64], [{end}:{row}]}}
  ROOT out = s32[64,1]{{1,0}} negate(last)
}}

ENTRY e {{
  x = f32[64,{row}]{{1,0}} parameter(0)
  i = s32[64,{row}]{{1,0}} iota(), iota_dimension=1
  s = (f32[64,{row}]{{1,0}}, s32[64,{row}]{{1,0}}) sort(x, i), dimensions={{1}}, to_apply=less
  places = s32[64,{row}]{{1,0}} get-tuple-element(s), index=1
  {uses}
}}
",
            end = row - 1,
        );
        check(&super::RULE, vec![run(), Made::program(&text)])
    }

    #[test]
    fn a_sort_for_the_largest_value_is_found_inside_and_outside_of_fusions() {
        for uses in [
            "ROOT n = s32[64,1]{1,0} slice(places), slice={[0:64], [0:1]}",
            "ROOT n = s32[64,1]{1,0} fusion(places), kind=kLoop, calls=cut",
        ] {
            let found = said(4096, uses);
            assert_eq!(found.verdict, Verdict::Found, "{uses}: {found:?}");
            let finding = &found.findings[0];
            assert!(finding.claim.contains("of each row one value is used: s"), "{finding:?}");
            assert!(finding.recommendation.contains("argmax"), "{finding:?}");
            // 800 of 1000 us, but for the 2.56 us in which 2 MiB are read at 819 GB/s.
            assert!((finding.speedup.unwrap() - 1.0 / 0.20256).abs() < 1e-3, "{finding:?}");
        }
    }

    #[test]
    fn a_few_values_at_an_end_are_found_and_told_as_such() {
        let found = said(4096, "ROOT n = s32[64,16]{1,0} slice(places), slice={[0:64], [4080:4096]}");
        let finding = &found.findings[0];
        assert!(finding.claim.contains("of each row no more than 16 values are used"), "{finding:?}");
        assert!(finding.recommendation.contains("top_k"), "{finding:?}");
    }

    #[test]
    fn sorts_that_are_needed_are_clear() {
        for (row, uses) in [
            // All of it, a half, the middle, and one value of rows of sixteen; one of two that use it needs all.
            (4096, "ROOT n = s32[64,4096]{1,0} negate(places)"),
            (4096, "ROOT n = s32[64,2048]{1,0} slice(places), slice={[0:64], [0:2048]}"),
            (4096, "ROOT n = s32[64,1]{1,0} slice(places), slice={[0:64], [2048:2049]}"),
            (16, "ROOT n = s32[64,1]{1,0} slice(places), slice={[0:64], [0:1]}"),
            (
                4096,
                "a = s32[64,1]{1,0} slice(places), slice={[0:64], [0:1]}
  b = s32[64,4096]{1,0} negate(places)
  ROOT n = (s32[64,1]{1,0}, s32[64,4096]{1,0}) tuple(a, b)",
            ),
            // The program gives it away.
            (4096, "ROOT n = s32[64,4096]{1,0} copy(places)"),
        ] {
            let found = said(row, uses);
            assert_eq!(found.verdict, Verdict::Clear, "{row} {uses}: {found:?}");
        }
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
