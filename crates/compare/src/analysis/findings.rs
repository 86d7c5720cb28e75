//! What follows from the numbers of `compare`.

use super::side::{Became, Change, Side};
use super::values;
use super::waterfall::signed;
use crate::Verdict;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};

/// Ops that change a step by less than this share of it are left to the table.
pub(super) const OF_STEP: f64 = 0.005;
/// So many of them are findings.
const MOST: usize = 8;

/// All findings, the verdict first.
pub(super) fn all(side: &Side<'_, '_>) -> Vec<Finding> {
    let mut found = vec![step(side)];
    let worth = |change: &&Change| {
        let share = side.share(change.effects.delta_ps as f64).unwrap_or(0.0);
        change.is_certain && share.abs() > OF_STEP
    };
    found.extend(usual(side));
    found.extend(side.largest().into_iter().filter(worth).take(MOST).map(|change| of_op(side, change)));
    found
}

fn status(side: &Side<'_, '_>) -> Status {
    let inferred = side.a.source.is_inferred() || side.b.source.is_inferred();
    if inferred { Status::Estimated } else { Status::Derived }
}

/// What of the step would be saved without a growth of it, as a ratio; `None` for what is none.
fn speedup(side: &Side<'_, '_>, delta_ps: f64) -> Option<f64> {
    let now = side.b.mean_ps();
    (delta_ps > 0.0 && delta_ps < now).then(|| now / (now - delta_ps))
}

fn step(side: &Side<'_, '_>) -> Finding {
    let said = &side.verdict;
    let severity = match said.verdict {
        Verdict::Faster | Verdict::Unchanged => Severity::Info,
        Verdict::Slower | Verdict::Undecided | Verdict::NotComparable => Severity::Warning,
    };
    let mut evidence = vec![said.why.clone()];
    if let Some(test) = said.test {
        let (low, high) = (signed(test.low.round() as i64), signed(test.high.round() as i64));
        evidence.push(format!("95% interval {low} to {high}"));
    }
    if let Some(usual) = said.usual_shift {
        let (low, high) = (signed(usual.low.round() as i64), signed(usual.high.round() as i64));
        evidence.push(format!("usual steps {} ({low} to {high})", signed(usual.delta.round() as i64)));
    }
    if let Some(floor) = said.noise_floor_ps {
        evidence.push(format!("noise floor {}", units::duration_ps(floor)));
    }
    evidence.push(format!("{} steps against {}", said.baseline_steps, said.experiment_steps));
    if let Some((without, delta)) = said.usual {
        let delta = signed(delta.round() as i64);
        evidence.push(format!("without warm-up and outliers it is {}: {delta}", without.word()));
    }
    let speedup = speedup(side, said.told_ps()).filter(|_| said.verdict == Verdict::Slower);
    Finding {
        id: "step_time",
        severity,
        claim: values::words(said),
        evidence: evidence.join("; "),
        ceiling: speedup.map(|s| format!("{s:.3}x, if the step were as fast as before")).unwrap_or_default(),
        speedup,
        recommendation: match said.verdict {
            Verdict::Slower => {
                "the table `waterfall` shows the kinds of difference, `ops` shows which ops differ".into()
            }
            Verdict::Undecided => match said.steps_to_decide {
                Some(steps) => {
                    format!("capture about {steps} steps of each run, or ask with a wider `--margin`")
                }
                None => "capture more steps of each run: twenty or more, and several runs of each".into(),
            },
            _ => String::new(),
        },
        falsifier: match said.verdict {
            Verdict::Slower | Verdict::Faster => {
                "a second capture of each run, on the same machines, differs just as much from the first"
                    .into()
            }
            Verdict::Unchanged => {
                "captures of more steps have a narrower interval that lies beyond the margin".into()
            }
            _ => String::new(),
        },
        status: status(side),
        links: vec![Link::to("compare").table("waterfall"), Link::to("compare").table("steps")],
        ..Finding::default()
    }
}

/// That the verdict would be another one without warm-up and outliers, where it would.
fn usual(side: &Side<'_, '_>) -> Option<Finding> {
    let (without, delta_ps) = side.verdict.usual?;
    let delta = signed(delta_ps.round() as i64);
    Some(Finding {
        id: "usual_steps",
        claim: format!("Without warm-up and outliers the step time is {}: {delta}", without.word()),
        recommendation: "`--steady` compares the usual steps alone".into(),
        status: status(side),
        links: vec![Link::to("compare").table("steps")],
        ..Finding::default()
    })
}

