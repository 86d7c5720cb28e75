//! `compute`: where compute time goes, how far it is from the roofline, and what is no mathematics.

mod audit;
mod breakdown;
mod facts;
mod findings;
mod grouped;
pub mod mfu;
pub mod padded;
mod shortfall;

use audit::Kind;
use facts::{Fact, Limit};
use haloscope_profile::chips;
use haloscope_report::Error;
use haloscope_report::{Cell, Notes, Report, Severity, Status, Table, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::ops;
use haloscope_time::phase::Phase;
use haloscope_time::programs;
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use haloscope_time::steps::Steps;
use haloscope_time::usage::Usage;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "compute",
    label: "Compute",
    group: MenuGroup::Work,
    question: "Where does compute time go (kind of work, phase, layer, line), how far is it from the roofline, and how much of it is padding, casts and copies?",
    params: &[],
    needs: &[
        "ops with their times; for phases, layers and lines the framework's names",
        "for the roofline: FLOPs and bytes of ops, and the device's peaks",
        "for padding, casts and the reasons of copies: the HLO modules in the profile",
    ],
    reads: &[Input::Profile],
    example: "compute logs --steady",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let profile = asked.profile;
    let selection = asked.selection()?;
    let ops = ops::collect(profile, selection);
    if ops.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::remarks(profile, selection, &ops, notes);
    let peaks = selection.peaks();
    let facts = facts::all(profile, selection, &ops);
    let all_ps = haloscope_report::units::sum(ops.iter().map(|op| op.self_ps));
    let usage = Usage::measure(profile, selection, &Steps::find(profile, &selection.devices));

    let groups = shortfall::groups(&facts);
    let audit = audit::all(&facts, &peaks, &selection.device_type());
    let times = programs::times(profile, Some(selection));
    let runs = |id: Option<u64>, module: &str| {
        let own = times.iter().filter(|time| time.is_named(id, module));
        own.map(|time| time.launches).reduce(|a, b| a + b)
    };
    let tables = vec![
        breakdown::categories(&facts, &peaks),
        breakdown::phases(&facts, &peaks),
        breakdown::layers(&facts, &peaks),
        shortfall::table(&groups, all_ps),
        shortfall::coverage(&facts, all_ps),
        audit::table(&audit, all_ps),
        grouped::table(&facts, runs),
        breakdown::source_lines(&facts, &peaks),
    ];
    above_peak(&tables, notes);
    let device_ps = usage.active_ps() * selection.devices.len() as f64;
    let sums = Sums::of(&facts, all_ps, chips::tpu(&selection.device_type()).is_some());
    let findings = findings::all(&sums, &groups, &audit, device_ps);
    let busy_ps = (usage.busy_ps() * selection.devices.len() as f64).round();
    let busy_ps = Some(busy_ps).filter(|_| !selection.names_modules());
    Ok(Report { values: values(&sums, &audit, busy_ps), tables, findings, ..Report::default() })
}

/// Says where more bytes are counted than the memory can move in that time.
fn above_peak(tables: &[Table], notes: &mut Notes) {
    let Some(table) = tables.iter().find(|table| table.id == "categories") else { return };
    let share = |row| table.cell(row, "hbm_share_of_peak").and_then(Cell::number);
    let above = (0..table.rows.len()).filter(|row| share(*row).is_some_and(|share| share > 1.0));
    let names: Vec<&str> =
        above.filter_map(|row| table.cell(row, "category").and_then(Cell::as_text)).collect();
    if !names.is_empty() {
        notes.add(
            "bytes_above_peak",
            Severity::Info,
            format!("more bytes are counted than the memory can move: {}", names.join(", ")),
            "the compiler counts every access, but caches served a part: shares of the bandwidth are too high and time beyond the roofline is too low",
            "",
        );
    }
}

/// Times that values and findings rest on, picoseconds.
struct Sums {
    all_ps: i64,
    matmul_ps: i64,
    recomputed_ps: i64,
    unnamed_ps: i64,
    shortfall_ps: Option<f64>,
    held_ps: i64,
    no_flops_ps: i64,
    no_bytes_ps: i64,
    untyped_ps: i64,
    /// Whether any op's program is at hand.
    has_hlo: bool,
    /// Whether the devices have matrix units whose extents are known.
    is_tpu: bool,
}

