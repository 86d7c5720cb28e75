//! `kernel opcodes`: what a kernel's instructions are.

use std::collections::BTreeMap;

use haloscope_llo::Opcode;
use haloscope_report::{Error, Notes, Report, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use crate::subject::{NEEDS, OP, Subject};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel opcodes",
    label: "Opcodes",
    group: MenuGroup::Work,
    question: "Which instructions does a TPU kernel have, and how often does each run?",
    params: &[OP],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel opcodes logs --op matmul",
    also: &[],
    run: Run::Of(run),
};

#[derive(Default)]
struct Count {
    code: u64,
    runs: Option<f64>,
}

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let mut counts: BTreeMap<Opcode, Count> = BTreeMap::new();
    for instruction in &subject.module.instructions {
        let count = counts.entry(instruction.opcode).or_insert(Count { code: 0, runs: Some(0.0) });
        count.code += 1;
        let runs = subject.model.runs.get(instruction.group).copied().flatten();
        count.runs = count.runs.zip(runs).map(|(sum, runs)| sum + runs);
    }
    let unknown: u64 =
        counts.iter().filter(|(opcode, _)| opcode.known_name().is_none()).map(|(_, count)| count.code).sum();
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(opcode, count)| (std::cmp::Reverse(count.code), *opcode));
    let rows = rows.into_iter().map(|(opcode, count)| {
        row![
            text("opcode", "Opcode", "Its name; if unknown, its number.", opcode.name().into_owned()),
            text("category", "Category", "What kind of work it is, by XProf's words.", opcode.category().word()),
            text("unit", "Unit", "Which unit runs it. Loads of weights and results count for the matrix unit here; XProf calls them VALU.", opcode.unit().word()),
            count("count", "Count", "Instructions in the code.", count.code),
            float("runs", "Runs", Unit::Count, "How often they run in one run of the kernel, with every branch taken.", count.runs),
        ]
    });
    let table = Table::of("opcodes", "Opcodes", rows);
    let mut values = subject.values();
    values.push(Value::new(
        "instructions",
        "Instructions",
        Some(subject.module.instructions.len()),
        Unit::Count,
        Status::Measured,
        "Instructions of all regions, including loop counters and branch checks.",
    ));
    values.push(Value::new(
        "unknown_instructions",
        "With an unknown opcode",
        Some(unknown),
        Unit::Count,
        Status::Measured,
        "Instructions whose opcode number has no known name.",
    ));
    Ok(Report { values, tables: vec![table], ..Report::default() })
}
