//! What differs between the programs of a function that is compiled again and again, and what their first runs cost.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_profile::Decoded;
use haloscope_program::variants::Difference;
use haloscope_report::Status;
use haloscope_time::account::Account;
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;
use haloscope_time::programs::function_of;

use super::Evidence;

/// What is known of the programs that ran for one function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variants {
    /// In what they differ; `None` where the profile does not hold two of them.
    pub difference: Option<Difference>,
    /// What first runs took longer: of a program that ran again, than its fastest run; of one that ran once, what its ops took beyond
    /// the fastest of their kind in any of the programs, for as much work.
    first_runs: Vec<FirstRun>,
    /// Whether a program ran only once, so that how long its next run would take is estimated.
    pub is_estimated: bool,
}

/// The first run of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FirstRun {
    /// When it began, picoseconds.
    start_ps: i64,
    /// What it took longer than a later one, picoseconds, summed over devices where the program ran once.
    longer_ps: f64,
}

impl Evidence<'_> {
    /// The programs of this name, or of this function, that ran.
    pub(crate) fn variants(&self, module: &str) -> Variants {
        let launches = self.accounts().iter().flatten().flat_map(|account| &account.launches);
        let ids: BTreeSet<u64> = launches
            .filter(|one| function_of(&one.module) == module)
            .filter_map(|one| one.program_id)
            .collect();
        let held: Vec<&Decoded> = ids.iter().filter_map(|id| self.program(*id)).collect();
        let modules: Vec<_> = held.iter().map(|decoded| &decoded.module).collect();
        let fingerprints: BTreeSet<u64> =
            modules.iter().map(|module| module.structural_fingerprint()).collect();
        let difference = (modules.len() > 1).then(|| Difference::of(&modules, fingerprints.len()));
        let runs = self.runs_of(module);
        let once: BTreeSet<u64> = ids
            .iter()
            .copied()
            .filter(|id| runs.iter().all(|own| own.get(id).is_none_or(|all| all.len() < 2)))
            .collect();
        // A new program's first run is longer: buffers, caches, kernels that are built when first called.
        let again = runs.iter().flat_map(BTreeMap::values).filter(|all| all.len() > 1).map(|all| {
            let length = |(start_ps, end_ps): &(i64, i64)| end_ps - start_ps;
            let least = all.iter().map(length).min().unwrap_or(0);
            FirstRun { start_ps: all[0].0, longer_ps: (length(&all[0]) - least) as f64 }
        });
        let beyond = self.beyond_fastest_ops_ps(module, &once);
        let once_only = beyond.iter().filter_map(|(id, longer_ps)| {
            let start_ps = runs.iter().filter_map(|own| Some(own.get(id)?.first()?.0)).min()?;
            Some(FirstRun { start_ps, longer_ps: *longer_ps })
        });
        Variants { difference, first_runs: again.chain(once_only).collect(), is_estimated: !once.is_empty() }
    }

    /// Of each device, start and end of each run of each program of this name, in the order in which they ran, picoseconds.
    fn runs_of(&self, module: &str) -> Vec<BTreeMap<u64, Vec<(i64, i64)>>> {
        let of_device = |(position, account): (usize, &Option<Account>)| {
            let window = self.selection.window(position);
            let mut runs: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
            for one in account.iter().flat_map(|account| &account.launches) {
                let is_in = window.is_none_or(|window| window.overlap(one.start_ps, one.end_ps) > 0);
                let Some(id) = one.program_id.filter(|_| is_in && function_of(&one.module) == module) else {
                    continue;
                };
                runs.entry(id).or_default().push((one.start_ps, one.end_ps));
            }
            runs
        };
        self.accounts().iter().enumerate().map(of_device).collect()
    }

    /// What the ops of each program that ran once take beyond the fastest op of the same kind in any program of this name, for as
    /// much work; picoseconds, summed over devices. Other shapes are other amounts of work, so it is rates that are compared. Of one
    /// kind are ops of one name, and on a CPU all matrix products: there a library builds its kernel inside the first run, which
    /// takes many times as long as the product.
    fn beyond_fastest_ops_ps(&self, module: &str, once: &BTreeSet<u64>) -> BTreeMap<u64, f64> {
        let mut beyond = BTreeMap::new();
        if once.is_empty() {
            return beyond;
        }
        let ops = || self.ops().iter().filter(|op| function_of(&op.module) == module && op.self_ps > 0);
        let is_cpu = self.is_cpu();
        let kind = |op: &'_ Op<'_>, measure| {
            let is_product = is_cpu && measure == Measure::Flops && !self.products(op).is_empty();
            if is_product { String::new() } else { op.meta.name.to_string() }
        };
        let of = |op| {
            let (measure, work) = Measure::of(op);
            (op, (kind(op, measure), measure), work)
        };
        let every: Vec<_> = ops().map(of).collect();
        let mut fastest: BTreeMap<&(String, Measure), f64> = BTreeMap::new();
        for (op, kind, work) in &every {
            let each = op.self_ps as f64 / work;
            fastest.entry(kind).and_modify(|least| *least = least.min(each)).or_insert(each);
        }
        for (op, kind, work) in &every {
            let id = op.meta.program_id.filter(|id| once.contains(id));
            let (Some(id), Some(least)) = (id, fastest.get(kind)) else { continue };
            *beyond.entry(id).or_default() += (op.self_ps as f64 - work * least).max(0.0);
        }
        beyond
    }
}

