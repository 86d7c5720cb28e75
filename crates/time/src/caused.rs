//! When the work that a host's step markers launched ran on its GPUs.
//!
//! A host that launches asynchronously is done with its marker long before the GPU is with the work. What the marker launched
//! is known by correlation ids and contexts ([`Context`]): on a GPU a step begins with its marker, or where the step before
//! it ended if that is later (the first one with its work), and lasts until all of its work is done. So the steps of a GPU that is kept busy follow one
//! another without a gap, and those of a program that waits for its results are as long as their markers.

use rustc_hash::{FxHashMap, FxHashSet};

use super::op_readers::kernel_category;
use haloscope_event_groups::Context;
use haloscope_profile::{Device, HostId, LineId, LineKind, Profile};

/// A step marker on a thread.
#[derive(Debug)]
pub(super) struct Marker {
    /// Its thread.
    pub(super) line: LineId,
    /// Its place on the thread.
    pub(super) row: usize,
    /// The step's number.
    pub(super) number: i64,
    /// Its name, such as `train`.
    pub(super) name: String,
    /// Start on the run's clock, picoseconds.
    pub(super) start_ps: i64,
    /// End, picoseconds.
    pub(super) end_ps: i64,
}

/// From the first start to the last end, picoseconds.
pub(super) type Span = (i64, i64);

/// What says which marker an event of a GPU goes back to.
#[derive(Debug)]
pub(super) struct Causes {
    context: Context,
    /// Positions of markers by group.
    of_group: FxHashMap<u32, usize>,
    /// Positions of markers that are no root of a group, by the correlation ids of the launches inside of them.
    of_launch: FxHashMap<u64, usize>,
}

impl Causes {
    /// Finds out what a host's markers launched; `None` where no event of its GPUs says who launched it.
    pub(super) fn of(profile: &Profile, host: HostId, markers: &[Marker]) -> Option<Self> {
        let says = |name| {
            let mut gpus = profile.planes_of(host).filter(|p| p.kind == haloscope_profile::PlaneKind::Gpu);
            gpus.any(|plane| plane.stat_id(name).is_some())
        };
        if markers.is_empty() || !(says("correlation_id") || says("group_id")) {
            return None;
        }
        let context = Context::caused(profile, host);
        let (mut of_group, mut of_launch) = (FxHashMap::default(), FxHashMap::default());
        for (at, marker) in markers.iter().enumerate() {
            let group = context.lane(marker.line).and_then(|lane| {
                let len = lane.len(profile);
                let near = if lane.is_plain() { marker.row..marker.row + 1 } else { 0..len };
                near.into_iter().find(|i| lane.row(*i) == Some(marker.row)).and_then(|i| lane.group(i))
            });
            match group {
                Some(group) => {
                    of_group.entry(group).or_insert(at);
                }
                None => note_launches(profile, marker, at, &mut of_launch),
            }
        }
        Some(Self { context, of_group, of_launch })
    }

    /// When the work of each marker ran on a device, and when kernels ran that none of them launched, by start.
    fn work(&self, profile: &Profile, device: &Device, markers: usize) -> (Vec<Option<Span>>, Vec<Span>) {
        let (mut own, mut foreign) = (vec![None; markers], Vec::new());
        let plane = profile.plane(device.plane);
        let source = profile.source_of(plane);
        let correlation = plane.stat_id("correlation_id").filter(|_| !self.of_launch.is_empty());
        let label = |meta| plane.meta_label(source, meta);
        let is_kernel: Vec<bool> = (0..plane.metas.len() as u32)
            .map(|meta| !matches!(kernel_category(&label(meta)), "memcpy" | "memset"))
            .collect();
        for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Stream) {
            let Some(lane) = self.context.lane(line.id) else { continue };
            let events = profile.events(line);
            for at in 0..lane.len(profile) {
                let Some(row) = lane.row(at) else { continue };
                let event = events.get(row);
                let by_group = lane.group(at).and_then(|group| self.of_group.get(&group));
                let by_launch = || {
                    let id = events.stat(source, row, Some(correlation?))?.as_u64_bits()?;
                    self.of_launch.get(&id)
                };
                let Some(marker) = by_group.or_else(by_launch) else {
                    if is_kernel.get(event.meta as usize).copied().unwrap_or(true) {
                        foreign.push((event.start_ps, event.end_ps));
                    }
                    continue;
                };
                if let Some(slot) = own.get_mut(*marker) {
                    let span: &mut Span = slot.get_or_insert((event.start_ps, event.end_ps));
                    *span = (span.0.min(event.start_ps), span.1.max(event.end_ps));
                }
            }
        }
        foreign.sort_unstable();
        (own, foreign)
    }

    /// When the step of each marker was on each of some devices of the host; `None` of one that has no work there, or whose
    /// work the capture does not show. `None` for all where nobody knows what any marker launched.
    pub(super) fn spans(
        &self,
        profile: &Profile,
        devices: &[&Device],
        markers: &[Marker],
    ) -> Option<Vec<Vec<Option<Span>>>> {
        let work: Vec<_> = devices.iter().map(|d| self.work(profile, d, markers.len())).collect();
        let is_known = |(own, _): &(Vec<Option<Span>>, _)| own.iter().any(Option::is_some);
        if !work.iter().any(is_known) {
            return None;
        }
        let of_device = |(own, foreign): &(Vec<Option<Span>>, Vec<Span>)| spans(markers, own, foreign);
        Some(work.iter().map(of_device).collect())
    }
}

