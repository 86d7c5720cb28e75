//! How fast messages move along each axis, and how much of what the links can carry that is.

use std::collections::BTreeMap;

use super::Measured;
use super::groups::Talk;
use crate::links::{factor, rate};
use crate::{Collective, Execution};
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status, Table, Unit, row};
use haloscope_time::fix::Fix;

/// Sums over collectives that go along the same axes.
#[derive(Default)]
struct Sums {
    at: usize,
    count: usize,
    bytes: Option<f64>,
    time_ps: i64,
    /// Bytes times factor, and time; both of what has both.
    bus: (f64, f64),
    transfer: (f64, f64),
}

/// The table by axes and kind, most time first.
pub(super) fn table(measured: &Measured<'_>, talk: &Talk) -> Table {
    let mut table = Vec::new();
    let mut rows: BTreeMap<(&str, &str, Option<u64>), Sums> = BTreeMap::new();
    for (at, one) in measured.comm.collectives.iter().enumerate() {
        let sums = rows.entry((&talk.axes[at], &one.kind, talk.members(at))).or_insert_with(|| Sums {
            at,
            bytes: Some(0.0),
            ..Sums::default()
        });
        let count = one.executions.len();
        sums.count += count;
        sums.time_ps = sums.time_ps.saturating_add(one.sum(Execution::flight));
        sums.bytes = sums.bytes.zip(one.bytes).map(|(all, own)| all + own * count as f64);
        if let Some(moved) = moved(one, talk.members(at)) {
            sums.bus.0 += moved * count as f64;
            sums.bus.1 += one.sum(Execution::flight) as f64;
            if let Some(fastest) = talk.skew.transfer_ps[at] {
                sums.transfer.0 += moved * count as f64;
                sums.transfer.1 += fastest * count as f64;
            }
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.time_ps));
    for ((axes, kind, size), sums) in rows {
        let (peak, of) = talk.peak(sums.at);
        let (bus, transfer) = (rate(sums.bus.0, sums.bus.1), rate(sums.transfer.0, sums.transfer.1));
        let steps = measured.count.max(1) as f64;
        let row = row![
            text("axes", "Along", "The axes of the groups, as in table `groups`.", axes),
            text("kind", "Kind", "What the collective does.", kind),
            count("size", "Members", "Devices in a group.", size),
            duration(
                "time_ps",
                "Time",
                "Their time in a step, each from its start to the end of its transfer, mean over devices.",
                measured.per_step(sums.time_ps)
            ),
            rate(
                "bus_rate",
                "Bus",
                Unit::ByteRate,
                "Algorithm bandwidth times how often a byte crosses a device's links: 2(n-1)/n for an all-reduce, (n-1)/n for an all-gather, reduce-scatter and all-to-all, 1 for a permute.",
                bus
            ),
            rate(
                "transfer_rate",
                "Transfer only",
                Unit::ByteRate,
                "Bus bandwidth by the time of each execution's fastest member, without waits for late ones. Unknown if only one member of a group was captured.",
                transfer
            ),
            share(
                "utilization",
                "Of peak",
                "Transfer-only bandwidth divided by the peak; if it is unknown, bus bandwidth divided by it.",
                transfer.or(bus).zip(peak).map(|(own, peak)| own / peak)
            ),
            rate(
                "peak_rate",
                "Peak",
                Unit::ByteRate,
                "What the links can carry in one direction; unknown if no source states it.",
                peak
            ),
            bytes(
                "bytes",
                "Bytes",
                "Messages in a step, mean over devices. A message is the whole buffer of one device, the larger of inputs and outputs, as NCCL's tests count.",
                sums.bytes.map(|b| b / steps)
            ),
            rate(
                "algorithm_rate",
                "Algorithm",
                Unit::ByteRate,
                "Bytes divided by time.",
                sums.bytes.and_then(|b| rate(b, sums.time_ps as f64))
            ),
            count("count", "Count", "Executions in the counted steps, on all devices.", sums.count),
            text("peak_of", "Peak of", "Which links the peak counts, and where their rate comes from.", of),
        ];
        table.push(row);
    }
    Table::of("axes", "Bandwidth along each axis", table)
}

