//! Values that pass through memory between instructions which a compiler fuses as a rule.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, UNFUSED};
use haloscope_profile::DeviceKind;
use haloscope_program::fusion_gaps;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::executions::Executions;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "fusion_failures",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "the HLO of the programs and the bandwidth of the memory",
    threshold: Some(&UNFUSED),
    check,
};

/// A value that goes through memory, and what that takes.
struct Way {
    producer: String,
    consumer: String,
    bytes: u64,
    blocked_by: &'static str,
    /// Traffic over bandwidth, summed over executions and devices, picoseconds.
    time_ps: f64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(bandwidth) = evidence.peaks.hbm.map(|peak| peak.rate).filter(|rate| *rate > 0.0) else {
        return Outcome::unknown("the bandwidth of the memory is not known");
    };
    let mut ids: Vec<u64> = evidence.ops().iter().filter_map(|op| op.meta.program_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut is_known = false;
    let mut longest: Option<Way> = None;
    for id in ids {
        let Some(decoded) = evidence.program(id) else { continue };
        is_known = true;
        let module = &decoded.module;
        let (gaps, _) = fusion_gaps::find(module, &Executions::new(module));
        let name = |index| module.instruction(index).name.as_str();
        // How often the consumer really ran says more than the program's text.
        let could_fuse = gaps.iter().filter(|gap| gap.could_fuse());
        for gap in could_fuse.take(LOOKED_AT) {
            let consumer = name(gap.consumer);
            let Some(op) = op_of(evidence, id, consumer) else { continue };
            let time_ps = gap.spared_bytes as f64 * op.occurrences as f64 / bandwidth * 1e12;
            // The spared traffic is part of what both ops take.
            let producer = op_of(evidence, id, name(gap.producer)).map_or(0, |op| op.self_ps);
            let time_ps = time_ps.min(op.self_ps.saturating_add(producer) as f64);
            if longest.as_ref().is_none_or(|way| way.time_ps < time_ps) {
                longest = Some(Way {
                    producer: name(gap.producer).to_owned(),
                    consumer: consumer.to_owned(),
                    bytes: gap.bytes,
                    blocked_by: gap.blocked_by,
                    time_ps,
                });
            }
        }
    }
    if !is_known {
        return Outcome::unknown("the profile does not have the programs");
    }
    let Some(way) = longest else { return Outcome::clear("no value passes between ops that could fuse") };
    let share = evidence.of_active(way.time_ps);
    let said = format!(
        "passing the most costly value between ops that could fuse takes {} of the active window",
        units::share(share)
    );
    if UNFUSED.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window goes to passing one value through memory, from {} to {}",
            units::share(share),
            way.producer,
            way.consumer
        ),
        evidence: format!("{} at the memory's full bandwidth; reasons against fusing: {}", units::bytes(way.bytes as f64), way.blocked_by),
        saved: Some(share),
        assuming: "if both were one op and the rest of their work took just as long".into(),
        recommendation: "write both as one kernel (for attention: a fused attention kernel), or remove what is between them".into(),
        falsifier: "a fused kernel on the same shapes takes as long as both together".into(),
        status: Status::Estimated,
        links: vec![Link::to("hlo fusions").row("unfused", way.producer.as_str())],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

/// The pairs of a program with the most traffic that are looked at.
const LOOKED_AT: usize = 50;

fn op_of<'e, 'p>(evidence: &'e Evidence<'p>, program: u64, name: &str) -> Option<&'e Op<'p>> {
    evidence.ops().iter().find(|op| op.meta.program_id == Some(program) && op.meta.name == name)
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{MS, Made, check};

    /// 128 MiB between two ops: written and read, 0.33 ms of a v5e's bandwidth.
    const PROGRAM: &str = "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[8192,4096]{1,0} parameter(0)\n  a = f32[8192,4096]{1,0} add(p, p)\n  ROOT b = f32[8192,4096]{1,0} multiply(a, a)\n}\n";

    fn run(long: i64) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 2 * long)]);
        tpu.ops(&[("a", "loop fusion", 0, long), ("b", "loop fusion", long, long)]);
        tpu
    }

    #[test]
    fn a_value_that_a_fusion_would_spare_is_found() {
        let found = check(&super::RULE, vec![run(MS), Made::program(PROGRAM)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let expected = 1.0 / (1.0 - 2.0 * 134_217_728.0 / 819e9 * 1e3 / 2.0);
        assert!((found.findings[0].speedup.unwrap() - expected).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn one_beside_longer_work_is_clear() {
        assert_eq!(check(&super::RULE, vec![run(50 * MS), Made::program(PROGRAM)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(MS)]).verdict, Verdict::Unknown);
    }
}
