//! The starts and dones of asynchronous ops.

use super::{Arrow, FlowKind};
use haloscope_profile::{LineKind, Plane, Profile};
use haloscope_time::async_parts::Parts;

/// Arrows from each start to its done on a plane's op lines: to the next done that names it as an operand, or else has its
/// name (`copy-start.3`, `copy-done.3`). Updates stand in between.
pub(super) fn of_plane(profile: &Profile, plane: &Plane) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    let mut parts: Option<Parts> = None;
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaOps && l.event_count > 0) {
        let Parts { of_meta, places } = parts.get_or_insert_with(|| Parts::of(profile, plane));
        let mut open: Vec<Option<u32>> = vec![None; *places];
        for event in profile.events(line).iter() {
            let part = of_meta[event.meta as usize];
            let row = event.index as u32;
            if let Some(start) = part.closes.and_then(|place| open[place].take()) {
                arrows.push(Arrow::new(profile, (line.id, start), (line.id, row), FlowKind::Async, ""));
            }
            if let Some(place) = part.opens {
                open[place] = Some(row);
            }
        }
    }
    arrows
}
