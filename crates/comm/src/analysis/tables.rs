//! The tables of `comm`.

use std::collections::BTreeMap;

use super::Measured;
use crate::{Collective, Form};
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Cell, Column, Table, row};

const EXPOSED: Column = Column::duration(
    "exposed_ps",
    "Exposed",
    "Time of a step in which the core waits in it and nothing computes or copies, mean over counted steps and devices. If several are exposed at once, the time counts for the first to start, so the rows add up.",
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
const SHARE: Column =
    Column::share("exposed_share", "Of step", "Exposed time divided by the time of the steps.");

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
    let mut rows = Vec::new();
    for (kind, sums) in grouped(measured, |one| one.kind.to_string()) {
        let row = row![
            text("kind", "Kind", "What the collective does, as XLA calls it.", kind),
            count("count", "Count", "Executions in the counted steps, on all devices.", sums.count),
            column(EXPOSED, measured.per_step(sums.exposed)),
            column(SHARE, measured.share(sums.exposed)),
            column(HIDDEN, measured.per_step(sums.hidden)),
            column(INFLIGHT, measured.per_step(sums.inflight)),
            bytes(
                "bytes",
                "Bytes",
                "Size of the messages in a step, mean over devices; unknown if the size of any is.",
                sums.bytes.map(|b| b / measured.count.max(1) as f64)
            ),
            count("ops", "Ops", "Number of different ops.", sums.ops),
        ];
        rows.push(row);
    }
    Table::of("kinds", "By kind, per step", rows)
}

/// Each collective.
pub(super) fn ops(measured: &Measured<'_>) -> Table {
    let mut table = Vec::new();
    for one in &measured.comm.collectives {
        let sum = |of: fn(&crate::Execution) -> i64| one.sum(of);
        let row = row![
            text("op", "Op", "The op; for an asynchronous collective, its start.", &*one.meta.name),
            text("kind", "Kind", "What the collective does.", &*one.kind),
            column(EXPOSED, measured.per_step(sum(|e| e.exposed_ps))),
            column(SHARE, measured.share(sum(|e| e.exposed_ps))),
            column(HIDDEN, measured.per_step(sum(|e| e.hidden_ps))),
            count("count", "Count", "Executions in the counted steps, on all devices.", one.executions.len()),
            bytes(
                "bytes",
                "Message",
                "Size of one device's message: the larger of its inputs and outputs.",
                one.bytes
            ),
            column(INFLIGHT, measured.per_step(sum(|e| e.inflight_ps))),
            text(
                "framework_op",
                "Framework op",
                "The framework's scope path.",
                Cell::words(&one.meta.framework_op)
            ),
            text("source", "Source", "File and line.", Cell::words(&one.meta.source)),
            text("module", "Module", "The program.", Cell::words(&one.module)),
            text(
                "form",
                "Form",
                "synchronous: one op, during which the core does nothing else; asynchronous: a start and a done; SparseCore: the same, carried out there; kernel: on a stream.",
                word(one.form)
            ),
            duration(
                "done_ps",
                "In done",
                "Time of a step in its done op.",
                measured.per_step(sum(|e| e.done_ps))
            ),
            count(
                "unpaired",
                "Unpaired",
                "Executions whose start or done is not in the capture.",
                one.executions.iter().filter(|e| e.unpaired.is_some()).count()
            ),
        ];
        table.push(row);
    }
    Table::of("ops", "Collectives, per step", table)
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
    let mut rows = Vec::new();
    for (source, sums) in grouped(measured, |one| one.meta.source.to_string()) {
        let row = row![
            text(
                "source",
                "Source",
                "File and line; unknown if the profile does not say.",
                Cell::words(&source)
            ),
            column(EXPOSED, measured.per_step(sums.exposed)),
            column(SHARE, measured.share(sums.exposed)),
            column(HIDDEN, measured.per_step(sums.hidden)),
            column(INFLIGHT, measured.per_step(sums.inflight)),
            count("count", "Count", "Executions in the counted steps, on all devices.", sums.count),
            text("kinds", "Kinds", "What the collectives of the line do.", sums.kinds.join(", ")),
        ];
        rows.push(row);
    }
    Table::of("lines", "By source line, per step", rows)
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
    let mut rows = Vec::new();
    let exposed = measured.sum(|d| d.exposed_ps);
    for way in ways(measured) {
        let off = (exposed > 0).then(|| way.sum_ps as f64 / exposed as f64 - 1.0);
        let row = row![
            text("method", "Method", "How exposed communication is counted.", way.name),
            duration("time_ps", "Time", "Per step, mean over devices.", measured.per_step(way.sum_ps)),
            share("off", "Off", "Relative to the exposed time here.", off),
            text("why", "Why it differs", "What it wrongly counts as exposed, or leaves out.", way.why),
        ];
        rows.push(row);
    }
    Table::of("methods", "Exposed communication as other tools count it, per step", rows)
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
            "devices wait in collectives for {} a step; {}: tools that count this way disagree",
            time(own.sum_ps),
            differ.join("; ")
        )
    })
}

/// The identity by device.
pub(super) fn devices(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Vec::new();
    for one in &measured.comm.devices {
        let row = row![
            text("device", "Device", "Device.", profile.device(one.device).name.as_str()),
            count(
                "steps",
                "Steps",
                "Counted steps; the times of this table are those of all of them together.",
                one.steps
            ),
            duration(
                "step_ps",
                "Step time",
                "The time of the steps: the sum of the next three columns.",
                one.step_ps
            ),
            duration("busy_ps", "Busy", "A program runs and is not exposed to communication.", one.busy_ps),
            duration(
                "exposed_ps",
                "Exposed",
                "The core waits in a collective, and nothing computes or copies.",
                one.exposed_ps
            ),
            duration("idle_ps", "Idle", "No op runs.", one.idle_ps),
            duration("residual_ps", "Residual", "Busy + exposed + idle - step: 0.", one.residual_ps()),
            share(
                "exposed_share",
                "Of step",
                "Exposed divided by step.",
                (one.step_ps > 0).then(|| one.exposed_ps as f64 / one.step_ps as f64)
            ),
            duration(
                "hidden_ps",
                "Hidden",
                "A collective is in flight, and the core computes or copies.",
                one.hidden_ps
            ),
            duration("inflight_ps", "In flight", "Any collective is in flight.", one.inflight_ps),
            duration(
                "done_ps",
                "In done ops",
                "Sum of the durations of the dones of collectives.",
                one.done_ps
            ),
        ];
        table.push(row);
    }
    Table::of("devices", "Time of the counted steps by device", table)
}
