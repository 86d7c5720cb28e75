//! The Python tracer slows the host down, so that gaps between programs look longer than they are.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{BUBBLE, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "tracing_overhead",
    standing: Standing::Caveat,
    on: ANY,
    needs: "host events and program executions",
    threshold: Some(&BUBBLE),
    check,
};

/// What an event of the Python tracer is taken to cost, call and return, picoseconds. With JAX 0.10 0.2 to 0.4 us were measured
/// on four programs of 230,000 to 440,000 calls, as what steps take longer with the tracer; others varied too much to tell.
const EACH_PS: f64 = 3e5;
/// Below this share of the gaps the tracer does not matter.
const OF_GAPS: f64 = 0.1;

/// What the Python tracer adds to the gaps between programs, a share of the active window; nothing where that is little of them.
pub(super) fn in_gaps(evidence: &Evidence<'_>) -> f64 {
    let (calls, gap_ps) = evidence.python_calls_in_gaps();
    let part = (calls as f64 * EACH_PS / gap_ps.max(1) as f64).min(1.0);
    if part < OF_GAPS { 0.0 } else { part * evidence.share(Class::Between) }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    if !evidence.host().has_events {
        return Outcome::unknown("no host events were recorded, so what was traced is unknown");
    }
    let share = evidence.share(Class::Between);
    let (calls, gap_ps) = evidence.python_calls_in_gaps();
    let cost = calls as f64 * EACH_PS;
    let said = format!(
        "the Python tracer recorded {calls} calls in gaps between programs of {} on a host",
        units::duration_ps(gap_ps as f64)
    );
    if BUBBLE.grade(share) == Grade::Good || cost < OF_GAPS * gap_ps as f64 {
        return Outcome::clear(said);
    }
    let part = (cost / gap_ps.max(1) as f64).min(1.0);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Tracing Python makes gaps between programs longer: about {} of them is the tracer's",
            units::share(part)
        ),
        evidence: format!("{said}; about 0.3 us a call is assumed"),
        saved: None,
        assuming:
            "these gaps are not there without the tracer; they make other causes between programs look larger"
                .into(),
        recommendation:
            "capture once more with python_tracer_level 0 before you change anything because of these gaps"
                .into(),
        falsifier: "gaps are just as long in a capture without the Python tracer".into(),
        status: Status::Estimated,
        links: vec![Link::to("inspect"), Link::to("idle").table("gaps")],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 400 * US), ("jit_step(7)", 600 * US, 400 * US)]);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.1", "loop fusion", 600 * US, 400 * US)]);
        tpu
    }

    fn host(calls: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for i in 0..calls {
            host.event("$train.py:7 log", 401 * US + i * US, US / 2, &[]);
        }
        host
    }

    #[test]
    fn many_traced_calls_in_a_gap_are_a_caveat() {
        let found = check(&super::RULE, vec![tpu(), host(150)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("22.5%"), "{found:?}");
    }

    #[test]
    fn few_calls_do_not_matter() {
        assert_eq!(check(&super::RULE, vec![tpu(), host(3)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
