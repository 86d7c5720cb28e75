//! Numbers that rules look at. Each is found out when first asked for.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use haloscope_profile::{HostId, Profile};
use haloscope_program::allocator::allocators;

use crate::db;
use crate::input_pipeline::Analysis;
use crate::steps::fractions::Fractions;
use crate::steps::{Breakdown, Environment, StepDb};

/// Numbers of a run.
pub(super) struct Signals<'p> {
    profile: &'p Profile,
    hosts: &'p [HostId],
    run: OnceCell<(Environment, StepDb, Analysis)>,
    barriers: OnceCell<Fractions>,
    prints: OnceCell<Fractions>,
}

/// A host that waits much longer or shorter than the others.
#[derive(Debug, PartialEq)]
pub(super) struct Straggler<'a> {
    pub(super) host: &'a str,
    pub(super) percent: f64,
}

impl<'p> Signals<'p> {
    pub(super) fn new(profile: &'p Profile, hosts: &'p [HostId]) -> Self {
        let (barriers, prints) = (OnceCell::new(), OnceCell::new());
        Self { profile, hosts, run: OnceCell::new(), barriers, prints }
    }

    fn run(&self) -> &(Environment, StepDb, Analysis) {
        self.run.get_or_init(|| {
            let environment = Environment::new(self.profile, self.hosts);
            let steps = StepDb::new(self.profile, self.hosts, &environment);
            let analysis = Analysis::new(self.profile, self.hosts, &environment, &steps);
            (environment, steps, analysis)
        })
    }

    /// Use of HBM's peak, percent. XProf's open build does not know the peak and says 0.
    pub(super) fn hbm(&self) -> f64 {
        0.0
    }

    /// Use of the matrix units, percent, where the profiler counted it.
    pub(super) fn mxu(&self) -> f64 {
        self.run().0.mxu_percent
    }

    /// Neither memory nor matrix units are busy.
    pub(super) fn is_latency_bound(&self) -> bool {
        self.mxu() < 50.0 && self.hbm() < 50.0
    }

    /// Share of the steps that waits for input, percent.
    pub(super) fn input(&self) -> f64 {
        self.run().2.input_percent
    }

    /// The program waits for input.
    pub(super) fn is_input_bound(&self) -> bool {
        self.input() > 10.0
    }

    /// Shares of the host's time for input: sending it to the device, and all else; percent.
    pub(super) fn enqueue_and_others(&self) -> (f64, f64) {
        let times = &self.run().2.host.times;
        let all = times.enqueue + times.others();
        if all > 0.0 { (times.enqueue / all * 100.0, times.others() / all * 100.0) } else { (0.0, 0.0) }
    }

    /// Share of the steps in which TensorCores idle, percent; `None` without TPUs.
    pub(super) fn idle(&self) -> Option<f64> {
        let means = self.run().2.tpu?;
        Some(self.of_step(means.idle))
    }

    /// Length of SparseCores' steps, percent of the TensorCores'; `None` without TPUs.
    pub(super) fn sparse_cores(&self) -> Option<f64> {
        let means = self.run().2.tpu?;
        Some(self.of_step(means.sparse_step))
    }

    fn of_step(&self, ms: f64) -> f64 {
        let step = self.run().2.step_ms.average;
        if step > 0.0 { ms / step * 100.0 } else { 0.0 }
    }

    /// Mean share of a step that cores spend in ops of these categories, percent.
    pub(super) fn categories(&self, categories: &[&str]) -> f64 {
        let share = |cores: &BTreeMap<u32, crate::steps::CoreStep>| {
            let (mut inside, mut all) = (0_i64, 0_i64);
            for core in cores.values() {
                if let Breakdown::TensorCore(times) = &core.breakdown {
                    inside += categories.iter().filter_map(|c| times.get(*c)).sum::<i64>();
                }
                if !matches!(core.breakdown, Breakdown::SparseCore { .. }) {
                    all += core.duration_ps;
                }
            }
            (all > 0).then(|| (inside as f64 / all as f64) as f32)
        };
        let shares: Vec<f32> = self.run().1.rows.iter().filter_map(|row| share(&row.cores)).collect();
        let sum: f32 = shares.iter().fold(0.0, |a, b| a + b);
        if shares.is_empty() { 0.0 } else { f64::from(sum) / shares.len() as f64 * 100.0 }
    }

