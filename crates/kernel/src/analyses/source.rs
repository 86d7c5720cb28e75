//! `kernel source`: which lines, scopes and primitives a kernel's bundles are of.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_report::{Columns, Error, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use super::{ROWS, cut};
use crate::lines::Lines;
use crate::subject::{NEEDS, OP, Subject};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel source",
    label: "Source",
    group: MenuGroup::Work,
    question: "Which source lines, scopes and primitives take the bundles of a TPU kernel?",
    params: &[OP],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel source logs --op matmul",
    also: &[],
    run: Run::Of(run),
};

/// What one line, scope or primitive has.
#[derive(Default)]
struct Part {
    instructions: u64,
    runs: Option<f64>,
    bundles: BTreeSet<u32>,
}

type Parts = BTreeMap<Option<String>, Part>;

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let lines = Lines::new(&subject.module);
    let [mut by_line, mut by_scope, mut by_primitive] = [Parts::new(), Parts::new(), Parts::new()];
    let mut with_source = 0_u64;
    for (row, instruction) in subject.module.instructions.iter().enumerate() {
        let runs = subject.model.runs.get(instruction.group).copied().flatten();
        let line = lines.line(row);
        with_source += u64::from(line.is_some());
        for (parts, key) in [
            (&mut by_line, line),
            (&mut by_scope, lines.scope(row)),
            (&mut by_primitive, lines.primitive(row)),
        ] {
            let part = parts.entry(key).or_insert_with(|| Part { runs: Some(0.0), ..Part::default() });
            part.instructions += 1;
            part.runs = part.runs.zip(runs).map(|(sum, runs)| sum + runs);
            part.bundles.extend(instruction.bundle);
        }
    }
    if with_source == 0 {
        notes.add(
            "no_source_map",
            Severity::Info,
            "no instruction has a source line",
            "the tables have one row each",
            "compile with `--xla_xprof_register_llo_debug_info=true`; fusions of XLA have lines in the HLO only: `source`",
        );
    }
    cut(notes, "lines", by_line.len());
    let tables = vec![
        Table::of("lines", "Lines", rows(&subject, by_line)),
        Table::of("scopes", "Named scopes", rows(&subject, by_scope)),
        Table::of("primitives", "Primitives", rows(&subject, by_primitive)),
    ];
    let mut values = subject.values();
    values.push(Value::new(
        "instructions_with_source",
        "With a line",
        Some(with_source),
        Unit::Count,
        Status::Measured,
        "Instructions that the source map has a line of.",
    ));
    Ok(Report { values, tables, ..Report::default() })
}

fn rows(subject: &Subject<'_>, parts: Parts) -> Vec<Row<impl Columns + use<>>> {
    let mut parts: Vec<_> = parts.into_iter().collect();
    // The map's order decides between equals.
    parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.instructions));
    let row = |(name, part): (Option<String>, Part)| {
        let modelled: Option<f64> =
            part.bundles.iter().map(|bundle| subject.model.runs_of(*bundle as usize)).sum();
        row![
            text(
                "name",
                "Name",
                "File and line, the scopes, or the primitive; unknown for instructions without.",
                name
            ),
            count("instructions", "Instructions", "Instructions in the code.", part.instructions),
            float(
                "runs",
                "Runs",
                Unit::Count,
                "Times that they run in one run of the kernel, every branch taken.",
                part.runs
            ),
            count(
                "bundles",
                "Bundles",
                "Bundles that have one of them: a bundle of several lines counts for each.",
                part.bundles.len()
            ),
            float(
                "modelled_bundles",
                "Modelled",
                Unit::Count,
                "These bundles times how often they run, every branch taken.",
                modelled
            ),
        ]
    };
    parts.into_iter().take(ROWS).map(row).collect()
}
