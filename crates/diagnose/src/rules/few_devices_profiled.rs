//! The profile holds only some of the devices that the program runs on.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::captured::Captured;
use crate::rule::{ANY, Outcome, Rule, Standing};
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "few_devices_profiled",
    standing: Standing::Caveat,
    on: ANY,
    needs: "the HLO module of the main program, which says how many devices it was compiled for",
    threshold: None,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Captured { module, recorded, wanted } = match evidence.captured() {
        Ok(captured) => captured,
        Err(why) => return Outcome::unknown(why),
    };
    let said = format!("{recorded} of the {wanted} devices that {} runs on", module.name);
    // Several chips may share a program that is compiled for one: nobody knows how many there are.
    if recorded >= wanted {
        return Outcome::clear(said);
    }
    let missing = wanted - recorded;
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "The profile holds {recorded} of the {wanted} devices of the program: whether the other {missing} were slower is not known"
        ),
        evidence: format!(
            "{} was compiled for {wanted} devices; ops of {recorded} were recorded ({}), on {} of the run's hosts",
            module.label(),
            units::share(recorded as f64 / wanted.max(1) as f64),
            evidence.selection.hosts(evidence.profile).len()
        ),
        saved: None,
        assuming: "the others were not captured: a straggler among them shows here only as waiting in collectives".into(),
        recommendation: "capture on all hosts, and all chips of a host (for TPUs tpu_num_chips_to_profile_per_task), at least once".into(),
        falsifier: "a capture of all devices shows the same work and the same waits on each".into(),
        status: Status::Measured,
        links: vec![Link::to("inspect"), Link::to("hosts").table("devices")],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    fn tpu(ordinal: i64) -> Made {
        let mut tpu = Made::tpu(ordinal);
        tpu.programs(&[("jit_step(7)", 0, 400 * US)]);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US)]);
        tpu
    }

    fn program(partitions: u32) -> Made {
        let text = format!(
            "HloModule jit_step, num_partitions={partitions}\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n  %p = f32[8]{{0}} parameter(0)\n  ROOT %n = f32[8]{{0}} negate(%p)\n}}\n"
        );
        Made::program(&text)
    }

    #[test]
    fn one_of_four_devices_is_a_caveat() {
        let found = check(&super::RULE, vec![tpu(0), program(4)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.starts_with("The profile holds 1 of the 4 devices"), "{found:?}");
        assert_eq!(found.findings[0].speedup, None);
    }

    #[test]
    fn all_devices_are_clear() {
        assert_eq!(check(&super::RULE, vec![tpu(0), tpu(1), program(2)]).verdict, Verdict::Clear);
    }

    #[test]
    fn a_cpu_stands_for_all_devices_that_the_framework_makes_of_it() {
        let cpu = |devices: u64| {
            let mut made = Made::named("/host:CPU");
            for ordinal in 0..devices {
                made.line(&format!("tf_XLAPjRtCpuClient/{ordinal}"));
                let stats = [
                    ("hlo_op", Value::Str("dot.1".into())),
                    ("hlo_module", Value::Str("jit_step".into())),
                    ("program_id", Value::Uint(7)),
                    ("device_ordinal", Value::Uint(ordinal)),
                ];
                made.event("dot.1", 0, 400 * US, &stats);
            }
            made
        };
        assert_eq!(check(&super::RULE, vec![cpu(8), program(8)]).verdict, Verdict::Clear);
        let found = check(&super::RULE, vec![cpu(4), program(8)]);
        assert!(found.findings[0].claim.starts_with("The profile holds 4 of the 8 devices"), "{found:?}");
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu(0)]).verdict, Verdict::Unknown);
    }
}
