//! What a profile measured of one program's instructions.

use rustc_hash::FxHashMap;

use haloscope_profile::Profile;
use haloscope_time::ops;
use haloscope_time::programs::{self, Program};
use haloscope_time::select::Selection;

/// Times of a program's instructions, by name, summed over the devices of a scope.
#[derive(Debug, Default)]
pub(super) struct OpTimes {
    rows: FxHashMap<String, OpTime>,
    /// Executions of the program, summed over devices.
    pub(super) launches: u64,
    /// Time of all of them, picoseconds.
    pub(super) total_ps: i64,
}

/// The time of one instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OpTime {
    /// Executions.
    pub(super) occurrences: u64,
    /// Time less that of ops inside, picoseconds.
    pub(super) self_ps: i64,
}

impl OpTimes {
    /// What the profile measured of a program in what a scope selects; `None` where the run has no events of it there.
    pub(super) fn of(profile: &Profile, selection: &Selection<'_>, program: &Program<'_>) -> Option<Self> {
        let mut found = Self::default();
        for time in programs::times(profile, Some(selection)).iter().filter(|time| time.is_of(program.entry))
        {
            found.launches += time.launches;
            found.total_ps = found.total_ps.saturating_add(time.total_ps);
        }
        for op in ops::collect(profile, selection) {
            if programs::is_of(program.entry, op.meta.program_id, &op.module) {
                let row = found.rows.entry(op.meta.name.into_owned()).or_default();
                row.occurrences += op.occurrences;
                row.self_ps = row.self_ps.saturating_add(op.self_ps);
            }
        }
        (found.launches > 0 || !found.rows.is_empty()).then_some(found)
    }

    /// The time of the instruction of this name.
    pub(super) fn get(&self, name: &str) -> Option<OpTime> {
        self.rows.get(name).copied()
    }
}
