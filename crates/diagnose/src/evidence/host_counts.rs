//! How many events of some name hosts recorded.

use super::Evidence;
use haloscope_profile::{Event, HostId, LineKind};
use haloscope_time::account::Class;
use haloscope_time::intervals::Intervals;

impl Evidence<'_> {
    /// Events of host threads with such a name.
    pub(crate) fn host_events_named(&self, takes: impl Fn(&str) -> bool) -> u64 {
        self.hosts().iter().map(|host| self.count(*host, &takes, |_| true)).sum()
    }

    /// Calls that the Python tracer recorded in gaps between programs, and the time of these gaps, picoseconds: of each host
    /// those of its first device, summed over hosts.
    pub(crate) fn python_calls_in_gaps(&self) -> (u64, i64) {
        let (mut calls, mut ps) = (0, 0_i64);
        for host in self.hosts() {
            let first = self.selection.devices.iter().position(|device| device.host == host);
            let account =
                first.and_then(|position| Some((position, self.accounts().get(position)?.as_ref()?)));
            let Some((position, account)) = account else { continue };
            let between = account.part(Class::Between);
            let gaps: Intervals =
                self.selection.window(position).map_or_else(|| between.clone(), |cut| between.intersect(cut));
            let inside = |event: &Event| gaps.overlap(event.start_ps, event.start_ps.saturating_add(1)) > 0;
            calls += self.count(host, &|name| name.starts_with('$'), inside);
            ps = ps.saturating_add(gaps.length());
        }
        (calls, ps)
    }

    fn hosts(&self) -> Vec<HostId> {
        let mut hosts: Vec<HostId> = self.selection.devices.iter().map(|device| device.host).collect();
        hosts.dedup();
        hosts
    }

    fn count(&self, host: HostId, takes: &impl Fn(&str) -> bool, inside: impl Fn(&Event) -> bool) -> u64 {
        let mut count = 0;
        for plane in self.profile.planes_of(host).filter(|p| !p.kind.is_device()) {
            let source = self.profile.source_of(plane);
            let named: Vec<bool> =
                (0..plane.metas.len() as u32).map(|meta| takes(&plane.meta_label(source, meta))).collect();
            if !named.contains(&true) {
                continue;
            }
            for line in self.profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
                let events = self.profile.events(line);
                count += events.iter().filter(|e| named[e.meta as usize] && inside(e)).count() as u64;
            }
        }
        count
    }
}
