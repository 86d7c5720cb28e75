//! `overview`: how the run is doing, and what bounds it.

use super::ops::Sums;
use super::{Analysis, Params};
use crate::Error;
use crate::derive::bound::{Classes, TimeClass};
use crate::derive::limits::Limits;
use crate::derive::ops::{self, Op};
use crate::derive::select::Selection;
use crate::derive::stats::Summary;
use crate::derive::steps::Steps;
use crate::derive::usage::Usage;
use crate::derive::{precision, quality};
use crate::profile::{Peaks, Profile};
use crate::report::{Cell, Column, Finding, Notes, Report, Severity, Status, Table, Unit, Value};
use crate::scope::Scope;
use crate::units;

pub(super) static ANALYSIS: Analysis = Analysis {
    id: "overview",
    question: "How is this run doing, and what bounds it?",
    params: &[],
    needs: &["a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)"],
    example: "overview logs",
    run,
};

const DEVICES: &[Column] = &[
    Column::text("device", "Device", "Device."),
    Column::duration("busy_ps", "Busy", "Time in which at least one op ran."),
    Column::share(
        "idle_share_of_active_window",
        "Idle, active",
        "Idle share between the device's first and last op.",
    ),
    Column::share("idle_share_of_capture", "Idle, capture", "Idle share of the whole capture."),
    Column::share(
        "duty_cycle",
        "Duty cycle",
        "As XProf counts it (TPU only): ops that wait for the host or for asynchronous ops do not count as busy.",
    ),
    Column::duration("active_window_ps", "Active window", "From the device's first op to its last."),
    Column::duration("capture_span_ps", "Capture", "The capture's length on this host."),
    Column::text("host", "Host", "Host."),
];

const HOSTS: &[Column] = &[
    Column::text("host", "Host", "Host."),
    Column::count("devices", "Devices", "Devices with events."),
    Column::duration("busy_ps", "Busy", "Mean over its devices."),
    Column::share("idle_share_of_active_window", "Idle, active", "Mean over its devices."),
    Column::float("flops", "FLOPs", Unit::Flop, "Sum over its devices."),
    Column::bytes("hbm_bytes", "HBM bytes", "Sum over its devices."),
];

const IDLE: &[Column] = &[
    Column::text(
        "where",
        "Where the device idles",
        "Outside the active window, between steps (or programs), or inside one.",
    ),
    Column::duration("time_ps", "Time", "Mean over devices."),
    Column::share("share_of_capture", "Of capture", "Of the whole capture."),
    Column::share(
        "share_of_active_window",
        "Of active window",
        "Of the time between first and last op; unknown for what lies outside.",
    ),
];

const RATES: &[Column] = &[
    Column::text("over", "Over", "The time that the rate is taken over."),
    Column::duration("time_ps", "Time", "Mean over devices."),
    Column::rate("flop_rate", "FLOP rate", Unit::FlopRate, "Of one device."),
    Column::share("flop_share_of_peak", "FLOP/s of peak", "Of the device's peak."),
    Column::rate("hbm_rate", "HBM rate", Unit::ByteRate, "Of one device."),
    Column::share("hbm_share_of_peak", "HBM of peak", "Of the device's peak."),
];

const TIME: &[Column] = &[
    Column::text(
        "class",
        "What the time goes to",
        "Each instant of the active window counts once, under the op that runs (the innermost one).",
    ),
    Column::duration("time_ps", "Time", "Mean over devices."),
    Column::share("share", "Of active window", "Of the time between first and last op."),
];

const TOP: &[Column] = &[
    Column::text("name", "Op", "The op."),
    Column::text("category", "Category", "HLO category."),
    Column::text("module", "Module", "The HLO module."),
    Column::duration("self_ps", "Self time", "Summed over executions and devices."),
    Column::share("self_share", "Share", "Of the self time of all ops."),
    Column::count("occurrences", "Count", "Executions."),
    Column::text("bound_by", "Bound by", "The nearer limit of the roofline."),
    Column::share("efficiency", "Efficiency", "The larger share of a peak."),
];

const PRECISION: &[Column] = &[
    Column::text("type", "Type", "Element type of the op's result."),
    Column::duration("self_ps", "Self time", "Of ops that compute FLOPs."),
    Column::share("share", "Share", "Of the time of ops that compute FLOPs."),
];

const ENVIRONMENT: &[Column] = &[
    Column::text("fact", "Fact", "What the profiler recorded."),
    Column::text("value", "Value", "As recorded; several where hosts differ."),
];

/// How many ops the overview lists.
const TOP_OPS: usize = 10;

