//! Changes of layout through memory right beside compute, which could read or write the other layout itself.

use super::copies::{group, list, of_ops, standing};
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::copies::Purpose;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::DATA_FORMATTING;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "unfused_relayouts",
    standing: Standing::Cost,
    on: ANY,
    needs: "the HLO of the programs, which gives the neighbours of a copy",
    threshold: Some(&DATA_FORMATTING),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let movers = evidence.movers();
    if !movers.is_empty() && movers.iter().all(|mover| mover.purpose == Purpose::Unknown) {
        return Outcome::unknown("the profile does not have the HLO of the programs that copy");
    }
    let own = group(evidence, movers, |purpose| matches!(purpose, Purpose::Relayout { .. }));
    let said = format!("such relayouts take {} of the active window", units::share(own.share));
    // Compilers leave some of them in any program: around exchanges of experts and in optimizers up to 4% of a step.
    let Some(first) = own.movers.first().filter(|_| own.share >= DATA_FORMATTING.good) else {
        return Outcome::clear(said);
    };
    let Purpose::Relayout { what, feeds } = &first.purpose else { return Outcome::clear(said) };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window goes to layout changes through memory next to compute: {}",
            units::share(own.share),
            list(evidence, &own),
        ),
        evidence: format!("{} is a {what} next to {feeds}; its value is written and read once more{}", first.op.meta.name, of_ops(evidence, &own)),
        saved: Some(own.share),
        assuming: "if compute read and wrote those layouts itself".into(),
        recommendation: "write the einsum so that its operands keep the order in which they are produced, or keep one layout for the value in the whole program".into(),
        falsifier: "with the transpose written into the product (`dot_general` with other contracting dimensions), the product takes that much longer".into(),
        status: Status::Derived,
        links: vec![
            Link::to("hlo counters").row("relayouts", first.op.meta.name.as_ref()),
            evidence.timeline_of(first.op),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)]).standing(standing(evidence, own.share))
}

#[cfg(test)]
mod tests {
    use crate::rule::{Standing, Verdict};
    use crate::tests::{Made, US, check};

    const PROGRAM: &str = "HloModule m, is_scheduled=true

ENTRY e {
  p = f32[64,32]{1,0} parameter(0)
  q = f32[32,16]{1,0} parameter(1)
  turned = f32[64,32]{0,1} copy(p)
  ROOT d = f32[64,16]{1,0} dot(turned, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
";

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("d", "custom-call", 0, 900 * US), ("turned", "data formatting", 900 * US, 100 * US)]);
        tpu
    }

    #[test]
    fn a_layout_change_that_feeds_a_product_is_named() {
        let found = check(&super::RULE, vec![run(), Made::program(PROGRAM)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("turned"), "{found:?}");
        // A tenth is what the design costs.
        assert_eq!(found.standing, Some(Standing::Cost));
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.9).abs() < 1e-9);
        // Nobody else claims that time.
        let rest = check(&super::super::data_formatting::RULE, vec![run(), Made::program(PROGRAM)]);
        assert_eq!(rest.verdict, Verdict::Clear);
    }

    #[test]
    fn the_few_that_compilers_leave_are_clear() {
        // Near misses: 3% of the time; 4%, and as much again in copies for other reasons.
        for (turned, other) in [(30, 0), (40, 40)] {
            let mut tpu = Made::tpu(0);
            tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
            let works = (1000 - turned - other) * US;
            tpu.ops(&[
                ("d", "custom-call", 0, works),
                ("turned", "data formatting", works, turned * US),
                ("copy.9", "copy", works + turned * US, other * US),
            ]);
            let found = check(&super::RULE, vec![tpu, Made::program(PROGRAM)]);
            assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        }
    }

    #[test]
    fn a_program_without_such_copies_is_clear() {
        let plain = "HloModule m\n\nENTRY e {\n  p = f32[64,32]{1,0} parameter(0)\n  ROOT turned = f32[64,32]{1,0} negate(p)\n}\n";
        assert_eq!(check(&super::RULE, vec![run(), Made::program(plain)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