impl Sums {
    fn of(facts: &[Fact<'_, '_>], all_ps: i64, is_tpu: bool) -> Self {
        let time = |takes: &dyn Fn(&Fact<'_, '_>) -> bool| {
            haloscope_report::units::sum(facts.iter().filter(|f| takes(f)).map(|f| f.op.self_ps))
        };
        let known = facts.iter().filter_map(Fact::shortfall_ps);
        Self {
            all_ps,
            matmul_ps: time(&|f| f.class.is_matmul()),
            recomputed_ps: time(&|f| f.phase == Phase::Recomputation),
            unnamed_ps: time(&|f| f.phase == Phase::Unknown),
            shortfall_ps: known.fold(None, |sum: Option<f64>, ps| Some(sum.unwrap_or(0.0) + ps)),
            held_ps: time(&|f| f.limit.reason().is_none()),
            no_flops_ps: time(&|f| f.limit != Limit::NotCompute && f.op.flops.is_none()),
            no_bytes_ps: time(&|f| f.limit != Limit::NotCompute && f.op.hbm_bytes.is_none()),
            untyped_ps: time(&|f| shortfall::is_untyped(f)),
            has_hlo: facts.iter().any(|fact| fact.hlo.is_some()),
            is_tpu,
        }
    }

    fn share(&self, ps: f64) -> Option<f64> {
        (self.all_ps > 0).then(|| ps / self.all_ps as f64)
    }
}

fn values(sums: &Sums, audit: &[audit::Row<'_, '_, '_>], busy_ps: Option<f64>) -> Vec<Value> {
    let derived =
        |id, label, value: Option<f64>, unit, doc| Value::new(id, label, value, unit, Status::Derived, doc);
    let share = |ps: i64| sums.share(ps as f64);
    let left = busy_ps.map(|busy| busy - sums.all_ps as f64).filter(|left| *left >= 0.0);
    // Where the programs are at hand, no row means that there is none.
    let wasted = |kind, seen: bool| audit::wasted(audit, kind).or(seen.then_some(0.0)).map(f64::round);
    let (seen, tiled) = (sums.has_hlo, sums.has_hlo && sums.is_tpu);
    vec![
        Value::new(
            "self_time_ps",
            "Self time of all ops",
            Some(sums.all_ps),
            Unit::Ps,
            Status::Measured,
            "Summed over ops and devices: the total of all tables here.",
        ),
        Value::new(
            "busy_ps",
            "Busy time of the devices",
            busy_ps,
            Unit::Ps,
            Status::Measured,
            "Summed over devices; unknown if only some modules are selected.",
        ),
        derived(
            "left_ps",
            "Busy time outside ops",
            left,
            Unit::Ps,
            "Busy time minus self time: overhead between ops, and the difference between the two clocks of a TPU. Unknown if self times add up to more, because then ops run at once on streams or threads.",
        ),
        derived(
            "matmul_share",
            "Products of matrices",
            share(sums.matmul_ps),
            Unit::Share,
            "Share of self time in products of matrices, including grouped ones.",
        ),
        derived(
            "recomputation_share",
            "Recomputation",
            share(sums.recomputed_ps),
            Unit::Share,
            "Self time of what is computed again for the backward pass.",
        ),
        derived(
            "unnamed_share",
            "Of unknown phase",
            share(sums.unnamed_ps),
            Unit::Share,
            "Self time of ops that the framework did not name.",
        ),
        derived(
            "shortfall_ps",
            "Time beyond the roofline",
            sums.shortfall_ps.map(f64::round),
            Unit::Ps,
            "For ops that have a limit: time minus max(FLOPs / peak, bytes / bandwidth), at least 0 each.",
        ),
        derived(
            "shortfall_share",
            "Its share",
            sums.shortfall_ps.and_then(|ps| sums.share(ps)),
            Unit::Share,
            "Of all self time.",
        ),
        derived(
            "held_share",
            "Compared with the roofline",
            share(sums.held_ps),
            Unit::Share,
            "Self time of ops whose FLOPs, bytes and peaks are known, and that compute.",
        ),
        derived(
            "unknown_flops_share",
            "Without a FLOP count",
            share(sums.no_flops_ps),
            Unit::Share,
            "Self time of ops that compute but have no FLOP count, usually custom calls.",
        ),
        derived(
            "unknown_bytes_share",
            "Without a byte count",
            share(sums.no_bytes_ps),
            Unit::Share,
            "The same for bytes.",
        ),
        derived(
            "unknown_type_share",
            "Products of unknown type",
            share(sums.untyped_ps),
            Unit::Share,
            "Self time of products of unknown operand type, compared with the 16-bit peak.",
        ),
        Value::new(
            "padding_ps",
            "Lost to padded products",
            wasted(Kind::PaddedProduct, tiled),
            Unit::Ps,
            Status::Estimated,
            "The roofline's least time with padding, minus that without.",
        ),
        derived(
            "cast_ps",
            "Casts",
            wasted(Kind::Cast, seen),
            Unit::Ps,
            "Self time of ops that change a type and do nothing else.",
        ),
        derived(
            "copy_ps",
            "Copies",
            wasted(Kind::Copy, seen),
            Unit::Ps,
            "Self time of copies, including waits for asynchronous ones; the audit has their reasons.",
        ),
        derived(
            "relayout_ps",
            "Relayouts",
            wasted(Kind::Relayout, seen),
            Unit::Ps,
            "Self time of transposes and reshapes through memory.",
        ),
    ]
}
