//! The overview's tables.

use super::{Rates, Sums};
use crate::account::{Spent, limit_of};
use crate::ops::{self, Op};
use crate::precision::by_result_type;
use crate::roofline::Limits;
use crate::select::Selection;
use crate::usage::Usage;
use haloscope_profile::{HostId, Peaks, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Cell, Table, Unit, row};

/// How many ops the overview lists.
const TOP_OPS: usize = 10;
pub(super) fn rates(rates: &Rates) -> Table {
    let over = [
        ("active window (first op to last)", Some(rates.active_ps), &rates.active),
        ("whole capture", rates.capture_ps, &rates.capture),
    ];
    let row = |(over, time, limits): (&str, Option<f64>, &Limits)| {
        row![
            text("over", "Over", "The time that the rate is taken over.", over),
            duration("time_ps", "Time", "Mean over devices.", time),
            rate("flop_rate", "FLOP rate", Unit::FlopRate, "Of one device.", limits.flop_rate),
            share("flop_share_of_peak", "FLOP/s of peak", "Of the device's peak.", limits.flop_share),
            rate("hbm_rate", "HBM rate", Unit::ByteRate, "Of one device.", limits.hbm_rate),
            share("hbm_share_of_peak", "HBM of peak", "Of the device's peak.", limits.hbm_share),
        ]
    };
    Table::of("rates", "Rates: the whole capture beside the active window", over.map(row))
}

pub(super) fn time(spent: &Spent) -> Table {
    let rows = spent.rows.iter().map(|(of, time_ps)| {
        row![
            text(
                "class",
                "What the time goes to",
                "Each instant of the active window counts once, as in `idle`, for the innermost op that runs; if several run at once, compute comes before copies, and copies before communication. Compute is split by the nearer limit of the roofline.",
                of.phrase()
            ),
            duration("time_ps", "Time", "Mean over devices.", *time_ps),
            share("share", "Of active window", "Of the time between first and last op.", spent.share(*of)),
            text("bound_by", "Kind", "The value of `bound_by` that it counts for.", of.word()),
        ]
    });
    Table::of("time", "Where the active window goes", rows)
}

pub(super) fn idle(usage: &Usage) -> Table {
    let mut rows = Vec::new();
    let capture = usage.capture_ps();
    for (place, time_ps, in_active) in usage.idle_places() {
        let row = row![
            text(
                "where",
                "Where the device idles",
                "Outside the active window, between steps (or programs), or inside one.",
                place
            ),
            duration("time_ps", "Time", "Mean over devices.", time_ps),
            share(
                "share_of_capture",
                "Of capture",
                "Of the whole capture.",
                capture.filter(|c| *c > 0.0).map(|c| time_ps / c)
            ),
            share(
                "share_of_active_window",
                "Of active window",
                "Of the time between first and last op; unknown for time outside it.",
                in_active.then(|| time_ps / usage.active_ps().max(1.0))
            ),
        ];
        rows.push(row);
    }
    Table::of("idle", "Where devices idle", rows)
}

pub(super) fn top_ops(ops: &[Op<'_>], peaks: &Peaks) -> Table {
    let mut rows = Vec::new();
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    for op in ops.iter().take(TOP_OPS) {
        let limits = op.work(op.total_ps).against(peaks);
        let row = row![
            text("name", "Op", "The op.", op.meta.name.as_ref()),
            text("category", "Category", "HLO category.", Cell::words(&op.meta.category)),
            text("module", "Module", "The HLO module.", Cell::words(&op.module)),
            duration("self_ps", "Self time", "Summed over executions and devices.", op.self_ps),
            share(
                "self_share",
                "Share",
                "Of the self time of all ops.",
                (all > 0).then(|| op.self_ps as f64 / all as f64)
            ),
            count("occurrences", "Count", "Executions.", op.occurrences),
            text(
                "bound_by",
                "Bound by",
                "The nearer limit of the roofline; communication or transfer for ops that wait for another device or the host.",
                limit_of(op, peaks)
            ),
            share("efficiency", "Efficiency", "The larger share of a peak.", limits.efficiency),
        ];
        rows.push(row);
    }
    Table::of("top_ops", "Ops that take the most time", rows)
}

pub(super) fn devices(profile: &Profile, usage: &Usage) -> Table {
    let mut rows = Vec::new();
    for device in &usage.devices {
        let about = profile.device(device.id);
        let row = row![
            text("device", "Device", "Device.", about.name.as_str()),
            duration("busy_ps", "Busy", "Time in which at least one op ran.", device.busy_ps),
            share(
                "idle_share_of_active_window",
                "Idle, active",
                "Idle share between the device's first and last op.",
                device.idle_share_of_active()
            ),
            share(
                "idle_share_of_capture",
                "Idle, capture",
                "Idle share of the whole capture.",
                device.idle_share_of_capture()
            ),
            share(
                "duty_cycle",
                "Duty cycle",
                "As XProf counts it (TPU only): ops that wait for the host or for asynchronous ops do not count as busy.",
                device.duty.map(|d| d.busy_ps as f64 / d.span_ps as f64)
            ),
            duration(
                "active_window_ps",
                "Active window",
                "From the device's first op to its last.",
                device.active_ps
            ),
            duration("capture_span_ps", "Capture", "The capture's length on this host.", device.capture_ps),
            text("host", "Host", "Host.", profile.host(about.host).name.as_str()),
        ];
        rows.push(row);
    }
    Table::of("devices", "Devices", rows)
}

pub(super) fn hosts(
    profile: &Profile,
    scope: &Scope,
    usage: &Usage,
    sums: &[(HostId, Sums)],
) -> Result<Table, Error> {
    let mut rows = Vec::new();
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
        let row = row![
            text("host", "Host", "Host.", host.name.as_str()),
            count("devices", "Devices", "Devices with events.", own.len()),
            duration("busy_ps", "Busy", "Mean over its devices.", busy as f64 / n),
            share(
                "idle_share_of_active_window",
                "Idle, active",
                "Mean over its devices.",
                (active > 0).then(|| 1.0 - busy as f64 / active as f64)
            ),
            float("flops", "FLOPs", Unit::Flop, "Sum over its devices.", sums.flops),
            bytes("hbm_bytes", "HBM bytes", "Sum over its devices.", sums.hbm_bytes),
        ];
        rows.push(row);
    }
    Ok(Table::of("hosts", "Hosts", rows))
}

pub(super) fn precision(ops: &[Op<'_>]) -> Table {
    let mut rows = Vec::new();
    let shares = by_result_type(ops);
    let all: i64 = units::sum(shares.iter().map(|(_, ps)| *ps));
    for (kind, self_ps) in shares {
        let row = row![
            text("type", "Type", "Element type of the op's result.", kind),
            duration("self_ps", "Self time", "Of ops that compute FLOPs.", self_ps),
            share(
                "share",
                "Share",
                "Of the time of ops that compute FLOPs.",
                (all > 0).then(|| self_ps as f64 / all as f64)
            ),
        ];
        rows.push(row);
    }
    Table::of("precision", "Element types of ops that compute", rows)
}

pub(super) fn environment(profile: &Profile, selection: &Selection<'_>) -> Table {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
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
    let row = |(name, value): (String, String)| {
        row![
            text("fact", "Fact", "What the profiler recorded.", name),
            text("value", "Value", "As recorded; several if hosts differ.", value),
        ]
    };
    Table::of("environment", "Run environment", facts.into_iter().map(row))
}
