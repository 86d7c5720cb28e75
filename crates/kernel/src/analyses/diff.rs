//! `kernel diff`: what two schedules of one kernel differ by.

use haloscope_llo::{Liveness, RegisterType, Space, UNITS};
use haloscope_report::{Cell, Columns, Error, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;

use super::{ROWS, cut};
use crate::carried;
use crate::chip;
use crate::difference::{self, Difference, Region};
use crate::model::Use;
use crate::mosaic;
use crate::subject::{NEEDS, OP, Subject};

const TO: Param = Param {
    id: "to",
    doc: "the kernel to compare it with, named as for --op: from the second run, or another one of the first [default: the one with the same name]",
    kind: ParamKind::Text,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel diff",
    label: "Diff",
    group: MenuGroup::Work,
    question: "What did an edit, a compiler or tracing change in a TPU kernel: bundles, units, spills, memory, blocks?",
    params: &[OP, TO],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel diff logs/before logs/after --op matmul",
    also: &[],
    run: Run::Between(run),
};

fn run(asked: &Scoped<'_>, other: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let to = params.text(&TO);
    let is_one_run = std::ptr::eq(asked.profile, other.profile);
    if is_one_run && to.is_empty() {
        notes.add(
            "one_kernel",
            Severity::Info,
            "only one run was given, and no other kernel of it",
            "the kernel was compared with itself",
            "give a second run or dump, or name another kernel of this one with --to",
        );
    }
    let a = Subject::choose(asked, params, notes)?;
    let b = second(other, to, &a)?;
    let texts = [of_mosaic(asked, &a), of_mosaic(other, &b)];
    let (mosaic, parts) = blocks(&texts);
    let difference = Difference::of(&a, &b, mosaic == Some(false));
    remarks(&a, &b, difference, notes);
    let cost = |run: &Scoped<'_>, subject: &Subject<'_>| subject.stages(run.profile)?.spill_cost();
    let costs = [cost(asked, &a), cost(other, &b)];
    let mut regions = difference::regions(&a, &b);
    regions.sort_by_key(|region| std::cmp::Reverse(changed(region)));
    cut(notes, "regions", regions.len());
    let mut tables = vec![
        Table::of("quantities", "Both kernels", quantities(&a, &b, costs)),
        Table::of(
            "regions",
            "Bundles by region, those that changed most first",
            regions.iter().take(ROWS).map(region),
        ),
        Table::of("units", "Units in the hot loop", units(&a, &b)),
        Table::of("opcodes", "Instructions with another count", opcodes(&a, &b)),
    ];
    tables.extend(parts);
    Ok(Report { values: values(&a, &b, difference, mosaic), tables, ..Report::default() })
}

/// The second kernel: the one that is named, else of the same name, else of the same op with another number, else the only one.
fn second<'p>(other: &Scoped<'p>, to: &str, a: &Subject<'_>) -> Result<Subject<'p>, Error> {
    let all = carried::all(other.profile);
    let op = a.module.op.as_ref();
    let base = op
        .rsplit_once('.')
        .filter(|(_, n)| n.chars().all(|c| c.is_ascii_digit()))
        .map_or(op, |(base, _)| base);
    let words = if to.is_empty() { vec![a.name.as_str(), op, base] } else { vec![to] };
    let found = words.iter().copied().find(|word| !carried::named(&all, word).is_empty());
    let word = found.unwrap_or(if all.len() == 1 && to.is_empty() { "" } else { words[0] });
    let mut params = Params::default();
    params.set(OP.id, word);
    // What is to be said of the second is said of both below.
    Subject::choose(other, &params, &mut Notes::default())
}

fn remarks(a: &Subject<'_>, b: &Subject<'_>, difference: Difference, notes: &mut Notes) {
    if a.chip() != b.chip() {
        notes.add(
            "other_chip",
            Severity::Warning,
            "the kernels were compiled for different chips",
            "that alone changes the units, their capacities and the instructions",
            "compile both for the same chip",
        );
    }
    if difference == Difference::KernelAndInstrumentation {
        notes.add(
            "edited_and_traced",
            Severity::Warning,
            "one of the kernels has more tracing than the other, and they differ in other instructions too",
            "which bundles come from the edit and which from the tracing is unknown",
            "compile both without `--xla_xprof_enable_custom_call_tracing`",
        );
    }
}

fn changed(region: &Region) -> (u64, u64) {
    let (a, b) = (region.bundles.0.unwrap_or(0), region.bundles.1.unwrap_or(0));
    (a.abs_diff(b), a.max(b))
}

fn values(a: &Subject<'_>, b: &Subject<'_>, difference: Difference, mosaic: Option<bool>) -> Vec<Value> {
    let words =
        |id, label, value: Option<&str>, doc| Value::new(id, label, value, Unit::None, Status::Measured, doc);
    let count =
        |id, label, value: u64, doc| Value::new(id, label, Some(value), Unit::Count, Status::Measured, doc);
    let signed = |a: u64, b: u64| i64::try_from(b).ok().zip(i64::try_from(a).ok()).map(|(b, a)| b - a);
    let (long_a, long_b) = (a.module.bundles() as u64, b.module.bundles() as u64);
    vec![
        words(
            "kernel_a",
            "Kernel A",
            Some(&a.name),
            "The compared kernel: the one asked for, else the one with the most time or modelled bundles.",
        ),
        words("kernel_b", "Kernel B", Some(&b.name), "The other."),
        Value::new(
            "difference",
            "Difference",
            Some(difference.word()),
            Unit::None,
            Status::Derived,
            "none (instructions by opcode, their bundles, trips, memory and blocks are the same; constants and operands are not compared); schedule (the same opcodes, packed differently); instrumentation (only tracing instructions differ: tracing changed it); kernel (other instructions, trips, memory or blocks: the edit or the compiler changed it); kernel and instrumentation.",
        ),
        Value::new(
            "said",
            "In words",
            Some(sentence(a, b, difference)),
            Unit::None,
            Status::Derived,
            "What that means for the bundles.",
        ),
        count(
            "bundles_a",
            "Bundles of A",
            long_a,
            "Length of its schedule before empty bundles become delays.",
        ),
        count("bundles_b", "Bundles of B", long_b, "The same of the other."),
        Value::new(
            "bundles_delta",
            "Change in bundles",
            signed(long_a, long_b),
            Unit::Count,
            Status::Derived,
            "Bundles of B minus those of A.",
        ),
        count("traces_a", "Traces in A", a.traces(), "Instructions that only trace its regions."),
        count("traces_b", "Traces in B", b.traces(), "The same of the other."),
        count(
            "traced_bundles_a",
            "Bundles with a trace in A",
            difference::traced_bundles(&a.module),
            "Bundles that hold such an instruction.",
        ),
        count(
            "traced_bundles_b",
            "Bundles with a trace in B",
            difference::traced_bundles(&b.module),
            "The same of the other.",
        ),
        words(
            "mosaic",
            "Mosaic",
            mosaic.map(|is_same| if is_same { "same" } else { "changed" }),
            "Whether grid, blocks, scratch, loops and products are the same; unknown if a run has no HLO of the kernel, and for fusions.",
        ),
    ]
}

fn sentence(a: &Subject<'_>, b: &Subject<'_>, difference: Difference) -> String {
    let (long_a, long_b) = (a.module.bundles(), b.module.bundles());
    let lengths = if long_a == long_b {
        format!("{long_a} bundles, as before")
    } else {
        format!("{long_a} bundles became {long_b}")
    };
    match difference {
        Difference::None => {
            format!(
                "No difference in instructions, bundles, trips and memory (constants are not compared): {lengths}"
            )
        }
        Difference::Schedule => {
            format!("The same instructions by opcode, packed differently: {lengths}")
        }
        Difference::Instrumentation => format!(
            "Tracing changed it: {} tracing instructions instead of {}, and the same number of every other opcode; {lengths}",
            b.traces(),
            a.traces()
        ),
        Difference::Kernel => format!("The kernel changed, and tracing did not: {lengths}"),
        Difference::KernelAndInstrumentation => format!(
            "The kernel changed, and so did tracing ({} instructions instead of {}): {lengths}, and which of the two changed them is unknown",
            b.traces(),
            a.traces()
        ),
    }
}

/// A number as a cell: counts are whole.
fn cell(value: Option<f64>, unit: Unit) -> Cell {
    match value {
        Some(count) if unit == Unit::Count && count.fract() == 0.0 && count.abs() < 1e15 => {
            Cell::Int(count as i64)
        }
        value => value.into(),
    }
}

fn quantities(a: &Subject<'_>, b: &Subject<'_>, costs: [Option<i64>; 2]) -> Vec<Row<impl Columns + use<>>> {
    let sides = [of_side(a, costs[0]), of_side(b, costs[1])];
    let [of_a, of_b] = sides;
    of_a.into_iter()
        .zip(of_b)
        .map(|((what, unit, a), (.., b))| {
            let delta = a.zip(b).map(|(a, b)| b - a);
            row![
                text("what", "What", "What is compared.", what),
                text("unit", "Unit", "Unit of the numbers.", unit.word()),
                quantity("a", "A", "Of the first kernel; may be unknown.", cell(a, unit)),
                quantity("b", "B", "Of the second.", cell(b, unit)),
                change("delta", "Difference", "B less A.", cell(delta, unit)),
            ]
        })
        .collect()
}

fn of_side(subject: &Subject<'_>, cost: Option<i64>) -> Vec<(&'static str, Unit, Option<f64>)> {
    let (module, model) = (&subject.module, &subject.model);
    let whole = Use::of(module, 0..module.bundles());
    let hot = model.hot();
    let inside = hot.map_or(&whole, |hot| &hot.once);
    let number = |value: u64| Some(value as f64);
    let registers = Liveness::new(module).register_peaks();
    let all = module.allocations();
    let spill_bytes =
        all.values().filter(|it| it.is_spill && it.space == Space::Vmem).map(|it| it.bytes as f64).sum();
    let clock = subject.chip().and_then(chip::clock_hz);
    let modelled = model.most();
    vec![
        ("measured time of one execution", Unit::Ps, subject.measured.and_then(|time| time.mean_ps())),
        (
            "modelled time, every branch taken",
            Unit::Ps,
            modelled.zip(clock).map(|(bundles, hz)| bundles / hz * 1e12),
        ),
        ("modelled bundles, every branch taken", Unit::Count, modelled),
        ("modelled bundles, no branch taken", Unit::Count, model.least()),
        ("bundles", Unit::Count, number(whole.bundles)),
        ("empty bundles", Unit::Count, number(whole.empty)),
        ("instructions", Unit::Count, number(module.instructions.len() as u64)),
        ("tracing instructions", Unit::Count, number(subject.traces())),
        ("trips of the hot loop", Unit::Count, hot.and_then(|hot| hot.trips).and_then(number)),
        ("bundles of its body", Unit::Count, number(inside.bundles)),
        ("floor of its body", Unit::Count, inside.busiest().and_then(|(_, floor)| number(floor))),
        ("share of empty bundles in it", Unit::Share, inside.empty_share()),
        ("vector spills", Unit::Count, number(whole.spills)),
        ("vector fills", Unit::Count, number(whole.fills)),
        ("bundles that spills cost", Unit::Count, cost.map(|cost| cost as f64)),
        (
            "vector registers at once",
            Unit::Count,
            registers.get(&RegisterType::Vector).and_then(|n| number(u64::from(*n))),
        ),
        ("vector memory", Unit::Bytes, number(module.allocated_bytes(Space::Vmem))),
        ("vector memory for spills", Unit::Bytes, Some(spill_bytes)),
    ]
}

fn region(region: &Region) -> Row<impl Columns + use<>> {
    let signed = |value: Option<u64>| value.and_then(|n| i64::try_from(n).ok()).unwrap_or(0);
    row![
        text(
            "path",
            "Region",
            "Path of the region, and which part of a loop or branch it is.",
            region.path.as_str()
        ),
        count(
            "nth",
            "Which",
            "Which of the regions with this path, in the order of the program.",
            region.nth
        ),
        count(
            "bundles_a",
            "A",
            "Bundles of A in this region and no inner one; unknown if A does not have it.",
            region.bundles.0
        ),
        count("bundles_b", "B", "The same of B.", region.bundles.1),
        count(
            "bundles_delta",
            "Change",
            "Bundles of B minus those of A.",
            signed(region.bundles.1) - signed(region.bundles.0)
        ),
        float(
            "modelled_a",
            "Modelled A",
            Unit::Count,
            "These, times how often they run, with every branch taken.",
            region.modelled.0
        ),
        float("modelled_b", "Modelled B", Unit::Count, "The same of B.", region.modelled.1),
        count("traced_a", "Traced A", "Bundles with a tracing instruction.", region.traced.0),
        count("traced_b", "Traced B", "The same of B.", region.traced.1),
    ]
}

fn units(a: &Subject<'_>, b: &Subject<'_>) -> Vec<Row<impl Columns + use<>>> {
    let inside = |subject: &Subject<'_>| {
        let whole = || Use::of(&subject.module, 0..subject.module.bundles());
        subject.model.hot().map_or_else(whole, |hot| hot.once.clone())
    };
    let (a, b) = (inside(a), inside(b));
    UNITS
        .into_iter()
        .map(|unit| {
            row![
                text("unit", "Unit", "The unit, by XProf's word.", unit.word()),
                count("used_a", "Used by A", "How much of it the hot loop's body uses, each bundle once; for a kernel without a loop, all bundles.", a.used[unit as usize]),
                count("used_b", "Used by B", "The same of B.", b.used[unit as usize]),
                share("share_a", "Share of A", "Use divided by the capacity of these bundles.", a.share(unit)),
                share("share_b", "Share of B", "The same of B.", b.share(unit)),
                count("floor_a", "Floor of A", "Bundles that this unit alone would need for its work.", a.floor(unit)),
                count("floor_b", "Floor of B", "The same of B.", b.floor(unit)),
            ]
        })
        .collect()
}

