//! One op that takes most of the time.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{DOMINANT, Grade};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::op_meta::is_container;

pub(super) static RULE: Rule = Rule {
    id: "dominant_op",
    standing: Standing::Fact,
    on: ANY,
    needs: "ops",
    threshold: Some(&DOMINANT),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let counted = evidence.ops().iter().filter(|op| !is_container(&op.meta.category));
    let Some((index, op)) = counted.clone().next().and_then(|first| {
        evidence.ops().iter().position(|op| std::ptr::eq(op, first)).map(|index| (index, first))
    }) else {
        return Outcome::unknown("no op has time of its own");
    };
    let all: f64 = counted.map(|op| op.self_ps as f64).sum();
    let share = if all > 0.0 { op.self_ps as f64 / all } else { 0.0 };
    let said = format!("the longest op, {}, has {} of the ops' time", op.meta.name, units::share(share));
    if DOMINANT.grade(share) != Grade::Bad {
        return Outcome::clear(said);
    }
    let pieces = evidence.pieces();
    let regime = match pieces.iter().find(|piece| piece.op == index) {
        Some(piece) => format!(
            "it reaches {} of {}, the nearest limit",
            units::share(piece.efficiency()),
            piece.roof.words()
        ),
        None => "its FLOPs, its bytes or the device's peaks are not known, so its limit is not known".into(),
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} takes {} of the ops' time: its speed decides the speed of the run",
            op.meta.name,
            units::share(share)
        ),
        evidence: format!(
            "{} executions of {}; {regime}",
            op.occurrences,
            units::duration_ps(op.self_ps as f64 / op.occurrences.max(1) as f64)
        ),
        saved: None,
        assuming: "this only says where to look".into(),
        recommendation: "work on this op first, in a small program of its own, until its share falls".into(),
        falsifier: "in a capture of other inputs or steps, another op takes the most time".into(),
        status: Status::Measured,
        links: vec![Link::to("ops").row("ops", op.meta.name.as_ref()), evidence.timeline_of(op)],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run(first: i64) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[
            ("fusion.1", "loop fusion", 0, first * US),
            ("fusion.2", "loop fusion", first * US, 40 * US),
            ("fusion.3", "loop fusion", (first + 40) * US, 30 * US),
        ]);
        tpu
    }

    #[test]
    fn an_op_with_more_than_half_of_the_time_is_named() {
        let found = check(&super::RULE, vec![run(130)]);
        assert!(found.findings[0].claim.starts_with("fusion.1 takes 65.0%"), "{found:?}");
        assert_eq!(found.findings[0].speedup, None);
    }

    #[test]
    fn ops_of_one_size_are_clear() {
        assert_eq!(check(&super::RULE, vec![run(40)]).verdict, Verdict::Clear);
    }

    #[test]
    fn ops_without_length_say_nothing() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("while.1", "while", 0, 0)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
