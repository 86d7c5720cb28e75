//! Tables `renamed` and `regrouped`: what is the same under another name, and what was cut differently.

use super::side::Side;
use haloscope_report::{Table, row};

/// How many ops have another name.
pub(super) fn count(side: &Side<'_, '_>) -> usize {
    side.matches
        .pairs
        .iter()
        .filter(|pair| side.a.ops[pair.a].meta.name != side.b.ops[pair.b].meta.name)
        .count()
}

pub(super) fn renamed(side: &Side<'_, '_>) -> Table {
    let mut rows = Vec::new();
    for pair in &side.matches.pairs {
        let (a, b) = (&side.a.ops[pair.a], &side.b.ops[pair.b]);
        if a.meta.name != b.meta.name {
            let row = row![
                text("was", "Was", "The op's name in the baseline.", a.meta.name.as_ref()),
                text("is", "Is", "Its name in the experiment.", b.meta.name.as_ref()),
                duration("baseline_ps", "Baseline", "Its time in a step of the baseline.", a.mean_ps()),
                text("how", "Matched by", "How it was matched.", pair.how.word()),
            ];
            rows.push(row);
        }
    }
    Table::of("renamed", "The same ops under other names", rows)
}

pub(super) fn regrouped(side: &Side<'_, '_>) -> Table {
    let mut rows = Vec::new();
    let all = |run: &crate::RunSamples<'_>, at: &[usize]| {
        let names: Vec<&str> = at.iter().filter_map(|at| run.ops.get(*at)).map(|op| &*op.meta.name).collect();
        names.join(", ")
    };
    for change in side.largest() {
        if change.group.a.len() + change.group.b.len() > 2 {
            let row = row![
                prose("was", "Was", "Names in the baseline.", all(side.a, &change.group.a)),
                prose("is", "Is", "Names in the experiment.", all(side.b, &change.group.b)),
                duration(
                    "baseline_ps",
                    "Baseline",
                    "Time of all of them in a step of the baseline.",
                    change.baseline_ps
                ),
                duration("experiment_ps", "Experiment", "The same in the experiment.", change.experiment_ps),
                duration("delta_ps", "Delta", "The difference.", change.effects.delta_ps),
            ];
            rows.push(row);
        }
    }
    Table::of("regrouped", "Ops that were split or merged", rows)
}
