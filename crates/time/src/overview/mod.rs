//! `overview`: how the run is doing, and what bounds it.
pub mod findings;
mod tables;

use crate::account::Spent;
use crate::analysis::{Also, Analysis, Input, MenuGroup, Params, Run};
use crate::device_pass;
use crate::ops::analysis::Sums;
use crate::quality;
use crate::roofline::{Limits, Work};
use crate::select::{Scoped, Selection};
use crate::stats::Summary;
use crate::steps::Steps;
use crate::usage::Usage;
use haloscope_profile::Peaks;
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Unit, Value};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "overview",
    label: "Overview",
    group: MenuGroup::Start,
    question: "How is this run doing, and what bounds it?",
    params: &[],
    needs: &["a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)"],
    reads: &[Input::Profile],
    example: "overview logs",
    also: &[Also::Report],
    run: Run::Of(run),
};
fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let steps = Steps::find(profile, &selection.devices);
    let mut of_hosts = Vec::new();
    let (ops, usage, spent) = device_pass::measure(profile, selection, &steps, |host, ops| {
        of_hosts.push((host, Sums::of(&ops)));
    });
    if ops.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::remarks(profile, selection, &ops, notes);
    quality::steps(profile, &steps, notes);
    let sums = Sums::of(&ops);
    let peaks = selection.peaks();
    let rates = Rates::new(&usage, &sums, &peaks);
    let spent = Spent::of(profile, &usage, &spent);
    let in_scope = Steps {
        rows: steps.rows.iter().filter(|s| crate::steps::analysis::in_scope(s, scope)).cloned().collect(),
        source: steps.source.clone(),
    };
    let summary = Summary::of(&in_scope.durations());

    let values = values(selection, &usage, &rates, &spent, &in_scope, summary.as_ref());
    let findings = findings::all(&usage, &rates, &spent, selection);
    let mut all = vec![
        tables::rates(&rates),
        tables::time(&spent),
        tables::idle(&usage),
        tables::top_ops(&ops, &peaks),
        tables::devices(profile, &usage),
    ];
    if profile.hosts.len() > 1 {
        all.push(tables::hosts(profile, scope, &usage, &of_hosts)?);
    }
    all.push(tables::precision(&ops));
    all.push(tables::environment(profile, selection));
    Ok(Report { values, tables: all, findings, ..Report::default() })
}
/// What the overview shows of the steps; `steps` has the rest.
const STEP_VALUES: &[&str] = &[
    "step_count",
    "step_time_mean_ps",
    "step_time_device_mean_ps",
    "step_time_sd_ps",
    "step_time_min_ps",
    "step_time_p50_ps",
    "step_time_p90_ps",
    "step_time_max_ps",
];

/// FLOPs and bytes over the capture and over the active window.
struct Rates {
    capture_ps: Option<f64>,
    active_ps: f64,
    capture: Limits,
    active: Limits,
}

impl Rates {
    fn new(usage: &Usage, sums: &Sums, peaks: &Peaks) -> Self {
        let devices = usage.devices.len() as f64;
        let over = |time_ps: f64| Work { time_ps: time_ps * devices, ..sums.work() }.against(peaks);
        let capture_ps = usage.capture_ps();
        let active_ps = usage.active_ps();
        Self {
            capture_ps,
            active_ps,
            capture: capture_ps.map(over).unwrap_or_default(),
            active: over(active_ps),
        }
    }
}

fn values(
    selection: &Selection<'_>,
    usage: &Usage,
    rates: &Rates,
    spent: &Spent,
    steps: &Steps,
    summary: Option<&Summary>,
) -> Vec<Value> {
    use Status::{Derived, Estimated, Measured};
    let ps = |id, label, value: Option<f64>, status, doc| Value::new(id, label, value, Unit::Ps, status, doc);
    let share = |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Share, Derived, doc);
    let capture_status = if usage.capture_is_recorded { Measured } else { Estimated };
    let mut all = vec![
        Value::new(
            "device_type",
            "Device",
            Some(selection.device_type().into_owned()),
            Unit::None,
            Measured,
            "As the profiler names it.",
        ),
        Value::new(
            "device_count",
            "Devices",
            Some(selection.devices.len()),
            Unit::Count,
            Measured,
            "Devices with events in the scope.",
        ),
        Value::new(
            "bound_by",
            "Bound by",
            Some(spent.bound_by()).filter(|word| *word != "unknown"),
            Unit::None,
            Derived,
            "What takes most of the active window: compute, memory (memory-bound ops, copies on the device), communication, transfer, overhead, input or idle; see the table `time`.",
        ),
        ps(
            "capture_span_ps",
            "Capture",
            usage.capture_ps(),
            capture_status,
            "Length of the capture, mean over hosts: from the profiler's start and stop times; the span of all events if it recorded none (then estimated).",
        ),
        ps(
            "active_window_ps",
            "Active window",
            Some(usage.active_ps()),
            Measured,
            "From a device's first op to its last, mean over devices.",
        ),
        ps(
            "device_busy_ps",
            "Device busy",
            Some(usage.busy_ps()),
            Measured,
            "Time in which at least one op ran, mean over devices.",
        ),
        share(
            "idle_share_of_capture",
            "Idle share of the capture",
            usage.idle_share_of_capture(),
            "1 - busy / capture.",
        ),
        share(
            "idle_share_of_active_window",
            "Idle share of the active window",
            usage.idle_share_of_active(),
            "1 - busy / active window.",
        ),
        share(
            "duty_cycle",
            "Duty cycle",
            usage.duty_cycle(),
            "As XProf counts it, TPU only: time in ops other than those that wait for the host or for asynchronous ops, over the span of ops and programs.",
        ),
    ];
    all.extend(
        crate::steps::analysis::values(steps, summary).into_iter().filter(|v| STEP_VALUES.contains(&v.id)),
    );
    all.extend([
        Value::new(
            "flop_rate",
            "FLOP rate",
            rates.active.flop_rate,
            Unit::FlopRate,
            Derived,
            "FLOPs over the active window, of one device.",
        ),
        share(
            "flop_share_of_peak",
            "FLOP rate of peak",
            rates.active.flop_share,
            "Over the active window, of the device's peak.",
        ),
        Value::new(
            "hbm_rate",
            "HBM rate",
            rates.active.hbm_rate,
            Unit::ByteRate,
            Derived,
            "Bytes to and from HBM over the active window, of one device.",
        ),
        share(
            "hbm_share_of_peak",
            "HBM rate of peak",
            rates.active.hbm_share,
            "Over the active window, of the device's peak.",
        ),
        share(
            "flop_share_of_peak_over_capture",
            "FLOP rate of peak, capture",
            rates.capture.flop_share,
            "Over the whole capture: diluted by the time in which nothing ran.",
        ),
        share(
            "hbm_share_of_peak_over_capture",
            "HBM rate of peak, capture",
            rates.capture.hbm_share,
            "Over the whole capture.",
        ),
    ]);
    all
}
