//! `roofline`: how far from the limits of the device, and what neither limit explains.

mod stated;

use rustc_hash::FxHashMap;

use crate::analysis::{Also, Analysis, Input, MenuGroup, Params, Run};
use crate::op_meta::{is_asynchronous, is_container};
use crate::ops::analysis::Sums;
use crate::ops::{self, Op};
use crate::roofline::{Limits, Work, add_known};
use crate::select::{Scoped, Selection};
use crate::steps::{StepClass, StepInstance, Steps};
use crate::window_index::WindowIndex;
use crate::window_work::work_in_windows;
use crate::{busy, quality};
use haloscope_profile::{Device, Peaks, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Cell, Notes, Report, Status, Table, Unit, Value, row};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "roofline",
    label: "Roofline",
    group: MenuGroup::Work,
    question: "Is the program bound by compute or by memory, and how much time does neither explain?",
    params: &[stated::FLOPS, stated::BYTES, stated::LATENCY, stated::CHIP],
    needs: &[
        "FLOPs and bytes of ops, or of one piece of work given by --flops, --bytes and --latency",
        "the device's peak FLOP rate and HBM bandwidth",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "roofline logs --steady",
    also: &[Also::Report, Also::Tool],
    run: Run::Maybe(run),
};

/// The row of a line: its own first column, those that all tables share, and behind the gap its own others.
macro_rules! line_row {
    ($line:ident, [$($first:tt)*], [$($more:tt)*]) => {
        row![
            $($first)*,
            duration("time_ps", "Time", "Time summed over executions and devices: self time for ops and categories, busy and idle time for steps.", $line.work.time_ps.round() as i64),
            share("time_share", "Share", "Of all time in this table; for a step, the part between the first op and the last.", $line.time_share()),
            text("bound_by", "Bound by", "The nearer limit: compute or memory.", $line.limits.bound.map(|b| b.word())),
            share("efficiency", "Efficiency", "The larger share of a peak: 1 on the roof.", $line.limits.efficiency),
            duration("gap_ps", "Gap", "Time that neither limit explains: time - max(FLOPs / peak, bytes / bandwidth).", $line.limits.gap_ps),
            share("gap_share", "Gap share", "Gap divided by time.", $line.gap_share()),
            $($more)*
            float("operational_intensity", "Intensity", Unit::FlopPerByte, "FLOPs per byte of HBM traffic.", $line.limits.intensity),
            rate("flop_rate", "FLOP rate", Unit::FlopRate, "Achieved, of one device.", $line.limits.flop_rate),
            rate("attainable_flop_rate", "Attainable", Unit::FlopRate, "What the roofline allows at this intensity: min(peak, intensity x bandwidth).", $line.limits.attainable_flop_rate),
            share("flop_share_of_peak", "FLOP/s of peak", "FLOP rate over peak.", $line.limits.flop_share),
            rate("hbm_rate", "HBM rate", Unit::ByteRate, "Achieved, of one device.", $line.limits.hbm_rate),
            share("hbm_share_of_peak", "HBM of peak", "HBM rate over peak.", $line.limits.hbm_share),
            duration("compute_only_ps", "Compute only", "FLOPs over peak.", $line.limits.compute_ps),
            duration("memory_only_ps", "Memory only", "HBM bytes over bandwidth.", $line.limits.memory_ps),
            float("flops", "FLOPs", Unit::Flop, "FLOPs; nothing for ops without a FLOP count.", $line.work.flops),
            bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM.", $line.work.hbm_bytes),
        ]
    };
}

