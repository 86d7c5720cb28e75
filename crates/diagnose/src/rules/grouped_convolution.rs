//! On a CPU: convolutions in groups, depthwise ones among them, that are far slower than products of the same run.

use haloscope_hlo::Opcode;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{GROUPED_CONVOLUTION, Grade};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::op_class::body;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "grouped_convolution",
    standing: Standing::Cause,
    on: &[DeviceKind::Cpu],
    needs: "the HLO of the programs, which gives the FLOPs of convolutions, and products or other convolutions to compare",
    threshold: Some(&GROUPED_CONVOLUTION),
    check,
};

static SHIFTED: Fix = Fix::jax_or(
    "write a depthwise convolution as a sum of shifted multiplications, one for each position of the kernel, which the compiler makes one loop of; one of a few groups as a convolution for each group",
    "write a depthwise convolution as a sum of shifted multiplications, one for each position of the kernel; one of a few groups as a convolution for each group",
);

/// They are slow where products reach so many times their rate: less is what shapes and caches make of it.
const TIMES: f64 = 8.0;
/// Shorter executions are mostly the cost of starting one, picoseconds.
const SHORTEST_PS: f64 = 20e6;

/// FLOP/s of an op whose executions are long enough to have a rate.
fn rate(op: &Op<'_>) -> Option<f64> {
    let is_long = op.self_ps as f64 >= SHORTEST_PS * op.occurrences.max(1) as f64;
    op.flops.filter(|flops| is_long && *flops > 0.0).map(|flops| flops / op.self_ps as f64 * 1e12)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !evidence.has_programs() {
        return Outcome::unknown("the profile does not have the programs, so what convolves is unknown");
    }
    let (grouped, others): (Vec<&Op<'_>>, Vec<&Op<'_>>) = ops().partition(|op| is_grouped(evidence, op));
    let multiplies =
        |op: &&&Op<'_>| !evidence.products(op).is_empty() || !evidence.convolutions(op).is_empty();
    let best = others.iter().filter(multiplies).filter_map(|op| rate(op)).reduce(f64::max);
    let Some(best) = best else {
        return match grouped.is_empty() {
            true => Outcome::clear("no convolution has groups"),
            false => Outcome::unknown("nothing else multiplies for long enough to compare with"),
        };
    };
    if !grouped.is_empty() && !grouped.iter().any(|op| rate(op).is_some()) {
        return Outcome::unknown(
            "no convolution in groups runs for long enough, with known FLOPs, to have a rate",
        );
    }
    let mut slow = grouped;
    slow.retain(|op| rate(op).is_some_and(|rate| rate * TIMES < best));
    let flops: f64 = slow.iter().filter_map(|op| op.flops).sum();
    let time: f64 = slow.iter().map(|op| op.self_ps as f64).sum();
    let share = evidence.of_active((time - flops / best * 1e12) * evidence.compute_scale());
    let said = format!(
        "the fastest products reach {}; grouped convolutions that reach less than an eighth of it lose {} of the active window",
        units::flop_rate(best),
        units::share(share)
    );
    let Some(first) = slow.first().filter(|_| GROUPED_CONVOLUTION.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Grouped convolutions run at {} where products of this run reach {}: {}",
            units::flop_rate(flops / time * 1e12),
            units::flop_rate(best),
            common(slow.iter().copied())
        ),
        evidence: format!(
            "they take {} of the active window; FLOPs are counted from the HLO",
            units::share(evidence.of_active(time * evidence.compute_scale()))
        ),
        saved: Some(share),
        assuming: "if they ran as fast as the fastest products of this run".into(),
        recommendation: evidence.fix(&SHIFTED),
        falsifier: "in another form, with the same FLOPs, they take just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// Whether an op convolves in groups, itself or inside of its fusion.
fn is_grouped(evidence: &Evidence<'_>, op: &Op<'_>) -> bool {
    let Some((decoded, index)) = evidence.instruction(op) else { return false };
    body(&decoded.module, index).into_iter().any(|part| {
        let hlo = decoded.module.instruction(part);
        let attributes = hlo.attributes();
        let groups = [attributes.feature_group_count, attributes.batch_group_count];
        hlo.opcode == Opcode::Convolution && groups.into_iter().flatten().any(|count| count > 1)
    })
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// A product and a convolution of these groups with a sixth of its FLOPs, which takes so long.
    fn said(groups: u64, length: i64) -> crate::rule::Outcome {
        let ops = [("d", 0, 100 * US), ("g", 100 * US, length * US)];
        let text = format!(
            "HloModule m

ENTRY e {{
  p = f32[256,256]{{1,0}} parameter(0)
  x = f32[4,32,32,96]{{3,2,1,0}} parameter(1)
  k = f32[3,3,{inputs},96]{{3,2,1,0}} parameter(2)
  d = f32[256,256]{{1,0}} dot(p, p), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT g = f32[4,32,32,96]{{3,2,1,0}} convolution(x, k), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f, feature_group_count={groups}
}}
",
            inputs = 96 / groups,
        );
        check(&super::RULE, vec![Made::cpu_ops(&ops), Made::program(&text)])
    }

    #[test]
    fn a_depthwise_convolution_at_a_hundredth_of_the_rate_is_found() {
        let found = said(96, 2000);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.ends_with(": g"), "{found:?}");
        // 2,100 us now; as fast as the product the convolution would take some 20.
        let speedup = found.findings[0].speedup.unwrap();
        assert!(speedup > 16.0 && speedup < 19.0, "{found:?}");
    }

    #[test]
    fn a_fast_one_and_one_without_groups_are_clear() {
        assert_eq!(said(96, 80).verdict, Verdict::Clear);
        assert_eq!(said(1, 40_000).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        let ops = [("d", 0, 100 * US), ("g", 100 * US, 2000 * US)];
        assert_eq!(check(&super::RULE, vec![Made::cpu_ops(&ops)]).verdict, Verdict::Unknown);
    }
}
