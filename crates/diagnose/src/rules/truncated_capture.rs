//! Events are missing: dropped by the profiler, cut by an exporter, or not written after some moment.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Notes, Severity, Status};
use haloscope_time::account::Class;
use haloscope_time::quality;

pub(super) static RULE: Rule = Rule {
    id: "truncated_capture",
    standing: Standing::Caveat,
    on: ANY,
    needs: "ops, and program executions on lines of their own (TPU)",
    threshold: None,
    check,
};

/// Remarks on the data that mean missing events.
const MISSING: [&str; 6] = [
    "dropped_events",
    "exactly_one_million_events",
    "damaged_events",
    "lost_records",
    "trace_json_limit",
    "trace_json_cut",
];

fn check(evidence: &Evidence<'_>) -> Outcome {
    let profile = evidence.profile;
    let mut notes = Notes::default();
    quality::dropped(profile, &mut notes);
    quality::events(profile, &evidence.selection, &mut notes);
    for source in &profile.sources {
        if let Some(trace) = &source.trace_json {
            quality::trace_json("the file", trace, &mut notes);
        }
        if let Some(pieces) = &source.pieces {
            quality::pieces("the file", pieces, &mut notes);
        }
    }
    let is_missing =
        |note: &haloscope_report::Quality| note.severity != Severity::Info && MISSING.contains(&note.id);
    let mut seen: Vec<String> =
        notes.into_sorted().into_iter().filter(is_missing).map(|note| note.message).collect();
    let (stopped, has_programs) = stopped(evidence);
    seen.extend(stopped);
    let Some(first) = seen.first() else {
        let said = "no event was dropped, no line is cut";
        return if !evidence.is_tpu() {
            Outcome::clear(said)
        } else if has_programs {
            Outcome::clear(format!("{said}; ops are recorded up to the last program"))
        } else {
            Outcome::unknown(format!(
                "{said}; without program executions it is unknown whether ops stop early"
            ))
        };
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!("Events are missing from the profile: {first}"),
        evidence: seen.join("; "),
        saved: None,
        assuming: "the missing time shows as idle or not at all".into(),
        recommendation: "capture for a shorter time, or trace less (lower host_tracer_level, no python tracer, tpu_trace_mode), and copy the .xplane.pb file itself".into(),
        falsifier: "a shorter capture has the same number of ops per step".into(),
        status: Status::Measured,
        links: vec![Link::to("inspect")],
    };
    Outcome::found(first.clone(), vec![finding.into_finding(evidence)])
}

/// Devices whose ops end while programs go on, and whether any device has programs on a line of their own.
fn stopped(evidence: &Evidence<'_>) -> (Vec<String>, bool) {
    let (mut found, mut has_programs) = (Vec::new(), false);
    for account in evidence.accounts().iter().flatten() {
        let device = evidence.profile.device(account.device);
        if device.kind != DeviceKind::Tpu || account.launches.is_empty() {
            continue;
        }
        has_programs = true;
        let last = account.part(Class::After).hull().map_or(account.span.1, |(from, _)| from);
        let later = account.launches.iter().filter(|l| l.start_ps >= last && l.end_ps > l.start_ps);
        let later: Vec<_> = later.collect();
        if let Some(end) = later.iter().map(|l| l.end_ps).max() {
            found.push(format!(
                "{} has {} program executions after its last op, up to {} later",
                device.name,
                later.len(),
                units::duration_ps((end - last) as f64)
            ));
        }
    }
    (found, has_programs)
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    fn tpu(ops: &[(&str, &str, i64, i64)]) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 400 * US), ("jit_step(7)", 500 * US, 400 * US)]);
        tpu.ops(ops);
        tpu
    }

    #[test]
    fn programs_after_the_last_op_show_that_ops_stop_early() {
        let found = check(&super::RULE, vec![tpu(&[("fusion.1", "loop fusion", 0, 400 * US)])]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.said.contains("1 program executions after its last op"), "{}", found.said);
    }

    #[test]
    fn events_that_the_profiler_dropped_are_found() {
        let mut tpu =
            tpu(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.1", "loop fusion", 500 * US, 400 * US)]);
        tpu.fact("dropped_traces", Value::Uint(3));
        let found = check(&super::RULE, vec![tpu]);
        assert!(found.said.contains("dropped 3 events"), "{found:?}");
    }

    #[test]
    fn ops_to_the_last_program_are_clear() {
        let tpu =
            tpu(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.1", "loop fusion", 500 * US, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_programs_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
