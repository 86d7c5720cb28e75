//! What follows from where compute time goes.

use super::Sums;
use super::audit::{self, Kind, Row};
use super::shortfall::Group;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::ceiling;

/// Shares of device time from which on something is worth a finding, and a warning.
const WORTH: f64 = 0.05;
const LARGE: f64 = 0.15;
/// Data formatting of 5% is XProf's limit; casts and padding go by the same.
const OVERHEAD: f64 = 0.05;
/// Groups that are named at most.
const NAMED: usize = 3;
/// A group this near the roofline is no cause.
const NEAR: f64 = 0.9;

/// All findings, the largest first. `device_ps` is the active time of the devices, idle time included.
pub(super) fn all(
    sums: &Sums,
    groups: &[Group<'_, '_, '_>],
    audit: &[Row<'_, '_, '_>],
    device_ps: f64,
) -> Vec<Finding> {
    // Streams at once can have more self time than there is device time.
    let device_ps = device_ps.max(sums.all_ps as f64);
    let mut found: Vec<(f64, Finding)> = Vec::new();
    let named = groups.iter().filter(|group| group.roofline_share().is_some_and(|share| share < NEAR));
    found.extend(named.take(NAMED).filter_map(|group| beyond_the_roofline(group, device_ps)));
    found.extend(overhead(audit, device_ps, Kind::Cast, &CAST));
    found.extend(overhead(audit, device_ps, Kind::PaddedProduct, &PADDING));
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn severity(share: f64) -> Severity {
    if share >= LARGE { Severity::Warning } else { Severity::Info }
}

fn beyond_the_roofline(group: &Group<'_, '_, '_>, device_ps: f64) -> Option<(f64, Finding)> {
    let share = group.shortfall_ps / device_ps;
    if share.is_nan() || share < WORTH {
        return None;
    }
    let own = group.roofline_share().unwrap_or(0.0);
    let bound = group.bound_by().unwrap_or("neither compute nor memory");
    let largest = &group.largest.op.meta.name;
    let recommendation = match bound {
        "compute" => {
            "use larger tiles, sizes that are multiples of the matrix unit, a narrower type, or fuse less other work into the product"
        }
        _ => "use fewer and larger ops, keep values on the chip, and use the layout that the next op reads",
    };
    let finding = Finding {
        id: "compute_shortfall",
        severity: severity(share),
        claim: format!(
            "{} takes {} more than the roofline allows, {} of device time",
            group.name,
            units::duration_ps(group.shortfall_ps),
            units::share(share)
        ),
        evidence: format!(
            "{} of self time, {} of the roofline ({bound}); largest: {largest}, {}",
            units::duration_ps(group.self_ps as f64),
            units::share(own),
            group.largest.class.word()
        ),
        ceiling: format!("{:.2}x, if it ran at the roofline", ceiling::speedup(share)),
        speedup: Some(ceiling::speedup(share)),
        recommendation: recommendation.into(),
        falsifier: format!(
            "{largest} takes just as long with half the FLOPs and half the bytes: then latency or waits decide, not these limits"
        ),
        status: Status::Estimated,
        links: vec![
            Link::to("compute").row("groups", group.name.clone()),
            Link::to("ops").row("ops", largest.as_ref()),
        ],
        ..Finding::default()
    };
    Some((share, finding))
}

/// What is said of one kind of overhead.
struct Words {
    id: &'static str,
    what: &'static str,
    without: &'static str,
    recommendation: &'static str,
    falsifier: &'static str,
    status: Status,
}

const CAST: Words = Words {
    id: "cast_overhead",
    what: "ops that only change a type",
    without: "if no cast were a separate op",
    recommendation: "keep one type through the layer, cast once at its edge, or let the compiler fuse the cast into the op that makes the value",
    falsifier: "the step time does not change with the same type everywhere",
    status: Status::Derived,
};
const PADDING: Words = Words {
    id: "padding_waste",
    what: "parts of the matrix unit that padding leaves idle",
    without: "if every size were a multiple of the matrix unit's edge",
    recommendation: "use sizes that are multiples of the matrix unit's edge: head size, hidden size per device, vocabulary; or a sharding that keeps them",
    falsifier: "the time of these ops does not fall with sizes rounded up to whole edges",
    status: Status::Estimated,
};

fn overhead(audit: &[Row<'_, '_, '_>], device_ps: f64, kind: Kind, words: &Words) -> Option<(f64, Finding)> {
    let wasted = audit::wasted(audit, kind)?;
    let share = wasted / device_ps;
    if share.is_nan() || share < OVERHEAD {
        return None;
    }
    let largest = audit.iter().find(|row| row.kind == kind)?;
    let name = &largest.fact.op.meta.name;
    let detail = if largest.detail.is_empty() { String::new() } else { format!(": {}", largest.detail) };
    let finding = Finding {
        id: words.id,
        severity: severity(share),
        claim: format!("{} of device time goes to {}", units::share(share), words.what),
        evidence: format!(
            "{} ops; the largest is {name} with {}{detail}",
            audit.iter().filter(|row| row.kind == kind).count(),
            units::duration_ps(largest.wasted_ps.unwrap_or(0.0)),
        ),
        ceiling: format!("{:.2}x, {}", ceiling::speedup(share), words.without),
        speedup: Some(ceiling::speedup(share)),
        recommendation: words.recommendation.into(),
        falsifier: words.falsifier.into(),
        status: words.status,
        links: vec![Link::to("compute").table("audit"), Link::to("ops").row("ops", name.as_ref())],
        ..Finding::default()
    };
    Some((share, finding))
}
