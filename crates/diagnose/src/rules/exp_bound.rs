//! Ops that take as long as their exponentials do.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::evidence::work::{Piece, Roof};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{EXP, Grade};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};

pub(super) static RULE: Rule = Rule {
    id: "exp_bound",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "the HLO of the programs, to count exponentials; the rate of the vector unit is estimated",
    threshold: Some(&EXP),
    check,
};

/// An op is bound by exponentials where they explain this share of its time.
const EXPLAINED: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let is_known = evidence.has_programs();
    if !is_known || evidence.peaks.flops.is_none() {
        return Outcome::unknown(
            "the profile does not have the programs, or the device's peaks are not known",
        );
    }
    let is_bound = |piece: &&Piece| piece.roof == Roof::Exp && piece.efficiency() >= EXPLAINED;
    let bound: Vec<&Piece> = evidence.pieces().iter().filter(is_bound).collect();
    let time: f64 = bound.iter().map(|piece| piece.time_ps).sum();
    let share = evidence.of_active(time);
    let said = format!(
        "{} of the active window is in ops whose exponentials explain more than half of their time",
        units::share(share)
    );
    if EXP.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let ops: Vec<_> = bound.iter().filter_map(|piece| evidence.ops().get(piece.op)).collect();
    let Some(first) = ops.first().copied() else { return Outcome::clear(said) };
    let count = evidence.transcendentals(first).unwrap_or(0.0);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Exponentials limit {} of the active window: {}",
            units::share(share),
            common(ops.iter().copied())
        ),
        evidence: format!(
            "{} computes {} exponentials, logarithms and the like in each execution; at the vector unit's estimated rate they explain {} of its time",
            first.meta.name,
            units::number(count),
            units::share(bound.first().map_or(0.0, |piece| piece.efficiency())),
        ),
        saved: None,
        assuming: "this is a limit, not a loss".into(),
        recommendation: "compute fewer of them: exp2 with the factor folded into a scale, 16-bit exponentials if the chip has them, no second softmax in the backward pass".into(),
        falsifier: "these ops take just as long with a multiplication instead of the exponential".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{MS, Made, check};

    /// 2^30 elements, read and written: 10.5 ms of a v5e's bandwidth as 32-bit floats.
    fn run(name: &str) -> Made {
        let mut tpu = Made::tpu(0);
        let stats = [("flops", Value::Double(1e6)), ("bytes_accessed", Value::Double(1e6))];
        tpu.op(name, "non-fusion elementwise", "", &stats);
        tpu.programs(&[("jit_step(7)", 0, MS)]);
        tpu.ops(&[(name, "", 0, MS)]);
        tpu
    }

    const PROGRAM: &str = "HloModule m\n\nENTRY e {\n  p = f32[1024,1024,1024]{2,1,0} parameter(0)\n  x = f32[1024,1024,1024]{2,1,0} exponential(p)\n  ROOT n = f32[1024,1024,1024]{2,1,0} negate(x)\n}\n";

    #[test]
    fn an_op_of_exponentials_in_fast_memory_is_found() {
        let found = check(&super::RULE, vec![run("x"), Made::program(PROGRAM)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("limit 100.0%"), "{found:?}");
    }

    #[test]
    fn an_op_without_them_is_clear() {
        assert_eq!(check(&super::RULE, vec![run("n"), Made::program(PROGRAM)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run("x")]).verdict, Verdict::Unknown);
    }
}
