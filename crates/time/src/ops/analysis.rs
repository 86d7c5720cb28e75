//! `ops`: where the time goes, op by op.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::account::limit_of;
use crate::op_meta::is_container;
use crate::ops::{self, Op};
use crate::quality;
use crate::roofline::{Work, add_known};
use crate::select::Scoped;
use crate::{
    analysis::{Also, Analysis, Input, MenuGroup, Param, ParamKind, Params, Run},
    host_ops,
};
use haloscope_profile::Peaks;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Cell, Columns, Notes, Report, Row, Status, Table, Unit, Value, row};

const BY: Param = Param {
    id: "by",
    doc: "how to group ops",
    kind: ParamKind::Choice(&["op", "category", "module", "framework-op", "source", "deduplicated"]),
    default: "op",
};

const ON: Param = Param {
    id: "on",
    doc: "ops of the devices, or events of the host's threads",
    kind: ParamKind::Choice(&["device", "host"]),
    default: "device",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "ops",
    label: "Ops",
    group: MenuGroup::Work,
    question: "Which ops take the time, and how close are they to what the device can do?",
    params: &[BY, ON],
    needs: &[
        "TPU: the XLA Ops line; GPU: streams whose kernels name their hlo_op; CPU: host events with hlo_op",
        "for FLOPs and bytes: the compiler's counts on the ops, or the HLO modules in the profile",
    ],
    reads: &[Input::Profile],
    example: "ops logs --by category --steps 2-5",
    also: &[Also::Report],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let profile = asked.profile;
    let selection = asked.selection()?;
    if params.text(&ON) == "host" {
        return host_ops::report(profile, selection);
    }
    let ops = ops::collect(profile, selection);
    if ops.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::remarks(profile, selection, &ops, notes);
    let peaks = selection.peaks();
    let by = params.text(&BY);
    let groups = group(&ops, by);
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    let mut cumulative = 0;
    let programs = Programs::of(&ops);
    let rows = groups.iter().map(|group| {
        cumulative = group.op.self_ps.saturating_add(cumulative);
        row(group, by, &programs.label(&group.op), all, cumulative, &peaks)
    });
    let table = Table::of("ops", "Ops by self time", rows);
    let sums = Sums::of(&ops);
    let values = vec![
        Value::new(
            "self_time_ps",
            "Self time of all ops",
            Some(all),
            Unit::Ps,
            Status::Measured,
            "Sum over ops and devices.",
        ),
        Value::new(
            "op_count",
            "Distinct ops",
            Some(ops.len()),
            Unit::Count,
            Status::Measured,
            "Ops by program and name.",
        ),
        Value::new(
            "occurrences",
            "Executions",
            Some(sums.occurrences),
            Unit::Count,
            Status::Measured,
            "Events of all ops in the scope.",
        ),
        Value::new(
            "flops",
            "FLOPs",
            sums.flops,
            Unit::Flop,
            Status::Derived,
            "Without while, call and conditional, because the ops inside them are counted. Ops without a FLOP count add nothing: see time_without_flops_share.",
        ),
        Value::new("hbm_bytes", "HBM bytes", sums.hbm_bytes, Unit::Bytes, Status::Derived, "Likewise."),
        Value::new(
            "time_without_flops_share",
            "Time of ops without a FLOP count",
            Some(sums.unknown_ps as f64 / all.max(1) as f64),
            Unit::Share,
            Status::Derived,
            "Self time of ops without a FLOP count, usually custom calls.",
        ),
    ];
    Ok(Report { values, tables: vec![table], ..Report::default() })
}

/// Sums over ops that count nothing twice.
pub struct Sums {
    /// Executions.
    pub occurrences: u64,
    /// Self time, picoseconds.
    pub self_ps: i64,
    /// FLOPs; `None` where those of no op are known.
    pub flops: Option<f64>,
    /// Bytes to and from HBM; `None` where those of no op are known.
    pub hbm_bytes: Option<f64>,
    /// Self time of ops whose FLOPs are not known, picoseconds.
    pub unknown_ps: i64,
}