/// Bytes that cross a device's links in one execution; `None` where that is not known.
pub(super) fn moved(one: &Collective<'_>, members: Option<u64>) -> Option<f64> {
    let factor = factor(&one.kind, members.unwrap_or(0))?;
    Some(one.bytes? * factor).filter(|moved| *moved > 0.0)
}

/// Messages below this take as long as their way, whatever the links can carry: at 100 GB/s this much takes 10 us.
const LARGE: f64 = (1 << 20) as f64;
/// Less than this share of the links' peak is far below it.
const FAR_BELOW: f64 = 0.5;
/// What moving it at the peak would save, a share of a step, that is worth naming.
const WORTH: f64 = 0.01;

static LINKS: Fix = Fix::jax_or(
    "order the devices of the mesh so that this axis follows one axis of the slice (`jax.make_mesh` does this), or use an axis that wraps around; check for other traffic on the same links at the same time",
    "order the devices of the mesh so that this axis follows one axis of the slice, or use an axis that wraps around; check for other traffic on the same links at the same time",
);

/// Synchronous collectives with large messages that move far slower than the links along one axis could, waiting left out.
pub(super) fn findings(profile: &Profile, measured: &Measured<'_>, talk: &Talk) -> Vec<Finding> {
    let slow = measured
        .comm
        .collectives
        .iter()
        .enumerate()
        .filter_map(|(at, one)| slow(profile, measured, talk, at, one));
    let mut slow: Vec<Finding> = slow.collect();
    slow.sort_by(|a, b| b.speedup.unwrap_or(1.0).total_cmp(&a.speedup.unwrap_or(1.0)));
    slow.truncate(3);
    slow
}

fn slow(
    profile: &Profile,
    measured: &Measured<'_>,
    talk: &Talk,
    at: usize,
    one: &Collective<'_>,
) -> Option<Finding> {
    let (moved, fastest) = (moved(one, talk.members(at))?, talk.skew.transfer_ps[at]?);
    if one.is_asynchronous() || one.bytes? < LARGE {
        return None;
    }
    let links = talk.links?;
    let axes = talk.physical[at].as_ref().map_or(1, Vec::len);
    let peak = links.along(axes).unwrap_or(links.all());
    let own = rate(moved, fastest)?;
    let share = own / peak;
    let executions = one.executions.len() as f64 / measured.count.max(1) as f64;
    let saved = fastest * executions * (1.0 - share);
    let step = measured.per_step(measured.sum(|d| d.step_ps));
    if share >= FAR_BELOW || saved < WORTH * step {
        return None;
    }
    let speedup = step / (step - saved).max(step * 0.01);
    let name = &one.meta.name;
    let along = if axes == 1 { "one axis".to_owned() } else { format!("{axes} axes") };
    Some(Finding {
        id: "slow_links",
        severity: Severity::Warning,
        claim: format!(
            "{name} moves its message at {} of what the links along {along} can carry",
            units::share(share)
        ),
        evidence: format!(
            "{} over {}, groups of {}: bus bandwidth {} by its fastest member, against {} of {} links ({})",
            units::bytes(one.bytes?),
            talk.axes[at],
            talk.members(at)?,
            units::byte_rate(own),
            units::byte_rate(peak),
            axes * 2,
            links.source.word(),
        ),
        ceiling: format!("{speedup:.2}x: {} a step, at that rate", units::duration_ps(saved)),
        speedup: Some(speedup),
        recommendation: LINKS.for_run(profile).into(),
        falsifier: "the same collective, alone in a program, is just as slow on these devices: then the links are slow, not the way they are used".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").row("ops", name.to_string()), Link::to("comm").row("axes", talk.axes[at].clone())],
        ..Finding::default()
    })
}