/// What became of an op.
pub(super) fn of_op(side: &Side<'_, '_>, change: &Change) -> Finding {
    let delta = change.effects.delta_ps;
    let (name, by) = (side.name(change), signed(delta));
    let share = side.share(delta as f64).map(|share| format!(" ({} of a step)", units::share(share)));
    let share = share.unwrap_or_default();
    let (id, claim) = match change.became {
        Became::New => ("new_op", format!("{name} is new: {by}{share}")),
        Became::Gone => ("gone_op", format!("{name} is gone: {by}{share}")),
        Became::Regrouped => {
            let was = side.was(change).unwrap_or_default();
            ("regrouped_op", format!("{was} became {name}: {by}{share}"))
        }
        _ if delta > 0 => ("slower_op", format!("{name} takes longer: {by}{share}")),
        _ => ("faster_op", format!("{name} takes less time: {by}{share}")),
    };
    let speedup = speedup(side, delta as f64);
    Finding {
        id,
        severity: if delta > 0 { Severity::Warning } else { Severity::Info },
        claim,
        evidence: evidence(side, change),
        ceiling: speedup.map(|s| format!("{s:.3}x, without it")).unwrap_or_default(),
        speedup,
        recommendation: recommendation(change).into(),
        falsifier: if change.group.is_in_both() {
            "with more steps of each run, the interval of this op's difference contains 0".into()
        } else {
            "the op is in the other run too, under another name or with other operands: see `hlo diff` of both programs".into()
        },
        status: status(side),
        links: links(change, name),
        ..Finding::default()
    }
}

/// Its row here, and in the experiment's own table of ops where it is one op of that run.
fn links(change: &Change, name: String) -> Vec<Link> {
    let own = (change.group.b.len() == 1).then(|| Link::to("ops").row("ops", name.clone()));
    std::iter::once(Link::to("compare").row("ops", name)).chain(own).collect()
}

fn evidence(side: &Side<'_, '_>, change: &Change) -> String {
    let time = units::duration_ps;
    let mut parts = match (change.group.a.is_empty(), change.group.b.is_empty()) {
        (true, _) => vec![format!("{} a step", time(change.experiment_ps))],
        (_, true) => vec![format!("it took {} a step", time(change.baseline_ps))],
        _ => vec![format!("{} a step, was {}", time(change.experiment_ps), time(change.baseline_ps))],
    };
    if let (true, Some(test), Some(p)) = (change.group.is_in_both(), change.test, change.p) {
        let (low, high) = (signed(test.low.round() as i64), signed(test.high.round() as i64));
        parts.push(format!("95% interval {low} to {high}, p = {} corrected for all ops", units::number(p)));
    }
    let effects = change.effects;
    let kinds =
        [("executions", effects.count_ps), ("work", effects.work_ps), ("efficiency", effects.efficiency_ps)];
    let kinds: Vec<String> =
        kinds.iter().filter(|(_, ps)| *ps != 0).map(|(word, ps)| format!("{word} {}", signed(*ps))).collect();
    if kinds.len() > 1 {
        parts.push(format!("of it {}", kinds.join(", ")));
    }
    if change.group.is_in_both() && !effects.knows_work && effects.efficiency_ps != 0 {
        parts.push("its work was not counted, so more work looks like lower efficiency".into());
    }
    if let Some(was) =
        side.was(change).filter(|was| *was != side.name(change) && change.became != Became::Regrouped)
    {
        parts.push(format!("{was} before"));
    }
    if let Some(op) = side.op(change).filter(|op| !op.meta.framework_op.is_empty()) {
        parts.push(op.meta.framework_op.to_string());
    }
    parts.join("; ")
}

fn recommendation(change: &Change) -> &'static str {
    let effects = change.effects;
    match change.became {
        Became::New => {
            "find out where it comes from: `hlo diff` of both programs shows its operands and users, `source` its line"
        }
        Became::Gone | Became::Faster => "",
        _ if effects.delta_ps < 0 => "",
        _ if effects.work_ps > effects.efficiency_ps => {
            "it has more to do: look at its shapes and operands in `hlo diff`"
        }
        _ if effects.count_ps > effects.efficiency_ps => {
            "it runs more often: look at the loop around it and at its other callers"
        }
        _ => {
            "the same work takes longer: look at its layout, fusion and tiling in `hlo diff`, and at `roofline`"
        }
    }
}
