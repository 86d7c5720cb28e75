//! `kernel`: what bounds one kernel.

use haloscope_llo::{Space, UNITS};
use haloscope_report::{Columns, Error, Notes, Report, Row, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::kernel_units::KernelUnit;
use haloscope_time::select::Scoped;

use crate::chip;
use crate::model::{Loop, Use};
use crate::subject::{NEEDS, OP, Subject};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel",
    label: "Kernel",
    group: MenuGroup::Work,
    question: "What limits a TPU kernel (a unit, waiting, registers or copies), and how fast could its hot loop be?",
    params: &[OP],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel logs --op matmul",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let module = &subject.module;
    let hot = subject.model.hot();
    let whole = Use::of(module, 0..module.bundles());
    let inside = hot.map_or(&whole, |hot| &hot.once);
    let units = UNITS.map(|unit| {
        row![
            text("unit", "Unit", "The unit, by XProf's word.", unit.word()),
            count("used", "Used", "How much of it the hot loop's body uses, each bundle once; for a kernel without a loop, all bundles.", inside.used[unit as usize]),
            count("capacity", "A bundle has", "How much of it one bundle can use.", inside.capacity[unit as usize]),
            share("share", "Share", "Use divided by the capacity of these bundles.", inside.share(unit)),
            count("floor_bundles", "Floor", "Bundles that this unit alone would need for its work.", inside.floor(unit)),
        ]
    });
    let mut tables = vec![
        Table::of("units", "Units in the hot loop", units),
        Table::of("loops", "Loops", subject.model.loops.iter().map(loop_row)),
        Table::of("memory", "Memory", memory(&subject)),
    ];
    tables.extend(measured_units(asked, &subject));
    let mut values = subject.values();
    values.extend(of_loop(&subject, hot, inside));
    values.extend(of_time(&subject));
    values.extend(of_memory(&subject));
    Ok(Report { values, tables, ..Report::default() })
}

/// How busy units were while it ran, by the counters that a kernel writes where it was compiled with them; `None` where it has none,
/// or other programs have an op of its name.
fn measured_units(asked: &Scoped<'_>, subject: &Subject<'_>) -> Option<Table> {
    subject.measured?;
    let op = subject.name.rsplit_once("::").map_or(subject.name.as_str(), |(_, op)| op);
    let units = KernelUnit::of_op(asked.profile, asked.selection().ok()?, op);
    (!units.is_empty()).then(|| KernelUnit::table("measured_units", "Units while it ran", &units))
}

fn of_loop(subject: &Subject<'_>, hot: Option<&Loop>, inside: &Use) -> Vec<Value> {
    let busiest = inside.busiest();
    let module = &subject.module;
    let in_loop = hot
        .and_then(|hot| module.groups.get(hot.group))
        .map_or(0..module.instructions.len(), |g| g.instructions.clone());
    let instructions = module.instructions.get(in_loop).unwrap_or_default();
    let copies = instructions.iter().filter(|i| i.opcode.is_copy()).count();
    let waits = instructions.iter().filter(|i| i.opcode.is_copy_wait()).count();
    let derived =
        |id, label, value: Option<u64>, doc| Value::new(id, label, value, Unit::Count, Status::Derived, doc);
    vec![
        derived(
            "hot_trips",
            "Trips of the hot loop",
            hot.and_then(|hot| hot.trips),
            "How often the body of the loop with the most bundles runs: (limit - start) / step. If the compiler pipelines a grid's loop, it makes two more trips than the grid has steps.",
        ),
        derived(
            "hot_bundles",
            "Bundles of its body",
            Some(inside.bundles),
            "Bundles of its body, each once; for a kernel without a loop, all bundles.",
        ),
        derived(
            "floor_bundles",
            "Floor",
            busiest.map(|(_, floor)| floor),
            "Bundles that the busiest unit alone would need for the body: with these instructions it cannot be shorter.",
        ),
        Value::new(
            "busiest_unit",
            "Busiest unit",
            busiest.map(|(unit, _)| unit.word()),
            Unit::None,
            Status::Derived,
            "The unit that sets the floor.",
        ),
        Value::new(
            "busiest_share",
            "Of its capacity",
            busiest.and_then(|(unit, _)| inside.share(unit)),
            Unit::Share,
            Status::Derived,
            "How much of that unit's capacity the body uses: near 1, the unit limits the loop; far below 1, the loop waits for results or units take turns.",
        ),
        Value::new(
            "empty_share",
            "Empty bundles",
            inside.empty_share(),
            Unit::Share,
            Status::Derived,
            "Share of the body's bundles that use no unit: they wait for results of earlier ones, or for copies.",
        ),
        derived(
            "copy_starts",
            "Copies started",
            Some(copies as u64),
            "Instructions of the hot loop that start a copy between memories.",
        ),
        derived(
            "copy_waits",
            "Waits for copies",
            Some(waits as u64),
            "Instructions of the hot loop that wait for one. How long is not in the schedule.",
        ),
        derived(
            "spills",
            "Spills",
            Some(inside.spills),
            "Vectors that the body stores because no register was free.",
        ),
        derived("fills", "Fills", Some(inside.fills), "Vectors that it loads again."),
    ]
}

