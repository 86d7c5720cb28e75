//! How much of each step the events of some name take.

use std::collections::BTreeMap;

use haloscope_event_groups::Context;
use haloscope_profile::{HostId, Plane, PlaneKind, Profile};
use haloscope_xspace::StatValue;

use super::environment::host_name;
use super::tpu;

/// Of two steps, one that is this much shorter than the other was cut.
const CUT: f64 = 0.01;
/// The name of events that the profiler also writes where nothing is waited for, with one of two lengths.
const BARRIER: &str = "barrier-cores";
const DUMMY_PS: [u64; 2] = [0, 1250];

/// Shares of steps, 1 for a whole step.
#[derive(Debug, Default)]
pub(crate) struct Fractions {
    /// By core, each step.
    cores: Vec<f32>,
    /// By host: the mean over its cores, each step.
    hosts: BTreeMap<String, Vec<f32>>,
}

impl Fractions {
    /// Looks for events whose name contains `name` on the cores of these hosts. The first and the last step do not count,
    /// as far as there are more.
    pub(crate) fn new(profile: &Profile, hosts: &[HostId], name: &str) -> Self {
        let mut all = Self::default();
        for host in hosts {
            let steps = of_host(profile, *host, name);
            let own = all.hosts.entry(host_name(profile, *host)).or_default();
            for cores in steps.values() {
                all.cores.extend(cores.values().map(|share| *share as f32));
                own.push((cores.values().sum::<f64>() / cores.len() as f64) as f32);
            }
        }
        all.hosts.retain(|_, shares| !shares.is_empty());
        all
    }

    /// The mean over cores and steps, percent.
    pub(crate) fn percent(&self) -> f64 {
        percent(&self.cores)
    }

    /// The mean of each host, percent.
    pub(crate) fn by_host(&self) -> Vec<(&str, f64)> {
        self.hosts.iter().map(|(host, shares)| (host.as_str(), percent(shares))).collect()
    }
}

fn percent(shares: &[f32]) -> f64 {
    let sum: f32 = shares.iter().fold(0.0, |a, b| a + b);
    if shares.is_empty() { 0.0 } else { f64::from(sum) / shares.len() as f64 * 100.0 }
}

/// Shares by step and core.
fn of_host(profile: &Profile, host: HostId, name: &str) -> BTreeMap<i64, BTreeMap<String, f64>> {
    let mut shares: BTreeMap<i64, BTreeMap<String, f64>> = BTreeMap::new();
    let mut lengths: BTreeMap<i64, i64> = BTreeMap::new();
    let planes = profile.planes_of(host).filter(|p| p.kind == PlaneKind::Tpu);
    let named: Vec<(&Plane, Vec<bool>)> = planes
        .map(|plane| (plane, metas_with(profile, plane, name)))
        .filter(|(_, metas)| metas.contains(&true))
        .collect();
    if named.is_empty() {
        return shares;
    }
    let context = Context::of(profile, host);
    for (plane, metas) in named {
        let steps = tpu::step_lengths(profile, plane, &context);
        let source = profile.source_of(plane);
        let duration = plane.stat_id("device_duration_ps");
        for lane in profile.lines_of(plane.id).filter_map(|line| context.lane(line.id)) {
            let events = profile.events(profile.line(lane.line));
            for position in 0..lane.len(profile) {
                let (Some(group), Some(row)) = (lane.group(position), lane.row(position)) else { continue };
                let length = steps.get(&i64::from(group)).copied().unwrap_or(0);
                if !metas[events.metas()[row] as usize] || length == 0 {
                    continue;
                }
                // XProf reads only unsigned numbers here; others are 0 to it.
                let took = match events.stat(source, row, duration) {
                    Some(StatValue::Uint(took)) => took,
                    Some(_) => 0,
                    None => continue,
                };
                if name == BARRIER && DUMMY_PS.contains(&took) {
                    continue;
                }
                let share = (took as f64 / length as f64) as f32;
                let of_step = shares.entry(i64::from(group)).or_default();
                *of_step.entry(plane.name.clone()).or_default() += f64::from(share);
                lengths.insert(i64::from(group), length);
            }
        }
    }
    drop_cut(&mut shares, &lengths);
    shares
}

fn drop_cut(shares: &mut BTreeMap<i64, BTreeMap<String, f64>>, lengths: &BTreeMap<i64, i64>) {
    if shares.len() >= 3 {
        shares.pop_first();
        shares.pop_last();
        return;
    }
    let mut steps = shares.keys().map(|group| lengths.get(group).copied().unwrap_or(0) as f64);
    if let (Some(first), Some(second)) = (steps.next(), steps.next()) {
        drop(steps);
        if second < CUT * first {
            shares.pop_last();
        } else if first < CUT * second {
            shares.pop_first();
        }
    }
}

fn metas_with(profile: &Profile, plane: &Plane, name: &str) -> Vec<bool> {
    let source = profile.source_of(plane);
    plane.metas.iter().map(|meta| source.text(meta.name).contains(name)).collect()
}