fn run(asked: Option<&Scoped<'_>>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let of_run = asked.and_then(|asked| asked.selection().ok()).map(|s| s.peaks());
    if let Some(report) = stated::report(params, of_run)? {
        return Ok(report);
    }
    let Some(asked) = asked else {
        return Err(Error::Usage(
            "name a RUN, or state a piece of work with --flops, --bytes, --latency and --chip".into(),
        ));
    };
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let ops = ops::collect(profile, selection);
    if ops.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::remarks(profile, selection, &ops, notes);
    let peaks = selection.peaks();
    let total = Sums::of(&ops);
    let all_ps = total.self_ps as f64;

    let programs = grouped(&ops, |op| {
        if op.module.is_empty() { "(no program)".to_owned() } else { op.module.clone().into_owned() }
    });
    let categories = grouped(&ops, |op| {
        if op.meta.category.is_empty() {
            "(not recorded)".to_owned()
        } else {
            op.meta.category.clone().into_owned()
        }
    });
    let line = |(name, work): (String, Work)| Line::new(name, work, &peaks, all_ps);
    let program =
        |line: Line| line_row!(line, [text("name", "Program", "The HLO module.", line.name.as_str())], []);
    let category =
        |line: Line| line_row!(line, [text("name", "Category", "HLO category.", line.name.as_str())], []);
    let tables = vec![
        Table::of("programs", "By program", programs.into_iter().map(line).map(program)),
        Table::of("categories", "By category", categories.into_iter().map(line).map(category)),
        ops_table(&ops, &peaks, all_ps),
        steps_table(profile, scope, selection, &total, &peaks),
    ];
    Ok(Report { values: values(&total, &peaks), tables, ..Report::default() })
}

fn values(total: &Sums, peaks: &Peaks) -> Vec<Value> {
    let work = total.work();
    let limits = work.against(peaks);
    // Ops without a FLOP count make all of this a lower bound of the work, and so an estimate.
    let status = if total.unknown_ps > 0 { Status::Estimated } else { Status::Derived };
    let gap_share = limits.gap_ps.filter(|_| work.time_ps > 0.0).map(|gap| gap / work.time_ps);
    let v = |id, label, value: Option<f64>, unit, doc| Value::new(id, label, value, unit, status, doc);
    vec![
        Value::new(
            "regime",
            "Regime",
            limits.bound.map(|b| b.word()),
            Unit::None,
            status,
            "compute or memory: which limit of the roofline is nearer for all ops together.",
        ),
        v(
            "operational_intensity",
            "Operational intensity",
            limits.intensity,
            Unit::FlopPerByte,
            "FLOPs per byte to and from HBM.",
        ),
        Value::new(
            "ridge_point",
            "Ridge point",
            peaks.ridge_point(),
            Unit::FlopPerByte,
            Status::Derived,
            "Peak FLOP rate over peak HBM bandwidth: below it memory is the limit.",
        ),
        Value::new(
            "time_ps",
            "Time of all ops",
            Some(total.self_ps),
            Unit::Ps,
            Status::Measured,
            "Self time summed over ops and devices.",
        ),
        v(
            "compute_only_ps",
            "Compute alone would take",
            limits.compute_ps,
            Unit::Ps,
            "FLOPs over peak, summed over devices.",
        ),
        v(
            "memory_only_ps",
            "Memory alone would take",
            limits.memory_ps,
            Unit::Ps,
            "HBM bytes over bandwidth, summed over devices.",
        ),
        v(
            "gap_ps",
            "Gap",
            limits.gap_ps,
            Unit::Ps,
            "Time of all ops minus the larger of both: what neither limit explains.",
        ),
        v(
            "gap_share",
            "Gap share",
            gap_share,
            Unit::Share,
            "Gap divided by time. Small under 10%, large over 30%.",
        ),
        v(
            "efficiency",
            "Efficiency",
            limits.efficiency,
            Unit::Share,
            "The larger share of a peak: 1 on the roof.",
        ),
        v("flop_rate", "FLOP rate", limits.flop_rate, Unit::FlopRate, "While ops run, of one device."),
        v("hbm_rate", "HBM rate", limits.hbm_rate, Unit::ByteRate, "While ops run, of one device."),
        v(
            "attainable_flop_rate",
            "Attainable FLOP rate",
            limits.attainable_flop_rate,
            Unit::FlopRate,
            "What the roofline allows at this intensity.",
        ),
        Value::new(
            "peak_flop_rate",
            "Peak FLOP rate",
            peaks.flops.map(|p| p.rate),
            Unit::FlopRate,
            Status::Measured,
            "Of one device; see provenance for where it comes from.",
        ),
        Value::new(
            "peak_hbm_rate",
            "Peak HBM bandwidth",
            peaks.hbm.map(|p| p.rate),
            Unit::ByteRate,
            Status::Measured,
            "Of one device; see provenance.",
        ),
        Value::new(
            "time_without_flops_share",
            "Time of ops without a FLOP count",
            Some(total.unknown_ps as f64 / (total.self_ps as f64).max(1.0)),
            Unit::Share,
            Status::Derived,
            "Self time of ops without a FLOP count; they lower every rate here.",
        ),
    ]
}

