//! How far the clock of a host's devices is behind the host's own: a program begins on a device after its host has put it into the
//! device's queue, so that by as much as it seems to begin before, the clocks are apart.

use rustc_hash::FxHashMap;

use haloscope_profile::{DeviceKind, HostId, LineKind, Profile};

/// Clocks are not further apart than this, picoseconds: what says so are numbers of launches that mean something else.
const MOST_PS: i64 = 10_000_000_000;

/// By how much the clock of a host's TPUs is behind the host's at least, picoseconds; 0 where no two programs say so. One alone may have
/// been queued before the capture, under a number that is used again.
pub(super) fn behind_ps(profile: &Profile, host: HostId) -> i64 {
    let mut queued: FxHashMap<u64, i64> = FxHashMap::default();
    for plane in profile.planes_of(host).filter(|plane| !plane.kind.is_device()) {
        let Some(run_id) = plane.stat_id("run_id") else { continue };
        let source = profile.source_of(plane);
        let queues: Vec<bool> = (0..plane.metas.len() as u32)
            .map(|meta| plane.meta_label(source, meta).ends_with("EnqueueProgram"))
            .collect();
        if !queues.contains(&true) {
            continue;
        }
        for line in profile.lines_of(plane.id).filter(|line| line.kind == LineKind::Thread) {
            let events = profile.events(line);
            for event in events.iter().filter(|event| queues[event.meta as usize]) {
                let mut stats = events.stats(source, event.index).filter(|stat| stat.metadata_id == run_id);
                let Some(run) = stats.next().and_then(|stat| stat.value?.as_u64_bits()) else { continue };
                // Of several, such as one for each device, the first: no bound is then too high.
                let first = queued.entry(run).or_insert(event.start_ps);
                *first = (*first).min(event.start_ps);
            }
        }
    }
    if queued.is_empty() {
        return 0;
    }
    let devices =
        profile.devices.iter().filter(|device| device.host == host && device.kind == DeviceKind::Tpu);
    let lines = devices.filter_map(|device| profile.line_of_kind(device.plane, LineKind::XlaModules));
    // The most that a program says, and the next.
    let (mut most_ps, mut next_ps) = (0, 0);
    for line in lines {
        let plane = profile.plane(line.plane);
        let (Some(run_id), source) = (plane.stat_id("run_id"), profile.source_of(plane)) else { continue };
        let events = profile.events(line);
        for event in events.iter() {
            let mut stats = events.stats(source, event.index).filter(|stat| stat.metadata_id == run_id);
            let run = stats.next().and_then(|stat| stat.value?.as_u64_bits());
            let ahead_ps = run
                .and_then(|run| queued.get(&run))
                .map_or(0, |queued| queued.saturating_sub(event.start_ps));
            if ahead_ps > MOST_PS {
                return 0;
            }
            next_ps = next_ps.max(ahead_ps.min(most_ps));
            most_ps = most_ps.max(ahead_ps);
        }
    }
    next_ps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::host_events::Doing;
    use crate::tests::{MS, Made, US, profile_of, with_evidence};
    use haloscope_xspace::write::Value;

    /// What `behind_ps` says where programs are queued at these times and begin at these.
    fn behind(launches: &[(i64, i64)]) -> i64 {
        let (mut tpu, mut host) = (Made::tpu(0), Made::named("/host:CPU"));
        tpu.line("XLA Modules");
        host.line("python");
        for (run, (queued, begun)) in (1..).zip(launches) {
            let run = [("run_id", Value::Uint(run))];
            host.event("DoEnqueueProgram", *queued, 10 * US, &run);
            tpu.event("jit_step(7)", *begun, 100 * US, &run);
        }
        let profile = profile_of(vec![tpu, host]);
        behind_ps(&profile, profile.devices[0].host)
    }

    #[test]
    fn a_program_that_begins_before_it_is_queued_tells_the_clocks_apart() {
        assert_eq!(behind(&[(MS, MS + 50 * US), (2 * MS, 9 * MS)]), 0);
        assert_eq!(behind(&[(MS, MS - 250 * US), (2 * MS, 2 * MS - 300 * US), (3 * MS, 4 * MS)]), 250 * US);
        assert_eq!(behind(&[(MS, MS - 250 * US), (2 * MS, 9 * MS)]), 0, "one program alone");
        assert_eq!(behind(&[(90 * MS, MS)]), 0, "numbers that mean something else");
        assert_eq!(behind(&[]), 0);
    }

    #[test]
    fn what_the_host_did_in_a_gap_is_looked_up_by_the_devices_clock() {
        // A program of 100 us every 400 us. Once it is queued the host logs for 290 us, and does nothing else.
        let logs = |late: i64| {
            let (mut tpu, mut host) = (Made::tpu(0), Made::named("/host:CPU"));
            let starts: Vec<i64> = (1..7).map(|step| step * 400 * US).collect();
            tpu.line("XLA Modules");
            host.line("python");
            for (run, at) in (1..).zip(&starts) {
                let run = [("run_id", Value::Uint(run))];
                tpu.event("jit_step(7)", *at, 100 * US, &run);
                host.event("DoEnqueueProgram", at + late, 5 * US, &run);
                host.event("$train.py:9 log", at + late + 105 * US, 290 * US, &[]);
            }
            tpu.ops(&starts.iter().map(|at| ("fusion.1", "loop fusion", *at, 100 * US)).collect::<Vec<_>>());
            let mut logs_ps = 0;
            with_evidence(vec![tpu, host], |evidence| {
                let part = evidence.host().part(Doing::Other).into_owned();
                logs_ps = part.names.iter().filter(|one| one.name.ends_with("log")).map(|one| one.ps).sum();
            });
            logs_ps
        };
        // In each of the five gaps.
        assert_eq!((logs(0), logs(250 * US)), (5 * 290 * US, 5 * 290 * US));
    }
}
