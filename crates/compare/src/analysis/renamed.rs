//! Tables `renamed` and `regrouped`: what is the same under another name, and what was cut differently.

use super::side::Side;
use haloscope_report::{Column, Table};

const RENAMED: &[Column] = &[
    Column::text("was", "Was", "The op's name in the baseline."),
    Column::text("is", "Is", "Its name in the experiment."),
    Column::duration("baseline_ps", "Baseline", "Its time in a step of the baseline."),
    Column::text("how", "Known by", "How it was known again."),
];

const REGROUPED: &[Column] = &[
    Column::prose("was", "Was", "Names in the baseline."),
    Column::prose("is", "Is", "Names in the experiment."),
    Column::duration("baseline_ps", "Baseline", "Time of all of them in a step of the baseline."),
    Column::duration("experiment_ps", "Experiment", "The same in the experiment."),
    Column::duration("delta_ps", "Delta", "The difference."),
];

/// How many ops have another name.
pub(super) fn count(side: &Side<'_, '_>) -> usize {
    side.matches
        .pairs
        .iter()
        .filter(|pair| side.a.ops[pair.a].meta.name != side.b.ops[pair.b].meta.name)
        .count()
}

pub(super) fn renamed(side: &Side<'_, '_>) -> Table {
    let mut table = Table::new("renamed", "The same ops under other names", RENAMED);
    for pair in &side.matches.pairs {
        let (a, b) = (&side.a.ops[pair.a], &side.b.ops[pair.b]);
        if a.meta.name != b.meta.name {
            table.push(vec![
                a.meta.name.as_ref().into(),
                b.meta.name.as_ref().into(),
                a.mean_ps().into(),
                pair.how.word().into(),
            ]);
        }
    }
    table
}

pub(super) fn regrouped(side: &Side<'_, '_>) -> Table {
    let mut table = Table::new("regrouped", "Ops that were cut differently", REGROUPED);
    let all = |run: &crate::RunSamples<'_>, at: &[usize]| {
        let names: Vec<&str> = at.iter().filter_map(|at| run.ops.get(*at)).map(|op| &*op.meta.name).collect();
        names.join(", ")
    };
    for change in side.largest() {
        if change.group.a.len() + change.group.b.len() > 2 {
            table.push(vec![
                all(side.a, &change.group.a).into(),
                all(side.b, &change.group.b).into(),
                change.baseline_ps.into(),
                change.experiment_ps.into(),
                change.effects.delta_ps.into(),
            ]);
        }
    }
    table
}
