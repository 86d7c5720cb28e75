//! `kernel bundles`: what each bundle uses.

use std::collections::BTreeMap;

use haloscope_llo::{InstructionIdx, UnitIdx};
use haloscope_report::{Columns, Error, Notes, Report, Row, Table, Unit, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;

use crate::lines::Lines;
use crate::subject::{NEEDS, OP, Subject};

const FIRST: Param =
    Param { id: "first", doc: "the first bundle to show", kind: ParamKind::Count, default: "0" };
const COUNT: Param =
    Param { id: "count", doc: "how many bundles to show", kind: ParamKind::Count, default: "2000" };

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel bundles",
    label: "Bundles",
    group: MenuGroup::Work,
    question: "What does each bundle of a TPU kernel do, and which source line is it from?",
    params: &[OP, FIRST, COUNT],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel bundles logs --op matmul --first 100 --count 50",
    also: &[],
    run: Run::Of(run),
};

/// Bundles that have a row at most.
const MOST: usize = 20_000;

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let all = subject.module.bundles();
    let first = params.count(&FIRST);
    if first >= all && all > 0 {
        return Err(Error::Usage(format!(
            "`first`: {} has bundles 0 to {}, found {first}",
            subject.name,
            all - 1
        )));
    }
    let limit = first.saturating_add(params.count(&COUNT).min(MOST)).min(all);
    let mut inside: BTreeMap<usize, Vec<InstructionIdx>> = BTreeMap::new();
    for (row, instruction) in subject.module.instructions.iter().enumerate() {
        if let Some(bundle) = instruction.bundle.map(|b| b as usize).filter(|b| (first..limit).contains(b)) {
            inside.entry(bundle).or_default().push(row);
        }
    }
    let lines = Lines::new(&subject.module);
    let rows = (first..limit)
        .map(|bundle| line(&subject, &lines, bundle, inside.get(&bundle).map_or(&[][..], Vec::as_slice)));
    let table = Table::of("bundles", "Bundles", rows);
    Ok(Report { values: subject.values(), tables: vec![table], ..Report::default() })
}

fn line(
    subject: &Subject<'_>,
    lines: &Lines<'_, '_>,
    bundle: usize,
    rows: &[InstructionIdx],
) -> Row<impl Columns + use<>> {
    let utilization = &subject.module.utilization;
    let used = |unit| u64::from(utilization.used(unit, bundle));
    let of = |list: &[u32]| list.get(bundle).copied().map_or(0, u64::from);
    let mut places: Vec<String> = rows.iter().filter_map(|row| lines.line(*row)).collect();
    places.sort_unstable();
    places.dedup();
    let words: Vec<_> = rows
        .iter()
        .filter_map(|row| subject.module.instructions.get(*row))
        .map(|i| i.opcode.name())
        .collect();
    row![
        count("bundle", "Bundle", "Its number in the schedule before empty bundles become delays.", bundle),
        text(
            "region",
            "Region",
            "Path of its region.",
            u32::try_from(bundle).ok().and_then(|b| subject.region(b))
        ),
        float(
            "runs",
            "Runs",
            Unit::Count,
            "How often it runs in one run of the kernel, every branch taken.",
            subject.model.runs_of(bundle)
        ),
        count("mxu", "MXU", "How much of the matrix units it uses.", used(UnitIdx::Mxu)),
        count("xlu", "XLU", "Of the cross-lane units.", used(UnitIdx::Xlu)),
        count("vector_alu", "VALU", "Of vector arithmetic.", used(UnitIdx::VectorAlu)),
        count("vector_eup", "EUP", "Of the unit for transcendental functions.", used(UnitIdx::VectorEup)),
        count("vector_load", "Loads", "Of vector loads.", used(UnitIdx::VectorLoad)),
        count("vector_store", "Stores", "Of vector stores.", used(UnitIdx::VectorStore)),
        count("scalar_alu", "SALU", "Of scalar arithmetic.", used(UnitIdx::ScalarAlu)),
        count("spills", "Spills", "Vectors stored because no register was free.", of(&utilization.spills)),
        count("fills", "Fills", "Vectors loaded again.", of(&utilization.fills)),
        text("opcodes", "Instructions", "What it does.", haloscope_report::Cell::words(&words.join(", "))),
        text(
            "source",
            "Source",
            "Source lines of its instructions.",
            haloscope_report::Cell::words(&places.join(", "))
        ),
    ]
}
