//! A low share of the peak, explained.

use super::base::Base;
use super::methods::{Causes, Method};
use crate::compute::facts::Fact;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::phase::Phase;

/// Training below this share of the peak is worth a word, below the second a warning. People report 40% to 60% of dense
/// models; models of experts and decoding lie far below, for reasons of their own.
const USUAL: f64 = 0.4;
const LOW: f64 = 0.2;

/// Ways of counting this near each other agree.
const AGREE: f64 = 0.1;

/// The model's count and the compiler's differ: by how much, and what may explain it.
pub(super) fn disagreement(all: &[Method]) -> Option<Finding> {
    let method = all.iter().find(|method| matches!(method.id, "formula" | "config"))?;
    let ratio = method.ratio.filter(|ratio| (ratio - 1.0).abs() > AGREE)?;
    Some(Finding {
        id: "mfu_methods_disagree",
        severity: Severity::Info,
        claim: format!(
            "The model's FLOPs, by {}, are {ratio:.2} times those that the compiler counts for what ran",
            method.id
        ),
        evidence: if method.differs.is_empty() {
            method.counts.clone()
        } else {
            format!("{}: {}", method.counts, method.differs)
        },
        ceiling: "nothing: both are correct, but count different things".into(),
        speedup: None,
        recommendation: if ratio > 1.0 {
            "check --devices-count and --global-batch first; then give kernels a cost estimate".into()
        } else {
            "reduce what the program computes besides the model: recomputation, masked work, padding".into()
        },
        falsifier: "the counts stay the same with rematerialisation off and a cost estimate on every kernel"
            .into(),
        status: method.status,
        links: vec![Link::to("compute mfu").table("methods"), Link::to("compute").table("phases")],
        ..Finding::default()
    })
}

/// `idle` is the share of the active window in which no op ran.
pub(super) fn low(all: &[Method], facts: &[Fact<'_, '_>], base: &Base, idle: Option<f64>) -> Option<Finding> {
    let method = ["formula", "config", "model FLOPs", "HLO FLOPs"]
        .into_iter()
        .find_map(|id| all.iter().find(|method| method.id == id && method.mfu.is_some()))?;
    let mfu = method.mfu.filter(|mfu| *mfu < USUAL)?;
    let causes = Causes::of(facts);
    let step_ps = base.step_ps?;
    let all_ps = units::sum(facts.iter().map(|fact| fact.op.self_ps)) as f64;
    let share = |takes: &dyn Fn(&Fact<'_, '_>) -> bool| {
        units::sum(facts.iter().filter(|f| takes(f)).map(|f| f.op.self_ps)) as f64 / all_ps.max(1.0)
    };
    let mut why: Vec<(f64, String)> = vec![
        (
            causes.uncounted,
            "of op time is in kernels without a FLOP count, so the true share is higher".to_owned(),
        ),
        (share(&|f| !f.class.has_limits()), "of op time is communication, transfers and waits".to_owned()),
        (
            share(&|f| f.class.has_limits() && !f.class.multiplies() && f.op.flops.is_some()),
            "of op time is not in products, convolutions or attention".to_owned(),
        ),
    ];
    if let (Some(recomputed), true) = (causes.recomputed, method.id != "HLO FLOPs") {
        why.push((recomputed, "of the program's FLOPs are recomputation".to_owned()));
    }
    why.extend(idle.map(|idle| (idle, "of the active window has no op at all".to_owned())));
    why.retain(|(share, _)| *share > 0.01);
    why.sort_by(|a, b| b.0.total_cmp(&a.0));
    let words: Vec<String> =
        why.iter().map(|(share, words)| format!("{} {words}", units::share(*share))).collect();
    let is_training = facts.iter().any(|fact| fact.phase == Phase::Backward);
    // Uncounted kernels may be all of it.
    let is_certain = causes.uncounted < 0.05;
    Some(Finding {
        id: "low_mfu",
        severity: if mfu < LOW && is_certain { Severity::Warning } else { Severity::Info },
        claim: format!("The model's FLOPs reach {} of the peak, by {}", units::share(mfu), method.id),
        evidence: format!(
            "{} a step of {}; {}",
            units::flops(method.flops.unwrap_or(0.0)),
            units::duration_ps(step_ps),
            if words.is_empty() { "matrix products take nearly all op time".to_owned() } else { words.join("; ") }
        ),
        ceiling: if is_training {
            format!(
                "{:.2}x at the {} that dense training reaches; a model with experts may reach less",
                USUAL / mfu.max(1e-6),
                units::share(USUAL)
            )
        } else {
            "not known: a program without a backward pass may be limited by memory instead of FLOPs".to_owned()
        },
        speedup: None,
        recommendation: "start with the largest of these shares: `compute` shows time beyond the roofline, `idle` time without ops".into(),
        falsifier: "kernels with a cost estimate, or --flops-per-token of the model, give another share".into(),
        status: if is_certain { Status::Derived } else { Status::Estimated },
        links: vec![Link::to("compute mfu").table("methods"), Link::to("compute").table("categories")],
        ..Finding::default()
    })
}
