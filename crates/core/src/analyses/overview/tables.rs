//! The overview's tables.

use super::{Rates, Sums};
use crate::Error;
use crate::derive::account::{Spent, limit_of};
use crate::derive::limits::Limits;
use crate::derive::ops::{self, Op};
use crate::derive::precision::by_result_type;
use crate::derive::select::Selection;
use crate::derive::usage::Usage;
use crate::profile::{HostId, Peaks, Profile};
use crate::report::{Cell, Column, Table, Unit};
use crate::scope::Scope;
use crate::units;

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
        "Each instant of the active window counts once, as in `idle`: under the innermost op that runs; of several at once, one that computes before a copy, and a copy before communication. Compute is split by the nearer limit of the roofline.",
    ),
    Column::duration("time_ps", "Time", "Mean over devices."),
    Column::share("share", "Of active window", "Of the time between first and last op."),
    Column::text("bound_by", "Kind", "The word of `bound_by` that it counts for."),
];

const TOP: &[Column] = &[
    Column::text("name", "Op", "The op."),
    Column::text("category", "Category", "HLO category."),
    Column::text("module", "Module", "The HLO module."),
    Column::duration("self_ps", "Self time", "Summed over executions and devices."),
    Column::share("self_share", "Share", "Of the self time of all ops."),
    Column::count("occurrences", "Count", "Executions."),
    Column::text(
        "bound_by",
        "Bound by",
        "The nearer limit of the roofline; communication or transfer for ops that wait for another device or the host.",
    ),
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
pub(super) fn rates(rates: &Rates) -> Table {
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
    row("active window (first op to last)", Some(rates.active_ps), &rates.active);
    row("whole capture", rates.capture_ps, &rates.capture);
    table
}

pub(super) fn time(spent: &Spent) -> Table {
    let mut table = Table::new("time", "Where the active window goes", TIME);
    for (of, time_ps) in &spent.rows {
        table.push(vec![of.phrase().into(), (*time_ps).into(), spent.share(*of).into(), of.word().into()]);
    }
    table
}

pub(super) fn idle(usage: &Usage) -> Table {
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

pub(super) fn top_ops(ops: &[Op<'_>], peaks: &Peaks) -> Table {
    let mut table = Table::new("top_ops", "Ops that take most time", TOP);
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    for op in ops.iter().take(TOP_OPS) {
        let limits = op.work(op.total_ps).against(peaks);
        table.push(vec![
            op.meta.name.as_ref().into(),
            if op.meta.category.is_empty() { Cell::Unknown } else { op.meta.category.as_ref().into() },
            if op.module.is_empty() { Cell::Unknown } else { op.module.as_ref().into() },
            op.self_ps.into(),
            (all > 0).then(|| op.self_ps as f64 / all as f64).into(),
            op.occurrences.into(),
            limit_of(op, peaks).into(),
            limits.efficiency.into(),
        ]);
    }
    table
}

pub(super) fn devices(profile: &Profile, usage: &Usage) -> Table {
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

pub(super) fn hosts(
    profile: &Profile,
    scope: &Scope,
    usage: &Usage,
    sums: &[(HostId, Sums)],
) -> Result<Table, Error> {
    let mut table = Table::new("hosts", "Hosts", HOSTS);
    for (id, host) in (0_u32..).map(HostId).zip(&profile.hosts) {
        let own: Vec<_> = usage.devices.iter().filter(|d| profile.device(d.id).host == id).collect();
        if own.is_empty() {
            continue;
        }
        let own_sums;
        let sums = match sums.iter().find(|(of, _)| *of == id) {
            // Which steps count may depend on which devices are asked about.
            Some((_, sums)) if scope.steps.is_none() && !scope.steady => sums,
            _ => {
                let scope = Scope { hosts: vec![host.name.clone()], ..scope.clone() };
                own_sums = Sums::of(&ops::collect(profile, &Selection::resolve(profile, &scope)?));
                &own_sums
            }
        };
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

pub(super) fn precision(ops: &[Op<'_>]) -> Table {
    let mut table = Table::new("precision", "Element types of ops that compute", PRECISION);
    let shares = by_result_type(ops);
    let all: i64 = units::sum(shares.iter().map(|(_, ps)| *ps));
    for (kind, self_ps) in shares {
        table.push(vec![kind.into(), self_ps.into(), (all > 0).then(|| self_ps as f64 / all as f64).into()]);
    }
    table
}

pub(super) fn environment(profile: &Profile, selection: &Selection<'_>) -> Table {
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