impl Sums {
    /// Sums these ops; of a container, such as a loop, only its own time counts.
    pub fn of<'a, 'p: 'a>(ops: impl IntoIterator<Item = &'a Op<'p>>) -> Self {
        let mut sums = Self { occurrences: 0, self_ps: 0, flops: None, hbm_bytes: None, unknown_ps: 0 };
        for op in ops {
            sums.occurrences += op.occurrences;
            sums.self_ps = sums.self_ps.saturating_add(op.self_ps);
            if is_container(&op.meta.category) {
                continue;
            }
            if op.flops.is_none() {
                sums.unknown_ps = sums.unknown_ps.saturating_add(op.self_ps);
            }
            add_known(&mut sums.flops, op.flops);
            add_known(&mut sums.hbm_bytes, op.hbm_bytes);
        }
        sums
    }

    /// The same as work over its self time.
    pub fn work(&self) -> Work {
        Work { time_ps: self.self_ps as f64, flops: self.flops, hbm_bytes: self.hbm_bytes }
    }
}

/// Tells programs of one name apart.
struct Programs(FxHashMap<String, (Option<u64>, bool)>);

impl Programs {
    fn of(ops: &[Op<'_>]) -> Self {
        let mut found: FxHashMap<String, (Option<u64>, bool)> = FxHashMap::default();
        for op in ops {
            let entry = found.entry(op.module.clone().into_owned()).or_insert((op.meta.program_id, false));
            entry.1 |= entry.0 != op.meta.program_id;
        }
        Self(found)
    }

    /// The module's name, with the program id where several programs have that name.
    fn label<'a>(&self, op: &'a Op<'_>) -> Cow<'a, str> {
        match (self.0.get(op.module.as_ref()), op.meta.program_id) {
            (Some((_, true)), Some(id)) if !op.module.is_empty() => {
                Cow::Owned(format!("{}({id})", op.module))
            }
            _ => Cow::Borrowed(op.module.as_ref()),
        }
    }
}

/// Ops under one name.
struct Group<'p> {
    op: Op<'p>,
    devices: u32,
}

fn key<'p>(op: &Op<'p>, by: &str) -> Cow<'p, str> {
    let text = match by {
        "category" => op.meta.category.clone(),
        "module" => op.module.clone(),
        "framework-op" => op.meta.framework_op.clone(),
        "source" => op.meta.source.clone(),
        "deduplicated" if op.meta.deduplicated_name.is_empty() => op.meta.name.clone(),
        _ => op.meta.deduplicated_name.clone(),
    };
    if text.is_empty() { Cow::Borrowed("(not recorded)") } else { text }
}

fn group<'p>(ops: &[Op<'p>], by: &str) -> Vec<Group<'p>> {
    if by == "op" {
        return ops.iter().map(|op| Group { devices: op.devices, op: op.clone() }).collect();
    }
    let mut groups: Vec<Group<'p>> = Vec::new();
    let mut row_of: FxHashMap<Cow<'p, str>, usize> = FxHashMap::default();
    for op in ops {
        let name = key(op, by);
        let row = *row_of.entry(name.clone()).or_insert(groups.len());
        if row == groups.len() {
            let mut first = Op { occurrences: 0, total_ps: 0, self_ps: 0, ..op.clone() };
            (first.flops, first.model_flops, first.bytes, first.hbm_bytes) = (None, None, None, None);
            first.meta.name = name;
            first.meta.expression = Cow::Borrowed("");
            groups.push(Group { op: first, devices: 0 });
        }
        let Group { op: into, devices } = &mut groups[row];
        *devices = (*devices).max(op.devices);
        into.occurrences += op.occurrences;
        into.total_ps = into.total_ps.saturating_add(op.total_ps);
        into.self_ps = into.self_ps.saturating_add(op.self_ps);
        let blank = |a: &mut Cow<'_, str>, b: &Cow<'_, str>| {
            if *a != *b {
                *a = Cow::Borrowed("");
            }
        };
        blank(&mut into.meta.category, &op.meta.category);
        blank(&mut into.module, &op.module);
        blank(&mut into.meta.framework_op, &op.meta.framework_op);
        blank(&mut into.meta.source, &op.meta.source);
        if into.meta.program_id != op.meta.program_id {
            into.meta.program_id = None;
        }
        if !is_container(&op.meta.category) {
            add_known(&mut into.flops, op.flops);
            add_known(&mut into.model_flops, op.model_flops);
            add_known(&mut into.bytes, op.bytes);
            add_known(&mut into.hbm_bytes, op.hbm_bytes);
        }
    }
    groups.sort_by(|a, b| (b.op.self_ps, &a.op.meta.name).cmp(&(a.op.self_ps, &b.op.meta.name)));
    groups
}

