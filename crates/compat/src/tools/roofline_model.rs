//! `roofline_model`: each op, the whole run and each step against the limits of the device.

mod columns;
mod table;

use haloscope_core::profile::Profile;

use super::Tool;
use crate::db::steps::step_ops;
use crate::db::{self, Db, Hardware, PerfEnv, Row, RunEnv};
use crate::gviz::DataTable;
use crate::steps::{Environment, StepDb, diagnostics};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "roofline_model",
    doc: "Each op, program and step against the device's peak FLOP/s and bandwidths",
    hosts: Hosts::All,
    params: &[],
    offered: |_| true,
    answer,
};

/// At most this many ops, by self time.
const MOST_OPS: usize = 1000;

/// What the answer is shaped from.
struct Model<'p> {
    ops: Db<'p>,
    /// Sums over all complete steps; `None` where XProf does not sum them.
    complete: Option<Db<'p>>,
    /// Number and ops of each complete step.
    steps: Vec<(i64, Db<'p>)>,
    perf: PerfEnv,
    run: RunEnv,
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let environment = Environment::of(profile, &hosts);
    let run = environment.run.clone();
    if run.hardware == Hardware::Cpu {
        return Answer::json(&[table::Roofs::none().table(), diagnostics::table(&[], &[])]);
    }
    let steps = StepDb::of(profile, &hosts, &environment);
    let by_step = step_ops(profile, &environment, &steps);
    let complete = (run.hardware == Hardware::Tpu || hosts.len() > 1).then(|| {
        let mut all = Db::default();
        for ops in &by_step {
            all.merge(ops.clone());
        }
        all
    });
    let notes = diagnostics::table(&diagnostics::step_warnings(&steps), &[]);
    let model = Model {
        ops: db::device_ops(profile, &hosts),
        complete,
        steps: steps.rows.iter().map(|row| row.number).zip(by_step).collect(),
        perf: PerfEnv::of(profile, &hosts),
        run,
    };
    let roofs = table::Roofs::of(&model);
    let mut table = roofs.table();
    for infeed_outfeed in [true, false] {
        model.rows(&roofs, &mut table, infeed_outfeed);
    }
    Answer::json(&[table, notes])
}

/// True for ops that wait for, or move data to or from, the host.
fn is_infeed_or_outfeed(row: &Row<'_>) -> bool {
    row.category.contains("infeed") || row.category.contains("outfeed")
}

/// True for ops whose events contain those of other ops: their FLOPs and bytes are those of the ops inside.
fn has_inner_ops(row: &Row<'_>) -> bool {
    matches!(row.category.as_ref(), "call" | "conditional" | "while" | "megacore fusion")
}

impl Model<'_> {
    fn rows(&self, roofs: &table::Roofs, into: &mut DataTable, infeed_outfeed: bool) {
        let program = program(&self.ops, infeed_outfeed);
        let total_ps = program.time_ps;
        let mut writer = table::Writer { model: self, roofs, into, infeed_outfeed };
        writer.program("Total", &program, 1);
        writer.ops(total_ps);
        if let Some(complete) = &self.complete {
            writer.program("Average", &self::program(complete, infeed_outfeed), self.steps.len());
        }
        for (number, ops) in &self.steps {
            writer.program(&number.to_string(), &self::program(ops, infeed_outfeed), 1);
        }
    }
}

/// All ops as one. Ops that contain others do not count beside them.
fn program<'p>(ops: &Db<'p>, infeed_outfeed: bool) -> Row<'p> {
    let mut all =
        Row { name: "Program".into(), category: "Program".into(), occurrences: 1, ..Row::default() };
    let mut left_out_ps: u64 = 0;
    for row in ops.rows.iter().filter(|r| !has_inner_ops(r)) {
        if !infeed_outfeed && is_infeed_or_outfeed(row) {
            left_out_ps = left_out_ps.saturating_add(row.time_ps);
            continue;
        }
        all.flops += row.flops;
        all.model_flops += row.model_flops;
        all.bytes = all.bytes.saturating_add(row.bytes);
        db::add_accesses(&mut all.accesses, &row.accesses);
    }
    all.time_ps = ops.total_ps.saturating_sub(left_out_ps);
    all
}
