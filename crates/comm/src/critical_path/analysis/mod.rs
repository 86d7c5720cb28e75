//! `critical-path`: the longest chain through a step, and how long the step would take if parts of it were faster.

mod measure;
mod request;
mod tables;

use crate::critical_path::{self, Change, Role};
use crate::straggler;
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Table, Unit, Value, row};
use haloscope_time::account::{Class, Group};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;
use measure::Measured;
use request::Request;

const IF: Param = Param {
    id: "if",
    doc: "what to change: `all-gather free`, `fusion.12 x0.7`, `fusion.12 at roofline`, `communication free`, `perfect overlap`, `no straggler`, `input free`, `no idle`; for several, put `;` between them or repeat the option",
    kind: ParamKind::Texts,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "critical-path",
    label: "Critical path",
    group: MenuGroup::Time,
    question: "What makes a step as long as it is, and how long would it be if parts were faster?",
    params: &[IF],
    needs: &[
        "ops on a device's timeline; step markers, else one launch of the main program is a step",
        "the HLO protos, which say which devices a collective joins",
        "all devices that work together, to see who makes the others wait",
    ],
    reads: &[Input::Profile],
    example: "critical-path logs --if 'all-gather free' --if 'fusion.12 x0.7'",
    also: &[],
    run: Run::Of(run),
};

/// Ops that are shown at their roofline where nothing is asked.
const TOP_OPS: usize = 3;

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let measured = Measured::new(asked, notes)?;
    let asked = request::read(params.text(&IF), &measured.graph)?;
    let is_asked = !asked.is_empty();
    let changes = if is_asked { asked } else { defaults(&measured) };
    let (what_if, all_ps) = what_if(&measured, &changes, is_asked);
    Ok(Report {
        values: values(&measured, all_ps.filter(|_| is_asked)),
        tables: vec![
            tables::parts(&measured),
            what_if,
            tables::ops(&measured),
            tables::devices(&measured),
            tables::chain(&measured),
        ],
        ..Report::default()
    })
}

/// What is worth knowing of any step.
fn defaults(measured: &Measured<'_>) -> Vec<Request> {
    let graph = &measured.graph;
    let mut all = Vec::new();
    let mut add = |words: &str, change: Change| all.push(Request::new(words, change));
    let ops = |class: Class| critical_path::Choice {
        ops: graph.ops.iter().map(|op| op.class == class).collect(),
        gaps: Vec::new(),
    };
    if graph.ops.iter().any(|op| op.class == Class::Communication) {
        add("communication free", Change::Scale(ops(Class::Communication), 0.0));
        add("perfect overlap", Change::PerfectOverlap);
        if graph.devices.len() >= straggler::FEWEST {
            add("no straggler", Change::NoStraggler);
        }
    }
    let is_gap =
        |class: Class| graph.nodes.iter().any(|n| matches!(n.role, Role::Gap { .. }) && n.class == class);
    if is_gap(Class::Input) || graph.ops.iter().any(|op| op.class == Class::Infeed) {
        let choice = critical_path::Choice { gaps: vec![Class::Input], ..ops(Class::Infeed) };
        add("input free", Change::Scale(choice, 0.0));
    }
    let idle: Vec<Class> = Class::ALL.into_iter().filter(|c| c.group() == Group::Idle).collect();
    if idle.iter().any(|class| is_gap(*class)) {
        let choice = critical_path::Choice { ops: Vec::new(), gaps: idle };
        add("no idle", Change::Scale(choice, 0.0));
    }
    let on_path = tables::on_path(measured);
    let mut order: Vec<usize> = (0..graph.ops.len()).filter(|op| on_path[*op].0 > 0).collect();
    order.sort_by_key(|op| (-on_path[*op].0, *op));
    let has_floor = |op: &usize| {
        measured.peaks.first().and_then(|p| critical_path::floor_ps(graph, *op as u32, p)).is_some()
    };
    for op in order.into_iter().filter(has_floor).take(TOP_OPS) {
        let mut choice = critical_path::Choice { ops: vec![false; graph.ops.len()], gaps: Vec::new() };
        choice.ops[op] = true;
        add(&format!("{} at roofline", graph.ops[op].meta.name), Change::Roofline(choice));
    }
    all
}