/// What an op's work is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    Flops,
    Bytes,
    Executions,
}

impl Measure {
    /// How much work all executions of an op did: FLOPs, else bytes, else executions.
    fn of(op: &Op<'_>) -> (Self, f64) {
        let known = |amount: Option<f64>| amount.filter(|amount| *amount > 0.0);
        match (known(op.flops), known(op.bytes)) {
            (Some(flops), _) => (Self::Flops, flops),
            (None, Some(bytes)) => (Self::Bytes, bytes),
            (None, None) => (Self::Executions, op.occurrences.max(1) as f64),
        }
    }
}

impl Variants {
    /// What first runs took longer, of those that `takes`, which is told when they began; picoseconds, summed over devices.
    pub(crate) fn first_runs_ps(&self, takes: impl Fn(i64) -> bool) -> f64 {
        self.first_runs.iter().filter(|run| takes(run.start_ps)).map(|run| run.longer_ps).sum()
    }

    /// Whether a first run began at this moment.
    pub(crate) fn is_first_run(&self, start_ps: i64) -> bool {
        self.first_runs.iter().any(|run| run.start_ps == start_ps)
    }

    /// Beyond what the first runs are counted, in words.
    pub(crate) fn beyond(&self) -> &'static str {
        if self.is_estimated {
            "the fastest ops of their kind (programs ran once, so their next runs may be even faster)"
        } else {
            "their fastest run"
        }
    }

    /// How the cost of the first runs is known.
    pub(crate) fn status(&self) -> Status {
        if self.is_estimated { Status::Estimated } else { Status::Derived }
    }

    /// In what the programs differ, in words.
    pub(crate) fn words(&self) -> String {
        self.difference.as_ref().map_or_else(
            || "the profile holds fewer than two of these programs, so what differs is unknown".to_owned(),
            |difference| format!("the programs differ in {}", difference.words()),
        )
    }

    /// What to try, by what differs.
    pub(crate) fn fix(&self) -> &'static Fix {
        Difference::fix(self.difference.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::tests::{Made, US, with_evidence};

    /// Two programs of one name, which ran twice each: their first runs take 300 us, their second ones 100.
    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        let names = ["jit_step(7)", "jit_step(7)", "jit_step(9)", "jit_step(9)"];
        let lengths = [300, 100, 300, 100];
        let launches = names.iter().zip(lengths).enumerate();
        tpu.programs(
            &launches.map(|(n, (name, us))| (*name, n as i64 * 1000 * US, us * US)).collect::<Vec<_>>(),
        );
        tpu.ops(&(0..4).map(|n| ("fusion.1", "loop fusion", n * 1000 * US, 100 * US)).collect::<Vec<_>>());
        tpu
    }

    #[test]
    fn first_runs_are_compared_with_the_fastest() {
        with_evidence(vec![run()], |evidence| {
            let variants = evidence.variants("jit_step");
            assert!((variants.first_runs_ps(|_| true) - 400.0 * US as f64).abs() < 1.0, "{variants:?}");
            assert!(!variants.is_estimated);
            // The profile holds neither program.
            assert_eq!(variants.difference, None);
            assert!(variants.words().contains("what differs is unknown"));
        });
    }

    #[test]
    fn programs_that_ran_once_are_compared_op_by_op_for_as_much_work() {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 300 * US), ("jit_step(9)", 1000 * US, 300 * US)]);
        // The second program's dot does twice the work in four times the time; its tanh is the faster one.
        tpu.line("XLA Ops");
        for (name, program, start, us, flops) in [
            ("dot.1", 7, 0, 50, 1000.0),
            ("tanh.2", 7, 50, 80, 10.0),
            ("dot.1", 9, 1000, 200, 2000.0),
            ("tanh.2", 9, 1200, 20, 10.0),
        ] {
            tpu.op(
                name,
                "loop fusion",
                "",
                &[("program_id", Value::Uint(program)), ("flops", Value::Double(flops))],
            );
            tpu.event(name, start * US, us * US, &[]);
        }
        with_evidence(vec![tpu], |evidence| {
            let variants = evidence.variants("jit_step");
            assert!((variants.first_runs_ps(|_| true) - 160.0 * US as f64).abs() < 1.0, "{variants:?}");
            assert!(variants.is_estimated);
        });
    }
}
