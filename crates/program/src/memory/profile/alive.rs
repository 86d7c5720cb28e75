//! What was alive at the peak of each allocator, equal allocations as one row.

use std::collections::BTreeMap;

use crate::allocator_peak::{Alive, replay};
use crate::data_type;
use haloscope_report::units;
use haloscope_report::{Cell, Columns, Notes, Row, Severity, Table, row};

use super::Seen;

/// Rows of one allocator; the rest is summed up in one.
const ROWS: usize = 1000;

/// Replays all that the capture saw until the peak, also what lies before the scope: what is alive does not depend on it.
fn at_peak(one: &Seen<'_, '_>) -> Alive {
    let peak = std::ptr::from_ref(one.peak);
    let by_time = one.allocator.by_time();
    let end = by_time.iter().position(|event| std::ptr::eq(*event, peak)).map_or(0, |at| at + 1);
    replay(by_time[..end].iter().enumerate().map(|(at, event)| (at, (*event).into())))
}

/// Bytes that are allocated at the peak without an event of the capture that says so.
pub(super) fn unseen_bytes(one: &Seen<'_, '_>) -> i64 {
    let by_time = one.allocator.by_time();
    let events = at_peak(one).by_address.into_values().filter_map(|at| by_time.get(at));
    let seen_bytes = units::sum(events.filter_map(|event| event.allocation_bytes));
    one.peak.allocated_bytes.unwrap_or(0).saturating_sub(seen_bytes).max(0)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'r> {
    op: &'r str,
    shape: &'r str,
    data_type: Option<i64>,
    region: &'r str,
    allocation_bytes: Option<i64>,
    requested_bytes: Option<i64>,
}

struct Sum {
    bytes: Option<i64>,
    requested_bytes: Option<i64>,
    count: Option<i64>,
}

/// The sum of what is known.
fn added(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

pub(super) fn table(seen: &[Seen<'_, '_>], notes: &mut Notes) -> Table {
    let mut rows_of_all = Vec::new();
    for one in seen {
        let alive = at_peak(one);
        let by_time = one.allocator.by_time();
        let mut sums: BTreeMap<Kind<'_>, i64> = BTreeMap::new();
        for at in alive.by_address.values() {
            let Some(event) = by_time.get(*at) else { continue };
            let kind = Kind {
                op: &event.op,
                shape: &event.shape,
                data_type: event.data_type,
                region: &event.region,
                allocation_bytes: event.allocation_bytes,
                requested_bytes: event.requested_bytes,
            };
            *sums.entry(kind).or_default() += 1;
        }
        let mut rows: Vec<(Option<Kind<'_>>, Sum)> = sums
            .into_iter()
            .map(|(kind, count)| {
                let times = |bytes: Option<i64>| bytes.map(|bytes| bytes.saturating_mul(count));
                let (bytes, requested_bytes) = (times(kind.allocation_bytes), times(kind.requested_bytes));
                (Some(kind), Sum { bytes, requested_bytes, count: Some(count) })
            })
            .collect();
        rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.bytes));
        let all = rows.len();
        if all > ROWS {
            let mut rest = Sum { bytes: None, requested_bytes: None, count: None };
            for (_, sum) in rows.drain(ROWS..) {
                rest.bytes = added(rest.bytes, sum.bytes);
                rest.requested_bytes = added(rest.requested_bytes, sum.requested_bytes);
                rest.count = added(rest.count, sum.count);
            }
            rows.push((None, rest));
            notes.add(
                "thinned",
                Severity::Info,
                format!(
                    "{all} kinds of allocation are alive at the peak of {}; the {ROWS} largest are listed",
                    one.allocator.name
                ),
                "the others are summed up in one row",
                "",
            );
        }
        rows_of_all.extend(rows.iter().map(|(kind, sum)| {
            let what = if kind.is_some() { "allocation" } else { "other allocations" };
            row(one, what, kind.as_ref(), sum)
        }));
        let reserved = one.peak.reserved_bytes.unwrap_or(0);
        for (what, bytes) in [("before the capture", unseen_bytes(one)), ("reserved", reserved)] {
            if bytes > 0 {
                let sum = Sum { bytes: Some(bytes), requested_bytes: None, count: None };
                rows_of_all.push(row(one, what, None, &sum));
            }
        }
    }
    Table::of("alive", "Alive at the peak", rows_of_all)
}

fn row(one: &Seen<'_, '_>, what: &str, kind: Option<&Kind<'_>>, sum: &Sum) -> Row<impl Columns + use<>> {
    let in_use = one.peak.in_use_bytes();
    let share = |bytes: i64| (in_use > 0).then(|| bytes as f64 / in_use as f64);
    let words = |text: Option<&str>| text.map_or(Cell::Unknown, Cell::words);
    row![
        text("host", "Host", "The host.", one.host_name),
        text("allocator", "Allocator", "The allocator.", one.allocator.name.as_str()),
        text(
            "what",
            "What",
            "allocation: seen in the capture; before the capture: in use at the peak, but no event says who allocated it; reserved: for the stack; other allocations: the small ones, summed up.",
            what
        ),
        bytes("bytes", "Bytes", "What the allocator returned for all of them.", sum.bytes),
        share("share", "Share", "Of what is in use at the peak.", sum.bytes.and_then(share)),
        bytes(
            "requested_bytes",
            "Requested",
            "What was asked for; the rest is rounding.",
            sum.requested_bytes
        ),
        count("count", "Count", "Equal allocations in this row.", sum.count),
        text("op", "Op", "The framework op that asked.", words(kind.map(|k| k.op))),
        text("shape", "Shape", "The tensor's shape.", words(kind.map(|k| k.shape))),
        text("data_type", "Type", "The element type.", kind.and_then(|k| k.data_type).map(data_type::name)),
        text(
            "region",
            "Region",
            "What it is for, by the framework's word: output, temp, persist/dynamic.",
            words(kind.map(|k| k.region))
        ),
    ]
}
