//! When hosts read or prepare input.

use super::{feeds, is_worker};
use crate::intervals::Intervals;
use haloscope_profile::{HostId, LineKind, Mark, Profile};

/// When the host read or prepared input: events with stat `_ipl_stage_id` (Grain and other JAX pipelines) or with the
/// names of tf.data iterators and of infeed, and all events of data loaders' threads.
#[must_use]
pub fn input_work(profile: &Profile, host: HostId) -> Intervals {
    let mut parts = Vec::new();
    for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
        let source = profile.source_of(plane);
        let stage = plane.stat_id("_ipl_stage_id");
        let named: Vec<bool> =
            (0..plane.metas.len() as u32).map(|m| feeds(&plane.meta_label(source, m))).collect();
        let names_any = stage.is_some() || named.contains(&true);
        for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
            let is_worker = is_worker(&line.name);
            if !names_any && !is_worker {
                continue;
            }
            let events = profile.events(line);
            let input = events
                .iter()
                .filter(|e| is_worker || named[e.meta as usize] || events.has(e.index, Mark::InputStage));
            parts.extend(input.map(|e| (e.start_ps, e.end_ps)));
        }
    }
    Intervals::union_of(parts)
}
