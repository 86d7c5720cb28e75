//! Thread pools: what runs between `StartRegion` and `StopRegion` becomes an event that encloses it.
//!
//! XProf means the region to consume the context that its start consumes, and loses it on the way: regions belong to no
//! group, and neither does what they enclose. So it is here.

use super::facts::Keys;
use super::lane::{Columns, MADE};
use haloscope_profile::{Events, Plane, Source};

/// Name of the event that is put in.
pub const REGION: &str = "ThreadpoolListener::Region";

/// Metadata rows of the two markers.
pub(super) fn markers(plane: &Plane, source: &Source) -> Option<(u32, u32)> {
    let find =
        |name: &[u8]| plane.metas.iter().position(|m| source.slice(m.name) == name).map(|row| row as u32);
    Some((find(b"ThreadpoolListener::StartRegion")?, find(b"ThreadpoolListener::StopRegion")?))
}

/// The line's columns with a region from every start that consumes a context to every stop that follows it. `None` where
/// there is no region.
pub(super) fn insert(
    events: &Events,
    source: &Source,
    keys: &Keys,
    (start_meta, stop_meta): (u32, u32),
) -> Option<Columns> {
    let mut open: Option<i64> = None;
    let mut regions: Vec<(i64, i64)> = Vec::new();
    for (row, meta) in events.metas().iter().enumerate() {
        if *meta == start_meta {
            if keys.read(events, source, row).consumer_id.is_some() {
                open = Some(events.starts_ps()[row]);
            }
        } else if *meta == stop_meta
            && let Some(start) = open
        {
            regions.push((start, events.starts_ps()[row] - start));
        }
    }
    if regions.is_empty() {
        return None;
    }
    regions.sort_by_key(|(start, duration)| (*start, -duration));
    let mut out = Columns::default();
    let push = |columns: &mut Columns, (start, duration): (i64, i64)| {
        columns.start_ps.push(start);
        columns.duration_ps.push(duration);
        columns.meta.push(0);
        columns.row.push(MADE);
    };
    let mut next = regions.into_iter().peekable();
    for (row, meta) in events.metas().iter().enumerate() {
        let (start, duration) = (events.starts_ps()[row], events.durations_ps().at(row));
        while let Some(region) = next.next_if(|(s, d)| (*s, -d) <= (start, -duration)) {
            push(&mut out, region);
        }
        out.start_ps.push(start);
        out.duration_ps.push(duration);
        out.meta.push(*meta);
        out.row.push(row as u32);
    }
    next.for_each(|region| push(&mut out, region));
    Some(out)
}
