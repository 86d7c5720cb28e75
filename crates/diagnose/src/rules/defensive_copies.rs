//! Copies that only keep one value from another's writes.

use super::copies::{group, list, standing};
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::copies::Purpose;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::OP_WORTH;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "defensive_copies",
    standing: Standing::Cost,
    on: ANY,
    needs: "the HLO of the programs, which gives the reason for a copy",
    threshold: Some(&OP_WORTH),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let movers = evidence.movers();
    if !movers.is_empty() && movers.iter().all(|mover| mover.purpose == Purpose::Unknown) {
        return Outcome::unknown("the profile does not have the HLO of the programs that copy");
    }
    let own = group(evidence, movers, |purpose| matches!(purpose, Purpose::Defensive { .. }));
    let said = format!("such copies take {} of the active window", units::share(own.share));
    let Some(first) = own.movers.first().filter(|_| own.share >= OP_WORTH.good) else {
        return Outcome::clear(said);
    };
    let Purpose::Defensive { why, detail, is_proven } = &first.purpose else { return Outcome::clear(said) };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window goes to copies that only keep a value from being overwritten: {}",
            units::share(own.share),
            list(evidence, &own),
        ),
        evidence: format!(
            "{}: {why}{}",
            first.op.meta.name,
            if detail.is_empty() { String::new() } else { format!(" ({detail})") }
        ),
        saved: Some(own.share),
        assuming: "if no value had to be kept".into(),
        recommendation: match *why {
            "parameter not donated" => "donate the arguments that are not used again: `donate_argnums`",
            "loop state" => "do not read the old value in the loop after the update",
            _ => "move the last read of the value before the op that overwrites it, or donate the buffer",
        }
        .into(),
        falsifier:
            "the compiler still makes the copy when the buffer is donated or the later read is removed".into(),
        status: if *is_proven { Status::Derived } else { Status::Estimated },
        links: vec![
            Link::to("hlo counters").row("copies", first.op.meta.name.as_ref()),
            evidence.timeline_of(first.op),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)]).standing(standing(evidence, own.share))
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    const PROGRAM: &str = "HloModule m, is_scheduled=true

ENTRY e {
  p = f32[64,32]{1,0} parameter(0)
  kept = f32[64,32]{1,0} copy(p)
  k = f32[64,32]{1,0} custom-call(kept), custom_call_target=\"tpu_custom_call\", output_to_operand_aliasing={{}: (0, {})}
  ROOT r = f32[64,32]{1,0} add(k, p)
}
";

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("k", "custom-call", 0, 900 * US), ("kept", "data formatting", 900 * US, 100 * US)]);
        tpu
    }

    #[test]
    fn a_copy_before_a_kernel_that_writes_in_place_is_named() {
        let found = check(&super::RULE, vec![run(), Made::program(PROGRAM)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("kept"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.9).abs() < 1e-9);
        // Nobody else claims that time.
        let rest = check(&super::super::data_formatting::RULE, vec![run(), Made::program(PROGRAM)]);
        assert_eq!(rest.verdict, Verdict::Clear);
    }

    #[test]
    fn a_program_without_such_copies_is_clear() {
        let plain = "HloModule m\n\nENTRY e {\n  p = f32[64,32]{1,0} parameter(0)\n  ROOT kept = f32[64,32]{1,0} negate(p)\n}\n";
        assert_eq!(check(&super::RULE, vec![run(), Made::program(plain)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
