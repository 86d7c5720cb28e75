//! The calls that compile while devices work, each from tracing to launch, and what differs between the programs that they
//! compile.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_profile::Decoded;
use haloscope_program::variants::Difference;
use haloscope_time::intervals::Intervals;

use super::Evidence;

/// A function that ran as several programs.
#[derive(Debug, Clone)]
pub(crate) struct Several {
    /// The programs' name, such as `jit_step`.
    pub module: String,
    /// Different programs that ran.
    pub ids: usize,
    /// In what they differ; `None` where the profile does not hold two of them.
    pub difference: Option<Difference>,
    /// What the first runs of these programs took longer than the fastest run of any, summed over devices, picoseconds.
    pub first_runs_ps: f64,
}

impl Evidence<'_> {
    /// The function that ran as most programs; `None` where each ran as one. Functions with less than `worth` of the
    /// programs' time are left out: frameworks' helpers are compiled for many shapes.
    pub(crate) fn several_programs(&self, worth: f64) -> Option<Several> {
        let mut ids: BTreeMap<&str, (BTreeSet<u64>, i64)> = BTreeMap::new();
        let mut all = 0_i64;
        for launch in self.accounts().iter().flatten().flat_map(|account| &account.launches) {
            let length = launch.end_ps - launch.start_ps;
            all = all.saturating_add(length);
            let own = ids.entry(&launch.module).or_default();
            own.0.extend(launch.program_id);
            own.1 = own.1.saturating_add(length);
        }
        let worth = ids.into_iter().filter(|(module, (own, ps))| {
            !module.is_empty() && own.len() > 1 && *ps as f64 >= worth * all as f64
        });
        let (module, (own, _)) = worth.max_by_key(|(_, (own, ps))| (own.len(), *ps))?;
        let held: Vec<&Decoded> = own.iter().filter_map(|id| self.program(*id)).collect();
        let modules: Vec<_> = held.iter().map(|decoded| &decoded.module).collect();
        let mut fingerprints: Vec<u64> =
            modules.iter().map(|module| module.structural_fingerprint()).collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        // A new program's first run is longer: buffers, caches, kernels that are built when first called.
        let mut seen = BTreeSet::new();
        let first_runs_ps = self.beyond_fastest_ps(
            |one| one.module.clone(),
            |device, one| one.module == module && seen.insert((device, one.program_id)),
        );
        let difference = (modules.len() > 1).then(|| Difference::of(&modules, fingerprints.len()));
        Some(Several { module: module.to_owned(), ids: own.len(), difference, first_runs_ps })
    }
}

/// The calls of jitted functions in which a host compiles: all of such a call is due to the compilation, because a function that
/// is known already is neither traced nor lowered. `calls`: those of the thread that launches; `compiles`: all threads'.
pub(super) fn compiling_calls(calls: &[(i64, i64)], compiles: &Intervals) -> Intervals {
    let compiles = compiles.as_slice();
    let holds_one = |call: &&(i64, i64)| {
        let first = compiles.partition_point(|compile| compile.0 < call.0);
        compiles.get(first).is_some_and(|compile| compile.1 <= call.1)
    };
    Intervals::union_of(calls.iter().filter(holds_one).copied().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_compiles_is_taken_whole() {
        let compiles = Intervals::union_of(vec![(20, 30), (120, 130)]);
        let found = compiling_calls(&[(10, 50), (60, 90), (125, 140)], &compiles);
        // The second compiles nothing; the third began while another thread compiled.
        assert_eq!(found, Intervals::union_of(vec![(10, 50)]));
        assert_eq!(compiling_calls(&[(10, 50)], &Intervals::default()), Intervals::default());
    }
}
