//! What the overview says first: diluted averages, then what bounds the run.

use super::Rates;
use crate::account::Spent;
use crate::select::Selection;
use crate::usage::Usage;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

pub(super) fn all(usage: &Usage, rates: &Rates, spent: &Spent, selection: &Selection<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let flop_shares = rates.capture.flop_share.zip(rates.active.flop_share);
    out.extend(diluted(usage, flop_shares));
    let bound = spent.bound_by();
    let share = spent.share_of_word(bound);
    let phrases: Vec<_> = spent.of_word(bound).map(|of| of.phrase()).collect();
    let others = spent.rows.iter().filter(|(of, _)| of.word() != bound).take(3);
    let rest: Vec<_> =
        others.map(|(of, _)| format!("{} {}", of.phrase(), units::share(spent.share(*of)))).collect();
    let efficiency = match (rates.active.flop_share, rates.active.hbm_share) {
        (Some(f), Some(b)) => format!(
            "; over the active window {} of peak FLOP/s and {} of peak HBM bandwidth",
            units::share(f),
            units::share(b)
        ),
        _ => String::new(),
    };
    out.push(Finding {
        id: "bound_by",
        severity: Severity::Info,
        claim: match bound {
            "unknown" => {
                format!(
                    "Ops run for {} of the active window; what limits them is not known",
                    units::share(share)
                )
            }
            _ => format!(
                "The run is bound by {}: {} of the active window goes to {}",
                bound,
                units::share(share),
                listed(&phrases)
            ),
        },
        evidence: format!("{}{efficiency}", rest.join(", ")),
        ceiling: "not known: a limit does not go away as a whole; `diagnose` has causes".into(),
        recommendation: recommendation(bound, selection).to_owned(),
        falsifier: falsifier(bound).to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    out
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What to try first.
fn recommendation(bound: &str, selection: &Selection<'_>) -> &'static str {
    match bound {
        "compute" => {
            "lower precision where it is allowed, fewer FLOPs, or larger tiles: `roofline` shows the gap by op"
        }
        "memory" => "fuse, keep values in on-chip memory, narrower types, larger batch: `ops --by category`",
        "communication" => "overlap collectives with compute, or change the sharding: `ops --by category`",
        "transfer" => "start transfers earlier or move less between host and device: `ops --by category`",
        "overhead" => "put more work into each op: `ops` by count, `fusions`",
        "input" => "prefetch, cache or parallelise the input pipeline: `ops --on host`",
        "idle" => "find what the host does meanwhile: `ops --on host`, and the timeline",
        _ if selection.peaks().flops.is_none() => "the device's peaks are not known: read `ops` by time",
        _ => "give custom calls a cost estimate, so that their limit is known: `ops`",
    }
}

/// What would show that it is not this.
fn falsifier(bound: &str) -> &'static str {
    match bound {
        "compute" => "the step time does not change with a type of half the width or a chip of higher peak",
        "memory" => "the step time does not change when fewer bytes are moved",
        "communication" => "the step time on one device with the same work per device is the same",
        "transfer" => "the step time does not change with inputs that stay on the device",
        "overhead" => "the step time does not change with ops of twice the size",
        "input" => "the step time does not change with synthetic input",
        "idle" => "a capture with less tracing shows no such gaps",
        _ => "a capture that counts the FLOPs and bytes of these ops shows another class",
    }
}

/// Averages over a capture that is mostly idle say nothing of the program: this must be said first. `flop_shares` are the
/// FLOP rates over the capture and over the active window, of the peak.
pub fn diluted(usage: &Usage, flop_shares: Option<(f64, f64)>) -> Option<Finding> {
    let (of_capture, of_active) = (usage.idle_share_of_capture()?, usage.idle_share_of_active()?);
    if of_capture < 0.5 || of_capture - of_active < 0.1 {
        return None;
    }
    let numbers = match flop_shares {
        Some((a, b)) => format!(
            "; FLOP rate {} of peak over the capture, {} over the active window",
            units::share(a),
            units::share(b)
        ),
        None => String::new(),
    };
    Some(Finding {
        id: "diluted_averages",
        severity: Severity::Warning,
        claim: format!(
            "The devices are idle for {} of the capture, so averages over it are too low: read those of the active window",
            units::share(of_capture)
        ),
        evidence: format!(
            "active window {} of {} captured; idle inside it {}{numbers}",
            units::duration_ps(usage.active_ps()),
            units::duration_ps(usage.capture_ps().unwrap_or(0.0)),
            units::share(of_active)
        ),
        ceiling: "nothing: time outside the active window is not part of the program".into(),
        recommendation:
            "start and stop the profiler around the steps in question, or use --window or --steady".into(),
        falsifier: "the program was meant to run during the rest of the capture".into(),
        status: Status::Measured,
        ..Finding::default()
    })
}
