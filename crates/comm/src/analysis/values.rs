//! The headline numbers of `comm`.

use super::{Measured, unpaired};
use crate::{DeviceExposure, Form};
use haloscope_report::{Cell, Status, Unit, Value};

/// All values, in reading order.
pub(super) fn all(measured: &Measured<'_>) -> Vec<Value> {
    let derived = if measured.steps.source.is_inferred() { Status::Estimated } else { Status::Derived };
    // That nothing was exposed is known where no collective ran, however steps were found.
    let known = if measured.comm.collectives.is_empty() { Status::Measured } else { derived };
    let per_step = |id, label, of: fn(&DeviceExposure) -> i64, doc| {
        let status =
            if matches!(id, "step_ps" | "busy_ps_per_step" | "idle_ps_per_step") { derived } else { known };
        Value::new(id, label, Some(measured.per_step(measured.sum(of))), Unit::Ps, status, doc)
    };
    let (exposed, hidden) = (measured.sum(|d| d.exposed_ps), measured.sum(|d| d.hidden_ps));
    let (inflight, wall) = (measured.sum(|d| d.inflight_ps), measured.sum(|d| d.wall_ps));
    let over = |part: i64, all: i64| (all > 0).then(|| part as f64 / all as f64);
    let all = &measured.comm.collectives;
    let executions = |takes: &dyn Fn(Form) -> bool| {
        all.iter().filter(|one| takes(one.form)).map(|one| one.executions.len()).sum::<usize>()
    };
    vec![
        Value::new("verdict", "Communication", Some(verdict(measured)), Unit::None, derived, "In words."),
        per_step(
            "step_ps",
            "Step",
            |d| d.step_ps,
            "Mean over counted steps and devices, on the run's clock; without steps the time from a device's first op to its last.",
        ),
        per_step(
            "exposed_ps_per_step",
            "Exposed",
            |d| d.exposed_ps,
            "Time of a step in which the core waits in a collective (its transfer and its wait for the others, or the start or done of an asynchronous one) and nothing computes or copies.",
        ),
        Value::new(
            "exposed_share",
            "Exposed share of a step",
            measured.share(exposed),
            Unit::Share,
            known,
            "`exposed_ps_per_step` divided by `step_ps`.",
        ),
        per_step(
            "hidden_ps_per_step",
            "Hidden",
            |d| d.hidden_ps,
            "Time of a step in which a collective is in flight while the core computes or copies.",
        ),
        Value::new(
            "overlap_ratio",
            "Overlap",
            over(hidden, hidden.saturating_add(exposed)),
            Unit::Share,
            derived,
            "Hidden divided by hidden + exposed; unknown if there are no collectives.",
        ),
        per_step(
            "inflight_ps_per_step",
            "In flight",
            |d| d.inflight_ps,
            "Time of a step in which any collective is in flight, from its start to its end.",
        ),
        per_step(
            "uncovered_ps_per_step",
            "In flight, not covered",
            |d| d.uncovered_ps,
            "In flight minus hidden: exposed time, and time in which the core is idle or waits for something else meanwhile.",
        ),
        per_step(
            "done_ps_per_step",
            "In done ops",
            |d| d.done_ps,
            "Sum of the durations of the dones of asynchronous collectives; some tools take it for exposed communication.",
        ),
        per_step(
            "busy_ps_per_step",
            "Busy otherwise",
            |d| d.busy_ps,
            "Time of a step in which a program runs and is not exposed to communication: compute, copies, waits for the host or for copies, overhead.",
        ),
        per_step("idle_ps_per_step", "Idle", |d| d.idle_ps, "Time of a step in which no op runs."),
        Value::new(
            "identity_residual_ps",
            "Busy + exposed + idle - step",
            Some(measured.sum(|d| d.residual_ps().abs())),
            Unit::Ps,
            Status::Derived,
            "Summed over devices, without sign. It must be 0; otherwise numbers here are wrong.",
        ),
        Value::new(
            "concurrency",
            "Concurrency",
            over(wall, inflight),
            Unit::Ratio,
            derived,
            "Collectives in flight at once, while any is: the sum of their times divided by the union.",
        ),
        Value::new(
            "collective_count",
            "Collectives",
            Some(executions(&|_| true)),
            Unit::Count,
            Status::Measured,
            "Executions in the counted steps, on all devices.",
        ),
        Value::new(
            "asynchronous_count",
            "Asynchronous collectives",
            Some(unpaired(&measured.comm).0),
            Unit::Count,
            Status::Measured,
            "Those with a start and a done.",
        ),
        Value::new(
            "unpaired_count",
            "Unpaired",
            Some(unpaired(&measured.comm).1),
            Unit::Count,
            Status::Measured,
            "Those whose start or done is not in the capture.",
        ),
        Value::new(
            "sparse_core_count",
            "On SparseCores",
            Some(executions(&|form| form == Form::SparseCore)),
            Unit::Count,
            Status::Measured,
            "Those that a SparseCore carries out, as far as the profile says so.",
        ),
    ]
}

fn verdict(measured: &Measured<'_>) -> Cell {
    if measured.comm.collectives.is_empty() {
        let outside = measured.outside();
        return if outside == 0 {
            "no collectives".into()
        } else {
            format!("no collectives in the counted time; {outside} outside it").into()
        };
    }
    let share = measured.share(measured.sum(|d| d.exposed_ps)).unwrap_or(0.0);
    format!("{} of a step is exposed communication", haloscope_report::units::share(share)).into()
}
