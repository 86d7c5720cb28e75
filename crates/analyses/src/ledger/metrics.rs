//! Which numbers of a run are kept, and where each comes from.

use std::collections::BTreeMap;

use super::entry::{Metric, Samples};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Cell, Report, Status, Unit};
use haloscope_time::analysis::{self, Params};

/// A number that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracked {
    /// Its id, as in the report that it comes from.
    pub id: &'static str,
    /// What a person reads.
    pub label: &'static str,
    /// The analysis whose report has it.
    pub analysis: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

/// Which way a number is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is.
    Less,
    /// More is.
    More,
    /// Neither: it says what was run, or what bounds it.
    Neither,
}

/// The time that is judged where none is named.
pub(super) const STEP_TIME: &str = "step_time_mean_ps";
/// What stands for it in a run without steps.
pub(super) const WINDOW: &str = "active_window_ps";
/// FLOPs of a step, as the program counts them.
pub(super) const WORK: &str = "flops_per_step";

const fn of(
    analysis: &'static str,
    id: &'static str,
    label: &'static str,
    unit: Unit,
    better: Better,
) -> Tracked {
    Tracked { id, label, analysis, unit, better }
}

/// The numbers that are kept, in reading order.
pub const METRICS: &[Tracked] = &[
    of("overview", STEP_TIME, "Step time, mean", Unit::Ps, Better::Less),
    of("overview", "step_time_p50_ps", "Step time, median", Unit::Ps, Better::Less),
    of("overview", "step_time_p90_ps", "Step time, 90th percentile", Unit::Ps, Better::Less),
    of("compute mfu", "mfu", "MFU", Unit::Share, Better::More),
    of("overview", "flop_share_of_peak", "FLOP rate of peak", Unit::Share, Better::More),
    of("overview", "hbm_share_of_peak", "HBM rate of peak", Unit::Share, Better::Neither),
    of("overview", "idle_share_of_active_window", "Idle share", Unit::Share, Better::Less),
    of("comm", "exposed_ps_per_step", "Exposed communication of a step", Unit::Ps, Better::Less),
    of("memory peak", "peak_bytes", "Peak memory", Unit::Bytes, Better::Less),
    of("compute mfu", WORK, "FLOPs of a step", Unit::Flop, Better::Neither),
    of("overview", WINDOW, "Active window", Unit::Ps, Better::Neither),
];

/// What is known of a metric's id; `None` for one of somebody else's.
#[must_use]
pub fn tracked(id: &str) -> Option<&'static Tracked> {
    METRICS.iter().find(|metric| metric.id == id)
}

/// What a run gives.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Its numbers by their ids; those that it cannot tell are unknown.
    pub metrics: BTreeMap<String, Metric>,
    /// Its devices, as the profiler names them.
    pub device_type: Option<String>,
    /// How many of them are in the profile.
    pub device_count: Option<u64>,
    /// Analyses without an answer, and why.
    pub without: Vec<(&'static str, String)>,
}

/// The numbers of a run that are kept.
///
/// # Errors
/// [`Error`] where the run cannot be looked at at all: no overview, no entry.
pub fn measure(profile: &Profile) -> Result<Measured, Error> {
    let mut out = Measured::default();
    let mut reports: BTreeMap<&str, Option<Report>> = BTreeMap::new();
    for metric in METRICS {
        if !reports.contains_key(metric.analysis) {
            let report = match ask(metric.analysis, profile) {
                Ok(report) => Some(report),
                Err(error) if metric.analysis == "overview" => return Err(error),
                Err(error) => {
                    out.without.push((metric.analysis, error.to_string()));
                    None
                }
            };
            reports.insert(metric.analysis, report);
        }
        let report = reports.get(metric.analysis).and_then(Option::as_ref);
        out.metrics.insert(metric.id.to_owned(), kept(metric, report));
    }
    let overview = reports.get("overview").and_then(Option::as_ref);
    let value = |id: &str| overview.and_then(|report| report.value(id)).map(|v| &v.value);
    out.device_type = value("device_type").and_then(Cell::as_text).map(str::to_owned);
    out.device_count = value("device_count").and_then(Cell::number).map(|n| n as u64);
    Ok(out)
}

fn ask(analysis: &str, profile: &Profile) -> Result<Report, Error> {
    let Some(found) = crate::find(analysis) else {
        return Err(Error::Nothing(format!("there is no analysis `{analysis}`")));
    };
    analysis::run(found, profile, &Scope::default(), &Params::default())
}

fn kept(metric: &Tracked, report: Option<&Report>) -> Metric {
    let number = |id: &str| report?.value(id)?.value.number();
    let value = report.and_then(|report| report.value(metric.id));
    let known = value.and_then(|v| v.value.number());
    let samples = (metric.id == STEP_TIME).then(|| {
        let (n, mean) = (number("step_count")?, known?);
        (n >= 1.0).then_some(Samples { n: n as u64, mean, sd: number("step_time_sd_ps") })
    });
    Metric {
        value: known,
        unit: metric.unit.word().to_owned(),
        status: value.filter(|_| known.is_some()).map_or(Status::Unknown, |v| v.status),
        samples: samples.flatten(),
        rest: BTreeMap::new(),
    }
}

/// The unit that a line names; [`Unit::Ratio`] for one that is not known: a number without a unit.
pub(super) fn unit_of(word: &str) -> Unit {
    Some(Unit::of_word(word)).filter(|unit| *unit != Unit::None).unwrap_or(Unit::Ratio)
}

/// A number in its unit for people.
pub(super) fn say(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ps => units::duration_ps(value),
        Unit::Bytes => units::bytes(value),
        Unit::Flop => units::flops(value),
        Unit::FlopRate => units::flop_rate(value),
        Unit::ByteRate => units::byte_rate(value),
        Unit::Share => units::share(value),
        Unit::FlopPerByte => format!("{} FLOP/B", units::number(value)),
        Unit::Count | Unit::Ratio | Unit::None => units::number(value),
    }
}

/// A difference of two such numbers: shares differ by points.
pub(super) fn say_change(value: f64, unit: Unit) -> String {
    if unit == Unit::Share { format!("{} points", units::number(value * 100.0)) } else { say(value, unit) }
}
