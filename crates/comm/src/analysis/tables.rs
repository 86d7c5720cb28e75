//! The tables of `comm`.

use std::collections::BTreeMap;

use super::Measured;
use crate::{Collective, Form};
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Cell, Column, Table};

const KINDS: &[Column] = &[
    Column::text("kind", "Kind", "What the collective does, as XLA calls it."),
    Column::count("count", "Count", "Executions in the counted steps, on all devices."),
    EXPOSED,
    SHARE,
    HIDDEN,
    INFLIGHT,
    Column::bytes(
        "bytes",
        "Bytes",
        "Size of the messages of a step, mean over devices; unknown where that of any is.",
    ),
    Column::count("ops", "Ops", "Number of different ops."),
];

const EXPOSED: Column = Column::duration(
    "exposed_ps",
    "Exposed",
    "Time of a step in which the core stands in it and nothing computes or copies, mean over counted steps and devices. Where several are exposed at once, the first to start has the time: the rows add up.",
);
const HIDDEN: Column = Column::duration(
    "hidden_ps",
    "Hidden",
    "Time of a step in which it is in flight while the core computes or copies; concurrent ones count each.",
);
const INFLIGHT: Column = Column::duration(
    "inflight_ps",
    "In flight",
    "Time of a step from its start to its end; concurrent ones count each.",
);
const SHARE: Column = Column::share("exposed_share", "Of step", "Exposed time over the time of the steps.");

const OPS: &[Column] = &[
    Column::text("op", "Op", "The op; of an asynchronous collective its start."),
    Column::text("kind", "Kind", "What the collective does."),
    EXPOSED,
    SHARE,
    HIDDEN,
    Column::count("count", "Count", "Executions in the counted steps, on all devices."),
    Column::bytes(
        "bytes",
        "Message",
        "Size of one device's message: of its inputs or outputs, whichever is more.",
    ),
    INFLIGHT,
    Column::text("framework_op", "Framework op", "The framework's scope path."),
    Column::text("source", "Source", "File and line."),
    Column::text("module", "Module", "The program."),
    Column::text(
        "form",
        "Form",
        "synchronous: one op, during which the core does nothing else; asynchronous: a start and a done; SparseCore: the same, carried out there; kernel: on a stream.",
    ),
    Column::duration("done_ps", "In done", "Time of a step in its done op."),
    Column::count("unpaired", "Unpaired", "Executions of which the capture lacks the start or the done."),
];

const LINES: &[Column] = &[
    Column::text("source", "Source", "File and line; unknown where the profile does not say."),
    EXPOSED,
    SHARE,
    HIDDEN,
    INFLIGHT,
    Column::count("count", "Count", "Executions in the counted steps, on all devices."),
    Column::text("kinds", "Kinds", "What the collectives of the line do."),
];

const METHODS: &[Column] = &[
    Column::text("method", "Method", "How exposed communication is counted."),
    Column::duration("time_ps", "Time", "A step, mean over devices."),
    Column::share("off", "Off", "Over the exposed time here, less 1."),
    Column::text("why", "Why it differs", "What it takes for exposed that is not, or leaves out."),
];

const DEVICES: &[Column] = &[
    Column::text("device", "Device", "Device."),
    Column::count(
        "steps",
        "Steps",
        "Counted steps; the times of this table are those of all of them together.",
    ),
    Column::duration(
        "step_ps",
        "Step time",
        "The time of the steps: the sum of the three columns that follow.",
    ),
    Column::duration("busy_ps", "Busy", "A program runs and is not exposed to communication."),
    Column::duration(
        "exposed_ps",
        "Exposed",
        "The core stands in a collective, and nothing computes or copies.",
    ),
    Column::duration("idle_ps", "Idle", "No op runs."),
    Column::duration("residual_ps", "Residual", "Busy, exposed and idle less step: 0."),
    Column::share("exposed_share", "Of step", "Exposed over step."),
    Column::duration("hidden_ps", "Hidden", "A collective is in flight, and the core computes or copies."),
    Column::duration("inflight_ps", "In flight", "Any collective is in flight."),
    Column::duration("done_ps", "In done ops", "Sum of the durations of the dones of collectives."),
];

/// Ways of counting that are this far off are said to differ.
const DIFFERS: f64 = 0.01;

/// Sums over collectives.
#[derive(Default)]
struct Sums {
    ops: usize,
    count: usize,
    exposed: i64,
    hidden: i64,
    inflight: i64,
    /// `None` once the size of one is not known.
    bytes: Option<f64>,
    kinds: Vec<String>,
}

impl Sums {
    fn add(&mut self, one: &Collective<'_>) {
        self.bytes = if self.ops == 0 { Some(0.0) } else { self.bytes };
        self.bytes = self.bytes.and_then(|sum| Some(sum + one.bytes? * one.executions.len() as f64));
        self.ops += 1;
        self.count += one.executions.len();
        self.exposed = self.exposed.saturating_add(one.sum(|e| e.exposed_ps));
        self.hidden = self.hidden.saturating_add(one.sum(|e| e.hidden_ps));
        self.inflight = self.inflight.saturating_add(one.sum(|e| e.inflight_ps));
        if !self.kinds.iter().any(|kind| *kind == one.kind) {
            self.kinds.push(one.kind.to_string());
        }
    }
}

/// Sums by a key, longest exposed first.
fn grouped(measured: &Measured<'_>, key: impl Fn(&Collective<'_>) -> String) -> Vec<(String, Sums)> {
    let mut of_key: BTreeMap<String, Sums> = BTreeMap::new();
    for one in &measured.comm.collectives {
        of_key.entry(key(one)).or_default().add(one);
    }
    let mut all: Vec<_> = of_key.into_iter().collect();
    all.sort_by_key(|(_, sums)| std::cmp::Reverse((sums.exposed, sums.inflight)));
    all
}