/// Work by a key, most time first.
fn grouped(ops: &[Op<'_>], key: impl Fn(&Op<'_>) -> String) -> Vec<(String, Work)> {
    let mut rows: Vec<(String, Vec<&Op<'_>>)> = Vec::new();
    let mut row_of: FxHashMap<String, usize> = FxHashMap::default();
    for op in ops {
        let name = key(op);
        let row = *row_of.entry(name.clone()).or_insert(rows.len());
        if row == rows.len() {
            rows.push((name, Vec::new()));
        }
        rows[row].1.push(op);
    }
    let work = |ops: Vec<&Op<'_>>| {
        let work = Sums::of(ops.iter().copied()).work();
        // The bytes of a group of starts and ends alone pass while other ops run.
        let alone = ops.iter().all(|op| is_asynchronous(&op.meta.category));
        if alone { Work { flops: None, hbm_bytes: None, ..work } } else { work }
    };
    let mut rows: Vec<(String, Work)> = rows.into_iter().map(|(name, ops)| (name, work(ops))).collect();
    rows.sort_by(|a, b| b.1.time_ps.total_cmp(&a.1.time_ps).then_with(|| a.0.cmp(&b.0)));
    rows
}

fn ops_table(ops: &[Op<'_>], peaks: &Peaks, all_ps: f64) -> Table {
    let row = |op: &Op<'_>| {
        let line = Line::new(op.meta.name.clone().into_owned(), op.work(op.self_ps), peaks, all_ps);
        line_row!(
            line,
            [text("name", "Op", "The op.", line.name.as_str())],
            [
                text("category", "Category", "HLO category.", Cell::words(&op.meta.category)),
                text("module", "Module", "The HLO module.", Cell::words(&op.module)),
                count("occurrences", "Count", "Executions.", op.occurrences),
            ]
        )
    };
    let ops = ops.iter().filter(|op| !is_container(&op.meta.category));
    Table::of("ops", "By op", ops.map(row))
}