fn opcodes(a: &Subject<'_>, b: &Subject<'_>) -> Vec<Row<impl Columns + use<>>> {
    let counts = difference::opcodes(&a.module, &b.module);
    let mut changed: Vec<_> = counts.into_iter().filter(|(_, (a, b))| a != b).collect();
    changed.sort_by_key(|(opcode, (a, b))| (std::cmp::Reverse(a.abs_diff(*b)), *opcode));
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    changed
        .into_iter()
        .take(ROWS)
        .map(|(opcode, (a, b))| {
            row![
                text("opcode", "Opcode", "Its name; if unknown, its number.", opcode.name().into_owned()),
                text("unit", "Unit", "Which unit runs it.", opcode.unit().word()),
                count("count_a", "A", "Instructions in the code of A.", a),
                count("count_b", "B", "Instructions in the code of B.", b),
                count("delta", "Change", "B less A.", signed(b) - signed(a)),
                flag("traces", "Traces", "Whether it only serves tracing.", opcode.is_trace()),
            ]
        })
        .collect()
}

fn of_mosaic(run: &Scoped<'_>, subject: &Subject<'_>) -> Option<Vec<(String, String)>> {
    let source = mosaic::of(run.profile, subject).kernel()?;
    Some(mosaic::parts(&source.module.kernel().ok()?))
}

