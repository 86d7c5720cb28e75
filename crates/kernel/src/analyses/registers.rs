//! `kernel registers`: how many registers a kernel needs, and where.

use haloscope_llo::{Chip, Liveness, RegisterType};
use haloscope_report::{Error, Notes, Report, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use crate::subject::{NEEDS, OP, Subject};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel registers",
    label: "Registers",
    group: MenuGroup::Work,
    question: "How many registers does a TPU kernel need at once, and where are they scarce?",
    params: &[OP],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel registers logs --op matmul",
    also: &[],
    run: Run::Of(run),
};

/// Stretches of bundles that have a row.
const HOTTEST: usize = 50;

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let live = Liveness::new(&subject.module);
    let mut registers = live.registers();
    let (peaks, values) = (live.register_peaks(), live.value_peaks());
    let of = |kind: &RegisterType| match kind {
        RegisterType::Vector => subject.chip().map(|chip| u64::from(Chip::vector_registers(chip))),
        _ => None,
    };
    let types = peaks.iter().map(|(kind, peak)| {
        row![
            text("type", "Type", "Vector, vector mask, scalar or predicate registers, by XProf's words.", kind.word()),
            count("peak", "Peak", "The most registers that hold a value at once. Loops are not followed back: a value counts up to its last use in the code.", u64::from(*peak)),
            count("of", "Of", "Registers of this type that the core has, if known.", of(kind)),
            count("values", "Values", "The most values kept at once: two in one register count twice, as in XProf.", values.get(kind).map(|n| u64::from(*n))),
        ]
    });
    let types = Table::of("types", "Registers by type", types);
    let vectors =
        |stretch: &haloscope_llo::Pressure| stretch.by_type.get(&RegisterType::Vector).copied().unwrap_or(0);
    registers.sort_by_key(|stretch| (std::cmp::Reverse((vectors(stretch), stretch.total())), stretch.first));
    let hottest = registers.iter().take(HOTTEST).map(|stretch| {
        row![
            count("first_bundle", "From", "First bundle.", u64::from(stretch.first)),
            count("last_bundle", "To", "Last bundle.", u64::from(stretch.last)),
            count("vector", "Vector", "Vector registers that hold a value.", u64::from(vectors(stretch))),
            count("all", "All", "Registers of all types.", stretch.total()),
            text("region", "Region", "Path of the first bundle's region.", subject.region(stretch.first)),
        ]
    });
    let hottest = Table::of("hottest", "Bundles with the most vector registers", hottest);
    let mut out = subject.values();
    out.push(Value::new(
        "vector_registers",
        "Vector registers",
        peaks.get(&RegisterType::Vector).map(|n| u64::from(*n)),
        Unit::Count,
        Status::Derived,
        "The most that hold a value at once.",
    ));
    Ok(Report { values: out, tables: vec![types, hottest], ..Report::default() })
}
