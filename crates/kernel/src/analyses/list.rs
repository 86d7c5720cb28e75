//! `kernel list`: every op that carries its LLO.

use haloscope_llo::{Chip, Liveness, RegisterType, Space};
use haloscope_report::{Columns, Error, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use super::{ROWS, cut};
use crate::measured::Times;
use crate::subject::{self, NEEDS, Subject};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel list",
    label: "All kernels",
    group: MenuGroup::Work,
    question: "Which TPU ops can be inspected bundle by bundle, and what keeps each busy?",
    params: &[],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel list logs",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let all = subject::carried_in(asked, notes)?;
    let times = Times::new(asked.profile, asked.selection().ok());
    let mut rows = Vec::new();
    let mut measured_ps = 0_i64;
    for kernel in &all {
        match subject::read(kernel, &times) {
            Ok(subject) => {
                let time = subject.measured.map_or(-1, |time| time.total_ps);
                measured_ps = measured_ps.saturating_add(time.max(0));
                let modelled = subject.model.most().unwrap_or(subject.module.bundles() as f64);
                rows.push((time, modelled, line(&subject)));
            }
            Err(why) => notes.add(
                "unreadable_kernel",
                Severity::Warning,
                why.to_string(),
                "it is not listed",
                "fetch the original file again",
            ),
        }
    }
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    cut(notes, "kernels", rows.len());
    let values = vec![
        Value::new(
            "kernels",
            "Kernels",
            Some(all.len()),
            Unit::Count,
            Status::Measured,
            "Ops with their LLO, including fusions of XLA; an op of several hosts counts once.",
        ),
        Value::new(
            "time_ps",
            "Time of kernels",
            Some(measured_ps).filter(|time| *time > 0),
            Unit::Ps,
            Status::Measured,
            "Time of their executions in the scope, over devices; unknown without a timeline.",
        ),
    ];
    let table = Table::of("kernels", "Kernels by time", rows.into_iter().take(ROWS).map(|row| row.2));
    Ok(Report { values, tables: vec![table], ..Report::default() })
}

fn line(subject: &Subject<'_>) -> Row<impl Columns + use<>> {
    let (module, model) = (&subject.module, &subject.model);
    let hot = model.hot();
    let inside =
        hot.map_or_else(|| crate::model::Use::of(module, 0..module.bundles()), |hot| hot.once.clone());
    let busiest = inside.busiest();
    let whole = crate::model::Use::of(module, 0..module.bundles());
    let peaks = Liveness::new(module).register_peaks();
    row![
        text(
            "kernel",
            "Kernel",
            "HLO module, the compiler's number of it, and HLO instruction.",
            subject.name.as_str()
        ),
        duration(
            "total_ps",
            "Time",
            "Measured: of all executions in the scope, over devices.",
            subject.measured.map(|m| m.total_ps)
        ),
        count("occurrences", "Count", "Executions in the scope.", subject.measured.map(|m| m.occurrences)),
        count("instructions", "Instructions", "Instructions of all its regions.", module.instructions.len()),
        count(
            "bundles",
            "Bundles",
            "Length of the schedule, before empty bundles become delays.",
            module.bundles()
        ),
        float(
            "modelled_bundles",
            "Modelled",
            Unit::Count,
            "Bundles times the trips of the loops around them, with every branch taken; unknown if loop bounds are known only at run time.",
            model.most()
        ),
        count(
            "hot_trips",
            "Hot loop's trips",
            "Trips of the loop that takes the most bundles.",
            hot.and_then(|hot| hot.trips)
        ),
        count("hot_bundles", "Hot loop's bundles", "Bundles of its body.", hot.map(|hot| hot.once.bundles)),
        text(
            "busiest_unit",
            "Busiest unit",
            "The unit that would need the most bundles of that body, or of the kernel if it has no loop.",
            busiest.map(|(unit, _)| unit.word())
        ),
        share(
            "busiest_share",
            "Of its capacity",
            "How much of that unit's capacity is used there.",
            busiest.and_then(|(unit, _)| inside.share(unit))
        ),
        share("empty_share", "Empty", "Share of bundles there that use no unit.", inside.empty_share()),
        count(
            "spills",
            "Spills",
            "Vectors stored because no register was free, in the code; `kernel spills` says how often they run.",
            whole.spills
        ),
        count("fills", "Fills", "Vectors loaded again, in the code.", whole.fills),
        count(
            "vector_registers",
            "Vector registers",
            "The most vector registers that hold a value at once.",
            peaks.get(&RegisterType::Vector).map(|n| u64::from(*n))
        ),
        bytes(
            "vmem_bytes",
            "VMEM",
            "Vector memory of its own, each allocation once.",
            module.allocated_bytes(Space::Vmem)
        ),
        text("chip", "Chip", "What it was compiled for.", subject.chip().map(Chip::name)),
    ]
}