type Parts = Option<Vec<(String, String)>>;

/// Whether both are cut up alike, and the table of parts; nothing where either is not known.
fn blocks(sides: &[Parts; 2]) -> (Option<bool>, Option<Table>) {
    let [Some(a), Some(b)] = sides else { return (None, None) };
    let of = |side: &[(String, String)], name: &str| {
        side.iter().find(|(own, _)| own == name).map(|(_, words)| words.clone())
    };
    let names = a.iter().chain(b.iter().filter(|(name, _)| of(a, name).is_none())).map(|(name, _)| name);
    let rows = names.map(|name| {
        let (a, b) = (of(a, name), of(b, name));
        row![
            text("part", "Part", "The grid, a block, scratch, a loop or a product.", name.as_str()),
            flag("changed", "Changed", "Whether it differs.", a != b),
            text("a", "A", "That of A; unknown if it has none.", a),
            text("b", "B", "That of B.", b),
        ]
    });
    (Some(a == b), Some(Table::of("mosaic", "Grid, blocks and products", rows)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_paired_by_name_and_one_side_alone_tells_nothing() {
        let side = |parts: &[(&str, &str)]| {
            Some(parts.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>())
        };
        let a = side(&[("grid", "4 x 4"), ("block 2", "x in vmem")]);
        let b = side(&[("grid", "2 x 4"), ("block 2", "x in vmem"), ("scratch 3", "y in vmem")]);
        assert_eq!(blocks(&[a.clone(), a.clone()]).0, Some(true));
        let (is_same, table) = blocks(&[a.clone(), b]);
        let table = table.unwrap();
        assert_eq!((is_same, table.rows.len()), (Some(false), 3));
        let changed: Vec<_> = (0..3).map(|at| table.cell(at, "changed").cloned()).collect();
        assert_eq!(changed, [true, false, true].map(|is| Some(Cell::from(is))));
        assert_eq!(table.cell(2, "a"), Some(&Cell::Unknown));
        assert_eq!((blocks(&[a, None]).0, blocks(&[None, None]).1.is_some()), (None, false));
    }
}
