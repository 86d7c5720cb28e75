//! The allocators' accounts over time.

use crate::allocator::AllocatorEvent;
use crate::memory::extrema::thin;
use haloscope_report::{Notes, Series, Severity, Unit};

use super::Seen;

/// Points of one curve, and of all together.
const POINTS: usize = 1000;
const ALL_POINTS: usize = 100_000;
/// However many curves there are, each has this many.
const FEWEST: usize = 50;

type Read = fn(&AllocatorEvent<'_>) -> Option<f64>;

const CURVES: [(&str, &str, Unit, Read); 4] = [
    ("allocated", "Allocated", Unit::Bytes, |e| e.allocated_bytes.map(|v: i64| v as f64)),
    ("reserved", "Reserved", Unit::Bytes, |e| e.reserved_bytes.map(|v: i64| v as f64)),
    ("available", "Available", Unit::Bytes, |e| e.available_bytes.map(|v: i64| v as f64)),
    ("fragmentation", "Fragmentation", Unit::Share, |e| e.fragmentation),
];

pub(super) fn of(seen: &[Seen<'_, '_>], notes: &mut Notes) -> Vec<Series> {
    let most = (ALL_POINTS / (seen.len() * CURVES.len()).max(1)).clamp(FEWEST, POINTS);
    let mut series = Vec::with_capacity(seen.len() * CURVES.len());
    for one in seen {
        for (id, label, unit, read) in CURVES {
            let points = one.events.iter().filter_map(|e| Some([e.start_ps as f64, read(e)?])).collect();
            series.push(Series {
                id: format!("{id}:{}/{}", one.host_name, one.allocator.name),
                title: format!("{label}, {}/{}", one.host_name, one.allocator.name),
                x: ("Time", Unit::Ps),
                y: (label, unit),
                points: thin(points, most),
            });
        }
    }
    let longest = seen.iter().map(|one| one.events.len()).max().unwrap_or(0);
    if longest > most {
        notes.add(
            "thinned",
            Severity::Info,
            format!("the curves over time show the highest and lowest of each run of up to {longest} events"),
            "this affects only the drawing: values and tables count everything",
            "",
        );
    }
    series
}
