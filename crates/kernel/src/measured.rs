//! What the profile measured of the ops that carry their LLO.

use std::collections::BTreeMap;

use haloscope_profile::{Profile, split_label};
use haloscope_time::ops;
use haloscope_time::select::Selection;

use crate::carried::Carried;

/// The time of an op.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Executions, over all devices.
    pub occurrences: u64,
    /// Time of all of them, picoseconds.
    pub total_ps: i64,
}

impl Measured {
    /// Time of one execution, picoseconds.
    #[must_use]
    pub fn mean_ps(&self) -> Option<f64> {
        (self.occurrences > 0).then(|| self.total_ps as f64 / self.occurrences as f64)
    }
}

/// The name of an HLO module and of an op.
type Key = (String, String);

/// Times by HLO module and op, of each program of that name.
#[derive(Debug, Default)]
pub struct Times {
    rows: BTreeMap<Key, Vec<(Option<u64>, Measured)>>,
}

impl Times {
    /// Of what a scope selects; without any where the run has no events there.
    #[must_use]
    pub fn new(profile: &Profile, selection: Option<&Selection<'_>>) -> Self {
        let mut times = Self::default();
        let Some(selection) = selection else { return times };
        for op in ops::collect(profile, selection) {
            let module = split_label(&op.module).0.to_owned();
            let time = Measured { occurrences: op.occurrences, total_ps: op.total_ps };
            times
                .rows
                .entry((module, op.meta.name.into_owned()))
                .or_default()
                .push((op.meta.program_id, time));
        }
        times
    }

    /// The time of an op. LLO names the HLO module and not the program: where several programs have one name, and an op of this name
    /// each, nobody can tell whose it is, and there is none.
    #[must_use]
    pub fn of(&self, kernel: &Carried<'_>) -> Option<Measured> {
        let key = (split_label(kernel.module()).0.to_owned(), kernel.op().to_owned());
        match self.rows.get(&key).map(Vec::as_slice) {
            Some([(_, time)]) => Some(*time),
            _ => None,
        }
    }

    /// Whether several programs claim an op: see [`Times::of`].
    #[must_use]
    pub fn is_ambiguous(&self, kernel: &Carried<'_>) -> bool {
        let key = (split_label(kernel.module()).0.to_owned(), kernel.op().to_owned());
        self.rows.get(&key).is_some_and(|found| found.len() > 1)
    }
}
