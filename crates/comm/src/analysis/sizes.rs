//! How large messages are, and how fast each size moves.

use std::collections::BTreeMap;

use super::Measured;
use super::axes::moved;
use super::groups::Talk;
use crate::Execution;
use crate::links::rate;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status, Table, Unit, row};
use haloscope_time::ceiling;

/// What messages of one size do together.
#[derive(Default)]
struct Bin<'a> {
    count: usize,
    bytes: f64,
    time_ps: i64,
    exposed_ps: i64,
    moved: (f64, f64),
    kinds: Vec<&'a str>,
}

/// Messages by the power of two below their size; `None` for those whose size is not known.
fn bins<'a>(measured: &'a Measured<'_>, talk: &Talk) -> BTreeMap<Option<u32>, Bin<'a>> {
    let mut bins: BTreeMap<Option<u32>, Bin<'a>> = BTreeMap::new();
    for (at, one) in measured.comm.collectives.iter().enumerate() {
        let power = one.bytes.filter(|b| *b >= 1.0).map(|bytes| (bytes as u64).ilog2());
        let bin = bins.entry(power).or_default();
        let count = one.executions.len();
        bin.count += count;
        bin.bytes += one.bytes.unwrap_or(0.0) * count as f64;
        bin.time_ps = bin.time_ps.saturating_add(one.sum(Execution::flight));
        bin.exposed_ps = bin.exposed_ps.saturating_add(one.sum(|e| e.exposed_ps));
        if let Some(moved) = moved(one, talk.members(at)) {
            let time = talk.skew.transfer_ps[at].map(|fastest| fastest * count as f64);
            bin.moved.0 += moved * count as f64;
            bin.moved.1 += time.unwrap_or(one.sum(Execution::flight) as f64);
        }
        if !bin.kinds.contains(&&*one.kind) {
            bin.kinds.push(&one.kind);
        }
    }
    bins
}

/// The histogram, smallest messages first, those of unknown size last.
pub(super) fn table(measured: &Measured<'_>, talk: &Talk) -> Table {
    let mut rows = Vec::new();
    let bins = bins(measured, talk);
    let known = bins.iter().filter(|(power, _)| power.is_some());
    for (power, bin) in known.chain(bins.iter().filter(|(power, _)| power.is_none())) {
        let from = power.map(|power| 2.0_f64.powi(power as i32));
        let words = from.map(|from| format!("{} to {}", units::bytes(from), units::bytes(2.0 * from)));
        let mut kinds = bin.kinds.clone();
        kinds.sort_unstable();
        let row = row![
            text(
                "size",
                "Message",
                "Size of one device's message, from this power of two up to the next.",
                words
            ),
            count("count", "Count", "Executions in the counted steps, on all devices.", bin.count),
            bytes(
                "bytes",
                "Bytes",
                "Messages in a step, mean over devices.",
                from.map(|_| bin.bytes / measured.count.max(1) as f64)
            ),
            duration(
                "time_ps",
                "Time",
                "Their time in a step, each from its start to the end of its transfer, mean over devices.",
                measured.per_step(bin.time_ps)
            ),
            duration(
                "exposed_ps",
                "Exposed",
                "The part in which the core waits in them and nothing computes or copies.",
                measured.per_step(bin.exposed_ps)
            ),
            rate(
                "bus_rate",
                "Bus",
                Unit::ByteRate,
                "Bus bandwidth, as in table `axes`; by the fastest member if several were captured.",
                rate(bin.moved.0, bin.moved.1)
            ),
            text("kinds", "Kinds", "What the collectives do.", kinds.join(", ")),
            bytes("from_bytes", "From", "The lower end of the sizes.", from),
        ];
        rows.push(row);
    }
    Table::of("sizes", "Sizes of messages", rows)
}

/// Below this a message takes about as long as its way: 256 KiB are 2.6 us at 100 GB/s.
const SMALL: u32 = 18;
/// Small messages dominate from this share of exposed communication on ...
const DOMINATE: f64 = 0.5;
/// ... where it is this share of a step.
const OF_STEP: f64 = 0.01;

/// From this share of a step on it is worth a warning.
const WARNING: f64 = 0.05;

/// Exposed communication that is mostly small messages.
pub(super) fn finding(measured: &Measured<'_>, talk: &Talk) -> Option<Finding> {
    let bins = bins(measured, talk);
    let is_small = |power: &Option<u32>| power.is_some_and(|power| power < SMALL);
    // What a late member makes of them is not their size's fault.
    let waited = |at: usize| units::sum(talk.skew.waits[at].iter().flatten().copied());
    let all = &measured.comm.collectives;
    let own = |at: usize| all[at].sum(|e| e.exposed_ps).saturating_sub(waited(at));
    let small_ps = units::sum(
        (0..all.len()).filter(|at| all[*at].bytes.is_some_and(|b| b < f64::from(1 << SMALL))).map(own),
    );
    let all_ps = measured.sum(|d| d.exposed_ps);
    let share = measured.share(small_ps).filter(|share| *share >= OF_STEP)?;
    if (small_ps as f64) < DOMINATE * all_ps as f64 {
        return None;
    }
    let small = bins.iter().filter(|(power, _)| is_small(power)).map(|(_, bin)| bin);
    let (count, bytes) = small.fold((0, 0.0), |(count, bytes), bin| (count + bin.count, bytes + bin.bytes));
    let per_step = |n: f64| n / measured.count.max(1) as f64;
    let speedup = ceiling::speedup(share);
    Some(Finding {
        id: "small_messages",
        severity: if share >= WARNING { Severity::Warning } else { Severity::Info },
        claim: format!(
            "Messages under 256 KiB make up {} of the exposed communication: latency costs the time, not bytes",
            units::share(small_ps as f64 / all_ps.max(1) as f64)
        ),
        evidence: format!(
            "{} of them per step and device, {} together, exposed for {}",
            units::number(per_step(count as f64)),
            units::bytes(per_step(bytes)),
            units::duration_ps(measured.per_step(small_ps)),
        ),
        ceiling: format!("{speedup:.2}x, if all of them were sent with larger ones"),
        speedup: Some(speedup),
        recommendation: "let the compiler combine them (the combiner thresholds of all-reduce, all-gather and reduce-scatter), or send small values in one message: gradients of small parameters, statistics, flags".into(),
        falsifier: "one message with the same bytes takes as long as all of these together".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("sizes")],
        ..Finding::default()
    })
}