fn row(
    group: &Group<'_>,
    by: &str,
    module: &str,
    all: i64,
    cumulative: i64,
    peaks: &Peaks,
) -> Row<impl Columns + use<>> {
    let op = &group.op;
    let time_ps = if by == "op" { op.total_ps } else { op.self_ps };
    let limits = op.work(time_ps).against(peaks);
    let bound = match limit_of(op, peaks) {
        _ if op.meta.category.is_empty() => limits.bound.map(|b| b.word()),
        limit => limit,
    };
    let share = |ps: i64| (all > 0).then(|| ps as f64 / all as f64);
    let expression: String = op.meta.expression.chars().take(200).collect();
    row![
        text("name", "Name", "The name of the op or group.", op.meta.name.as_ref()),
        duration(
            "self_ps",
            "Self time",
            "Time minus that of ops directly inside, summed over executions and devices.",
            op.self_ps
        ),
        share("self_share", "Share", "Share of the self time of all ops in the scope.", share(op.self_ps)),
        count("occurrences", "Count", "Executions, summed over devices.", op.occurrences),
        text(
            "category",
            "Category",
            "HLO category; empty for groups that hold several.",
            if by == "category" { Cell::Unknown } else { Cell::words(&op.meta.category) }
        ),
        text(
            "bound_by",
            "Bound by",
            "The nearer limit of the roofline: compute or memory; for collectives and asynchronous copies communication, memory or transfer.",
            bound
        ),
        share(
            "flop_share_of_peak",
            "FLOP/s of peak",
            "FLOP rate as a share of the device's peak, of one device.",
            limits.flop_share
        ),
        share(
            "hbm_share_of_peak",
            "HBM of peak",
            "HBM rate as a share of the device's peak, of one device.",
            limits.hbm_share
        ),
        rate(
            "flop_rate",
            "FLOP rate",
            Unit::FlopRate,
            "FLOPs over time, of one device: total time by op, self time for groups.",
            limits.flop_rate
        ),
        rate(
            "hbm_rate",
            "HBM rate",
            Unit::ByteRate,
            "Bytes to and from HBM over time, of one device.",
            limits.hbm_rate
        ),
        float(
            "operational_intensity",
            "Intensity",
            Unit::FlopPerByte,
            "FLOPs per byte of HBM traffic.",
            limits.intensity
        ),
        duration(
            "total_ps",
            "Total time",
            "Time with all ops inside, summed over executions and devices.",
            op.total_ps
        ),
        duration(
            "average_ps",
            "Average",
            "Total time of one execution.",
            (op.occurrences > 0).then(|| op.total_ps as f64 / op.occurrences as f64)
        ),
        share("cumulative_share", "Cumulative", "Sum of the shares down to this row.", share(cumulative)),
        text(
            "module",
            "Module",
            "The HLO module; with the program id if several programs share the name.",
            Cell::words(module)
        ),
        text(
            "program_id",
            "Program",
            "The program's id, as the profiler labels it.",
            op.meta.program_id.map(|id| id.to_string())
        ),
        text(
            "framework_op",
            "Framework op",
            "The scope path in JAX, PyTorch or TensorFlow.",
            Cell::words(&op.meta.framework_op)
        ),
        text("source", "Source", "File and line that the op comes from.", Cell::words(&op.meta.source)),
        float(
            "flops",
            "FLOPs",
            Unit::Flop,
            "FLOPs of all executions as counted for the device; in groups without while, call and conditional, because the ops inside them are counted.",
            op.flops
        ),
        float(
            "model_flops",
            "Model FLOPs",
            Unit::Flop,
            "FLOPs of all executions of the operation as written.",
            op.model_flops
        ),
        bytes("bytes_accessed", "Bytes", "Bytes accessed by all executions, in all memories.", op.bytes),
        bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM of all executions.", op.hbm_bytes),
        count("devices", "Devices", "Devices it ran on.", Cell::Int(i64::from(group.devices))),
        text(
            "expression",
            "Expression",
            "The HLO expression, cut to 200 characters.",
            Cell::words(&expression)
        ),
    ]
}
