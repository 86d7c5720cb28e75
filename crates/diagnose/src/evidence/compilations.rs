//! What differs between the programs of a function that is compiled again and again, and what their first runs cost.

use std::collections::BTreeSet;

use haloscope_profile::Decoded;
use haloscope_program::variants::Difference;
use haloscope_time::cure::Cure;

use super::Evidence;

/// What is known of the programs that ran for one function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variants {
    /// In what they differ; `None` where the profile does not hold two of them.
    pub difference: Option<Difference>,
    /// What the first run of each took longer than the fastest run of any, summed over devices, picoseconds.
    pub first_runs_ps: f64,
}

impl Evidence<'_> {
    /// The programs of this name that ran.
    pub(crate) fn variants(&self, module: &str) -> Variants {
        let launches = self.accounts().iter().flatten().flat_map(|account| &account.launches);
        let ids: BTreeSet<u64> =
            launches.filter(|one| one.module == module).filter_map(|one| one.program_id).collect();
        let held: Vec<&Decoded> = ids.iter().filter_map(|id| self.program(*id)).collect();
        let modules: Vec<_> = held.iter().map(|decoded| &decoded.module).collect();
        let fingerprints: BTreeSet<u64> =
            modules.iter().map(|module| module.structural_fingerprint()).collect();
        let difference = (modules.len() > 1).then(|| Difference::of(&modules, fingerprints.len()));
        // A new program's first run is longer: buffers, caches, kernels that are built when first called.
        let mut seen = BTreeSet::new();
        let first_runs_ps = self.beyond_fastest_ps(
            |one| one.module.clone(),
            |device, one| one.module == module && seen.insert((device, one.program_id)),
        );
        Variants { difference, first_runs_ps }
    }
}

impl Variants {
    /// In what the programs differ, in words.
    pub(crate) fn words(&self) -> String {
        self.difference.as_ref().map_or_else(
            || "the profile holds fewer than two of these programs, so what differs is unknown".to_owned(),
            |difference| format!("the programs differ in {}", difference.words()),
        )
    }

    /// What to try, by what differs.
    pub(crate) fn cure(&self) -> &'static Cure {
        Difference::cure(self.difference.as_ref())
    }
}

#[cfg(test)]
mod tests {
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
    fn first_runs_are_held_against_the_fastest() {
        with_evidence(vec![run()], |evidence| {
            let variants = evidence.variants("jit_step");
            assert!((variants.first_runs_ps - 400.0 * US as f64).abs() < 1.0, "{variants:?}");
            // The profile holds neither program.
            assert_eq!(variants.difference, None);
            assert!(variants.words().contains("what differs is unknown"));
        });
    }
}