fn run(profile: &Profile, scope: &Scope, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let selection = Selection::resolve(profile, scope)?;
    let ops = ops::collect(profile, &selection);
    if ops.is_empty() {
        return Err(quality::no_ops(profile, &selection));
    }
    quality::remarks(profile, &selection, &ops, notes);
    let steps = Steps::find(profile, &selection.devices);
    if steps.rows.is_empty() {
        notes.add(
            "no_steps",
            Severity::Info,
            format!("no steps: {}", steps.source.explain()),
            "step times are unknown",
            "wrap the loop's body in jax.profiler.StepTraceAnnotation(\"train\", step_num=i)",
        );
    } else {
        super::steps::remarks(&steps, notes);
    }
    let usage = Usage::measure(profile, &selection, &steps);
    let sums = Sums::of(&ops);
    let peaks = selection.peaks();
    let rates = Rates::new(&usage, &sums, &peaks);
    let classes = Classes::measure(profile, &usage, &ops, &peaks);
    let in_scope = Steps {
        rows: steps.rows.iter().filter(|s| super::steps::in_scope(s, scope)).cloned().collect(),
        source: steps.source.clone(),
    };
    let summary = Summary::of(&in_scope.durations());

    let values = values(&selection, &usage, &rates, &classes, &in_scope, summary.as_ref());
    let findings = findings(&usage, &rates, &classes, &selection);
    let mut tables = vec![
        rates.table(),
        time_table(&classes),
        idle_table(&usage),
        top_table(&ops, &peaks),
        device_table(profile, &usage),
    ];
    if profile.hosts.len() > 1 {
        tables.push(host_table(profile, scope, &usage)?);
    }
    tables.push(precision_table(&ops));
    tables.push(environment_table(profile, &selection));
    Ok(Report { values, tables, findings, ..Report::default() })
}

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
        let over = |time_ps: f64| {
            crate::derive::limits::Work { time_ps: time_ps * devices, ..sums.work() }.against(peaks)
        };
        let capture_ps = usage.capture_ps();
        let active_ps = usage.active_ps();
        Self {
            capture_ps,
            active_ps,
            capture: capture_ps.map(over).unwrap_or_default(),
            active: over(active_ps),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new("rates", "Rates: the whole capture beside the active window", RATES);
        let mut row = |over: &str, time: Option<f64>, limits: &Limits| {
            table.push(vec![
                over.into(),
                time.into(),
                limits.flop_rate.into(),
                limits.flop_share.into(),
                limits.hbm_rate.into(),
                limits.hbm_share.into(),
            ]);
        };
        row("active window (first op to last)", Some(self.active_ps), &self.active);
        row("whole capture", self.capture_ps, &self.capture);
        table
    }
}

fn values(
    selection: &Selection<'_>,
    usage: &Usage,
    rates: &Rates,
    classes: &Classes,
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
            Some(classes.bound_by().word()),
            Unit::None,
            Derived,
            "What most of the active window goes to; see the table `time`.",
        ),
        ps(
            "capture_span_ps",
            "Capture",
            usage.capture_ps(),
            capture_status,
            "Length of the capture, mean over hosts: from the profiler's start and stop times; the span of all events where it recorded none (then estimated).",
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
        super::steps::values(steps, summary)
            .into_iter()
            .filter(|v| v.id != "step_source" || !steps.rows.is_empty()),
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

fn findings(usage: &Usage, rates: &Rates, classes: &Classes, selection: &Selection<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    out.extend(diluted(usage, rates));
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
                    "Ops run for {} of the active window; what limits them is not known.",
                    units::share(share)
                )
            }
            _ => format!(
                "The run is bound by {}: {} of the active window.",
                bound.phrase(),
                units::share(share)
            ),
        },
        evidence: format!("{}{efficiency}.", rest.join(", ")),
        ceiling: format!(
            "without it the window would be at most {:.2}x shorter",
            1.0 / (1.0 - share).max(0.01)
        ),
        lever: bound.lever(selection).to_owned(),
        falsifier: bound.falsifier().to_owned(),
        status: Status::Derived,
    });
    out
}

/// Averages over a capture that is mostly idle say nothing of the program: this must be said first.
fn diluted(usage: &Usage, rates: &Rates) -> Option<Finding> {
    let (of_capture, of_active) = (usage.idle_share_of_capture()?, usage.idle_share_of_active()?);
    if of_capture < 0.5 || of_capture - of_active < 0.1 {
        return None;
    }
    let numbers = match (rates.capture.flop_share, rates.active.flop_share) {
        (Some(a), Some(b)) => format!(
            "; FLOP rate {} of peak over the capture, {} over the active window",
            units::share(a),
            units::share(b)
        ),
        _ => String::new(),
    };
    Some(Finding {
        id: "diluted_averages",
        severity: Severity::Warning,
        claim: format!(
            "The devices are idle for {} of the capture: averages over it are diluted. Read the active window.",
            units::share(of_capture)
        ),
        evidence: format!(
            "active window {} of {} captured; idle inside it {}{numbers}.",
            units::duration_ps(usage.active_ps()),
            units::duration_ps(usage.capture_ps().unwrap_or(0.0)),
            units::share(of_active)
        ),
        ceiling: "none: it is the capture that is long, not the program that is slow".into(),
        lever: "start and stop the profiler around the steps in question, or use --window or --steady".into(),
        falsifier: "the program was meant to run during the rest of the capture".into(),
        status: Status::Measured,
    })
}

fn time_table(classes: &Classes) -> Table {
    let mut table = Table::new("time", "Where the active window goes", TIME);
    for (class, time_ps) in &classes.rows {
        table.push(vec![class.word().into(), (*time_ps).into(), classes.share(*class).into()]);
    }
    table
}