fn of_time(subject: &Subject<'_>) -> Vec<Value> {
    let (most, least) = (subject.model.most(), subject.model.least());
    let clock = subject.chip().and_then(chip::clock_hz);
    let modelled_ps = most.zip(clock).map(|(bundles, hz)| bundles / hz * 1e12);
    let measured = subject.measured.and_then(|measured| measured.mean_ps());
    let ratio =
        measured.zip(modelled_ps).filter(|(_, modelled)| *modelled > 0.0).map(|(m, modelled)| m / modelled);
    let estimated =
        |id, label, value: Option<f64>, unit, doc| Value::new(id, label, value, unit, Status::Estimated, doc);
    vec![
        estimated(
            "modelled_bundles",
            "Modelled bundles, at most",
            most,
            Unit::Count,
            "Bundles times the trips of the loops around them, with every branch taken: cycles of one run, without waiting for copies. Both sides of a branch count.",
        ),
        estimated("modelled_bundles_least", "At least", least, Unit::Count, "The same with no branch taken."),
        estimated(
            "modelled_ps",
            "Modelled time, at most",
            modelled_ps,
            Unit::Ps,
            "Modelled bundles divided by the core's clock, one bundle per cycle. The clock is the data sheet's FLOP/s divided by the FLOPs of one bundle.",
        ),
        Value::new(
            "measured_ps",
            "Measured time",
            measured,
            Unit::Ps,
            Status::Measured,
            "Mean of the executions in the scope; unknown without a timeline.",
        ),
        estimated(
            "measured_over_modelled",
            "Measured / modelled",
            ratio,
            Unit::Ratio,
            "Above 1, the kernel waits for copies or for something that the schedule does not show; below 1, some counted branches were not taken.",
        ),
    ]
}

fn of_memory(subject: &Subject<'_>) -> Vec<Value> {
    let bytes = subject.module.allocated_bytes(Space::Vmem);
    let limit = subject.chip().and_then(chip::vmem_limit_bytes);
    vec![
        Value::new(
            "vmem_bytes",
            "VMEM",
            Some(bytes),
            Unit::Bytes,
            Status::Derived,
            "Vector memory of the kernel: windows, scratch and spills, each allocation once.",
        ),
        Value::new(
            "vmem_limit_bytes",
            "Limit",
            limit,
            Unit::Bytes,
            Status::Estimated,
            "What a kernel may use unless `vmem_limit_bytes` is set: libtpu 0.0.52's default for the chip, if known.",
        ),
        Value::new(
            "fits_twice",
            "Twice as much fits",
            limit.map(|limit| 2 * u128::from(bytes) <= u128::from(limit)),
            Unit::None,
            Status::Estimated,
            "Whether twice this VMEM is below the limit: then one dimension of every block can be doubled, unless something else grows faster.",
        ),
    ]
}

fn loop_row(each: &Loop) -> Row<impl Columns + use<>> {
    let busiest = each.once.busiest();
    row![
        text("path", "In", "Path of the region that contains it.", each.path.as_str()),
        count(
            "trips",
            "Trips",
            "How often its body runs; unknown if its bounds are known only at run time.",
            each.trips
        ),
        count("first_bundle", "First bundle", "First bundle of its body.", each.first),
        count("bundles", "Bundles", "Bundles of its body.", each.once.bundles),
        float(
            "modelled_bundles",
            "Modelled",
            Unit::Count,
            "Bundles directly in this loop, times how often they run, with every branch taken.",
            each.modelled
        ),
        text(
            "busiest_unit",
            "Busiest unit",
            "The unit that would need the most bundles.",
            busiest.map(|(unit, _)| unit.word())
        ),
        count("floor_bundles", "Floor", "How many bundles that would be.", busiest.map(|(_, floor)| floor)),
        share(
            "empty_share",
            "Empty",
            "Share of its body's bundles that use no unit.",
            each.once.empty_share()
        ),
        count(
            "spills",
            "Spills",
            "Vectors that its body stores because no register was free.",
            each.once.spills
        ),
        count("fills", "Fills", "Vectors that it loads again.", each.once.fills),
    ]
}

fn memory(subject: &Subject<'_>) -> Vec<Row<impl Columns + use<>>> {
    let all = subject.module.allocations();
    let mut rows: Vec<_> = all.values().collect();
    rows.sort_by_key(|allocation| {
        (std::cmp::Reverse(allocation.bytes), allocation.space, allocation.ordinal)
    });
    let row = |it: &haloscope_llo::Allocation| {
        row![
            text("space", "Memory", "Which memory.", it.space.word()),
            count(
                "ordinal",
                "Allocation",
                "Its number in the compiler's text: `#allocation12`.",
                i64::from(it.ordinal)
            ),
            bytes("bytes", "Size", "Its size.", it.bytes),
            flag(
                "is_spill",
                "For spills",
                "Whether it holds values that did not fit into registers.",
                it.is_spill
            ),
            flag("is_scoped", "Scoped", "Whether it is freed at the end of the kernel.", it.is_scoped),
            flag("is_remote", "Remote", "Whether it is memory of another chip.", it.is_remote),
        ]
    };
    rows.into_iter().take(super::ROWS).map(row).collect()
}
