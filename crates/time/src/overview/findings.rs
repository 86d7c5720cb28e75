//! What the overview says first: diluted averages, then what bounds the run.

use super::Rates;
use crate::bound::{Classes, TimeClass};
use crate::ceiling;
use crate::select::Selection;
use crate::usage::Usage;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

pub(super) fn all(
    usage: &Usage,
    rates: &Rates,
    classes: &Classes,
    selection: &Selection<'_>,
) -> Vec<Finding> {
    let mut out = Vec::new();
    let flop_shares = rates.capture.flop_share.zip(rates.active.flop_share);
    out.extend(diluted(usage, flop_shares));
    let bound = classes.bound_by();
    let share = classes.share(bound);
    let others = classes.rows.iter().filter(|(class, _)| *class != bound).take(3);
    let rest: Vec<_> = others
        .map(|(class, _)| format!("{} {}", class.phrase(), units::share(classes.share(*class))))
        .collect();
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
            TimeClass::Unknown => {
                format!(
                    "Ops run for {} of the active window; what limits them is not known",
                    units::share(share)
                )
            }
            _ => format!(
                "The run is bound by {}: {} of the active window goes to {}",
                bound.word(),
                units::share(share),
                bound.phrase()
            ),
        },
        evidence: format!("{}{efficiency}", rest.join(", ")),
        ceiling: match bound {
            TimeClass::Unknown => "not known, as the limit is not".into(),
            _ => format!("{:.2}x, if all of it went away", ceiling::speedup(share)),
        },
        lever: bound.lever(selection).to_owned(),
        falsifier: bound.falsifier().to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    out
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
            "The devices are idle for {} of the capture: averages over it are diluted. Read the active window",
            units::share(of_capture)
        ),
        evidence: format!(
            "active window {} of {} captured; idle inside it {}{numbers}",
            units::duration_ps(usage.active_ps()),
            units::duration_ps(usage.capture_ps().unwrap_or(0.0)),
            units::share(of_active)
        ),
        ceiling: "nothing: what lies outside the active window is not the program".into(),
        lever: "start and stop the profiler around the steps in question, or use --window or --steady".into(),
        falsifier: "the program was meant to run during the rest of the capture".into(),
        status: Status::Measured,
        ..Finding::default()
    })
}
