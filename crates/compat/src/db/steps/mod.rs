//! Ops by step, all ops of a step as one.

mod core;

use std::collections::BTreeMap;

use haloscope_profile::{HostId, Profile};
use haloscope_report::stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::core::{CoreOps, Runs, of_host};
use super::whole::{Part, Whole};
use crate::steps::{Environment, StepDb};

/// The ops of each step.
#[derive(Debug, Default)]
pub(crate) struct StepOps {
    /// In the order of [`StepDb::rows`]. Empty sums on GPUs, whose ops XProf does not assign to steps.
    pub(crate) steps: Vec<Whole>,
    /// All steps together.
    pub(crate) all: Whole,
}

impl StepOps {
    /// The ops of the steps on all TPU cores; each core counts as long as the slowest of its host took.
    #[must_use]
    pub(crate) fn new(profile: &Profile, environment: &Environment, steps: &StepDb) -> Self {
        let mut hosts: Vec<HostId> =
            steps.rows.iter().flat_map(|row| row.groups.iter().map(|g| g.0)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let cores: Vec<(HostId, Vec<CoreOps<'_>>)> = hosts
            .into_par_iter()
            .map(stop::carried(|host| (host, of_host(profile, host, environment))))
            .collect();
        let mut known = Known::default();
        let mut numbered = |core| (core, known.numbers(core));
        let cores: BTreeMap<HostId, Vec<_>> =
            cores.iter().map(|(host, cores)| (*host, cores.iter().map(&mut numbered).collect())).collect();
        let mut sums = Self::default();
        let (mut of_step, mut of_all) = (Flops::new(&known), Flops::new(&known));
        for row in &steps.rows {
            let mut whole = Whole::default();
            for (host, group) in &row.groups {
                for (core, numbers) in cores.get(host).into_iter().flatten() {
                    let step = row.cores.get(&environment.global_core(*host, core.id));
                    let (Some(step), Some(runs)) = (step, core.groups.get(group)) else { continue };
                    let all_self_ps = known.add(core, numbers, runs, &mut whole, &mut of_step);
                    whole.add_total((step.duration_ps.max(0) as u64).max(all_self_ps));
                }
            }
            of_step.drain(|number, flops, model_flops| {
                whole.add_flops(known.parts[number], flops, model_flops);
                of_all.add(number, flops, model_flops);
            });
            sums.all.merge_all_but_flops(&whole);
            sums.steps.push(whole);
        }
        of_all
            .drain(|number, flops, model_flops| sums.all.add_flops(known.parts[number], flops, model_flops));
        sums
    }
}

/// The ops of all cores, each once.
#[derive(Default)]
struct Known<'a> {
    /// By number.
    parts: Vec<Part>,
    number_of: FxHashMap<(u64, &'a str), usize>,
}

impl<'a> Known<'a> {
    /// The numbers of a core's ops.
    fn numbers(&mut self, core: &'a CoreOps<'_>) -> Vec<Option<usize>> {
        let mut number = |program_id, name, category| {
            let next = self.parts.len();
            let number = *self.number_of.entry((program_id, name)).or_insert(next);
            if number == next {
                self.parts.push(Part::from_category(category));
            }
            number
        };
        let ops = core.ops.iter();
        ops.map(|op| op.as_ref().map(|op| number(op.program_id, op.name.as_ref(), &op.category))).collect()
    }

    /// Adds what a core executed, and returns the self times together, picoseconds.
    fn add(
        &self,
        core: &CoreOps<'_>,
        numbers: &[Option<usize>],
        runs: &[Runs],
        whole: &mut Whole,
        flops: &mut Flops,
    ) -> u64 {
        let mut all_self_ps: u64 = 0;
        for run in runs {
            let (Some(op), Some(number)) = (&core.ops[run.op], numbers[run.op]) else { continue };
            let (per_run, times) = (&op.per_run, run.occurrences);
            all_self_ps = all_self_ps.saturating_add(run.self_ps);
            whole.add(self.parts[number], run.time_ps, per_run.bytes(times), &per_run.accesses(times));
            flops.add(number, per_run.flops(times), per_run.model_flops(times));
        }
        all_self_ps
    }
}

/// FLOPs by op. Rounding makes the order of additions visible: an op's own come first, then ops in the order of their first
/// execution's core.
struct Flops {
    /// Number of the op, FLOPs as counted for the device, and as written in the model.
    found: Vec<(usize, f64, f64)>,
    place_of: Vec<Option<usize>>,
}

impl Flops {
    fn new(known: &Known<'_>) -> Self {
        Self { found: Vec::new(), place_of: vec![None; known.parts.len()] }
    }

    fn add(&mut self, number: usize, flops: f64, model_flops: f64) {
        if let Some(place) = self.place_of[number] {
            self.found[place].1 += flops;
            self.found[place].2 += model_flops;
        } else {
            self.place_of[number] = Some(self.found.len());
            self.found.push((number, flops, model_flops));
        }
    }

    /// Hands out the sums, and is empty again.
    fn drain(&mut self, mut each: impl FnMut(usize, f64, f64)) {
        for (number, flops, model_flops) in self.found.drain(..) {
            self.place_of[number] = None;
            each(number, flops, model_flops);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flops_come_out_in_the_order_in_which_ops_were_first_met() {
        let known = Known { parts: vec![Part::Plain; 3], ..Known::default() };
        let mut flops = Flops::new(&known);
        for round in [1.0, 2.0] {
            for (number, value) in [(2, 5.0), (0, 1.0), (2, 6.0)] {
                flops.add(number, value * round, 0.0);
            }
            let mut found = Vec::new();
            flops.drain(|number, sum, _| found.push((number, sum)));
            assert_eq!(found, [(2, 11.0 * round), (0, round)]);
        }
    }
}