/// By what the collectives do.
pub(super) fn kinds(measured: &Measured<'_>) -> Table {
    let mut table = Table::new("kinds", "By kind, a step", KINDS);
    for (kind, sums) in grouped(measured, |one| one.kind.to_string()) {
        table.push(vec![
            kind.into(),
            sums.count.into(),
            measured.per_step(sums.exposed).into(),
            measured.share(sums.exposed).into(),
            measured.per_step(sums.hidden).into(),
            measured.per_step(sums.inflight).into(),
            sums.bytes.map(|b| b / measured.count.max(1) as f64).into(),
            sums.ops.into(),
        ]);
    }
    table
}

/// Each collective.
pub(super) fn ops(measured: &Measured<'_>) -> Table {
    let mut table = Table::new("ops", "Collectives, a step", OPS);
    let text = |text: &str| if text.is_empty() { Cell::Unknown } else { text.into() };
    for one in &measured.comm.collectives {
        let sum = |of: fn(&crate::Execution) -> i64| one.sum(of);
        table.push(vec![
            (&*one.meta.name).into(),
            (&*one.kind).into(),
            measured.per_step(sum(|e| e.exposed_ps)).into(),
            measured.share(sum(|e| e.exposed_ps)).into(),
            measured.per_step(sum(|e| e.hidden_ps)).into(),
            one.executions.len().into(),
            one.bytes.into(),
            measured.per_step(sum(|e| e.inflight_ps)).into(),
            text(&one.meta.framework_op),
            text(&one.meta.source),
            text(&one.module),
            word(one.form).into(),
            measured.per_step(sum(|e| e.done_ps)).into(),
            one.executions.iter().filter(|e| e.unpaired.is_some()).count().into(),
        ]);
    }
    table
}

fn word(form: Form) -> &'static str {
    match form {
        Form::Synchronous => "synchronous",
        Form::Asynchronous => "asynchronous",
        Form::SparseCore => "SparseCore",
        Form::Kernel => "kernel",
    }
}

/// By line of the user's program.
pub(super) fn lines(measured: &Measured<'_>) -> Table {
    let mut table = Table::new("lines", "By source line, a step", LINES);
    for (source, sums) in grouped(measured, |one| one.meta.source.to_string()) {
        table.push(vec![
            if source.is_empty() { Cell::Unknown } else { source.into() },
            measured.per_step(sums.exposed).into(),
            measured.share(sums.exposed).into(),
            measured.per_step(sums.hidden).into(),
            measured.per_step(sums.inflight).into(),
            sums.count.into(),
            sums.kinds.join(", ").into(),
        ]);
    }
    table
}

/// A way to count exposed communication.
struct Way {
    name: &'static str,
    /// Over devices and counted steps.
    sum_ps: i64,
    why: &'static str,
    /// The same in a sentence.
    because: &'static str,
}

/// The ways in which the field counts exposed communication, ours first.
fn ways(measured: &Measured<'_>) -> [Way; 3] {
    [
        Way {
            name: "core in a collective",
            sum_ps: measured.sum(|d| d.exposed_ps),
            why: "counted here",
            because: "",
        },
        Way {
            name: "in flight, uncovered",
            sum_ps: measured.sum(|d| d.uncovered_ps),
            why: "other waits and idling meanwhile count",
            because: "a sweep over what is in flight and not covered by compute gives",
        },
        Way {
            name: "sum of done ops",
            sum_ps: measured.sum(|d| d.done_ps),
            why: "synchronous ones have no done",
            because: "the sum of done ops, which leaves out synchronous collectives, gives",
        },
    ]
}

/// The ways of counting side by side.
pub(super) fn methods(measured: &Measured<'_>) -> Table {
    let mut table = Table::new("methods", "Exposed communication as others count it, a step", METHODS);
    let exposed = measured.sum(|d| d.exposed_ps);
    for way in ways(measured) {
        let off = (exposed > 0).then(|| way.sum_ps as f64 / exposed as f64 - 1.0);
        table.push(vec![way.name.into(), measured.per_step(way.sum_ps).into(), off.into(), way.why.into()]);
    }
    table
}

/// The same in words, where another way is more than 1% off.
pub(super) fn disagreement(measured: &Measured<'_>) -> Option<String> {
    let [own, others @ ..] = ways(measured);
    let time = |sum: i64| units::duration_ps(measured.per_step(sum));
    // Where all are synchronous nobody adds up dones.
    let is_off =
        |way: &&Way| way.sum_ps > 0 && (way.sum_ps - own.sum_ps).abs() as f64 > DIFFERS * own.sum_ps as f64;
    let differ: Vec<String> =
        others.iter().filter(is_off).map(|way| format!("{} {}", way.because, time(way.sum_ps))).collect();
    (!differ.is_empty()).then(|| {
        format!(
            "devices stand in collectives for {} a step; {}: tools that count so disagree",
            time(own.sum_ps),
            differ.join("; ")
        )
    })
}

/// The identity by device.
pub(super) fn devices(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Table::new("devices", "Time of the counted steps by device", DEVICES);
    for one in &measured.comm.devices {
        table.push(vec![
            profile.device(one.device).name.as_str().into(),
            one.steps.into(),
            one.step_ps.into(),
            one.busy_ps.into(),
            one.exposed_ps.into(),
            one.idle_ps.into(),
            one.residual_ps().into(),
            (one.step_ps > 0).then(|| one.exposed_ps as f64 / one.step_ps as f64).into(),
            one.hidden_ps.into(),
            one.inflight_ps.into(),
            one.done_ps.into(),
        ]);
    }
    table
}
