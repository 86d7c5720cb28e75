//! `kernel spills`: what found no register, and what that costs.

use haloscope_llo::SpillKind;
use haloscope_report::{Error, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;

use super::{ROWS, cut};
use crate::dump;
use crate::subject::{NEEDS, OP, Subject};
use crate::values::Values;

const WITHOUT: Param = Param {
    id: "without",
    doc: "the compiler's schedule analysis of the stage packed-bundles-no-spills-fills: with it, the cost of spills is known",
    kind: ParamKind::Document,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel spills",
    label: "Spills",
    group: MenuGroup::Work,
    question: "Does a TPU kernel spill registers, on which lines, and do spills cost time?",
    params: &[OP, WITHOUT],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel spills logs --op layernorm",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let module = &subject.module;
    let text = params.text(&WITHOUT);
    let given = dump::analysis(text).and_then(|stage| stage.bundles);
    if !text.is_empty() && given.is_none() {
        return Err(Error::Usage(
            "`without`: expected a schedule analysis with a line `total scheduled bundles:`, found none"
                .into(),
        ));
    }
    let found: Vec<_> = module
        .instructions
        .iter()
        .enumerate()
        .filter_map(|(row, i)| Some((row, i, module.spill(i)?)))
        .collect();
    let count = |kind| found.iter().filter(|each| each.2 == kind).count() as u64;
    let runs = |kind| -> Option<f64> {
        found
            .iter()
            .filter(|each| each.2 == kind)
            .map(|each| subject.model.runs.get(each.1.group).copied().flatten())
            .sum()
    };
    // Who makes and who uses which value is asked of spills only.
    let sources = (!found.is_empty()).then(|| Values::new(module));
    cut(notes, "spills", found.len());
    let rows = found.iter().take(ROWS).map(|(row, instruction, kind)| {
        row![
            text(
                "kind",
                "Kind",
                "Whether a vector or a scalar is stored (spill) or loaded again (fill).",
                kind.word()
            ),
            count(
                "bundle",
                "Bundle",
                "Its bundle; unknown if it was not scheduled.",
                instruction.bundle.map(u64::from)
            ),
            text("opcode", "Opcode", "The instruction.", instruction.opcode.name().into_owned()),
            float(
                "runs",
                "Runs",
                Unit::Count,
                "How often it runs in one run of the kernel, with every branch taken.",
                subject.model.runs.get(instruction.group).copied().flatten()
            ),
            text("region", "Region", "Path of its region.", module.path(instruction.group)),
            text(
                "value_source",
                "Value's source",
                "Line that makes the stored value; for a fill, the line that uses the loaded value. Instructions that the compiler put in between are skipped.",
                sources.as_ref().and_then(|sources| sources.line(*row))
            ),
        ]
    });
    let table = Table::of("spills", "Spills and fills", rows);
    let allocations = module.allocations();
    let of_spills = allocations.values().filter(|allocation| allocation.is_spill);
    let spill_bytes = of_spills.fold(0_i64, |sum, allocation| sum.saturating_add(allocation.bytes));
    let length = i64::try_from(module.bundles()).ok();
    let of_text = length.zip(given.and_then(|n| i64::try_from(n).ok())).map(|(with, without)| with - without);
    let cost = of_text.or_else(|| subject.stages(asked.profile)?.spill_cost());
    if cost.is_none() && count(SpillKind::VectorSpill) > 0 {
        notes.add(
            "unknown_cost",
            Severity::Info,
            "the run does not say how long the kernel would be without its spills",
            "their cost is unknown; it is often zero, because loads and stores fit into free slots",
            "dump with `--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true --xla_jf_dump_llo_proto=true`, and analyse DIR, or give its schedule analysis of packed-bundles-no-spills-fills with --without",
        );
    }
    let mut values = subject.values();
    let of =
        |id, label, value: Option<u64>, doc| Value::new(id, label, value, Unit::Count, Status::Derived, doc);
    values.extend([
        of("vector_spills", "Vector spills", Some(count(SpillKind::VectorSpill)), "Instructions that store a vector because no register was free."),
        of("vector_fills", "Vector fills", Some(count(SpillKind::VectorFill)), "Instructions that load one again."),
        of("scalar_spills", "Scalar spills", Some(count(SpillKind::ScalarSpill)), "Instructions that store a scalar because no register was free; the compiler's tables do not count these."),
        of("scalar_fills", "Scalar fills", Some(count(SpillKind::ScalarFill)), "Instructions that load one again."),
        Value::new("vector_spill_runs", "Vector spills that run", runs(SpillKind::VectorSpill), Unit::Count, Status::Estimated, "How often they run in one run of the kernel, with every branch taken."),
        Value::new("spill_bytes", "Memory for spills", Some(spill_bytes), Unit::Bytes, Status::Derived, "Allocations for values that did not fit into registers, each once, in all memories."),
        Value::new("cost_bundles", "Cost", cost, Unit::Count, Status::Estimated, "Bundles of one pass that spills and fills add: the schedule's length minus its length if these took no slots, from a dump or --without. 0 if free slots were enough, below 0 if the packing happened to be better with them; unknown without either."),
    ]);
    Ok(Report { values, tables: vec![table], ..Report::default() })
}
