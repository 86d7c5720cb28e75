//! GPUs: what nothing on the host started belongs to the step that ran last.

use super::Lane;
use haloscope_profile::{HostId, PlaneKind, Profile};

/// Gives events of GPUs that have no group the group of the event before them, by start over all streams.
pub(super) fn fill(profile: &Profile, host: HostId, lanes: &mut [Lane]) {
    for plane in profile.planes_of(host).filter(|p| p.kind == PlaneKind::Gpu) {
        let streams = lanes.iter().enumerate();
        let streams = streams.filter(|(_, lane)| profile.line(lane.line).plane == plane.id).map(|(i, _)| i);
        let streams: Vec<usize> = streams.collect();
        if streams.iter().all(|i| lanes[*i].groups.is_empty()) {
            continue;
        }
        let mut order: Vec<(i64, i64, usize, usize)> = Vec::new();
        for i in streams {
            let (starts, durations) = (lanes[i].starts_ps(profile), lanes[i].durations_ps(profile));
            order.extend(starts.iter().zip(durations.iter()).enumerate().map(|(at, (s, d))| (*s, d, i, at)));
        }
        order.sort_unstable();
        let mut last = None;
        for (.., lane, at) in order {
            match (lanes[lane].group(at), last) {
                (Some(group), _) => last = Some(group),
                (None, Some(group)) => {
                    let len = lanes[lane].len(profile);
                    lanes[lane].set_group(len, at, group);
                }
                (None, None) => {}
            }
        }
    }
}