fn idle_table(usage: &Usage) -> Table {
    let mut table = Table::new("idle", "Where devices idle", IDLE);
    let capture = usage.capture_ps();
    for (place, time_ps, in_active) in usage.idle_places() {
        table.push(vec![
            place.into(),
            time_ps.into(),
            capture.filter(|c| *c > 0.0).map(|c| time_ps / c).into(),
            in_active.then(|| time_ps / usage.active_ps().max(1.0)).into(),
        ]);
    }
    table
}

fn top_table(ops: &[Op<'_>], peaks: &Peaks) -> Table {
    let mut table = Table::new("top_ops", "Ops that take most time", TOP);
    let all: i64 = ops.iter().map(|op| op.self_ps).sum();
    for op in ops.iter().take(TOP_OPS) {
        let limits = op.work(op.total_ps).against(peaks);
        table.push(vec![
            op.meta.name.as_ref().into(),
            if op.meta.category.is_empty() { Cell::Unknown } else { op.meta.category.as_ref().into() },
            if op.module.is_empty() { Cell::Unknown } else { op.module.as_ref().into() },
            op.self_ps.into(),
            (all > 0).then(|| op.self_ps as f64 / all as f64).into(),
            op.occurrences.into(),
            limits.bound.map(|b| b.word()).into(),
            limits.efficiency.into(),
        ]);
    }
    table
}

fn device_table(profile: &Profile, usage: &Usage) -> Table {
    let mut table = Table::new("devices", "Devices", DEVICES);
    for device in &usage.devices {
        let about = profile.device(device.id);
        table.push(vec![
            about.name.as_str().into(),
            device.busy_ps.into(),
            device.idle_share_of_active().into(),
            device.idle_share_of_capture().into(),
            device.duty.map(|d| d.busy_ps as f64 / d.span_ps as f64).into(),
            device.active_ps.into(),
            device.capture_ps.into(),
            profile.host(about.host).name.as_str().into(),
        ]);
    }
    table
}

fn host_table(profile: &Profile, scope: &Scope, usage: &Usage) -> Result<Table, Error> {
    let mut table = Table::new("hosts", "Hosts", HOSTS);
    for host in &profile.hosts {
        let own: Vec<_> = usage
            .devices
            .iter()
            .filter(|d| profile.host(profile.device(d.id).host).name == host.name)
            .collect();
        if own.is_empty() {
            continue;
        }
        let scope = Scope { hosts: vec![host.name.clone()], ..scope.clone() };
        let sums = Sums::of(&ops::collect(profile, &Selection::resolve(profile, &scope)?));
        let n = own.len() as f64;
        let (busy, active): (i64, i64) =
            own.iter().fold((0, 0), |(b, a), d| (b + d.busy_ps, a + d.active_ps));
        table.push(vec![
            host.name.as_str().into(),
            own.len().into(),
            (busy as f64 / n).into(),
            (active > 0).then(|| 1.0 - busy as f64 / active as f64).into(),
            sums.flops.into(),
            sums.hbm_bytes.into(),
        ]);
    }
    Ok(table)
}

fn precision_table(ops: &[Op<'_>]) -> Table {
    let mut table = Table::new("precision", "Element types of ops that compute", PRECISION);
    let shares = precision::by_result_type(ops);
    let all: i64 = shares.iter().map(|(_, ps)| ps).sum();
    for (kind, self_ps) in shares {
        table.push(vec![kind.into(), self_ps.into(), (all > 0).then(|| self_ps as f64 / all as f64).into()]);
    }
    table
}

fn environment_table(profile: &Profile, selection: &Selection<'_>) -> Table {
    let mut table = Table::new("environment", "Run environment", ENVIRONMENT);
    let mut fact = |name: &str, value: String| table.push(vec![name.into(), value.into()]);
    fact("hosts", selection.hosts(profile).join(", "));
    fact("devices", format!("{} x {}", selection.devices.len(), selection.device_type()));
    let mut names: Vec<&str> =
        profile.hosts.iter().flat_map(|h| h.environment.iter().map(|(n, _)| n.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let values = profile.hosts.iter().flat_map(|h| &h.environment).filter(|(n, _)| n == name);
        let mut values: Vec<_> = values.map(|(_, v)| v.lines().collect::<Vec<_>>().join(" ")).collect();
        values.dedup();
        fact(name, values.join("; "));
    }
    let mut programs: Vec<_> = profile.modules.iter().map(|m| m.label()).collect();
    programs.sort_unstable();
    programs.dedup();
    fact("HLO modules in the profile", programs.len().to_string());
    table
}

impl Classes {
    /// Share of the active window that a class takes.
    fn share(&self, class: TimeClass) -> f64 {
        let all: f64 = self.rows.iter().map(|(_, ps)| ps).sum();
        let own = self.rows.iter().find(|(c, _)| *c == class).map_or(0.0, |(_, ps)| *ps);
        if all > 0.0 { own / all } else { 0.0 }
    }
}
