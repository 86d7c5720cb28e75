//! Step 2: which side of the ridge, and how much neither limit explains.

use super::super::thresholds::GAP;
use super::{Given, Step, Word};
use haloscope_report::Link;
use haloscope_report::units;

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let (question, see) = ("Which limit is near, and how far away is it?", vec![Link::to("roofline")]);
    let line = given.baseline;
    let (Some(bound), Some(gap)) = (line.limits.bound, line.gap_share()) else {
        let what = if given.evidence.peaks.flops.is_none() {
            "the device's peaks"
        } else {
            "FLOPs or bytes of the ops"
        };
        return Step { question, verdict: Word::Unknown, said: format!("{what} are not known"), see };
    };
    let ridge = given.evidence.peaks.ridge_point().zip(line.limits.intensity).map(|(ridge, own)| {
        let times = if own < ridge { ridge / own.max(f64::MIN_POSITIVE) } else { own / ridge };
        let side = if own < ridge { "below" } else { "above" };
        format!(", {times:.1}x {side} the ridge at {}", units::number(ridge))
    });
    let alone = |ps: Option<f64>| {
        let share = ps.unwrap_or(0.0) / line.work.time_ps.max(1.0);
        units::duration_ps(share * line.latency_ps)
    };
    let grade = GAP.grade(gap);
    let partial = if line.is_partial { "; some ops have no count, so the gap is an upper bound" } else { "" };
    Step {
        question,
        verdict: grade.into(),
        said: format!(
            "{} regime{}; of {} compute alone needs {}, memory alone {}; gap {}, {}{partial}",
            bound.word(),
            ridge.unwrap_or_default(),
            units::duration_ps(line.latency_ps),
            alone(line.limits.compute_ps),
            alone(line.limits.memory_ps),
            units::share(gap),
            match Word::from(grade) {
                Word::Good => "small",
                Word::Bad => "large",
                _ => "medium",
            },
        ),
        see,
    }
}
