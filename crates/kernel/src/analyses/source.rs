//! `kernel source`: which lines, scopes and primitives a kernel's bundles are of.

use std::collections::BTreeMap;

use haloscope_llo::Info;
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
#[derive(Clone)]
struct Part {
    instructions: u64,
    runs: Option<f64>,
    /// Those of its instructions in order: several of one bundle may follow each other.
    bundles: Vec<u32>,
}

/// Lines, scopes or primitives. Their names are looked up once for each row of the source map, not for each instruction.
struct Parts {
    names: BTreeMap<Option<String>, usize>,
    of_info: Vec<usize>,
    parts: Vec<Part>,
}

/// The part of instructions of which nothing is known.
const NOBODY: usize = 0;

impl Parts {
    fn new(lines: &Lines<'_, '_>, name: impl Fn(&Info) -> Option<String>) -> Self {
        let mut names = BTreeMap::from([(None, NOBODY)]);
        let of = |info: &Info| {
            let next = names.len();
            *names.entry(name(info)).or_insert(next)
        };
        let of_info = lines.all().iter().map(of).collect();
        let parts = vec![Part { instructions: 0, runs: Some(0.0), bundles: Vec::new() }; names.len()];
        Self { names, of_info, parts }
    }

    /// Counts an instruction, and says whether it has a name.
    fn add(&mut self, info: Option<u32>, runs: Option<f64>, bundle: Option<u32>) -> bool {
        let at = info.and_then(|info| self.of_info.get(info as usize).copied()).unwrap_or(NOBODY);
        let part = &mut self.parts[at];
        part.instructions += 1;
        part.runs = part.runs.zip(runs).map(|(sum, runs)| sum + runs);
        part.bundles.extend(bundle.filter(|bundle| part.bundles.last() != Some(bundle)));
        at != NOBODY
    }

    /// Those that have an instruction, by name.
    fn into_named(self) -> Vec<(Option<String>, Part)> {
        let Self { names, mut parts, .. } = self;
        let take = |(name, at): (Option<String>, usize)| {
            let empty = Part { instructions: 0, runs: None, bundles: Vec::new() };
            let mut part = std::mem::replace(&mut parts[at], empty);
            part.bundles.sort_unstable();
            part.bundles.dedup();
            (part.instructions > 0).then_some((name, part))
        };
        names.into_iter().filter_map(take).collect()
    }
}

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let lines = Lines::new(&subject.module);
    let mut by_line = Parts::new(&lines, |info| lines.line_of(info));
    let mut by_scope = Parts::new(&lines, |info| lines.scope_of(info));
    let mut by_primitive = Parts::new(&lines, |info| lines.primitive_of(info));
    let mut with_source = 0_u64;
    for (row, instruction) in subject.module.instructions.iter().enumerate() {
        let runs = subject.model.runs.get(instruction.group).copied().flatten();
        let info = lines.number(row);
        with_source += u64::from(by_line.add(info, runs, instruction.bundle));
        by_scope.add(info, runs, instruction.bundle);
        by_primitive.add(info, runs, instruction.bundle);
    }
    let [by_line, by_scope, by_primitive] = [by_line, by_scope, by_primitive].map(Parts::into_named);
    if with_source == 0 {
        notes.add(
            "no_source_map",
            Severity::Info,
            "no instruction has a source line",
            "the tables have one row each",
            "compile with `--xla_xprof_register_llo_debug_info=true`; fusions of XLA have lines only in the HLO: use `source`",
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
        "Instructions with a line in the source map.",
    ));
    Ok(Report { values, tables, ..Report::default() })
}

fn rows(subject: &Subject<'_>, mut parts: Vec<(Option<String>, Part)>) -> Vec<Row<impl Columns + use<>>> {
    // The names' order decides between equals.
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
                "How often they run in one run of the kernel, with every branch taken.",
                part.runs
            ),
            count(
                "bundles",
                "Bundles",
                "Bundles with at least one of them: a bundle of several lines counts for each.",
                part.bundles.len()
            ),
            float(
                "modelled_bundles",
                "Modelled",
                Unit::Count,
                "These bundles times how often they run, with every branch taken.",
                modelled
            ),
        ]
    };
    parts.into_iter().take(ROWS).map(row).collect()
}