/// The table of projections, and the step with all of them together.
fn what_if(measured: &Measured<'_>, asked: &[Request], is_asked: bool) -> (Table, Option<i64>) {
    let (graph, step) = (&measured.graph, measured.step_ps());
    let project = |changes: &[&Change]| critical_path::project(graph, &measured.peaks, changes);
    let mut rows: Vec<(String, critical_path::Projection)> =
        asked.iter().map(|a| (a.words.clone(), project(&[&a.change]))).collect();
    let mut all_ps = rows.first().map(|(_, p)| p.step_ps);
    if !is_asked {
        rows.sort_by_key(|(_, p)| p.step_ps);
    } else if asked.len() > 1 {
        let all = project(&asked.iter().map(|a| &a.change).collect::<Vec<_>>());
        all_ps = Some(all.step_ps);
        rows.push(("all of these".into(), all));
    }
    let mut table = Vec::new();
    for (words, projection) in rows {
        let after = projection.step_ps;
        let row = row![
            text("change", "Change", "What is changed; everything else stays as measured.", words),
            duration("step_ps", "Step", "How long the step would take.", after),
            duration("saved_ps", "Saved", "The measured step minus that.", step - after),
            share(
                "saved_share",
                "Share",
                "Saved time divided by the measured step.",
                (step > 0).then(|| (step - after) as f64 / step as f64)
            ),
            float(
                "speedup",
                "Speed-up",
                Unit::Ratio,
                "The measured step divided by the step with the change.",
                (after > 0).then(|| step as f64 / after as f64)
            ),
            count(
                "touched",
                "Parts",
                "Executions of ops, transfers and gaps that the change affects, on all devices; 0 if the step has none.",
                projection.touched
            ),
        ];
        table.push(row);
    }
    (Table::of("what_if", "What if", table), all_ps)
}

fn values(measured: &Measured<'_>, what_if_ps: Option<i64>) -> Vec<Value> {
    let (graph, step_ps) = (&measured.graph, measured.step_ps());
    let path_ps: i64 = measured.path.iter().map(|s| s.end_ps - s.start_ps).sum();
    let on_path = |takes: &dyn Fn(Class) -> bool| -> Option<f64> {
        let own = measured.path.iter().filter(|s| takes(s.class)).map(|s| s.end_ps - s.start_ps);
        (step_ps > 0).then(|| own.sum::<i64>() as f64 / step_ps as f64)
    };
    let mut on: Vec<u32> = measured.path.iter().map(|s| s.device).collect();
    on.dedup();
    let changes = on.len().saturating_sub(1);
    on.sort_unstable();
    on.dedup();
    let time = |id, label, ps: Option<i64>, status, doc| Value::new(id, label, ps, Unit::Ps, status, doc);
    let share = |id, label, share, doc| Value::new(id, label, share, Unit::Share, Status::Estimated, doc);
    let count = |id, label, n: usize, status, doc| Value::new(id, label, Some(n), Unit::Count, status, doc);
    let mut values = vec![
        Value::new(
            "step",
            "Step",
            measured.step,
            Unit::Count,
            Status::Derived,
            "The analysed step: the one of median length among the steady ones in scope. Unknown if the run has no steps: then it is the time from the first op to the last.",
        ),
        time(
            "step_ps",
            "Step time",
            Some(step_ps),
            Status::Derived,
            "From the start of the step on the first device to its end on the last one.",
        ),
        time(
            "path_ps",
            "Length of the path",
            Some(path_ps),
            Status::Derived,
            "The sum of the path's stretches, which follow each other without a break. It equals the step.",
        ),
    ];
    if let Some(ps) = what_if_ps {
        values.push(time(
            "what_if_ps",
            "Step time with changes",
            Some(ps),
            Status::Estimated,
            "The step with all changes of `--if`: stream order and dependencies as measured, waits recomputed.",
        ));
        values.push(Value::new(
            "what_if_speedup",
            "Speed-up with changes",
            (ps > 0).then(|| step_ps as f64 / ps as f64),
            Unit::Ratio,
            Status::Estimated,
            "The measured step divided by the step with all changes.",
        ));
    }
    values.extend([
        time(
            "model_residual_ps",
            "Residual of the model",
            Some(graph.length(&measured.schedule) - step_ps),
            Status::Derived,
            "The step of the model without any change, minus the measured step. 0: the model reproduces the measured step.",
        ),
        share(
            "path_work_share",
            "Path in compute and copies",
            on_path(&|c| c.group() == Group::Working),
            "Share of the path in which a device works: compute, copies, programs' own overhead.",
        ),
        share(
            "path_communication_share",
            "Path in communication",
            on_path(&|c| c == Class::Communication),
            "Share of the path in collectives after their last member arrived, and in transfers that something waited for.",
        ),
        share(
            "path_idle_share",
            "Path in idle time",
            on_path(&|c| c.group() == Group::Idle),
            "Share of the path in which no op ran where the path is.",
        ),
        count("path_device_count", "Devices on the path", on.len(), Status::Estimated, "Devices that the path visits."),
        count(
            "path_device_changes",
            "Changes of device",
            changes,
            Status::Estimated,
            "How often the path goes from one device to another, which is each time a device waited for another.",
        ),
        count("device_count", "Devices", graph.devices.len(), Status::Measured, "Devices that ran ops in the step."),
        count(
            "joined_count",
            "Collectives joined",
            measured.facts.joined,
            Status::Derived,
            "Executions of collectives, on all devices, that were seen to wait for other devices of the scope.",
        ),
        count(
            "transfer_count",
            "Transfers",
            graph.transfers.len(),
            Status::Derived,
            "Asynchronous transfers in the step, on all devices, whose start and done were found.",
        ),
        count(
            "candidate_steps",
            "Steps to choose from",
            measured.candidates,
            Status::Derived,
            "Steps of the scope; this is the median one.",
        ),
    ]);
    values
}
