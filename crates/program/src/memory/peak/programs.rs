//! Which programs there are, and which of them is asked about: the one that needs the most.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::heap::Buffers;
use crate::program_memory::ProgramMemory;
use haloscope_profile::{HloModule, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::stop;
use haloscope_report::{Notes, Severity, Table, row};
use haloscope_time::programs::{self, Program};

/// What a program needs of the memory.
struct Need {
    peak_bytes: i64,
    lasting_bytes: i64,
    temporary_bytes: Option<i64>,
    allocated_bytes: i64,
}

/// The programs of the scope.
pub(super) struct Programs<'p>(Vec<(Program<'p>, Option<Need>)>);

impl<'p> Programs<'p> {
    pub(super) fn of(profile: &'p Profile, scope: &Scope, space: i64) -> Result<Self, Error> {
        let programs = programs::in_scope(profile, scope)?;
        let need = |program: Program<'p>| {
            let buffers = Buffers::new(&program.decoded.module);
            let need = buffers.map(|buffers| {
                let memory = ProgramMemory::new(&buffers, space);
                Need {
                    peak_bytes: memory.peak_bytes(),
                    lasting_bytes: memory.lasting_bytes(),
                    temporary_bytes: memory.temporary_bytes(),
                    allocated_bytes: memory.allocated_bytes(),
                }
            });
            (program, need)
        };
        Ok(Self(programs.into_par_iter().map(stop::carried(need)).collect()))
    }

    /// How many there are: what several hosts hold a copy of is one.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(program, _)| program.label()).collect::<BTreeSet<String>>().len()
    }

    /// The program with this name, of several and without a name the one with the largest peak.
    pub(super) fn choose(
        &self,
        profile: &'p Profile,
        scope: &Scope,
        word: &str,
    ) -> Result<Program<'p>, Error> {
        let key = |entry: &HloModule| std::ptr::from_ref(entry) as usize;
        let peaks: BTreeMap<usize, i64> =
            self.0.iter().filter_map(|(p, need)| Some((key(p.entry), need.as_ref()?.peak_bytes))).collect();
        programs::choose(profile, scope, word, |p| peaks.get(&key(p.entry)).copied().unwrap_or(-1))
    }

    pub(super) fn remark(&self, notes: &mut Notes) {
        let without: Vec<_> = self.0.iter().filter(|(_, need)| need.is_none()).collect();
        if let Some((first, _)) = without.first() {
            notes.add(
                "no_buffer_assignment",
                Severity::Info,
                format!(
                    "{} of {} programs have no buffer assignment, such as {}",
                    without.len(),
                    self.len(),
                    first.label()
                ),
                "their need is unknown, so one of them may need more than the one shown",
                "give modules after optimisations, as protos",
            );
        }
    }

    /// Largest first; programs of unknown need last.
    pub(super) fn table(&self, profile: &Profile, chosen: &Program<'p>) -> Table {
        let mut order: Vec<_> = self.0.iter().collect();
        order.sort_by_key(|(_, need)| std::cmp::Reverse(need.as_ref().map(|need| need.peak_bytes)));
        let mut rows = Vec::new();
        for (program, need) in order {
            let host = profile.hosts.get(program.entry.host.index()).map(|host| host.name.as_str());
            let need = need.as_ref();
            let row = row![
                text("program", "Program", "The HLO module, with its program id.", program.label()),
                text("host", "Host", "The host whose profile has it: each has its own copy.", host),
                flag(
                    "is_shown",
                    "Shown",
                    "Whether the other tables are about this one.",
                    std::ptr::eq(program.entry, chosen.entry)
                ),
                bytes(
                    "peak_bytes",
                    "Peak",
                    "The most bytes alive at once; unknown without a buffer assignment.",
                    need.map(|n| n.peak_bytes)
                ),
                bytes(
                    "lasting_bytes",
                    "Lasting",
                    "Of the peak: parameters, outputs and constants, alive from start to end.",
                    need.map(|n| n.lasting_bytes)
                ),
                bytes(
                    "temporary_bytes",
                    "Temporary",
                    "Of the peak: what the heap simulator placed.",
                    need.and_then(|n| n.temporary_bytes)
                ),
                bytes(
                    "allocated_bytes",
                    "Allocated",
                    "All allocations except thread-local ones, including holes between buffers.",
                    need.map(|n| n.allocated_bytes)
                ),
            ];
            rows.push(row);
        }
        Table::of("programs", "Programs by peak", rows)
    }
}
