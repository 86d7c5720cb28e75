//! Table `programs`: which program is which, and how much of it is the same.

use crate::{Matches, ProgramSide};
use haloscope_report::{Cell, Table, row};

/// The programs, longest first.
pub(super) fn programs(matches: &Matches<'_>) -> Table {
    let mut rows = Vec::new();
    for pair in &matches.programs {
        let name = |side: &ProgramSide<'_>| match &side.hlo {
            Some(program) => program.label(),
            None => side.module.to_string(),
        };
        let (a, b) = (pair.a.as_ref(), pair.b.as_ref());
        let was = a.map(name).filter(|name| !name.is_empty());
        let is = b.map(name).filter(|name| !name.is_empty());
        let print = |side: Option<&ProgramSide<'_>>| {
            side.and_then(|side| side.hlo).map(|program| program.decoded.module.structural_fingerprint())
        };
        let same = print(a).zip(print(b)).map(|(a, b)| a == b);
        let count = |side: Option<&ProgramSide<'_>>| -> Cell {
            let hlo = side.and_then(|side| side.hlo);
            hlo.map(|program| program.decoded.module.instructions().len()).into()
        };
        let time = |side: Option<&ProgramSide<'_>>| side.map(|side| side.time_ps);
        let delta = time(b).unwrap_or(0.0) - time(a).unwrap_or(0.0);
        let row = row![
            text(
                "program",
                "Program",
                "Its name in the experiment; in the baseline, if only that has it.",
                is.clone().or_else(|| was.clone()).unwrap_or_else(|| "no program".to_owned())
            ),
            text("was", "Was", "Its name in the baseline.", was),
            text(
                "how",
                "Matched by",
                "name; content (another name, the same computation); time (the longest programs left, with mostly the same instructions).",
                pair.how.map(|how| how.word())
            ),
            flag(
                "same",
                "Same",
                "Whether both compute the same, whatever the names of their instructions; unknown without HLO.",
                same
            ),
            duration(
                "baseline_ps",
                "Baseline",
                "Time of its ops in a step of the baseline, mean over the devices.",
                time(a)
            ),
            duration("experiment_ps", "Experiment", "The same in the experiment.", time(b)),
            duration("delta_ps", "Delta", "Experiment minus baseline.", delta),
            count(
                "baseline_instructions",
                "Instructions before",
                "Instructions in the baseline, fused ones included.",
                count(a)
            ),
            count("experiment_instructions", "Instructions now", "The same in the experiment.", count(b)),
            count(
                "aligned",
                "Aligned",
                "Instructions of the baseline that have a counterpart.",
                pair.alignment.as_ref().map(|alignment| alignment.pairs().count())
            ),
        ];
        rows.push(row);
    }
    Table::of("programs", "Programs", rows)
}