    /// How much of each step cores wait for each other.
    pub(super) fn barriers(&self) -> &Fractions {
        self.barriers.get_or_init(|| Fractions::new(self.profile, self.hosts, "barrier-cores"))
    }

    /// How much of each step goes to printing from the device.
    pub(super) fn prints(&self) -> &Fractions {
        self.prints.get_or_init(|| Fractions::new(self.profile, self.hosts, "debug_print"))
    }

    /// Use of the devices' memory at each allocator's peak, percent; `None` where no allocation was recorded, and for
    /// several hosts, of which XProf looks at none.
    pub(super) fn memory(&self) -> Option<f64> {
        let [host] = self.hosts else { return None };
        let (mut used, mut all) = (0.0, 0.0);
        for allocator in allocators(self.profile, *host) {
            let Some(peak) = allocator.events.iter().max_by_key(|event| event.in_use_bytes()) else {
                continue;
            };
            used += peak.in_use_bytes() as f64;
            all += peak.in_use_bytes() as f64 + peak.available_bytes.unwrap_or(0) as f64;
        }
        (all > 0.0).then(|| used / all * 100.0)
    }

    /// Share of the time of all ops that the main program waits for collectives on SparseCores, percent.
    pub(super) fn async_done(&self) -> f64 {
        const COLLECTIVES: [&str; 4] = ["all-gather", "all-reduce", "all-to-all", "reduce-scatter"];
        let ops = db::device_ops(self.profile, self.hosts);
        let mut programs: BTreeMap<u64, u64> = BTreeMap::new();
        for row in ops.rows.iter().filter(|row| row.category != db::IDLE) {
            *programs.entry(row.program_id).or_default() += row.self_ps;
        }
        let main = programs.iter().max_by_key(|(_, ps)| **ps).map_or(0, |(id, _)| *id);
        let all: u64 = programs.values().sum();
        let waits = ops.rows.iter().filter(|row| {
            row.program_id == main
                && row.category == "async-done"
                && row.name.split('.').next().is_some_and(|name| COLLECTIVES.contains(&name))
        });
        let waits: u64 = waits.map(|row| row.self_ps).sum();
        if all > 0 { waits as f64 / all as f64 * 100.0 } else { 0.0 }
    }
}

/// The hosts whose share is far from the median, by the modified z-score. Of fewer than three hosts none is.
pub(super) fn stragglers<'a>(hosts: &[(&'a str, f64)]) -> Vec<Straggler<'a>> {
    const LIMIT: f64 = 3.5;
    const LEAST_DEVIATION: f64 = 0.1;
    if hosts.len() < 3 {
        return Vec::new();
    }
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let median = middle(hosts.iter().map(|(_, percent)| *percent).collect());
    let deviation = middle(hosts.iter().map(|(_, percent)| (percent - median).abs()).collect());
    let is_far = |percent: f64| {
        if deviation == 0.0 {
            (percent - median).abs() > 1e-6
        } else {
            (0.6745 * (percent - median) / deviation.max(LEAST_DEVIATION)).abs() > LIMIT
        }
    };
    let far = hosts.iter().filter(|(_, percent)| is_far(*percent));
    far.map(|(host, percent)| Straggler { host, percent: *percent }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_are_far_from_the_median() {
        let names = |hosts: &[(&'static str, f64)]| -> Vec<&str> {
            stragglers(hosts).iter().map(|s| s.host).collect()
        };
        assert_eq!(names(&[("a", 10.0), ("b", 10.2), ("c", 30.0), ("d", 10.1)]), ["c"]);
        assert_eq!(names(&[("a", 10.0), ("b", 10.0), ("c", 10.5)]), ["c"]);
        assert_eq!(names(&[("a", 10.0), ("b", 90.0)]), [""; 0]);
        assert_eq!(names(&[("a", 10.0), ("b", 12.0), ("c", 14.0)]), [""; 0]);
    }
}