/// Notes the launches inside of a marker on its own thread.
fn note_launches(profile: &Profile, marker: &Marker, at: usize, of_launch: &mut FxHashMap<u64, usize>) {
    let line = profile.line(marker.line);
    let plane = profile.plane(line.plane);
    let Some(id) = plane.stat_id("correlation_id") else { return };
    let (events, source) = (profile.events(line), profile.source_of(plane));
    let starts = events.starts_ps();
    let first = starts.partition_point(|start| *start < marker.start_ps);
    let last = starts.partition_point(|start| *start < marker.end_ps);
    for row in first..last {
        if let Some(id) = events.stat(source, row, Some(id)).and_then(|v| v.as_u64_bits()) {
            of_launch.insert(id, at);
        }
    }
}

/// When the step of each marker was, by when its work ran and when foreign kernels did (by start).
pub(super) fn spans(markers: &[Marker], work: &[Option<Span>], foreign: &[Span]) -> Vec<Option<Span>> {
    if work.iter().all(Option::is_none) {
        return vec![None; markers.len()];
    }
    let key = |at: usize| (markers[at].number, markers[at].name.as_str());
    // A step may have a marker on each of several threads.
    let worked: FxHashSet<_> = (0..markers.len()).filter(|at| work[*at].is_some()).map(key).collect();
    let outlives = |at: usize| work[at].is_some_and(|w| w.1 > markers[at].end_ps);
    let is_async = (0..markers.len()).any(outlives);
    let last_begun = (0..markers.len()).filter(|at| work[*at].is_some()).map(|at| markers[at].start_ps).max();
    // The latest end of the foreign kernels up to each.
    let mut ends: Vec<i64> = foreign.iter().map(|f| f.1).collect();
    for at in 1..ends.len() {
        ends[at] = ends[at].max(ends[at - 1]);
    }
    let foreign_until = |time: i64| {
        let before = foreign.partition_point(|f| f.0 < time).checked_sub(1)?;
        Some(ends[before].min(time))
    };
    let (mut by_start, mut by_end): (Vec<usize>, Vec<usize>) =
        ((0..markers.len()).collect(), (0..markers.len()).collect());
    by_start.sort_by_key(|at| (markers[*at].start_ps, *at));
    by_end.sort_by_key(|at| (markers[*at].end_ps, *at));
    let mut found: Vec<Option<Span>> = vec![None; markers.len()];
    // When the steps ended whose markers ended before this one began.
    let (mut before, mut ended) = (i64::MIN, by_end.into_iter().peekable());
    for at in by_start {
        let marker = &markers[at];
        while let Some(done) = ended.next_if(|j| markers[*j].end_ps <= marker.start_ps && *j != at) {
            before = before.max(found[done].map_or(i64::MIN, |span| span.1));
        }
        let begin = marker.start_ps.max(before);
        found[at] = match work[at] {
            Some((first, last)) => {
                // What ran before an asynchronous step, and that no marker launched, is not the step's.
                // Nor is the time from the first marker to the first work, in which nobody saw the device do anything.
                let other = match outlives(at) {
                    true if before == i64::MIN => first,
                    true => foreign_until(first).unwrap_or(i64::MIN),
                    false => i64::MIN,
                };
                let begin = begin.max(other);
                Some((begin, marker.end_ps.max(last).max(begin)))
            }
            None if worked.contains(&key(at)) => None,
            None if is_async && last_begun.is_some_and(|last| marker.start_ps > last) => None,
            None => Some((begin, marker.end_ps)).filter(|(from, to)| from < to),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(start_ps: i64, end_ps: i64) -> Marker {
        Marker { line: LineId(0), row: 0, number: start_ps, name: String::new(), start_ps, end_ps }
    }

    #[test]
    fn a_step_that_waits_for_its_work_is_its_marker() {
        let markers = [marker(0, 100), marker(110, 200)];
        let found = spans(&markers, &[Some((10, 90)), Some((120, 190))], &[(3, 8)]);
        assert_eq!(found, [Some((0, 100)), Some((110, 200))]);
        assert_eq!(spans(&markers, &[None, None], &[]), [None, None]);
    }

    #[test]
    fn steps_launched_ahead_follow_one_another() {
        let markers = [marker(0, 5), marker(6, 11), marker(12, 17), marker(18, 23)];
        let work = [Some((10, 110)), Some((110, 210)), Some((215, 310)), None];
        let found = spans(&markers, &work, &[]);
        assert_eq!(found, [Some((10, 110)), Some((110, 210)), Some((210, 310)), None]);
    }

    #[test]
    fn what_no_marker_launched_is_of_no_step() {
        // Steps from before the capture run until 50; another program runs from 150 to 200.
        let markers = [marker(0, 5), marker(6, 11)];
        let work = [Some((50, 150)), Some((200, 300))];
        let foreign = [(0, 20), (20, 50), (150, 200), (310, 400)];
        assert_eq!(spans(&markers, &work, &foreign), [Some((50, 150)), Some((200, 300))]);
    }

    #[test]
    fn of_markers_on_several_threads_those_count_that_launched() {
        let mut markers = [marker(0, 5), marker(0, 90)];
        markers[1].number = markers[0].number;
        assert_eq!(spans(&markers, &[Some((10, 110)), None], &[]), [Some((10, 110)), None]);
    }

    #[test]
    fn a_step_that_only_the_host_made_lasts_as_long_as_its_marker() {
        let markers = [marker(0, 5), marker(6, 400), marker(401, 405)];
        let found = spans(&markers, &[Some((10, 110)), None, Some((410, 500))], &[]);
        assert_eq!(found, [Some((10, 110)), Some((110, 400)), Some((401, 500))]);
    }
}