/// The whole scope, the average of the counted steps, and each step: here time is that of the devices, idle included.
fn steps_table(
    profile: &Profile,
    scope: &Scope,
    selection: &Selection<'_>,
    total: &Sums,
    peaks: &Peaks,
) -> Table {
    // From the first op to the last: a step may begin before its first op, and its share is of this time all the same.
    let hull = |device: &&Device| match WindowIndex::of(profile) {
        Some(kept) => kept.busy(profile, device).set().hull(),
        None => busy::intervals(profile, device).hull(),
    };
    let hulls: Vec<(i64, i64)> =
        selection.devices.iter().map(|device| hull(device).unwrap_or_default()).collect();
    let within = |position: usize, start: i64, end: i64| {
        let (from, to) = (start.max(hulls[position].0), end.min(hulls[position].1));
        let cut = || selection.window(position).map_or(to - from, |window| window.overlap(from, to));
        if from < to { cut() } else { 0 }
    };
    let spans = units::sum((0..hulls.len()).map(|at| within(at, hulls[at].0, hulls[at].1))) as f64;
    let mut lines = Vec::new();
    let mut push = |name: String, work: Work, within_ps: f64| {
        lines.push(Line { within_ps, ..Line::new(name, work, peaks, spans) });
    };
    push("total".into(), Work { time_ps: spans, ..total.work() }, spans);
    let mut steps = Steps::find(profile, &selection.devices);
    steps.rows.retain(|step| {
        scope.steps.as_ref().is_none_or(|range| range.contains(step.number))
            && (!scope.steady || step.class == StepClass::Steady)
            && scope
                .window_ps
                .is_none_or(|(from, to)| step.instances.iter().any(|i| i.start_ps < to && i.end_ps > from))
    });
    let mut works = vec![(Work::default(), 0.0); steps.rows.len()];
    for (position, device) in selection.devices.iter().enumerate() {
        let here = steps.rows.iter().enumerate().filter_map(|(row, step)| Some((row, step.on(device.id)?)));
        // Of a step that the window cuts, the part in it.
        let (first, last) = scope.window_ps.unwrap_or((i64::MIN, i64::MAX));
        let cut = |i: &StepInstance| (i.start_ps.max(first), i.end_ps.min(last));
        let mut windows: Vec<(i64, i64, usize)> = here
            .map(|(row, i)| (cut(i), row))
            .filter(|((start, end), _)| start < end)
            .map(|((start, end), row)| (start, end, row))
            .collect();
        windows.sort_unstable();
        let spans: Vec<(i64, i64)> = windows.iter().map(|w| (w.0, w.1)).collect();
        let parts = work_in_windows(profile, device, &spans, selection);
        for ((start, end, row), part) in windows.into_iter().zip(parts) {
            let (work, within_ps) = &mut works[row];
            *within_ps += within(position, start, end) as f64;
            work.time_ps += (end - start) as f64;
            add_known(&mut work.flops, part.flops);
            add_known(&mut work.hbm_bytes, part.hbm_bytes);
        }
    }
    let counted: Vec<&(Work, f64)> =
        steps.rows.iter().zip(&works).filter(|(s, _)| s.class != StepClass::Edge).map(|(_, w)| w).collect();
    if !counted.is_empty() {
        let n = counted.len() as f64;
        let (mut sum, mut sum_within_ps) = (Work::default(), 0.0);
        for (work, within_ps) in &counted {
            sum_within_ps += within_ps;
            sum.time_ps += work.time_ps;
            add_known(&mut sum.flops, work.flops);
            add_known(&mut sum.hbm_bytes, work.hbm_bytes);
        }
        let mean = |v: Option<f64>| v.map(|v| v / n);
        push(
            "average".into(),
            Work { time_ps: sum.time_ps / n, flops: mean(sum.flops), hbm_bytes: mean(sum.hbm_bytes) },
            sum_within_ps / n,
        );
    }
    for (step, (work, within_ps)) in steps.rows.iter().zip(works) {
        push(step.number.to_string(), work, within_ps);
    }
    let row = |line: Line| {
        line_row!(
            line,
            [text(
                "step",
                "Step",
                "total: the whole scope; average: over the counted steps; else the step's number.",
                line.name.as_str()
            )],
            []
        )
    };
    Table::of("steps", "By step, idle time included", lines.into_iter().map(row))
}

/// A row: work, and how near it comes to the limits.
struct Line {
    name: String,
    work: Work,
    /// What of its time is of the whole table's, picoseconds.
    within_ps: f64,
    /// The time of the whole table, picoseconds.
    all_ps: f64,
    limits: Limits,
}

impl Line {
    fn new(name: String, work: Work, peaks: &Peaks, all_ps: f64) -> Self {
        let limits = work.against(peaks);
        Self { name, within_ps: work.time_ps, work, all_ps, limits }
    }

    fn time_share(&self) -> Option<f64> {
        (self.all_ps > 0.0).then(|| self.within_ps / self.all_ps)
    }

    fn gap_share(&self) -> Option<f64> {
        self.limits.gap_ps.filter(|_| self.work.time_ps > 0.0).map(|gap| gap / self.work.time_ps)
    }
}
